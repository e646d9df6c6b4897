"""The plainest baseline: what a naive walk gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Retriever, Run, Task
from tiny_graph_rag.retrieval.candidates import Candidates


class PlainBfsRetriever(Retriever):
    """Hop, then name. The score is 1 / (1 + hop), in (0, 1]."""

    name: ClassVar[str] = "bfs-plain"

    def __init__(self, task: Task) -> None:
        self.candidates = Candidates(task)

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        parts = []
        for question, reached in zip(questions, self.candidates.reached(questions), strict=True):
            hops = reached.hops
            scores: np.ndarray = 1.0 / (1.0 + hops)
            run = self.candidates.ranked(question, reached.entities, scores, hops)
            parts.append(replace(run, walks=self.candidates.walks(reached, run.entities)))
        return Run.concatenated(parts)

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """Nearest first: what lies within fewer hops stands in front."""
        deepest = self.retrieve(questions)
        return (deepest.where(deepest.hops <= each) for each in hops)
