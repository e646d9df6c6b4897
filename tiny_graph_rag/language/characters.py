"""Many texts as one column of folded characters, and 64-bit keys of any stretch of it.

The same folding as `fold`, for a million names or ten thousand questions at once: each kept character
knows its text and its place there. A polynomial over the characters makes the key of every stretch a matter
of two subtractions; keys only find candidates, whoever uses them compares the characters too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import counted
from tiny_graph_rag.language.folding import fold, is_dropped

KEPT, HANGUL, UNSPACED, DIGIT, UPPER, CASED, SPACE = 1, 2, 4, 8, 16, 32, 64

UNSPACED_SCRIPTS = (  # written without spaces between words: every character may begin or end a word
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x30FF),  # kana
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
FIRST_SYLLABLE, LAST_SYLLABLE = 0xAC00, 0xD7A3  # precomposed Hangul
WHOLE_RANGE = 0x110000  # Unicode's code points
SMALL = 4_096  # below so many characters a set is faster than a table of all code points

_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2**64
_INVERSE = pow(_BASE, -1, 1 << 64)

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Characters:
    """The kept characters of all texts, one after the other.

    codes: folded code points; written: the code point in the text itself; flags: KEPT, HANGUL … of the folded
    one, UPPER of the written one. text: the row of the text; starts, ends: where in it the character stands.
    gaps: bool (kept + 1,), True where something was dropped, or a text begins or ends, before the character.
    """

    codes: NDArray[np.uint32]
    written: NDArray[np.uint32]
    flags: NDArray[np.uint8]
    text: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    gaps: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.codes)

    def bounds(self, texts: int) -> Places:
        """Row i's characters stand from bounds[i] to bounds[i + 1]."""
        return np.searchsorted(self.text, np.arange(texts + 1)).astype(np.int64)


def characters(texts: Sequence[str]) -> Characters:
    """Fold all texts. A text of punctuation alone keeps it, as `fold` does."""
    folded = [text.casefold() for text in texts]
    moved: dict[int, tuple[list[int], list[int]]] = {}
    for row, text in enumerate(texts):
        if not text.isascii() and (
            len(folded[row]) != len(text) or not unicodedata.is_normalized("NFC", folded[row])
        ):
            folded[row], *places = _aligned(text)
            moved[row] = (places[0], places[1])
    codes, written = code_points(folded), code_points(texts)
    lengths = np.fromiter(map(len, folded), dtype=np.int64, count=len(folded))
    first = np.concatenate([[0], np.cumsum(lengths)])
    text_of = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    start = (np.arange(len(codes)) - first[text_of]).astype(np.int32)
    end = start + np.int32(1)
    if moved:
        for row, (its_starts, its_ends) in moved.items():
            start[first[row] : first[row + 1]] = its_starts
            end[first[row] : first[row + 1]] = its_ends
        widths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        written = written[(np.cumsum(widths) - widths)[text_of] + start]
    kinds = kinds_of(codes)
    keep = (kinds & KEPT) > 0
    bare = (np.bincount(text_of[keep], minlength=len(lengths)) == 0) & (lengths > 0)
    if bare.any():
        keep |= bare[text_of] & ((kinds & SPACE) == 0)
    kept = np.flatnonzero(keep)
    row_of = text_of[kept]
    gaps = np.ones(len(kept) + 1, dtype=bool)
    gaps[1:-1] = (np.diff(kept) > 1) | (row_of[1:] != row_of[:-1])
    written = written[kept]
    flags = kinds[kept] | (kinds_of(written) & np.uint8(UPPER))
    return Characters(codes[kept], written, flags, row_of, start[kept], end[kept], gaps)


def code_points(texts: Iterable[str]) -> NDArray[np.uint32]:
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _aligned(text: str) -> tuple[str, list[int], list[int]]:
    """The folded text where folding moves characters; start and end of what each of them came from."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    start = 0
    while start < len(text):
        end, last = start + 1, text[start]
        while end < len(text):
            joined = unicodedata.normalize("NFC", last + text[end])
            if len(joined) > 1 and not unicodedata.combining(text[end]):
                break
            end, last = end + 1, joined[-1]
        form = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text[start:end]).casefold())
        parts.append(form)
        starts += [start] * len(form)
        ends += [end] * len(form)
        start = end
    return "".join(parts), starts, ends


@lru_cache(maxsize=1)
def _met() -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Flags of the code points met so far, and which these are; filled as texts need them."""
    return np.zeros(WHOLE_RANGE, dtype=np.uint8), np.zeros(WHOLE_RANGE, dtype=bool)


