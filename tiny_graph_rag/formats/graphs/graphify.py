"""Graphify's `graph.json`: node-link JSON with its own keys.

Labels are not unique: where several nodes have one, each can also be named by its id. Its older
files are undirected and keep an edge's direction in `_src` and `_tgt`. `hyperedges` join more than two nodes
and are counted as dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.json_lists import Lists, count_hyperedges, fill, graph_of, lists_of
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import text_of
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
    lists = lists_of(document)
    if lists is None or not isinstance(document, dict):
        return graph_of(rows, document)  # says what it lacks
    nodes, edges = lists.entities or [], GRAPHIFY_EDGES
    has_name = Counter(text_of(node.get("label")) for node in nodes if isinstance(node, dict))
    is_kept = any(isinstance(link, dict) and "_src" in link for link in lists.relations)
    if is_kept:  # the direction, which these ends have lost
        edges = {**edges, "source": Role.UNUSED, "target": Role.UNUSED}
    is_directed = is_kept or document.get("directed") is not False
    lists = Lists(nodes, lists.relations, is_directed, ("nodes[{}]", "links[{}]"))
    fill(rows, lists, own_nodes=GRAPHIFY_NODES, own_edges=edges)
    for id, row in rows.known.items():
        if rows.names[row] and has_name[rows.names[row]] > 1:
            rows.aliases[row] = [id]
    count_hyperedges(rows, document)
    return rows.graph()
