"""Ids → rows, asked thousands at a time.

A dict of a million strings takes a third of a microsecond a look-up, nearly all of it waiting for memory:
index, entry, string and number lie in four places. Here an id is one row of whole numbers, padded, and a
look-up of many ids at once waits for all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.fields import Ints
from tiny_graph_rag.columns.strings import Strings

LONGEST = 64  # bytes of an id; a graph with a longer one is looked up in a dict
END = 0xFF  # no byte of UTF-8; keeps ids apart that differ only by NUL at their end
FULLEST = 2  # the table's places an id: longer chains of occupied places cost more than memory saves
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio

Words = NDArray[np.uint64]


class RepeatedIdError(Exception):
    """Two rows have one id."""


class IdTable:
    """The rows of a column of ids. Raises RepeatedIdError."""

    def __init__(self, ids: Strings) -> None:
        lengths = np.diff(ids.offsets)
        longest = int(lengths.max(initial=0))
        self._dict: dict[str, int] | None = None
        if longest > LONGEST:
            self._dict = {id_: row for row, id_ in enumerate(ids)}
            if len(self._dict) < len(ids):
                raise RepeatedIdError
            return
        self._width = longest // 8 + 1
        self._words = _padded(ids.data, lengths, self._width)
        bits = (FULLEST * len(ids)).bit_length() or 1
        self._shift, self._last = np.uint64(64 - bits), (1 << bits) - 1
        self._table = np.full(1 << bits, -1, dtype=np.int32)
        rows, places = np.arange(len(ids), dtype=np.int32), self._places(self._words)
        while len(rows):
            free = self._table[places] < 0
            self._table[places[free]] = rows[free]
            holders = self._table[places]
            if (self._same(holders, self._words[rows]) & (holders != rows)).any():
                raise RepeatedIdError
            left = holders != rows
            rows, places = rows[left], (places[left] + 1) & self._last

    def rows(self, ids: Sequence[str]) -> NDArray[np.int32]:
        """The row of each id, -1 where there is none."""
        if self._dict is not None:
            return np.array([self._dict.get(id_, -1) for id_ in ids], dtype=np.int32)
        found = np.full(len(ids), -1, dtype=np.int32)
        if not len(self._words):
            return found
        column = ids if isinstance(ids, Strings) else Strings.of(ids)
        lengths = np.diff(column.offsets)
        if int(lengths.max(initial=0)) >= 8 * self._width:  # longer than any id that is known
            known = np.flatnonzero(lengths < 8 * self._width)
            found[known] = self.rows([ids[place] for place in known.tolist()])
            return found
        words = _padded(column.data, lengths, self._width)
        places = self._places(words)
        holders = self._table[places]
        found = np.where(self._same(holders, words), holders, np.int32(-1))
        left = np.flatnonzero((found < 0) & (holders >= 0))
        places = places[left]
        while len(left):
            places = (places + 1) & self._last
            holders = self._table[places]
            same = self._same(holders, words[left])
            found[left[same]] = holders[same]
            going = ~same & (holders >= 0)
            left, places = left[going], places[going]
        return found

    def _places(self, words: Words) -> NDArray[np.int64]:
        mixed = words[:, 0] * SPREAD
        for column in range(1, self._width):
            mixed = ((mixed ^ (mixed >> np.uint64(29))) + words[:, column]) * SPREAD
        return ((mixed ^ (mixed >> np.uint64(32))) * SPREAD >> self._shift).astype(np.int64)

    def _same(self, holders: NDArray[np.int32], words: Words) -> NDArray[np.bool_]:
        """Where the row held (-1: none) has these words."""
        same: NDArray[np.bool_] = holders >= 0
        for column in range(self._width):
            same &= self._words[holders, column] == words[:, column]
        return same


def _padded(data: NDArray[np.uint8], lengths: NDArray[np.int64], width: int) -> Words:
    """Rows of UTF-8 → (rows, width) numbers, equal where the rows are equal."""
    cells = np.zeros((len(lengths), 8 * width), dtype=np.uint8)
    cells[np.arange(8 * width) < lengths[:, None]] = data
    cells[np.arange(len(lengths)), lengths] = END
    return cells.view(np.uint64)


SLOTS_A_HASH = 16  # one hash in 16 shares its slot


class Directory:
    """Finds 64-bit hashes among ascending ones by their first bits, one step in nearly all cases."""

    def __init__(self, ascending: Words) -> None:
        bits = max(1, (len(ascending) * SLOTS_A_HASH).bit_length())
        self._ascending, self._shift = ascending, np.uint64(64 - bits)
        slots = (ascending >> self._shift).astype(np.int64)
        self._first = np.zeros(1 << bits, dtype=np.int32)
        self._first[slots[::-1]] = np.arange(len(ascending), dtype=np.int32)[::-1]
        self._crowded = np.zeros(1 << bits, dtype=bool)
        self._crowded[slots[1:][slots[1:] == slots[:-1]]] = True

    def find(self, hashes: Words) -> Ints:
        """The row of each; any row where it is not among them."""
        slots = hashes >> self._shift
        rows = self._first[slots].astype(np.int64)
        crowded = np.flatnonzero(self._crowded[slots])
        rows[crowded] = np.minimum(
            np.searchsorted(self._ascending, hashes[crowded]), len(self._ascending) - 1
        )
        return np.asarray(rows)
