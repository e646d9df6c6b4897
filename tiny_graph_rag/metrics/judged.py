"""A run held against judgments: one table of grades by rank, from which every rank measure is computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.dataset.resolve import Judgments
from tiny_graph_rag.retrieval.base import Run

NO_ITEM = -1


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What measures see. Ranks count after later bearers of an already filled reference were dropped.

    grades: int32 (questions, width), 0 where the entity at that rank is not relevant or nothing stands there.
    irrelevant: bool (questions, width), judged 0 by the gold set. items: int64 (questions, width), the
    relevant item (row of Judgments.grades) that the entity fills, NO_ITEM elsewhere. retrieved: int64
    (questions,), entities in the list. relevant: int64 (questions,), relevant items, found or not.
    ideal: int32 (questions, most), grades of all relevant items, best first, filled up with 0.
    """

    grades: NDArray[np.int32]
    irrelevant: NDArray[np.bool_]
    items: NDArray[np.int64]
    retrieved: NDArray[np.int64]
    relevant: NDArray[np.int64]
    ideal: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.relevant)


def judge(run: Run, judgments: Judgments) -> Judged:
    """Both in the same question order. Raises ValueError where they differ in length."""
    if len(run) != len(judgments):
        raise ValueError(f"a run of {len(run)} questions can't be judged by {len(judgments)}")
    lengths = np.diff(run.offsets)
    question = np.repeat(np.arange(len(run)), lengths)
    keys = question * judgments.universe + run.entities
    item = _items(run, judgments, question, keys)
    bears = _found(judgments.pair_keys, keys)
    kept = ~(bears & (item == NO_ITEM))  # a later bearer of a filled reference is dropped like a duplicate
    kept_before = np.concatenate([[0], np.cumsum(kept)])
    retrieved = kept_before[run.offsets[1:]] - kept_before[run.offsets[:-1]]
    rank = kept_before[:-1] - np.repeat(kept_before[run.offsets[:-1]], lengths)
    width = int(retrieved.max(initial=0))
    items = np.full((len(run), width), NO_ITEM, dtype=np.int64)
    irrelevant = np.zeros((len(run), width), dtype=bool)
    items[question[kept], rank[kept]] = item[kept]
    irrelevant[question[kept], rank[kept]] = _found(judgments.irrelevant_keys, keys[kept])
    grades = np.where(items == NO_ITEM, 0, np.append(judgments.grades, 0)[items]).astype(np.int32)
    return Judged(grades, irrelevant, items, retrieved, judgments.relevant, _ideal(judgments))


def _found(sorted_keys: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    if not len(sorted_keys):
        return np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.asarray(sorted_keys[place] == keys)


def _items(
    run: Run, judgments: Judgments, question: NDArray[np.int64], keys: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The item that each row fills: first come, first served; NO_ITEM where it fills none."""
    filled = np.full(len(keys), NO_ITEM, dtype=np.int64)
    hits = np.flatnonzero(_found(judgments.pair_keys, keys))
    item = judgments.pair_items[np.searchsorted(judgments.pair_keys, keys[hits])]
    _, first = np.unique(item, return_index=True)
    filled[hits[first]] = item[first]
    # An entity that could fill several references of its question needs a choice that spoils no other.
    contested = judgments.pair_keys[1:][judgments.pair_keys[1:] == judgments.pair_keys[:-1]]
    for row in np.unique(contested // max(judgments.universe, 1)).tolist():
        rows = run.rows(row)
        filled[rows] = matched_in_order(keys[rows], judgments)
    return filled


def matched_in_order(keys: NDArray[np.int64], judgments: Judgments) -> list[int]:
    """Row by row, the relevant item that becomes fillable with this entity: a growing maximum matching."""
    options = [
        sorted(
            judgments.pair_items[
                np.searchsorted(judgments.pair_keys, key) : np.searchsorted(
                    judgments.pair_keys, key, side="right"
                )
            ].tolist(),
            key=lambda item: (-judgments.grades[item], item),
        )
        for key in keys
    ]
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


def _ideal(judgments: Judgments) -> NDArray[np.int32]:
    counts = judgments.relevant
    question = np.repeat(np.arange(len(judgments)), counts)
    best_first = np.lexsort((-judgments.grades, question))
    ideal = np.zeros((len(judgments), int(counts.max(initial=0))), dtype=np.int32)
    place = np.arange(len(question)) - np.repeat(judgments.item_offsets[:-1], counts)
    ideal[question, place] = judgments.grades[best_first]
    return ideal
