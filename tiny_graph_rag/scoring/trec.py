"""A TREC run against TREC qrels: the quick way for large files.

The run passes by in blocks of lines. Of a line only its score and a hash of its document are looked at; names
are compared where the hash is one of a judged document. A question is scored as soon as it is complete, and
forgotten. Whatever is not regular (other separators, duplicates, scattered lines, bad scores, gzip) is left
to the careful readers, which give the same numbers and say what is wrong.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, stretches
from tiny_graph_rag.formats.tables import decoded
from tiny_graph_rag.measures.judged import NO_ITEM, Hits, tabled
from tiny_graph_rag.scoring.stretches import Stretch

BLOCK_BYTES = 1 << 21  # so small that a block and its columns stay in the processor's cache
CELLS = 1 << 19  # questions × ranks judged at once
MISSING_AT_ONCE = 4096  # questions that the run lacks
LAST_SPACE = 32  # bytes up to this divide fields
WORD = 8  # bytes that are compared at once
MOST_DIGITS = 3  # of a grade
MARK_BITS = 22  # of a hash: one line in thirty of a large gold set is looked up in vain
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: odd, with its ones spread
MASKS = np.array([(1 << (8 * n)) - 1 for n in range(WORD)] + [2**64 - 1], dtype=np.uint64)
UNJUDGED = -1
UNKNOWN = -1  # a question that the gold set lacks

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]


class AnotherWay(Exception):  # noqa: N818 - not an error: the next way of reading takes over
    """The quick way can't read these files."""


class Fields(NamedTuple):
    """One field of many lines. data: uint8, with a WORD of padding; starts, lengths: (lines,), in bytes."""

    data: NDArray[np.uint8]
    starts: Ints
    lengths: Ints

    def at(self, lines: Ints | slice) -> Fields:
        return Fields(self.data, self.starts[lines], self.lengths[lines])

    def texts(self) -> list[bytes]:
        """The fields; none holds a line end, which stands between them meanwhile."""
        joined = self.data[stretches(self.starts, self.lengths + 1)]
        joined[np.cumsum(self.lengths + 1) - 1] = ord("\n")
        return joined.tobytes().split(b"\n")[:-1]

    def hashes(self, more: Ints | int = 0) -> Hashes:
        """64 bits of each field, eight bytes at a time with zeros behind its end, and of another number."""
        words = np.ndarray((len(self.data) - WORD + 1,), "<u8", buffer=self.data, strides=(1,))
        hashes = (self.lengths + (more << 20)).astype(np.uint64) * MIX
        for offset in range(0, int(self.lengths.max(initial=0)), WORD):
            word = words[np.minimum(self.starts + offset, len(words) - 1)]
            mixed = (hashes ^ (word & MASKS.take(self.lengths - offset, mode="clip"))) * MIX
            mixed ^= mixed >> np.uint64(29)
            np.copyto(hashes, mixed, where=self.lengths > offset)
        return hashes * MIX


def split(block: bytes, fields: int) -> list[Fields]:
    """The fields of all lines.

    Raises AnotherWay where a line has another number of them, or more white space than one byte between.
    """
    end = b"" if block.endswith(b"\n") else b"\n"
    data = np.frombuffer(block + end + bytes(WORD), dtype=np.uint8)
    divides = data[:-WORD] <= LAST_SPACE
    ends = np.flatnonzero(divides)
    is_regular = len(ends) == (block.count(b"\n") + len(end)) * fields and b"\0" not in block
    is_regular = is_regular and not block.startswith((BOM_UTF8, b"{", b"["))
    if not is_regular or divides[0] or np.any(divides[1:] & divides[:-1]):
        raise AnotherWay
    if np.any(data[ends[fields - 1 :: fields]] != ord("\n")):
        raise AnotherWay
    if not block.isascii():
        try:
            block.decode()
        except UnicodeDecodeError:
            raise AnotherWay from None
    starts = np.concatenate([[0], ends[:-1] + 1])
    return [Fields(data, starts[n::fields], ends[n::fields] - starts[n::fields]) for n in range(fields)]


