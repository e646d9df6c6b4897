"""A run held against judgments: one table of grades by rank, from which every rank measure is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, found_in, looked_up, short_repr
from tiny_graph_rag.errors import wrong_value
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.run import ABSENT

if TYPE_CHECKING:
    from tiny_graph_rag.gold.resolve import Judgments
    from tiny_graph_rag.run import Relation, Run


ENTITIES, RELATIONS, PASSAGES = "entities", "relations", "passages"  # what can be judged
NO_ITEM = -1
NO_ROW = -1
AT_ONCE = 1 << 11  # questions of a run that are held against judgments together

Ends = Callable[[str], frozenset[int]]
"""What an end of a relation means: the entities that its name can be."""


class RelationReference(Struct, frozen=True):
    """A relation, expected or returned: the entities that its ends can mean, its type folded ("" is any)."""

    sources: frozenset[int]
    targets: frozenset[int]
    type: str

    @classmethod
    def of(cls, relation: Relation, ends: Ends) -> RelationReference:
        return cls(ends(relation.source), ends(relation.target), fold(relation.type))

    def is_met_by(self, returned: RelationReference) -> bool:
        """Whether a returned relation is this reference: the same ends and type. One that came without a type
        says nothing of a direction either: its ends decide, either way round."""
        if self.sources & returned.sources and self.targets & returned.targets:
            return not self.type or not returned.type or self.type == returned.type
        turned = self.sources & returned.targets and self.targets & returned.sources
        return not returned.type and bool(turned)


class RetrievedContext(Struct, frozen=True):
    """What one question retrieved as a subgraph, held against what the gold set expects.

    seeds: where paths begin. entities: that were retrieved. relevant: entities that can fill a reference.
    filled: how many relevant items the retrieved entities fill together, one entity one item. relations: that
    were retrieved, None where the retriever returns none for any question. references: the reference
    relationships. held: of each of these, the places in `relations` that are it.
    """

    seeds: frozenset[int]
    entities: frozenset[int]
    relevant: frozenset[int]
    filled: int
    relations: tuple[RelationReference, ...] | None
    references: tuple[RelationReference, ...]
    held: tuple[tuple[int, ...], ...]


class Judged(Struct, frozen=True, eq=False):
    """What measures see. Ranks count after duplicates, and later matching entities of an already filled
    reference, were dropped.

    grades: int32, or float64 where gains are fractions, (questions, width); 0 where the entity at that rank
    is not relevant or nothing stands there.
    irrelevant: bool (questions, width), judged 0 by the gold set. items: int32 (questions, width), the
    relevant item (row of Judgments.grades) that the entity fills, NO_ITEM elsewhere. rows: int32 (questions,
    width), the row of the run's table at that rank, NO_ROW where the list has ended. retrieved: int64
    (questions,), entities in the list. relevant, judged_irrelevant: int64 (questions,), relevant items and
    entities judged 0, found or not. ideal: int32 (questions, most), grades of all relevant items, best first,
    filled up with 0. submitted: bool (questions, longest list), what was relevant in the list as it came,
    duplicates and all. answered: bool (questions,), False where the question failed or the run has no entry
    for it: every measure that the gold set defines for it then has its worst value. absent: bool
    (questions,), of these the ones that the run has no entry for, which the contest's rule leaves out.
    found: int64 (questions, width), how many relevant items are found first at that rank, where one text may
    contain several; None where a rank finds one at most.
    context: what a question retrieved as a subgraph, None without a graph. seconds: float64 (questions,),
    how long each took, NaN where nobody knows; None where nobody asked. kinds: relations and passages of
    the same questions, judged the same way; None under a kind that the retriever returned for no question.
    """

    grades: NDArray[np.int32] | NDArray[np.float64]
    irrelevant: NDArray[np.bool_]
    items: NDArray[np.int32]
    rows: NDArray[np.int32]
    retrieved: NDArray[np.int64]
    relevant: NDArray[np.int64]
    judged_irrelevant: NDArray[np.int64]
    ideal: NDArray[np.int32] | NDArray[np.float64]
    submitted: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    absent: NDArray[np.bool_]
    found: NDArray[np.int64] | None = None
    context: Callable[[int], RetrievedContext] | None = None
    seconds: NDArray[np.float64] | None = None
    kinds: Mapping[str, JudgedKind | None] = {}

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.relevant)

    def of(self, kind: str) -> Judged | None:
        """What measures of a kind ("" for entities) see; None where they are undefined."""
        if kind:
            judged = self.kinds.get(kind)
            return None if judged is None else judged.judged
        return self if self.kinds.get(ENTITIES, self) is not None else None

    @property
    def returned(self) -> NDArray[np.int64]:
        """(questions,): entities returned; of a retriever that returns none, its relations and passages."""
        if self.of("") is not None:
            return self.retrieved
        lists = [kind.judged.retrieved for kind in self.kinds.values() if kind is not None]
        return np.asarray(sum(lists, np.zeros(len(self.retrieved), dtype=np.int64)))


class JudgedKind(Struct, frozen=True, eq=False):
    """Relations or passages of every question. rankings: what was returned, best first, duplicates dropped.

    references: as written, in words. ranks: of each reference, from 1, None where it was not returned.
    """

    judged: Judged
    rankings: Sequence[Sequence[Any]]
    references: Sequence[Sequence[Any]]
    ranks: Sequence[Sequence[int | None]]

    __repr__ = short_repr


class Hits(Struct, frozen=True, eq=False):
    """Places of the lists that hold a judged entity. questions, ranks (from 0), items: int64 (hits,); grades:
    (hits,). One judged 0 has NO_ITEM.
    """

    questions: NDArray[np.int64]
    ranks: NDArray[np.int64]
    grades: NDArray[np.int32] | NDArray[np.float64]
    items: NDArray[np.int64]


def tabled(
    hits: Hits,
    retrieved: NDArray[np.int64],
    gold_questions: NDArray[np.int64],
    gold_grades: NDArray[np.int32] | NDArray[np.float64],
    answered: NDArray[np.bool_],
    *,
    absent: NDArray[np.bool_] | None = None,
    rows: NDArray[np.int64] | None = None,
    submitted: NDArray[np.bool_] | None = None,
    context: Callable[[int], RetrievedContext] | None = None,
) -> Judged:
    """The one builder of what measures see: hits, put into tables of questions and ranks.

    retrieved, answered: as in Judged. gold_questions, gold_grades: (judged,), everything that the gold set
    judges, found or not. absent: None where no question failed: all without an answer are absent. rows: int64
    (entities of all lists,), the rows of the run's table, list after list; None where nobody looks them up.
    submitted: None where the lists came without duplicates.
    """
    questions = len(retrieved)
    shape = (questions, int(retrieved.max(initial=0)))
    cells = (hits.questions, hits.ranks)
    grades = np.zeros(shape, dtype=gold_grades.dtype)
    grades[cells] = hits.grades
    irrelevant = np.zeros(shape, dtype=bool)
    irrelevant[cells] = hits.items == NO_ITEM
    items = np.full(shape, NO_ITEM, dtype=np.int32)
    items[cells] = hits.items
    if rows is None:
        row_table = np.broadcast_to(np.int32(NO_ROW), shape)
    else:
        row_table = np.full(shape, NO_ROW, dtype=np.int32)
        row_table[np.arange(shape[1]) < retrieved[:, None]] = rows
    good = gold_grades > 0
    return Judged(
        grades=grades,
        irrelevant=irrelevant,
        items=items,
        rows=row_table,
        retrieved=retrieved,
        relevant=np.bincount(gold_questions[good], minlength=questions),
        judged_irrelevant=np.bincount(gold_questions[gold_grades == 0], minlength=questions),
        ideal=_ideal(gold_questions[good], gold_grades[good], questions),
        submitted=grades > 0 if submitted is None else submitted,
        answered=answered,
        absent=~answered if absent is None else absent,
        context=context,
    )


def _ideal(
    owner: NDArray[np.int64], grades: NDArray[np.int32] | NDArray[np.float64], questions: int
) -> NDArray[np.int32] | NDArray[np.float64]:
    """owner: int64 (items,), ascending, the question of each relevant item. Best first, filled up with 0."""
    sizes = np.bincount(owner, minlength=questions)
    ideal = np.zeros((questions, int(sizes.max(initial=0))), dtype=grades.dtype)
    ideal[owner, np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = grades
    return np.asarray(-np.sort(-ideal, axis=1))


def judge(
    run: Run, judgments: Judgments, *, context: Callable[[int], RetrievedContext] | None = None
) -> Judged:
    """Both in the same question order; what the run calls a failure is not answered.

    Raises ValueError where run and judgments differ in length.
    """
    if len(run) != len(judgments):
        raise wrong_value(
            "a run of {n} questions can't be scored with a gold set of {n_2}",
            n=len(run),
            n_2=len(judgments),
        )
    stretches = (slice(first, first + AT_ONCE) for first in range(0, max(1, len(run)), AT_ONCE))
    held = [_held(run, judgments, range(len(run))[stretch]) for stretch in stretches]
    questions, ranks, items, rows, matches = (np.concatenate(part) for part in zip(*held, strict=True))
    question = np.searchsorted(run.offsets, matches, side="right") - 1
    submitted = np.zeros((len(run), int(np.diff(run.offsets).max(initial=0))), dtype=bool)
    submitted[question, matches - run.offsets[question]] = True
    judged_bad = judgments.irrelevant_keys // max(judgments.universe, 1)
    answered = np.ones(len(run), dtype=bool)
    answered[list(run.failures)] = False
    absent = np.zeros(len(run), dtype=bool)
    absent[[row for row, reason in run.failures.items() if reason == ABSENT]] = True
    return tabled(
        Hits(questions, ranks, np.append(judgments.grades, np.int32(0))[items], items),
        np.diff(np.searchsorted(rows, run.offsets)),
        np.concatenate([np.repeat(np.arange(len(run)), judgments.relevant), judged_bad]),
        np.concatenate([judgments.grades, np.zeros(len(judged_bad), dtype=np.int32)]),
        answered,
        absent=absent,
        rows=rows,
        submitted=submitted,
        context=context,
    )


def _held(run: Run, judgments: Judgments, questions: range) -> tuple[NDArray[np.integer[Any]], ...]:
    """Of a stretch of questions: the question, rank and item of each hit; the rows that count; and the rows
    that match a reference, duplicates and all."""
    offsets = run.offsets[questions.start : questions.stop + 1]
    rows = slice(int(offsets[0]), int(offsets[-1]))
    question = np.repeat(np.arange(questions.start, questions.stop), np.diff(offsets))
    keys: NDArray[np.int64] = question * judgments.universe + run.entities[rows]
    place, matches = looked_up(judgments.pair_keys, keys)
    item = _items(judgments, questions, offsets - rows.start, keys, place, matches)
    # A later matching entity of a filled reference is dropped like a duplicate; other duplicates are rare.
    kept = ~(matches & (item == NO_ITEM)) & _first_of_each(keys)
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    hits = np.flatnonzero(kept & ((item != NO_ITEM) | found_in(judgments.irrelevant_keys, keys)))
    ranks = kept_before[hits] - kept_before[run.offsets[question[hits]] - rows.start]
    counted, matching = (np.flatnonzero(which) + rows.start for which in (kept, matches))
    return question[hits], ranks, item[hits], counted, matching


def _first_of_each(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True where a key stands for the first time."""
    ascending = np.sort(keys, kind="stable")  # question after question, which this one makes use of
    if not (ascending[1:] == ascending[:-1]).any():
        return np.ones(len(keys), dtype=bool)
    first = np.zeros(len(keys), dtype=bool)
    first[distinct(keys)[1]] = True
    return first


