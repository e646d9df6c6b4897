"""Shortest walks, against networkx on random graphs."""

from __future__ import annotations

import networkx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tiny_graph_rag.graph.distances import shortest_walks
from tiny_graph_rag.graph.tables import Adjacency

ENTITIES = 9
PAIRS = st.lists(st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, ENTITIES - 1)), max_size=20)


@given(PAIRS, st.lists(st.integers(0, ENTITIES - 1), max_size=3))
def test_walks_are_as_short_as_networkx_says_and_hang_together(pairs, seeds):
    sources, targets = (np.array([pair[end] for pair in pairs], dtype=np.int32) for end in (0, 1))
    graph = networkx.MultiGraph(pairs)
    graph.add_nodes_from(range(ENTITIES))
    walks = shortest_walks(Adjacency.of(ENTITIES, sources, targets), seeds, range(ENTITIES))
    for target in range(ENTITIES):
        lengths = [
            networkx.shortest_path_length(graph, seed, target)
            for seed in seeds
            if networkx.has_path(graph, seed, target)
        ]
        assert (target in walks) == bool(lengths)
        if not lengths:
            continue
        assert len(walks[target]) == min(lengths)
        at = target
        for relation in reversed(walks[target]):
            ends = set(pairs[relation])
            assert at in ends
            (at,) = ends - {at}
        assert at in seeds


def test_a_walk_goes_either_way_along_a_relation():
    # 0 → 1 ← 2: from 0 to 2 by relation 0 forward, then relation 1 backward
    adjacency = Adjacency.of(3, np.array([0, 2], dtype=np.int32), np.array([1, 1], dtype=np.int32))
    assert shortest_walks(adjacency, [0], [2, 0]) == {2: [0, 1], 0: []}