@dataclass(frozen=True, slots=True, eq=False)
class GoldTable:
    """Qrels sorted by question, in order of first appearance; a row is one judged document.

    ids: of the questions. question_rows: a question as the file spells it → its row. rows: (question's row,
    document) → row. marks: bool, by the first MARK_BITS of a hash, whether a row has it. offsets: int64
    (questions + 1,) into the rows. documents, grades, items: (rows,); items number the relevant rows of a
    question, NO_ITEM where the grade is 0.
    """

    ids: list[str]
    question_rows: dict[bytes, int]
    rows: dict[tuple[int, bytes], int]
    marks: NDArray[np.bool_]
    offsets: Ints
    documents: list[bytes]
    grades: NDArray[np.int32]
    items: Ints

    @classmethod
    def of(cls, raw: bytes) -> GoldTable:
        """Raises AnotherWay where the qrels need care: other separators, duplicates, odd grades."""
        if not raw:
            raise AnotherWay
        question_fields, _, fields, grade_fields = split(raw, 4)
        written = grade_fields.texts()
        if max(map(len, written)) > MOST_DIGITS or not all(map(bytes.isdigit, written)):
            raise AnotherWay
        question_rows: dict[bytes, int] = {}
        names = question_fields.texts()
        number = np.array([question_rows.setdefault(name, len(question_rows)) for name in names])
        order = np.argsort(number, kind="stable")
        number, fields = number[order], fields.at(order)
        documents, grades = fields.texts(), np.array(list(map(int, written)), dtype=np.int32)[order]
        rows = {pair: row for row, pair in enumerate(zip(number.tolist(), documents, strict=True))}
        if len(rows) < len(documents):
            raise AnotherWay
        marks = np.zeros(1 << MARK_BITS, dtype=bool)
        marks[fields.hashes(number) >> np.uint64(64 - MARK_BITS)] = True
        offsets = np.concatenate([[0], np.cumsum(np.bincount(number))])
        before = np.concatenate([[0], np.cumsum(grades > 0)])
        items = before[:-1] - np.repeat(before[offsets[:-1]], np.diff(offsets))
        ids = [decoded(name.decode()) for name in question_rows]
        items = np.where(grades > 0, items, NO_ITEM)
        return cls(ids, question_rows, rows, marks, offsets, documents, grades, items)


class Lines(NamedTuple):
    """Lines of a run. questions: rows of the gold table; hashes: of question and document."""

    questions: Ints
    documents: Fields
    scores: NDArray[np.float64]
    hashes: Hashes

    def at(self, lines: Ints | slice) -> Lines:
        questions, documents, scores, hashes = self
        return Lines(questions[lines], documents.at(lines), scores[lines], hashes[lines])


class TrecRun:
    """A run file against a gold table. After the stretches were taken: answered, bool (questions,), which
    questions the run has; unknown, those that the gold set lacks."""

    def __init__(self, path: Path, gold: GoldTable, ties: str = "list") -> None:
        self.path, self.gold, self.ties = path, gold, ties
        self.unknown: list[str] = []
        self.answered = np.zeros(len(gold.ids), dtype=bool)
        self._seen: set[bytes] = set()

    def stretches(self) -> Iterator[Stretch]:
        """Raises AnotherWay, perhaps only in the middle of the file."""
        for lines in self._parts():
            yield from _judged(self.gold, self._in_order(lines))
        missing = np.flatnonzero(~self.answered)
        if self.unknown and len(missing) == len(self.answered):
            raise AnotherWay
        for first in range(0, len(missing), MISSING_AT_ONCE):
            asked = missing[first : first + MISSING_AT_ONCE]
            yield _stretch(self.gold, asked, np.zeros(len(asked) + 1, dtype=np.int64), None)

    def _parts(self) -> Iterator[Lines]:
        """The lines of known questions, a block at a time: all lines of some questions."""
        block = b""
        with self.path.open("rb") as stream:
            while True:
                read = stream.read(BLOCK_BYTES)
                block += read
                end = block.rfind(b"\n") + 1 if read else len(block)
                if end:
                    fields = split(block[:end], 6)
                    starts, hashes = fields[0].starts, fields[0].hashes()
                    # The last question may go on in the next block.
                    count = int(np.flatnonzero(begins(hashes))[-1]) if read else len(starts)
                    if count:
                        yield self._looked_up(fields, hashes[:count])
                    block = block[int(starts[count]) if count < len(starts) else end :]
                if not read:
                    return

    def _looked_up(self, fields: list[Fields], hashes: Hashes) -> Lines:
        """The first lines of known questions. hashes: of their questions. Raises AnotherWay for a question
        that comes back, and for scores that are no numbers."""
        count, heads = len(hashes), np.flatnonzero(begins(hashes))
        names = fields[0].at(heads).texts()
        if len({*names}) < len(names) or not self._seen.isdisjoint(names):
            raise AnotherWay
        self._seen.update(names)
        rows = np.array([self.gold.question_rows.get(name, UNKNOWN) for name in names], dtype=np.int64)
        self.answered[rows[rows != UNKNOWN]] = True
        self.unknown += [name.decode() for name, row in zip(names, rows, strict=True) if row == UNKNOWN]
        try:
            scores = np.fromiter(map(float, fields[4].at(slice(count)).texts()), np.float64, count)
        except ValueError:
            raise AnotherWay from None
        if np.isnan(scores).any():
            raise AnotherWay
        questions = np.repeat(rows, np.diff(heads, append=count))
        documents = fields[2].at(slice(count))
        lines = Lines(questions, documents, scores, documents.hashes(questions))
        return lines.at(np.flatnonzero(questions != UNKNOWN))

    def _in_order(self, lines: Lines) -> Lines:
        """Each question's lines, best first. Raises AnotherWay where a document stands in a ranking twice."""
        ascending = np.sort(lines.hashes)
        if np.any(ascending[1:] == ascending[:-1]):
            raise AnotherWay
        with np.errstate(over="ignore"):
            scores = lines.scores.astype(np.float32) if self.ties == "trec" else lines.scores
        same = lines.questions[1:] == lines.questions[:-1]
        falls = scores[1:] < scores[:-1] if self.ties == "trec" else scores[1:] <= scores[:-1]
        if (falls | ~same).all():
            return lines
        order = np.lexsort((-scores, lines.questions))
        if self.ties == "trec":  # equal scores: by document, the last one first
            tied = lines.questions[order[1:]] == lines.questions[order[:-1]]
            tied &= scores[order[1:]] == scores[order[:-1]]
            edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]]).astype(np.int8)))
            for first, last in edges.reshape(-1, 2).tolist():
                group = order[first : last + 1]
                names = dict(zip(group.tolist(), lines.documents.at(group).texts(), strict=True))
                order[first : last + 1] = sorted(names, key=names.__getitem__, reverse=True)
        return lines.at(order)


