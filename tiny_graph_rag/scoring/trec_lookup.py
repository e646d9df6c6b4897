"""Lines of a TREC run, looked up in the qrels: what each question and each judged document is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import Directory, distinct
from tiny_graph_rag.columns.fields import split_in_place
from tiny_graph_rag.scoring.trec_gold import AnotherWay, GoldTable, Looked, line_keys
from tiny_graph_rag.scoring.trec_slots import NOBODY

FoundLines = tuple[Looked, NDArray[np.uint8], list[str]]
"""Lines of a block, its bytes, and questions that the gold set lacks."""


class Lookup:
    """Blocks of lines → what the gold table knows of them."""

    def __init__(self, gold: GoldTable) -> None:
        self.gold = gold
        self._questions = Directory(gold.question_hashes)

    def __call__(self, raw: tuple[NDArray[np.uint8], int]) -> FoundLines:
        """raw: whole lines and their bytes, as `split_in_place` takes them. Raises AnotherWay where they are
        not regular. Threads may share it.
        """
        block = split_in_place(*raw, 6)
        if block is None:
            raise AnotherWay
        names, documents, scores = block.column(0), block.column(2), block.column(4).numbers()
        if np.isnan(scores).any():
            raise AnotherWay
        gold = self.gold
        first = np.flatnonzero(np.append(True, names.changes()))
        heads = names.at(first)
        hashes = heads.hashes()
        questions = np.full(len(first), NOBODY, dtype=np.int64)
        place = self._questions.find(hashes)
        alike = np.flatnonzero(gold.question_hashes[place] == hashes)
        rows = gold.question_rows[place[alike]]
        sure = heads.at(alike).equals(gold.question_names.at(rows))
        questions[alike[sure]] = rows[sure]
        strange = np.flatnonzero(questions == NOBODY)
        _, new = distinct(hashes[strange].view(np.int64))
        unknown = heads.at(strange[np.sort(new)]).texts()

        sizes = np.diff(first, append=len(block))
        document_hashes = documents.hashes()
        looked = Looked(
            np.repeat(questions, sizes),
            scores,
            line_keys(np.repeat(hashes, sizes), document_hashes),
            gold.slots.find(questions, sizes, document_hashes, documents),
            documents.starts,
            documents.lengths,
        )
        return looked, block.data, unknown


GROWTH = 1.1
_WIDE = 1 << 32  # bytes of a file whose places no longer fit into 32 bits


class Kept:
    """capacity: lines that are expected; memory that no line needs is never touched."""

    def __init__(self, file_bytes: int, capacity: int) -> None:
        place = np.uint32 if file_bytes < _WIDE else np.int64
        types: tuple[Any, ...] = (np.int32, np.float64, np.uint64, np.int32, place, np.uint16)
        self._columns = [np.empty(capacity, dtype=type_) for type_ in types]
        self._count = 0

    def add(self, looked: Looked, base: int) -> None:
        """Lines of a block that begins at `base`. Raises AnotherWay for names of 64 KiB and more."""
        start, stop = self._count, self._count + len(looked.keys)
        if stop > len(self._columns[0]):
            for place, column in enumerate(self._columns):
                self._columns[place] = np.empty(int(stop * GROWTH), dtype=column.dtype)
                self._columns[place][:start] = column[:start]
        if int(looked.lengths.max(initial=0)) > np.iinfo(np.uint16).max:
            raise AnotherWay
        values: tuple[NDArray[Any], ...] = (
            looked.questions,
            looked.scores,
            looked.keys,
            looked.gold_rows,
            looked.starts + base,
            looked.lengths,
        )
        for column, value in zip(self._columns, values, strict=True):
            column[start:stop] = value
        self._count = stop

    def taken(self) -> Looked:
        """All of them. Nothing may be added after."""
        return Looked(*(column[: self._count] for column in self._columns))
