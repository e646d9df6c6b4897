"""Where a text may hold a name: every stretch from a word's start to a word's end that some spelling has.

A word ends at white space or punctuation; in scripts without spaces anywhere; and in Hangul after any
syllable, provided that the rest of the word is particles. White space and punctuation in a name don't count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, stretches
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.characters import (
    HANGUL,
    UNSPACED,
    Characters,
    Keys,
    Places,
    characters,
    keys,
    running,
    same_characters,
)
from tiny_graph_rag.language.particles import ParticleFit, particles

FIRST_IDEOGRAPH = 0x3400  # of the unspaced scripts, what lies below is kana or an alphabet


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """The texts of a batch as characters, with the words in them.

    texts: as they came. first: int64 (texts + 1,), where each text's characters begin. column: for `keys`.
    word_starts, word_ends: int64, a row a word.
    """

    texts: Sequence[str]
    characters: Characters
    first: Places
    column: Keys
    word_starts: Places
    word_ends: Places

    @classmethod
    def of(cls, texts: Sequence[str]) -> Text:
        found = characters(texts)
        gaps = np.flatnonzero(found.gaps)
        return cls(texts, found, found.bounds(len(texts)), running(found.codes), gaps[:-1], gaps[1:])

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in its text a stretch of characters stands."""
        return int(self.characters.starts[start]), int(self.characters.ends[end - 1])


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """Stretches of the texts that are a spelling of the graph, by text, start and end.

    text: its row. starts, ends: characters of `Text`. fit: how the rest of the word reads, FITS where the
    stretch ends with its word; inside: whether it ends within a word. From pair_bounds[i] to
    pair_bounds[i + 1], for each spelling (row of the index) of reading i: as_written, whether letters and
    case are the same; as_spaced, whether the division into words is. spelt: the text of these spellings.
    """

    text: NDArray[np.int32]
    starts: Places
    ends: Places
    fit: NDArray[np.uint8]
    inside: NDArray[np.bool_]
    pair_bounds: Places
    spellings: NDArray[np.int32]
    as_written: NDArray[np.bool_]
    as_spaced: NDArray[np.bool_]
    spelt: dict[int, str]

    def __len__(self) -> int:
        return len(self.starts)


def readings(text: Text, names: NameIndex) -> Readings:
    """Every reading of every text, overlapping ones too."""
    starts, ends, key = _stretches(text, names)
    low, high = names.find(key)
    known = high > low
    starts, ends, low, high = starts[known], ends[known], low[known], high[known]
    fit, inside = _fits(text, starts, ends)
    sound = fit > ParticleFit.NONE
    starts, ends, low, high = starts[sound], ends[sound], low[sound], high[sound]
    fit, inside = fit[sound], inside[sound]
    width = high - low
    reading = np.repeat(np.arange(len(starts)), width)
    spellings = names.rows[stretches(low, width)]
    rows = distinct(spellings)[0]
    which = np.searchsorted(rows, spellings)
    spelt = {row: names.spelling(row) for row in rows.tolist()}
    same, as_written, as_spaced = _compared(
        text, starts[reading], ends[reading], characters(list(spelt.values())), which
    )
    left = np.bincount(reading[same], minlength=len(starts))
    real = left > 0
    return Readings(
        text.characters.text[starts[real]] if len(starts) else np.zeros(0, dtype=np.int32),
        starts[real],
        ends[real],
        fit[real],
        inside[real],
        np.concatenate([[0], np.cumsum(left[real])]),
        spellings[same],
        as_written[same],
        as_spaced[same],
        spelt,
    )


