"""Property graphs: nodes with labels and properties, of which a part is the lexical layer.

Graph-RAG tools keep documents and chunks of text as nodes next to the entities. Those are no answers to a
question: they are dropped and counted, by label; an edge between a chunk and an entity says which chunks the
entity stands in, and becomes its source chunks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiny_graph_rag.formats.graphs.rows import Rows, column_roles, split_roles, strings_of, text_of
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

LEXICAL = frozenset(
    {"document", "chunk", "textchunk", "documentchunk", "textnode", "textdocument", "community"}
)
INNER = frozenset({"__Entity__", "__KGBuilder__", "__Node__", "__tempEntity__", "Entity"})
ENTITY_MARK = "__Entity__"
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
    "triplet_source_id": Role.CHUNKS,
    **dict.fromkeys(EMBEDDINGS, Role.UNUSED),
}
EDGE_ROLES = {
    "description": Role.DESCRIPTION,
    "relationship_description": Role.DESCRIPTION,
    "weight": Role.WEIGHT,
    "triplet_source_id": Role.CHUNKS,
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
    path: Path,
    writer: str,
    nodes: Iterable[Node],
    edges: Iterable[Edge],
    *,
    lexical: Collection[str] = LEXICAL,
    rows: Rows | None = None,
) -> KnowledgeGraph:
    """lexical: labels of nodes that are no entities, in lower case without underscores.

    Where nodes carry `__Entity__`, only those are entities.
    """
    rows = rows or Rows(path, writer)
    nodes, edges = list(nodes), list(edges)
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
    for edge in edges:
        for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
            if here in left_out and there not in left_out and "chunk" in bare(left_out[here]):
                chunks.setdefault(there, []).append(here)
    seen: dict[str, None] = {}
    for node in nodes:
        if node.id in left_out:
            continue
        seen.update(dict.fromkeys(node.properties))
        found, rest = split_roles(node.properties, NODE_ROLES)
        own = [label for label in node.labels if label not in INNER]
        if len(own) > 1 and not node.type:
            rest = {**(rest or {}), "labels": list(node.labels)}
        rows.entity(
            node.id,
            text_of(found.get(Role.NAME)),
            node.type or next(iter(own), ""),
            text_of(found.get(Role.DESCRIPTION)),
            strings_of(found.get(Role.ALIASES)),
            list(dict.fromkeys([*strings_of(found.get(Role.CHUNKS)), *chunks.get(node.id, ())])),
            rest,
        )
    rows.took("entities", {"labels": Role.TYPE, **column_roles(seen, NODE_ROLES)})
    seen = {}
    for edge in edges:
        if edge.source in left_out or edge.target in left_out:
            rows.dropped(
                f"{edge.type} edges (of nodes that are no entities)", f"{edge.source} → {edge.target}"
            )
            continue
        seen.update(dict.fromkeys(edge.properties))
        found, rest = split_roles(edge.properties, EDGE_ROLES)
        rows.relation(
            edge.source,
            edge.target,
            edge.type,
            text_of(found.get(Role.DESCRIPTION)),
            found.get(Role.WEIGHT),
            strings_of(found.get(Role.CHUNKS)),
            rest,
            edge.id,
        )
    rows.took("relations", {"type": Role.TYPE, **column_roles(seen, EDGE_ROLES)})
    return rows.graph()


def bare(label: str) -> str:
    """`__Chunk__`, `text_chunk` → `chunk`, `textchunk`."""
    return label.replace("_", "").casefold()


def object_of(value: Any) -> dict[str, Any]:
    """A record's properties; JSON text that holds an object is read."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def labels_of(value: Any) -> tuple[str, ...]:
    """`["Person", "__Entity__"]`, `"Person"`, `":Person:Actor"` → labels."""
    if isinstance(value, str):
        return tuple(part for part in value.split(":") if part)
    return tuple(map(text_of, value)) if isinstance(value, Sequence) else ()
