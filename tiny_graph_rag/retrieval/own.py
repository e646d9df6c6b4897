"""A retriever of the user's own: any callable, question → what it retrieved.

    --retriever my_rag.py:retrieve          a function of a file
    --retriever package.module:function     of an importable module

Sync or async; it is given the question's text and returns a list, best first, of names, (name, score) pairs
or objects with `name` or `id`, or an object that holds such a list under `entities` beside `context`,
`answer` and `usage`. Each question is asked once, several at a time; every reply is on disk before it counts,
so that a run that was cut off goes on where it stopped. A question that raises, times out or returns
something else has failed: it retrieved nothing, is listed with its error and scores 0.

What the graph does not have keeps its place in the ranking, as an entity without relations that is no
reference: leaving it out would move the others up.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import inspect
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tiny_graph_rag.errors import ServiceError, UsageError, nearest
from tiny_graph_rag.formats.runs import Retrieved
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.messages import said
from tiny_graph_rag.retrieval.base import Foreign, Retriever, Task
from tiny_graph_rag.retrieval.own_replies import OwnReply, ReplyJournal, reply_of, whole
from tiny_graph_rag.run import NO_HOP, Run

NOT_IN_GRAPH = "NOT_IN_GRAPH"  # the type of what only the retriever knows

Function = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Asking:
    """How the user's function is asked.

    journal: where replies are kept, None nowhere. resume: take over what the journal has; what failed is
    asked again. timeout: seconds for one question. done: told after each how many are done and have failed.
    """

    concurrency: int = 8
    timeout: float = 60.0
    journal: Path | None = None
    resume: bool = False
    done: Callable[[int, str], None] = lambda done, note: None


def load_function(spec: str) -> Function:
    """The callable that a spec names. Raises UsageError, also for whatever the user's file raises."""
    place, _, name = spec.rpartition(":")
    try:
        with _own_folder():
            module = _module_of_file(Path(place)) if place.endswith(".py") else _module(place)
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:  # whatever a user's file does when it is imported
        raise UsageError(
            said("--retriever {spec}: importing it failed: {told}", spec=spec, told=_told(error))
        ) from error
    function = getattr(module, name, None)
    if function is None:
        callables = [key for key, value in vars(module).items() if callable(value) and key[:1] != "_"]
        hint = nearest(name, callables) or f"; it has: {', '.join(callables[:8]) or 'no function'}"
        raise UsageError(
            said(
                "--retriever {spec}: {place} has no {name}{hint}",
                spec=spec,
                place=place,
                name=repr(name),
                hint=hint,
            )
        )
    if not callable(function):
        raise UsageError(
            said(
                "--retriever {spec}: {name} is no function but {kind}",
                spec=spec,
                name=repr(name),
                kind=type(function).__name__,
            )
        )
    found: Function = function
    return found


def check_place(spec: str) -> None:
    """Refuse a file that is not there without importing anything. Raises UsageError."""
    place, _, _ = spec.rpartition(":")
    if place.endswith(".py"):
        _check_file(Path(place).expanduser().resolve())


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise UsageError(
            said("--retriever {name}: no such file (looked in {parent})", name=path.name, parent=path.parent)
        )


def _own_folder() -> contextlib.chdir[str]:
    """Afterwards we are where we were: libraries change folders (graphrag does), and paths are relative."""
    return contextlib.chdir(".")


def _module_of_file(path: Path) -> Any:
    path = path.expanduser().resolve()
    _check_file(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(said("--retriever {path}: not a Python file", path=path))
    module = importlib.util.module_from_spec(spec)
    with contextlib.ExitStack() as stack:
        if str(path.parent) not in sys.path:  # so that it can import what lies beside it, now and later
            sys.path.insert(0, str(path.parent))
        before = sys.modules.get(path.stem)
        sys.modules[path.stem] = module
        stack.callback(lambda: sys.modules.__setitem__(path.stem, before) if before else None)
        spec.loader.exec_module(module)
    return module


def _module(name: str) -> Any:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)


