"""Distances from seeds to references, searched once however many tables are made from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.arrays import distinct
from tiny_graph_rag.dataset.resolve import Judgments
from tiny_graph_rag.graph.distances import Columns, hops_between
from tiny_graph_rag.graph.model import Adjacency
from tiny_graph_rag.linking import LinkedQuestion

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
        asked = distinct(question)[0]
        bounds = np.searchsorted(keys, np.stack([asked, asked + 1]) * universe).T.tolist()
        for row, (low, high) in zip(asked.tolist(), bounds, strict=True):
            seeds = frozenset(seed.entity for seed in linked[row].seeds)
            if seeds != self._seeds[row]:
                self._seeds[row] = seeds
                self._hops[low:high] = _UNKNOWN
        new = self._hops[pairs] == _UNKNOWN
        if new.any():
            wanted = (question[new], entity[new])
            self._hops[pairs[new]] = hops_between(self.adjacency, seed_columns(linked), wanted)
        return self._hops[pairs]


def seed_columns(linked: Sequence[LinkedQuestion]) -> Columns:
    """(question, entity) of every seed, questions ascending."""
    pairs = [(row, seed.entity) for row, each in enumerate(linked) for seed in each.seeds]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
