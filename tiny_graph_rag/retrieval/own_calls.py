"""Asking a callable of the user's in this process: any kind of callable, several calls at a time.

A call runs in a thread of its own, so that one that never ends keeps nobody waiting; what is async runs in
one event loop for all calls, in another thread, so that it works where a loop runs already (Jupyter) and
clients that belong to a loop can be shared. What a call returns is checked in its own thread as well: a
generator may be slow or endless.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any, Literal, cast

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.messages import said
from tiny_graph_rag.retrieval.native import MOST_ITEMS, OwnReply, refuse_mock
from tiny_graph_rag.retrieval.own_replies import reply_of, told

Function = Callable[..., Any]
METHODS = ("retrieve", "invoke", "get_relevant_documents", "aretrieve", "ainvoke", "query_data", "query")
SEVERAL = ("questions", "queries", "batch")  # how the parameter of a function that takes a list is called
BATCH = 32  # questions that such a function is given at once


@dataclass(frozen=True, slots=True)
class Event:
    """started: the call runs from now on. ended: it did, with a reply for each of its questions. died: the
    process of all calls ended, for this reason."""

    what: Literal["started", "ended", "died"]
    call: int = -1
    replies: tuple[OwnReply, ...] = ()
    reason: str = ""


def callable_of(given: Any, name: str) -> Function:
    """The function itself, or the method of an object that retrieves; of a class, of an object made of it
    without arguments. Raises UsageError for what can't be asked; name: how the user calls it."""
    made = given
    if inspect.isclass(given):
        try:
            made = given()
        except Exception as error:
            raise UsageError(
                "{name}: the class can't be made without arguments: {error}",
                name=name,
                error=told(error),
            ) from error
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


def _takes_several(function: Function) -> bool:
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    if first is None:
        return False
    hint = first.annotation if isinstance(first.annotation, str) else str(first.annotation)
    listed = hint.removeprefix("typing.").removeprefix("collections.abc.").lower()
    return first.name in SEVERAL or listed.startswith(("list[str", "sequence[str", "iterable[str"))


class Calls:
    """Under way at once: as many as are started. several: a call takes a list of questions. tell: gets, from
    other threads, what happens; without it `events` does."""

    def __init__(self, function: Function, tell: Callable[[Event], None] | None = None) -> None:
        self.function, self.several = function, _takes_several(function)
        self.events = SimpleQueue[Event]()
        self.tell = tell or self.events.put
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self._tasks: dict[int, asyncio.Task[Any] | None] = {}
        self._lock = threading.Lock()

    def start(self, call: int, questions: Sequence[str]) -> None:
        work = threading.Thread(
            target=self._work, args=(call, list(questions)), daemon=True, name=f"retriever call {call}"
        )
        try:
            work.start()
        except RuntimeError as error:  # no more threads
            self.tell(Event("started", call))
            self.tell(Event("ended", call, (OwnReply(error=told(error)),) * len(questions)))

    def cancel(self, call: int) -> None:
        """End an async call; what runs in a thread can't be ended from outside."""
        task = self._tasks.get(call)
        if task is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(task.cancel)

    def close(self) -> None:
        self._is_closed = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    kill = close

    def _work(self, call: int, questions: list[str]) -> None:
        begun: list[float] = []
        number = len(questions)  # now: a user's function may replace anything, `len` too

        def begin() -> None:
            begun.append(time.perf_counter())
            self.tell(Event("started", call))

        try:
            replies = self._replies(call, questions, begin)
        except BaseException as error:  # SystemExit and KeyboardInterrupt of a user's function end no run
            replies = [OwnReply(error=told(error))] * number
        took = (time.perf_counter() - begun[0]) / number if begun else 0.0
        self.tell(Event("ended", call, tuple(replace(reply, seconds=took) for reply in replies)))

    def _replies(self, call: int, questions: list[str], begin: Callable[[], None]) -> list[OwnReply]:
        function, several = self.function, self.several
        argument: Any = list(questions) if several else questions[0]
        if _is_async(function):

            def called() -> Any:
                begin()  # here and not before: the loop may be busy with another call
                return function(argument)

            value = self._in_loop(call, called)
        else:
            begin()
            value = function(argument)
            if inspect.isawaitable(value) or isinstance(value, AsyncIterator):
                value = self._in_loop(call, lambda: value)
        if not several:
            return [reply_of(value)]
        if isinstance(value, Mapping):
            value = [value.get(question) for question in questions]
        if isinstance(value, tuple) and value and isinstance(value[0], list):  # HippoRAG: (solutions, more)
            value = value[0]
        given = list(value)
        if len(given) != len(questions):
            raise ValueError(
                said("wanted a reply for each of {n} questions, got {n_2}", n=len(questions), n_2=len(given))
            )
        return [_checked(option) for option in given]

    def _in_loop(self, call: int, called: Callable[[], Any]) -> Any:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._run, args=(self._loop,), daemon=True, name="retriever loop"
                ).start()
        over: Future[tuple[Any, BaseException | None]] = Future()

        async def run() -> None:
            self._tasks[call] = asyncio.current_task()
            try:
                over.set_result(await _resolved(called))
            except asyncio.CancelledError as error:
                over.set_result((None, error))
            finally:
                del self._tasks[call]

        asyncio.run_coroutine_threadsafe(run(), self._loop)
        # Over when the task is: one that is cancelled but goes on still holds the loop of all calls.
        value, error = over.result()
        if error is not None:
            raise error
        return value

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._is_closed:  # a function that stops the loop stops no call
            loop.run_forever()
        loop.close()


def _checked(value: Any) -> OwnReply:
    """One of a batch: its fault is no other's."""
    try:
        return reply_of(value)
    except Exception as error:
        return OwnReply(error=told(error))


def _is_async(function: Function) -> bool:
    called = getattr(function, "__call__", None)  # noqa: B004 - an object whose __call__ is async
    return any(
        inspect.iscoroutinefunction(item) or inspect.isasyncgenfunction(item) for item in (function, called)
    )


async def _resolved(called: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """What it comes to, or why not: an error that left this coroutine could end the loop of all calls."""
    try:
        value = called()
        refuse_mock(value)
        while inspect.isawaitable(value):
            value = await value
        if isinstance(value, AsyncIterator):
            items: list[Any] = []
            async for item in value:
                items.append(item)
                if len(items) > MOST_ITEMS:
                    break  # refused with its number, as any such list
            value = items
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error
    return value, None
