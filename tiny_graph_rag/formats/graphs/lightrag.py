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
from tiny_graph_rag.formats.graphs.rows import Rows, column_roles, split_roles, text_of
from tiny_graph_rag.formats.graphs.xml_graphs import read_xml
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
    graph = read_xml(paths[0], "graphml")
    is_nano = "keywords" not in graph.columns["edge"] and "entity_id" not in graph.columns["node"]
    writer = "nano-graphrag" if is_nano else "LightRAG"
    return from_xml(paths[0], writer, graph, NODE_ROLES, EDGE_ROLES, unquoted)


EXPORT_MARK = "# ENTITIES"
SEPARATOR = "<SEP>"
COPIES = {
    "ENTITIES": 2,
    "RELATIONS": 3,
}  # the first fields of a table's rows repeat what its dictionary holds


@graph_format(
    "LightRAG export",
    "the CSV of LightRAG's export_data, whatever database holds the graph",
    lambda head: head.text.startswith(EXPORT_MARK),
)
def read_export(paths: Sequence[Path]) -> KnowledgeGraph:
    rows = Rows(paths[0], "LightRAG export")
    seen: dict[str, dict[str, None]] = {table: {} for table in COPIES}
    written: set[tuple[str, str, str]] = set()
    for table, line, fields in _exported(paths[0]):
        if table not in COPIES:  # the vectors' copies of both
            continue
        properties = _properties(fields[-1])
        if len(fields) != COPIES[table] + 1 or properties is None:
            rows.problem(
                line,
                said(
                    "wanted {copies} fields and a dictionary, got {n} fields",
                    copies=COPIES[table],
                    n=len(fields),
                ),
            )
            continue
        seen[table].update(dict.fromkeys(map(str, properties)))
        found, rest = split_roles(properties, NODE_ROLES if table == "ENTITIES" else EDGE_ROLES)
        type, description = text_of(found.get(Role.TYPE)), text_of(found.get(Role.DESCRIPTION))
        chunks = [part for part in text_of(found.get(Role.CHUNKS)).split(SEPARATOR) if part]
        description = description.replace(SEPARATOR, "\n")
        if table == "ENTITIES":
            name = text_of(found.get(Role.NAME)) or fields[0]
            rows.entity(fields[0], name, type, description, chunks=chunks, details=rest)
        else:
            source, target = fields[:2]
            if (target, source, fields[-1]) in written:  # an edge is written from both of its ends
                rows.dropped("relations written from their other end too", f"{source} – {target}")
                continue
            written.add((source, target, fields[-1]))
            rows.relation(source, target, "", description, found.get(Role.WEIGHT), chunks, rest)
    rows.took("entities", column_roles(seen["ENTITIES"], NODE_ROLES))
    rows.took("relations", column_roles(seen["RELATIONS"], EDGE_ROLES))
    return rows.graph()


def _properties(text: str) -> dict[str, Any] | None:
    """A dictionary's values as texts and numbers; None for what is none."""
    try:
        found: Any = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    plain = str | int | float | None
    return {str(key): value if isinstance(value, plain) else str(value) for key, value in found.items()}


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


def unquoted(text: str) -> str:
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
