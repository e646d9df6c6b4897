"""How far the hops reach, whatever the ranking: the share of references and the number of entities within."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.dataset.resolve import Judgments
from tiny_graph_rag.evaluation.diagnosis.free_hops import seed_columns
from tiny_graph_rag.evaluation.diagnosis.hop_tags import nearest_hops
from tiny_graph_rag.evaluation.diagnosis.verdicts import Limits
from tiny_graph_rag.graph.distances import NOT_REACHED, hops_between, sizes_within
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking import LinkedQuestion


@dataclass(frozen=True, slots=True)
class Reach:
    """What the hops allow over a slice; NaN without gold.

    oracle_recall: mean share of references within them; oracle_all: share of questions all of whose are.
    """

    oracle_recall: float
    oracle_all: float


@dataclass(frozen=True, slots=True, eq=False)
class Reaches:
    """What one retriever's hops allow, question by question.

    items: int32, hops to each relevant item, None where the retriever does not walk; sizes: (questions,
    hops + 1) entities reached.
    """

    judgments: Judgments
    items: NDArray[np.int32] | None
    sizes: NDArray[np.int64] | None

    @classmethod
    def of(
        cls,
        graph: KnowledgeGraph,
        judgments: Judgments,
        linked: Sequence[LinkedQuestion],
        limits: Limits,
        hops: Sequence[int],
    ) -> Reaches:
        if not limits.walks:
            return cls(judgments, None, None)
        seeds, universe = seed_columns(linked), max(judgments.universe, 1)
        pairs = (judgments.pair_keys // universe, judgments.pair_keys % universe)
        masks = (limits.passable, limits.onward)
        return cls(
            judgments,
            nearest_hops(judgments, hops_between(graph.adjacency, seeds, pairs, *masks)),
            sizes_within(graph.adjacency, seeds, len(judgments), max(hops), *masks),
        )

    def of_slice(self, hops: int | None, rows: NDArray[np.int64]) -> Reach:
        """rows: the questions of the slice; those without gold are left out."""
        relevant = self.judgments.relevant
        rows = rows[relevant[rows] > 0]
        if hops is None or self.items is None or not len(rows):
            return Reach(float("nan"), float("nan"))
        near = (self.items != NOT_REACHED) & (self.items <= hops)
        before = np.concatenate([[0], np.cumsum(near)])
        offsets = self.judgments.item_offsets
        found = (before[offsets[1:]] - before[offsets[:-1]])[rows]
        return Reach(float((found / relevant[rows]).mean()), float((found == relevant[rows]).mean()))

    def reached(self, hops: int | None) -> tuple[float, float]:
        """Entities within the hops a question: mean and 95th percentile."""
        if hops is None or self.sizes is None or not len(self.sizes):
            return float("nan"), float("nan")
        column = self.sizes[:, hops]
        return float(column.mean()), float(np.quantile(column, 0.95))
