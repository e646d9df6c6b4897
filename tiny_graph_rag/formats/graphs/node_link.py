"""Node-link JSON: what networkx writes (`links` or `edges`), and Graphify's `graph.json`.

Graphify's labels are not unique: where several nodes bear one, each can also be named by its id. Its older
files are undirected and keep an edge's direction in `_src` and `_tgt`. `hyperedges` join more than two nodes
and are counted as dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.formats.graphs.heads import Head, graph_format, json_of
from tiny_graph_rag.formats.graphs.rows import (
    ALIASES,
    CHUNKS,
    DESCRIPTION,
    DETAIL,
    ID,
    NAME,
    SOURCE,
    TARGET,
    TYPE,
    UNUSED,
    WEIGHT,
    Roles,
    Rows,
    column_roles,
    split_roles,
    strings_of,
    text_of,
)
from tiny_graph_rag.graph.model import KnowledgeGraph

NODE_ROLES = {
    "id": ID,
    "name": NAME,
    "label": NAME,
    "title": NAME,
    "entity_type": TYPE,
    "type": TYPE,
    "description": DESCRIPTION,
    "aliases": ALIASES,
    "source_chunks": CHUNKS,
    "source_id": CHUNKS,
}
EDGE_ROLES = {
    "source": SOURCE,
    "target": TARGET,
    "id": ID,
    "key": UNUSED,  # numbers a multigraph's parallel edges
    "relationship_type": TYPE,
    "relation": TYPE,
    "type": TYPE,
    "label": TYPE,
    "description": DESCRIPTION,
    "weight": WEIGHT,
    "source_chunks": CHUNKS,
    "source_id": CHUNKS,
}
EDGE_LISTS = ("links", "edges", "relationships", "relations")
GRAPHIFY_NODES = {
    "id": ID,
    "label": NAME,
    "file_type": TYPE,
    "description": DESCRIPTION,
    "source_file": CHUNKS,
    "norm_label": UNUSED,
}
GRAPHIFY_EDGES = {
    "_src": SOURCE,
    "_tgt": TARGET,
    "source": SOURCE,
    "target": TARGET,
    "relation": TYPE,
    "description": DESCRIPTION,
    "weight": WEIGHT,
    "source_file": CHUNKS,
    "confidence": DETAIL,
}


def _is_node_link(head: Head) -> bool:
    return (
        head.keys.get("nodes") == "["
        or head.keys.get("elements") == "{"
        or ("multigraph" in head.keys and "directed" in head.keys)
    )


def _is_graphify(head: Head) -> bool:
    marks = ('"file_type"', '"source_file"', '"community"')
    return _is_node_link(head) and all(mark in head.text for mark in marks)


@graph_format(
    "Graphify", "Graphify's graph.json", _is_graphify, within=("graph.json", "graphify-out/graph.json")
)
def read_graphify(paths: Sequence[Path]) -> KnowledgeGraph:
    rows = Rows(paths[0], "Graphify")
    document = json_of(paths[0])
    nodes = _records(document, ("nodes",), paths[0])
    borne = Counter(text_of(each.get("label")) for each in nodes if isinstance(each, dict))
    _fill(rows, nodes, _records(document, ("links", "edges"), paths[0]), GRAPHIFY_NODES, GRAPHIFY_EDGES)
    for id, row in rows.known.items():
        if rows.names[row] and borne[rows.names[row]] > 1:
            rows.aliases[row] = [id]
    _count_hyperedges(rows, document)
    return rows.graph()


@graph_format("node-link JSON", "networkx's node_link_data: nodes and links", _is_node_link, general=True)
def read_node_link(paths: Sequence[Path]) -> KnowledgeGraph:
    """networkx: `node_link_data`, multigraph or not."""
    rows = Rows(paths[0], "node-link JSON")
    document = _of_cytoscape(json_of(paths[0]))
    nodes = _records(document, ("nodes",), paths[0])
    _fill(rows, nodes, _records(document, EDGE_LISTS, paths[0]), NODE_ROLES, EDGE_ROLES)
    _count_hyperedges(rows, document)
    return rows.graph()


def _of_cytoscape(document: Any) -> Any:
    """Cytoscape's `elements`, whose records stand under `data`, as nodes and edges."""
    elements = document.get("elements") if isinstance(document, dict) else None
    if not isinstance(elements, dict):
        return document
    parts = {key: elements[key] for key in ("nodes", "edges") if isinstance(elements.get(key), list)}
    return {
        key: [each["data"] if isinstance(each, dict) and "data" in each else each for each in part]
        for key, part in parts.items()
    }


