"""A question's reading as the kernel takes it: tables by slots filled, prices, and the first bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tiny_graph_rag.retrieval import kernel
from tiny_graph_rag.retrieval.slots import Reading

NEAR = 200  # thousandths added to the price of a straight way: the first bound of the search
KEPT_TABLES = 1 << 12


@dataclass(slots=True)
class Prepared:
    """A reading as the kernel takes it. start: the bound that the next question begins with, at least `near`.

    Questions of one reading tend to end at one bound. The next begins a little below the last one's, so that
    it seldom walks more than it must; what it finds is the same for any start.
    """

    reading: Reading
    slots: tuple[Any, ...]
    price: Any
    near: int
    start: int

    @classmethod
    def of(
        cls,
        reading: Reading,
        prices: Sequence[int],
        row: Callable[[Sequence[int]], Any],
        hops: int,
        *,
        exclude_seeds: bool,
        near_first: bool,
    ) -> Prepared:
        """row: makes a column of whole numbers as the kernel reads it best. near_first: raise the bound from
        near things on; without, everything is searched at once."""
        weights = tuple(slot.weight for slot in reading.slots)
        words = sum(1 << place for place, slot in enumerate(reading.slots) if not slot.types)
        near = hops * prices[kernel.STEP] + NEAR if near_first else kernel.FAR
        least = least_left(weights, words, hops) if near_first else (0,) * (hops << len(weights))
        price = list(prices)
        price[kernel.UNEXPLAINED] = reading.unexplained
        back = sum(1 << place for place, slot in enumerate(reading.slots) if slot.way_back)
        tables = tuple(map(row, (left_empty(weights), least, filled(weights))))
        flags = (reading.focus, reading.head, back, bool(words), exclude_seeds, reading.asks)
        return cls(reading, (*tables, *flags), row(price), near, near)

    def ended(self, bound: int) -> None:
        """Learn from a question's last bound: fall at once, rise a step at a time."""
        wider = min(self.start + kernel.WIDER, bound - kernel.WIDER)
        self.start = max(self.near, wider)


@lru_cache(KEPT_TABLES)
def left_empty(weights: tuple[int, ...]) -> tuple[int, ...]:
    """What stays unexplained, by mask of slots filled."""
    total = sum(weights)
    return tuple(total - each for each in filled(weights))


@lru_cache(KEPT_TABLES)
def filled(weights: tuple[int, ...]) -> tuple[int, ...]:
    """The weight of a mask's slots, by mask."""
    sums = [0]
    for weight in weights:
        sums += [weight + each for each in sums]
    return tuple(sums)


@lru_cache(KEPT_TABLES)
def least_left(weights: tuple[int, ...], words: int, steps: int) -> tuple[int, ...]:
    """What must stay unexplained whatever comes, by (steps to go, mask), fewer than `steps` to go.

    A step fills one slot of a type at most; slots of words (bits of `words`) might all be filled by one.
    """
    table = []
    for more in range(steps):
        for mask in range(1 << len(weights)):
            empty = sorted(weight for place, weight in enumerate(weights) if not (mask | words) >> place & 1)
            table.append(sum(empty[: max(0, len(empty) - more)]))
    return tuple(table)
