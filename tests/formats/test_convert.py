"""`convert`: what goes out comes back, and networkx and pandas read it too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import pandas
import pytest
from click.testing import Result

from tests.conftest import ROOT, write_kg
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.model import KnowledgeGraph

GRAPHS = ROOT / "tests" / "fixtures" / "graphs"
SOURCES = [
    *sorted(path for path in GRAPHS.iterdir() if path.is_dir() and path.name not in ("cognee", "apoc")),
    GRAPHS / "cognee" / "graph.json",
    GRAPHS / "apoc" / "all.json",
    ROOT / "data" / "kg" / "conan-doyle-speckled-band-KG.json",
    ROOT / "data" / "kg" / "김유정-동백꽃-KG.json",
]


def content(graph: KnowledgeGraph) -> list[Any]:
    nodes, edges = graph.entities, graph.relations
    texts = (nodes.ids, nodes.names, nodes.types, nodes.descriptions, nodes.aliases, nodes.source_chunks)
    return [
        *map(list, texts),
        list(map(named, nodes.details)),
        edges.sources.tolist(),
        edges.targets.tolist(),
        *map(list, (edges.ids, edges.types, edges.descriptions, edges.weights, edges.source_chunks)),
        list(map(named, edges.details)),
    ]


def named(details: str) -> dict[str, Any]:
    return {key.rstrip("_"): value for key, value in json.loads(details or "{}").items()}


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
@pytest.mark.parametrize("target", ["x-KG.json", "x.graphml"])
def test_nothing_is_lost_on_the_way_and_back(
    source: Path, target: str, tmp_path: Path, run_cli: Callable[..., Result]
) -> None:
    run_cli("convert", "-g", source, "-o", tmp_path / target, code=0)
    before, after = content(read_graph(source)), content(read_graph(tmp_path / target))
    if target == "x.graphml":  # XML holds texts: a detail of another type comes back as JSON says it
        assert json.dumps(before[:6]) == json.dumps(after[:6])
    assert before == after


FORMS = ("x-KG.json", "x.graphml", "x.tsv", "x.csv")
EVERYTHING = {
    "entities": {
        "1": {
            "name": '점순 "the" girl',
            "entity_type": "PERSON",
            "description": '열일곱,\ttabs\nand lines; <&> \u2028 and "quotes"',
            "aliases": ["순이", "Jeom, Soon"],
            "source_chunks": ["c1", "c2"],
            "age": 17,
        },
        "n2": {"name": "Rooster|수탉", "entity_type": "ANIMAL", "source_chunks": ["c2"]},
        "3": {"name": "Café 'O'"},
    },
    "relationships": [
        {
            "relationship_id": "r0",
            "source_entity_id": "1",
            "target_entity_id": "n2",
            "relationship_type": "기른다",
            "description": 'every, day\twith "corn"',
            "weight": 2.5,
            "source_chunks": ["c2"],
            "since": 1936,
        },
        {"source_entity_id": "1", "target_entity_id": "n2", "relationship_type": "FEEDS", "weight": 0.125},
        {"source_entity_id": "n2", "target_entity_id": "3", "relationship_type": "a,b"},
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_in_every_form_nothing_is_lost_but_what_is_told(
    form: str, tmp_path: Path, run_cli: Callable[..., Result]
) -> None:
    source, written = tmp_path / "source-KG.json", tmp_path / "written" / form
    source.write_text(json.dumps(EVERYTHING, ensure_ascii=False), encoding="utf-8")
    written.parent.mkdir()
    lost = run_cli("convert", "-g", source, "-o", written, code=0).stderr
    before, after = read_graph(source), read_graph(written)
    if form.endswith(("json", "graphml")):
        assert (content(after), lost) == (content(before), "")
        return
    assert all(what in lost for what in ("descriptions of entities", "aliases", "source chunks", "details"))
    assert list(after.entities.names) == list(before.entities.names)
    assert list(after.entities.types) == list(before.entities.types)
    for ends in ("sources", "targets", "weights"):
        assert getattr(after.relations, ends).tolist() == getattr(before.relations, ends).tolist()
    assert list(after.relations.types) == list(before.relations.types)
    told = [
        [" ".join(description.split()) for description in graph.relations.descriptions]
        for graph in (before, after)
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize("form", ["x-KG.json", "x.graphml"])
def test_a_detail_called_like_a_field_does_not_replace_it(
    form: str, tmp_path: Path, run_cli: Callable[..., Result]
) -> None:
    ends = {"source": "Ann", "target": "Bo"}
    edges = [ends | {"relationship_name": "KNOWS", "relationship_type": "social"}]
    edges.append({"source": "Bo", "target": "Cy", "relationship_name": "LIKES"})
    (tmp_path / "own.json").write_text(json.dumps({"edges": edges}))
    run_cli("convert", "-g", tmp_path / "own.json", "-o", tmp_path / form, code=0)
    relations = read_graph(tmp_path / form).relations
    assert list(relations.types) == ["KNOWS", "LIKES"]
    assert list(map(named, relations.details)) == [{"relationship_type": "social"}, {}]


def test_other_libraries_read_what_is_written(tmp_path: Path, run_cli: Callable[..., Result]) -> None:
    graph = read_graph(GRAPHS / "graphify")
    for target in ("g.graphml", "g.tsv"):
        run_cli("convert", "-g", GRAPHS / "graphify", "-o", tmp_path / target, code=0)
    own = networkx.read_graphml(tmp_path / "g.graphml")
    assert (len(own), own.size()) == (len(graph), len(graph.relations))
    table = pandas.read_csv(tmp_path / "g.tsv", sep="\t")
    assert list(table["relation"]) == list(graph.relations.types)


def test_control_characters_that_xml_lacks_are_replaced(
    tmp_path: Path, run_cli: Callable[..., Result]
) -> None:
    source = write_kg(tmp_path / "a-KG.json", ["A\x01 & <B>\t"])
    run_cli("convert", "-g", source, "-o", tmp_path / "a.graphml", code=0)
    assert read_graph(tmp_path / "a.graphml").entities.names[0] == "A\ufffd & <B>\t"


def test_a_form_that_nobody_knows(tmp_path: Path, run_cli: Callable[..., Result]) -> None:
    told = run_cli("convert", "-g", GRAPHS / "lightrag", "-o", tmp_path / "x.docx")
    assert (told.exit_code, "doesn't say the format; end it in one of: .json" in told.stderr) == (2, True)
    told = run_cli("convert", "-g", GRAPHS / "lightrag", "-o", tmp_path / "x", "--format", "grphml")
    assert "did you mean 'graphml'?" in told.stderr
    source = GRAPHS / "apoc" / "all.json"
    assert run_cli("convert", "-g", source, "-o", source).exit_code == 2
