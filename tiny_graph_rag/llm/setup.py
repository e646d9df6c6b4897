"""From settings to a Chat: whether a model can be asked at all, at which price, counted by what."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tiny_graph_rag.config import Config, cache_folder, tokenizer_folder
from tiny_graph_rag.errors import UsageError, optional
from tiny_graph_rag.llm.chat import Chat
from tiny_graph_rag.llm.client import Client
from tiny_graph_rag.llm.cost import Price, TokenCounter, find_price, how_to_price
from tiny_graph_rag.llm.endpoint import Endpoint
from tiny_graph_rag.llm.kept import Journal, ReplyCache
from tiny_graph_rag.messages import said

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
        return str(price) if price else f"price unknown: {how_to_price(model)}"


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
        journal=Journal.open(journal, resume=resume) if journal else None,
        cache=ReplyCache(cache_folder()) if config.running.answer_cache else None,
        retry_failed=retry_failed,
    )