class OwnRetriever(Retriever):
    """The user's ranking in its own order. Settings that steer a walk (hops, filters) do not concern it."""

    name: ClassVar[str] = "own"
    argument: ClassVar[str] = "FILE.py:FUNCTION"
    walks: ClassVar[bool] = False

    def __init__(self, task: Task, function: Function, asking: Asking) -> None:
        self.graph, self.depth = task.graph, task.config.retrieval.depth
        self.spec, self.function, self.asking = task.argument, function, asking
        self.examples = task.examples
        self.replies: dict[str, OwnReply] = {}
        self.wall_seconds = 0.0
        self.resumed = 0
        self.strangers: dict[str, int] = {}
        self._names = NameIndex.of(task.graph)
        self._rows = {key: row for row, key in enumerate(task.graph.entities.ids)}

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task, load_function(task.argument), Asking())

    def prepare(self, linked: Callable[[], Sequence[LinkedQuestion]]) -> None:
        """Ask everything now. Raises ServiceError where every question fails: then nothing was measured."""
        questions = {each.id: each.query for each in self.examples or ()}
        self._ask(questions)
        failed = [(key, reply.error) for key, reply in self.replies.items() if reply.error is not None]
        if failed and len(failed) == len(questions):
            key, error = failed[0]
            raise ServiceError(
                said(
                    "{spec}: every question failed, such as {key}: {error}",
                    spec=self.spec,
                    key=repr(key),
                    error=error,
                )
            )

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        self._ask({each.id: each.text for each in questions if each.id not in self.replies})
        return Run.concatenated([self._run(self.replies[each.id]) for each in questions])

    def foreign(self) -> Foreign:
        keys = [each.id for each in self.examples or ()]
        for key in keys:
            self._run(self.replies[key])  # so that every stranger is known
        replies = [self.replies[key] for key in keys]
        return Foreign(
            graph=self.graph.extended_by(list(self.strangers), NOT_IN_GRAPH),
            known=len(self.graph),
            seconds=np.array([reply.seconds for reply in replies]),
            wall_seconds=self.wall_seconds,
            errors=tuple(reply.error for reply in replies),
            answers=tuple(reply.answer for reply in replies),
            contexts=tuple(reply.context for reply in replies),
            usage=tuple(reply.usage for reply in replies),
        )

    def notes(self) -> list[str]:
        failed = [(key, reply.error) for key, reply in self.replies.items() if reply.error is not None]
        said = []
        if failed:
            key, error = failed[0]
            said.append(
                f"{self.spec}: {len(failed)} of {len(self.replies)} questions failed and score 0, such as "
                f"{key!r}: {error}. --resume asks them again, and only them"
            )
        if self.strangers:
            shown = ", ".join(map(repr, list(self.strangers)[:3]))
            said.append(
                f"{self.spec}: {len(self.strangers):,} names are not in the graph (such as {shown}); each "
                "keeps its place in the ranking and counts as wrong"
            )
        if self.resumed:
            said.append(f"{self.spec}: {self.resumed} replies were taken from the journal")
        return said

    def _ask(self, questions: dict[str, str]) -> None:
        if not questions:
            return
        journal = ReplyJournal(self.asking.journal, self.spec) if self.asking.journal is not None else None
        try:
            known = journal.replies(questions) if journal is not None and self.asking.resume else {}
            self.replies |= known
            self.resumed += len(known)
            left = {key: text for key, text in questions.items() if key not in known}
            started = time.perf_counter()
            if left:
                with _own_folder():
                    replies = asyncio.run(_ask_all(self.function, left, self.asking, journal, len(known)))
                self.replies |= replies
            self.wall_seconds += time.perf_counter() - started
        finally:
            if journal is not None:
                journal.close()

    def _run(self, reply: OwnReply) -> Run:
        used: dict[int, None] = {}
        scores = []
        for place in reply.places:
            row = self._row(place, used)
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

    def _row(self, place: Retrieved, used: dict[int, None]) -> int:
        """An id's entity; of a name's entities the first that was not returned yet; else a stranger."""
        by_id = self._rows.get(place.id) if place.id else None
        found = self._names.resolve(place.name or place.id)[0] if by_id is None else (by_id,)
        if found:
            return next((row for row in found if row not in used), found[0])
        key = place.name or place.id
        return len(self.graph) + self.strangers.setdefault(key, len(self.strangers))


async def _ask_all(
    function: Function, questions: dict[str, str], asking: Asking, journal: ReplyJournal | None, before: int
) -> dict[str, OwnReply]:
    replies: dict[str, OwnReply] = {}
    waiting = iter(questions.items())
    failed = 0

    async def work() -> None:
        nonlocal failed
        for key, text in waiting:
            reply = await _asked(function, text, asking.timeout)
            if journal is not None:
                journal.keep(key, text, reply)
            replies[key] = reply
            failed += reply.error is not None
            asking.done(before + len(replies), f"{failed} failed" if failed else "")

    await asyncio.gather(*(work() for _ in range(min(asking.concurrency, len(questions)))))
    return replies


async def _asked(function: Function, question: str, timeout: float) -> OwnReply:
    started = time.perf_counter()
    try:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object whose __call__ is async
        ):
            value = await asyncio.wait_for(function(question), timeout)
        else:
            value = await asyncio.wait_for(asyncio.wrap_future(_in_thread(function, question)), timeout)
        reply = reply_of(value)
    except TimeoutError as error:
        told = f"no reply within {timeout:g} s (--timeout)" if not str(error) else _told(error)
        reply = OwnReply(error=told)
    except asyncio.CancelledError:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        reply = OwnReply(error=_told(error))
    return replace(reply, seconds=time.perf_counter() - started)


def _in_thread(function: Function, question: str) -> Future[Any]:
    """In a thread of its own: a call that never ends keeps neither others nor the program's end waiting."""
    found: Future[Any] = Future()

    def work() -> None:
        try:
            value = function(question)
            if inspect.isawaitable(value):
                value = asyncio.run(_awaited(value))
        except BaseException as error:
            outcome, is_error = error, True
        else:
            outcome, is_error = value, False
        with contextlib.suppress(Exception):  # nobody waits any more
            found.set_exception(outcome) if is_error else found.set_result(outcome)

    threading.Thread(target=work, daemon=True, name="own-retriever").start()
    return found


async def _awaited(value: Any) -> Any:
    return await value


def _told(error: BaseException) -> str:
    """Type and first line; nobody's traceback."""
    line = whole(next(iter(str(error).splitlines()), ""))
    return f"{type(error).__name__}: {line[:300]}" if line else type(error).__name__


def make_own(spec: str, asking: Asking) -> Callable[..., Retriever]:
    """A retriever maker for `evaluate`, as `make_retriever` is one, for the function that `spec` names."""
    function = load_function(spec)

    def make(graph: KnowledgeGraph, config: Any, examples: Any = None, judgments: Any = None) -> Retriever:
        return OwnRetriever(Task(graph, config, spec, examples, judgments), function, asking)

    return make
