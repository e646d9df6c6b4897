"""Breadth-first retrieval: every entity within the hops, nearest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

import numpy as np

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import NO_STEP, Retriever, Run, Task
from tiny_graph_rag.retrieval.filters import Filters


class PlainBfsRetriever(Retriever):
    """Hop, then name: what a naive walk gives."""

    name: ClassVar[str] = "bfs-plain"

    def __init__(
        self,
        graph: KnowledgeGraph,
        *,
        hops: int,
        depth: int,
        exclude_seeds: bool = False,
        filters: Filters | None = None,
    ) -> None:
        self.graph, self.hops, self.depth, self.exclude_seeds = graph, hops, depth, exclude_seeds
        self.filters = filters or Filters()
        walked = self.filters.slots(graph)
        self._walked = np.ones(len(graph.adjacency.relations), dtype=bool) if walked is None else walked

    @classmethod
    def of(cls, task: Task) -> Self:
        settings = task.config.retrieval
        if settings.min_score > 0:
            raise UsageError(
                "--min-score needs a retriever whose scores mean something; bfs-plain's are hops"
            )
        return cls(
            task.graph,
            hops=settings.hops,
            depth=settings.depth,
            exclude_seeds=settings.exclude_seeds,
            filters=Filters.of(task.graph, settings),
        )

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return Run.concatenated([self._ranked(question) for question in questions])

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """Nearest first: what lies within fewer hops stands in front."""
        deepest = self.retrieve(questions)
        return (deepest.where(deepest.hops <= each) for each in hops)

    def _ranked(self, question: LinkedQuestion) -> Run:
        adjacency, rank = self.graph.adjacency, self.graph.name_rank
        hop_of: dict[int, int] = {}
        step: dict[int, tuple[int, int]] = {}
        frontier = sorted({seed.entity for seed in question.seeds})
        for hop in range(self.hops + 1):
            hop_of.update(dict.fromkeys(frontier, hop))
            reached: list[int] = []
            if hop < self.hops:
                for entity in sorted(frontier, key=rank.__getitem__):
                    if hop and self.filters.crossed is not None and not self.filters.crossed[entity]:
                        continue
                    for slot in range(int(adjacency.indptr[entity]), int(adjacency.indptr[entity + 1])):
                        neighbour = int(adjacency.neighbours[slot])
                        if self._walked[slot] and neighbour not in hop_of and neighbour not in step:
                            step[neighbour] = (entity, int(adjacency.relations[slot]))
                            reached.append(neighbour)
            frontier = reached
        allowed = [entity for entity in hop_of if self._returned(entity, hop_of[entity])]
        ranked = sorted(allowed, key=lambda entity: (hop_of[entity], rank[entity]))[: self.depth]
        walks = np.full((len(ranked), self.hops), NO_STEP, dtype=np.int32)
        for row, entity in enumerate(ranked):
            for place in range(hop_of[entity] - 1, -1, -1):
                entity, walks[row, place] = step[entity]
        hops = np.array([hop_of[entity] for entity in ranked], dtype=np.int32)
        offsets = np.array([0, len(ranked)], dtype=np.int64)
        return Run(offsets, np.array(ranked, dtype=np.int32), -hops.astype(np.float64), hops, walks)

    def _returned(self, entity: int, hop: int) -> bool:
        if self.exclude_seeds and hop == 0:
            return False
        return self.filters.returned is None or bool(self.filters.returned[entity])
