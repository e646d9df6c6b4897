"""`--max-cost`: no call begins that could carry the run past its cap."""

from __future__ import annotations

import asyncio

from tiny_graph_rag.llm.base import Tokens
from tiny_graph_rag.llm.prices import Price


class CapReached(Exception):  # noqa: N818 - an end in order, not an error
    """The next call could pass the cap, and none is under way whose end would make room."""


class Budget:
    """Money of a run, in USD. Calls under way count at their worst, what may have been charged too.

    cap_usd: None for no cap. spent_usd: what this run paid for, NaN-free; 0 for models without a price.
    doubtful: attempts that ended without an answer but may have been charged.
    """

    def __init__(self, cap_usd: float | None, already_spent_usd: float = 0.0) -> None:
        self.cap_usd = cap_usd
        self.spent_usd = 0.0
        self.doubtful = 0
        self.doubtful_usd = 0.0
        self._base_usd = already_spent_usd
        self._reserved_usd = 0.0
        self._open = 0
        self._changed = asyncio.Condition()

    def begin(self) -> None:
        """Before each event loop: what waits belongs to one loop alone."""
        self._changed = asyncio.Condition()

    async def reserve(self, worst_usd: float) -> None:
        """Wait until `worst_usd` more is sure to fit. Raises CapReached where it never will."""
        async with self._changed:
            while self.cap_usd is not None and not self._fits(worst_usd):
                if not self._open:
                    raise CapReached
                await self._changed.wait()
            self._open += 1
            self._reserved_usd += worst_usd

    def _fits(self, worst_usd: float) -> bool:
        assert self.cap_usd is not None
        committed = self._base_usd + self.spent_usd + self.doubtful_usd + self._reserved_usd
        return committed + worst_usd <= self.cap_usd

    async def settle(self, worst_usd: float, paid_usd: float, *, doubtful: bool = False) -> None:
        """Give a reservation back and note what the call really cost, or that nobody knows."""
        async with self._changed:
            self._open -= 1
            self._reserved_usd -= worst_usd
            self.spent_usd += paid_usd
            if doubtful:
                self.doubtful += 1
                self.doubtful_usd += worst_usd
            self._changed.notify_all()


def worst_cost(price: Price | None, prompt_at_most: int, max_tokens: int) -> float:
    """USD of a call whose answer is as long as it may be; 0.0 without a price (a cap needs one)."""
    return 0.0 if price is None else price.cost(Tokens(prompt_at_most, max_tokens))
