"""Retrievers that do their worst. The first line of each docstring says what it does.

`python -m tests.tools.hostile` asks each of them and writes docs/hostile-retrievers.md. The graph that they
are asked about has Ann and Dover; ANSWER is a good reply.
"""

from __future__ import annotations

import asyncio
import atexit
import builtins
import concurrent.futures
import contextlib
import ctypes
import gc
import itertools
import json
import logging
import os
import re
import resource
import signal
import sys
import threading
import time
import warnings
from collections import UserList, UserString, deque
from collections.abc import AsyncIterator, Iterator
from typing import Any
from unittest import mock

ANSWER = ["Ann", "Dover"]
# These never reply, or later than after the timeout of 2 s that they are given.
ENDLESS = (
    *("sends_sigterm", "ignores_signals", "sleeps", "sleeps_async", "loops_in_async", "blocks_in_async"),
    *("swallows_cancel", "holds_the_interpreter", "slow_generator"),
)


# Ends or never ends
def raises(question):
    """raises, with escape characters in two lines"""
    raise RuntimeError("boom \x1b[2J\n second")


def base_exception(question):
    """raises `BaseException`"""
    raise BaseException("base")


def exits_with_0(question):
    """`sys.exit(0)`"""
    sys.exit(0)


def exits_with_5(question):
    """`sys.exit(5)`"""
    sys.exit(5)


def pretends_ctrl_c(question):
    """raises `KeyboardInterrupt`"""
    raise KeyboardInterrupt


def ends_the_process(question):
    """`os._exit(0)`"""
    os._exit(0)


def aborts(question):
    """`os.abort()`"""
    os.abort()


def sends_sigterm(question):
    """sends SIGTERM to its own process"""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(1000)


def segfaults(question):
    """reads address 0"""
    ctypes.string_at(0)


def sets_an_alarm(question):
    """`signal.alarm(1)`, then sleeps"""
    signal.alarm(1)
    time.sleep(1000)


def ignores_signals(question):
    """blocks SIGINT and SIGTERM in its thread, then sleeps"""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    time.sleep(1000)


def sets_signal_handlers(question):
    """`signal.signal(SIGINT, SIG_IGN)` in a thread, which Python refuses"""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return ANSWER


def sleeps(question):
    """sleeps for 1,000 s"""
    time.sleep(1000)


async def sleeps_async(question):
    """awaits 1,000 s"""
    await asyncio.sleep(1000)


async def loops_in_async(question):
    """loops forever inside `async def`"""
    while True:
        pass


async def blocks_in_async(question):
    """`time.sleep(3)` inside `async def`"""
    time.sleep(3)
    return ANSWER


async def swallows_cancel(question):
    """catches its own cancellation and goes on"""
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1000)


async def stops_the_loop(question):
    """stops the event loop that it runs in"""
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.1)
    return ANSWER


async def cancels_itself(question):
    """raises `CancelledError`"""
    raise asyncio.CancelledError


def holds_the_interpreter(question):
    """a regular expression that needs years and lets no other thread run"""
    return re.match("(a+)+$", "a" * 64 + "b")


def recurses(question):
    """calls itself forever"""
    return recurses(question)


def recurses_deeper(question):
    """sets the recursion limit to 10⁹, then calls itself forever through C"""
    sys.setrecursionlimit(10**9)
    nested: list[Any] = []
    for _ in range(10**6):
        nested = [nested]
    return [repr(nested)]


def no_memory(question):
    """raises `MemoryError`"""
    raise MemoryError


def takes_all_memory(question):
    """wants 16 GiB where 8 are allowed"""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.RLIM_INFINITY))
    return [bytearray(16 << 30)]


def no_str(question):
    """raises an exception whose `str` raises"""

    class WordlessError(Exception):
        def __str__(self):
            raise ValueError("in str")

    raise WordlessError


def long_words(question):
    """raises an exception with 10 million characters"""
    raise ValueError("x" * 10_000_000)


def groups_errors(question):
    """raises an `ExceptionGroup`"""
    raise ExceptionGroup("several", [ValueError("one"), KeyError("two")])


def stops_iteration(question):
    """raises `StopIteration`"""
    raise StopIteration(ANSWER)


# Iterates
def generator(question):
    """a generator"""
    yield from ANSWER


async def async_generator(question):
    """an async generator"""
    for name in ANSWER:
        yield name


def endless_generator(question):
    """a generator without an end"""
    return map(str, itertools.count())


def slow_generator(question):
    """a generator with a second between two names"""
    for number in itertools.count():
        time.sleep(1)
        yield str(number)


def broken_generator(question):
    """a generator that raises after its first name"""
    yield "Ann"
    raise OSError("index closed")


async def broken_async_generator(question):
    """an async generator that raises after its first name"""
    yield "Ann"
    raise OSError("index closed")


