"""A TREC run against TREC qrels, as columns: the quick way for large files.

The run passes by in blocks of lines. Of each line only hashes and its score are looked at; only documents
that the qrels judge are compared byte by byte, no other becomes a string (but the few that results show).
Where the lines of a question stand together, a question is scored as soon as it is complete, and forgotten.
Otherwise compact columns of the lines are kept: of a very long run, those of some questions at a time, in
several passes.

Whatever is not regular (other separators, duplicate judgments, bad scores, gzip) is left to the careful
readers, which give the same numbers and say what is wrong.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.arrays import distinct
from tiny_graph_rag.dataset.fields import Column, Ints, Words, split
from tiny_graph_rag.evaluation.stretches import Stretch
from tiny_graph_rag.evaluation.trec_gold import (
    UNJUDGED,
    AnotherWay,
    GoldTable,
    Lines,
    judged_stretches,
    line_keys,
)

BLOCK_BYTES = 1 << 21  # so small that a block and its columns stay in the processor's cache
FILTER_BITS = 22  # of the table that tells most documents at once that nobody judged them
LINES_A_PASS = 20_000_000  # of a scattered run, kept at once: about 1 GB
UNKNOWN = -1

Texts = Callable[[Ints, Ints], list[str]]


@dataclass(frozen=True, slots=True, eq=False)
class _Looked:
    """Lines as they were looked up. questions: int64 rows of the gold table, UNKNOWN where it has none.
    starts, lengths: of the document's name, in bytes.
    """

    questions: Ints
    scores: NDArray[np.float64]
    keys: Words
    gold_rows: Ints
    starts: Ints
    lengths: Ints

    def at(self, rows: Ints | slice | NDArray[np.bool_]) -> _Looked:
        return _Looked(*(getattr(self, each)[rows] for each in self.__slots__))


class TrecRun:
    """A run file against a gold table. After the stretches were taken: answered, bool (questions,), which
    questions the run has; unknown, those that the gold set lacks; duplicates, lines dropped.
    """

    def __init__(self, path: Path, gold: GoldTable, ties: str = "list") -> None:
        self.path, self.gold, self.ties = path, gold, ties
        self.unknown: dict[str, None] = {}
        self.answered = np.zeros(len(gold), dtype=bool)
        self.duplicates = 0
        self._judged = np.zeros(1 << FILTER_BITS, dtype=bool)
        self._judged[gold.keys >> np.uint64(64 - FILTER_BITS)] = True

    def stretches(self, *, scattered: bool) -> Iterator[Stretch]:
        """Raises AnotherWay, perhaps only in the middle of the file."""
        for each in _ahead(self._scattered() if scattered else self._grouped()):
            self.duplicates += each.duplicates
            yield each
        yield from judged_stretches(self.gold, None, np.flatnonzero(~self.answered))

    def _grouped(self) -> Iterator[Stretch]:
        held = b""
        with self.path.open("rb") as stream:
            while True:
                more = stream.read(BLOCK_BYTES)
                block = held + more
                cut = block.rfind(b"\n") + 1 if more else len(block)
                if cut:
                    looked, data, last_line, last_byte = self._looked_up(block[:cut])
                    if not more:
                        last_line, last_byte = len(looked.keys), cut
                    # The last question may go on in the next block.
                    yield from self._finished(looked.at(slice(0, last_line)), data)
                    held = block[last_byte:]
                else:
                    held = block
                if not more:
                    return

    def _finished(self, looked: _Looked, data: NDArray[np.uint8]) -> Iterator[Stretch]:
        known = looked.questions != UNKNOWN
        if not known.all():
            looked = looked.at(known)
        if not len(looked.keys):
            return
        questions = _in_turn(looked.questions)
        if self.answered[questions].any() or len(distinct(questions)[0]) < len(questions):
            raise AnotherWay
        self.answered[questions] = True

        def texts(starts: Ints, lengths: Ints) -> list[str]:
            return Column(data, starts, lengths).texts()

        yield from judged_stretches(self.gold, self._ordered(looked, texts))

    def _scattered(self) -> Iterator[Stretch]:
        size = self.path.stat().st_size
        with self.path.open("rb") as stream:
            sample = stream.read(BLOCK_BYTES)
        lines = size * sample.count(b"\n") / max(len(sample), 1)
        passes = max(1, math.ceil(lines / LINES_A_PASS))

        def texts(starts: Ints, lengths: Ints) -> list[str]:
            # Opened anew: the last stretch is still used when this generator has ended.
            with self.path.open("rb") as stream:
                number = stream.fileno()
                bounds = zip(starts.tolist(), lengths.tolist(), strict=True)
                return [os.pread(number, length, at).decode("utf-8", "replace") for at, length in bounds]

        for turn in range(passes):
            parts = []
            for base, block in self._blocks():
                looked, *_ = self._looked_up(block)
                parts.append(looked.at((looked.questions != UNKNOWN) & (looked.questions % passes == turn)))
                parts[-1].starts[:] += base
            known = _Looked(
                *(np.concatenate([getattr(part, name) for part in parts]) for name in _Looked.__slots__)
            )
            parts.clear()
            self.answered[known.questions] = True
            if len(known.keys):
                yield from judged_stretches(self.gold, self._ordered(known, texts))

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines with the place in the file where they begin."""
        held, base = b"", 0
        with self.path.open("rb") as stream:
            while True:
                more = stream.read(BLOCK_BYTES)
                block = held + more
                cut = block.rfind(b"\n") + 1 if more else len(block)
                if cut:
                    yield base, block[:cut]
                held = block[cut:]
                base += cut
                if not more:
                    return

    def _looked_up(self, raw: bytes) -> tuple[_Looked, NDArray[np.uint8], int, int]:
        """The lines of a block, its bytes, and the line and the byte at which its last question begins."""
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
        place = np.minimum(np.searchsorted(gold.question_hashes, hashes), len(gold) - 1)
        alike = np.flatnonzero(gold.question_hashes[place] == hashes)
        rows = gold.question_rows[place[alike]]
        sure = heads.at(alike).equals(gold.question_names.at(rows))
        questions[alike[sure]] = rows[sure]
        strange = np.flatnonzero(questions == UNKNOWN)
        _, new = distinct(hashes[strange].view(np.int64))
        self.unknown.update(dict.fromkeys(heads.at(strange[np.sort(new)]).texts()))

        sizes = np.diff(np.append(first, len(block)))
        question = np.repeat(questions, sizes)
        keys = line_keys(np.repeat(hashes, sizes), documents.hashes())
        gold_rows = np.full(len(keys), UNJUDGED, dtype=np.int64)
        maybe = np.flatnonzero(self._judged[keys >> np.uint64(64 - FILTER_BITS)])
        place = np.minimum(np.searchsorted(gold.keys, keys[maybe]), len(gold.keys) - 1)
        maybe, rows = (each[gold.keys[place] == keys[maybe]] for each in (maybe, gold.key_rows[place]))
        sure = documents.at(maybe).equals(gold.names.at(rows)) & (gold.owners[rows] == question[maybe])
        gold_rows[maybe[sure]] = rows[sure]
        looked = _Looked(question, scores, keys, gold_rows, documents.starts, documents.lengths)
        return looked, block.data, int(first[-1]), int(names.starts[first[-1]])

    def _ordered(self, looked: _Looked, texts: Texts) -> Lines:
        """Question by question, best first."""
        question, scores = looked.questions, looked.scores
        beside = question[1:] == question[:-1]
        if self.ties == "trec":
            single = _single(scores)
            right = single[1:] < single[:-1]
        else:
            right = scores[1:] <= scores[:-1]
        heads = _in_turn(question)
        if not ((right | ~beside).all() and len(distinct(heads)[0]) == len(heads)):
            looked = looked.at(self._order(looked, texts))

        def names(rows: Ints) -> list[str]:
            return texts(looked.starts[rows], looked.lengths[rows])

        return Lines(looked.questions, looked.scores, looked.keys, looked.gold_rows, names)

    def _order(self, looked: _Looked, texts: Texts) -> Ints:
        """Sorted by one key of question and score in float32; what is equal in it is put right after."""
        bits = _single(looked.scores).view(np.uint32)
        rising = np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(1 << 31))
        keys = (looked.questions.astype(np.uint64) << np.uint64(32)) | ~rising
        order = np.argsort(keys)
        sorted_keys = keys[order]
        equal = sorted_keys[1:] == sorted_keys[:-1]
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        if len(tied):
            mine = order[tied]
            if self.ties == "trec":
                names = np.array(texts(looked.starts[mine], looked.lengths[mine]), dtype=object)
                _, rank = np.unique(names, return_inverse=True)
                again = np.lexsort((mine, -rank, sorted_keys[tied]))
            else:
                again = np.lexsort((mine, -looked.scores[mine], sorted_keys[tied]))
            order[tied] = mine[again]
        return order


def _ahead(stretches: Iterator[Stretch]) -> Iterator[Stretch]:
    """The same, the next one being made by a thread while the last one is used."""
    with ThreadPoolExecutor(1) as maker:
        following = maker.submit(next, stretches, None)
        while (each := following.result()) is not None:
            following = maker.submit(next, stretches, None)
            yield each


def _in_turn(questions: Ints) -> Ints:
    """Each question of the lines as often as its lines begin anew."""
    return np.asarray(questions[np.append(True, questions[1:] != questions[:-1])])


def _single(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return (scores + 0.0).astype(np.float32)  # + 0.0: there is one zero


def _changes(names: Column) -> NDArray[np.bool_]:
    """Where a field differs from the one before it."""
    changed: NDArray[np.bool_] = names.lengths[1:] != names.lengths[:-1]
    for offset in range(0, int(names.lengths.max(initial=0)), 8):
        words = names.words(offset)
        changed |= words[1:] != words[:-1]
    return changed
