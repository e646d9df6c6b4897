"""GraphML of any writer, and what its dialects share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.filling import fill_records
from tiny_graph_rag.formats.graphs.roles import edge_roles, node_roles
from tiny_graph_rag.formats.graphs.rows import OWN, Roles, Rows, column_roles
from tiny_graph_rag.formats.graphs.table import Table
from tiny_graph_rag.formats.graphs.xml_graphs import Properties, XmlGraph, read_xml
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

SEPARATOR = "<SEP>"


@graph_format(
    "GraphML",
    "any GraphML: nodes and edges of whatever columns",
    lambda head: "<graphml" in head.text,
    within=("*.graphml", "*.graphml.gz"),
    suffixes=(".graphml", ".xml"),
    general=True,
)
def read_any_graphml(paths: Sequence[Path]) -> KnowledgeGraph:
    """`<node>` and `<edge>`, of whatever columns."""
    graph = read_xml(paths[0])
    return from_xml(Rows(paths[0], "GraphML"), graph, *_roles(graph))


def _roles(graph: XmlGraph) -> tuple[Roles, Roles]:
    """What the columns of a file's own nodes and edges are; its ids and ends are XML's own."""
    tables = {"node": Table.of_records(graph.nodes), "edge": Table.of_records(graph.edges)}
    for about, table in tables.items():
        names = dict.fromkeys([*graph.columns[about], *table.names])
        table.names = [name for name in names if name not in OWN]
    ends = {Role.ID, Role.SOURCE, Role.SOURCE_NAME, Role.SOURCE_TYPE}
    ends |= {Role.TARGET, Role.TARGET_NAME, Role.TARGET_TYPE}
    return _without({Role.ID}, node_roles(tables["node"])), _without(ends, edge_roles(tables["edge"]))


def _without(taken: set[str], roles: Roles) -> Roles:
    return {column: Role.DETAIL if role in taken else role for column, role in roles.items()}


def from_xml(
    rows: Rows,
    graph: XmlGraph,
    node_roles: Roles,
    edge_roles: Roles,
    clean: Callable[[str], str] = str,
) -> KnowledgeGraph:
    """clean: what is done to ids, names and types."""
    nodes = [_cleaned(record, node_roles, clean) for record in graph.nodes]
    edges = [_cleaned(record, edge_roles, clean) for record in graph.edges]
    rows.took("entities", {"id": "id", **column_roles(graph.columns["node"], node_roles)})
    rows.took("relations", column_roles(graph.columns["edge"], edge_roles))
    fill_records(rows, nodes, edges, node_roles, edge_roles)
    for tag, count in graph.left_out.items():
        rows.dropped(f"<{tag}> elements", tag, count)
    return rows.graph()


_CLEANED = (Role.ID, Role.SOURCE, Role.TARGET, Role.NAME, Role.TYPE)


def _cleaned(record: Properties, roles: Roles, clean: Callable[[str], str]) -> dict[str, Any]:
    """A record with clean names, and with lists where a value joins several."""
    found = dict(record)
    for column, text in record.items():
        role = OWN.get(column) or roles.get(column)
        if not isinstance(text, str):
            continue
        if role in _CLEANED:
            found[column] = clean(text)
        elif role in (Role.ALIASES, Role.CHUNKS):
            found[column] = split(text)
        elif role == Role.DESCRIPTION:
            found[column] = described(text, clean)
    return found


def split(text: str) -> list[str]:
    """The parts of a `<SEP>`-joined value, or of a JSON list."""
    return [part.strip() for part in text.split(SEPARATOR) if part.strip()] if text else []


def described(text: str, clean: Callable[[str], str] = str) -> str:
    """A description's parts, one a line, the same one once."""
    if SEPARATOR not in text:
        return clean(text)
    return "\n".join(dict.fromkeys(map(clean, split(text))))