def ten_million(question):
    """a list of 10 million names"""
    return ["Ann"] * 10_000_000


def a_thousand_times(question):
    """the same name 1,000 times"""
    return ["Ann"] * 1000


# Returns what is no ranking
def returns_none(question):
    """`None`"""


def text(question):
    """one string"""
    return "Ann"


def text_in_bytes(question):
    """a list of `bytes`"""
    return [b"Ann"]


def a_set(question):
    """a `set`"""
    return set(ANSWER)


def a_function(question):
    """a function, not its value"""
    return generator


def nested_coroutine(question):
    """a coroutine of a coroutine"""

    async def inner():
        return ANSWER

    async def outer():
        return inner()

    return outer()


def a_future(question):
    """a `Future` of a thread pool"""
    return concurrent.futures.ThreadPoolExecutor().submit(lambda: ANSWER)


@contextlib.asynccontextmanager
async def context_manager(question) -> AsyncIterator[list[str]]:
    """an async context manager"""
    yield ANSWER


def a_mock(question):
    """`unittest.mock.MagicMock()`, which has every attribute"""
    return mock.MagicMock()


class Yes:
    """Has every attribute, and each is itself."""

    def __getattr__(self, name):
        return self


def has_everything(question):
    """an object whose every attribute is the object itself"""
    return Yes()


def nan_score(question):
    """a NaN score"""
    return [("Ann", float("nan")), ("Dover", 1.0)]


def infinite_score(question):
    """an infinite score"""
    return [("Ann", float("inf")), ("Dover", 1.0)]


def huge_score(question):
    """a score of 10⁴⁰⁰"""
    return [("Ann", 10**400), ("Dover", 1)]


def score_true(question):
    """a score of `True`"""
    return [("Ann", True)]


def mixed(question):
    """names, pairs, objects and `None` in one list"""
    return [("Ann", 1.0), "Dover", {"name": "Ben"}, None]


def odd_names(question):
    """half a character, NUL, escape characters and an empty name"""
    return ["a\ud800", "\0", "\x1b[2J", "\n", ""]


def half_characters(question):
    """half a character in a name and in the answer"""
    return {"entities": ["moon\ud83d", *ANSWER], "answer": "cut \ud83d"}


def long_name(question):
    """a name of 5 million characters"""
    return ["x" * 5_000_000]


def long_answer(question):
    """an answer of 50 million characters"""
    return {"entities": ANSWER, "answer": "x" * 50_000_000}


def many_passages(question):
    """100 MB of passages"""
    return {"passages": [{"id": str(number), "text": "x" * 1_000_000} for number in range(100)]}


def odd_answer(question):
    """an object as the answer, a number and `None` as the context"""
    return {"entities": ANSWER, "answer": object(), "context": [1, None]}


def holds_itself(question):
    """a list that holds itself"""
    ranking: list[Any] = list(ANSWER)
    ranking.append(ranking)
    return ranking


def object_holds_itself(question):
    """an object that is its own first entity"""
    reply: dict[str, Any] = {}
    reply["entities"] = [reply]
    return reply


def deep(question):
    """a list 100,000 deep"""
    nested: list[Any] = ["Ann"]
    for _ in range(100_000):
        nested = [nested]
    return nested


def numpy_table(question):
    """a numpy array of two dimensions"""
    import numpy as np

    return np.array([["Ann"]])


def numpy_scalars(question):
    """numpy strings with numpy scores"""
    import numpy as np

    return list(zip(map(np.str_, ANSWER), np.array([0.9, 0.4], dtype=np.float32), strict=True))


def numpy_nan(question):
    """numpy strings, one score a numpy NaN"""
    import numpy as np

    return [(np.str_("Ann"), np.float32("nan"))]


def pandas_rows(question):
    """rows of a pandas table (`itertuples`)"""
    import pandas

    return pandas.DataFrame({"name": ANSWER, "score": [0.9, 0.4]}).itertuples()


def pandas_series(question):
    """a pandas Series: names as its index, scores as its values"""
    import pandas

    return pandas.Series([0.9, 0.4], index=ANSWER)


# Objects that lie
class Exits:
    def __iter__(self):
        raise SystemExit(3)


def iterator_exits(question):
    """an object whose `__iter__` raises `SystemExit`"""
    return Exits()


class Interrupts:
    id = "x"

    @property
    def name(self):
        raise KeyboardInterrupt


def attribute_interrupts(question):
    """an object whose `name` raises `KeyboardInterrupt`"""
    return [Interrupts()]


class Unhashable(str):
    def __hash__(self):
        raise ValueError("no hash")


def unhashable_text(question):
    """strings without a hash"""
    return [*map(Unhashable, ANSWER)]


