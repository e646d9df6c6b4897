"""64-bit hashes → rows, asked thousands at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.fields import Ints

Words = NDArray[np.uint64]
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
