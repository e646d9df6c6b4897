"""How many calls are under way: as many as allowed, fewer when the API says that it is too much."""

from __future__ import annotations

import asyncio
import time

BACK_OFF = 0.5  # what a rate limit leaves of the concurrency
RECOVER = 0.1  # what a success adds to it: ten good calls win back one place


class Pace:
    """Additive increase, multiplicative decrease (Chiu & Jain 1989) below `most`, never under one call."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.allowed = float(most)
        self.under_way = 0
        self._resume_at = 0.0
        self._cut_at = -1.0
        self._room = asyncio.Condition()

    async def enter(self) -> None:
        """Wait until there is room and no rate limit asks to wait."""
        async with self._room:
            while True:
                wait = self._resume_at - time.monotonic()
                if wait <= 0 and self.under_way < int(self.allowed):
                    self.under_way += 1
                    return
                if wait > 0:
                    self._room.release()
                    try:
                        await asyncio.sleep(wait)
                    finally:
                        await self._room.acquire()
                else:
                    await self._room.wait()

    async def leave(self, *, succeeded: bool) -> None:
        async with self._room:
            self.under_way -= 1
            if succeeded:
                self.allowed = min(self.most, self.allowed + RECOVER)
            self._room.notify(2 if succeeded else 1)

    def slow_down(self, seconds: float, sent_at: float) -> None:
        """Obey a rate limit: nobody starts for `seconds`, and fewer calls run from then on.

        sent_at: when the refused call was sent (monotonic). Calls that were already under way at the last
        cut tell nothing new about the rate and don't cut it again.
        """
        now = time.monotonic()
        self._resume_at = max(self._resume_at, now + seconds)
        if sent_at > self._cut_at:
            self.allowed = max(1.0, self.allowed * BACK_OFF)
            self._cut_at = now
