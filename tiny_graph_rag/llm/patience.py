"""How long to try a call that fails in passing."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Times are seconds; the wait doubles from `first_wait` to `longest_wait`, half of it by chance.

    attempts: of a call that fails in passing. limited: times that one call obeys a rate limit.
    longest_retry_after: an API that asks to wait longer ends the run, which can be resumed.
    """

    attempts: int = 5
    limited: int = 30
    first_wait: float = 0.5
    longest_wait: float = 30.0
    longest_retry_after: float = 300.0

    def wait(self, attempt: int, chance: random.Random) -> float:
        """Seconds to wait after so many attempts (from 1)."""
        longest: float = min(self.first_wait * 2.0 ** (attempt - 1), self.longest_wait)
        return longest * (0.5 + chance.random() / 2)
