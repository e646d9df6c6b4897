"""What the baselines share: what the settings let in, the house order, and walks for what is ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.graph.traversal import (
    NOT_CUT,
    ROOM,
    Reached,
    Reaching,
    Walker,
    neighbourhoods,
    slots_of,
    worth_walking,
)
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Task
from tiny_graph_rag.retrieval.filters import Filters
from tiny_graph_rag.run import NO_HOP, NO_STEP, Cut, Run

LAST_HOP = np.iinfo(np.int32).max  # what no walk reached stands behind what one did


class Candidates:
    """The entities that a task's settings let a retriever return, and the relations that it may walk."""

    def __init__(self, task: Task) -> None:
        self.graph, self.settings, self.running = task.graph, task.config.retrieval, task.config.running
        self.filters = Filters.of(task.graph, self.settings)
        self.first, self.adjacency = _walkable(task.graph, self.filters)

    def reached(
        self, questions: Sequence[LinkedQuestion], *, nearest: bool = False, every_seed: bool = False
    ) -> Sequence[Reached]:
        """What lies within the hops of each question's seeds, over the relations that may be walked.

        every_seed: from seeds by text also where a question has named ones. nearest: whole hops as far as the depth is filled, where a ranking takes what is nearest.
        """
        starts = [
            sorted({seed.entity for seed in (question.seeds if every_seed else question.starts)})
            for question in questions
        ]
        hops, most, enough = self.settings.hops, self.running.max_steps, 0
        if nearest and self.filters.returned is None:
            seeds = max(map(len, starts), default=0) if self.settings.exclude_seeds else 0
            enough = self.settings.depth + seeds
        if self.first is not None:
            walker = Walker(self.adjacency, first=self.first, most=most, enough=enough)
            return Reaching(walker, starts, hops)
        fast = worth_walking(self.adjacency, len(questions), allowed=self.running.compiled)
        if len(self.graph) > ROOM:  # several neighbourhoods of such a graph are held no longer than needed
            return Reaching(Walker(self.adjacency, compile=fast, most=most, enough=enough), starts, hops)
        threads = (self.running.threads or cpu_count() or 1) if fast else 1
        return neighbourhoods(
            self.adjacency, starts, hops, compile=fast, threads=threads, most=most, enough=enough
        )

    def ranked(
        self,
        question: LinkedQuestion,
        entities: NDArray[np.int32],
        scores: NDArray[np.float64],
        hops: NDArray[np.int32] | None = None,
    ) -> Run:
        """One question's run: what the settings return of `entities`, best first, cut at the depth.

        hops: of each entity, None where nothing was walked.
        """
        kept = self._returned(question, entities, scores)
        entities, scores = entities[kept], scores[kept]
        hops = np.full(len(entities), NO_HOP, dtype=np.int32) if hops is None else hops[kept]
        order = house_order(self.graph, entities, scores, hops, self.settings.depth)
        offsets = np.array([0, len(order)], dtype=np.int64)
        return Run(offsets, entities[order], scores[order], hops[order])

    def walked(self, question: LinkedQuestion, reached: Reached, scores: NDArray[Any]) -> Run:
        """One question's run of all that was reached, with its hops and a shortest walk to each.

        scores: a number for each of `reached.entities`.
        """
        run = self.ranked(question, reached.entities, scores.astype(np.float64), reached.hops)
        cuts = (
            {} if reached.walked == NOT_CUT else {0: Cut(reached.walked, "max_steps", self.running.max_steps)}
        )
        return replace(run, walks=self.walks(reached, run.entities), cuts=cuts)

    def _returned(
        self, question: LinkedQuestion, entities: NDArray[np.int32], scores: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        kept = (
            scores >= self.settings.min_score if self.settings.min_score > 0 else np.ones(len(scores), bool)
        )
        if self.filters.returned is not None:
            kept &= self.filters.returned[entities]
        if self.settings.exclude_seeds:
            kept &= ~np.isin(entities, [seed.entity for seed in question.named])
        return kept

    def walks(self, reached: Reached, entities: NDArray[np.int32]) -> NDArray[np.int32]:
        """(entities, hops): a shortest walk to each of `entities`, all of them reached.

        Before each entity stands, of those one hop nearer, the first by name, over its first relation.
        """
        walks = np.full((len(entities), self.settings.hops), NO_STEP, dtype=np.int32)
        hop_of = self._hop_of
        hop_of[reached.entities] = reached.hops
        at, hops = entities.copy(), hop_of[entities].copy()
        for hop in range(int(hops.max(initial=0)), 0, -1):
            rows = np.flatnonzero(hops == hop)
            at[rows], walks[rows, hop - 1] = self._step_back(at[rows], hop)
            hops[rows] = hop - 1
        hop_of[reached.entities] = LAST_HOP
        return walks

    @property
    def _hop_of(self) -> NDArray[np.int32]:
        if not hasattr(self, "_hops"):
            self._hops = np.full(len(self.graph), LAST_HOP, dtype=np.int32)
        return self._hops

    def _step_back(
        self, entities: NDArray[np.int32], hop: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For each entity at `hop` the one before it and the relation between."""
        graph = self._backwards
        slots = slots_of(graph, entities)
        owner = np.repeat(np.arange(len(entities)), graph.indptr[entities + 1] - graph.indptr[entities])
        nearer = self._hop_of[graph.neighbours[slots]] == hop - 1
        slots, owner = slots[nearer], owner[nearer]
        before, relation = graph.neighbours[slots], graph.relations[slots]
        order = np.lexsort((relation, self.graph.name_rank[before], owner))
        first = order[np.searchsorted(owner[order], np.arange(len(entities)))]
        return before[first], relation[first]

    @property
    def _backwards(self) -> Adjacency:
        """The relations that lead to an entity; the same as those from it unless one direction is walked."""
        if not hasattr(self, "_back"):
            walked = self.adjacency if self.first is None else self.first
            self._back = walked if self.filters.out and self.filters.against else _reversed(walked)
        return self._back


def house_order(
    graph: KnowledgeGraph,
    entities: NDArray[np.int32],
    scores: NDArray[np.float64],
    hops: NDArray[np.int32],
    depth: int,
) -> NDArray[np.int64]:
    """The first `depth` places by (-score, hop, NFC name, id); what no walk reached stands behind."""
    places = np.arange(len(entities))
    if len(entities) > 4 * depth:  # sorting everything would take longer than finding what to sort
        worst = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        places = np.flatnonzero(scores >= worst)
    chosen, behind = entities[places], np.where(hops[places] == NO_HOP, LAST_HOP, hops[places])
    order = np.lexsort((graph.name_rank[chosen], behind, -scores[places]))
    return places[order[:depth]]


def _walkable(graph: KnowledgeGraph, filters: Filters) -> tuple[Adjacency | None, Adjacency]:
    """(for the first step, for the others); None where both are the same."""
    adjacency = graph.adjacency
    slots = filters.slots(graph)
    walked = adjacency if slots is None else _kept(adjacency, slots)
    if filters.crossed is None:
        return None, walked
    owner = np.repeat(np.arange(len(graph)), walked.degrees)
    return walked, _kept(walked, filters.crossed[owner])


def _kept(adjacency: Adjacency, keep: NDArray[np.bool_]) -> Adjacency:
    before = np.concatenate([[0], np.cumsum(keep)])
    neighbours, relations = adjacency.neighbours[keep], adjacency.relations[keep]
    return Adjacency(before[adjacency.indptr], neighbours, relations, adjacency.forward[keep])


def _reversed(adjacency: Adjacency) -> Adjacency:
    owner = np.repeat(np.arange(len(adjacency.degrees), dtype=np.int32), adjacency.degrees)
    order = np.lexsort((adjacency.relations, owner, adjacency.neighbours))
    indptr = np.zeros_like(adjacency.indptr)
    np.cumsum(np.bincount(adjacency.neighbours, minlength=len(indptr) - 1), out=indptr[1:])
    return Adjacency(indptr, owner[order], adjacency.relations[order], ~adjacency.forward[order])
