"""Triples and Parquet pairs come as columns; what that spares changes nothing of the graph."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.formats.graphs import read_graph, triples
from tiny_graph_rag.formats.graphs.writing import form_of, write_graph
from tiny_graph_rag.graph.model import KnowledgeGraph


def whole(graph: KnowledgeGraph) -> list[Any]:
    entities, relations = graph.entities, graph.relations
    return [
        *map(list, (entities.ids, entities.names, entities.types, entities.descriptions, entities.details)),
        *map(list, (relations.ids, relations.types, relations.descriptions, relations.details)),
        *(relations.sources.tolist(), relations.targets.tolist(), relations.weights.tolist()),
        *(graph.notes.lines(), graph.origin),
    ]


HEADERS = {
    "주어\t관계\t목적어\n": 3,
    "": 3,
    "source\trelation\ttarget\n": 3,
    "Target\tSource\tpredicate\n": 3,
    "head\trelation\ttail\tdescription\tweight\thead_type\ttail_type\n": 7,
    "source\trelation\ttarget\tweight\tyear\n": 5,
}


def test_a_header_in_korean_is_no_triple(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("주어,관계,목적어,주어 유형\n김첨지,직업,인력거꾼,인물\n", encoding="utf-8-sig")
    graph = read_graph(path)
    assert list(graph.entities.names) == ["김첨지", "인력거꾼"]
    assert list(graph.entities.types) == ["인물", "OTHER"]
    assert list(graph.relations.types) == ["직업"]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("spoiled", ["", " ", '"', "\n\n", "x\ty\n", "\t\t\n", "\r\n", "\ufeff"])
def test_a_file_read_as_columns_is_the_graph_of_its_cells(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch, header: str, spoiled: str
) -> None:
    chance = random.Random(header + spoiled)
    values = ["Ann", "Ben", "점순", "Old Mill", "C&A", "é", "Ann B"]
    lines = []
    for _ in range(60):
        cells = [chance.choice(values) for _ in range(HEADERS[header])]
        if "weight" in header:
            cells[header.split("\t").index("weight") if HEADERS[header] == 7 else 3] = chance.choice(
                ("1", "2.5", "1e3", "0")
            )
        lines.append("\t".join(cells) + "\n")
    lines.insert(30, spoiled)
    path = own_folder / "t.tsv"
    path.write_text(header + "".join(lines), encoding="utf-8", newline="")
    found = whole(read_graph(path))
    monkeypatch.setattr(triples, "_quick", lambda path, rows: None)
    assert found == whole(read_graph(path))


def test_a_sound_file_is_read_as_columns(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_folder / "t.tsv").write_text("Ann\tknows\tBen\nBen\tknows\t점순\n", encoding="utf-8")
    monkeypatch.setattr(triples, "_columns", None)  # the careful reader's
    graph = read_graph(own_folder / "t.tsv")
    assert list(graph.entities.names) == ["Ann", "Ben", "점순"]
    assert list(graph.relations.ids) == ["line 1", "line 2"]


def test_a_pair_of_parquet_files_holds_what_the_triples_hold(own_folder: Path) -> None:
    (own_folder / "t.tsv").write_text(
        "source\trelation\ttarget\tsource_type\nAnn\tknows\tBen\tPERSON\nBen\t\t점순\t\n", encoding="utf-8"
    )
    graph = read_graph(own_folder / "t.tsv")
    write_graph(graph, own_folder / "pair", form_of(own_folder / "pair", None))
    again = read_graph(own_folder / "pair")
    assert whole(again)[:-1] == whole(graph)[:-1]
    assert list(again.relations.types) == ["knows", "RELATED_TO"]


@pytest.mark.parametrize("numbers", [range(0), range(12), range(1, 2), range(8, 1203), range(100, 100)])
def test_numbered_labels(numbers: range) -> None:
    assert list(Strings.numbered("line ", numbers)) == [f"line {number}" for number in numbers]
