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
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, ClassVar, Self

import numpy as np

from tiny_graph_rag.errors import InputError, RunError, ServiceError, UsageError, json_kind, nearest
from tiny_graph_rag.formats.runs import Retrieved, in_order
from tiny_graph_rag.formats.runs.json_forms import places_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Foreign, Retriever, Task
from tiny_graph_rag.run import NO_HOP, Run

JOURNAL_ENDING = ".retrieved.jsonl"
JOURNAL_VERSION = 1
LISTED = ("entities", "retrieved_entities", "retrieved")
NOT_IN_GRAPH = "NOT_IN_GRAPH"  # the type of what only the retriever knows
WANTED = "wanted a list of names, (name, score) pairs or objects, or {'entities': […]}"

Function = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What one question brought. places: best first. error: why it failed, None otherwise."""

    places: tuple[Retrieved, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    answer: str | None = None
    context: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "entities": [place._asdict() for place in self.places],
            "seconds": self.seconds,
            "error": self.error,
            "answer": self.answer,
            "context": self.context,
            "usage": self.usage,
        }

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Reply:
        """Of a journal's line. Raises ValueError or KeyError where it is none."""
        seconds = found["seconds"]
        if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
            raise ValueError(f"{seconds!r} seconds")
        return replace(reply_of(found), seconds=float(seconds))


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
        raise UsageError(f"--retriever {spec}: importing it failed: {_told(error)}") from error
    function = getattr(module, name, None)
    if function is None:
        callables = [key for key, value in vars(module).items() if callable(value) and key[:1] != "_"]
        hint = nearest(name, callables) or f"; it has: {', '.join(callables[:8]) or 'no function'}"
        raise UsageError(f"--retriever {spec}: {place} has no {name!r}{hint}")
    if not callable(function):
        raise UsageError(f"--retriever {spec}: {name!r} is no function but {type(function).__name__}")
    found: Function = function
    return found


def check_place(spec: str) -> None:
    """Refuse a file that is not there without importing anything. Raises UsageError."""
    place, _, _ = spec.rpartition(":")
    if place.endswith(".py"):
        _check_file(Path(place).expanduser().resolve())


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise UsageError(f"--retriever {path.name}: no such file (looked in {path.parent})")


def _own_folder() -> contextlib.chdir[str]:
    """Afterwards we are where we were: libraries change folders (graphrag does), and paths are relative."""
    return contextlib.chdir(".")


def _module_of_file(path: Path) -> Any:
    path = path.expanduser().resolve()
    _check_file(path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"--retriever {path}: not a Python file")
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
        self.replies: dict[str, Reply] = {}
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
            raise ServiceError(f"{self.spec}: every question failed, such as {key!r}: {error}")

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
        journal = _Journal(self.asking.journal, self.spec) if self.asking.journal is not None else None
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

    def _run(self, reply: Reply) -> Run:
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
    function: Function, questions: dict[str, str], asking: Asking, journal: _Journal | None, before: int
) -> dict[str, Reply]:
    replies: dict[str, Reply] = {}
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


async def _asked(function: Function, question: str, timeout: float) -> Reply:
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
        reply = Reply(error=told)
    except asyncio.CancelledError:
        raise
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        reply = Reply(error=_told(error))
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
    line = _whole(next(iter(str(error).splitlines()), ""))
    return f"{type(error).__name__}: {line[:300]}" if line else type(error).__name__


