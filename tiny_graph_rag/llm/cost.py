"""What calls take and cost: tokens, prices, and what a run spent.

Tokens are counted before a call, and after it where the API does not say. tiktoken counts where its encoding
lies on this machine; it is never downloaded from here. Elsewhere 3.8 bytes count as a token, and everything
made from that is marked as estimated. Prices come from config.yaml, else from the price library's data, else
they are unknown, never 0.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct

from tiny_graph_rag.errors import ConfigError
from tiny_graph_rag.llm.base import NO_TOKENS, NOT_ASKED, Call, Outcome, Tokens
from tiny_graph_rag.messages import said
from tiny_graph_rag.secret import safe_url

if TYPE_CHECKING:
    import tiktoken

# What the chat format adds, after OpenAI's own counting recipe: each message, then the reply's start.
TOKENS_PER_MESSAGE = 4
TOKENS_PER_REPLY = 3
MOST_ADDED = 64  # that a provider's own template adds to a prompt
BYTES_PER_TOKEN = 3.8  # within a fifth of o200k_base on the sample graphs, English and Korean
FIRST_IDEOGRAPH = "\u2e80"  # from here on scripts have no spaces, and a token is four characters at most
ENCODING_URL = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"  # tiktoken's cache keys

OPENAI_URL = "https://api.openai.com/v1"
MILLION = 1_000_000


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
            return cls(None, said("estimate (no tokenizer is known for {model})", model=model))
        places = Path(folder) if folder else Path(tempfile.gettempdir(), "data-gym-cache")
        cached = places / hashlib.sha1(ENCODING_URL.format(name=name).encode()).hexdigest()
        if not cached.is_file():
            return cls(None, said("estimate ({name} is not in {places})", name=name, places=places))
        try:
            return cls(tiktoken.get_encoding(name), f"tiktoken {name}")
        except (OSError, ValueError):  # a spoiled file, which tiktoken then tries to download
            return cls(None, said("estimate ({name} in {places} can't be read)", name=name, places=places))

    @property
    def exact(self) -> bool:
        return self.encoding is not None

    def count(self, text: str) -> int:
        return self.range(text)[1]

    def range(self, text: str) -> tuple[int, int, int]:
        """Tokens at least, likely and at most: three times the same where a tokenizer counts.

        No tokenizer makes a token of two words, or of fewer bytes than one.
        """
        if self.encoding is not None:
            return (len(self.encoding.encode_ordinary(text)),) * 3
        size = len(text.encode("utf-8", "replace"))
        ideographs = sum(letter >= FIRST_IDEOGRAPH for letter in text)
        least = max(len(text.split()), ideographs // 4)
        return least, max(least, round(size / BYTES_PER_TOKEN)), size

    def prompt(self, call: Call) -> tuple[int, int, int]:
        """The same of a whole prompt, the chat format's own included. At most: with its schema, which goes
        along in words of the provider's, and a line of its own."""
        ranges = [self.range(message.content) for message in call.messages]
        own = len(ranges) * TOKENS_PER_MESSAGE + TOKENS_PER_REPLY
        least, likely, most = (own + sum(column) for column in zip(*ranges, strict=True))
        schema = "" if call.schema is None else json.dumps(call.schema)
        return least, likely, most + self.range(schema)[2] + MOST_ADDED


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
        return said(
            "${input} in, ${output} out per million tokens ({source})",
            input=f"{self.usd_per_million_input:g}",
            output=f"{self.usd_per_million_output:g}",
            source=self.source,
        )


def how_to_price(model: str) -> str:
    """What a user writes to make a cost known."""
    example = f"openai: {{prices: {{'{model}': {{input: 0.4, output: 1.6}}}}}}"
    return said("set it in config.yaml, in USD per million tokens: {example}", example=example)


Usd = Annotated[float, Meta(ge=0, le=MILLION)]


class GivenPrice(Struct, forbid_unknown_fields=True):
    """One model's in `openai.prices`. cached_input: as input where it is left out."""

    input: Usd
    output: Usd
    cached_input: Usd | None = None


def find_price(model: str, base_url: str, configured: Mapping[str, Any]) -> Price | None:
    """The price of a model at an address; None where it is unknown, never 0 for that.

    Raises ConfigError for configured prices that aren't numbers from 0 up.
    """
    if model not in configured:
        return _from_library(model, base_url)
    try:
        given = msgspec.convert(configured[model], GivenPrice)
    except msgspec.ValidationError as error:
        raise ConfigError(
            "config.yaml: openai.prices.{model} must be {{input: …, output: …}} in USD a million tokens, "
            "cached_input is optional: {error}",
            model=model,
            error=error,
        ) from None
    cached = given.input if given.cached_input is None else given.cached_input
    return Price(given.input, given.output, cached, said("as set"))


def _from_library(model: str, base_url: str) -> Price | None:
    """At this address; where the library doesn't know it, at the model's own provider, as the source says."""
    from importlib.metadata import version

    from genai_prices import Usage, calc_price

    # A thousand tokens at a time: some models cost more in prompts of a length that no question here has.
    used = Usage(input_tokens=1000), Usage(output_tokens=1000)
    cached = Usage(input_tokens=1000, cache_read_tokens=1000)
    places: tuple[Any, ...] = ({"provider_api_url": safe_url(base_url) or OPENAI_URL}, {})
    for place in places:
        with suppress(LookupError):
            fresh, *others = (calc_price(usage, model, **place) for usage in (*used, cached))
            dates = sorted(re.findall(r"\b20\d\d-\d\d-\d\d\b", fresh.model.price_comments or ""))
            checked = said("checked {date}", date=dates[-1]) if dates else said("no date given")
            source = said(
                "genai-prices {version}, {checked}", version=version("genai-prices"), checked=checked
            )
            if not place:
                source = said(
                    "price of {provider}, this address may charge another; {source}",
                    provider=fresh.provider.name,
                    source=source,
                )
            usd = [float(price.total_price) * 1000 for price in (fresh, *others)]
            return Price(usd[0], usd[1], usd[2], source)
    return None


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


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run would call and cost (`--dry-run`), without calling anything.

    calls: to be made. known: of those asked for, already answered in journal or cache. prompt_tokens: at
    least, likely and at most. most_answer_tokens: if each answer is as long as it may be. exact: a tokenizer
    counted."""

    calls: int
    known: int
    prompt_tokens: tuple[int, int, int]
    most_answer_tokens: int
    exact: bool

    def cost_usd(self, price: Price | None) -> tuple[float, float] | None:
        """From answers of no length to answers of the greatest; None where the price is unknown."""
        if price is None:
            return None
        least, _, most = self.prompt_tokens
        return price.cost(Tokens(least)), price.cost(Tokens(most, self.most_answer_tokens))


def forecast(
    calls: Iterable[Call],
    counter: TokenCounter,
    is_known: Callable[[Call], bool] = lambda call: False,
    *,
    more_prompt: int = 0,
) -> Forecast:
    """is_known: whether a call is already answered and would not be made. more_prompt: tokens that each
    prompt may have more than now (a judge's, of an answer that is not written yet)."""
    made = known = least = likely = most = answers = 0
    for call in calls:
        if is_known(call):
            known += 1
            continue
        made += 1
        of_prompt = counter.prompt(call)
        least, likely = least + of_prompt[0], likely + of_prompt[1]
        most += of_prompt[2] + more_prompt
        answers += call.max_tokens
    return Forecast(made, known, (least, likely, most), answers, counter.exact)