def _count_hyperedges(rows: Rows, document: dict[str, Any]) -> None:
    about = document.get("graph")
    found = document.get("hyperedges") or (about.get("hyperedges") if isinstance(about, dict) else None)
    if isinstance(found, list) and found:
        first = found[0]
        example = (
            text_of(first.get("label") or first.get("id")) if isinstance(first, dict) else text_of(first)
        )
        rows.dropped("hyperedges (they join more than two nodes)", example, len(found))


def _records(document: Any, keys: Sequence[str], path: Path) -> list[Any]:
    """The list under one of these keys. Raises GraphError where there is none."""
    if not isinstance(document, dict):
        raise GraphError(f"{path}: wanted an object with 'nodes' and 'links', got {json_kind(document)}")
    for key in keys:
        found = document.get(key)
        if isinstance(found, list):
            return found
        if found is not None:
            raise GraphError(f"{path}: {key!r} must be a list of objects, got {json_kind(found)}")
    there = ", ".join(map(repr, list(document)[:8])) or "none"
    raise GraphError(
        f"{path}: as node-link JSON it lacks {' or '.join(map(repr, keys))}; its keys are {there}. "
        "networkx writes edges under 'links' or 'edges': node_link_data(graph, edges='links')"
    )


def _fill(
    rows: Rows, nodes: Sequence[Any], edges: Sequence[Any], node_roles: Roles, edge_roles: Roles
) -> None:
    seen: dict[str, None] = {}
    for number, node in enumerate(nodes):
        if not isinstance(node, dict) or node.get("id") in (None, ""):
            came = "one without" if isinstance(node, dict) else json_kind(node)
            rows.problem(f"nodes[{number}]", f"wanted an object with 'id', got {came}")
            continue
        seen.update(dict.fromkeys(node))
        found, rest = split_roles(node, node_roles)
        rows.entity(
            text_of(found[ID]),
            text_of(found.get(NAME)),
            text_of(found.get(TYPE)),
            text_of(found.get(DESCRIPTION)),
            strings_of(found.get(ALIASES)),
            strings_of(found.get(CHUNKS)),
            rest,
        )
    rows.took("entities", column_roles(seen, node_roles))
    seen = {}
    for number, edge in enumerate(edges):
        found, rest = split_roles(edge, edge_roles) if isinstance(edge, dict) else ({}, None)
        if SOURCE not in found or TARGET not in found:
            came = (
                f"the keys {', '.join(map(repr, edge)) or 'none'}"
                if isinstance(edge, dict)
                else json_kind(edge)
            )
            rows.problem(f"links[{number}]", f"wanted an object with 'source' and 'target', got {came}")
            continue
        seen.update(dict.fromkeys(edge))
        for end in (SOURCE, TARGET):  # LangChain writes the node itself there
            if isinstance(found[end], dict):
                found[end] = found[end].get("id")
        for end in ("source", "target"):
            if rest is not None and edge_roles.get("_src"):
                rest.pop(end, None)
        rows.relation(
            text_of(found[SOURCE]),
            text_of(found[TARGET]),
            text_of(found.get(TYPE)),
            text_of(found.get(DESCRIPTION)),
            found.get(WEIGHT),
            strings_of(found.get(CHUNKS)),
            rest or None,
            text_of(found.get(ID)),
        )
    rows.took("relations", column_roles(seen, edge_roles))
