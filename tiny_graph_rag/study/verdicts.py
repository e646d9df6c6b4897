"""Why each reference was found or missed: one verdict for each relevant item, with its evidence.

A reference is lost at one step only. The steps stand in the order in which retrieval passes them, and an
item's verdict is the furthest step that any entity with its name reached. Relevant items are distinct: what
two names of one entity share counts once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, found_in, looked_up
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.bfs import NOT_REACHED, QuestionEntities, hops_between
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.measures.judged import NO_ITEM, Judged, matched_in_order
from tiny_graph_rag.measures.summary import rows_by_tag
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
    rows = _rows_in_run(run, judgments)
    hops = np.append(run.hops, NOT_REACHED)[rows].astype(np.int32)
    ends = np.full(len(rows), Verdict.RANKED_BELOW_K, dtype=np.int8)  # how far each pair came
    if limits.walks:
        apart = np.flatnonzero(hops == NOT_REACHED)  # missing, or listed without a path
        unlisted, hops[apart] = _where_paths_end(graph, linked, judgments, apart, limits)
        ends[apart] = np.where(rows[apart] >= 0, Verdict.RANKED_BELOW_K, unlisted)
    else:
        missing = np.flatnonzero(rows < 0)
        ends[missing] = _without_paths(run, judgments, missing, limits)
    length = np.diff(run.offsets)[judgments.pairs[0]]
    if limits.scores_cut and limits.depth is not None:
        # Within reach, and the list has room left: its score was too low to be returned.
        ends[(ends == Verdict.BELOW_DEPTH) & (length < limits.depth)] = Verdict.BELOW_MIN_SCORE
    # The pair that fills an item, or that came furthest, speaks for it.
    place = np.where(rows >= 0, rows, np.iinfo(np.int64).max)
    order = np.lexsort((np.arange(len(rows)), hops, place, -ends.astype(np.int64)))
    best = assigned(judgments, order)
    of_pairs = (
        (ends, Verdict.NOT_IN_GRAPH),
        (judgments.pairs[1].astype(np.int32), NO_ENTITY),
        (hops, NOT_REACHED),
        (rows, -1),
    )
    verdicts, entities, hops, rows = (
        np.append(column, np.array(none, column.dtype))[best] for column, none in of_pairs
    )
    ranks = ranks_of_items(judged, len(best))
    verdicts[(ranks > NO_RANK) & (ranks <= cutoff)] = Verdict.HIT
    verdicts[ranks > cutoff] = Verdict.RANKED_BELOW_K
    return Diagnosis(cutoff, limits, verdicts, ranks, entities, hops, rows, judgments.relevant)


def _rows_in_run(run: Run, judgments: Judgments) -> NDArray[np.int64]:
    """(pairs,): the row of the run that holds the pair's entity, -1 where none does."""
    place, known = looked_up(judgments.pair_keys, run.keys(judgments.universe))
    held = np.flatnonzero(known)
    places, earliest = distinct(place[held])
    row = np.full(len(judgments.pair_keys), -1, dtype=np.int64)
    row[places] = held[earliest]
    return row[np.searchsorted(judgments.pair_keys, judgments.pair_keys)]  # equal keys share the first place


def _without_paths(
    run: Run, judgments: Judgments, missing: NDArray[np.int64], limits: Limits
) -> NDArray[np.int8]:
    """Verdicts of pairs that are not in the list of a retriever that doesn't walk."""
    question, entity = (column[missing] for column in judgments.pairs)
    at_most = np.iinfo(np.int64).max if limits.depth is None else limits.depth
    is_cut = np.diff(run.offsets)[question] >= at_most
    verdicts = np.where(is_cut, Verdict.BELOW_DEPTH, Verdict.NOT_IN_RUN).astype(np.int8)
    if limits.returnable is not None:
        verdicts[~limits.returnable[entity]] = Verdict.FILTERED
    return verdicts


def _where_paths_end(
    graph: KnowledgeGraph,
    linked: Sequence[LinkedQuestion],
    judgments: Judgments,
    pairs: NDArray[np.int64],
    limits: Limits,
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Verdicts of pairs that are not in the list of a retriever that walks, and their hops."""
    question, entity = (column[pairs] for column in judgments.pairs)
    seeds, most = seed_columns(linked), np.iinfo(np.int32).max if limits.hops is None else limits.hops
    hops = free = hops_between(graph.adjacency, seeds, (question, entity))
    kept_out = _kept_out(linked, question, entity, limits)
    if limits.passable is not None:
        hops = hops_between(graph.adjacency, seeds, (question, entity), limits.passable)
        kept_out |= (hops == NOT_REACHED) | ((hops > most) & (free <= most))
    seedless = np.array([not one.seeds for one in linked], dtype=bool)[question]
    verdicts = np.select(
        [seedless, free == NOT_REACHED, kept_out, hops > most],
        [Verdict.NO_SEED, Verdict.UNREACHABLE, Verdict.FILTERED, Verdict.BEYOND_HOPS],
        Verdict.BELOW_DEPTH,
    )
    return verdicts.astype(np.int8), np.where(hops == NOT_REACHED, free, hops)


def reachable_hops(
    graph: KnowledgeGraph, linked: Sequence[LinkedQuestion], judgments: Judgments, limits: Limits
) -> NDArray[np.int32]:
    """(items,): the fewest relations of a path that retrieval may take to an entity that it may return;
    NOT_REACHED where there is none. What any hop limit makes reachable follows from it."""
    hops = hops_between(graph.adjacency, seed_columns(linked), judgments.pairs, limits.passable)
    kept_out = _kept_out(linked, *judgments.pairs, limits)
    return nearest_hops(judgments, np.where(kept_out, NOT_REACHED, hops))


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
        asked, seed = seed_columns([replace(one, seeds=one.named) for one in linked])
        universe = int(max(seed.max(initial=0), entity.max(initial=0))) + 1
        kept_out |= found_in(np.sort(asked * universe + seed), question * universe + entity)
    return kept_out


def seed_columns(linked: Sequence[LinkedQuestion]) -> QuestionEntities:
    """(question, entity) of every seed, questions ascending."""
    pairs = [(row, seed.entity) for row, question in enumerate(linked) for seed in question.seeds]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


_HOP_TAG = re.compile(r"(\d{1,2})[-_ ]?hops?", re.IGNORECASE)
_IN_WORDS = {"single-hop": 1, "one-hop": 1, "two-hop": 2, "three-hop": 3, "four-hop": 4}


class HopTag(Struct, frozen=True):
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
    tagged = rows_by_tag([example.tags for example in examples])
    rows = {tag: part for tag, part in tagged.items() if hops_of_tag(tag) is not None}
    if not rows:
        return {}
    hops = hops_between(adjacency, seed_columns(linked), judgments.pairs)
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
