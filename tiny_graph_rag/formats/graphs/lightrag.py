"""LightRAG and nano-graphrag: `graph_chunk_entity_relation.graphml` in their working folder.

A node's id is the entity; newer files repeat it as `entity_id`. Old versions left the model's quotes and
back-ticks around ids, types and descriptions; `<SEP>` joins what several chunks said. Edges are undirected
and have no type: `keywords` are kept as a detail. Where a database holds the graph, LightRAG's own
`export_data("graph.csv")` brings it as CSV: tables one below the other, properties as a Python dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.graphml import from_xml
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.xml_graphs import XmlGraph, read_xml
from tiny_graph_rag.formats.tables import csv_rows, literal
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

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
EXPORTED = {"ENTITIES": ("<id>",), "RELATIONS": ("<source>", "<target>")}  # table → its first columns


@graph_format(
    "LightRAG export",
    "the CSV of LightRAG's export_data, whatever database holds the graph",
    lambda head: head.text.startswith(EXPORT_MARK),
)
def read_export(paths: Sequence[Path]) -> KnowledgeGraph:
    """Tables one below the other; the last field of a row holds all that is known as a Python dictionary."""
    rows, graph, table = Rows(paths[0], "LightRAG export"), XmlGraph(), ""
    written: set[tuple[str, ...]] = set()
    text = decode_utf8(read_bytes(paths[0]), paths[0])
    for line, fields in csv_rows(paths[0], text, GraphError, ","):
        if len(fields) == 1 and fields[0].startswith("# "):
            table = fields[0][2:].strip()
        columns = EXPORTED.get(table, ())  # other tables are the vectors' copies of both
        if len(fields) < 2 or not columns or fields[-1] == "graph_data":
            continue
        properties = literal(fields[-1])
        if not isinstance(properties, dict):
            rows.problem(line, "wanted a dictionary in the last field, got {got}", got=repr(fields[-1][:40]))
        elif (*fields[1::-1], fields[-1]) in written:  # an edge is written from both of its ends
            rows.dropped("relations written from their other end too", " – ".join(fields[:2]))
        else:
            about, records = ("node", graph.nodes) if table == "ENTITIES" else ("edge", graph.edges)
            if about == "edge":
                written.add((*fields[:2], fields[-1]))
            graph.columns[about] = list(dict.fromkeys([*graph.columns[about], *properties]))
            records.append({**properties, **dict(zip(columns, fields, strict=False))})
    return from_xml(rows, graph, NODE_ROLES, EDGE_ROLES)


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
