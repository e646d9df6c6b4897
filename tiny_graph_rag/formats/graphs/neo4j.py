"""Neo4j: APOC's JSON (`apoc.export.json.all`, lines or one document), and neo4j-graphrag's Parquet files.

Labels say what an entity is; those with underscores around are the tools' own. Documents and chunks are
dropped and counted, as is every node that lacks `__Entity__` where others have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import Record, decoded_json, json_lines
from tiny_graph_rag.errors import json_kind
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.property_graph import Keys, from_property_graph
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import parquet_table
from tiny_graph_rag.graph.model import KnowledgeGraph

APOC = Keys(
    nodes={"<id>": ("id",), "<labels>": ("labels",)},
    edges={"<id>": ("id",), "<source>": ("start",), "<target>": ("end",), "<type>": ("label",)},
    unused=("type",),
)
PARQUET = Keys(
    nodes={"<id>": ("__id__",), "<labels>": ("labels",)},
    edges={"<source>": ("from",), "<target>": ("to",), "<type>": ("type",)},
    unused=("from_label", "to_label"),
)
_WHOLE = re.compile(r'\s*(\[|\{\s*"(nodes|rels)")')
_KIND = re.compile(r'"type"\s*:\s*"(node|relationship)"')


def _is_apoc(head: Head) -> bool:
    return bool(_KIND.search(head.text)) and ('"labels"' in head.text or '"start"' in head.text)


@graph_format("Neo4j (APOC JSON lines)", "what Neo4j's apoc.export.json writes", _is_apoc)
def read_apoc(paths: Sequence[Path]) -> KnowledgeGraph:
    """`{"type": "node", "labels", …}` and `{"type": "relationship", "label", "start", "end", …}` a line."""
    path = paths[0]
    rows = Rows(path, "Neo4j (APOC)")
    text = decode_utf8(read_bytes(path), path)
    if _WHOLE.match(text):  # jsonFormat ARRAY_JSON: a list; JSON: an object of two lists
        found = json_of(path)
        lists = [found] if isinstance(found, list) else [found.get(key) for key in ("nodes", "rels")]
        values = [value for part in lists if isinstance(part, list) for value in part]
        lines: Iterable[Record] = (Record(number, "", value) for number, value in enumerate(values, start=1))
    else:
        lines = json_lines(path, text, rows.problems, decoded_json)
    by_kind: dict[str, dict[int, Any]] = {"node": {}, "relationship": {}}
    for line in lines:
        kind = line.row.get("type") if isinstance(line.row, dict) else None
        if kind in list(by_kind):  # a kind may be a list, which no dictionary can look up
            by_kind[kind][line.number] = line.row
        else:
            got = json_kind(line.row)
            rows.problem(line.number, "wanted a 'type' of node or relationship, got {got}", got=got)
    nodes = APOC.node_records(rows, by_kind["node"], "line")
    edges = APOC.edge_records(rows, by_kind["relationship"], "line")
    return from_property_graph(rows, nodes, edges)


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
    rows = Rows(paths[0].parent.parent, "neo4j-graphrag")
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for path in paths:
        records = list(parquet_table(path).records())
        if path.parent.name == "nodes":
            labelled = [{"labels": [path.stem], **record} for record in records]
            nodes += PARQUET.node_records(rows, labelled, path.name)
        else:
            edges += PARQUET.edge_records(rows, records, path.name)
    return from_property_graph(rows, nodes, edges)
