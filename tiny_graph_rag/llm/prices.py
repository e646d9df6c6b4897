"""What tokens cost: prices from config.yaml, else from the price library's offline data, else unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiny_graph_rag.errors import ConfigError, json_kind
from tiny_graph_rag.llm.base import Tokens
from tiny_graph_rag.secret import safe_url

OPENAI_URL = "https://api.openai.com/v1"
MILLION = 1_000_000
PRICE_KEYS = ("input", "output", "cached_input")


@dataclass(frozen=True, slots=True)
class Price:
    """USD a million tokens. source: where it comes from, with its date, for people."""

    usd_per_million_input: float
    usd_per_million_output: float
    usd_per_million_cached: float
    source: str

    def cost(self, tokens: Tokens) -> float:
        """USD. Cached prompt tokens have a price of their own; reasoning is paid as output."""
        fresh = tokens.prompt - tokens.cached
        return (
            fresh * self.usd_per_million_input
            + tokens.cached * self.usd_per_million_cached
            + tokens.completion * self.usd_per_million_output
        ) / MILLION

    def __str__(self) -> str:
        return (
            f"${self.usd_per_million_input:g} in, ${self.usd_per_million_output:g} out a million tokens "
            f"({self.source})"
        )


def how_to_price(model: str) -> str:
    """What a user writes to make a cost known."""
    example = f"openai: {{prices: {{'{model}': {{input: 0.4, output: 1.6}}}}}}"
    return f"set it in config.yaml, in USD a million tokens: {example}"


def find_price(model: str, base_url: str, configured: Mapping[str, Any]) -> Price | None:
    """The price of a model at an address; None where it is unknown, never 0 for that.

    Raises ConfigError for configured prices that aren't numbers from 0 up.
    """
    if model in configured:
        return _configured(model, configured[model])
    return _from_library(model, base_url)


def _configured(model: str, given: object) -> Price:
    place = f"config.yaml: openai.prices.{model}"
    if not isinstance(given, Mapping) or not {"input", "output"} <= set(given) <= set(PRICE_KEYS):
        raise ConfigError(
            f"{place} must be {{input: …, output: …}} in USD a million tokens, cached_input is optional; "
            f"got {json_kind(given)}"
        )
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise ConfigError(f"{place}.{name} must be a number from 0 up, got {json_kind(value)}")
    cached = float(given.get("cached_input", given["input"]))
    return Price(float(given["input"]), float(given["output"]), cached, "config.yaml")


def _from_library(model: str, base_url: str) -> Price | None:
    from importlib.metadata import version

    from genai_prices import Usage, calc_price

    address = safe_url(base_url) or OPENAI_URL

    # A thousand tokens at a time: some models cost more in prompts of a length that no question here has.
    try:
        fresh = calc_price(Usage(input_tokens=1000), model, provider_api_url=address)
        cached = calc_price(Usage(input_tokens=1000, cache_read_tokens=1000), model, provider_api_url=address)
        output = calc_price(Usage(output_tokens=1000), model, provider_api_url=address)
    except LookupError:
        return None
    dates = sorted(re.findall(r"\b20\d\d-\d\d-\d\d\b", fresh.model.price_comments or ""))
    checked = f", checked {dates[-1]}" if dates else ", no date given"
    return Price(
        float(fresh.total_price) * 1000,
        float(output.total_price) * 1000,
        float(cached.total_price) * 1000,
        f"genai-prices {version('genai-prices')}{checked}",
    )
