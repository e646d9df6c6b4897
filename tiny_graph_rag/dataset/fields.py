"""Fields of text files as columns: split, hashed, compared and read as numbers without a loop over lines.

A block is bytes whose lines all have the same number of fields, each divided by one byte of white space. What
does not look so is left to the careful readers (`split` returns None, `numbers` NaN).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

WORD = 8  # bytes that are handled at once
PADDING = 2 * WORD  # behind a block, so that a word can be loaded from its last byte
NEWLINE = 10
LAST_SPACE = 32  # bytes up to this divide fields
_KEPT = np.array([(1 << (8 * n)) - 1 for n in range(WORD)] + [2**64 - 1], dtype=np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: odd, with its ones spread
_TENS = 10.0 ** np.arange(23)  # exact in float64
SLOTS_A_HASH = 16  # of a directory: one hash in 16 shares its slot
_EXACT = np.uint64(1 << 53)  # whole numbers below are exact in float64


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """data: uint8, padded. ends: int64 (lines, fields), where each field ends in data."""

    data: NDArray[np.uint8]
    ends: Ints

    def __len__(self) -> int:
        return len(self.ends)

    def column(self, field: int) -> Column:
        if field:
            starts = self.ends[:, field - 1] + 1
        else:
            starts = np.zeros(len(self.ends), dtype=np.int64)
            starts[1:] = self.ends[:-1, -1] + 1
        return Column(self.data, starts, self.ends[:, field] - starts)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One field of many lines. starts, lengths: int64 (lines,), in bytes."""

    data: NDArray[np.uint8]
    starts: Ints
    lengths: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, rows: NDArray[np.int64] | slice) -> Column:
        return Column(self.data, self.starts[rows], self.lengths[rows])

    def texts(self) -> list[str]:
        """All at once: their bytes with a line end behind each, which no field holds, divided again."""
        if not len(self):
            return []
        ends = np.cumsum(self.lengths + 1)
        joined = self.data[
            np.repeat(self.starts + self.lengths + 1 - ends, self.lengths + 1) + np.arange(ends[-1])
        ]
        joined[ends - 1] = NEWLINE
        text = str(joined.data, "utf-8", "replace")
        return text.split("\n")[:-1]

    def words(self, offset: int) -> Words:
        """Eight bytes of each field from `offset`, cut at its end; the first byte is the lowest."""
        loaded: Words = np.ndarray((len(self.data) - WORD + 1,), "<u8", buffer=self.data, strides=(1,))
        left = np.clip(self.lengths - offset, 0, WORD)
        places = self.starts + offset
        if offset > WORD:  # up to there the padding reaches
            places = np.minimum(places, len(loaded) - 1)
        return np.asarray(loaded[places] & _KEPT[left])

    def hashes(self) -> Words:
        """64 bits of each field; whoever relies on equal hashes meaning equal fields compares these."""
        found = self.lengths.astype(np.uint64) * _MIX
        longest, shortest = int(self.lengths.max(initial=0)), int(self.lengths.min(initial=0))
        for offset in range(0, longest, WORD):
            rows = slice(None) if shortest > offset else np.flatnonzero(self.lengths > offset)
            mixed = (found[rows] ^ self.at(rows).words(offset)) * _MIX
            found[rows] = mixed ^ (mixed >> np.uint64(29))
        return found

    def equals(self, other: Column) -> NDArray[np.bool_]:
        """Row by row, byte by byte."""
        same: NDArray[np.bool_] = self.lengths == other.lengths
        for offset in range(0, int(self.lengths.max(initial=0)), WORD):
            same &= self.words(offset) == other.words(offset)
        return same

    def numbers(self) -> NDArray[np.float64]:
        """The decimal number of each field, correctly rounded; NaN where it is none.

        Up to 16 characters such as -12.345 are read eight at a time; others (exponents, 17 digits) singly.
        """
        negative = self.data[self.starts] == ord("-")
        body = Column(self.data, self.starts + negative, self.lengths - negative)
        first, second = np.clip(body.lengths, 0, WORD), np.clip(body.lengths - WORD, 0, WORD)
        value, digits, after, sound = _digits(body.words(0), first)
        if second.any():
            more, its_digits, its_after, its_sound = _digits(body.words(WORD), second)
            both_dotted = (digits < first) & (its_digits < second)
            after = np.where(digits < first, after + its_digits, its_after)
            value = value * _TENS[its_digits].astype(np.uint64) + more
            sound &= its_sound & ~both_dotted
            digits = digits + its_digits
        sound &= (body.lengths <= 2 * WORD) & (digits > 0) & (value < _EXACT)
        found = value.astype(np.float64) / _TENS[after]
        found = np.where(negative, -found, found)
        for row in np.flatnonzero(~sound).tolist():
            start = int(self.starts[row])
            try:
                found[row] = float(self.data[start : start + int(self.lengths[row])].tobytes())
            except ValueError:
                found[row] = np.nan
        return np.asarray(found)


def _digits(words: Words, lengths: Ints) -> tuple[Words, Ints, Ints, NDArray[np.bool_]]:
    """Up to eight characters with at most one point: their digits as a number, how many they are, how many
    stand behind the point, and whether there was nothing else. All bytes of a word are handled at once.
    """
    every = np.uint64(0x0101010101010101)
    high = every * np.uint64(0x80)
    pointless = words ^ (every * np.uint64(ord(".")))
    zero = (pointless - every) & ~pointless & high
    point = zero & (~zero + np.uint64(1))  # the lowest one
    below = (point >> np.uint64(7)) - np.uint64(1)  # all ones where there is no point
    joined = (words & below) | ((words >> np.uint64(8)) & ~below)
    dotted = point != 0
    count = lengths - dotted
    digits = (joined ^ (every * np.uint64(ord("0")))) & _KEPT[count]
    sound = ((digits | (digits + every * np.uint64(0x76))) & high) == 0
    # 2^(8 · place) picks `place` out of the bytes of this constant.
    place = (((point >> np.uint64(7)) * np.uint64(0x0001020304050607)) >> np.uint64(56)).astype(np.int64)
    after = np.where(dotted, lengths - 1 - place, 0)
    half = (np.uint64(4) * (WORD - count).astype(np.uint64)).astype(np.uint64)
    digits = (digits << half) << half  # leading zeros; in two steps, for a shift by 64 is undefined
    digits = (digits * np.uint64(2561)) >> np.uint64(8)
    digits = ((digits & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    digits = ((digits & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)
    return digits, count, after, sound


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


def split(block: bytes | memoryview, fields: int) -> Block | None:
    """Fields of all lines; None where a line has another number of them or more white space than needed.

    block: whole lines, the last with or without its line end.
    """
    size = len(block)
    data = np.empty(size + 1 + PADDING, dtype=np.uint8)
    data[:size] = np.frombuffer(block, dtype=np.uint8)
    data[size:] = 0
    if size and data[size - 1] != NEWLINE:
        data[size] = NEWLINE
        size += 1
    ends = np.flatnonzero(data[:size] <= LAST_SPACE)
    if len(ends) % fields or int(np.count_nonzero(data[:size] == NEWLINE)) * fields != len(ends):
        return None
    if len(ends) and (ends[0] == 0 or bool((ends[1:] - ends[:-1] == 1).any())):
        return None
    table = ends.reshape(-1, fields)
    if not (data[table[:, -1]] == NEWLINE).all():
        return None
    return Block(data, table)
