"""LlamaIndex: `property_graph_store.json` of a persisted PropertyGraphIndex, the older `graph_store.json`.

Chunks (`text_chunk`, with their text) and embeddings are not entities; `triplet_source_id` names the chunk
that an entity or a relation was taken from.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.json_lists import of_document
from tiny_graph_rag.formats.graphs.property_graph import Edge, Node, from_property_graph, object_of
from tiny_graph_rag.formats.graphs.rows import Rows, text_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

WANTED = "wanted {'nodes': {id: {'label', 'name'}}, 'relations': {id: {'label', 'source_id', 'target_id'}}}"


def _is_llama_index(head: Head) -> bool:
    others = {"edges", "links", "relationships", "adjacency"} & head.keys.keys()
    return (
        head.keys.get("nodes") == "{" and head.keys.get("relations") in ("{", None) and not others
    ) or "graph_dict" in head.keys


@graph_format(
    "LlamaIndex",
    "LlamaIndex's property_graph_store.json",
    _is_llama_index,
    within=(
        "property_graph_store.json",
        "*/property_graph_store.json",
        "graph_store.json",
        "*/graph_store.json",
    ),
    besides=("docstore.json", "index_store.json", "*vector_store.json"),
)
def read_llama_index(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    document = json_of(path)
    if isinstance(document, dict) and "graph_dict" in document:  # the store of a KnowledgeGraphIndex
        return of_document(path, "LlamaIndex")
    if isinstance(document, dict) and not isinstance(document.get("relations"), dict):
        return of_document(path, "JSON lists")  # of somebody who has a dictionary of nodes as well
    nodes, relations = document.get("nodes"), document.get("relations")
    for part in (nodes, relations):
        if not isinstance(part, dict):
            raise GraphError.at(path, "{wanted}, got {got}", wanted=said(WANTED), got=json_kind(part))
    rows = Rows(path, "LlamaIndex")
    found_nodes, found_edges = [], []
    for key, row in nodes.items():
        if not isinstance(row, dict):
            rows.problem(f"nodes[{key!r}]", "wanted an object, got {got}", got=json_kind(row))
            continue
        is_chunk = "name" not in row and "text" in row
        properties = {"name": row.get("name"), **object_of(row.get("properties"))}
        found_nodes.append(Node(key, ("text_chunk" if is_chunk else text_of(row.get("label")),), properties))
    for key, row in relations.items():
        ends = (row.get("source_id"), row.get("target_id")) if isinstance(row, dict) else (None, None)
        if not all(isinstance(end, str) for end in ends):
            rows.problem(
                f"relations[{key!r}]", "wanted 'source_id' and 'target_id', got {got}", got=json_kind(row)
            )
            continue
        properties = object_of(row.get("properties"))
        found_edges.append(Edge(str(ends[0]), str(ends[1]), text_of(row.get("label")), properties, key))
    return from_property_graph(rows, found_nodes, found_edges)
