"""What calls took: how many, tokens, money."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tiny_graph_rag.llm.base import Outcome, Tokens
from tiny_graph_rag.llm.chat import NOT_ASKED
from tiny_graph_rag.llm.prices import Price

NO_TOKENS = Tokens()


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
