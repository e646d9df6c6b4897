"""Counts of a graph, against networkx and by hand; entities that are one by an abbreviation."""

from __future__ import annotations

import json
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import kg
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.namesakes import abbreviations, namesakes
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


def graph(*names: str, text: str = "") -> KnowledgeGraph:
    """text: the description of the last one."""
    records = {name: {"name": name} for name in names}
    records[names[-1]]["description"] = text
    return KnowledgeGraph.from_records(records, [])


@pytest.mark.parametrize(
    ("names", "text", "groups"),
    [
        (("Acute Leukemia (AL)", "AL", "acute leukemia", "al"), "", [{0, 1, 2}]),  # `al` is another word
        (("Product Managers (PMs)", "PM", "product manager"), "", [{0, 1, 2}]),
        (("BCC", "Basal Cell Carcinoma", "x"), "A basal cell carcinoma (BCC) grows slowly.", [{0, 1}]),
        (("Programmed Death 1 (PD-1)", "Pupillary Distance 1 (PD-1)", "PD-1"), "", []),
        (("Paris (France)", "Paris", "France"), "", []),
        (("primer binding site", "x (primer binding site (PBS))", "PBS"), "A salty buffer.", []),
    ],
)
def test_a_name_or_a_text_says_which_entities_are_one(
    names: tuple[str, ...], text: str, groups: list[set[int]]
) -> None:
    found = [set(one.rows) for one in abbreviations(graph(*names, text=text)) if len(one.rows) > 1]
    assert found == groups


def test_letters_of_two_long_forms_are_unclear() -> None:
    made = graph("Programmed Death 1 (PD-1)", "Pupillary Distance 1 (PD-1)", "PD-1")
    assert [one.unclear for one in abbreviations(made)] == [(2,), (2,)]


def test_statistics_count_the_entities_that_look_like_a_form_of_another() -> None:
    made = graph("Acute Leukemia (AL)", "AL", "acute leukemia", "Anna")
    pairs = [("AL", "Acute Leukemia (AL)"), ("acute leukemia", "Acute Leukemia (AL)")]
    assert namesakes(made) == pairs
    assert statistics(made).namesakes == tuple(pairs)
