"""A retriever of the user's own: any callable, question → what it retrieved.

    --retriever my_rag.py:retrieve          a function, class or object of a file
    --retriever package.module:function     of an importable module
    evaluate(…, retriever=my_function)      of this process, from Python

Calls run in threads of this process, several at a time, each with a timeout; `running.own_process` has them
run in processes of their own. Every reply is on disk before it counts, so that a run that was cut off goes on
where it stopped. A question that raises, times out or returns something else has failed: it retrieved
nothing, is listed with its error and scores 0.

What the graph does not have keeps its place in the ranking, as an entity without relations that is no
reference: leaving it out would move the others up.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import InputError, ServiceError
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.journals import JournalFile
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.messages import t
from tiny_graph_rag.retrieval.base import Foreign, Retriever, Task
from tiny_graph_rag.retrieval.candidates import ReturnedNames
from tiny_graph_rag.retrieval.native import OwnReply, reply_from
from tiny_graph_rag.retrieval.own_calls import Function, InProcess, InThread, Worker, asked, load_function
from tiny_graph_rag.run import NO_HOP, Run

NOT_IN_GRAPH = "NOT_IN_GRAPH"  # the type of what only the retriever knows
JOURNAL_ENDING = ".retrieved.jsonl"
BUSY = "another process is writing this journal. Wait for it, or choose another -o"
HEAD = b'{"retriever": '  # how each journal begins


@dataclass(frozen=True, slots=True)
class Asking:
    """How the user's function is asked.

    journal: where replies are kept, None nowhere. resume: take over what the journal has; what failed is
    asked again. timeout: seconds for one question. done: called after each with how many are done and failed.
    """

    concurrency: int = 8
    timeout: float = 60.0
    journal: Path | None = None
    resume: bool = False
    done: Callable[[int, str], None] = lambda done, note: None


class OwnRetriever(Retriever):
    """The user's ranking in its own order. Settings that steer a walk (hops, filters) do not concern it."""

    name: ClassVar[str] = "own"
    argument: ClassVar[str] = "FILE.py:FUNCTION"
    walks: ClassVar[bool] = False

    def __init__(self, task: Task, asking: Asking, worker: Worker) -> None:
        self.graph, self.depth = task.graph, task.config.retrieval.depth
        self.spec, self.asking = task.argument, asking
        self.examples = task.examples
        self.replies: dict[str, OwnReply] = {}
        self.wall_seconds = 0.0
        self.resumed = 0
        self.knows_some = False
        self.names, self._worker = ReturnedNames(task), worker

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task, Asking(), worker_of(task.argument, in_process=task.config.running.own_process))

    def prepare(self, linked: Callable[[], Sequence[LinkedQuestion]]) -> None:
        """Ask everything now. Raises ServiceError where every question fails: then nothing was measured."""
        questions = {example.id: example.query for example in self.examples or ()}
        self._ask(questions)
        failed = self._failed()
        if failed and len(failed) == len(questions):
            key, error = failed[0]
            raise ServiceError(
                "{spec}: every question failed, such as {key}: {error}",
                spec=self.spec,
                key=repr(key),
                error=error,
            )

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        self._ask({question.id: question.text for question in questions if question.id not in self.replies})
        replies = [self.replies[question.id] for question in questions]
        sound = [reply for reply in self.replies.values() if reply.error is None]
        no_relations = all(reply.relations is None for reply in sound)
        no_passages = all(reply.passages is None for reply in sound)
        return replace(
            Run.concatenated([self._run(question.id) for question in questions]),
            relations=None if no_relations else tuple(reply.relations or () for reply in replies),
            passages=None if no_passages else tuple(reply.passages or () for reply in replies),
            returns_entities=not sound or any(reply.entities is not None for reply in sound),
            external=True,
        )

    def foreign(self) -> Foreign:
        keys = [example.id for example in self.examples or ()]
        for key in keys:
            self._run(key)  # so that every stranger is known
        replies = [self.replies[key] for key in keys]
        return Foreign(
            graph=self.graph.extended_by(list(self.names.strangers), NOT_IN_GRAPH),
            known=len(self.graph),
            seconds=np.array([reply.seconds for reply in replies]),
            wall_seconds=self.wall_seconds,
            errors=tuple(reply.error for reply in replies),
            answers=tuple(reply.answer for reply in replies),
            contexts=tuple(reply.context for reply in replies),
            usage=tuple(reply.usage for reply in replies),
        )

    def notes(self) -> list[str]:
        lines = []
        if failed := self._failed():
            key, error = failed[0]
            lines.append(
                t(
                    "{spec}: {failed} of {all} questions failed and score 0, such as {key}: {error}. "
                    "--resume asks them again, and only them",
                    spec=self.spec,
                    failed=len(failed),
                    all=len(self.replies),
                    key=repr(key),
                    error=error,
                )
            )
        if self.names.strangers:
            first = ", ".join(map(repr, list(self.names.strangers)[:3]))
            lines.append(
                t(
                    "{spec}: names that are not in the graph keep their places in the ranking and count as "
                    "wrong: {n}, such as {names}",
                    spec=self.spec,
                    n=f"{len(self.names.strangers):,}",
                    names=first,
                )
            )
        if self.names.strangers and not self.knows_some:
            lines.append(
                t(
                    "{spec}: none of the returned entities is in the graph. If it returns texts or chunks, "
                    "return them as 'passages' and use --measures passages:recall@5",
                    spec=self.spec,
                )
            )
        lines += self.names.note()
        if self.resumed:
            lines.append(t("{spec}: replies taken from the journal: {n}", spec=self.spec, n=self.resumed))
        return lines

    def _failed(self) -> list[tuple[str, str]]:
        return [(key, reply.error) for key, reply in self.replies.items() if reply.error is not None]

    def _ask(self, questions: dict[str, str]) -> None:
        if not questions:
            return
        asking, journal, known = self.asking, None, dict[str, OwnReply]()
        if asking.journal is not None:
            journal = ReplyJournal(asking.journal, self.spec, resume=asking.resume)
            known = {key: reply for (key, text), reply in journal.known.items() if questions.get(key) == text}
            self.replies |= known
        self.resumed += len(known)
        left = {key: text for key, text in questions.items() if key not in known}
        started, failed = time.perf_counter(), 0
        try:
            with set_apart():
                replies = asked(self._worker, left, asking.concurrency, asking.timeout)
                for done, (key, reply) in enumerate(replies, start=len(known) + 1):
                    if journal is not None:
                        journal.keep(key, left[key], reply)
                    self.replies[key] = reply
                    failed += reply.error is not None
                    asking.done(done, str(t("{n} failed", n=failed)) if failed else "")
            # As they were asked, whichever was answered first.
            self.replies = {key: self.replies[key] for key in dict.fromkeys((*questions, *self.replies))}
        finally:
            self.wall_seconds += time.perf_counter() - started
            self._worker.close()
            if journal is not None:
                journal.close()

    def _run(self, key: str) -> Run:
        reply = self.replies[key]
        ranking = list(self.names.ranking(reply.entities or ()).items())[: self.depth]
        entities, count = [entity for entity, _ in ranking], len(ranking)
        self.knows_some |= any(entity < len(self.graph) for entity in entities)
        given = [place.score for _, place in ranking if place.score is not None]
        ranks = 1.0 / np.arange(1, count + 1)
        return Run(
            np.array([0, count], dtype=np.int64),
            np.array(entities, dtype=np.int32),
            np.array(given, dtype=np.float64) if len(given) == count else ranks,
            np.full(count, NO_HOP, dtype=np.int32),
            failures={} if reply.error is None else {0: reply.error},
        )


