"""LlamaIndex: `property_graph_store.json` of a persisted PropertyGraphIndex, the older `graph_store.json`.

Chunks (`text_chunk`, with their text) and embeddings are not entities; `triplet_source_id` names the chunk
that an entity or a relation was taken from.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.json_lists import graph_of
from tiny_graph_rag.formats.graphs.property_graph import from_property_graph, records_of
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.graph.model import KnowledgeGraph

NODES = {"<id>": ("id",), "<type>": ("label",)}
EDGES = {"<id>": ("id",), "<source>": ("source_id",), "<target>": ("target_id",), "<type>": ("label",)}


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
    rows = Rows(paths[0], "LlamaIndex")
    document = json_of(paths[0])
    if not isinstance(document, dict) or not isinstance(document.get("relations"), dict):
        if not isinstance(document, dict) or "graph_dict" not in document:
            rows.writer = "JSON lists"  # of somebody who has a dictionary of nodes as well
        return graph_of(rows, document)  # or the store of a KnowledgeGraphIndex
    nodes = records_of(rows, document.get("nodes"), "nodes", NODES, ("<id>",))
    relations = records_of(rows, document["relations"], "relations", EDGES, ("<source>", "<target>"))
    for node in nodes:
        if "name" not in node and "text" in node:
            node["<type>"] = "text_chunk"
    return from_property_graph(rows, nodes, relations)
