"""Graphs as lists in JSON, as scripts and models write them, and what is close to them and something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx
import pytest

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.model import KnowledgeGraph

GIRL = {"id": "1", "name": "점순", "type": "PERSON"}
HEN = {"id": "2", "name": "닭", "type": "ANIMAL"}


def told(graph: KnowledgeGraph) -> list[tuple[str, str, str]]:
    names, found = graph.entities.names, graph.relations
    return [
        (names[source], type, names[target])
        for source, type, target in zip(found.sources, found.types, found.targets, strict=True)
    ]


def read(folder: Path, document: Any, name: str = "graph.json") -> KnowledgeGraph:
    """The graph of a file that holds a document, or a text as it stands."""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    (folder / name).write_text(text, encoding="utf-8")
    return read_graph(folder / name)


@pytest.mark.parametrize("entities", ["entities", "nodes"])
@pytest.mark.parametrize("relations", ["relationships", "relations", "edges"])
@pytest.mark.parametrize("ends", ["id", "name"])
def test_lists_of_entities_and_relations(own_folder: Path, entities: str, relations: str, ends: str) -> None:
    if entities == "nodes" and ends == "name":
        pytest.skip("in node-link JSON ends are ids")
    edge = {"source": GIRL[ends], "target": HEN[ends], "type": "기른다"}
    more = {"description": "d", "weight": 2, "x": 1}
    graph = read(own_folder, {entities: [GIRL, HEN], relations: [edge | more]})
    assert told(graph) == [("점순", "기른다", "닭")]
    assert list(graph.entities.types) == ["PERSON", "ANIMAL"]
    assert list(graph.relations.descriptions) == ["d"]
    assert (graph.relations.weights.tolist(), list(graph.relations.details)) == ([2.0], ['{"x": 1}'])


def test_an_end_that_the_list_of_entities_lacks_is_counted(own_folder: Path) -> None:
    relations = [["Ann", "knows", "Zoe"], ["Zoe", "knows", "Ann"], ["Ann", "knows", "Ben"]]
    graph = read(own_folder, {"entities": ["Ann", "Zoe"], "relations": relations})
    assert (len(graph), len(graph.relations)) == (2, 2)
    assert graph.notes.lines()[0].startswith("1 relation left out because an endpoint does not exist")


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        ([["Ann", "knows"], ["Ann"]], "relations[0]: wanted a source and a target, got a list ['Ann', "),
        ({"entities": [5], "relations": []}, "entities[0]: wanted a name or an object, got"),
        ({"entities": [{"age": 5}], "relations": []}, "wanted 'id' or 'name', got the keys 'age'"),
        ({"entities": ["Ann"], "things": []}, "its lists are 'entities', 'things'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(own_folder: Path, document: Any, wanted: str) -> None:
    with pytest.raises(GraphError) as refused:
        read(own_folder, document)
    assert wanted in str(refused.value)


@pytest.mark.parametrize("form", [networkx.cytoscape_data, networkx.adjacency_data])
def test_networkx_in_its_other_forms(own_folder: Path, form: Any) -> None:
    own = networkx.DiGraph()
    own.add_node("점순", entity_type="PERSON")
    own.add_edge("점순", "닭", relation="기른다", weight=2.0)
    graph = read(own_folder, form(own))
    assert (told(graph), graph.relations.weights.tolist()) == ([("점순", "기른다", "닭")], [2.0])


NODES = [
    {"type": "node", "id": "0", "labels": ["Person"], "properties": {"name": "점순"}},
    {"type": "node", "id": "1", "labels": ["Animal"], "properties": {"name": "닭"}},
]
RELATIONSHIP = {"id": "0", "type": "relationship", "label": "KEEPS", "start": {"id": "0"}, "end": {"id": "1"}}


@pytest.mark.parametrize("document", [[*NODES, RELATIONSHIP], {"nodes": NODES, "rels": [RELATIONSHIP]}])
@pytest.mark.parametrize("indent", [None, 2])
def test_apoc_as_one_document(own_folder: Path, document: Any, indent: int | None) -> None:
    graph = read(own_folder, json.dumps(document, indent=indent))
    assert (graph.origin.writer, told(graph)) == ("Neo4j (APOC)", [("점순", "KEEPS", "닭")])


RDF_XML = """\
<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:e="http://example.org/">
  <rdf:Description rdf:about="http://example.org/1"><rdfs:label xml:lang="ko">점순</rdfs:label>
    <e:keeps rdf:resource="http://example.org/2"/></rdf:Description>
  <rdf:Description rdf:about="http://example.org/2"><rdfs:label>닭</rdfs:label></rdf:Description>
</rdf:RDF>
"""
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
JSON_LD = {
    "@context": {"label": LABEL, "keeps": {"@id": "http://example.org/keeps", "@type": "@id"}},
    "@graph": [
        {"@id": "http://example.org/1", "label": "점순", "keeps": "http://example.org/2"},
        {"@id": "http://example.org/2", "label": "닭"},
    ],
}
TRIG = f"""\
@prefix e: <http://example.org/> .
e:g {{ e:1 <{LABEL}> "점순"@ko ; e:keeps e:2 . e:2 <{LABEL}> "닭" . }}
"""
QUADS = f"""\
<http://e/1> <{LABEL}> "점순"@ko <http://e/g> .
<http://e/2> <{LABEL}> "닭" <http://e/g> .
<http://e/1> <http://e/keeps> <http://e/2> <http://e/g> .
<http://e/1> <http://e/born> "1920"^^<http://www.w3.org/2001/XMLSchema#gYear> <http://e/g> .
"""


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("x.rdf", RDF_XML),
        ("x.owl", RDF_XML),
        ("x.jsonld", JSON_LD),
        ("x.json", json.dumps(JSON_LD)),
        ("x.trig", TRIG),
        ("x.nq", QUADS),
    ],
)
def test_rdf_in_its_other_forms(own_folder: Path, name: str, document: Any) -> None:
    pytest.importorskip("pyoxigraph")
    graph = read(own_folder, document, name)
    assert (graph.origin.writer, told(graph)) == ("RDF", [("점순", "keeps", "닭")])


def test_rdf_in_xml_with_a_document_type_is_refused(own_folder: Path) -> None:
    pytest.importorskip("pyoxigraph")
    bomb = '<!DOCTYPE rdf:RDF [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    with pytest.raises(GraphError, match="document type declaration"):
        read(own_folder, RDF_XML.replace("?>\n", f"?>\n{bomb}\n", 1), "x.owl")


def test_a_key_without_a_name_is_no_list_of_entities(own_folder: Path) -> None:
    document = {"": [{"data": {"id": "a"}}], "edges": [{"data": {"source": "a", "target": "b"}}]}
    assert len(read(own_folder, {"elements": document}).entities) == 2
