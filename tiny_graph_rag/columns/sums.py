"""Sums over the rows of a long column of which a question touches few: what it costs grows with these."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import zeros_as_touched

MANY = 8  # one part of so many of the column's rows: then the column is looked through instead of sorting
BINS = 10  # bits: numbers are counted by their first digits before they are sorted


class Summed(NamedTuple):
    """rows: int64, ascending, each once; sums: int64, > 0."""

    rows: NDArray[np.int64]
    sums: NDArray[np.int64]


class Sums:
    """Memory to add in, as long as the column, one a thread; between two sums it holds zeros."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._of_thread = threading.local()

    def of(self, parts: Sequence[tuple[NDArray[np.signedinteger[Any]], NDArray[np.int64]]]) -> Summed:
        """parts: rows, also repeated ones, and what is added to each, int64, not below 0."""
        memory = self._of_thread.__dict__.pop("memory", None)  # gone where a sum is interrupted half-way
        column, place = memory or (
            zeros_as_touched(self.length, np.int64),
            zeros_as_touched(self.length, np.int32),
        )
        touched = sum(len(rows) for rows, _ in parts)
        for rows, values in parts:
            np.add.at(column, rows, values)
        if MANY * touched > self.length:
            found = np.flatnonzero(column > 0)
            sums = column[found]
            column[:] = 0
        else:
            every = np.concatenate([rows for rows, _ in parts]) if parts else np.zeros(0, dtype=np.int64)
            order = np.arange(len(every), dtype=np.int32)
            place[every] = order  # of equal rows, one remains
            found = every[place[every] == order].astype(np.int64)
            found.sort()
            sums = column[found]
            column[found] = 0
            if len(sums) and sums.min() <= 0:
                found, sums = found[sums > 0], sums[sums > 0]
        self._of_thread.memory = column, place
        return Summed(found, sums)


def beyond(values: NDArray[np.int64], weights: NDArray[np.int64], most: int) -> int:
    """The greatest value with which, and all greater ones, the weights exceed `most`; -1 where all don't.

    values: not below 0. So `values > beyond(…)` are those that fit, equal ones
    together or not at all.
    """
    if int(weights.sum()) <= most:
        return -1
    shift = max(0, int(values.max()).bit_length() - BINS)
    bins = values >> shift
    above = np.cumsum(np.bincount(bins, weights)[::-1])
    first = len(above) - 1 - int(np.searchsorted(above, most, side="right"))  # the bin where it happens
    left = most - (int(above[len(above) - 2 - first]) if first < len(above) - 1 else 0)
    inside = bins == first
    mine = values[inside]
    order = np.argsort(-mine)
    mine = mine[order]
    together = np.cumsum(weights[inside][order])
    return int(mine[int(np.searchsorted(together, left, side="right"))])
