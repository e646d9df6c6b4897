"""A graph that DuckDB loads is the graph that the readers build in memory."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph import large
from tiny_graph_rag.graph.tables import entity_ranges
from tiny_graph_rag.retrieval import candidates
from tiny_graph_rag.retrieval.candidates import Filters, walked_columns

pytest.importorskip("duckdb")
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
