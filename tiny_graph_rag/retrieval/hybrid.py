"""Several retrievers as one: reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import NO_HOP, NO_STEP, Retriever, Run, Task
from tiny_graph_rag.retrieval.candidates import Candidates

RANK_OFFSET = 60  # the constant of the paper; damps how much the very first ranks count


class HybridRetriever(Retriever):
    """Reciprocal rank fusion: the sum of 1 / (60 + rank) over the retrievers that return an entity.

    Divided by what first place everywhere would give, so that scores lie in (0, 1]. Hop and walk are those
    of the first retriever that walked to the entity.
    Source: Cormack, Clarke & Büttcher, Reciprocal rank fusion (SIGIR 2009).
    """

    name: ClassVar[str] = "hybrid"
    argument: ClassVar[str] = "NAME+NAME"

    def __init__(self, task: Task, parts: Sequence[Retriever]) -> None:
        self.candidates, self.parts = Candidates(task), parts

    @classmethod
    def of(cls, task: Task) -> Self:
        from tiny_graph_rag.retrieval import make_retriever

        names = [name.strip() for name in task.argument.split("+")]
        if len(names) < 2 or len(set(names)) < len(names) or any(name.startswith("hybrid") for name in names):
            raise UsageError(
                f"--retriever hybrid wants different retrievers, as in hybrid:bfs+bm25; got {task.argument!r}"
            )
        # What is below --min-score is so after fusing, not before.
        config = task.config
        each = [
            replace(config, retrieval=replace(config.retrieval, retriever=name, min_score=0.0))
            for name in names
        ]
        return cls(task, [make_retriever(task.graph, one, task.examples, task.judgments) for one in each])

    def prepare(self, linked: Callable[[], Sequence[LinkedQuestion]]) -> None:
        for part in self.parts:
            part.prepare(linked)

    def notes(self) -> list[str]:
        return [line for part in self.parts for line in part.notes()]

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        runs = [part.retrieve(questions) for part in self.parts]
        return Run.concatenated([self._fused(question, row, runs) for row, question in enumerate(questions)])

    def _fused(self, question: LinkedQuestion, row: int, runs: Sequence[Run]) -> Run:
        shares: dict[int, list[float]] = {}
        hop_of: dict[int, int] = {}
        walk_of: dict[int, np.ndarray] = {}
        for run in runs:
            place = run.rows(row)
            for rank, entity in enumerate(run.entities[place].tolist(), start=1):
                shares.setdefault(entity, []).append(1 / (RANK_OFFSET + rank))
                at = place.start + rank - 1
                if run.hops[at] != NO_HOP and entity not in hop_of:
                    hop_of[entity] = int(run.hops[at])
                    if run.walks is not None:
                        walk_of[entity] = run.walks[at]
        best = len(runs) / (RANK_OFFSET + 1)
        entities = np.array(list(shares), dtype=np.int32)
        # Added from the smallest up: the order of the retrievers must not decide between equal sums.
        scores = np.array([min(sum(sorted(each)) / best, 1.0) for each in shares.values()], dtype=np.float64)
        hops = np.array([hop_of.get(entity, NO_HOP) for entity in shares], dtype=np.int32)
        run = self.candidates.ranked(question, entities, scores, hops)
        walks = np.full((len(run.entities), self.candidates.settings.hops), NO_STEP, dtype=np.int32)
        for at, entity in enumerate(run.entities.tolist()):
            if entity in walk_of:
                walks[at, : len(walk_of[entity])] = walk_of[entity]
        return replace(run, walks=walks)
