"""Columns of strings: one block of UTF-8 bytes and offsets into it.

A million names cost their bytes and 8 bytes each, can lie in a memory-mapped file, and become `str`
only when somebody looks at one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Strings(Sequence[str]):
    """data: uint8 (bytes,), UTF-8; offsets: int64 (rows + 1,)."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[str]) -> Strings:
        # A lone surrogate (a broken \ud800 in JSON) is no character; it is shown as the sign for one.
        encoded = [row.encode("utf-8", "surrogatepass") for row in rows]
        encoded = [each if b"\xed" not in each else _valid(each) for each in encoded]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        if row < 0:
            row += len(self)
        if not 0 <= row < len(self):
            raise IndexError(row)
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        block = self.data.tobytes()
        bounds = self.offsets.tolist()
        return (block[start:end].decode() for start, end in pairwise(bounds))


def _valid(encoded: bytes) -> bytes:
    return encoded.decode("utf-8", "replace").encode()


@dataclass(frozen=True, slots=True, eq=False)
class StringLists(Sequence[list[str]]):
    """A list of strings a row: offsets int64 (rows + 1,) into `items`."""

    items: Strings
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[Sequence[str]]) -> StringLists:
        lists = list(rows)
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)), out=offsets[1:])
        return cls(Strings.of(item for row in lists for item in row), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        return self.items[int(self.offsets[row]) : int(self.offsets[row + 1])]


@dataclass(frozen=True, slots=True, eq=False)
class Categories(Sequence[str]):
    """A column with few different values: codes int32 (rows,) into `names`, which are sorted."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[str]) -> Categories:
        values = list(rows)
        names = tuple(sorted(set(values)))
        code = {name: index for index, name in enumerate(names)}
        return cls(np.fromiter(map(code.__getitem__, values), dtype=np.int32, count=len(values)), names)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return [self.names[code] for code in self.codes[row]]
        return self.names[self.codes[row]]
