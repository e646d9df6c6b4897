"""What holds a run back: `--max-cost`, and how many calls an API takes at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

BACK_OFF = 0.5  # what a rate limit leaves of the concurrency
RECOVER = 0.1  # what a success adds to it: ten good calls win back one place
LOOK_AGAIN = 0.01  # seconds until a call that waits for others looks whether it may go


class CapReached(Exception):  # noqa: N818 - an end in order, not an error
    """The next call could pass the cap, and none is under way whose end would make room."""


class Budget:
    """Money of a run, in USD. Calls under way count at their worst, what may have been charged too.

    cap_usd: None for no cap. spent_usd: what this run paid for, NaN-free; 0 for models without a price.
    doubtful: attempts that ended without an answer but may have been charged. unpriced: replies of models
    whose price is unknown.
    """

    def __init__(self, cap_usd: float | None) -> None:
        self.cap_usd = cap_usd
        self.already_spent_usd = self.spent_usd = 0.0
        self.doubtful = 0
        self.unpriced = 0
        self.doubtful_usd = 0.0
        self._reserved_usd = 0.0
        self._open = 0

    async def reserve(self, worst_usd: float) -> None:
        """Wait until `worst_usd` more is sure to fit. Raises CapReached where it never will."""
        while self.cap_usd is not None and self._committed_usd + worst_usd > self.cap_usd:
            if not self._open:
                raise CapReached
            await asyncio.sleep(LOOK_AGAIN)
        self._open += 1
        self._reserved_usd += worst_usd

    @property
    def _committed_usd(self) -> float:
        return self.already_spent_usd + self.spent_usd + self.doubtful_usd + self._reserved_usd

    def settle(self, worst_usd: float, paid_usd: float, *, doubtful: bool = False) -> None:
        """Give a reservation back and note what the call really cost, or that nobody knows."""
        self._open -= 1
        self._reserved_usd -= worst_usd
        self.spent_usd += paid_usd
        if doubtful:
            self.doubtful += 1
            self.doubtful_usd += worst_usd


class Pace:
    """Additive increase, multiplicative decrease (Chiu & Jain 1989) below `most`, never under one call.

    sleep: waits so many seconds, or raises where the run stops meanwhile.
    """

    def __init__(self, most: int, sleep: Callable[[float], Awaitable[None]]) -> None:
        self.most = most
        self.allowed = float(most)
        self.under_way = 0
        self._sleep = sleep
        self._resume_at = self._refused_at = 0.0
        self._refusals = 0
        self._is_new = False

    async def enter(self) -> None:
        """Wait for a place, and for the moment from which the API wants to hear from us again."""
        while (wait := self._resume_at - time.monotonic()) > 0 or self.under_way >= int(self.allowed):
            await self._sleep(max(wait, LOOK_AGAIN))
        self.under_way += 1

    def leave(self, *, succeeded: bool) -> None:
        self.under_way -= 1
        if succeeded:
            self._refusals = 0
            self.allowed = min(self.most, self.allowed + RECOVER)

    def refused(self, sent_at: float) -> int:
        """How many refusals in a row that makes, with no answer to any call between them.

        sent_at: when the refused call was sent (monotonic). Calls that were already under way at the last
        refusal tell nothing new, and neither count nor lower the number of calls again.
        """
        self._is_new = sent_at > self._refused_at
        if self._is_new:
            self._refused_at = time.monotonic()
            self._refusals += 1
        return self._refusals

    def slow_down(self, seconds: float) -> None:
        """Obey a rate limit: nobody starts for `seconds`, and fewer calls run from then on."""
        self._resume_at = max(self._resume_at, time.monotonic() + seconds)
        if self._is_new:
            self.allowed = max(1.0, self.allowed * BACK_OFF)
