"""Cognee: what `cognee.export(format="json")` or `"graphml"` writes, and a dumped `get_graph_data()`.

A node's `type` is the class of its data point. Documents, chunks and summaries are the lexical layer, and an
`EntityType` node only says what its entities are (`is_a`): both are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.files import read_start
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.property_graph import LEXICAL, from_property_graph, object_of, records_of
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import text_of
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
NODES = {"<id>": ("<id>", "id"), "<type>": ("type",)}
EDGES = {
    "<id>": ("<id>",),
    "<source>": ("<source>", "source"),
    "<target>": ("<target>", "target"),
    "<type>": ("relationship", "relationship_name", "label", "type"),
}
PARTS = ("nodes", "edges")
MARKS = ("topological_rank", "ontology_valid")


def _is_cognee(head: Head) -> bool:
    if "<graphml" in head.text:
        return all(f'attr.name="{mark}"' in head.text for mark in MARKS)
    is_export = "nodes" in head.keys and "directed" not in head.keys
    return is_export and all(f'"{mark}"' in head.text for mark in MARKS)


@graph_format("Cognee", "what Cognee exports, GraphML or JSON", _is_cognee)
def read_cognee(paths: Sequence[Path]) -> KnowledgeGraph:
    rows = Rows(paths[0], "Cognee")
    if b"<graphml" in read_start(paths[0], 4096):
        graph = read_xml(paths[0])
        lists: list[Any] = [graph.nodes, graph.edges]
    else:
        document = json_of(paths[0])
        found = [document.get(name) for name in PARTS] if isinstance(document, dict) else document
        lists = found if isinstance(found, list) and len(found) == len(PARTS) else [None, None]
        lists = [list(map(_record, part)) if isinstance(part, list) else part for part in lists]
    nodes = records_of(rows, lists[0], PARTS[0], NODES, ("<id>",))
    edges = records_of(rows, lists[1], PARTS[1], EDGES, ("<source>", "<target>"), ("<directed>",))
    types = {node["<id>"]: text_of(node.get("name")) for node in nodes if node["<type>"] == "EntityType"}
    of_type = {
        edge["<source>"]: types[edge["<target>"]]
        for edge in edges
        if edge["<type>"] == "is_a" and edge["<target>"] in types
    }
    typed = [{**node, "<type>": of_type.get(node["<id>"]) or node["<type>"]} for node in nodes]
    return from_property_graph(rows, typed, edges, lexical=NO_ENTITIES)


def _record(value: Any) -> Any:
    """Of `get_graph_data()`, where a node is [id, properties], an edge [source, target, type, properties]."""
    if not isinstance(value, list) or len(value) < 2:
        return value
    if len(value) == 2:
        return {"id": value[0], **object_of(value[1])}
    return dict(zip(("source", "target", "relationship", "properties"), value, strict=False))
