"""Walkers: whole numbers by hand, and the same compiled."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.text_index import Joins, TextIndex
from tiny_graph_rag.retrieval.walkers import MOST_SLOTS, Guide, Walkers


def guide(graph: KnowledgeGraph, added: dict[int, int] | None = None) -> Guide:
    """Every relation weighs 1000, those of `added` more."""
    types = graph.relations.types
    rows = sorted(added or {})
    return Guide(
        types.codes,
        np.full(len(types.names) + 1, 1000),
        np.array(rows, dtype=np.int32),
        np.array([(added or {})[row] for row in rows], dtype=np.int64),
    )


@pytest.mark.parametrize("fast", [False, True])
def test_half_of_the_walkers_go_on_by_the_weights_of_relations(fast: bool) -> None:
    graph = KnowledgeGraph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("c", "r", "d")])
    walkers = Walkers(graph.adjacency, TextIndex(graph).joins)
    at, mass = np.array([0], dtype=np.int32), np.array([800])
    # a sends 400 on: 200 and 200; then b sends 100 back, c 50 each to a and d.
    assert walkers.visits(at, mass, guide(graph), 1, fast=fast).tolist() == [0, 200, 200, 0]
    assert walkers.visits(at, mass, guide(graph), 2, fast=fast).tolist() == [150, 200, 200, 50]
    # The second relation weighs 3000 beside 1000: 100 and 300.
    assert walkers.visits(at, mass, guide(graph, {1: 2000}), 1, fast=fast).tolist() == [0, 100, 300, 0]


def test_compiled_walkers_are_the_same_on_a_large_graph_with_joins_and_stop_at_hubs() -> None:
    random = np.random.default_rng(5)
    ends = random.integers(0, 300, (1500, 2))
    hub = [("e0", "r", f"far{each}") for each in range(MOST_SLOTS)]
    graph = KnowledgeGraph.from_triples([(f"e{a}", f"r{a % 7}", f"e{b}") for a, b in ends.tolist()] + hub)
    size = len(graph)
    beside = np.sort(random.integers(0, size, 2000))
    joins = Joins(
        np.searchsorted(beside, np.arange(size + 1)).astype(np.int32),
        random.integers(0, size, 2000).astype(np.int32),
        random.integers(1, 1000, 2000).astype(np.uint16),
    )
    prefers = guide(
        graph, {int(row): int(row) % 900 for row in random.integers(0, len(graph.relations), 400)}
    )
    walkers = Walkers(graph.adjacency, joins)
    stopped = 0
    for start in range(100):
        at, mass = np.array([start, start + 100], dtype=np.int32), np.array([1 << 29, 12345])
        slow, fast = (walkers.visits(at, mass, prefers, 4, fast=each) for each in (False, True))
        assert slow.tolist() == fast.tolist()
        stopped += int(slow[0] > 0)
    assert stopped > 10
