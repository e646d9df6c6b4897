"""Fields of text files as columns: split, hashed, compared and read as numbers without a loop over lines.

A block is bytes whose lines all have the same number of fields, each divided by one byte of white space. What
does not look so is left to the careful readers (`split` returns None, `numbers` NaN).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import stretches

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

WORD = 8  # bytes that are handled at once
PADDING = 2 * WORD + 1  # behind a block: a line end, and so that a word can be loaded from its last byte
NEWLINE = 10
LAST_SPACE = 32  # bytes up to this divide fields
_KEPT = np.array([(1 << (8 * n)) - 1 for n in range(WORD)] + [2**64 - 1], dtype=np.uint64)
_EVERY = np.uint64(0x0101010101010101)  # of a word's bytes
_HIGH = _EVERY * np.uint64(0x80)
_ZEROS = _EVERY * np.uint64(ord("0"))
_BEYOND_NINE = _EVERY * np.uint64(0x76)  # lifts what is above 9 to the high bit
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: odd, with its ones spread
_TENS = 10.0 ** np.arange(23)  # exact in float64
SAMPLE = 64  # fields by which the decimals of a column are guessed


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """data: uint8, padded. ends: int64 (lines, fields), where each field ends in data."""

    data: NDArray[np.uint8]
    ends: Ints

    def __len__(self) -> int:
        return len(self.ends)

    def column(self, field: int) -> FieldColumn:
        if field:
            starts = self.ends[:, field - 1] + 1
        else:
            starts = np.zeros(len(self.ends), dtype=np.int64)
            starts[1:] = self.ends[:-1, -1] + 1
        return FieldColumn(self.data, starts, self.ends[:, field] - starts)


@dataclass(frozen=True, slots=True, eq=False)
class FieldColumn:
    """One field of many lines. starts, lengths: int64 (lines,), in bytes."""

    data: NDArray[np.uint8]
    starts: Ints
    lengths: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, rows: NDArray[np.int64] | slice) -> FieldColumn:
        return FieldColumn(self.data, self.starts[rows], self.lengths[rows])

    def texts(self) -> list[str]:
        return str(self._joined(), "utf-8", "replace").split("\n")[:-1]

    def _joined(self) -> bytes:
        """Their bytes with a line end behind each, which no field holds."""
        ends = np.cumsum(self.lengths + 1)
        joined = self.data[stretches(self.starts, self.lengths + 1)]
        joined[ends - 1] = NEWLINE
        return joined.tobytes()

    def words(self, offset: int, *, whole: bool = False) -> Words:
        """Eight bytes of each field from `offset`, cut at its end; the first byte is the lowest.

        whole: every field is known to have all eight.
        """
        loaded = self._loaded()
        places = self.starts + offset
        if offset > WORD:  # up to there the padding reaches
            places = np.minimum(places, len(loaded) - 1)
        if whole:
            return np.asarray(loaded[places])
        return np.asarray(loaded[places] & _KEPT.take(self.lengths - offset, mode="clip"))

    def _loaded(self) -> Words:
        """The word that begins at each byte."""
        return np.ndarray((len(self.data) - WORD + 1,), "<u8", buffer=self.data, strides=(1,))

    def hashes(self) -> Words:
        """64 bits of each field; whoever relies on equal hashes meaning equal fields compares these."""
        found = self.lengths.astype(np.uint64) * _MIX
        longest, shortest = int(self.lengths.max(initial=0)), int(self.lengths.min(initial=0))
        for offset in range(0, longest, WORD):
            words = self.words(offset, whole=shortest >= offset + WORD)
            mixed = (found ^ words) * _MIX
            mixed ^= mixed >> np.uint64(29)
            if shortest > offset:
                found = mixed
            else:
                np.copyto(found, mixed, where=self.lengths > offset)
        return found

    def equals(self, other: FieldColumn) -> NDArray[np.bool_]:
        """Row by row, byte by byte."""
        same: NDArray[np.bool_] = self.lengths == other.lengths
        for offset in range(0, int(self.lengths.max(initial=0)), WORD):
            same &= self.words(offset) == other.words(offset)
        return same

    def changes(self) -> NDArray[np.bool_]:
        """(lines - 1,), where a field differs from the one before it."""
        changed: NDArray[np.bool_] = self.lengths[1:] != self.lengths[:-1]
        for offset in range(0, int(self.lengths.max(initial=0)), WORD):
            words = self.words(offset)
            changed |= words[1:] != words[:-1]
        return changed

    def numbers(self) -> NDArray[np.float64]:
        """The decimal number of each field, correctly rounded; NaN where it is none.

        Quickest where most have equally many decimals.
        """
        found, sound = self._alike()
        others = np.flatnonzero(~sound)
        found[others] = list(map(_number, self.at(others)._joined().split(b"\n")[:-1]))
        return found

    def _alike(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The numbers with as many decimals as most have, up to 7, below 10^8; and which of them are so."""
        n = len(self)
        sample = self.at(slice(None, None, n // SAMPLE + 1))._joined().split(b"\n")
        tails = Counter(len(number) - 1 - number.find(b".") if b"." in number else -1 for number in sample)
        decimals = tails.most_common(1)[0][0]
        # Words are loaded that end where a part ends, so eight bytes must stand before the first field.
        if not n or int(self.starts.min()) < WORD or decimals not in range(-1, WORD):
            return np.zeros(n), np.zeros(n, dtype=bool)
        loaded, ends = self._loaded(), self.starts + self.lengths
        negative = self.data[self.starts] == ord("-")
        points = ends - (decimals + 1)
        whole = points - self.starts - negative  # digits before the point
        sound = (whole >= 1) & (whole <= WORD)
        digits = (loaded[points - WORD] ^ _ZEROS) & ~_KEPT[WORD - np.minimum(np.maximum(whole, 0), WORD)]
        value = _added(digits)
        if decimals >= 0:
            sound &= self.data[points] == ord(".")
        if decimals > 0:
            behind = (loaded[ends - WORD] ^ _ZEROS) & ~_KEPT[WORD - decimals]
            value = value * np.uint64(10**decimals) + _added(behind)
            sound &= ((behind | (behind + _BEYOND_NINE)) & _HIGH) == 0
        sound &= ((digits | (digits + _BEYOND_NINE)) & _HIGH) == 0
        found = value.astype(np.float64) / _TENS[max(decimals, 0)]
        return (np.where(negative, -found, found) if negative.any() else found), sound


def _number(written: bytes) -> float:
    try:
        return float(written)
    except ValueError:
        return math.nan


def _added(digits: Words) -> Words:
    """Eight decimal digits, one a byte, the lowest byte first: their number."""
    pairs = (digits * np.uint64(2561)) >> np.uint64(8)
    fours = ((pairs & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((fours & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)


def split(block: bytes | memoryview, fields: int) -> Block | None:
    """Fields of all lines; None where a line has another number of them or more white space than needed.

    block: whole lines, the last with or without its line end.
    """
    size = len(block)
    data = np.empty(size + PADDING, dtype=np.uint8)
    data[:size] = np.frombuffer(block, dtype=np.uint8)
    data[size:] = 0
    return split_in_place(data, size, fields)


def is_plain(data: NDArray[np.uint8]) -> bool:
    """Whether it is UTF-8 without a NUL; the careful readers say what is wrong with anything else."""
    if int(data.view(np.int8).min(initial=1)) > 0:  # ASCII, in one look
        return True
    if not int(data.min(initial=1)):
        return False
    try:
        str(data.data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def split_in_place(data: NDArray[np.uint8], size: int, fields: int) -> Block | None:
    """The same of the first `size` bytes, PADDING bytes before the end of `data`, which the block keeps.

    A last line without its end gets it.
    """
    if size and data[size - 1] != NEWLINE:
        data[size] = NEWLINE
        size += 1
    if size and not is_plain(data[:size]):
        return None
    divides = data[:size] <= LAST_SPACE
    ends = np.flatnonzero(divides)
    if len(ends) % fields or int(np.count_nonzero(data[:size] == NEWLINE)) * fields != len(ends):
        return None
    if size and (divides[0] or np.count_nonzero(divides[1:] & divides[:-1])):
        return None
    table = ends.reshape(-1, fields)
    if not (data[table[:, -1]] == NEWLINE).all():
        return None
    return Block(data, table)
