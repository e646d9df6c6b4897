"""Hashes → rows: of texts asked one at a time, and of 64-bit hashes asked thousands at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Keys = NDArray[np.uint32]

KEY_BITS = 32
SLOTS_AT_ONCE = 1 << 22
SLOTS_A_HASH = 16  # one hash in 16 shares its slot


def key_of(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def keys_of(texts: Sequence[str]) -> Keys:
    """(texts,), of texts without halves of characters."""
    return np.fromiter(map(crc32, map(str.encode, texts)), dtype=np.uint32, count=len(texts))


class KeyTable:
    """The rows of texts by their keys; equal keys are candidates, whoever asks compares the texts.

    A hash table in columns: one of a million texts is built in a second, is the same in a file as in memory,
    and is asked without being read. keys: ascending; rows: int32, the text of each; slots: int32, where the
    keys with the same first bits begin. Memory views give Python single numbers faster than arrays do.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self.keys: Sequence[int] = columns["keys"].data
        self.rows: Sequence[int] = columns["rows"].data
        self.slots: Sequence[int] = columns["slots"].data
        self.shift = KEY_BITS - (len(self.slots) - 1).bit_length() + 1

    @staticmethod
    def columns(keys: Keys, rows: NDArray[np.int32], bits: int) -> dict[str, NDArray[Any]]:
        """What a table is made of. keys: of the rows, these ascending; bits: the first that find a slot."""
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        part = min(1 << bits, SLOTS_AT_ONCE)
        starts = [
            np.searchsorted(keys, np.arange(first, first + part) << (KEY_BITS - bits)).astype(np.int32)
            for first in range(0, 1 << bits, part)
        ]
        slots = np.concatenate([*starts, np.array([len(keys)], dtype=np.int32)])
        return {"keys": keys, "rows": rows[order], "slots": slots}

    def rows_of(self, key: int) -> list[int]:
        """The texts with this key, ascending."""
        slot = key >> self.shift
        keys, rows = self.keys, self.rows
        return [rows[place] for place in range(self.slots[slot], self.slots[slot + 1]) if keys[place] == key]


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

    def find(self, hashes: Words) -> NDArray[np.int64]:
        """The row of each; any row where it is not among them."""
        slots = hashes >> self._shift
        rows = self._first[slots].astype(np.int64)
        crowded = np.flatnonzero(self._crowded[slots])
        rows[crowded] = np.minimum(
            np.searchsorted(self._ascending, hashes[crowded]), len(self._ascending) - 1
        )
        return np.asarray(rows)
