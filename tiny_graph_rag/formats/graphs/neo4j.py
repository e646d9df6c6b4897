"""Neo4j: APOC's JSON (`apoc.export.json.all`, lines or one document), and neo4j-graphrag's Parquet files.

Labels say what an entity is; those with underscores around are the tools' own. Documents and chunks are
dropped and counted, as is every node that lacks `__Entity__` where others have it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.errors import json_kind
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.json_lists import document_of
from tiny_graph_rag.formats.graphs.property_graph import Record, from_property_graph, records_of
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import parquet_table
from tiny_graph_rag.graph.model import KnowledgeGraph

ENDS = ("<source>", "<target>")
APOC_NODES = {"<id>": ("id",), "<type>": ("labels",)}
APOC_EDGES = {"<id>": ("id",), "<source>": ("start",), "<target>": ("end",), "<type>": ("label",)}
NODES = {"<id>": ("__id__",), "<type>": ("labels",)}
EDGES = {"<source>": ("from",), "<target>": ("to",), "<type>": ("type",)}
_KIND = re.compile(r'"type"\s*:\s*"(node|relationship)"')


def _is_apoc(head: Head) -> bool:
    return bool(_KIND.search(head.text)) and ('"labels"' in head.text or '"start"' in head.text)


@graph_format("Neo4j (APOC JSON lines)", "what Neo4j's apoc.export.json writes", _is_apoc)
def read_apoc(paths: Sequence[Path]) -> KnowledgeGraph:
    """`{"type": "node", "labels", …}` and `{"type": "relationship", "label", "start", "end", …}` a line, in a
    list, or in two lists."""
    rows = Rows(paths[0], "Neo4j (APOC)")
    found = document_of(paths[0], rows)
    if isinstance(found, dict):
        parts = [found] if "type" in found else [found.get("nodes"), found.get("rels")]
        found = [value for part in parts for value in (part if isinstance(part, list) else [part])]
    nodes: dict[int, Record] = {}
    edges: dict[int, Record] = {}
    for number, value in enumerate(found, start=1):
        kind = value.get("type") if isinstance(value, dict) else None
        if kind not in ("node", "relationship"):
            got = json_kind(value)
            rows.problem(number, "wanted a 'type' of node or relationship, got {got}", got=got)
        else:
            (nodes if kind == "node" else edges)[number] = value
    return from_property_graph(
        rows,
        records_of(rows, nodes, "line", APOC_NODES, ("<id>",), ("type",)),
        records_of(rows, edges, "line", APOC_EDGES, ENDS, ("type",)),
    )


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
    nodes: list[Record] = []
    edges: list[Record] = []
    for path in paths:
        records = parquet_table(path).records()
        if path.parent.name == "nodes":
            labelled = [{"labels": [path.stem], **record} for record in records]
            nodes += records_of(rows, labelled, path.name, NODES, ("<id>",))
        else:
            edges += records_of(rows, records, path.name, EDGES, ENDS, ("from_label", "to_label"))
    return from_property_graph(rows, nodes, edges)
