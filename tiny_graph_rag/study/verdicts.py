"""Why each reference was found or missed: one verdict for each relevant item, with its evidence.

A reference is lost at one step only. The steps stand in the order in which retrieval passes them, and an
item's verdict is the furthest step that any entity with its name reached. Relevant items are distinct: what
two names of one entity share counts once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, found_in, looked_up
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.bfs import NOT_REACHED, Columns, hops_between
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.measures.judged import NO_ITEM, Judged, matched_in_order
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.waterfall import (
    NO_ENTITY,
    NO_RANK,
    Diagnosis,
    Limits,
    Verdict,
    ranks_of_items,
)


def diagnose(
    graph: KnowledgeGraph,
    linked: Sequence[LinkedQuestion],
    run: Run,
    judgments: Judgments,
    judged: Judged,
    limits: Limits,
    cutoff: int,
) -> Diagnosis:
    """All in the same question order. cutoff: the k of hit."""
    of_pairs, hops_of_pairs, rows_of_pairs = _of_pairs(graph, linked, run, judgments, limits)
    best = _furthest(of_pairs, hops_of_pairs, rows_of_pairs, judgments)
    has = best >= 0
    verdicts = np.full(len(best), Verdict.NOT_IN_GRAPH, dtype=np.int8)
    verdicts[has] = of_pairs[best[has]]
    entities = np.where(has, np.append(judgments.pairs[1], NO_ENTITY)[best], NO_ENTITY).astype(np.int32)
    hops = np.where(has, np.append(hops_of_pairs, NOT_REACHED)[best], NOT_REACHED).astype(np.int32)
    rows = np.where(has, np.append(rows_of_pairs, -1)[best], -1)
    ranks = ranks_of_items(judged, len(best))
    verdicts[(ranks > NO_RANK) & (ranks <= cutoff)] = Verdict.HIT
    verdicts[ranks > cutoff] = Verdict.RANKED_BELOW_K
    questions = np.repeat(np.arange(len(judgments)), judgments.relevant)
    return Diagnosis(cutoff, limits, verdicts, ranks, entities, hops, rows, questions)


def _of_pairs(
    graph: KnowledgeGraph,
    linked: Sequence[LinkedQuestion],
    run: Run,
    judgments: Judgments,
    limits: Limits,
) -> tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.int64]]:
    """How far each (question, entity) pair of the judgments came: its verdict, hops and row in the run."""
    question, entity = judgments.pairs
    rows = _rows_in_run(run, judgments)
    listed = rows >= 0
    verdicts = np.full(len(rows), Verdict.RANKED_BELOW_K, dtype=np.int8)
    hops = np.append(run.hops, NOT_REACHED)[rows].astype(np.int32)
    missing = np.flatnonzero(~listed)
    length = np.diff(run.offsets)
    if limits.walks:
        apart = np.flatnonzero(hops == NOT_REACHED)  # missing, or listed without a path
        ends, hops[apart] = _where_walks_end(graph, linked, question[apart], entity[apart], limits, run)
        verdicts[apart] = np.where(listed[apart], Verdict.RANKED_BELOW_K, ends)
    else:
        at_most = np.iinfo(np.int64).max if limits.depth is None else limits.depth
        is_cut = length[question[missing]] >= at_most
        verdicts[missing] = np.where(is_cut, Verdict.BELOW_DEPTH, Verdict.NOT_IN_RUN)
        if limits.returnable is not None:
            verdicts[missing[~limits.returnable[entity[missing]]]] = Verdict.FILTERED
    if limits.scores_cut and limits.depth is not None:
        # Within reach, and the list has room left: its score was too low to be returned.
        short = length[question] < limits.depth
        verdicts[(verdicts == Verdict.BELOW_DEPTH) & short] = Verdict.BELOW_MIN_SCORE
    return verdicts, hops, rows


def _rows_in_run(run: Run, judgments: Judgments) -> NDArray[np.int64]:
    """(pairs,): the row of the run that holds the pair's entity, -1 where none does."""
    place, known = looked_up(judgments.pair_keys, run.keys(judgments.universe))
    held = np.flatnonzero(known)
    places, earliest = distinct(place[held])
    row = np.full(len(judgments.pair_keys), -1, dtype=np.int64)
    row[places] = held[earliest]
    return row[np.searchsorted(judgments.pair_keys, judgments.pair_keys)]  # equal keys share the first place


