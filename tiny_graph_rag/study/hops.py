"""Distances from seeds to references, searched once however many tables are made from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.bfs import NOT_REACHED, Columns, hops_between
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.measures.judged import NO_ITEM, matched_in_order
from tiny_graph_rag.retrieval.base import Retriever

_UNKNOWN = -2


class FreeHops:
    """Hops without any filter, for pairs of the judgments; asked again under other seeds, it searches again.

    So verdicts, gold seeds and hop tags share one search where the linked seeds are the gold ones.
    """

    def __init__(self, adjacency: Adjacency, judgments: Judgments) -> None:
        self.adjacency, self.judgments = adjacency, judgments
        self._hops = np.full(len(judgments.pair_keys), _UNKNOWN, dtype=np.int32)
        self._seeds: list[frozenset[int] | None] = [None] * len(judgments)

    def of(
        self, linked: Sequence[LinkedQuestion], question: NDArray[np.int64], entity: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """For each pair the fewest relations from a seed of its question; NOT_REACHED where no walk leads."""
        keys, universe = self.judgments.pair_keys, self.judgments.universe
        pairs = np.searchsorted(keys, question * universe + entity)
        self._ask_from(linked, distinct(question)[0].tolist())
        new = self._hops[pairs] == _UNKNOWN
        if new.any():
            wanted = (question[new], entity[new])
            self._hops[pairs[new]] = hops_between(self.adjacency, seed_columns(linked), wanted)
        return self._hops[pairs]

    def _ask_from(self, linked: Sequence[LinkedQuestion], questions: Iterable[int]) -> None:
        """Forget what was found from other seeds of these questions."""
        for row in questions:
            seeds = frozenset([seed.entity for seed in linked[row].seeds])
            known, self._seeds[row] = self._seeds[row], seeds
            if known is not None and known != seeds:
                self._hops[self.judgments.pairs_of(row)] = _UNKNOWN


def walked_from(linked: Sequence[LinkedQuestion], retriever: Retriever) -> Sequence[LinkedQuestion]:
    """The questions with the seeds that the retriever starts from."""
    if not retriever.from_named:
        return linked
    return [replace(question, seeds=question.starts) for question in linked]


def seed_columns(linked: Sequence[LinkedQuestion]) -> Columns:
    """(question, entity) of every seed, questions ascending."""
    pairs = [
        (row, seed.entity) for row, linked_question in enumerate(linked) for seed in linked_question.seeds
    ]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


_HOP_TAG = re.compile(r"(\d{1,2})[-_ ]?hops?", re.IGNORECASE)
_IN_WORDS = {"single-hop": 1, "one-hop": 1, "two-hop": 2, "three-hop": 3, "four-hop": 4}


@dataclass(frozen=True, slots=True)
class HopTag:
    """agree: questions whose farthest reference lies exactly `hops` from the nearest seed.

    measured: that distance → questions, ascending; unmeasured: questions with a reference that the graph
    lacks or that no walk reaches, and questions without seeds.
    """

    hops: int
    questions: int
    agree: int
    differ: int
    unmeasured: int
    measured: dict[int, int]


def hops_of_tag(tag: str) -> int | None:
    """`2-hop`, `3hop`, `single-hop` → 2, 3, 1; None for a tag that names no number (`multi-hop`)."""
    found = _HOP_TAG.fullmatch(tag)
    return int(found[1]) if found else _IN_WORDS.get(tag.lower())


def hop_tags(
    examples: Sequence[Example],
    judgments: Judgments,
    linked: Sequence[LinkedQuestion],
    distances: FreeHops,
) -> dict[str, HopTag]:
    """linked: with the gold seeds where they are given, else with what the question names."""
    rows: dict[str, list[int]] = {}
    for row, example in enumerate(examples):
        for tag in dict.fromkeys(example.tags):
            if hops_of_tag(tag) is not None:
                rows.setdefault(tag, []).append(row)
    if not rows:
        return {}
    asked = np.zeros(len(judgments), dtype=bool)
    asked[[row for row_cells in rows.values() for row in row_cells]] = True
    question, entity = judgments.pairs
    pairs = np.flatnonzero(asked[question])
    hops = np.full(len(question), NOT_REACHED, dtype=np.int32)
    hops[pairs] = distances.of(linked, question[pairs], entity[pairs])
    farthest = farthest_hops(judgments, nearest_hops(judgments, hops))
    return {tag: _tag(int(hops_of_tag(tag) or 0), farthest[part]) for tag, part in rows.items()}


def nearest_hops(judgments: Judgments, hops: NDArray[np.signedinteger[Any]]) -> NDArray[np.int32]:
    """(items,): hops of the nearest entity that can fill the item, NOT_REACHED where none is reached, each
    entity filling one item. hops: (pairs,)."""
    reached = np.flatnonzero(hops != NOT_REACHED)
    best = assigned(judgments, reached[np.argsort(hops[reached], kind="stable")])
    nearest = np.append(hops, NOT_REACHED)[best]
    return nearest.astype(np.int32)


def assigned(judgments: Judgments, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """(items,): the pair of the judgments that fills each item, -1 where none does.

    order: pairs, those first that should fill an item; an entity fills one item, and of every beginning of
    the order as many fill one as can.
    """
    best = np.full(len(judgments.grades), -1, dtype=np.int64)
    filled, first = distinct(judgments.pair_items[order])
    best[filled] = order[first]
    for question in judgments.contested:
        best[judgments.item_offsets[question] : judgments.item_offsets[question + 1]] = -1
        pairs = judgments.pairs_of(question)
        mine = order[(order >= pairs.start) & (order < pairs.stop)]
        _, first = distinct(judgments.pair_keys[mine])
        mine = mine[np.sort(first)]
        matched = matched_in_order(judgments.pair_keys[mine], judgments)
        for pair, item in zip(mine.tolist(), matched, strict=True):
            if item != NO_ITEM:
                best[item] = pair
    return best


def farthest_hops(judgments: Judgments, items: NDArray[np.int32]) -> NDArray[np.int32]:
    """(questions,): hops within which all references lie; NOT_REACHED where one doesn't, or there is none.

    items: (items,) as nearest_hops has them.
    """
    farthest = np.full(len(judgments), NOT_REACHED, dtype=np.int32)
    scored = np.flatnonzero(judgments.relevant > 0)
    if not len(scored):
        return farthest
    starts = judgments.item_offsets[scored]  # questions without items lie between none of them
    lost = np.minimum.reduceat(items, starts) == NOT_REACHED
    farthest[scored] = np.where(lost, NOT_REACHED, np.maximum.reduceat(items, starts))
    return farthest


def _tag(hops: int, farthest: NDArray[np.int32]) -> HopTag:
    measured = farthest[farthest != NOT_REACHED]
    agree = int((measured == hops).sum())
    return HopTag(
        hops,
        questions=len(farthest),
        agree=agree,
        differ=len(measured) - agree,
        unmeasured=len(farthest) - len(measured),
        measured=dict(sorted(Counter(measured.tolist()).items())),
    )
