"""A run held against judgments: one table of grades by rank, from which every rank measure is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.shown import short_repr

if TYPE_CHECKING:
    from tiny_graph_rag.gold.resolve import Judgments
    from tiny_graph_rag.measures.facts import Facts
    from tiny_graph_rag.run import Run


NO_ITEM = -1
NO_ROW = -1


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What measures see. Ranks count after duplicates, and later bearers of an already filled reference, were
    dropped.

    grades: int32, or float64 where gains are fractions, (questions, width); 0 where the entity at that rank
    is not relevant or nothing stands there.
    irrelevant: bool (questions, width), judged 0 by the gold set. items: int64 (questions, width), the
    relevant item (row of Judgments.grades) that the entity fills, NO_ITEM elsewhere. rows: int64 (questions,
    width), the row of the run's table at that rank, NO_ROW where the list has ended. retrieved: int64
    (questions,), entities in the list. relevant, judged_irrelevant: int64 (questions,), relevant items and
    entities judged 0, found or not. ideal: int32 (questions, most), grades of all relevant items, best first,
    filled up with 0. submitted: bool (questions, longest list), what was relevant in the list as it came,
    duplicates and all. answered: bool (questions,), False where the run has no entry for the question.
    facts: what some measures need beyond these, None where nobody gave it.
    """

    grades: NDArray[np.int32] | NDArray[np.float64]
    irrelevant: NDArray[np.bool_]
    items: NDArray[np.int64]
    rows: NDArray[np.int64]
    retrieved: NDArray[np.int64]
    relevant: NDArray[np.int64]
    judged_irrelevant: NDArray[np.int64]
    ideal: NDArray[np.int32] | NDArray[np.float64]
    submitted: NDArray[np.bool_]
    answered: NDArray[np.bool_]
    facts: Facts | None = None

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.relevant)


def judge(
    run: Run, judgments: Judgments, *, answered: NDArray[np.bool_] | None = None, facts: Facts | None = None
) -> Judged:
    """Both in the same question order. answered: default, every question.

    Raises ValueError where run and judgments differ in length.
    """
    if len(run) != len(judgments):
        raise ValueError(f"a run of {len(run)} questions can't be judged by {len(judgments)}")
    lengths = np.diff(run.offsets)
    question = np.repeat(np.arange(len(run)), lengths)
    keys = question * judgments.universe + run.entities
    place, bears = _looked_up(judgments.pair_keys, keys)
    item = _items(run, judgments, keys, place, bears)
    # A later bearer of a filled reference is dropped like a duplicate; other duplicates are rare.
    kept = ~(bears & (item == NO_ITEM)) & _first_of_each(keys)
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    retrieved = kept_before[run.offsets[1:]] - kept_before[run.offsets[:-1]]
    rank = (kept_before[:-1] - np.repeat(kept_before[run.offsets[:-1]], lengths))[kept]
    width = int(retrieved.max(initial=0))
    at = (question[kept], rank)
    items = np.full((len(run), width), NO_ITEM, dtype=np.int64)
    items[at] = item[kept]
    rows = np.full((len(run), width), NO_ROW, dtype=np.int64)
    rows[at] = np.flatnonzero(kept)
    irrelevant = np.zeros((len(run), width), dtype=bool)
    if len(judgments.irrelevant_keys):
        irrelevant[at] = _looked_up(judgments.irrelevant_keys, keys[kept])[1]
    submitted = np.zeros((len(run), int(lengths.max(initial=0))), dtype=bool)
    submitted[question, np.arange(len(keys)) - np.repeat(run.offsets[:-1], lengths)] = bears
    return Judged(
        grades=np.append(judgments.grades, np.int32(0))[items],
        irrelevant=irrelevant,
        items=items,
        rows=rows,
        retrieved=retrieved,
        relevant=judgments.relevant,
        judged_irrelevant=np.bincount(
            judgments.irrelevant_keys // max(judgments.universe, 1), minlength=len(run)
        ).astype(np.int64),
        ideal=_ideal(judgments),
        submitted=submitted,
        answered=np.ones(len(run), dtype=bool) if answered is None else answered,
        facts=facts,
    )


def _looked_up(
    sorted_keys: NDArray[np.int64], keys: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each key its first place among the sorted ones, and whether it is there."""
    if not len(sorted_keys):
        return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return place, np.asarray(sorted_keys[place] == keys)


def _first_of_each(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True where a key stands for the first time."""
    ascending = np.sort(keys)
    if not (ascending[1:] == ascending[:-1]).any():
        return np.ones(len(keys), dtype=bool)
    first = np.zeros(len(keys), dtype=bool)
    first[distinct(keys)[1]] = True
    return first


def _items(
    run: Run,
    judgments: Judgments,
    keys: NDArray[np.int64],
    place: NDArray[np.int64],
    bears: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """The item that each row fills: first come, first served; NO_ITEM where it fills none."""
    filled = np.full(len(keys), NO_ITEM, dtype=np.int64)
    hits = np.flatnonzero(bears)
    item = judgments.pair_items[place[hits]]
    _, first = distinct(item)
    filled[hits[first]] = item[first]
    # An entity that could fill several references of its question needs a choice that spoils no other.
    contested = judgments.pair_keys[1:][judgments.pair_keys[1:] == judgments.pair_keys[:-1]]
    for row in distinct(contested // max(judgments.universe, 1))[0].tolist():
        rows = run.rows(row)
        filled[rows] = matched_in_order(keys[rows], judgments)
    return filled


def _ideal(judgments: Judgments) -> NDArray[np.int32]:
    counts = judgments.relevant
    question = np.repeat(np.arange(len(judgments)), counts)
    best_first = np.lexsort((-judgments.grades, question))
    ideal = np.zeros((len(judgments), int(counts.max(initial=0))), dtype=np.int32)
    place = np.arange(len(question)) - np.repeat(judgments.item_offsets[:-1], counts)
    ideal[question, place] = judgments.grades[best_first]
    return ideal


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

    def place(row: int, tried: set[int]) -> int:
        item: int
        for item in options[row]:
            if item in tried:
                continue
            tried.add(item)
            if item not in holder:
                holder[item] = row
                return item
            gained = place(holder[item], tried)
            if gained != NO_ITEM:
                holder[item] = row
                return gained
        return NO_ITEM

    return [place(row, set()) for row in range(len(keys))]
