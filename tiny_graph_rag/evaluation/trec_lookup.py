"""Lines of a TREC run, looked up in the qrels: what each question and each judged document is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.arrays import distinct
from tiny_graph_rag.dataset.fields import Column, Directory, Ints, Words, split
from tiny_graph_rag.evaluation.trec_gold import UNJUDGED, AnotherWay, GoldTable, line_keys

FILTER_BITS = 22  # of the table that tells most documents at once that nobody judged them
UNKNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """Lines as they were looked up. questions: int64 rows of the gold table, UNKNOWN where it has none.
    starts, lengths: of the document's name, in bytes.
    """

    questions: NDArray[np.signedinteger[Any]]
    scores: NDArray[np.float64]
    keys: Words
    gold_rows: NDArray[np.signedinteger[Any]]
    starts: Ints
    lengths: NDArray[np.signedinteger[Any]]

    def at(self, rows: Ints | slice | NDArray[np.bool_]) -> Looked:
        return Looked(*(getattr(self, each)[rows] for each in self.__slots__))


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A block of lines. unknown: questions that the gold set lacks. last_line, last_byte: where the last
    question of the block begins.
    """

    lines: Looked
    data: NDArray[np.uint8]
    unknown: list[str]
    last_line: int
    last_byte: int


class Lookup:
    """Blocks of lines → what the gold table knows of them."""

    def __init__(self, gold: GoldTable) -> None:
        self.gold = gold
        self._questions = Directory(gold.question_hashes)
        self._judged = np.zeros(1 << FILTER_BITS, dtype=bool)
        self._judged[gold.keys >> np.uint64(64 - FILTER_BITS)] = True

    def __call__(self, raw: bytes) -> Found:
        """raw: whole lines. Raises AnotherWay where they are not regular. Threads may share it."""
        block = split(raw, 6)
        if block is None:
            raise AnotherWay
        names, documents, scores = block.column(0), block.column(2), block.column(4).numbers()
        if np.isnan(scores).any():
            raise AnotherWay
        gold = self.gold
        first = np.concatenate([[0], np.flatnonzero(_changes(names)) + 1])
        heads = names.at(first)
        hashes = heads.hashes()
        questions = np.full(len(first), UNKNOWN, dtype=np.int64)
        place = self._questions.find(hashes)
        alike = np.flatnonzero(gold.question_hashes[place] == hashes)
        rows = gold.question_rows[place[alike]]
        sure = heads.at(alike).equals(gold.question_names.at(rows))
        questions[alike[sure]] = rows[sure]
        strange = np.flatnonzero(questions == UNKNOWN)
        _, new = distinct(hashes[strange].view(np.int64))
        unknown = heads.at(strange[np.sort(new)]).texts()

        sizes = np.diff(np.append(first, len(block)))
        question = np.repeat(questions, sizes)
        keys = line_keys(np.repeat(hashes, sizes), documents.hashes())
        gold_rows = np.full(len(keys), UNJUDGED, dtype=np.int64)
        maybe = np.flatnonzero(self._judged[keys >> np.uint64(64 - FILTER_BITS)])
        place = np.minimum(np.searchsorted(gold.keys, keys[maybe]), len(gold.keys) - 1)
        maybe, rows = (each[gold.keys[place] == keys[maybe]] for each in (maybe, gold.key_rows[place]))
        sure = documents.at(maybe).equals(gold.names.at(rows)) & (gold.owners[rows] == question[maybe])
        gold_rows[maybe[sure]] = rows[sure]
        looked = Looked(question, scores, keys, gold_rows, documents.starts, documents.lengths)
        return Found(looked, block.data, unknown, int(first[-1]), int(names.starts[first[-1]]))


def _changes(names: Column) -> NDArray[np.bool_]:
    """Where a field differs from the one before it."""
    changed: NDArray[np.bool_] = names.lengths[1:] != names.lengths[:-1]
    for offset in range(0, int(names.lengths.max(initial=0)), 8):
        words = names.words(offset)
        changed |= words[1:] != words[:-1]
    return changed
