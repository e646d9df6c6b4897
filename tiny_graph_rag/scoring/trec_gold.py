"""TREC qrels as columns, and the judging of lines that were looked up in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins
from tiny_graph_rag.columns.fields import FieldColumn, Ints, Words, split
from tiny_graph_rag.formats.tables import all_decoded
from tiny_graph_rag.measures.judged import NO_ITEM, Hits, tabled
from tiny_graph_rag.scoring.stretches import Names, Stretch
from tiny_graph_rag.scoring.trec_slots import UNJUDGED, JudgedSlots

CELLS = 1 << 19  # questions × ranks judged at once: what fits into the processor's cache
_ROTATED = np.uint64(0xC2B2AE3D27D4EB4F)  # odd: tells a question's hash from a document's

Rows = NDArray[np.signedinteger[Any]]
Integers = NDArray[np.integer[Any]]


class AnotherWay(Exception):  # noqa: N818 - not an error: the next way of reading takes over
    """This way of reading can't do it: lines that are not regular, or questions whose lines are scattered."""


def line_keys(questions: Words, documents: Words) -> Words:
    """One hash of question and document."""
    mixed = (documents ^ (questions * _ROTATED)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


@dataclass(frozen=True, slots=True, eq=False)
class GoldTable:
    """Qrels sorted by question, in order of first appearance; a row is one judged document.

    ids: of the questions. question_hashes, question_rows: ascending hashes and whose they are. offsets: int64
    (questions + 1,) into the rows. grades, items: int32, int64 (rows,); items number the relevant rows of a
    question, NO_ITEM where the grade is 0. names, question_names: fields in the file. slots: finds rows.
    """

    ids: list[str]
    question_hashes: Words
    question_rows: Ints
    question_names: FieldColumn
    offsets: Ints
    names: FieldColumn
    grades: NDArray[np.int32]
    items: Ints
    slots: JudgedSlots

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, raw: bytes) -> GoldTable:
        """Raises AnotherWay where the qrels need care: other separators, duplicates, odd grades."""
        block = split(raw, 4)
        if block is None or not len(block):
            raise AnotherWay
        written = block.column(3)
        if not _three_digits(written):
            raise AnotherWay
        grades = written.numbers()
        column, names = block.column(0), block.column(2)
        starts = np.flatnonzero(np.append(True, column.changes()))  # where a question's lines begin (again)
        heads = column.at(starts)
        hashes = heads.hashes()
        different, first, group = _grouped(hashes)
        if not heads.equals(heads.at(first[group])).all():
            raise AnotherWay
        order = np.argsort(first, kind="stable")  # distinct hashes by first appearance
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        question = np.repeat(number[group], np.diff(starts, append=len(block)))
        document_hashes, grade = names.hashes(), grades.astype(np.int32)
        if len(heads) > len(order):  # the lines of a question don't stand together
            rows = np.argsort(question, kind="stable")
            question, names, grade = question[rows], names.at(rows), grade[rows]
            document_hashes = document_hashes[rows]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(question, minlength=len(order)))])
        before = np.concatenate([[0], np.cumsum(grade > 0)])
        items = before[:-1] - np.repeat(before[offsets[:-1]], np.diff(offsets))
        heads = heads.at(first[order])
        try:
            slots = JudgedSlots(offsets, document_hashes, names)
        except ValueError:
            raise AnotherWay from None
        return cls(
            all_decoded(heads.texts()),
            different,
            number,
            heads,
            offsets,
            names,
            grade,
            np.where(grade > 0, items, NO_ITEM),
            slots,
        )


def _three_digits(column: FieldColumn) -> bool:
    """Whether each field is a number of at most three digits, without sign or point."""
    longest = int(column.lengths.max(initial=0))
    if longest > 3 or not int(column.lengths.min(initial=1)):
        return False
    signs = (column.data[column.starts + np.minimum(at, column.lengths - 1)] for at in range(longest))
    return all(bool(((sign >= ord("0")) & (sign <= ord("9"))).all()) for sign in signs)


def _grouped(hashes: Words) -> tuple[Words, Ints, Ints]:
    """The different ones, ascending; where each stands first; and which of them each is."""
    order = np.argsort(hashes, kind="stable")
    ascending = hashes[order]
    starts = begins(ascending)
    group = np.empty(len(hashes), dtype=np.int64)
    group[order] = np.cumsum(starts) - 1
    return ascending[starts], order[starts], group


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """Lines of a run as they were looked up, duplicates and all. questions: rows of the gold table, NOBODY
    where it has none. gold_rows: the judgment of each, UNJUDGED where there is none. starts, lengths: of the
    document's name, in bytes.
    """

    questions: NDArray[np.signedinteger[Any]]
    scores: NDArray[np.float64]
    keys: Words
    gold_rows: NDArray[np.int32]
    starts: NDArray[np.integer[Any]]
    lengths: NDArray[np.integer[Any]]

    def at(self, rows: Ints | slice | NDArray[np.bool_]) -> Looked:
        return Looked(*(getattr(self, field_name)[rows] for field_name in self.__slots__))

    def put_in(self, order: Ints) -> None:
        """Reorders the lines in place, a column at a time: of a large run they are most of the memory."""
        for field_name in self.__slots__:
            column = getattr(self, field_name)
            column[:] = column[order]


