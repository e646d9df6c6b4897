"""Many calls at once: what is known is taken from journal and cache, the rest is asked, none is lost."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tiny_graph_rag.errors import ServiceError
from tiny_graph_rag.llm.base import NOT_ASKED, Call, Outcome, Reply
from tiny_graph_rag.llm.cost import Price, TokenCounter
from tiny_graph_rag.llm.endpoint import CallFailed, Endpoint, Parameters
from tiny_graph_rag.llm.kept import AnswerCache, Journal
from tiny_graph_rag.llm.limits import Budget, CapReached, Pace, worst_cost

if TYPE_CHECKING:
    from openai import AsyncOpenAI


EMPTY = "the model returned an empty answer"
CUT_OFF = "the answer was cut off before its first word: raise openai.max_tokens"
UNREACHABLE_AFTER = 3  # calls that found no server, with all their retries, before anybody answered


@dataclass(frozen=True, slots=True)
class Patience:
    """Times are seconds; the wait doubles from `first_wait` to `longest_wait`, half of it by chance.

    attempts: of a call that fails in passing. limited: times that one call obeys a rate limit.
    longest_retry_after: an API that asks to wait longer ends the run, which can be resumed.
    """

    attempts: int = 5
    limited: int = 30
    first_wait: float = 0.5
    longest_wait: float = 30.0
    longest_retry_after: float = 300.0

    def wait(self, attempt: int, chance: random.Random) -> float:
        """Seconds to wait after so many attempts (from 1)."""
        longest: float = min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait)
        return longest * (0.5 + chance.random() / 2)


class Stopped(Exception):  # noqa: N818 - no error: the run ends, and this call failed in passing
    """A call that would have been tried again."""


class Stop:
    """Why no new call begins any more. Ctrl-C lets the calls under way finish; a second one does not."""

    def __init__(self) -> None:
        self.reason: BaseException | None = None

    @contextlib.contextmanager
    def at_ctrl_c(self) -> Iterator[None]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if self.reason is not None and task is not None:
                task.cancel()
            self.reason = self.reason or KeyboardInterrupt()

        try:
            loop.add_signal_handler(signal.SIGINT, stop)
        except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)


@dataclass(slots=True)
class Ledger:
    """What a run did so far, for the progress line and the last words."""

    asked: int = 0
    known: int = 0
    failed: int = 0
    stopped: str | None = None


@dataclass(slots=True)
class Chat:
    """One run's conversation with one API. price: of a model, None where unknown.

    retry_failed: ask again what journal and cache know as failed.
    """

    endpoint: Endpoint
    counter: Callable[[str], TokenCounter]
    price: Callable[[str], Price | None]
    concurrency: int
    journal: Journal | None = None
    cache: AnswerCache | None = None
    cap_usd: float | None = None
    retry_failed: bool = False
    patience: Patience = field(default_factory=Patience)
    ledger: Ledger = field(default_factory=Ledger)
    budget: Budget = field(init=False)
    _parameters: dict[str, Parameters] = field(default_factory=dict)
    _unreachable: int = 0
    _answered: bool = False
    _stop: Stop = field(default_factory=Stop)
    _chance: random.Random = field(default_factory=lambda: random.Random(0))

    def __post_init__(self) -> None:
        # The cap holds however often a run died and was resumed.
        paid_before = 0.0 if self.journal is None else self.journal.paid_usd(self.price)
        self.budget = Budget(self.cap_usd, paid_before)

    def ask(
        self, calls: Iterable[Call], done: Callable[[Outcome], None] = lambda outcome: None
    ) -> list[Outcome]:
        """The outcome of every call, in order. calls are taken one by one, when there is room for them.

        done is told each outcome once it is safe on disk. A call that can't be asked any more because of
        the cap has the error NOT_ASKED. Raises ServiceError where no call can succeed, KeyboardInterrupt
        after Ctrl-C; calls under way are waited for and journaled first.
        """
        if self.journal is not None:
            self.journal.begin()
        try:
            return asyncio.run(self._ask_all(iter(calls), done))
        except asyncio.CancelledError:  # the second Ctrl-C
            raise KeyboardInterrupt from None

    async def _ask_all(self, calls: Iterator[Call], done: Callable[[Outcome], None]) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}
        numbered = enumerate(calls)
        pace, stop = Pace(self.concurrency), Stop()
        self._stop = stop
        self.budget.begin()
        async with self.endpoint.connect() as client:

            async def work() -> None:
                while stop.reason is None:
                    place, call = next(numbered, (None, None))
                    if place is None or call is None:
                        return
                    try:
                        outcomes[place] = await self._outcome(call, client, pace)
                    except CapReached:
                        self.ledger.stopped = NOT_ASKED
                        outcomes[place] = Outcome(error=NOT_ASKED)
                        stop.reason = stop.reason or CapReached()
                    except Stopped:
                        return
                    except BaseException as error:  # the others finish what they are at, then it is raised
                        stop.reason = stop.reason or error
                        return
                    self.ledger.failed += outcomes[place].error is not None
                    done(outcomes[place])

            with stop.at_ctrl_c():
                await asyncio.gather(*(work() for _ in range(self.concurrency)))
        if stop.reason is not None and not isinstance(stop.reason, CapReached):
            raise stop.reason
        for place, call in numbered:  # what is left after the cap was reached
            outcomes[place] = self._without_asking(call)
            self.ledger.failed += outcomes[place].error is not None
            done(outcomes[place])
        return [outcomes[place] for place in sorted(outcomes)]

    def is_known(self, call: Call) -> bool:
        """Whether journal or cache would answer it."""
        return self._known(call.key(self.endpoint.shown_url)) is not None

    def _without_asking(self, call: Call) -> Outcome:
        return self._known(call.key(self.endpoint.shown_url)) or Outcome(error=NOT_ASKED)

    def _known(self, key: str) -> Outcome | None:
        """What the journal has, else the cache."""
        for found in (
            self.journal.finished.get(key) if self.journal else None,
            self.cache.get(key) if self.cache else None,
        ):
            if found is not None and not (found.error is not None and self.retry_failed):
                return found
        return None

    async def _outcome(self, call: Call, client: AsyncOpenAI, pace: Pace) -> Outcome:
        key = call.key(self.endpoint.shown_url)
        known = self._known(key)
        if known is not None:
            self.ledger.known += 1
            return known
        try:
            outcome = await self._usable(call, client, pace)
        except CallFailed as failure:
            if failure.kind == "fatal":
                raise ServiceError(f"{failure}. Answers so far are kept: --resume goes on") from None
            outcome = Outcome(error=str(failure))
        self.ledger.asked += 1
        if self.journal is not None:
            await self.journal.record(key, call, outcome)
        if self.cache is not None and outcome.error is None:
            self.cache.put(key, outcome)
        return outcome

    async def _usable(self, call: Call, client: AsyncOpenAI, pace: Pace) -> Outcome:
        """A reply that passes the call's check; asked for twice at most, both paid for and counted."""
        first = await self._reply(call, client, pace)
        problem = _problem(first, call)
        if problem is None or call.check is None:
            return Outcome(first, problem)
        second = await self._reply(call, client, pace)
        both = Reply(
            second.text,
            first.tokens + second.tokens,
            first.estimated or second.estimated,
            second.finish_reason,
        )
        return Outcome(both, _problem(second, call))

    async def _reply(self, call: Call, client: AsyncOpenAI, pace: Pace) -> Reply:
        """Attempts until one brings a reply. Raises the last CallFailed, or CapReached."""
        patience, parameters = self.patience, self._parameters.setdefault(call.model, Parameters())
        failed = limited = 0
        while True:
            extra = parameters.of(call)
            sent_at = time.monotonic()
            try:
                return await self._attempt(call, client, extra, pace)
            except CallFailed as failure:
                if failure.kind == "rejected" and parameters.refused(extra, failure.body):
                    continue
                if failure.kind in ("fatal", "rejected"):
                    raise
                if self._stop.reason is not None:
                    raise Stopped from None
                wait = failure.retry_after
                if wait is not None and wait > patience.longest_retry_after:
                    raise CallFailed("fatal", f"{failure}; the API asks to wait {wait:,.0f} s") from None
                if failure.kind == "limited":
                    limited += 1
                    if limited >= patience.limited:
                        raise
                    seconds = patience.wait(min(limited, 6), self._chance) if wait is None else wait
                    pace.slow_down(seconds, sent_at)
                    continue
                failed += 1
                if failed >= patience.attempts:
                    self._give_up(failure)
                    raise CallFailed("transient", f"{failure} ({failed} attempts)") from None
                await asyncio.sleep(patience.wait(failed, self._chance) if wait is None else wait)

    def _give_up(self, failure: CallFailed) -> None:
        """One call without a server is a failed question; several before the first answer are no server."""
        self._unreachable += failure.unreachable
        if not self._answered and self._unreachable >= UNREACHABLE_AFTER:
            raise CallFailed("fatal", f"{failure}. Check openai.base_url (OPENAI_BASE_URL)") from None

    async def _attempt(self, call: Call, client: AsyncOpenAI, extra: dict[str, object], pace: Pace) -> Reply:
        counter, price = self.counter(call.model), self.price(call.model)
        worst = (
            worst_cost(price, counter.prompt_at_most(call.messages), call.max_tokens)
            if self.cap_usd is not None
            else 0.0
        )
        await self.budget.reserve(worst)
        paid, doubtful, succeeded = 0.0, True, False
        try:
            await pace.enter()
            try:
                reply = await self.endpoint.send(client, call, extra, counter)
                paid, doubtful, succeeded = 0.0 if price is None else price.cost(reply.tokens), False, True
                self._answered = True
                return reply
            except CallFailed as failure:
                doubtful = failure.charged
                raise
            finally:
                await pace.leave(succeeded=succeeded)
        finally:
            await self.budget.settle(worst, paid, doubtful=doubtful)


def _problem(reply: Reply, call: Call) -> str | None:
    if not reply.text:
        return CUT_OFF if reply.finish_reason == "length" else EMPTY
    if call.check is None:
        return None
    try:
        call.check(reply.text)
    except ValueError as error:
        return f"the model's answer can't be used: {error}"
    return None
