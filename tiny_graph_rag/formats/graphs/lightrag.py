"""LightRAG and nano-graphrag: `graph_chunk_entity_relation.graphml` in their working folder.

A node's id is the entity; newer files repeat it as `entity_id`. Old versions left the model's quotes and
back-ticks around ids, types and descriptions; `<SEP>` joins what several chunks said. Edges are undirected
and have no type: `keywords` are kept as a detail. Where a database holds the graph, LightRAG's own
`export_data("graph.csv")` brings it as CSV: tables one below the other, properties as a Python dictionary.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.graphml import from_xml
from tiny_graph_rag.formats.graphs.rows import Roles, Rows, text_of
from tiny_graph_rag.formats.graphs.xml_graphs import XmlGraph, read_xml
from tiny_graph_rag.formats.tables import csv_rows
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

FILE = "graph_chunk_entity_relation.graphml"
NODE_ROLES = {
    "entity_id": Role.NAME,
    "entity_type": Role.TYPE,
    "description": Role.DESCRIPTION,
    "source_id": Role.CHUNKS,
}
EDGE_ROLES = {
    "description": Role.DESCRIPTION,
    "weight": Role.WEIGHT,
    "source_id": Role.CHUNKS,
    "keywords": Role.DETAIL,
}


def _is_lightrag(head: Head) -> bool:
    wanted = ('attr.name="entity_type"', 'attr.name="source_id"', 'attr.name="weight"')
    return "<graphml" in head.text and all(name in head.text for name in wanted)


@graph_format(
    "LightRAG",
    "graph_chunk_entity_relation.graphml of LightRAG and nano-graphrag",
    _is_lightrag,
    within=(FILE, f"*/{FILE}", f"rag_storage/{FILE}"),
    besides=("kv_store_*.json", "vdb_*.json"),
)
def read_lightrag(paths: Sequence[Path]) -> KnowledgeGraph:
    graph = read_xml(paths[0])
    is_nano = "keywords" not in graph.columns["edge"] and "entity_id" not in graph.columns["node"]
    writer = "nano-graphrag" if is_nano else "LightRAG"
    return from_xml(Rows(paths[0], writer), graph, NODE_ROLES, EDGE_ROLES, without_quotes)


EXPORT_MARK = "# ENTITIES"
# Table → how many first fields of a row repeat what its dictionary holds; what it is about; its columns.
COPIES = {"ENTITIES": (2, "node", NODE_ROLES), "RELATIONS": (3, "edge", EDGE_ROLES)}


@graph_format(
    "LightRAG export",
    "the CSV of LightRAG's export_data, whatever database holds the graph",
    lambda head: head.text.startswith(EXPORT_MARK),
)
def read_export(paths: Sequence[Path]) -> KnowledgeGraph:
    rows, graph = Rows(paths[0], "LightRAG export"), XmlGraph()
    written: set[tuple[str, str, str]] = set()
    for table, line, fields in _exported(paths[0]):
        if table not in COPIES:  # the vectors' copies of both
            continue
        copies, about, roles = COPIES[table]
        properties = _properties(fields[-1], roles)
        if len(fields) != copies + 1 or properties is None:
            wanted = said(
                "wanted {copies} fields and a dictionary, got {n} fields", copies=copies, n=len(fields)
            )
            rows.problem(line, wanted)
            continue
        graph.columns[about] = list(dict.fromkeys([*graph.columns[about], *properties]))
        if about == "node":
            graph.nodes.append({"<id>": fields[0], **properties})
            continue
        source, target = fields[:2]
        if (target, source, fields[-1]) in written:  # an edge is written from both of its ends
            rows.dropped("relations written from their other end too", f"{source} – {target}")
            continue
        written.add((source, target, fields[-1]))
        graph.edges.append({"<source>": source, "<target>": target, **properties})
    return from_xml(rows, graph, NODE_ROLES, EDGE_ROLES)


def _properties(text: str, roles: Roles) -> dict[str, Any] | None:
    """A dictionary's values as texts, those without a role as numbers too; None for what is none."""
    try:
        found: Any = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return {
        str(key): value if key not in roles and isinstance(value, int | float) else text_of(value)
        for key, value in found.items()
    }


def _exported(path: Path) -> Iterator[tuple[str, int, list[str]]]:
    """Table, line and fields of every row below a table's header."""
    table, is_header = "", False
    for line, fields in csv_rows(path, decode_utf8(read_bytes(path), path), GraphError, ","):
        if len(fields) == 1 and fields[0].startswith("# "):
            table, is_header = fields[0][2:].strip(), True
        elif is_header:
            is_header = False
        else:
            yield table, line, fields


def without_quotes(text: str) -> str:
    """Without back-ticks at either end, and without quotes around the whole: `"ALICE"` → `ALICE`.

    `"A" and "B"` keeps its quotes: the first inner one closes there.
    """
    text = text.strip().strip("`").strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        inner = text.find(text[0], 1, -1)
        if inner > 0 and text[inner - 1] not in " (\n":
            break
        text = text[1:-1].strip().strip("`").strip()
    return text
