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
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import ServiceError
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
BUSY = "another process is writing this journal. Wait for it, or choose other results with -o"
HEAD = b'{"retriever": '  # how each journal begins

Progress = Callable[[int, str], None]


class OwnRetriever(Retriever):
    """The user's ranking in its own order. Settings that steer a walk (hops, filters) do not concern it."""

    name: ClassVar[str] = "own"
    argument: ClassVar[str] = "FILE.py:FUNCTION"
    walks: ClassVar[bool] = False

    def __init__(
        self,
        task: Task,
        worker: Worker,
        journal: Path | None = None,
        *,
        resume: bool = False,
        done: Progress = lambda done, note: None,
    ) -> None:
        """journal: where replies are kept, None nowhere. resume: take over what the journal has; what failed
        is asked again. done: called after each question with how many are done, and a note on failures."""
        self.graph, self.config, self.spec, self.examples = (
            task.graph,
            task.config,
            task.argument,
            task.examples,
        )
        self.replies: dict[str, OwnReply] = {}
        self.wall_seconds = 0.0
        self.resumed = 0
        self.knows_some = False
        self.names = ReturnedNames(task)
        self._worker, self._journal, self._resume, self._done = worker, journal, resume, done

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task, worker_of(task.argument, in_process=task.config.running.own_process))

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
        return Foreign(
            graph=self.graph.extended_by(list(self.names.strangers), NOT_IN_GRAPH),
            known=len(self.graph),
            replies=tuple(self.replies[key] for key in keys),
            wall_seconds=self.wall_seconds,
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
        journal, known = None, dict[str, OwnReply]()
        if self._journal is not None:
            journal = ReplyJournal(self._journal, self.spec, resume=self._resume)
            known = {key: reply for (key, text), reply in journal.known.items() if questions.get(key) == text}
        self.resumed += len(known)
        left = {key: text for key, text in questions.items() if key not in known}
        service, replies = self.config.openai, dict(known)
        started, failed = time.perf_counter(), 0
        try:
            with set_apart():
                for key, reply in asked(self._worker, left, service.concurrency, service.timeout):
                    if journal is not None:
                        journal.keep(key, left[key], reply)
                    replies[key] = reply
                    failed += reply.error is not None
                    self._done(len(replies), str(t("{n} failed", n=failed)) if failed else "")
        finally:
            self.wall_seconds += time.perf_counter() - started
            self._worker.close()
            if journal is not None:
                journal.close()
        self.replies |= {key: replies[key] for key in questions}  # as asked, whichever was answered first

    def _run(self, key: str) -> Run:
        reply = self.replies[key]
        ranking = list(self.names.ranking(reply.entities or ()).items())[: self.config.retrieval.depth]
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


class ReplyJournal(JournalFile):
    """Replies, a line each, on disk before they count. A new run replaces the last one's; one that resumes
    goes on behind them.

    known: what the run to resume brought by this retriever, without what failed, by id and question.
    """

    def __init__(self, path: Path, spec: str, *, resume: bool = False) -> None:
        """spec: as `--retriever` names the function. Raises as `JournalFile` and its `entries`."""
        super().__init__(path, BUSY)
        replies = self.entries(HEAD, _line_read)
        self.spec = spec
        self.known = {
            (key, query): reply
            for its_spec, key, query, reply in (replies if resume else ())
            if its_spec == spec and reply.error is None
        }
        if not resume:
            self.cut(0)

    def keep(self, key: str, query: str, reply: OwnReply) -> None:
        row = {"retriever": self.spec, "id": key, "query": query, **reply.as_dict()}
        self.append(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        self.sync()


def _line_read(line: bytes) -> tuple[str, str, str, OwnReply]:
    """(retriever, id, question, reply) of a line of the journal."""
    row = json.loads(line)
    return row["retriever"], row["id"], row["query"], reply_from(row)


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


def make_own(config: Config, given: Function | None = None, **more: Any) -> Callable[..., Retriever]:
    """A retriever maker for `evaluate`, as `make_retriever` is one, for the function that the setting names.

    given: the function itself, of this process. more: what OwnRetriever takes next to task and worker.
    """
    spec = config.retrieval.retriever
    # What can't be imported is refused before a graph is read.
    worker = worker_of(spec, in_process=config.running.own_process) if given is None else InThread(given)

    def make(graph: KnowledgeGraph, config: Any, examples: Any = None, judgments: Any = None) -> Retriever:
        return OwnRetriever(Task(graph, config, spec, examples, judgments), worker, **more)

    return make
