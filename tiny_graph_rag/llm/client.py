"""The one client of a run: requests to an endpoint, as many at once as it takes, tried again while it helps.

Chat (answers, links, verdicts)  ─┐
                                  ├─ Client ─ Endpoint ─ the openai package
Embedder (vectors)               ─┘
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tiny_graph_rag.llm.base import NO_TOKENS, Call, Reply, Tokens
from tiny_graph_rag.llm.cost import Price, TokenCounter
from tiny_graph_rag.llm.endpoint import CallFailed, Endpoint
from tiny_graph_rag.llm.limits import Budget, CapReached, Pace
from tiny_graph_rag.messages import said

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")


class Stopped(Exception):  # noqa: N818 - no error: the run ends, and this call failed in passing
    """A call that would have been tried again."""


class NobodyAnswers(CallFailed):
    """The server refuses again and again: no further call is made in this run."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Times are seconds; the wait doubles from `first_wait` to `longest_wait`, half of it by chance.

    attempts: of a call that fails in passing. in_a_row: that a server answers nobody, be it a rate limit, its
    own failure or no connection; then the run ends, which can be resumed. Refusals of calls under way
    together count once. longest_call: with its waits; no attempt begins later, and an API that asks to wait
    longer ends the run.
    """

    attempts: int = 5
    in_a_row: int = 15
    first_wait: float = 0.5
    longest_wait: float = 30.0
    longest_call: float = 300.0

    def wait(self, attempt: int, chance: random.Random) -> float:
        """Seconds to wait after so many attempts (from 1)."""
        longest: float = min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait)
        return longest * (0.5 + chance.random() / 2)


class Stop:
    """Why no new call begins any more: the cap, or an error that no call survives.

    Made within the event loop that it stops.
    """

    def __init__(self) -> None:
        self.reason: BaseException | None = None
        self._stopped = asyncio.Event()

    def because(self, reason: BaseException) -> None:
        """The first reason stays."""
        self.reason = self.reason or reason
        self._stopped.set()

    async def sleep(self, seconds: float) -> None:
        """Raises Stopped where the run stops meanwhile."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)
            raise Stopped


@dataclass(slots=True)
class Attempts:
    """What the attempts at one outcome took. paid: of replies. perhaps: at most, of attempts that broke off
    and may have been charged."""

    paid: Tokens = NO_TOKENS
    perhaps: Tokens = NO_TOKENS