class Liar(str):
    def __str__(self):
        return "Calais"

    def __eq__(self, other):
        return True

    def __len__(self):
        return 0

    __hash__ = str.__hash__

    def isascii(self):
        raise ValueError("asked")


def lying_text(question):
    """strings that call themselves something else"""
    return [*map(Liar, ANSWER)]


class NegativeLength(list):
    def __len__(self):
        return -1


def negative_length(question):
    """a list of the length -1"""
    return NegativeLength(ANSWER)


class LazyLength(list):
    def __len__(self):
        raise OSError("the index is closed")

    def __bool__(self):
        raise OSError("the index is closed")


def length_raises(question):
    """a list whose length raises"""
    return LazyLength(ANSWER)


def user_containers(question):
    """`UserList` of `UserString`"""
    return UserList(map(UserString, ANSWER))


def a_deque(question):
    """a `deque`"""
    return deque(ANSWER)


# Usage
def huge_usage(question):
    """usage of 10⁵⁰⁰⁰, NaN, −5 and infinity"""
    usage = {"prompt_tokens": 10**5000, "x": float("nan"), "y": -5, "z": float("inf")}
    return {"entities": ANSWER, "usage": usage}


def negative_usage(question):
    """a negative cost"""
    return {"entities": ANSWER, "usage": {"prompt_tokens": -10, "completion_tokens": 1.5, "cost_usd": -3}}


# Changes what is around it
def prints(question):
    """prints on standard output, past Python too"""
    print("GARBAGE")
    sys.stdout.write("X\n")
    os.write(1, b"RAW\n")
    return ANSWER


def closes_stdout(question):
    """`sys.stdout.close()`"""
    sys.stdout.close()
    return ANSWER


def no_streams(question):
    """sets `sys.stdout` and `sys.stderr` to `None`"""
    sys.stdout = sys.stderr = None
    return ANSWER


def closes_descriptors(question):
    """closes the file descriptors 0, 1 and 2"""
    os.closerange(0, 3)
    return ANSWER


def closes_everything(question):
    """closes every file descriptor"""
    os.closerange(0, 4096)
    return ANSWER


def leaks_descriptors(question):
    """opens 3,000 files and closes none"""
    globals().setdefault("OPEN", []).extend(os.open(os.devnull, os.O_RDONLY) for _ in range(3000))
    return ANSWER


def reads_input(question):
    """reads standard input"""
    return [input()]


def warns(question):
    """warns and logs"""
    warnings.warn("careful", stacklevel=2)
    logging.error("LOG")
    return ANSWER


def changes_folder(question):
    """`os.chdir("..")`"""
    os.chdir("..")
    return ANSWER


def clears_environment(question):
    """empties `os.environ`"""
    os.environ.clear()
    return ANSWER


def clears_path(question):
    """empties `sys.path` and `sys.modules`"""
    sys.path.clear()
    sys.modules.clear()
    return ANSWER


def patches_json(question):
    """replaces `json.dumps` and `builtins.len`"""
    json.dumps = builtins.len = lambda *_, **__: 1 / 0  # type: ignore[assignment]
    return ANSWER


def traces(question):
    """sets a trace function that raises, and switches garbage collection off"""
    gc.disable()
    sys.settrace(lambda *_: 1 / 0)
    return ANSWER


def sets_loop(question):
    """sets and runs an event loop of its own"""

    async def later():
        return ANSWER

    asyncio.set_event_loop(asyncio.new_event_loop())
    return asyncio.get_event_loop().run_until_complete(later())


def forks(question):
    """forks; both processes return"""
    return ["child"] if os.fork() == 0 else ANSWER


def leaves_a_thread(question):
    """starts a thread that goes on for 30 s"""
    threading.Thread(target=time.sleep, args=(30,)).start()
    return ANSWER


def raises_at_exit(question):
    """registers an exit function that raises"""
    atexit.register(lambda: 1 / 0)
    return ANSWER


def changes_questions(questions: list[str]) -> Iterator[list[str]]:
    """takes a list of questions and empties it"""
    number = len(questions)
    questions.clear()
    return iter([ANSWER] * number)


def too_few_replies(questions: list[str]) -> list[list[str]]:
    """takes a list of questions and returns one reply for all"""
    return [ANSWER]


def patches_the_program(question):
    """replaces the evaluator's own reader of replies"""
    from tiny_graph_rag.retrieval import own_calls

    own_calls.reply_of = lambda value: 1 / 0  # type: ignore[assignment]
    return ANSWER


# With the graph in its hands
def changes_the_graph(question):
    """overwrites the order of names in the graph, which it looks for in memory"""
    for holder in gc.get_objects():
        if type(holder).__name__ == "KnowledgeGraph":
            holder.name_rank[:] = 0
    return ANSWER
