"""Asking a callable of the user's: in a thread, or (`running.own_process`) in another process.

Any kind of callable, sync or async, for one question or for several. What is async runs in one event loop
for all calls, in a thread of its own, so that it works where a loop runs already (Jupyter) and clients that
belong to a loop can be shared.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, cast

from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.inputs import note_named
from tiny_graph_rag.messages import said, speak, spoken
from tiny_graph_rag.retrieval.native import MOST_ITEMS, OwnReply, error_text, reply_of

Function = Callable[..., Any]
METHODS = ("retrieve", "invoke", "get_relevant_documents", "aretrieve", "ainvoke", "query_data", "query")
SEVERAL = ("questions", "queries", "batch")  # how the parameter of a function that takes a list is called
BATCH = 32  # questions that a function for several is given at once
END_SECONDS = 1.0  # for a process to end, before it is killed


class InThread:
    """Asks the function in this process. several: a call takes a list of questions."""

    def __init__(self, function: Function) -> None:
        self.function, self.several = function, _takes_several(function)

    def ask(self, questions: list[str], timeout: float) -> list[OwnReply]:
        """A reply for each question; a thread that is not done in `timeout` seconds is left to itself."""
        ended = SimpleQueue[list[OwnReply]]()
        Thread(target=lambda: ended.put(self.answered(questions)), daemon=True).start()
        try:
            return ended.get(timeout=timeout)
        except Empty:
            return [_no_reply(timeout)] * len(questions)

    def answered(self, questions: list[str]) -> list[OwnReply]:
        """A reply for each question; errors of the function, and whatever else it raises, are replies too."""
        started = time.perf_counter()
        try:
            replies = self._replies(questions)
        except BaseException as error:  # SystemExit and KeyboardInterrupt of a user's function end no run
            replies = [OwnReply(error=error_text(error))] * len(questions)
        seconds = (time.perf_counter() - started) / len(questions)
        return [replace(reply, seconds=seconds) for reply in replies]

    def close(self) -> None:
        """Nothing is to be ended."""

    def _replies(self, questions: list[str]) -> list[OwnReply]:
        value = self.function(list(questions) if self.several else questions[0])
        if inspect.isawaitable(value) or isinstance(value, AsyncIterator):
            value = asyncio.run_coroutine_threadsafe(_resolved(value), self._loop).result()
        if not self.several:
            return [reply_of(value)]
        if isinstance(value, tuple) and value and isinstance(value[0], list):  # HippoRAG: (solutions, more)
            value = value[0]
        values = list(value)
        if len(values) != len(questions):
            raise ValueError(
                said("wanted a reply for each of {n} questions, got {n_2}", n=len(questions), n_2=len(values))
            )
        return list(map(reply_of, values))

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        Thread(target=loop.run_forever, daemon=True, name="retriever loop").start()
        return loop


class InProcess:
    """Asks the function in processes of their own, one for each call under way, where a crash ends nothing
    else. Raises UsageError where the function can't be had."""

    several = False

    def __init__(self, spec: str) -> None:
        self.spec, self._idle = spec, list[tuple[Any, Connection]]()
        self._idle.append(self._started())  # so that a function which can't be had is refused at once

    def ask(self, questions: list[str], timeout: float) -> list[OwnReply]:
        try:
            process, pipe = self._idle.pop()
        except IndexError:
            process, pipe = self._started()
        failed = _no_reply(timeout)
        try:
            pipe.send(questions)
            if pipe.poll(timeout):
                replies: list[OwnReply] = pipe.recv()
                self._idle.append((process, pipe))
                return replies
        except (EOFError, OSError):
            failed = OwnReply(error=_ended(process))
        process.kill()
        return [failed] * len(questions)

    def close(self) -> None:
        """End the processes that wait for a question."""
        while self._idle:
            process, pipe = self._idle.pop()
            pipe.close()
            process.join(END_SECONDS)
            process.kill()

    def _started(self) -> tuple[Any, Connection]:
        context = multiprocessing.get_context("spawn")
        pipe, other = context.Pipe()
        process = context.Process(target=_serve, args=(self.spec, other, spoken()), daemon=True)
        process.start()
        other.close()
        try:
            refused = pipe.recv()
        except EOFError:
            refused = _ended(process)
        if refused:
            raise UsageError("--retriever {spec}: {told}", spec=self.spec, told=refused)
        return process, pipe


