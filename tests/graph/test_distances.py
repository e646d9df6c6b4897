"""Hops from seeds equal networkx's shortest paths, with and without forbidden slots, over many questions."""

from __future__ import annotations

from collections.abc import Iterator

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.study.small import graph_of
from tiny_graph_rag.graph import distances
from tiny_graph_rag.graph.distances import NOT_REACHED, hops_between, sizes_within


@pytest.fixture(scope="module", params=[False, True], ids=["numpy", "compiled"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "worth_compiling", lambda steps: request.param)
        yield


@settings(max_examples=300, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20),
    seeds=st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=1, max_size=4),
    closed=st.sets(st.integers(0, 39)),
)
def test_hops_are_networkx_shortest_paths(way, edges, seeds, closed) -> None:
    graph = graph_of(12, edges)
    adjacency = graph.adjacency
    passable = ~np.isin(np.arange(len(adjacency.neighbours)), list(closed))
    question = np.repeat(np.arange(len(seeds)), [len(each) for each in seeds])
    columns = (question, np.array([one for each in seeds for one in each], dtype=np.int64))
    wanted = (np.repeat(np.arange(len(seeds)), 12), np.tile(np.arange(12), len(seeds)))
    for mask in (None, passable):
        walkable = networkx.DiGraph()
        walkable.add_nodes_from(range(12))
        owner = np.repeat(np.arange(12), adjacency.degrees)
        for slot, neighbour in enumerate(adjacency.neighbours.tolist()):
            if mask is None or mask[slot]:
                walkable.add_edge(int(owner[slot]), neighbour)
        expected = []
        for each in seeds:
            away = networkx.multi_source_dijkstra_path_length(walkable, set(each)) if each else {}
            expected += [away.get(entity, NOT_REACHED) for entity in range(12)]
        assert hops_between(adjacency, columns, wanted, mask).tolist() == expected
        sizes = sizes_within(adjacency, columns, len(seeds), 3, mask)
        apart = np.array(expected).reshape(-1, 12)
        for hops in range(4):
            assert sizes[:, hops].tolist() == ((apart >= 0) & (apart <= hops)).sum(axis=1).tolist()


def test_more_questions_than_a_block_holds(way, monkeypatch) -> None:
    # A ring of 10; question q starts at entity q % 10 and asks for the one opposite, 5 hops away.
    monkeypatch.setattr(distances, "BLOCK_BYTES", 1)
    graph = graph_of(10, [(each, (each + 1) % 10) for each in range(10)])
    questions = np.arange(200)
    hops = hops_between(graph.adjacency, (questions, questions % 10), (questions, (questions + 5) % 10))
    assert hops.tolist() == [5] * 200


def test_a_graph_without_relations_reaches_only_its_seeds(way) -> None:
    graph = graph_of(3, [])
    both = (np.array([0, 0]), np.array([1, 2]))
    assert hops_between(graph.adjacency, (np.array([0]), np.array([1])), both).tolist() == [0, NOT_REACHED]
