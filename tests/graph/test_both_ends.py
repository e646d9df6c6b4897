"""The search from both ends says what the search over the whole graph says."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_graph_rag.graph import distances
from tiny_graph_rag.graph.distances import BothEnds, hops_between, shortest_walks
from tiny_graph_rag.graph.tables import Adjacency


@st.composite
def graphs(draw: Any) -> tuple[Adjacency, list[list[int]], list[list[int]]]:
    """A graph with loops, parallel relations and parts that nothing joins; seeds and targets a question."""
    entities = draw(st.integers(1, 25))
    row = st.integers(0, entities - 1)
    ends = draw(st.lists(st.tuples(row, row), max_size=45))
    sources, targets = (np.array([each[side] for each in ends], dtype=np.int32) for side in (0, 1))
    questions = draw(st.integers(1, 4))
    asked = [draw(st.lists(row, max_size=3)) for _ in range(questions)]
    wanted = [draw(st.lists(row, max_size=4, unique=True)) for _ in range(questions)]
    return Adjacency.of(entities, sources, targets), asked, wanted


def columns(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(place, each) for place, row in enumerate(rows) for each in row]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(case=graphs())
@settings(max_examples=400, deadline=None)
def test_hops_and_walks_are_those_of_the_whole_graphs_search(case: Any) -> None:
    adjacency, asked, wanted = case
    whole = hops_between(adjacency, columns(asked), columns(wanted)).tolist()
    search = BothEnds(adjacency)
    found = []
    for seeds, targets in zip(asked, wanted, strict=True):
        rows = np.array(seeds, dtype=np.int64)
        found += search.hops(rows, targets)
        assert search.walks(rows, targets) == shortest_walks(adjacency, seeds, targets)
    assert found == whole


def test_a_large_graph_is_searched_from_both_ends(monkeypatch: Any) -> None:
    """A path of six, its two ends asked for from the other: 5 hops, and the relations in order."""
    path = np.arange(5, dtype=np.int32)
    adjacency = Adjacency.of(6, path, path + 1)
    monkeypatch.setattr(distances, "BOTH_ENDS_FROM", 1)
    assert hops_between(adjacency, columns([[0], [5]]), columns([[5, 0], [0]])).tolist() == [5, 0, 5]
    assert shortest_walks(adjacency, [0], [5, 2]) == {5: [0, 1, 2, 3, 4], 2: [0, 1]}
