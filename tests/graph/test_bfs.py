"""Breadth-first search: hops, sizes and paths against networkx; a bit each and from both ends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.study.small import graph_of
from tiny_graph_rag.graph import bfs
from tiny_graph_rag.graph.bfs import (
    NOT_REACHED,
    BreadthFirst,
    hops_between,
    shortest_paths,
)
from tiny_graph_rag.graph.tables import Adjacency

ENTITIES = 12
PAIRS = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20)
RANK = np.arange(ENTITIES, dtype=np.int32)


def random_graph(seed: int, entities: int = 300, relations: int = 420) -> tuple[Adjacency, networkx.Graph]:
    draw = random.Random(seed)
    pairs = [(draw.randrange(entities), draw.randrange(entities)) for _ in range(relations)]
    peer: networkx.Graph = networkx.Graph()
    peer.add_nodes_from(range(entities))
    peer.add_edges_from(pairs)
    return adjacency_of(entities, pairs), peer


def adjacency_of(entities: int, pairs: list[tuple[int, int]]) -> Adjacency:
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return Adjacency.of(entities, ends[:, 0], ends[:, 1])


def columns(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array([(place, one) for place, row in enumerate(rows) for one in row], dtype=np.int64)
    return table.reshape(-1, 2)[:, 0], table.reshape(-1, 2)[:, 1]


@pytest.mark.parametrize("hops", [0, 1, 2, 3, 9])
def test_hops_are_those_of_networkx(hops: int) -> None:
    for seed in range(3):
        adjacency, peer = random_graph(seed)
        search = BreadthFirst(adjacency)
        for start in range(100):
            reached = search.reach([start, start], hops)
            measured = dict(zip(reached.entities.tolist(), reached.hops.tolist(), strict=True))
            assert measured == networkx.single_source_shortest_path_length(peer, start, cutoff=hops)
            assert len(measured) == len(reached)


def test_a_search_ends_behind_the_hop_that_has_enough() -> None:
    # 0 – 1, 2 – 3, 4, 5 – 6
    adjacency = adjacency_of(7, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (5, 6)])
    search = BreadthFirst(adjacency)
    assert search.reach([0], 3, enough=2).levels.tolist() == [0, 1, 3, 3, 3]
    whole = search.reach([0], 3)
    assert whole.levels.tolist() == [0, 1, 3, 6, 7]
    assert whole.within(2).entities.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.fixture(scope="module", params=["a bit each", "both ends", "both ends at once"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param.startswith("both"):
            patch.setattr(bfs, "BOTH_ENDS_FROM", -1)
        if request.param == "both ends at once":
            patch.setattr(bfs, "SLOTS_A_LEVEL", -1)
        yield


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    pairs=PAIRS,
    seeds=st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=1, max_size=4),
    closed=st.sets(st.integers(0, 39)),
)
def test_distances_are_networkx_shortest_paths_whatever_slots_are_closed(
    way: None, pairs: Any, seeds: list[list[int]], closed: set[int]
) -> None:
    adjacency = graph_of(ENTITIES, pairs).adjacency
    slots = np.arange(len(adjacency.neighbours))
    passable = ~np.isin(slots, list(closed))
    wanted = columns([list(range(ENTITIES))] * len(seeds))
    owner = np.repeat(np.arange(ENTITIES), adjacency.degrees).tolist()
    for walked in (None, passable):
        peer = networkx.DiGraph()
        peer.add_nodes_from(range(ENTITIES))
        for slot, neighbour in enumerate(adjacency.neighbours.tolist()):
            if walked is None or walked[slot]:
                peer.add_edge(owner[slot], neighbour)
        expected = []
        for own in seeds:
            away = networkx.multi_source_dijkstra_path_length(peer, set(own)) if own else {}
            expected += [away.get(entity, NOT_REACHED) for entity in range(ENTITIES)]
        assert hops_between(adjacency, columns(seeds), wanted, walked).tolist() == expected
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bfs, "LEVELS_AT_ONCE", 2)  # the rest is searched a question at a time
            assert hops_between(adjacency, columns(seeds), wanted, walked).tolist() == expected


def test_more_questions_than_a_block_holds(way: None, monkeypatch: pytest.MonkeyPatch) -> None:
    # A ring of 10; question q starts at entity q % 10 and asks for the one opposite, 5 hops away.
    monkeypatch.setattr(bfs, "BLOCK_BYTES", 1)
    adjacency = adjacency_of(10, [(entity, (entity + 1) % 10) for entity in range(10)])
    questions = np.arange(200)
    hops = hops_between(adjacency, (questions, questions % 10), (questions, (questions + 5) % 10))
    assert hops.tolist() == [5] * 200


def test_a_graph_without_relations_reaches_only_its_seeds(way: None) -> None:
    adjacency = adjacency_of(3, [])
    both = (np.array([0, 0]), np.array([1, 2]))
    assert hops_between(adjacency, (np.array([0]), np.array([1])), both).tolist() == [0, NOT_REACHED]


def test_from_both_ends_no_more_of_a_hub_is_looked_at_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed with 20,000 neighbours, and a target two hops behind one of them: the target's side grows."""
    monkeypatch.setattr(bfs, "BOTH_ENDS_FROM", -1)
    pairs = [(0, spoke) for spoke in range(1, 20_001)] + [(7, 20_001), (20_001, 20_002)]
    adjacency = adjacency_of(20_003, pairs)
    looked = []
    grow_as_is = BreadthFirst.grow
    monkeypatch.setattr(BreadthFirst, "grow", lambda self: looked.append(self.ahead) or grow_as_is(self))
    assert hops_between(adjacency, columns([[0]]), columns([[20_002]])).tolist() == [3]
    assert sum(looked) < 20
    assert shortest_paths(adjacency, np.arange(20_003), [0], [20_002]) == {20_002: [6, 20_000, 20_001]}


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(pairs=PAIRS, seeds=st.lists(st.integers(0, 11), max_size=3))
def test_paths_are_as_short_as_networkx_says_and_hang_together(
    way: None, pairs: list[tuple[int, int]], seeds: list[int]
) -> None:
    peer = networkx.MultiGraph(pairs)
    peer.add_nodes_from(range(ENTITIES))
    paths = shortest_paths(adjacency_of(ENTITIES, pairs), RANK, seeds, range(ENTITIES))
    for target in range(ENTITIES):
        lengths = [
            networkx.shortest_path_length(peer, seed, target)
            for seed in seeds
            if networkx.has_path(peer, seed, target)
        ]
        assert (target in paths) == bool(lengths)
        if not lengths:
            continue
        assert len(paths[target]) == min(lengths)
        at = target
        for relation in reversed(paths[target]):
            (at,) = set(pairs[relation]) - {at}
        assert at in seeds


def test_a_path_goes_either_way_along_a_relation_and_by_the_first_by_rank(way: None) -> None:
    # 0 → 1 ← 2: from 0 to 2 by relation 0 forward, then relation 1 backward
    assert shortest_paths(adjacency_of(3, [(0, 1), (2, 1)]), RANK, [0], [2, 0]) == {2: [0, 1], 0: []}
    # 0 – 1 – 3 and 0 – 2 – 3, twice between 2 and 3
    square = adjacency_of(4, [(0, 1), (1, 3), (0, 2), (3, 2), (2, 3)])
    assert shortest_paths(square, np.array([0, 1, 2, 3]), [0], [3]) == {3: [0, 1]}
    assert shortest_paths(square, np.array([0, 2, 1, 3]), [0], [3]) == {3: [2, 3]}
