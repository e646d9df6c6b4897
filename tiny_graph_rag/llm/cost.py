"""What calls take and cost: tokens, prices, and what a run spent.

Tokens are counted before a call, and after it where the API does not say. tiktoken counts where its encoding
lies on this machine; it is never downloaded from here. Elsewhere an estimate by character class stands in,
and everything made from it is marked as estimated. Prices come from config.yaml, else from the price
library's offline data, else they are unknown, never 0.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.errors import ConfigError, json_kind
from tiny_graph_rag.llm.base import NO_TOKENS, NOT_ASKED, Call, Message, Outcome, Tokens
from tiny_graph_rag.messages import said
from tiny_graph_rag.secret import safe_url

if TYPE_CHECKING:
    import tiktoken

# What the chat format adds, after OpenAI's own counting recipe: each message, then the reply's start.
TOKENS_PER_MESSAGE = 4
TOKENS_PER_REPLY = 3
MOST_ADDED = 64  # that a provider's own template adds to a prompt
# Tokens of a piece of text: at least, likely and at most. The likely ones are fitted to o200k_base on the
# sample graphs' entities and the README (within 7 %); the others hold for o200k_base and cl100k_base on those
# and on names, prose in eight scripts, source code and identifiers.
TOKENS_PER_PIECE = {
    "word": (0.9, 1.0, 1.0),
    "tail": (0.0, 0.17, 0.34),  # each letter of a word beyond its fourth
    "syllable": (0.6, 0.93, 1.7),
    "number": (0.9, 1.15, 2.0),  # up to three digits
    "gap": (0.0, 0.6, 1.2),
    "sign": (0.2, 0.6, 1.05),
    "ideograph": (0.4, 0.8, 1.7),
    "letter": (0.15, 0.35, 1.0),  # of Greek, Cyrillic, Arabic and accented Latin
    "other": (0.8, 2.4, 4.0),
}
WORD_LETTERS = 4
ENCODING_URL = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"  # tiktoken's cache keys

_PIECES = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<syllable>[가-힣])|(?P<number>\d{1,3})|(?P<gap>\s*\n\s*|\s{2,})"
    r"|(?P<sign>[!-/:-@\[-`{-~])|(?P<ideograph>[\u3040-\u30ff\u3400-\u9fff])"
    r"|(?P<letter>[\u00a1-\u058f\u0600-\u06ff])|(?P<other>\S)"
)

OPENAI_URL = "https://api.openai.com/v1"
MILLION = 1_000_000
PRICE_KEYS = ("input", "output", "cached_input")


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """encoding: None where none can be had offline. name: what counts, for people."""

    encoding: tiktoken.Encoding | None
    name: str

    @classmethod
    def for_model(cls, model: str, folder: str = "") -> TokenCounter:
        """folder: where tiktoken keeps its encodings (environment TIKTOKEN_CACHE_DIR)."""
        import tiktoken

        try:
            name = tiktoken.encoding_name_for_model(model)
        except KeyError:
            return cls(None, f"estimate (no tokenizer is known for {model})")
        places = Path(folder) if folder else Path(tempfile.gettempdir(), "data-gym-cache")
        cached = places / hashlib.sha1(ENCODING_URL.format(name=name).encode()).hexdigest()
        if not cached.is_file():
            return cls(None, f"estimate ({name} is not in {places})")
        try:
            return cls(tiktoken.get_encoding(name), f"tiktoken {name}")
        except (OSError, ValueError):  # a spoiled file, which tiktoken then tries to download
            return cls(None, f"estimate ({name} in {places} can't be read)")

    @property
    def exact(self) -> bool:
        return self.encoding is not None

    def count(self, text: str) -> int:
        return self.range(text)[1]

    def range(self, text: str) -> tuple[int, int, int]:
        """Tokens at least, likely and at most: three times the same where a tokenizer counts."""
        if self.encoding is None:
            return _estimated(text)
        return (len(self.encoding.encode_ordinary(text)),) * 3

    def prompt(self, messages: Iterable[Message]) -> int:
        """Tokens of a whole prompt, the chat format's own included."""
        return self.prompt_range(messages)[1]

    def prompt_range(self, messages: Iterable[Message]) -> tuple[int, int, int]:
        """The same at least, likely and at most."""
        ranges = [self.range(message.content) for message in messages]
        own = len(ranges) * TOKENS_PER_MESSAGE + TOKENS_PER_REPLY
        least, likely, most = (
            (own + sum(column) for column in zip(*ranges, strict=True)) if ranges else (own,) * 3
        )
        return least, likely, most

    def at_most(self, call: Call) -> int:
        """No provider counts more for the prompt: byte-pair tokenizers never make more tokens than bytes.

        A schema goes along in words of the provider's own choice, some add a line of their own.
        """
        schema = json.dumps(call.schema) if call.schema is not None else ""
        added = self.count(schema) + MOST_ADDED if self.exact else len(schema) + MOST_ADDED
        if self.exact:
            return self.prompt(call.messages) + added
        return (
            sum(len(message.content.encode()) + 2 * TOKENS_PER_MESSAGE for message in call.messages) + added
        )


