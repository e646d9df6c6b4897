"""Cognee: what `cognee.export(format="json")` or `"graphml"` writes, and a dumped `get_graph_data()`.

A node's `type` is the class of its data point. Documents, chunks and summaries are the lexical layer, and an
`EntityType` node only says what its entities are (`is_a`): both are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import read_start
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.property_graph import LEXICAL, Edge, Node, from_property_graph, object_of
from tiny_graph_rag.formats.graphs.rows import Rows, text_of
from tiny_graph_rag.formats.graphs.xml_graphs import read_xml
from tiny_graph_rag.graph.model import KnowledgeGraph

NO_ENTITIES = LEXICAL | {
    "entitytype",
    "textsummary",
    "nodeset",
    "pdfdocument",
    "audiodocument",
    "imagedocument",
}
MARKS = ("topological_rank", "ontology_valid")


def _is_cognee(head: Head) -> bool:
    if "<graphml" in head.text:
        return all(f'attr.name="{mark}"' in head.text for mark in MARKS)
    is_export = "nodes" in head.keys and "directed" not in head.keys
    return is_export and all(f'"{mark}"' in head.text for mark in MARKS)


@graph_format("Cognee", "what Cognee exports, GraphML or JSON", _is_cognee)
def read_cognee(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "Cognee")
    nodes, edges = _of_graphml(path) if b"<graphml" in read_start(path, 4096) else _of_json(path, rows)
    types = {node.id: text_of(node.properties.get("name")) for node in nodes if "EntityType" in node.labels}
    of_type = {
        edge.source: types[edge.target] for edge in edges if edge.type == "is_a" and edge.target in types
    }
    typed = [replace(node, type=of_type.get(node.id, "")) for node in nodes]
    return from_property_graph(rows, typed, edges, lexical=NO_ENTITIES)


def _of_json(path: Path, rows: Rows) -> tuple[list[Node], list[Edge]]:
    document = json_of(path)
    if isinstance(document, list) and len(document) == 2:  # get_graph_data()
        document = {"nodes": document[0], "edges": document[1]}
    parts = [document.get(name) for name in ("nodes", "edges")] if isinstance(document, dict) else [None]
    for part in parts:
        if not isinstance(part, list):
            raise GraphError.at(path, "wanted {{'nodes': […], 'edges': […]}}, got {got}", got=json_kind(part))
    return list(_nodes(parts[0] or [], rows)), list(_edges(parts[1] or [], rows))


def _nodes(values: Iterable[Any], rows: Rows) -> Iterable[Node]:
    for number, value in enumerate(values):
        if isinstance(value, list) and len(value) == 2:
            value = {"id": value[0], **object_of(value[1])}
        if not isinstance(value, dict) or value.get("id") is None:
            rows.problem(f"nodes[{number}]", "wanted an object with 'id', got {got}", got=json_kind(value))
            continue
        yield Node(text_of(value["id"]), (text_of(value.get("type")),), _without(("id", "type"), value))


def _edges(values: Iterable[Any], rows: Rows) -> Iterable[Edge]:
    for number, value in enumerate(values):
        if isinstance(value, list) and len(value) >= 3:
            more = object_of(value[3]) if len(value) > 3 else {}
            value = {"source": value[0], "target": value[1], "relationship": value[2], "properties": more}
        if not isinstance(value, dict) or value.get("source") is None or value.get("target") is None:
            rows.problem(f"edges[{number}]", "wanted 'source' and 'target', got {got}", got=json_kind(value))
            continue
        type = value.get("relationship") or value.get("relationship_name") or value.get("type")
        properties = object_of(value.get("properties"))
        yield Edge(text_of(value["source"]), text_of(value["target"]), text_of(type), properties)


def _of_graphml(path: Path) -> tuple[list[Node], list[Edge]]:
    graph = read_xml(path)
    nodes = [
        Node(record.pop("<id>"), (record.pop("type", ""),), _without(("id",), record))
        for record in graph.nodes
    ]
    edges = []
    for record in graph.edges:
        types = [record.pop(name, "") for name in ("relationship", "relationship_name", "label")]
        id, source, target, _ = (record.pop(f"<{name}>") for name in ("id", "source", "target", "directed"))
        edges.append(Edge(source, target, next(filter(None, types), ""), record, id))
    return nodes, edges


def _without(keys: Sequence[str], record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}