class ReplyJournal:
    """Replies, a line each, on disk before they count. A new run replaces the last one's; one that resumes
    goes on behind them.

    known: what the run to resume brought by this retriever, without what failed, by id and question.
    """

    def __init__(self, path: Path, spec: str, *, resume: bool = False) -> None:
        """spec: as `--retriever` names the function. Raises UsageError and InputError as `JournalFile`, and
        InputError for a file that is no journal: such a one is never changed."""
        self._file, self._spec = JournalFile(path, BUSY), spec
        self.known: dict[tuple[str, str], OwnReply] = {}
        lines = [line for _, line in self._file.lines()] if resume else []
        read = 0
        try:
            if not self._file.begins_with(HEAD):
                raise ValueError
            for line in lines:
                row = json.loads(line)
                if row["retriever"] == spec and row["error"] is None:
                    self.known[row["id"], row["query"]] = reply_from(row)
                read += 1
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.close()
            raise InputError(
                "{path}:{number}: not a line of a journal. Move or rename the file",
                path=path,
                number=read + 1,
            ) from error
        self._file.cut(sum(map(len, lines)))

    def keep(self, key: str, query: str, reply: OwnReply) -> None:
        row = {"retriever": self._spec, "id": key, "query": query, **reply.as_dict()}
        self._file.append(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        self._file.sync()

    def close(self) -> None:
        self._file.close()


def worker_of(spec: str, *, in_process: bool) -> Worker:
    """Who asks the function that `spec` names. Raises UsageError where it can't be had."""
    if in_process:
        return InProcess(spec)
    with set_apart():
        return InThread(load_function(spec))


@contextmanager
def set_apart() -> Iterator[None]:
    """The user's code runs here: what it prints goes to standard error, and a folder that it changes to is
    left again, so that results are written where the user said."""
    folder = Path.cwd()
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(output, 1)
        os.close(output)
        os.chdir(folder)


def make_own(config: Config, given: Function | None = None, **asked: Any) -> Callable[..., Retriever]:
    """A retriever maker for `evaluate`, as `make_retriever` is one, for the function that the setting names.

    given: the function itself, of this process. asked: what `Asking` takes next to the settings.
    """
    spec, asking = (
        config.retrieval.retriever,
        Asking(config.openai.concurrency, config.openai.timeout, **asked),
    )
    # What can't be imported is refused before a graph is read.
    worker = worker_of(spec, in_process=config.running.own_process) if given is None else InThread(given)

    def make(graph: KnowledgeGraph, config: Any, examples: Any = None, judgments: Any = None) -> Retriever:
        return OwnRetriever(Task(graph, config, spec, examples, judgments), asking, worker)

    return make