def _estimated(text: str) -> tuple[int, int, int]:
    found = dict.fromkeys(TOKENS_PER_PIECE, 0)
    for piece in _PIECES.finditer(text):
        kind = piece.lastgroup or "other"
        found[kind] += 1
        if kind == "word":
            found["tail"] += max(0, piece.end() - piece.start() - WORD_LETTERS)
    least, likely, most = (
        sum(count * TOKENS_PER_PIECE[kind][place] for kind, count in found.items()) for place in range(3)
    )
    size = len(text.encode("utf-8", "replace"))  # no byte-pair tokenizer makes more tokens than bytes
    return math.floor(least), min(math.ceil(likely), size), min(math.ceil(most), size)


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
    return said("set it in config.yaml, in USD per million tokens: {example}", example=example)


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
            "{place} must be {{input: …, output: …}} in USD a million tokens, cached_input is "
            "optional; got {got}",
            place=place,
            got=json_kind(given),
        )
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise ConfigError(
                "{place}.{name} must be a number of at least 0, got {got}",
                place=place,
                name=name,
                got=json_kind(value),
            )
    cached = float(given.get("cached_input", given["input"]))
    return Price(float(given["input"]), float(given["output"]), cached, "as set")


def _from_library(model: str, base_url: str) -> Price | None:
    from importlib.metadata import version

    from genai_prices import Usage, calc_price

    address = safe_url(base_url) or OPENAI_URL

    def priced(**usage: int) -> Any:
        return calc_price(Usage(**usage), model, provider_api_url=address)

    # A thousand tokens at a time: some models cost more in prompts of a length that no question here has.
    try:
        fresh, output = priced(input_tokens=1000), priced(output_tokens=1000)
        cached = priced(input_tokens=1000, cache_read_tokens=1000)
    except LookupError:
        return None
    dates = sorted(re.findall(r"\b20\d\d-\d\d-\d\d\b", fresh.model.price_comments or ""))
    checked = f", checked {dates[-1]}" if dates else ", no date given"
    usd = [float(price.total_price) * 1000 for price in (fresh, output, cached)]
    return Price(usd[0], usd[1], usd[2], f"genai-prices {version('genai-prices')}{checked}")


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls took. cost_usd: None where a price is unknown; 0.0 where nothing was called.

    estimated: some of the tokens are our count.
    """

    calls: int = 0
    tokens: Tokens = NO_TOKENS
    cost_usd: float | None = 0.0
    estimated: bool = False

    @classmethod
    def on(cls, outcome: Outcome, price: Price | None) -> Spent:
        """A call that brought nothing has no known tokens; it counts as a call, one that was never made
        does not."""
        if outcome.error == NOT_ASKED:
            return cls()
        if outcome.reply is None:
            return cls(1)
        cost = None if price is None else price.cost(outcome.reply.tokens)
        return cls(1, outcome.reply.tokens, cost, outcome.reply.estimated)

    def __add__(self, other: Spent) -> Spent:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Spent(
            self.calls + other.calls,
            self.tokens + other.tokens,
            (self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
            self.estimated or other.estimated,
        )


def total(parts: Iterable[Spent]) -> Spent:
    return sum(parts, Spent())
