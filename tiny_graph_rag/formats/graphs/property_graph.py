"""Property graphs: nodes with labels and properties, of which a part is the lexical layer.

Graph-RAG tools keep documents and chunks of text as nodes next to the entities. Those are no answers to a
question: they are dropped and counted, by label; an edge between a chunk and an entity says which chunks the
entity stands in, and becomes its source chunks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiny_graph_rag.formats.graphs.filling import fill_records
from tiny_graph_rag.formats.graphs.rows import Rows, strings_of
from tiny_graph_rag.formats.graphs.spelling import INNER, bare
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

LEXICAL = frozenset(
    {"document", "chunk", "textchunk", "documentchunk", "textnode", "textdocument", "community"}
)
ENTITY_MARK = "__Entity__"
CHUNK_KEY = "triplet_source_id"
EMBEDDINGS = ("embedding", "embeddings", "embedding_vector", "vector")
NODE_ROLES = {
    "name": Role.NAME,
    "title": Role.NAME,
    "label": Role.NAME,
    "id": Role.NAME,
    "description": Role.DESCRIPTION,
    "entity_description": Role.DESCRIPTION,
    "summary": Role.DESCRIPTION,
    "aliases": Role.ALIASES,
    CHUNK_KEY: Role.CHUNKS,
    **dict.fromkeys(EMBEDDINGS, Role.UNUSED),
}
EDGE_ROLES = {
    "description": Role.DESCRIPTION,
    "relationship_description": Role.DESCRIPTION,
    "weight": Role.WEIGHT,
    CHUNK_KEY: Role.CHUNKS,
    **dict.fromkeys(EMBEDDINGS, Role.UNUSED),
}


@dataclass(frozen=True, slots=True)
class Node:
    """labels: as written; the first that is not the tool's own is the entity's type."""

    id: str
    labels: tuple[str, ...]
    properties: dict[str, Any] = field(default_factory=dict)
    type: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    type: str
    properties: dict[str, Any] = field(default_factory=dict)
    id: str = ""


def from_property_graph(
    rows: Rows, nodes: Sequence[Node], edges: Sequence[Edge], *, lexical: Collection[str] = LEXICAL
) -> KnowledgeGraph:
    """lexical: labels of nodes that are no entities, in lower case without underscores.

    Where nodes carry `__Entity__`, only those are entities.
    """
    marked = any(ENTITY_MARK in node.labels for node in nodes)
    left_out: dict[str, str] = {}
    chunks: dict[str, list[str]] = {}
    for node in nodes:
        label = next((label for label in node.labels if bare(label) in lexical), "")
        if marked:
            is_entity = ENTITY_MARK in node.labels
            label = "" if is_entity else label or next(iter(node.labels), "unlabelled")
        if label:
            left_out[node.id] = label
            rows.dropped(f"{label} nodes (no entities)", node.id)
    related = []
    for edge in edges:
        for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
            if here in left_out and there not in left_out and "chunk" in bare(left_out[here]):
                chunks.setdefault(there, []).append(here)
        if edge.source in left_out or edge.target in left_out:
            what = f"{edge.type} edges (of nodes that are no entities)"
            rows.dropped(what, f"{edge.source} → {edge.target}")
        else:
            ends = {"<source>": edge.source, "<target>": edge.target}
            related.append({"<id>": edge.id, **ends, "<type>": edge.type, **edge.properties})
    entities = [_record(node, chunks.get(node.id, [])) for node in nodes if node.id not in left_out]
    rows.took("entities", {"labels": Role.TYPE})
    rows.took("relations", {"type": Role.TYPE})
    fill_records(rows, entities, related, NODE_ROLES, EDGE_ROLES)
    return rows.graph()


def _record(node: Node, chunks: Sequence[str]) -> dict[str, Any]:
    """chunks: that have an edge to the node."""
    own = [label for label in node.labels if label not in INNER]
    record = {"<id>": node.id, "<type>": node.type or next(iter(own), ""), **node.properties}
    if chunks:
        record["<chunks>"] = list(dict.fromkeys([*strings_of(record.pop(CHUNK_KEY, None)), *chunks]))
    if len(own) > 1 and not node.type:
        record["labels"] = list(node.labels)
    return record


def object_of(value: Any) -> dict[str, Any]:
    """A record's properties; JSON text that holds an object is read."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}
