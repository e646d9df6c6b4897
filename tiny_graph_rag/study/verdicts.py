"""Why each reference was found or missed: one verdict for each relevant item, with its evidence.

A reference is lost at one step only. The steps stand in the order in which retrieval passes them, and an
item's verdict is the furthest step that any entity with its name reached. Relevant items are distinct: what
two names of one entity share counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, found_in, looked_up
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.bfs import NOT_REACHED, hops_between
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.measures.judged import Judged
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.hops import FreeHops, assigned, nearest_hops, seed_columns
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
    free: FreeHops | None = None,
) -> Diagnosis:
    """All in the same question order. cutoff: the k of hit. free: distances found so far."""
    free = free or FreeHops(graph.adjacency, judgments)
    places = _Places.of(graph, linked, run, judgments, limits, free)
    items = len(judgments.grades)
    questions = np.repeat(np.arange(len(judgments)), judgments.relevant)
    verdicts = np.full(items, Verdict.NOT_IN_GRAPH, dtype=np.int8)
    best = _furthest(places, judgments)
    has = best >= 0
    verdicts[has] = places.verdicts[best[has]]
    entities = np.where(has, np.append(places.entities, NO_ENTITY)[best], NO_ENTITY).astype(np.int32)
    hops = np.where(has, np.append(places.hops, NOT_REACHED)[best], NOT_REACHED).astype(np.int32)
    rows = np.where(has, np.append(places.rows, -1)[best], -1)
    ranks = ranks_of_items(judged, items)
    verdicts[(ranks > NO_RANK) & (ranks <= cutoff)] = Verdict.HIT
    verdicts[ranks > cutoff] = Verdict.RANKED_BELOW_K
    return Diagnosis(cutoff, limits, verdicts, ranks, entities, hops, rows, questions)


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """How far each (question, entity) pair of the judgments came; in the order of Judgments.pair_keys."""

    verdicts: NDArray[np.int8]
    entities: NDArray[np.int32]
    hops: NDArray[np.int32]
    rows: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        graph: KnowledgeGraph,
        linked: Sequence[LinkedQuestion],
        run: Run,
        judgments: Judgments,
        limits: Limits,
        free: FreeHops,
    ) -> _Places:
        question, entity = judgments.pairs
        rows = _rows_in_run(run, judgments)
        listed = rows >= 0
        verdicts = np.full(len(rows), Verdict.RANKED_BELOW_K, dtype=np.int8)
        hops = np.append(run.hops, NOT_REACHED)[rows].astype(np.int32)
        missing = np.flatnonzero(~listed)
        length = np.diff(run.offsets)
        if limits.walks:
            apart = np.flatnonzero(hops == NOT_REACHED)  # missing, or listed without a path
            ends, hops[apart] = _where_walks_end(
                graph, linked, question[apart], entity[apart], limits, free, run
            )
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
        return cls(verdicts, entity.astype(np.int32), hops, rows)


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
    hops = hops_between(
        graph.adjacency, seed_columns(linked), (question, entity), limits.passable, limits.onward
    )
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
    distances: FreeHops,
    run: Run,
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Verdict and hops of pairs that are not in the list of a retriever that walks."""
    free = distances.of(linked, question, entity)
    hops = free
    if limits.passable is not None:
        wanted = (question, entity)
        hops = hops_between(graph.adjacency, seed_columns(linked), wanted, limits.passable, limits.onward)
    most = np.full(len(linked), np.iinfo(np.int32).max if limits.hops is None else limits.hops)
    for row, cut in run.cuts.items():
        most[row] = min(cut.hops, most[row])
    most = most[question]
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


def _furthest(places: _Places, judgments: Judgments) -> NDArray[np.int64]:
    """(items,): the pair that fills the item or came furthest; -1 where it has none."""
    pairs = np.arange(len(judgments.pair_keys))
    row_order = np.where(places.rows >= 0, places.rows, np.iinfo(np.int64).max)
    order = np.lexsort((pairs, places.hops, row_order, -places.verdicts.astype(np.int64)))
    return assigned(judgments, order)