def reply_of(value: Any) -> Reply:
    """What a function returned, checked. Raises ValueError with what was wanted and what came."""
    answer = context = None
    usage: dict[str, Any] = {}
    if isinstance(value, dict):
        given = next(
            (value[name] for name in ("entities", "retrieved_entities", "retrieved") if name in value), None
        )
        if given is None:
            raise ValueError(f"{WANTED}, got an object with the keys {', '.join(map(repr, value)) or 'none'}")
        answer = None if value.get("answer") is None else _whole(str(value["answer"]))
        context = value.get("context", value.get("contexts"))
        context = "\n".join(map(str, context)) if isinstance(context, list | tuple) else context
        context = None if context is None else _whole(str(context))
        usage = value["usage"] if isinstance(value.get("usage"), dict) else {}
        value = given
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise ValueError(f"{WANTED}, got {json_kind(value)}")
    problems: list[str] = []
    places = places_of([_plain(each) for each in value], "the returned list", problems)
    if problems:
        raise ValueError(problems[0])
    ranked = tuple(_whole_place(each) for each in in_order(places, "the returned list"))
    return Reply(ranked, answer=answer, context=context, usage=_numbers(usage))


def _plain(value: Any) -> Any:
    """Pairs and numbers of numpy as Python's; a dataclass or a model as its fields."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if hasattr(value, "item") and not isinstance(value, dict):
        return value.item()
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    return value


def _numbers(usage: dict[str, Any]) -> dict[str, Any]:
    kept = {_whole(str(key)): value for key, value in usage.items() if isinstance(value, int | float | str)}
    return {key: _whole(value) if isinstance(value, str) else value for key, value in kept.items()}


def _whole_place(place: Retrieved) -> Retrieved:
    name, id, score, *more = place
    text, type, source = map(_whole, more)
    return Retrieved(_whole(name), _whole(id), score, text, type, source)


def _whole(text: str) -> str:
    """The text without halves of characters, which no file can hold: a cut emoji, say."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class _Journal:
    """One line a reply, on disk before it counts. A new run replaces the last one's lines with its first."""

    def __init__(self, path: Path, spec: str) -> None:
        self.path, self.spec = path, spec
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream: IO[bytes] = path.open("a+b")
        except OSError as error:
            raise InputError(f"{path}: the journal can't be opened: {error.strerror}") from error
        try:
            import fcntl

            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except OSError as error:
            self._stream.close()
            raise UsageError(
                f"{path}: another process is writing this journal. Wait for it, or choose another -o"
            ) from error
        self._kept = False

    def replies(self, questions: dict[str, str]) -> dict[str, Reply]:
        """What the last run of this function brought for these questions, without what failed."""
        self._stream.seek(0)
        found: dict[str, Reply] = {}
        whole = 0
        for number, line in enumerate(self._stream, start=1):
            if not line.endswith(b"\n"):
                break  # torn by a crash
            whole += len(line)
            try:
                row = json.loads(line)
                if row.get("journal") is not None:
                    if row["retriever"] != self.spec:
                        raise UsageError(
                            f"{self.path}: the journal is of {row['retriever']}, not of {self.spec}. "
                            "Leave --resume out to ask everything anew"
                        )
                    continue
                if questions.get(row["id"]) == row["query"] and row["error"] is None:
                    found[row["id"]] = Reply.from_dict(row)
            except (ValueError, KeyError, TypeError, AttributeError, RunError, RecursionError) as error:
                raise InputError(
                    f"{self.path}:{number}: not a line of a journal. Move the file away"
                ) from error
        self._stream.truncate(whole)
        self._kept = whole > 0
        return found

    def keep(self, key: str, query: str, reply: Reply) -> None:
        if not self._kept:
            self._stream.truncate(0)
            self._line({"journal": JOURNAL_VERSION, "retriever": self.spec})
            self._kept = True
        self._line({"id": key, "query": query, **reply.as_dict()})

    def _line(self, row: dict[str, Any]) -> None:
        self._stream.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        self._stream.close()


def make_own(spec: str, asking: Asking) -> Callable[..., Retriever]:
    """A retriever maker for `evaluate`, as `make_retriever` is one, for the function that `spec` names."""
    function = load_function(spec)

    def make(graph: KnowledgeGraph, config: Any, examples: Any = None, judgments: Any = None) -> Retriever:
        return OwnRetriever(Task(graph, config, spec, examples, judgments), function, asking)

    return make