NONE = np.zeros(0, dtype=np.int64)
NO_LINES = Looked(NONE, np.zeros(0), np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32), NONE, NONE)
Texts = Callable[[Integers, Integers], list[str]]
"""Names of documents, by where they start and how long they are."""
MISSING_AT_ONCE = 4096


def missing_stretches(gold: GoldTable, missing: Ints) -> Iterator[Stretch]:
    """Questions that the run lacks, some at a time."""
    for start in range(0, len(missing), MISSING_AT_ONCE):
        part = missing[start : start + MISSING_AT_ONCE]
        bounds = np.zeros(len(part) + 1, dtype=np.int64)
        yield _stretch(gold, NO_LINES, lambda starts, lengths: [], part, bounds, answered=False)


def judged_stretches(gold: GoldTable, lines: Looked, texts: Texts) -> Iterator[Stretch]:
    """The questions of the lines, which stand together, each ranking in its order; some at a time."""
    change = np.flatnonzero(lines.questions[1:] != lines.questions[:-1]) + 1
    bounds = np.concatenate([[0], change, [len(lines.questions)]])
    lengths = np.diff(bounds)
    start = 0
    while start < len(lengths):
        widest = np.maximum.accumulate(lengths[start : start + CELLS])
        stop = start + max(
            1, int(np.searchsorted(widest * np.arange(1, len(widest) + 1), CELLS, side="right"))
        )
        asked = lines.questions[bounds[start:stop]]
        yield _stretch(gold, lines, texts, asked, bounds[start : stop + 1], answered=True)
        start = stop


def _stretch(
    gold: GoldTable, lines: Looked, texts: Texts, asked: Rows, bounds: Ints, *, answered: bool
) -> Stretch:
    """bounds: int64 (asked + 1,), the lines at which each question begins and the last one ends."""

    def names(rows: Ints) -> list[str]:
        return texts(lines.starts[rows], lines.lengths[rows])

    n = len(asked)
    first_gold = gold.offsets[asked]
    sizes = gold.offsets[asked + 1] - first_gold
    before = np.cumsum(sizes) - sizes
    # Gold rows of the asked questions, one after the other.
    mine = np.repeat(first_gold - before, sizes) + np.arange(sizes.sum())
    owner = np.repeat(np.arange(n), sizes)
    grades = gold.grades[mine]
    relevant = np.bincount(owner[grades > 0], minlength=n)
    first_item = np.cumsum(relevant) - relevant
    wanted = mine[grades > 0]

    start, stop = int(bounds[0]), int(bounds[-1])
    place, starts, lengths = np.arange(start, stop), bounds[:-1] - start, np.diff(bounds)
    keys, rows = lines.keys[start:stop], lines.gold_rows[start:stop]
    hit, question, rank = _hits(rows, starts, lengths)
    submitted = np.zeros((n, int(lengths.max(initial=0))), dtype=bool)
    submitted[question, rank] = gold.grades[rows[hit]] > 0
    kept = _first_of_each(keys, lengths, place, names)
    if kept is not None:
        kept_before = np.concatenate([[0], np.cumsum(kept)])
        lengths = kept_before[starts + lengths] - kept_before[starts]
        starts, place, rows = kept_before[starts], place[kept], rows[kept]
        hit, question, rank = _hits(rows, starts, lengths)
    judged_rows = rows[hit]
    local = gold.items[judged_rows]
    items = np.where(local == NO_ITEM, NO_ITEM, local + first_item[question])
    return Stretch(
        ids=[gold.ids[row] for row in asked.tolist()],
        judged=tabled(
            Hits(question, rank, gold.grades[judged_rows], items),
            lengths.astype(np.int64),
            owner,
            grades,
            np.full(n, answered),
            rows=place,
            submitted=submitted,
        ),
        names=Names(
            lambda rows: all_decoded(names(rows)),
            lambda items: all_decoded(gold.names.at(wanted[items]).texts()),
        ),
        order=asked,
        duplicates=stop - start - len(place),
    )


def _hits(rows: NDArray[np.int32], starts: Ints, lengths: Ints) -> tuple[Ints, Ints, Ints]:
    """The lines that are judged, with the question (row of `lengths`) and the rank (from 0) of each."""
    hit = np.flatnonzero(rows != UNJUDGED)
    question = np.searchsorted(starts + lengths, hit, side="right")
    return hit, question, hit - starts[question]


def _first_of_each(
    keys: Words, lengths: Ints, place: Ints, names: Callable[[Ints], list[str]]
) -> NDArray[np.bool_] | None:
    """Where a document stands for the first time in its ranking; None where each stands once."""
    # A row a ranking: many short rows are sorted ten times as fast as one long column.
    rank = np.arange(int(lengths.max(initial=0)), dtype=np.uint64)
    rows = np.broadcast_to(rank, (len(lengths), len(rank))).copy()  # behind a ranking's end, each once
    rows[rank.view(np.int64) < lengths[:, None]] = keys
    rows.sort(axis=1)
    if not (rows[:, 1:] == rows[:, :-1]).any():
        return None
    _, first, inverse = _grouped(keys)
    kept = np.zeros(len(keys), dtype=bool)
    kept[first] = True
    again = np.flatnonzero(~kept)
    if names(place[again]) != names(place[first[inverse[again]]]):
        raise AnotherWay  # two documents of one hash
    return kept
