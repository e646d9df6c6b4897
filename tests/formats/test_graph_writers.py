"""Each writer's real file, made by the real library from a text of our own, against the library's own counts.

`tests/fixtures/graphs/README.md` says how they were made. What `-g FOLDER` takes, and what it says of a
folder that is not the one meant.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import networkx
import pyarrow.parquet
import pytest

from tests.conftest import ROOT
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.model import KnowledgeGraph

GRAPHS = ROOT / "tests" / "fixtures" / "graphs"
JIM = "Jim Hawkins is the innkeeper's son who finds the chart and tells the story."
HELPS = "Jim helps his mother at the Admiral Benbow."
PARTS = f"{JIM}\nJim carries the chart away.\nJim cuts the schooner adrift."


def entity(graph: KnowledgeGraph, name: str) -> tuple[str, str, str, int]:
    """(id, type, description, number of chunks)."""
    columns = graph.entities
    row = list(columns.names).index(name)
    chunks = len(columns.source_chunks[row])
    return columns.ids[row], columns.types[row], columns.descriptions[row], chunks


def relation(graph: KnowledgeGraph, source: str, target: str) -> tuple[str, str, float, int]:
    """(type, description, weight, number of chunks) of the first."""
    found, names = graph.relations, list(graph.entities.names)
    ends = list(zip(found.sources.tolist(), found.targets.tolist(), strict=True))
    row = ends.index((names.index(source), names.index(target)))
    return found.types[row], found.descriptions[row], found.weights[row], len(found.source_chunks[row])


def head(graph: KnowledgeGraph) -> tuple[str, int, int]:
    return graph.origin.writer, len(graph), len(graph.relations)


def test_lightrag() -> None:
    graph = read_graph(GRAPHS / "lightrag")
    own = networkx.read_graphml(GRAPHS / "lightrag" / "graph_chunk_entity_relation.graphml")
    assert head(graph) == ("LightRAG", len(own), own.size())
    assert graph.name == "lightrag"
    assert list(graph.entities.names) == [own.nodes[node]["entity_id"] for node in own]
    assert entity(graph, "Jim Hawkins") == ("Jim Hawkins", "person", PARTS, 3)
    assert relation(graph, "Jim Hawkins", "Admiral Benbow") == ("RELATED_TO", HELPS, 1.0, 1)
    assert json.loads(graph.relations.details[0])["keywords"] == "home,inn"


def test_nano_graphrag_without_the_models_quotes() -> None:
    graph = read_graph(GRAPHS / "nano-graphrag")
    own = networkx.read_graphml(GRAPHS / "nano-graphrag" / "graph_chunk_entity_relation.graphml")
    assert head(graph) == ("LightRAG", len(own), own.size())
    assert list(graph.entities.names) == [str(node).strip('"') for node in own]
    assert entity(graph, "JIM HAWKINS") == ("JIM HAWKINS", "PERSON", PARTS, 3)
    assert entity(graph, "LONG JOHN SILVER")[2].endswith('and "Barbecue" to the crew.')
    assert relation(graph, "JIM HAWKINS", "ADMIRAL BENBOW")[2] == 7.0
    assert graph.notes.lines() == []


def test_fast_graphrag() -> None:
    graph = read_graph(GRAPHS / "fast-graphrag")
    own = networkx.read_graphml(GRAPHS / "fast-graphrag" / "graph.graphml")
    assert head(graph) == ("GraphML", len(own), own.size())
    assert entity(graph, "JIM HAWKINS") == ("n0", "PERSON", PARTS, 0)


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        ("ms-graphrag-3", "{}.parquet"),
        ("ms-graphrag-3-csv", "{}.csv"),
        ("ms-graphrag-2", "{}.parquet"),
        ("ms-graphrag-1", "create_final_{}.parquet"),
    ],
)
def test_ms_graphrag(folder: str, files: str) -> None:
    def rows(table: str) -> list[dict[str, Any]]:
        path = GRAPHS / folder / files.format(table)
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8") as stream:
                return list(csv.DictReader(stream))
        found: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
        return found

    graph = read_graph(GRAPHS / folder)
    entities, relations = rows("entities"), rows("relationships")
    assert head(graph) == ("tables", len(entities), len(relations))
    assert list(graph.entities.ids) == [entry["id"] for entry in entities]
    assert list(graph.entities.names) == [entry["title"] for entry in entities]
    assert list(graph.entities.descriptions) == [entry["description"] for entry in entities]
    targets = [graph.entities.names[row] for row in graph.relations.targets]
    assert targets == [relation["target"] for relation in relations]
    assert entity(graph, "JIM HAWKINS")[3] >= 3
    assert relation(graph, "JIM HAWKINS", "ADMIRAL BENBOW") == ("RELATED_TO", HELPS, 7.0, 1)
    assert head(read_graph(GRAPHS / folder / files.format("entities"))) == head(graph)


def test_graphify() -> None:
    graph = read_graph(GRAPHS / "graphify")
    document = json.loads((GRAPHS / "graphify" / "graph.json").read_text(encoding="utf-8"))
    own = networkx.node_link_graph(document, edges="links")
    assert head(graph) == ("JSON lists", len(own), own.size())
    assert Counter(graph.relations.types) == Counter(link["relation"] for link in document["links"])
    assert entity(graph, "TooManyLoansError") == ("errors_toomanyloanserror", "code", "", 1)
    charge = [row for row, name in enumerate(graph.entities.names) if name == ".charge()"]
    assert [graph.entities.aliases[row] for row in charge] == [[graph.entities.ids[row]] for row in charge]
    assert len(charge) == 2


def test_llama_index_without_chunks() -> None:
    graph = read_graph(GRAPHS / "llama-index")
    store = json.loads((GRAPHS / "llama-index" / "property_graph_store.json").read_text(encoding="utf-8"))
    named = [node for node in store["nodes"].values() if "name" in node]
    assert head(graph) == ("JSON lists", len(named), len(store["relations"]))
    assert [(drop.what, drop.count) for drop in graph.origin.dropped] == [
        ("text_chunk nodes (no entities)", len(store["nodes"]) - len(named))
    ]
    assert relation(graph, "Jim Hawkins", "Admiral Benbow")[0] == "HOME"


@pytest.mark.parametrize("file", ["graph.json", "graph.graphml"])
def test_cognee_without_its_chunks(file: str) -> None:
    graph = read_graph(GRAPHS / "cognee" / file)
    document = json.loads((GRAPHS / "cognee" / "graph.json").read_text(encoding="utf-8"))
    types = Counter(node["type"] for node in document["nodes"])
    assert head(graph)[1:] == (types["Entity"] + types["EntityType"], len(document["edges"]) - 21)
    dropped = {drop.what.split()[0]: drop.count for drop in graph.origin.dropped}
    assert dropped == {"DocumentChunk": 3, "TextDocument": 1, "is_part_of": 3, "contains": 18}
    assert relation(graph, "jim hawkins", "person")[0] == "is_a"
    assert entity(graph, "jim hawkins")[3] == 3


def test_apoc_without_documents_and_chunks() -> None:
    lines = (GRAPHS / "apoc" / "all.json").read_text(encoding="utf-8").splitlines()
    exported = [json.loads(line) for line in lines]
    graph = read_graph(GRAPHS / "apoc" / "all.json")
    assert len(graph) == sum("__Entity__" in node.get("labels", ()) for node in exported)
    assert relation(graph, "Jim Hawkins", "Admiral Benbow")[0] == "HOME"


SHARED = ROOT.parent / "shared" / "data" / "real-graphs"


@pytest.mark.realdata
@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared real graphs are not here")
@pytest.mark.parametrize(
    ("place", "entities", "relations"),
    [
        ("graphify/httpx-graph.json", 144, 330),
        ("graphify/karpathy-graph.json", 177, 246),
        ("ms-graphrag", 39, 105),  # 107 rows; two name an entity that is not in the table
    ],
)
def test_files_that_others_made(place: str, entities: int, relations: int) -> None:
    graph = read_graph(SHARED / place)
    assert head(graph)[1:] == (entities, relations)
    if place == "ms-graphrag":
        assert "2 relations left out because an endpoint does not exist" in graph.notes.lines()[0]


@pytest.mark.realdata
@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared real graphs are not here")
def test_triples_that_others_extracted() -> None:
    document = json.loads((SHARED / "hipporag-openie" / "openie_results_ner_sample.json").read_text())
    triples = [triple for doc in document["docs"] for triple in doc["extracted_triples"]]
    sound = [
        triple
        for triple in triples
        if len(triple) == 3 and all(isinstance(end, str) and end for end in triple)
    ]
    graph = read_graph(SHARED / "hipporag-openie")
    assert len(graph.relations) == len(sound)
    assert len(graph) == len({end.strip() for triple in sound for end in (triple[0], triple[2])})
    assert graph.notes.lines()[0].startswith(
        f"{len(triples) - len(sound)} rows of another shape than the others"
    )


def refusal(path: Path) -> str:
    with pytest.raises(GraphError) as refused:
        read_graph(path)
    return str(refused.value)


@pytest.mark.parametrize("place", ["", "output", "output/artifacts", "output/20240801-101010/artifacts"])
def test_wherever_graphrag_left_its_tables_the_project_is_named(own_folder: Path, place: str) -> None:
    shutil.copytree(GRAPHS / "ms-graphrag-1", own_folder / "project" / place, dirs_exist_ok=True)
    graph = read_graph(own_folder / "project")
    assert (graph.name, graph.origin.writer, len(graph)) == ("project", "tables", 12)


def test_of_dated_runs_the_last_that_has_a_graph_counts(own_folder: Path) -> None:
    shutil.copytree(GRAPHS / "ms-graphrag-1", own_folder / "output" / "20240801-101010" / "artifacts")
    (own_folder / "output" / "20240802-101010" / "artifacts").mkdir(parents=True)
    assert len(read_graph(own_folder)) == 12


def test_graphs_of_two_writers_in_one_folder_are_not_chosen_between(own_folder: Path) -> None:
    shutil.copytree(GRAPHS / "lightrag", own_folder / "rag_storage")
    shutil.copytree(GRAPHS / "ms-graphrag-3", own_folder / "output")
    assert refusal(own_folder).endswith(
        "the graph isn't clear: the folder has 2 of tables and GraphML: "
        "output/entities.parquet, rag_storage/graph_chunk_entity_relation.graphml. Give one with -g"
    )


def test_an_export_beside_lightrags_own_graph_is_left_alone(own_folder: Path) -> None:
    shutil.copytree(GRAPHS / "lightrag", own_folder, dirs_exist_ok=True)
    shutil.copy(GRAPHS / "fast-graphrag" / "graph.graphml", own_folder / "export.graphml")
    assert read_graph(own_folder).origin.writer == "LightRAG"


def test_an_empty_folder_and_one_of_other_things(own_folder: Path) -> None:
    assert "no graph in a supported format in this folder; it contains nothing" in refusal(own_folder)
    (own_folder / "notes.md").write_text("nothing", encoding="utf-8")
    assert "it contains notes.md. Give the graph file with -g" in refusal(own_folder)