def _items(
    judgments: Judgments,
    questions: range,
    offsets: NDArray[np.int64],
    keys: NDArray[np.int64],
    place: NDArray[np.int64],
    matches: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The item that each row fills: first come, first served; NO_ITEM where it fills none."""
    filled = np.full(len(keys), NO_ITEM, dtype=np.int64)
    hits = np.flatnonzero(matches)
    item = judgments.pair_items[place[hits]]
    _, first = distinct(item)
    filled[hits[first]] = item[first]
    # An entity that could fill several references of its question needs a choice that spoils no other.
    for question in filter(questions.__contains__, judgments.contested):
        rows = slice(*offsets[question - questions.start :][:2])
        filled[rows] = matched_in_order(keys[rows], judgments)
    return filled


def matched_in_order(keys: NDArray[np.int64], judgments: Judgments) -> list[int]:
    """Row by row, the relevant item that becomes fillable with this entity: a growing maximum matching.

    keys: (rows,) of one question, best first, question * universe + entity. NO_ITEM where one adds none.
    """
    options = []
    seen: set[int] = set()
    for key in keys.tolist():
        first = np.searchsorted(judgments.pair_keys, key)
        last = np.searchsorted(judgments.pair_keys, key, side="right")
        items = judgments.pair_items[first:last].tolist() if key not in seen else []
        options.append(sorted(items, key=lambda item: (-judgments.grades[item], item)))
        seen.add(key)
    holder: dict[int, int] = {}

    def place(row: int) -> int:
        """Depth first; a loop, since a chain of entities that make room may be longer than Python's stack."""
        tried: set[int] = set()
        chain = [(row, iter(options[row]))]  # rows that look for room, each with what it hasn't tried yet
        wanted: list[int] = []  # the item that each of them would take
        while chain:
            item = next((candidate for candidate in chain[-1][1] if candidate not in tried), NO_ITEM)
            if item == NO_ITEM:
                chain.pop()
                if wanted:
                    wanted.pop()
                continue
            tried.add(item)
            wanted.append(item)
            if item not in holder:
                holder.update(zip(wanted, (looking for looking, _ in chain), strict=True))
                return item
            chain.append((holder[item], iter(options[holder[item]])))
        return NO_ITEM

    return [place(row) for row in range(len(keys))]