def _serve(spec: str, pipe: Connection, language: str) -> None:
    """The process's side, until the program closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    speak(language)
    os.dup2(2, 1)  # what a retriever prints spoils no result
    try:
        worker = InThread(load_function(spec))
    except UsageError as error:
        pipe.send(str(error))
        return
    pipe.send("")
    with suppress(EOFError):
        while True:
            pipe.send(worker.answered(pipe.recv()))


def _ended(process: Any) -> str:
    process.join(END_SECONDS)
    return str(said("its process ended with exit code {code}", code=process.exitcode))


def _no_reply(timeout: float) -> OwnReply:
    error = said("no reply within {seconds} s (openai.timeout)", seconds=f"{timeout:g}")
    return OwnReply(seconds=timeout, error=str(error))


Worker = InThread | InProcess


def asked(
    worker: Worker, questions: dict[str, str], concurrency: int, timeout: float
) -> Iterator[tuple[str, OwnReply]]:
    """Each question's id with its reply, as they come; `concurrency` calls are under way at a time."""
    keys, size = list(questions), BATCH if worker.several else 1
    waiting = deque(keys[first : first + size] for first in range(0, len(keys), size))
    ended = SimpleQueue[tuple[list[str], list[OwnReply]]]()

    def work() -> None:
        with suppress(IndexError):  # nothing waits any more
            while True:
                batch = waiting.popleft()
                ended.put((batch, worker.ask([questions[key] for key in batch], timeout)))

    calls = len(waiting)
    try:
        for _ in range(min(concurrency, calls)):
            Thread(target=work, daemon=True, name="retriever calls").start()
        for _ in range(calls):
            yield from zip(*ended.get(), strict=True)
    finally:
        waiting.clear()


def callable_of(given: Any, name: str) -> Function:
    """The function itself, or the method of an object that retrieves; of a class, of an object made of it
    without arguments. Raises UsageError for what can't be asked; name: how the user calls it."""
    made = given() if inspect.isclass(given) else given
    if not inspect.isroutine(made):
        methods = (getattr(made, method, None) for method in METHODS)
        made = next(filter(callable, methods), made)
    if not callable(made):
        raise UsageError(
            "{name} is not a function but {kind}; wanted a function or an object with {methods}",
            name=name,
            kind=type(given).__name__,
            methods=", ".join(METHODS[:3]),
        )
    return cast(Function, made)


def load_function(spec: str) -> Function:
    """The callable that a spec names. Raises UsageError, also for whatever the user's file raises."""
    place, _, name = spec.rpartition(":")
    path = file_of(place) if place.endswith(".py") else None
    try:
        if path is None:
            sys.path.append(str(Path.cwd()))
        module = importlib.import_module(place) if path is None else _module_of_file(path)
        function = getattr(module, name, None)
        if function is not None:
            return callable_of(function, f"--retriever {spec}: {name!r}")
    except UsageError:
        raise
    except BaseException as error:  # whatever a user's file does when it is imported
        raise UsageError(
            "--retriever {spec}: importing it failed: {told}", spec=spec, told=error_text(error)
        ) from error
    raise UsageError(
        "--retriever {spec}: {place} has no {name}{hint}",
        spec=spec,
        place=place,
        name=repr(name),
        hint=nearest(name, list(vars(module))),
    )


def file_of(place: str) -> Path:
    """The file that a spec names before its colon. Raises UsageError for one that is not there."""
    path = Path(place).expanduser().resolve()
    if not path.is_file():
        raise UsageError(
            "--retriever {name}: no such file (looked in {parent})", name=path.name, parent=path.parent
        )
    note_named(path)
    return path


def _module_of_file(path: Path) -> Any:
    """Under a name that no other module has, whatever the file is called."""
    spec = importlib.util.spec_from_file_location(f"retriever_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    sys.path.append(str(path.parent))  # so that it can import what lies next to it, now and later
    spec.loader.exec_module(module)
    return module


def _takes_several(function: Function) -> bool:
    """Whether its first parameter is called as several questions are, or is a list of strings."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
    except (TypeError, ValueError, StopIteration):
        return False
    return first.name in SEVERAL or str(first.annotation).lower().startswith("list[str")


async def _resolved(value: Any) -> Any:
    while inspect.isawaitable(value):
        value = await value
    if isinstance(value, AsyncIterator):
        items: list[Any] = []
        async for item in value:
            items.append(item)
            if len(items) > MOST_ITEMS:
                break  # refused with its number, as any such list
        return items
    return value
