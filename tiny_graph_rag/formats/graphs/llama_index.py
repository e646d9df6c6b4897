"""LlamaIndex: `property_graph_store.json` of a persisted PropertyGraphIndex, the older `graph_store.json`.

Chunks (`text_chunk`, with their text) and embeddings are not entities; `triplet_source_id` names the chunk
that an entity or a relation was taken from.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.json_lists import of_document
from tiny_graph_rag.formats.graphs.property_graph import Keys, from_property_graph
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.graph.model import KnowledgeGraph

KEYS = Keys(
    nodes={"<id>": ("id",), "<labels>": ("label",)},
    edges={"<id>": ("id",), "<source>": ("source_id",), "<target>": ("target_id",), "<type>": ("label",)},
)


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
    rows = Rows(path, "LlamaIndex")
    nodes = KEYS.node_records(rows, _with_ids(document, "nodes"), "nodes")
    relations = KEYS.edge_records(rows, _with_ids(document, "relations"), "relations")
    for node in nodes:
        if "name" not in node and "text" in node:
            node["<labels>"] = "text_chunk"
    return from_property_graph(rows, nodes, relations)


def _with_ids(document: Any, part: str) -> Any:
    """A dictionary of objects, whose keys are their ids."""
    held = document.get(part) if isinstance(document, dict) else None
    if not isinstance(held, dict):
        return held
    return {id: {"id": id, **row} if isinstance(row, dict) else row for id, row in held.items()}
