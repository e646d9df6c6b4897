"""Counts of a graph, against networkx and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import networkx
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import kg
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.statistics import components, statistics

EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20)


@given(EDGES)
def test_components_are_those_of_networkx(tmp_path_factory, edges: list[tuple[int, int]]) -> None:
    path = tmp_path_factory.mktemp("kg") / "a-KG.json"
    path.write_text(json.dumps(kg([f"e{n}" for n in range(12)], [(f"e{a}", "R", f"e{b}") for a, b in edges])))
    graph = read_graph(path)
    expected = {
        frozenset(item) for item in networkx.connected_components(graph.to_networkx().to_undirected())
    }
    label = components(graph)
    found = {
        frozenset(f"e{row}" for row in range(12) if label[row] == component)
        for component in set(label.tolist())
    }
    assert found == expected


def test_counts_of_a_small_graph(tmp_path: Path) -> None:
    path = tmp_path / "a-KG.json"
    relations = [("A", "OWNS", "B"), ("A", "OWNS", "B"), ("A", "KNOWS", "A"), ("A", "OWNS", "ghost")]
    path.write_text(json.dumps(kg([("A", ["Anna", "Ann"]), "B", "C"], relations)))
    found = statistics(read_graph(path))
    assert (found.entities, found.relations, found.dangling_relations) == (3, 3, 1)
    assert (found.duplicate_relations, found.self_loops) == (1, 1)
    assert (found.aliases, found.entities_with_aliases) == (2, 1)
    assert found.components == (2, 1)  # {A, B} and {C}
    assert found.relation_types == {"OWNS": 2, "KNOWS": 1}
    assert found.mean_degree == (2 + 2 + 0) / 3
