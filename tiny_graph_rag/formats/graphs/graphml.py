"""GraphML and GEXF of any writer, and what their dialects share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.keys import Values, edge_roles, node_roles
from tiny_graph_rag.formats.graphs.property_graph import INNER, labels_of
from tiny_graph_rag.formats.graphs.rows import (
    SOME_UNDIRECTED,
    Roles,
    Rows,
    column_roles,
    split_roles,
    unfolded,
)
from tiny_graph_rag.formats.graphs.xml_graphs import Properties, XmlGraph, read_xml
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

GEXF_NODES = {"label": Role.NAME, "name": Role.NAME, "title": Role.NAME}
GEXF_EDGES = {"kind": Role.TYPE, "label": Role.TYPE}
SEPARATOR = "<SEP>"
SAMPLED = 1000  # records that are looked at for columns that a file does not declare


@graph_format(
    "GraphML",
    "any GraphML: nodes and edges of whatever columns",
    lambda head: "<graphml" in head.text,
    suffixes=(".graphml", ".xml"),
    general=True,
)
def read_any_graphml(paths: Sequence[Path]) -> KnowledgeGraph:
    """`<node>` and `<edge>`, of whatever columns."""
    graph = read_xml(paths[0], "graphml")
    return from_xml(Rows(paths[0], "GraphML"), graph, *_roles(graph))


@graph_format("GEXF", "Gephi's format", lambda head: "<gexf" in head.text, suffixes=(".gexf",))
def read_any_gexf(paths: Sequence[Path]) -> KnowledgeGraph:
    """Gephi's format: a node's label is its name, an edge's `kind` or `label` its type."""
    graph = read_xml(paths[0], "gexf")
    nodes, edges = _roles(graph)
    first_nodes = {
        column: role for column, role in GEXF_NODES.items() if column in nodes or column == "label"
    }
    return from_xml(
        Rows(paths[0], "GEXF"),
        graph,
        {**first_nodes, **{column: role for column, role in nodes.items() if column not in first_nodes}},
        {**GEXF_EDGES, **{column: role for column, role in edges.items() if column not in GEXF_EDGES}},
    )


def _roles(graph: XmlGraph) -> tuple[Roles, Roles]:
    """What the columns of a file's own nodes and edges are."""

    def values_of(records: Sequence[Properties]) -> Values:
        return lambda column: (record.get(column) for record in records)

    nodes = [record for _, record in graph.nodes]
    edges = [record for _, _, _, record in graph.edges]
    node_columns = _columns(graph, "node", nodes)
    found = node_roles(node_columns, values_of(nodes))
    roles = {
        column: Role.DETAIL if role == Role.ID else role for column, role in found.items()
    }  # a node's id is its own
    # The ends are XML's own: whatever a column is called, it is none.
    own = edge_roles(["source", "target", *_columns(graph, "edge", edges)], values_of(edges))
    taken = {Role.SOURCE, Role.SOURCE_NAME, Role.SOURCE_TYPE, Role.TARGET, Role.TARGET_NAME, Role.TARGET_TYPE}
    return roles, {
        column: Role.DETAIL if role in {*taken, Role.ID} else role
        for column, role in own.items()
        if column not in ("source", "target")
    }


def _columns(graph: XmlGraph, about: str, records: Sequence[Properties]) -> list[str]:
    """Those that the file declares, and those that only some records have."""
    some = (column for record in records[:SAMPLED] for column in record)
    return list(dict.fromkeys([*graph.columns[about], *some]))


def from_xml(
    rows: Rows,
    graph: XmlGraph,
    node_roles: Roles,
    edge_roles: Roles,
    clean: Callable[[str], str] = str,
) -> KnowledgeGraph:
    """clean: what is done to ids, names and types."""
    rows.took("entities", {"id": "id", **column_roles(graph.columns["node"], node_roles)})
    rows.took("relations", column_roles(graph.columns["edge"], edge_roles))
    for id, record in graph.nodes:
        found, rest = split_roles(record, node_roles)
        rows.entity(
            clean(id),
            clean(found.get(Role.NAME, "")),
            _label(clean(found.get(Role.TYPE, ""))),
            described(found.get(Role.DESCRIPTION, ""), clean),
            split(found.get(Role.ALIASES, "")),
            split(found.get(Role.CHUNKS, "")),
            unfolded(rest),
        )
    for id, source, target, record in graph.edges:
        found, rest = split_roles(record, edge_roles)
        rows.relation(
            clean(source),
            clean(target),
            clean(found.get(Role.TYPE, "")),
            described(found.get(Role.DESCRIPTION, ""), clean),
            found.get(Role.WEIGHT),
            split(found.get(Role.CHUNKS, "")),
            unfolded(rest),
            id,
        )
    if graph.edges and graph.undirected == len(graph.edges):
        rows.undirected("relations", "edgedefault")
    elif graph.undirected:
        rows.flaw(SOME_UNDIRECTED, graph.edges[0][0] or graph.edges[0][1], graph.undirected)
    for tag, count in graph.left_out.items():
        rows.dropped(f"<{tag}> elements", tag, count)
    return rows.graph()


def _label(type: str) -> str:
    """Of labels as Neo4j exports them, `:Person:Actor`, the first that is no tool's own."""
    if type[:1] != ":":
        return type
    labels = labels_of(type)
    return next((label for label in labels if label not in INNER), "")


def split(text: str) -> list[str]:
    """The parts of a `<SEP>`-joined value, or of a JSON list."""
    return [part.strip() for part in text.split(SEPARATOR) if part.strip()] if text else []


def described(text: str, clean: Callable[[str], str] = str) -> str:
    """A description's parts, one a line, the same one once."""
    if SEPARATOR not in text:
        return clean(text)
    return "\n".join(dict.fromkeys(map(clean, split(text))))
