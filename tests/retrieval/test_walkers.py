"""Walkers: whole numbers by hand, and the same compiled."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.text_index import Joins, TextIndex
from tiny_graph_rag.retrieval.walkers import MOST_SLOTS, Guide, Start, Visits, Walkers


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


def visited(came: Visits) -> dict[int, int]:
    return dict(sorted(zip(*(each.tolist() for each in came), strict=True)))


@pytest.mark.parametrize("fast", [False, True])
def test_half_of_the_walkers_go_on_by_the_weights_of_relations(fast: bool) -> None:
    graph = KnowledgeGraph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("c", "r", "d")])
    walkers = Walkers(graph.adjacency, TextIndex(graph).joins)
    one, two = (Start(np.array([0]), np.array([800]), steps) for steps in (1, 2))
    # a sends 400 on: 200 and 200; then b sends 100 back, c 50 each to a and d.
    both = walkers.visits([one, two], guide(graph), fast=fast)
    assert [visited(each) for each in both] == [{1: 200, 2: 200}, {0: 150, 1: 200, 2: 200, 3: 50}]
    # The second relation weighs 3000 beside 1000: 100 and 300.
    (preferred,) = walkers.visits([one], guide(graph, {1: 2000}), fast=fast)
    assert visited(preferred) == {1: 100, 2: 300}


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
    starts = [
        Start(np.array([each, each + 100]), np.array([1 << 29, 12345]), 1 + each % 4) for each in range(100)
    ]
    slow, fast = (
        [visited(came) for came in walkers.visits(starts, prefers, fast=each)] for each in (False, True)
    )
    assert slow == fast
    assert slow == [visited(*walkers.visits([each], prefers)) for each in starts]
    assert sum(0 in came for came in slow) > 10  # the hub: from there on, all stay where they are
