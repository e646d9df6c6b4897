"""Many calls at once: what is known is taken from journal and cache, the rest is asked, none is lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from tiny_graph_rag.errors import ServiceError, wrong_value
from tiny_graph_rag.llm.base import NOT_ASKED, Call, Outcome, Reply
from tiny_graph_rag.llm.client import Attempts, Client, NobodyAnswers, Stopped
from tiny_graph_rag.llm.cost import Price
from tiny_graph_rag.llm.endpoint import CallFailed
from tiny_graph_rag.llm.kept import Journal, ReplyCache
from tiny_graph_rag.llm.limits import Budget, CapReached
from tiny_graph_rag.messages import said

EMPTY = "the model returned an empty answer"
CUT_OFF = "the answer was cut off before its first word: raise openai.max_tokens"


MOST_ASKED = 2  # replies to one call: one that can't be read is asked for once more


@dataclass(slots=True)
class Ledger:
    """What a run did so far, for the progress line and the last words. again: calls that were sent a second
    time because the first reply couldn't be used."""

    asked: int = 0
    again: int = 0
    known: int = 0
    failed: int = 0
    stopped: str | None = None


@dataclass(slots=True)
class Chat:
    """One run's conversation with one API. retry_failed: ask again what journal and cache know as failed."""

    client: Client
    journal: Journal | None = None
    cache: ReplyCache | None = None
    retry_failed: bool = False
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        # The cap holds however often a run died and was resumed.
        if self.journal is not None:
            self.client.budget.already_spent_usd = self.journal.paid_usd(self.client.price)

    @property
    def price(self) -> Callable[[str], Price | None]:
        return self.client.price

    @property
    def budget(self) -> Budget:
        return self.client.budget

    def ask(
        self, calls: Iterable[Call], done: Callable[[Outcome], None] = lambda outcome: None
    ) -> list[Outcome]:
        """The outcome of every call, in order. calls are taken one by one, when there is room for them.

        done gets each outcome once it is safe on disk. A call that can't be asked any more because of
        the cap, or as the server has long refused every call, has the error NOT_ASKED. Raises ServiceError
        where no call can succeed, once the calls under way are journaled; KeyboardInterrupt after Ctrl-C,
        which notes them as perhaps paid.
        """
        if self.journal is not None:
            self.journal.begin()
        numbered = enumerate(calls)
        return self.client.run(lambda: self._ask_all(numbered, done))

    async def _ask_all(
        self, numbered: Iterator[tuple[int, Call]], done: Callable[[Outcome], None]
    ) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}

        async def step() -> bool:
            row, call = next(numbered, (None, None))
            if row is None or call is None:
                return False
            try:
                outcomes[row] = await self._outcome(call)
            except (CapReached, Stopped, NobodyAnswers) as ended:
                self.ledger.stopped = NOT_ASKED
                outcomes[row] = Outcome(error=NOT_ASKED)
                self.client.stop.because(ended)
            self._finish(outcomes[row], done)
            return True

        try:
            await self.client.repeat(step)
        except NobodyAnswers as failure:
            self.ledger.stopped = NOT_ASKED
            if not self.client.answered:
                raise _for_good(failure) from None
        for row, call in numbered:  # what is left after the run was stopped
            outcomes[row] = self._known(call, self.key(call)) or Outcome(error=NOT_ASKED)
            self._finish(outcomes[row], done)
        return [outcomes[row] for row in sorted(outcomes)]

    def _finish(self, outcome: Outcome, done: Callable[[Outcome], None]) -> None:
        self.ledger.failed += outcome.error is not None
        done(outcome)

    def is_known(self, call: Call) -> bool:
        """Whether journal or cache would answer it."""
        return self._known(call, self.key(call)) is not None

    def key(self, call: Call) -> str:
        """What journal and cache know a call by."""
        return call.key(self.client.endpoint.shown_url)

    def _known(self, call: Call, key: str) -> Outcome | None:
        """What the journal has, else the cache; nothing that the call could not use."""
        for outcome in (
            self.journal.finished.get(key) if self.journal else None,
            self.cache.outcome(key) if self.cache else None,
        ):
            if outcome is None or (outcome.error is not None and self.retry_failed):
                continue
            if outcome.error is not None or (outcome.reply and _problem(outcome.reply, call) is None):
                return outcome
        return None

    async def _outcome(self, call: Call) -> Outcome:
        key = self.key(call)
        known = self._known(call, key)
        if known is not None:
            self.ledger.known += 1
            return known
        attempts = Attempts()
        try:
            outcome = await self._usable(call, attempts)
        except BaseException as error:
            if not isinstance(error, CallFailed) or error.kind == "fatal":
                if self.journal is not None:
                    self.journal.note(call, attempts.paid + attempts.perhaps)
                if isinstance(error, CallFailed) and not isinstance(error, NobodyAnswers):
                    raise _for_good(error) from None
                raise
            outcome = Outcome(error=error.args[0])  # in words that can be translated
        outcome = replace(outcome, perhaps=attempts.perhaps)
        self.ledger.asked += 1
        if self.journal is not None:
            await self.journal.record(key, call, outcome)
        if self.cache is not None and outcome.error is None:
            self.cache.keep_outcome(key, outcome)
        return outcome

    async def _usable(self, call: Call, attempts: Attempts) -> Outcome:
        """A reply that passes the check of the call; asked for MOST_ASKED times at most, all paid for."""
        first = _as_text(await self.client.reply(call, attempts))
        problem = _problem(first, call)
        if problem is None or call.check is None:
            return Outcome(first, problem)
        self.ledger.again += 1
        try:
            second = _as_text(await self.client.reply(call, attempts))
        except (CallFailed, CapReached, Stopped):
            return Outcome(first, problem)  # it is paid for, whatever became of the second; the next sees why
        both = replace(
            second, tokens=first.tokens + second.tokens, estimated=first.estimated or second.estimated
        )
        return Outcome(both, _problem(second, call))


def _for_good(failure: CallFailed) -> ServiceError:
    return ServiceError("{error}. Answers so far are kept: --resume goes on", error=failure)


def _as_text(reply: Reply) -> Reply:
    """A reply that a journal can hold: of vectors, the cosine of the first with the nearest of the others."""
    if reply.vectors is None:
        return reply
    first, *others = reply.vectors
    return replace(
        reply, text=repr(max(float(first @ other_vector) for other_vector in others)), vectors=None
    )


def _problem(reply: Reply, call: Call) -> str | None:
    """Why a reply can't be used, None where it can."""
    if not reply.text:
        return CUT_OFF if reply.finish_reason == "length" else EMPTY
    try:
        if call.embeds and not math.isfinite(float(reply.text)):
            raise wrong_value("the similarity is not a number")
        if call.check is not None:
            call.check(reply.text)
    except Exception as error:  # whatever a reply holds, it ends its own question and nothing else
        return said("the model's answer can't be used: {error}", error=error)
    return None
