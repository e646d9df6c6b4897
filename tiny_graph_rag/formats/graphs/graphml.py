"""GraphML and GEXF of any writer, and what their dialects share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tiny_graph_rag.formats.graphs.heads import graph_format
from tiny_graph_rag.formats.graphs.rows import (
    ALIASES,
    CHUNKS,
    DESCRIPTION,
    NAME,
    TYPE,
    WEIGHT,
    Roles,
    Rows,
    column_roles,
    split_roles,
    unfolded,
)
from tiny_graph_rag.formats.graphs.xml_graphs import XmlGraph, read_gexf, read_graphml
from tiny_graph_rag.graph.model import KnowledgeGraph

NODE_ROLES = {
    "name": NAME,
    "label": NAME,
    "title": NAME,
    "entity_type": TYPE,
    "type": TYPE,
    "description": DESCRIPTION,
    "aliases": ALIASES,
    "source_id": CHUNKS,
    "source_chunks": CHUNKS,
}
EDGE_ROLES = {
    "relationship_type": TYPE,
    "relation_type": TYPE,
    "relation": TYPE,
    "type": TYPE,
    "label": TYPE,
    "kind": TYPE,
    "description": DESCRIPTION,
    "weight": WEIGHT,
    "source_id": CHUNKS,
    "source_chunks": CHUNKS,
}
SEPARATOR = "<SEP>"


@graph_format(
    "GraphML",
    "any GraphML: nodes and edges of whatever columns",
    lambda head: "<graphml" in head.text,
    suffixes=(".graphml", ".xml"),
    general=True,
)
def read_any_graphml(paths: Sequence[Path]) -> KnowledgeGraph:
    """`<node>` and `<edge>`, of whatever columns."""
    return from_xml(paths[0], "GraphML", read_graphml(paths[0]), NODE_ROLES, EDGE_ROLES)


@graph_format("GEXF", "Gephi's format", lambda head: "<gexf" in head.text, suffixes=(".gexf",))
def read_any_gexf(paths: Sequence[Path]) -> KnowledgeGraph:
    """Gephi's format: a node's label is its name, an edge's `kind` or `label` its type."""
    return from_xml(paths[0], "GEXF", read_gexf(paths[0]), NODE_ROLES, EDGE_ROLES)


def from_xml(
    path: Path,
    writer: str,
    graph: XmlGraph,
    node_roles: Roles,
    edge_roles: Roles,
    clean: Callable[[str], str] = str,
) -> KnowledgeGraph:
    """clean: what is done to ids, names and types."""
    rows = Rows(path, writer)
    rows.took("entities", {"id": "id", **column_roles(graph.columns["node"], node_roles)})
    rows.took("relations", column_roles(graph.columns["edge"], edge_roles))
    for id, record in graph.nodes:
        found, rest = split_roles(record, node_roles)
        rows.entity(
            clean(id),
            clean(found.get(NAME, "")),
            clean(found.get(TYPE, "")),
            described(found.get(DESCRIPTION, ""), clean),
            split(found.get(ALIASES, "")),
            split(found.get(CHUNKS, "")),
            unfolded(rest),
        )
    for id, source, target, record in graph.edges:
        found, rest = split_roles(record, edge_roles)
        rows.relation(
            clean(source),
            clean(target),
            clean(found.get(TYPE, "")),
            described(found.get(DESCRIPTION, ""), clean),
            found.get(WEIGHT),
            split(found.get(CHUNKS, "")),
            unfolded(rest),
            id,
        )
    for tag, count in graph.left_out.items():
        rows.dropped(f"<{tag}> elements", tag, count)
    return rows.graph()


def split(text: str) -> list[str]:
    """The parts of a `<SEP>`-joined value, or of a JSON list."""
    return [each.strip() for each in text.split(SEPARATOR) if each.strip()] if text else []


def described(text: str, clean: Callable[[str], str] = str) -> str:
    """A description's parts, one a line, the same one once."""
    if SEPARATOR not in text:
        return clean(text)
    return "\n".join(dict.fromkeys(map(clean, split(text))))