@dataclass(slots=True)
class Client:
    """price: of a model, None where unknown. concurrency: calls under way at most. cap_usd: None for none.
    last_failure: of an attempt in this run, also where a later attempt succeeded. ended: why no call is made
    any more. answered: whether any was."""

    endpoint: Endpoint
    counter: Callable[[str], TokenCounter]
    price: Callable[[str], Price | None]
    concurrency: int
    cap_usd: float | None = None
    patience: Patience = field(default_factory=Patience)
    last_failure: CallFailed | None = None
    ended: NobodyAnswers | None = None
    answered: bool = False
    budget: Budget = field(init=False)
    stop: Stop = field(init=False)
    _connection: AsyncOpenAI = field(init=False)
    _pace: Pace = field(init=False)
    _parameters: dict[str, Parameters] = field(default_factory=dict)
    _chance: random.Random = field(default_factory=lambda: random.Random(0))

    def __post_init__(self) -> None:
        self.budget = Budget(self.cap_usd)

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` with connections open. Ctrl-C cancels the calls under way.

        Where an event loop runs already, as in a notebook, the work gets a thread and a loop of its own.
        """

        async def connected() -> T:
            self.stop = Stop()
            if self.ended is not None:
                self.stop.because(self.ended)
            self._pace = Pace(self.concurrency, self.stop.sleep)
            async with self.endpoint.connect() as self._connection:
                return await work()

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(connected())
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, connected()).result()

    async def each(self, items: Iterator[T], ask: Callable[[T], Awaitable[None]]) -> None:
        """`ask` of one item after the other, as many at once as allowed, until the run stops.

        Raises why the run stopped, once those under way have ended; nothing where that is the cap.
        """

        async def work() -> None:
            try:
                while self.stop.reason is None and (item := next(items, None)) is not None:
                    await ask(item)
            except Stopped:
                return
            except BaseException as error:  # the others finish what they are at, then it is raised
                self.stop.because(error)

        await asyncio.gather(*(work() for _ in range(self.concurrency)))
        if self.stop.reason is not None and not isinstance(self.stop.reason, CapReached):
            raise self.stop.reason

    async def reply(self, call: Call, attempts: Attempts) -> Reply:
        """Attempts until one brings a reply. Raises the last CallFailed, CapReached, or Stopped."""
        patience, parameters = self.patience, self._parameters.setdefault(call.model, Parameters())
        failed = limited = 0
        begun = time.monotonic()
        while True:
            extra = {} if call.embeds else parameters.of(call)
            sent_at = time.monotonic()
            try:
                return await self._attempt(call, extra, attempts)
            except CallFailed as failure:
                if failure.kind == "rejected" and parameters.refused(extra, failure.body):
                    continue
                self.last_failure = failure
                if failure.kind in ("fatal", "rejected"):
                    raise
                if self.stop.reason is not None:
                    raise Stopped from None
                if not failure.charged and self._pace.refused(sent_at) >= patience.in_a_row:
                    raise self._nobody_answers(failure) from None
                wait = failure.retry_after
                if wait is not None and wait > patience.longest_call:
                    raise CallFailed(
                        "fatal",
                        said(
                            "{failure}; the API asks to wait {wait} s", failure=failure, wait=f"{wait:,.0f}"
                        ),
                    ) from None
                is_limit = failure.kind == "limited"
                limited, failed = limited + is_limit, failed + (not is_limit)
                if wait is None:
                    wait = patience.wait(min(limited, 6) if is_limit else failed, self._chance)
                is_late = time.monotonic() - begun + wait > patience.longest_call
                if is_late or failed >= patience.attempts:
                    raise CallFailed(
                        "transient",
                        said("{failure} ({failed} attempts)", failure=failure, failed=limited + failed),
                    ) from None
                if is_limit:
                    self._pace.slow_down(wait)
                else:
                    await self.stop.sleep(wait)

    def _nobody_answers(self, failure: CallFailed) -> NobodyAnswers:
        why = said("{failure}; so it went {n} times in a row", failure=failure, n=self.patience.in_a_row)
        if failure.unreachable and not self.answered:
            why = said("{failure}. Check openai.base_url (OPENAI_BASE_URL)", failure=failure)
        self.ended = self.ended or NobodyAnswers("fatal", why)
        return self.ended

    async def _attempt(self, call: Call, extra: dict[str, object], attempts: Attempts) -> Reply:
        counter, price = self.counter(call.model), self.price(call.model)
        most = Tokens(counter.prompt(call)[2], call.max_tokens)
        worst_usd = 0.0 if price is None or self.cap_usd is None else price.cost(most)
        await self._pace.enter()
        paid_usd, doubtful, succeeded = 0.0, True, False  # it may be cancelled at any moment
        try:
            await self.budget.reserve(worst_usd)
            try:
                reply = await self.endpoint.send(self._connection, call, extra, counter)
                paid_usd = 0.0 if price is None else price.cost(reply.tokens)
                doubtful, succeeded, self.answered = False, True, True
                attempts.paid += reply.tokens
                self.budget.unpriced += price is None
                return reply
            except CallFailed as failure:
                doubtful = failure.charged
                raise
            finally:
                attempts.perhaps += most if doubtful else NO_TOKENS
                self.budget.settle(worst_usd, paid_usd, doubtful=doubtful)
        finally:
            self._pace.leave(succeeded=succeeded)


# What to send instead of a parameter that an API refuses; None leaves it out.
INSTEAD: dict[str, str | None] = {
    "max_tokens": "max_completion_tokens",
    "temperature": None,
    "seed": None,
    "response_format": None,
}


class Parameters:
    """How each parameter is sent. Shared by all calls of a run to one model."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def of(self, call: Call) -> dict[str, Any]:
        """The optional part of a request."""
        strict = {"name": call.schema_name, "strict": True, "schema": call.schema}
        wanted: dict[str, Any] = {
            "max_tokens": call.max_tokens,
            "temperature": call.temperature,
            "seed": call.seed,
            "response_format": call.schema and {"type": "json_schema", "json_schema": strict},
        }
        sent = {INSTEAD[name] if name in self._refused else name: value for name, value in wanted.items()}
        return {name: value for name, value in sent.items() if name is not None and value is not None}

    def refused(self, sent: Mapping[str, Any], body: object) -> bool:
        """Learn from an API's refusal of what was sent; whether to ask again."""
        named = _named(body, sent)
        if named in INSTEAD:
            self._refused.add(named)
        return named in INSTEAD


def _named(body: object, sent: Mapping[str, Any]) -> str:
    """Which of the sent parameters an error is about: by its `param`, else by a name in its text, else ""."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(inner, Mapping):
        parameter = str(inner.get("param") or "").split(".")[0]
        if parameter in sent:
            return parameter
        inner = inner.get("message") or inner.get("detail") or ""
    # The refused name stands before the advice: "'max_tokens' is not supported, use 'max_completion_tokens'".
    text = str(inner)
    return min((name for name in sent if name in text), key=text.find, default="")
