"""Neo4j: APOC's JSON (`apoc.export.json.all`, lines or one document), and neo4j-graphrag's Parquet files.

Labels say what an entity is; those with underscores around are the tools' own. Documents and chunks are
dropped and counted, as is every node that lacks `__Entity__` where others have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import Record, decoded_json, json_lines
from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.property_graph import Edge, Node, from_property_graph, object_of
from tiny_graph_rag.formats.graphs.rows import Rows, text_of
from tiny_graph_rag.formats.graphs.spelling import labels_of
from tiny_graph_rag.formats.graphs.table import parquet_table
from tiny_graph_rag.formats.tables import one_of
from tiny_graph_rag.graph.model import KnowledgeGraph

_WHOLE = re.compile(r'\s*(\[|\{\s*"(nodes|rels)")')
_KIND = re.compile(r'"type"\s*:\s*"(node|relationship)"')


def _is_apoc(head: Head) -> bool:
    return bool(_KIND.search(head.text)) and ('"labels"' in head.text or '"start"' in head.text)


@graph_format("Neo4j (APOC JSON lines)", "what Neo4j's apoc.export.json writes", _is_apoc)
def read_apoc(paths: Sequence[Path]) -> KnowledgeGraph:
    """`{"type": "node", "labels", …}` and `{"type": "relationship", "label", "start", "end", …}` a line."""
    path = paths[0]
    rows = Rows(path, "Neo4j (APOC)")
    nodes: list[Node] = []
    edges: list[Edge] = []
    for number, row in _lines(path, rows):
        if row.get("type") == "node" and row.get("id") is not None:
            labels = labels_of(row.get("labels"))
            nodes.append(Node(text_of(row["id"]), labels, object_of(row.get("properties"))))
        elif row.get("type") == "relationship":
            ends = [object_of(row.get(end)).get("id") for end in ("start", "end")]
            if None in ends:
                rows.problem(number, "a relationship without the 'id' of its 'start' or its 'end'")
                continue
            properties, type = object_of(row.get("properties")), text_of(row.get("label"))
            edges.append(Edge(text_of(ends[0]), text_of(ends[1]), type, properties, text_of(row.get("id"))))
        else:
            rows.problem(
                number,
                "wanted a 'type' of node or relationship and an 'id', got {got}",
                got=json_kind(row.get("type")),
            )
    return from_property_graph(rows, nodes, edges)


def _lines(path: Path, rows: Rows) -> Iterator[tuple[int, dict[str, Any]]]:
    text = decode_utf8(read_bytes(path), path)
    if _WHOLE.match(text):  # jsonFormat ARRAY_JSON: a list; JSON: an object of two lists
        found = json_of(path)
        lists = [found] if isinstance(found, list) else [found.get(key) for key in ("nodes", "rels")]
        parts = [part for values in lists if isinstance(values, list) for part in values]
        lines: Iterable[Record] = (Record(number, "", part) for number, part in enumerate(parts, start=1))
    else:
        lines = json_lines(path, text, rows.problems, decoded_json)
    for line in lines:
        if isinstance(line.row, dict):
            yield line.number, line.row
        else:
            rows.problem(line.number, "wanted an object, got {got}", got=json_kind(line.row))


def _is_parquet_folder(head: Head) -> bool:
    return any(path.suffix == ".parquet" for path in head.paths) and any(
        path.parent.name == "relationships" for path in head.paths
    )


@graph_format(
    "neo4j-graphrag",
    "neo4j-graphrag's Parquet: a file a label, a file a type",
    _is_parquet_folder,
    within=("nodes/*.parquet", "relationships/*.parquet"),
    together=True,
)
def read_neo4j_graphrag(paths: Sequence[Path]) -> KnowledgeGraph:
    """What `ParquetWriter` wrote: a file a label under `nodes`, a file a type under `relationships`."""
    folder = paths[0].parent.parent
    nodes: list[Node] = []
    edges: list[Edge] = []
    for path in paths:
        table = parquet_table(path)
        wanted = ("__id__",) if path.parent.name == "nodes" else ("from", "to", "type")
        for column in wanted:
            one_of((column,), table.names, path, GraphError)
        if path.parent.name == "nodes":
            for row in table.records():
                labels = labels_of(row.pop("labels", None) or [path.stem])
                nodes.append(Node(text_of(row.pop("__id__")), labels, row))
        else:
            for row in table.records():
                ends = text_of(row.pop("from")), text_of(row.pop("to"))
                type = text_of(row.pop("type"))
                more = {key: part for key, part in row.items() if key not in ("from_label", "to_label")}
                edges.append(Edge(*ends, type, more))
    return from_property_graph(Rows(folder, "neo4j-graphrag"), nodes, edges)
