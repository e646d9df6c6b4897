"""Finds a question's judged documents: a small table of slots for each question, next to its neighbours'.

Lines of one question look into one short stretch of memory, whatever the size of the gold set; most documents
that nobody judged are marked by an empty slot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins
from tiny_graph_rag.columns.fields import FieldColumn, Ints, Words

SLOTS_A_DOCUMENT = 16  # at least, of each question: one line in 16 or fewer meets a stranger's slot
UNJUDGED = -1
NOBODY = -1  # a question that the gold set lacks
_WIDEST = 63


class JudgedSlots:
    """offsets: int64 (questions + 1,) into the rows (judged documents). hashes, names: of the rows.

    A slot holds the number of its first row within the question, from 1, or 0; rows that share a slot are
    chained. Raises ValueError where a question judges a document twice (or two of one hash).
    """

    def __init__(self, offsets: Ints, hashes: Words, names: FieldColumn) -> None:
        self._offsets, self._names = offsets, names
        sizes = np.diff(offsets)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        bits = np.ceil(np.log2(np.maximum(sizes, 1) * SLOTS_A_DOCUMENT)).astype(np.int64)
        bounds = np.concatenate([[0], np.cumsum(1 << bits)])
        # One more, of two empty slots, for the questions that nobody knows: it is found at -1.
        self._begins = bounds
        self._shifts = np.append(64 - bits, _WIDEST).astype(np.uint64)
        slots = bounds[owner] + (hashes >> self._shifts[owner]).view(np.int64)
        own = np.arange(1, len(hashes) + 1) - offsets[owner]
        self._slots = np.zeros(int(bounds[-1]) + 2, dtype=_narrowest(int(sizes.max(initial=0))))
        self._slots[slots[::-1]] = own[::-1]
        self._following = np.full(len(hashes), UNJUDGED, dtype=np.int32)
        later = np.flatnonzero(self._slots[slots] != own)
        if len(later):
            self._chain(later, slots, hashes, owner)

    def _chain(self, later: Ints, slots: Ints, hashes: Words, owner: Ints) -> None:
        """Ties each of `later`, the rows that came to a taken slot, to the one before it."""
        heads = self._offsets[owner[later]] + self._slots[slots[later]].astype(np.int64) - 1
        rows = np.concatenate([heads, later])
        rows = rows[np.lexsort((rows, hashes[rows], slots[rows]))]
        rows = rows[begins(rows)]
        beside = slots[rows][1:] == slots[rows][:-1]
        if (beside & (hashes[rows][1:] == hashes[rows][:-1])).any():
            raise ValueError
        starts = np.append(True, ~beside)
        own = rows - self._offsets[owner[rows]] + 1
        self._slots[slots[rows[starts]]] = own[starts]
        self._following[rows[:-1][beside]] = rows[1:][beside]

    def find(self, questions: Ints, sizes: Ints, hashes: Words, documents: FieldColumn) -> NDArray[np.int32]:
        """The row of each line's document, UNJUDGED where its question judges it not.

        questions, sizes: of blocks of lines; each block's question (NOBODY where unknown) and its lines.
        """
        slots = (hashes >> np.repeat(self._shifts[questions], sizes)).view(np.int64)
        slots += np.repeat(self._begins[questions], sizes)
        own = self._slots[slots]
        found = np.full(len(hashes), UNJUDGED, dtype=np.int32)
        lines = np.flatnonzero(own)
        begins = np.repeat(self._offsets[questions], sizes)
        rows = begins[lines] + own[lines] - 1
        while len(lines):
            same = documents.at(lines).equals(self._names.at(rows))
            found[lines[same]] = rows[same]
            rows = self._following[rows[~same]].astype(np.int64)
            chained = rows != UNJUDGED
            lines, rows = lines[~same][chained], rows[chained]
        return found


def _narrowest(most: int) -> Any:
    return next(item for item in (np.uint8, np.uint16, np.int32) if most <= np.iinfo(item).max)
