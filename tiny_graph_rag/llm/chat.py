"""Many calls at once: what is known is taken from journal and cache, the rest is asked, none is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sources import cache_folder, tokenizer_folder
from tiny_graph_rag.errors import ServiceError, UsageError, optional
from tiny_graph_rag.llm.base import NOT_ASKED, Call, Outcome, Reply
from tiny_graph_rag.llm.client import Attempts, Client, NobodyAnswers, Stopped
from tiny_graph_rag.llm.cost import Price, TokenCounter, find_price, how_to_price
from tiny_graph_rag.llm.endpoint import CallFailed, Endpoint
from tiny_graph_rag.llm.kept import Journal, ReplyCache
from tiny_graph_rag.llm.limits import Budget, CapReached
from tiny_graph_rag.messages import said

EMPTY = "the model returned an empty answer"
CUT_OFF = "the answer was cut off before its first word: raise openai.max_tokens"


@dataclass(slots=True)
class Chat:
    """One run's conversation with one API. retry_failed: ask again what journal and cache know as failed.

    asked, known, failed: calls so far. stopped: whether some were not asked any more.
    """

    client: Client
    journal: Journal | None = None
    cache: ReplyCache | None = None
    retry_failed: bool = False
    asked: int = 0
    known: int = 0
    failed: int = 0
    stopped: bool = False

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

        done gets each outcome once it is in the journal. A call that can't be asked any more because of
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

        def finish(row: int, outcome: Outcome) -> None:
            outcomes[row] = outcome
            self.failed += outcome.error is not None
            self.stopped |= outcome.error == NOT_ASKED
            done(outcome)

        async def one(item: tuple[int, Call]) -> None:
            try:
                finish(item[0], await self._outcome(item[1]))
            except (CapReached, Stopped, NobodyAnswers) as ended:
                self.client.stop.because(ended)
                finish(item[0], Outcome(error=NOT_ASKED))

        try:
            await self.client.each(numbered, one)
        except NobodyAnswers as failure:
            if not self.client.answered:
                raise _for_good(failure) from None
        for row, call in numbered:  # what is left after the run was stopped
            finish(row, self._known(call) or Outcome(error=NOT_ASKED))
        return [outcomes[row] for row in sorted(outcomes)]

    def is_known(self, call: Call) -> bool:
        """Whether journal or cache would answer it."""
        return self._known(call) is not None

    def key(self, call: Call) -> str:
        """What journal and cache know a call by."""
        return call.key(self.client.endpoint.shown_url)

    def _known(self, call: Call) -> Outcome | None:
        """What the journal has, else the cache; nothing that the call could not use."""
        key = self.key(call)
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
        known = self._known(call)
        if known is not None:
            self.known += 1
            return known
        attempts = Attempts()
        try:
            reply = _as_text(await self.client.reply(call, attempts))
            outcome = Outcome(reply, _problem(reply, call))
        except CallFailed as failure:
            if failure.kind == "fatal":
                self._note(call, attempts)
                raise failure if isinstance(failure, NobodyAnswers) else _for_good(failure) from None
            outcome = Outcome(error=failure.message)
        except BaseException:
            self._note(call, attempts)
            raise
        outcome = replace(outcome, perhaps=attempts.perhaps)
        self.asked += 1
        if self.journal is not None:
            self.journal.record(self.key(call), call, outcome)
        if self.cache is not None and outcome.error is None:
            self.cache.keep_outcome(self.key(call), outcome)
        return outcome

    def _note(self, call: Call, attempts: Attempts) -> None:
        """What a call took that did not end."""
        if self.journal is not None:
            self.journal.note(call, attempts.paid + attempts.perhaps)


def _for_good(failure: CallFailed) -> ServiceError:
    return ServiceError("{error}. Answers so far are kept: --resume goes on", error=failure)


def _as_text(reply: Reply) -> Reply:
    """A reply that a journal can hold: of vectors, the cosine of the first with the nearest of the others."""
    if reply.vectors is None:
        return reply
    first, *others = reply.vectors
    nearest = max(float(first @ other) for other in others)
    return replace(reply, text=f'{{"similarity": {nearest!r}}}', vectors=None)


def _problem(reply: Reply, call: Call) -> str | None:
    """Why a reply can't be used, None where it can."""
    if not reply.text:
        return CUT_OFF if reply.finish_reason == "length" else EMPTY
    try:
        if call.check is not None:
            call.check(reply.text)
    except Exception as error:  # whatever a reply holds, it ends its own question and nothing else
        return said("the model's answer can't be used: {error}", error=error)
    return None


# From settings to a Chat: whether a model can be asked at all, at which price, counted by what.

HOW_TO_TURN_ON = (
    "set OPENAI_API_KEY, or OPENAI_BASE_URL for a server without keys (docs/generation-and-cost.md)"
)


def can_ask(config: Config) -> bool:
    """Whether there is a key or a server of one's own."""
    return bool(config.api_key) or bool(config.openai.base_url)


def require_api(config: Config, option: str) -> None:
    """Raises UsageError where an option has no model to ask."""
    if not can_ask(config):
        raise UsageError("{option} needs an API: {how}", option=option, how=said(HOW_TO_TURN_ON))


class Tariff:
    """Prices and token counters of the models of one run, each looked up once."""

    def __init__(self, config: Config) -> None:
        for package in ("genai_prices", "tiktoken"):
            optional(package, said("counting tokens and cost"), "llm")
        settings = config.openai
        embedded = config.embeddings.usd_per_million_embedded

        def price(model: str) -> Price | None:
            embeds = model in (config.generation.accuracy_model, config.embeddings.dense_model)
            if embeds and embedded is not None and model not in settings.prices:
                return Price(embedded, 0.0, embedded, "config.yaml")
            return find_price(model, settings.base_url, settings.prices)

        self.price = cache(price)
        self.counter = cache(lambda model: TokenCounter.for_model(model, tokenizer_folder()))

    def require_prices(self, models: tuple[str, ...]) -> None:
        """A cap needs prices. Raises UsageError for a model without one."""
        for model in models:
            if self.price(model) is None:
                raise UsageError(
                    "--max-cost needs a price, and the price of {model} is unknown: {how_to_price}",
                    model=repr(model),
                    how_to_price=how_to_price(model),
                )

    def describe(self, model: str) -> str:
        price: Price | None = self.price(model)
        return str(price) if price else said("price unknown: {how}", how=how_to_price(model))


def open_chat(
    config: Config,
    tariff: Tariff,
    journal: Path | None,
    *,
    resume: bool = False,
    retry_failed: bool = False,
    cap_usd: float | None = None,
) -> Chat:
    """A Chat with its journal open. journal: None keeps none. Close the journal when the run ends."""
    settings = config.openai
    return Chat(
        Client(Endpoint.of(config), tariff.counter, tariff.price, settings.concurrency, cap_usd),
        journal=Journal(journal, resume=resume) if journal else None,
        cache=ReplyCache(cache_folder()) if config.running.answer_cache else None,
        retry_failed=retry_failed,
    )