def _judged(gold: GoldTable, lines: Lines) -> Iterator[Stretch]:
    """The questions of the lines, some at a time, for judging takes a table of questions times the longest
    ranking."""
    heads = np.flatnonzero(begins(lines.questions))
    bounds, start = np.append(heads, len(lines.questions)), 0
    lengths = np.diff(bounds)
    while start < len(heads):
        widest = np.maximum.accumulate(lengths[start : start + CELLS])
        fit = np.searchsorted(widest * np.arange(1, len(widest) + 1), CELLS, side="right")
        stop = start + max(1, int(fit))
        part = lines.at(slice(int(bounds[start]), int(bounds[stop])))
        asked = lines.questions[heads[start:stop]]
        yield _stretch(gold, asked, bounds[start : stop + 1] - bounds[start], part)
        start = stop


def _stretch(gold: GoldTable, asked: Ints, bounds: Ints, lines: Lines | None) -> Stretch:
    """bounds: (asked + 1,), the lines at which each ranking begins, and the last one ends. lines: None where
    the run lacks the questions."""
    count = len(asked)
    hits, rows = np.zeros((2, 0), dtype=np.int64) if lines is None else _judgments(gold, lines)
    question = np.searchsorted(bounds[1:], hits, side="right")
    first_row = gold.offsets[asked]
    sizes = gold.offsets[asked + 1] - first_row
    mine = stretches(first_row, sizes)  # the judgments of the asked questions
    owner, grades = np.repeat(np.arange(count), sizes), gold.grades[mine]
    wanted = mine[grades > 0]
    relevant = np.bincount(owner[grades > 0], minlength=count)
    items = gold.items[rows]
    items = np.where(items == NO_ITEM, NO_ITEM, items + (np.cumsum(relevant) - relevant)[question])

    def labels(places: Ints) -> list[tuple[str, str, float]]:
        names = [] if lines is None else _decoded(lines.documents.at(places).texts())
        return [("", name, 0.0) for name in names]  # results of large runs say names alone

    return Stretch(
        ids=[gold.ids[row] for row in asked.tolist()],
        judged=tabled(
            Hits(question, hits - bounds[question], gold.grades[rows], items),
            np.diff(bounds),
            owner,
            grades,
            np.full(count, lines is not None),
            rows=np.arange(bounds[-1]),
        ),
        labels=labels,
        missed=lambda items: _decoded([gold.documents[row] for row in wanted[items].tolist()]),
        order=asked,
    )


def _judgments(gold: GoldTable, lines: Lines) -> tuple[Ints, Ints]:
    """Which lines hold a judged document, and its row of the gold table."""
    marked = np.flatnonzero(gold.marks[lines.hashes >> np.uint64(64 - MARK_BITS)])
    pairs = zip(lines.questions[marked].tolist(), lines.documents.at(marked).texts(), strict=True)
    rows = np.array([gold.rows.get(pair, UNJUDGED) for pair in pairs], dtype=np.int64)
    return marked[rows != UNJUDGED], rows[rows != UNJUDGED]


def _decoded(names: list[bytes]) -> list[str]:
    return [decoded(name.decode()) for name in names]
