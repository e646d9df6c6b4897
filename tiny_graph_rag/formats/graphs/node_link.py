"""Node-link JSON: what networkx writes (`links` or `edges`), and Graphify's `graph.json`.

Graphify's labels are not unique: where several nodes have one, each can also be named by its id. Its older
files are undirected and keep an edge's direction in `_src` and `_tgt`. `hyperedges` join more than two nodes
and are counted as dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.listed import Columns, Lists, fill, lists_of
from tiny_graph_rag.formats.graphs.rows import Rows, text_of
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

GRAPHIFY_NODES = {
    "id": Role.ID,
    "label": Role.NAME,
    "file_type": Role.TYPE,
    "description": Role.DESCRIPTION,
    "source_file": Role.CHUNKS,
    "norm_label": Role.UNUSED,
}
GRAPHIFY_EDGES = {
    "_src": Role.SOURCE,
    "_tgt": Role.TARGET,
    "source": Role.SOURCE,
    "target": Role.TARGET,
    "relation": Role.TYPE,
    "description": Role.DESCRIPTION,
    "weight": Role.WEIGHT,
    "source_file": Role.CHUNKS,
    "confidence": Role.DETAIL,
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
    nodes, links = (_records(document, keys, paths[0]) for keys in (("nodes",), ("links", "edges")))
    has_name = Counter(text_of(node.get("label")) for node in nodes if isinstance(node, dict))
    is_kept = any(
        isinstance(link, dict) and "_src" in link for link in links
    )  # the direction, next to the ends
    if is_kept:
        links = [_without_ends(link) for link in links]
    is_directed = is_kept or document.get("directed") is not False
    lists = Lists(nodes, links, is_directed, ("nodes[{}]", "links[{}]"))
    fill(rows, lists, own_nodes=GRAPHIFY_NODES, own_edges=GRAPHIFY_EDGES)
    for id, row in rows.known.items():
        if rows.names[row] and has_name[rows.names[row]] > 1:
            rows.aliases[row] = [id]
    count_hyperedges(rows, document)
    return rows.graph()


@graph_format(
    "node-link JSON",
    "networkx's node_link_data: nodes and links",
    _is_node_link,
    general=True,
    takes_columns=True,
)
def read_node_link(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    """networkx: `node_link_data`, multigraph or not; Cytoscape, D3, vis.js."""
    path = paths[0]
    rows = Rows(path, "node-link JSON")
    document = json_of(path)
    lists = lists_of(document)
    if lists is None:
        _records(document, ("nodes",), path)
        _records(document, ("links", "edges", "relationships", "relations"), path)
        raise GraphError.at(path, "no lists of nodes and links in it")
    fill(rows, lists, columns)
    count_hyperedges(rows, document)
    return rows.graph()


def _without_ends(link: Any) -> Any:
    """An older Graphify link without the ends that lost its direction."""
    if not isinstance(link, dict) or "_src" not in link or "_tgt" not in link:
        return link
    return {key: value for key, value in link.items() if key not in ("source", "target")}


def count_hyperedges(rows: Rows, document: Any) -> None:
    about = document.get("graph") if isinstance(document, dict) else None
    hyperedges = isinstance(document, dict) and (
        document.get("hyperedges") or (about.get("hyperedges") if isinstance(about, dict) else None)
    )
    if isinstance(hyperedges, list) and hyperedges:
        first = hyperedges[0]
        example = (
            text_of(first.get("label") or first.get("id")) if isinstance(first, dict) else text_of(first)
        )
        rows.dropped("hyperedges (they join more than two nodes)", example, len(hyperedges))


def _records(document: Any, keys: Sequence[str], path: Path) -> list[Any]:
    """The list under one of these keys. Raises GraphError where there is none."""
    if not isinstance(document, dict):
        raise GraphError.at(
            path, "wanted an object with 'nodes' and 'links', got {got}", got=json_kind(document)
        )
    for key in keys:
        value = document.get(key)
        if isinstance(value, list):
            return value
        if value is not None:
            raise GraphError.at(
                path, "{key} must be a list of objects, got {got}", key=repr(key), got=json_kind(value)
            )
    there = ", ".join(map(repr, list(document)[:8])) or "none"
    raise GraphError.at(
        path,
        "as node-link JSON it lacks {names}; its keys are {there}. networkx writes edges under 'links' or "
        "'edges': node_link_data(graph, edges='links')",
        names=" or ".join(map(repr, keys)),
        there=there,
    )
