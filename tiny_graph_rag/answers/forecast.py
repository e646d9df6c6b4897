"""`--dry-run`: what a run would call and cost, without calling anything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat

from tiny_graph_rag.llm.base import Call, Tokens
from tiny_graph_rag.llm.chat import MOST_ASKED
from tiny_graph_rag.llm.cost import MOST_ADDED, Price, TokenCounter


@dataclass(frozen=True, slots=True)
class Forecast:
    """calls: to be made; most_calls: with those that are asked once more, because the reply can't be read.
    known: of those asked for, already answered in journal or cache. prompt_tokens: the likely count, between
    least and most: most counts every call that may be asked again twice, with its schema. most_completion:
    tokens of the answers if each is as long as it may be and asked for as often."""

    calls: int
    most_calls: int
    known: int
    least_prompt_tokens: int
    prompt_tokens: int
    most_prompt_tokens: int
    most_completion_tokens: int
    exact: bool

    def cost_usd(self, price: Price | None) -> tuple[float, float] | None:
        """From answers of no length to answers of the greatest; None where the price is unknown."""
        if price is None:
            return None
        return (
            price.cost(Tokens(self.least_prompt_tokens, 0)),
            price.cost(Tokens(self.most_prompt_tokens, self.most_completion_tokens)),
        )


def forecast(
    calls: Iterable[Call], counter: TokenCounter, known: Iterable[bool] | None = None, *, more_prompt: int = 0
) -> Forecast:
    """known: for each call, whether it is already answered and would not be made. more_prompt: tokens that
    each prompt may have more than now (a judge's, of an answer that is not written yet)."""
    count = most_calls = answered = least = prompt = most = completion = 0
    for call, is_known in zip(calls, repeat(False) if known is None else known, strict=False):
        if is_known:
            answered += 1
            continue
        count += 1
        ranged = counter.prompt_range(call.messages)
        times = MOST_ASKED if call.check is not None else 1
        most_calls += times
        schema = 0
        if call.schema is not None:
            schema = counter.range(json.dumps(call.schema, ensure_ascii=False))[2] + MOST_ADDED
        least, prompt = least + ranged[0], prompt + ranged[1]
        most += times * (ranged[2] + schema + more_prompt)
        completion += times * call.max_tokens
    return Forecast(count, most_calls, answered, least, prompt, most, completion, counter.exact)