def kinds_of(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    flags, known = _met()
    if len(codes) < SMALL:
        new = [code for code in set(codes.tolist()) if not known[code]]
    else:
        seen = np.zeros(WHOLE_RANGE, dtype=bool)
        seen[codes] = True
        new = np.flatnonzero(seen & ~known).tolist()
    for code in new:
        flags[code] = _kind(chr(code))
        known[code] = True
    return flags[codes]


def _kind(character: str) -> int:
    code, category = ord(character), unicodedata.category(character)
    return (
        (0 if is_dropped(character) else KEPT)
        | (HANGUL if FIRST_SYLLABLE <= code <= LAST_SYLLABLE else 0)
        | (UNSPACED if any(low <= code <= high for low, high in UNSPACED_SCRIPTS) else 0)
        | (DIGIT if category == "Nd" else 0)
        | (UPPER | CASED if category in ("Lu", "Lt") else 0)
        | (CASED if category == "Ll" else 0)
        | (SPACE if character.isspace() else 0)
    )


def _mixed(values: Keys) -> Keys:
    """A bijection that spreads every bit over all 64 (splitmix64's last step)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


_powers: dict[int, Keys] = {}


def _power_column(base: int, length: int) -> Keys:
    have = _powers.get(base)
    if have is None or len(have) < length:
        column = np.full(max(length, SMALL), base, dtype=np.uint64)
        column[0] = 1
        _powers[base] = have = np.cumprod(column)
    return have[:length]


def running(codes: NDArray[np.uint32]) -> Keys:
    """What `keys` needs to know of a column: uint64 (characters + 1,)."""
    column = np.zeros(len(codes) + 1, dtype=np.uint64)
    mixed = _mixed(codes.astype(np.uint64) + np.uint64(_BASE))
    np.cumsum(mixed * _power_column(_BASE, len(codes)), out=column[1:])
    return column


def keys(column: Keys, starts: Places, ends: Places) -> Keys:
    """The key of each stretch from starts[i] to ends[i]: equal for equal characters, wherever they stand."""
    return _mixed((column[ends] - column[starts]) * _power_column(_INVERSE, len(column))[starts])


def keys_of_rows(column: Characters, rows: int) -> tuple[Places, Keys]:
    """Bounds and key of each text as a whole."""
    bounds = column.bounds(rows)
    return bounds, keys(running(column.codes), bounds[:-1], bounds[1:])


def keys_of(words: Iterable[str]) -> Keys:
    """Keys of whole words as `keys` gives them; sorted, each once."""
    folded = [fold(word) for word in words]
    ends = np.cumsum([len(word) for word in folded], dtype=np.int64)
    starts = ends - np.array([len(word) for word in folded], dtype=np.int64)
    return counted(keys(running(code_points(folded)), starts, ends))[0]


def among(values: Keys, table: Keys) -> NDArray[np.bool_]:
    """Which values stand in a sorted table."""
    if not len(table):
        return np.zeros(len(values), dtype=bool)
    found: NDArray[np.bool_] = table[np.minimum(np.searchsorted(table, values), len(table) - 1)] == values
    return found


def same_characters(
    one: NDArray[Any], its_starts: Places, other: NDArray[Any], starts: Places, lengths: Places
) -> NDArray[np.bool_]:
    """Whether stretch i of `one` and of `other`, both lengths[i] >= 1 long, hold the same values."""
    if not len(lengths):
        return np.zeros(0, dtype=bool)
    first = np.cumsum(lengths) - lengths
    within = np.arange(first[-1] + lengths[-1]) - np.repeat(first, lengths)
    differs = one[np.repeat(its_starts, lengths) + within] != other[np.repeat(starts, lengths) + within]
    same: NDArray[np.bool_] = np.add.reduceat(differs, first) == 0
    return same
