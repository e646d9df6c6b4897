"""Columns of strings: one block of UTF-8 bytes and offsets into it.

A million names cost their bytes and 8 bytes each, can lie in a memory-mapped file, and become `str`
only when somebody looks at one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import stretches, unique

ROWS_AT_ONCE = 1 << 18  # of a column that is read from end to end


@dataclass(frozen=True, slots=True, eq=False)
class Strings(Sequence[str]):
    """data: uint8 (bytes,), UTF-8; offsets: int64 (rows + 1,)."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[str]) -> Strings:
        """A column as it is, or one of strings.

        A lone surrogate (a broken \\ud800 in JSON) is no character; it is shown as the sign for one.
        """
        if isinstance(rows, Strings):
            return rows
        rows = list(rows)
        text = "".join(rows)
        if text.isascii():
            return cls(np.frombuffer(text.encode(), dtype=np.uint8), _offsets(rows))
        encoded = [row.encode("utf-8", "surrogatepass") for row in rows]
        encoded = [raw if b"\xed" not in raw else raw.decode("utf-8", "replace").encode() for raw in encoded]
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), _offsets(encoded))

    @classmethod
    def kept(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Strings:
        """From what `arrays` gave. Raises KeyError where it is missing."""
        return cls(arrays[f"{name}.data"], arrays[f"{name}.offsets"])

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """For a file, among others under a name."""
        return {f"{name}.data": self.data, f"{name}.offsets": self.offsets}

    @classmethod
    def blank(cls, rows: int) -> Strings:
        """So many empty strings, which take no memory."""
        return cls(np.zeros(0, np.uint8), np.broadcast_to(np.int64(0), (rows + 1,)))

    @classmethod
    def numbered(cls, label: str, numbers: range) -> Strings:
        """`line 2`, `line 3`, …"""
        return cls.of(f"{label}{number}" for number in numbers)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        rows, bound = len(self.offsets) - 1, self.offsets.item
        if row < 0:
            row += rows
        if not 0 <= row < rows:
            raise IndexError(row)
        return self.data[bound(row) : bound(row + 1)].tobytes().decode()

    def take(self, rows: NDArray[np.integer[Any]]) -> list[str]:
        """The strings of these rows, decoded together."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        return _cut(self.data[stretches(starts, lengths)], np.concatenate([[0], np.cumsum(lengths)]))

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), ROWS_AT_ONCE):
            offsets = self.offsets[first : first + ROWS_AT_ONCE + 1]
            yield from _cut(self.data[offsets[0] : offsets[-1]], offsets - offsets[0])


@dataclass(frozen=True, slots=True, eq=False)
class StringLists(Sequence[list[str]]):
    """A list of strings a row: offsets int64 (rows + 1,) into `items`."""

    items: Strings
    offsets: NDArray[np.int64]

    @classmethod
    def blank(cls, rows: int) -> StringLists:
        """So many empty lists, which take no memory."""
        return cls(Strings.blank(0), np.broadcast_to(np.int64(0), (rows + 1,)))

    @classmethod
    def of(cls, rows: Iterable[Sequence[str]]) -> StringLists:
        if isinstance(rows, StringLists):
            return rows
        rows = list(rows)
        return cls(Strings.of(chain.from_iterable(rows)), _offsets(rows))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        return self.items[int(self.offsets[row]) : int(self.offsets[row + 1])]


@dataclass(frozen=True, slots=True, eq=False)
class Categories(Sequence[str]):
    """A column with few different values: codes int32 (rows,) into `names`, which are sorted."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[str]) -> Categories:
        """Of a column that is one already, names that don't occur are left out."""
        if isinstance(rows, Categories):
            occurring = unique(rows.codes)
            order = sorted(occurring.tolist(), key=rows.names.__getitem__)
            place = np.zeros(len(rows.names), dtype=np.int32)
            place[order] = np.arange(len(order), dtype=np.int32)
            return cls(place[rows.codes], tuple(rows.names[code] for code in order))
        rows = list(rows)
        names = tuple(sorted(set(rows)))
        code = {name: number for number, name in enumerate(names)}
        return cls(np.fromiter(map(code.__getitem__, rows), dtype=np.int32, count=len(rows)), names)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return [self.names[code] for code in self.codes[row]]
        return self.names[self.codes[row]]

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self.codes.tolist())


def _cut(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """The strings of a block of UTF-8. offsets: where each starts, and where the last one ends."""
    block, bounds = data.tobytes(), pairwise(offsets.tolist())
    if block.isascii():  # a character a byte: half the work
        text = block.decode()
        return [text[start:end] for start, end in bounds]
    return [block[start:end].decode() for start, end in bounds]


def _offsets(rows: Sequence[Sized]) -> NDArray[np.int64]:
    """Where each row starts, and where the last one ends."""
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, rows), dtype=np.int64, count=len(rows)), out=offsets[1:])
    return offsets
