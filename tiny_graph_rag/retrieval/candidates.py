"""What the baselines share: what the settings let in, the tie-break order, and walks for what is ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import zeros_as_touched
from tiny_graph_rag.graph.bfs import NOT_CUT, BreadthFirst, Reached, paths_back, worth_searching
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Task
from tiny_graph_rag.retrieval.filters import Filters
from tiny_graph_rag.run import NO_HOP, Cut, Run

LAST_HOP = np.iinfo(np.int32).max  # what no walk reached stands behind what one did


class Candidates:
    """The entities that a task's settings let a retriever return, and the relations that it may walk."""

    def __init__(self, task: Task) -> None:
        self.graph, self.settings, self.running = task.graph, task.config.retrieval, task.config.running
        self.filters = Filters.of(task.graph, self.settings)
        self.first, self.adjacency = _walkable(task.graph, self.filters)

    def reached(
        self, questions: Sequence[LinkedQuestion], *, nearest: bool = False, every_seed: bool = False
    ) -> Iterator[Reached]:
        """What lies within the hops of each question's seeds, over the relations that may be walked; searched
        when it is asked for, and not kept.

        every_seed: from seeds by text also where a question has named ones. nearest: whole hops as far as the
        depth is filled, where a ranking takes what is nearest.
        """
        compile = worth_searching(self.adjacency, len(questions), allowed=self.running.compiled)
        search = BreadthFirst(self.adjacency, self.first, compile=compile)
        for question in questions:
            seeds = {seed.entity for seed in (question.seeds if every_seed else question.starts)}
            enough = 0
            if nearest and self.filters.returned is None:
                enough = self.settings.depth + (len(seeds) if self.settings.exclude_seeds else 0)
            yield search.reach(list(seeds), self.settings.hops, most=self.running.max_steps, enough=enough)

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
        """(entities, hops): a shortest walk to each of `entities`, all of them reached."""
        if not hasattr(self, "_levels"):
            self._levels = zeros_as_touched(len(self.graph), np.int32)
        self._levels[reached.entities] = reached.hops + 1
        walks = paths_back(self._backwards, self._levels, entities, self.graph.name_rank, self.settings.hops)
        self._levels[reached.entities] = 0
        return walks

    @property
    def _backwards(self) -> Adjacency:
        """The relations that lead to an entity; the same as those from it unless one direction is walked."""
        if not hasattr(self, "_back"):
            walked = self.adjacency if self.first is None else self.first
            self._back = walked if self.filters.out and self.filters.against else walked.reversed()
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
    walked = adjacency if slots is None else adjacency.only(slots)
    if filters.crossed is None:
        return None, walked
    owner = np.repeat(np.arange(len(graph)), walked.degrees)
    return walked, walked.only(filters.crossed[owner])