def _stretches(text: Text, names: NameIndex) -> tuple[Places, Places, Keys]:
    """Stretches whose key the index may hold: as long as some spelling, from and to where a word may end."""
    column = text.characters
    boundary = _boundaries(column)
    may_end = boundary.copy()
    may_end[1:-1] |= ((column.flags[1:] & HANGUL) > 0) & ~column.gaps[1:-1]
    starts = np.flatnonzero(boundary[:-1])
    limits = text.first[column.text[starts] + 1]
    found: list[tuple[Places, Places, Keys]] = []
    for length in names.lengths.tolist():
        fits = starts + length <= limits
        starts, limits = starts[fits], limits[fits]
        if not len(starts):
            break
        here = starts[may_end[starts + length]]
        key = keys(text.column, here, here + length)
        may = names.may_hold(key)
        found.append((here[may], here[may] + length, key[may]))
    if not found:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, np.zeros(0, dtype=np.uint64)
    begin, end, key = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.lexsort((end, begin))
    return begin[order], end[order], key[order]


def _fits(text: Text, starts: Places, ends: Places) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """How the rest of the word behind each stretch reads, and whether there is a rest."""
    column = text.characters
    inside = ~_boundaries(column)[ends]
    fit = np.full(len(starts), ParticleFit.FITS, dtype=np.uint8)
    fit[_split_from_neighbours(column, starts, ends)] = ParticleFit.NONE
    rows = np.flatnonzero(inside)
    if len(rows):
        word_end = text.word_ends[np.searchsorted(text.word_ends, ends[rows])]
        for row, start, end, stop in zip(
            rows.tolist(), starts[rows].tolist(), ends[rows].tolist(), word_end.tolist(), strict=True
        ):
            fit[row] = particles(_string(column, start, end), _string(column, end, stop))
    return fit, inside


def _boundaries(column: Characters) -> NDArray[np.bool_]:
    """Where a word may begin or end, Hangul aside: at gaps, beside any character of an unspaced script."""
    unspaced = (column.flags & UNSPACED) > 0
    boundary = column.gaps.copy()
    boundary[1:-1] |= unspaced[1:] | unspaced[:-1]
    return boundary


def _split_from_neighbours(column: Characters, starts: Places, ends: Places) -> NDArray[np.bool_]:
    """Single characters of an unspaced script inside a longer run of the same script (山 in 山田)."""
    unspaced = (column.flags & UNSPACED) > 0
    ideograph = column.codes >= FIRST_IDEOGRAPH
    joined = np.zeros(len(column) + 1, dtype=bool)
    joined[1:-1] = unspaced[1:] & unspaced[:-1] & (ideograph[1:] == ideograph[:-1]) & ~column.gaps[1:-1]
    alone: NDArray[np.bool_] = ends - starts == 1
    return alone & (joined[starts] | joined[ends])


def _string(column: Characters, start: int, end: int) -> str:
    return column.codes[start:end].tobytes().decode("utf-32-le", "surrogatepass")


def _compared(
    text: Text, starts: Places, ends: Places, spelt: Characters, which: Places
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """For each pair of a stretch and a spelling: same characters folded, same letters and case, same gaps.

    which: the spelling of each pair, as a text of `spelt`.
    """
    bounds = spelt.bounds(int(which.max(initial=-1)) + 1)
    first, lengths = bounds[which], ends - starts
    same = np.diff(bounds)[which] == lengths
    starts, first, lengths = starts[same], first[same], lengths[same]
    column = text.characters

    def equal(one: NDArray[Any], other: NDArray[Any], skip: int = 0) -> NDArray[np.bool_]:
        """Over the pairs of equal length; `skip` characters at the start are not compared."""
        enough = lengths > skip
        result = np.ones(len(lengths), dtype=bool)
        result[enough] = same_characters(
            one, starts[enough] + skip, other, first[enough] + skip, lengths[enough] - skip
        )
        return result

    def spread(values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = same.copy()
        result[same] = values
        return result

    folded = equal(column.codes, spelt.codes)
    return (
        spread(folded),
        spread(folded & equal(column.written, spelt.written)),
        spread(folded & equal(column.gaps, spelt.gaps, skip=1)),
    )
