"""Counts of a graph, against networkx and by hand; entities that are one by an abbreviation; a graph that
DuckDB loads is the graph that the readers build in memory."""

from __future__ import annotations

import json
import random
from pathlib import Path

import networkx
import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tests.conftest import kg
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph import large
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.namesakes import abbreviations, namesakes
from tiny_graph_rag.graph.statistics import components, statistics
from tiny_graph_rag.graph.tables import entity_ranges
from tiny_graph_rag.retrieval import candidates
from tiny_graph_rag.retrieval.candidates import Filters, walked_columns

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


STREAMED = "tiny_graph_rag.formats.graphs.STREAMED_FROM_BYTES"
ARRAYS = ("sources", "targets", "weights")


def rows(count: int = 400) -> list[tuple[str, str, str]]:
    """Few names, so that pairs repeat; spaces around some, empty ends and relations, loops, Hangul, NFD."""
    dice = random.Random(3)
    names = [*(f"Name {n}" for n in range(60)), "점순", "수탉", "Ünal", "U\u0308nal", "z", "Z", ""]
    types = ["KNOWS", "OWNS", "", "적", "is"]
    found = [(dice.choice(names), dice.choice(types), dice.choice(names)) for _ in range(count)]
    return [(f" {a}" if a and not n % 17 else a, b, c) for n, (a, b, c) in enumerate(found)]


def tsv(path: Path, triples: list[tuple[str, str, str]], header: str = "") -> Path:
    lines = [header, *("\t".join(triple) for triple in triples)] if header else map("\t".join, triples)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def table(path: Path, triples: list[tuple[str, str, str]]) -> Path:
    columns = dict(zip(("head", "relation", "tail"), zip(*triples, strict=True), strict=True))
    texts = {name: pyarrow.array([value or None for value in column]) for name, column in columns.items()}
    texts["relation"] = texts["relation"].dictionary_encode()
    parquet.write_table(pyarrow.table(texts), path, row_group_size=37)
    return path


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything goes through the disk, in pieces of a few rows."""
    pytest.importorskip("duckdb")
    monkeypatch.setattr(large, "LARGE_FROM_ROWS", 1)
    monkeypatch.setattr(STREAMED, 1)
    monkeypatch.setattr("tiny_graph_rag.formats.graphs.CACHED_FROM_BYTES", 1)
    monkeypatch.setattr(candidates, "SLOTS_AT_ONCE", 50)


def same(one, other) -> None:
    assert list(one.entities.names) == list(other.entities.names)
    assert list(one.entities.types) == list(other.entities.types)
    for name in ARRAYS:
        assert getattr(one.relations, name).tolist() == getattr(other.relations, name).tolist()
    assert list(one.relations.types) == list(other.relations.types)
    for name in ("indptr", "neighbours", "relations", "forward"):
        assert getattr(one.adjacency, name).tolist() == getattr(other.adjacency, name).tolist()
    assert one.name_rank.tolist() == other.name_rank.tolist()
    mine, theirs = (walked_columns(item, Filters()) for item in (one, other))
    for name in ("indptr", "kind", "neighbours", "relations"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), strict=True)


@pytest.mark.parametrize("write", [tsv, lambda path, it: tsv(path, it, "source\trelation\ttarget"), table])
def test_a_graph_from_disk_is_the_graph_from_memory(write, tmp_path, all_large, monkeypatch):
    path = write(tmp_path / ("x.parquet" if write is table else "x.tsv"), rows())
    said: list[str] = []
    streamed = read_graph(path, tmp_path / "cache", said.append)
    assert "are loaded once into" in said[0]
    assert streamed.origin.writer == "triples, out of core"
    same(streamed, read_graph(path))
    monkeypatch.undo()
    same(streamed, read_graph(path))  # the columns that are walked, too, when they are sorted all at once


def test_what_is_left_out_is_counted(tmp_path, all_large):
    triples = [("a", "r", "b"), ("", "r", "b"), ("b", "r", "b"), ("b", "", "c")]
    graph = read_graph(tsv(tmp_path / "x.tsv", triples), tmp_path / "cache")
    assert len(graph.relations) == 3
    assert [line.split(" (")[0] for line in graph.notes.lines()] == [
        "1 relation left out because an endpoint does not exist",
        "1 self-loop",
    ]
    assert list(graph.relations.types) == ["r", "r", "RELATED_TO"]
    assert list(graph.relations.ids) == [""] * 3


@pytest.mark.parametrize(("most", "problem"), [(300, "relations; at most 300"), (65, "entities; at most 65")])
def test_more_rows_than_32_bits_count_are_refused(tmp_path, all_large, monkeypatch, most, problem):
    path = tsv(tmp_path / "x.tsv", rows() if most == 300 else [(f"a{n}", "r", "b") for n in range(65)])
    monkeypatch.setattr(large, "MOST_ROWS", most)
    with pytest.raises(GraphError, match=problem):
        read_graph(path, tmp_path / "cache")


def test_a_line_with_another_number_of_fields_is_named(tmp_path, all_large):
    path = tsv(tmp_path / "x.tsv", [*rows(), ("a", "b", "c\td")])
    with pytest.raises(GraphError, match=r"Line: 401 .*Expected Number of Columns: 3 Found: 4"):
        read_graph(path, tmp_path / "cache")


def test_ranges_hold_every_entity_once_and_a_hub_alone():
    indptr = np.array([0, 2, 4, 104, 104, 105])
    assert list(entity_ranges(indptr, 4)) == [(0, 2), (2, 3), (3, 5)]
    assert list(entity_ranges(indptr, 1000)) == [(0, 5)]
    assert list(entity_ranges(np.zeros(4, np.int64), 4)) == [(0, 3)]
