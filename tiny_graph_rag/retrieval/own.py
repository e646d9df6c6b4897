"""A retriever of the user's own: any callable, question → what it retrieved.

    --retriever my_rag.py:retrieve          a function, class or object of a file
    --retriever package.module:function     of an importable module
    evaluate(…, retriever=my_function)      of this process, from Python

On the command line it runs in a process of its own (`own_process`), from Python in threads of this one
(`own_calls`). Each question is asked once, several at a time; every reply is on disk before it counts, so
that a run that was cut off goes on where it stopped. A question that raises, times out or returns something
else has failed: it retrieved nothing, is listed with its error and scores 0.

What the graph does not have keeps its place in the ranking, as an entity without relations that is no
reference: leaving it out would move the others up.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any, ClassVar, Self

import numpy as np

from tiny_graph_rag.errors import ServiceError, UsageError
from tiny_graph_rag.formats.runs import Retrieved
from tiny_graph_rag.gold.ambiguous import meant, note, relevant_entities
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.messages import said, t
from tiny_graph_rag.retrieval.base import Foreign, Retriever, Task
from tiny_graph_rag.retrieval.native import OwnReply
from tiny_graph_rag.retrieval.own_calls import BATCH, Calls, Event
from tiny_graph_rag.retrieval.own_process import RetrieverProcess
from tiny_graph_rag.retrieval.own_replies import ReplyJournal
from tiny_graph_rag.run import NO_HOP, Run

NOT_IN_GRAPH = "NOT_IN_GRAPH"  # the type of what only the retriever knows
MOST_ENDS = 5  # ends of the retriever's process in a row, without one reply, after which it is given up
CANCEL_SECONDS = 0.5  # for an async call to end once it was cancelled
LOOK_SECONDS = 0.5  # between two looks at whether Ctrl-C was pressed, where a wait can't be interrupted


@dataclass(frozen=True, slots=True)
class Asking:
    """How the user's function is asked.

    journal: where replies are kept, None nowhere. resume: take over what the journal has; what failed is
    asked again. timeout: seconds for one question. repeat: how many times each question is asked; the first
    replies are what is scored. done: called with after each how many are done and have failed.
    """

    concurrency: int = 8
    timeout: float = 60.0
    journal: Path | None = None
    resume: bool = False
    repeat: int = 1
    done: Callable[[int, str], None] = lambda done, note: None


Worker = Calls | RetrieverProcess  # who runs calls: in this process, or in another


class OwnRetriever(Retriever):
    """The user's ranking in its own order. Settings that steer a walk (hops, filters) do not concern it."""

    name: ClassVar[str] = "own"
    argument: ClassVar[str] = "FILE.py:FUNCTION"
    walks: ClassVar[bool] = False

    def __init__(
        self, task: Task, asking: Asking, made: Callable[[], Worker], first: Worker | None = None
    ) -> None:
        """made: makes who runs the calls. first: one that runs already, for the first questions."""
        self.graph, self.depth = task.graph, task.config.retrieval.depth
        self.spec, self.asking = task.argument, asking
        self.examples = task.examples
        self.replies: dict[str, OwnReply] = {}
        self.repeats: list[dict[str, OwnReply]] = []
        self.wall_seconds = 0.0
        self.resumed = 0
        self.strangers: dict[str, int] = {}
        self.several: dict[str, None] = {}
        self.knows_some = False
        self._made, self._first = made, first
        self._names = NameIndex.of(task.graph)
        self._ambiguous = task.config.evaluation.ambiguous
        self._relevant = relevant_entities(self._ambiguous, task.examples or (), self._names)
        self._rows = {key: row for row, key in enumerate(task.graph.entities.ids)}

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task, Asking(), partial(RetrieverProcess, task.argument))

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
        return self._whole_run([question.id for question in questions], self.replies)

    def _whole_run(self, keys: Sequence[str], all_replies: dict[str, OwnReply]) -> Run:
        replies = [all_replies[key] for key in keys]
        sound = [reply for reply in all_replies.values() if reply.error is None]
        no_relations = all(reply.relations is None for reply in sound)
        no_passages = all(reply.passages is None for reply in sound)
        return replace(
            Run.concatenated([self._run(key, all_replies[key]) for key in keys]),
            relations=None if no_relations else tuple(reply.relations or () for reply in replies),
            passages=None if no_passages else tuple(reply.passages or () for reply in replies),
            returns_entities=not sound or any(reply.entities is not None for reply in sound),
            external=True,
        )

    def foreign(self) -> Foreign:
        keys = [example.id for example in self.examples or ()]
        for key in keys:
            self._run(key, self.replies[key])  # so that every stranger is known
        replies = [self.replies[key] for key in keys]
        repeats = tuple(self._whole_run(keys, again) for again in self.repeats)
        return Foreign(
            graph=self.graph.extended_by(list(self.strangers), NOT_IN_GRAPH),
            known=len(self.graph),
            seconds=np.array([reply.seconds for reply in replies]),
            wall_seconds=self.wall_seconds,
            errors=tuple(reply.error for reply in replies),
            answers=tuple(reply.answer for reply in replies),
            contexts=tuple(reply.context for reply in replies),
            usage=tuple(reply.usage for reply in replies),
            repeats=repeats,
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
        if self.strangers:
            first = ", ".join(map(repr, list(self.strangers)[:3]))
            lines.append(
                t(
                    "{spec}: {n} names are not in the graph (such as {names}); each keeps its place in the "
                    "ranking and counts as wrong",
                    spec=self.spec,
                    n=f"{len(self.strangers):,}",
                    names=first,
                )
            )
        if self.strangers and not self.knows_some:
            lines.append(
                t(
                    "{spec}: none of the returned entities is in the graph. If it returns texts or chunks, "
                    "return them as 'passages' and use --measures passages:recall@5",
                    spec=self.spec,
                )
            )
        lines += note(self.several, self._ambiguous)
        if self.resumed:
            lines.append(t("{spec}: {n} replies were taken from the journal", spec=self.spec, n=self.resumed))
        left_out = sum(reply.left_out for reply in self.replies.values())
        if left_out:
            lines.append(
                t(
                    "{spec}: {n} values of usage are negative, NaN or infinite and were ignored",
                    spec=self.spec,
                    n=left_out,
                )
            )
        if self.repeats:
            lines.append(self._changes())
        return lines

    def _failed(self) -> list[tuple[str, str]]:
        return [(key, reply.error) for key, reply in self.replies.items() if reply.error is not None]

    def _changes(self) -> str:
        """How many questions did not get the same ranking each time."""
        rounds = [self.replies, *self.repeats]
        changed = [key for key in self.replies if len({_ranking(replies[key]) for replies in rounds}) > 1]
        if not changed:
            return t("{spec}: asked {n} times; all rankings were the same", spec=self.spec, n=len(rounds))
        return t(
            "{spec}: asked {n} times, {changed} of {all} questions got different rankings, such as {key}",
            spec=self.spec,
            n=len(rounds),
            changed=len(changed),
            all=len(self.replies),
            key=repr(changed[0]),
        )

    def _ask(self, questions: dict[str, str]) -> None:
        if not questions:
            return
        journal = ReplyJournal(self.asking.journal, self.spec) if self.asking.journal is not None else None
        try:
            known = journal.replies(questions) if journal is not None and self.asking.resume else {}
            self.replies |= known
            self.resumed += len(known)
            left = {key: text for key, text in questions.items() if key not in known}
            if left or self.asking.repeat > 1:
                self._ask_worker(questions, left, journal, len(known))
        finally:
            if journal is not None:
                journal.close()

    def _ask_worker(
        self, questions: dict[str, str], left: dict[str, str], journal: ReplyJournal | None, before: int
    ) -> None:
        worker, self._first = self._first or self._made(), None
        try:
            started = time.perf_counter()
            self.replies |= Schedule(worker, left, self.asking, journal, before).replies()
            self.wall_seconds += time.perf_counter() - started
            for _ in range(self.asking.repeat - 1):
                self.repeats.append(Schedule(worker, questions, self.asking, None, 0).replies())
        except BaseException:
            worker.kill()
            raise
        worker.close()

    def _run(self, key: str, reply: OwnReply) -> Run:
        used: dict[int, None] = {}
        relevant = self._relevant.get(key, frozenset())
        scores = []
        for place in reply.entities or ():
            row = self._row(place, relevant, used)
            if row not in used and len(used) < self.depth:
                used[row] = None
                scores.append(place.score)
        count = len(used)
        given = [score for score in scores if score is not None]
        ranks = 1.0 / np.arange(1, count + 1)
        return Run(
            np.array([0, count], dtype=np.int64),
            np.fromiter(used, dtype=np.int32, count=count),
            np.array(given, dtype=np.float64) if len(given) == count else ranks,
            np.full(count, NO_HOP, dtype=np.int32),
            failures={} if reply.error is None else {0: reply.error},
        )

    def _row(self, place: Retrieved, relevant: Set[int], used: dict[int, None]) -> int:
        """An id's entity; of a name's entities the one that counts; else a stranger."""
        by_id = self._rows.get(place.id) if place.id else None
        found = self._names.resolve(place.name or place.id)[0] if by_id is None else (by_id,)
        if found:
            self.knows_some = True
            if len(found) > 1:
                self.several[place.name or place.id] = None
            return meant(found, relevant, used.keys())
        key = place.name or place.id
        return len(self.graph) + self.strangers.setdefault(key, len(self.strangers))


def _ranking(reply: OwnReply) -> tuple[Any, ...]:
    """What has to be the same for two replies to rank the same; scores may differ in their last bits."""
    entities = None if reply.entities is None else tuple(place.key for place in reply.entities)
    relations = None if reply.relations is None else tuple(relation[:4] for relation in reply.relations)
    passages = None if reply.passages is None else tuple(passage[:2] for passage in reply.passages)
    return reply.error is not None, entities, relations, passages


@dataclass(slots=True)
class Under:
    """A call under way. deadline: infinite until it is known to run."""

    keys: list[str]
    deadline: float = math.inf


@dataclass(slots=True)
class Schedule:
    """Asks a worker all of `questions`, several at a time, until each has a reply.

    A call that is not over at its deadline has failed; where it can't be cancelled, its process is ended once
    the other calls are done, and another one goes on. Where the process ends by itself with several calls
    under way, they are asked again one at a time, so that only the one that ends it fails.
    """

    worker: Worker
    questions: dict[str, str]
    asking: Asking
    journal: ReplyJournal | None
    before: int
    found: dict[str, OwnReply] = field(default_factory=dict)
    waiting: deque[list[str]] = field(default_factory=deque)
    alone: deque[list[str]] = field(default_factory=deque)
    under_way: dict[int, Under] = field(default_factory=dict)
    stuck: dict[int, float] = field(default_factory=dict)
    calls: int = 0
    failed: int = 0
    ends: int = 0
    is_over: bool = False

    @property
    def is_process(self) -> bool:
        """Whether a call that does not end can be ended, with its process."""
        return isinstance(self.worker, RetrieverProcess)

    def replies(self) -> dict[str, OwnReply]:
        keys, size = list(self.questions), BATCH if self.worker.several else 1
        self.waiting.extend(keys[at : at + size] for at in range(0, len(keys), size))
        while self.waiting or self.alone or self.under_way:
            self._renew()
            self._hand_out()
            self._wait()
        return {key: self.found[key] for key in keys}

    def _renew(self) -> None:
        """A new process where the old one is over, or holds a call that does not end."""
        now = time.monotonic()
        held = self.is_process and any(now >= until for until in self.stuck.values())
        others = any(call.deadline < math.inf for call in self.under_way.values())
        if not self.is_over and (not held or others):
            return
        for call in self.under_way.values():  # they wait behind the one that does not end
            self.waiting.appendleft(call.keys)
        self.under_way.clear()
        self.stuck.clear()
        self.is_over = False
        if (self.waiting or self.alone) and isinstance(self.worker, RetrieverProcess):
            try:
                self.worker.restart()
            except UsageError as error:
                self._give_up(str(error))

    def _give_up(self, reason: str) -> None:
        for keys in (*self.alone, *self.waiting):
            self._keep(keys, [OwnReply(error=reason)] * len(keys))
        self.alone.clear()
        self.waiting.clear()

    def _hand_out(self) -> None:
        if self.is_process and self.stuck:
            return
        most = 1 if self.alone else self.asking.concurrency
        while (self.alone or self.waiting) and len(self.under_way) < most:
            keys = self.alone.popleft() if self.alone else self.waiting.popleft()
            self.calls += 1
            self.under_way[self.calls] = Under(keys)
            self.worker.start(self.calls, [self.questions[key] for key in keys])
            most = 1 if self.alone else most

    def _wait(self) -> None:
        """For what happens next, or for the next deadline."""
        moments = [call.deadline for call in self.under_way.values()]
        if self.is_process:
            moments += self.stuck.values()
        if not moments:
            return
        seconds = max(0.0, min(min(moments) - time.monotonic(), LOOK_SECONDS))
        with contextlib.suppress(Empty):
            self._happened(self.worker.events.get(timeout=seconds))
        self._expire()

    def _happened(self, event: Event) -> None:
        call = self.under_way.get(event.call)
        if event.what == "died":
            self._died(event.reason)
        elif event.what == "started" and call is not None:
            call.deadline = time.monotonic() + self.asking.timeout
        elif event.what == "ended":
            self.stuck.pop(event.call, None)
            if call is not None:
                del self.under_way[event.call]
                self.ends = 0
                self._keep(call.keys, event.replies)

    def _died(self, reason: str) -> None:
        calls = list(self.under_way.values())
        self.under_way.clear()
        self.is_over = True
        self.ends += 1
        if len(calls) == 1 and not self.stuck:
            self._keep(calls[0].keys, [OwnReply(error=reason)] * len(calls[0].keys))
        else:
            self.alone.extend(call.keys for call in calls)
        if self.ends >= MOST_ENDS:
            self._give_up(
                str(
                    said(
                        "{reason}; stopped because the process ended {n} times in a row",
                        reason=reason,
                        n=self.ends,
                    )
                )
            )

    def _expire(self) -> None:
        now = time.monotonic()
        for number, call in list(self.under_way.items()):
            if now >= call.deadline:
                del self.under_way[number]
                self.stuck[number] = now + CANCEL_SECONDS
                self.worker.cancel(number)
                error = str(
                    said("no reply within {seconds} s (--timeout)", seconds=f"{self.asking.timeout:g}")
                )
                reply = OwnReply(seconds=self.asking.timeout, error=error)
                self._keep(call.keys, [reply] * len(call.keys))

    def _keep(self, keys: Sequence[str], replies: Sequence[OwnReply]) -> None:
        for key, reply in zip(keys, replies, strict=True):
            if self.journal is not None:
                self.journal.keep(key, self.questions[key], reply)
            self.found[key] = reply
            self.failed += reply.error is not None
            note = str(t("{n} failed", n=self.failed)) if self.failed else ""
            self.asking.done(self.before + len(self.found), note)


def make_own(
    spec: str, asking: Asking, start: Callable[[], Worker] | None = None
) -> Callable[..., Retriever]:
    """A retriever maker for `evaluate`, as `make_retriever` is one, for the function that `spec` names.

    start: makes who runs its calls; without it a process does that imports the function.
    """
    start = start or partial(RetrieverProcess, spec)
    first = start()  # what can't be imported is refused before a graph is read

    def make(graph: KnowledgeGraph, config: Any, examples: Any = None, judgments: Any = None) -> Retriever:
        return OwnRetriever(Task(graph, config, spec, examples, judgments), asking, start, first)

    return make
