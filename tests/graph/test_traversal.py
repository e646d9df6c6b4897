"""Neighbourhoods with hops: against networkx, and the same with numpy, compiled and over threads."""

from __future__ import annotations

import random

import networkx
import numpy as np
import pytest

from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.graph.traversal import Walker, neighbourhoods


def random_graph(seed: int, entities: int = 300, relations: int = 420) -> tuple[Adjacency, networkx.Graph]:
    draw = random.Random(seed)
    pairs = [(draw.randrange(entities), draw.randrange(entities)) for _ in range(relations)]
    peer: networkx.Graph = networkx.Graph()
    peer.add_nodes_from(range(entities))
    peer.add_edges_from(pairs)
    ends = np.array(pairs, dtype=np.int32)
    return Adjacency.of(entities, ends[:, 0], ends[:, 1]), peer


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("hops", [0, 1, 2, 3, 9])
def test_hops_are_those_of_networkx(seed: int, hops: int) -> None:
    adjacency, peer = random_graph(seed)
    walker = Walker(adjacency)
    for start in range(100):
        reached = walker.reach([start], hops)
        found = dict(zip(reached.entities.tolist(), reached.hops.tolist(), strict=True))
        assert found == networkx.single_source_shortest_path_length(peer, start, cutoff=hops)
        assert len(found) == len(reached)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_compiled_and_threaded_passes_find_the_same_in_the_same_order(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setattr("tiny_graph_rag.graph.traversal.ROOM", 10)  # blocks fill up, and are continued
    adjacency, _ = random_graph(7)
    draw = random.Random(1)
    starts = [[draw.randrange(300) for _ in range(draw.randrange(4))] for _ in range(70)]
    walker = Walker(adjacency)
    wanted = [walker.reach(each, 3) for each in starts]
    found = neighbourhoods(adjacency, starts, 3, compile=True, threads=threads)
    assert [each.entities.tolist() for each in found] == [each.entities.tolist() for each in wanted]
    assert [each.levels.tolist() for each in found] == [each.levels.tolist() for each in wanted]
    assert list(neighbourhoods(adjacency, [], 3, compile=True, threads=threads)) == []


@pytest.mark.parametrize("compile", [False, True])
def test_an_array_of_starts_asks_one_question_each(compile: bool) -> None:
    if compile:
        pytest.importorskip("numba")
    adjacency, peer = random_graph(3)
    starts = np.array([5, 0, 5, 299, 17])
    found = neighbourhoods(adjacency, starts, 2, compile=compile, threads=2)
    assert len(found) == 5
    for start, each in zip(starts.tolist(), found, strict=True):
        wanted = networkx.single_source_shortest_path_length(peer, start, cutoff=2)
        assert dict(zip(each.entities.tolist(), each.hops.tolist(), strict=True)) == wanted
    assert found[-1].entities.tolist() == found[4].entities.tolist()
    assert [each.entities.tolist() for each in found[1:3]] == [each.entities.tolist() for each in found][1:3]
    with pytest.raises(IndexError):
        found[5]


def test_a_first_step_of_its_own_is_taken_from_the_starts_only() -> None:
    whole = Adjacency.of(4, np.array([0, 1, 2], dtype=np.int32), np.array([1, 2, 3], dtype=np.int32))
    only_one_two = Adjacency.of(4, np.array([1], dtype=np.int32), np.array([2], dtype=np.int32))
    assert Walker(only_one_two, first=whole).reach([0], 3).entities.tolist() == [0, 1, 2]
    assert Walker(only_one_two).reach([0], 3).entities.tolist() == [0]