def reachable_hops(
    graph: KnowledgeGraph, linked: Sequence[LinkedQuestion], judgments: Judgments, limits: Limits
) -> NDArray[np.int32]:
    """(items,): the fewest relations of a path that retrieval may take to an entity that it may return;
    NOT_REACHED where there is none. What any hop limit makes reachable follows from it."""
    question, entity = judgments.pairs
    hops = hops_between(graph.adjacency, seed_columns(linked), (question, entity), limits.passable)
    return nearest_hops(judgments, np.where(_kept_out(linked, question, entity, limits), NOT_REACHED, hops))


def _kept_out(
    linked: Sequence[LinkedQuestion],
    question: NDArray[np.int64],
    entity: NDArray[np.int64],
    limits: Limits,
) -> NDArray[np.bool_]:
    """(pairs,): whether a setting forbids to return the entity, wherever it lies."""
    kept_out = np.zeros(len(entity), dtype=bool)
    if limits.returnable is not None:
        kept_out |= ~limits.returnable[entity]
    if limits.excludes_seeds:
        kept_out |= are_named(linked, question, entity)
    return kept_out


def are_named(
    linked: Sequence[LinkedQuestion], question: NDArray[np.int64], entity: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(pairs,): whether the entity is a seed that the question names."""
    named = [(row, seed.entity) for row, one in enumerate(linked) for seed in one.named]
    table = np.array(named, dtype=np.int64).reshape(-1, 2)
    universe = int(max(table[:, 1].max(initial=0), entity.max(initial=0))) + 1
    return found_in(np.sort(table[:, 0] * universe + table[:, 1]), question * universe + entity)


def _where_walks_end(
    graph: KnowledgeGraph,
    linked: Sequence[LinkedQuestion],
    question: NDArray[np.int64],
    entity: NDArray[np.int64],
    limits: Limits,
    run: Run,
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Verdict and hops of pairs that are not in the list of a retriever that walks."""
    seeds = seed_columns(linked)
    hops = free = hops_between(graph.adjacency, seeds, (question, entity))
    if limits.passable is not None:
        hops = hops_between(graph.adjacency, seeds, (question, entity), limits.passable)
    most = np.iinfo(np.int32).max if limits.hops is None else limits.hops
    beyond = hops > most
    kept_out = hops == NOT_REACHED
    if limits.passable is not None:
        kept_out |= beyond & (free <= most)
    kept_out |= _kept_out(linked, question, entity, limits)
    seedless = np.array([not seed.seeds for seed in linked], dtype=bool)[question]
    verdicts = np.select(
        [seedless, free == NOT_REACHED, kept_out, beyond],
        [Verdict.NO_SEED, Verdict.UNREACHABLE, Verdict.FILTERED, Verdict.BEYOND_HOPS],
        Verdict.BELOW_DEPTH,
    )
    return verdicts.astype(np.int8), np.where(hops == NOT_REACHED, free, hops)


def _furthest(
    verdicts: NDArray[np.int8], hops: NDArray[np.int32], rows: NDArray[np.int64], judgments: Judgments
) -> NDArray[np.int64]:
    """(items,): the pair that fills the item or came furthest; -1 where it has none."""
    row_order = np.where(rows >= 0, rows, np.iinfo(np.int64).max)
    order = np.lexsort((np.arange(len(rows)), hops, row_order, -verdicts.astype(np.int64)))
    return assigned(judgments, order)


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
    """agree: questions whose farthest reference lies exactly as many hops from the nearest seed as it
    says.

    measured: that distance → questions, ascending; unmeasured: questions with a reference that the graph
    lacks or that no walk reaches, and questions without seeds.
    """

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
    adjacency: Adjacency,
    examples: Sequence[Example],
    judgments: Judgments,
    linked: Sequence[LinkedQuestion],
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
    asked[[row for tagged in rows.values() for row in tagged]] = True
    question, entity = judgments.pairs
    pairs = np.flatnonzero(asked[question])
    hops = np.full(len(question), NOT_REACHED, dtype=np.int32)
    hops[pairs] = hops_between(adjacency, seed_columns(linked), (question[pairs], entity[pairs]))
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
        questions=len(farthest),
        agree=agree,
        differ=len(measured) - agree,
        unmeasured=len(farthest) - len(measured),
        measured=dict(sorted(Counter(measured.tolist()).items())),
    )
