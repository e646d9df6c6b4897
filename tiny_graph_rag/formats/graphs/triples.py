"""Triples: a source, a relation and a target a line, as TSV or CSV, with a header or without.

An entity is what stands at an end; its name is its id. Without a header the order is source, relation, target.
A header may name further columns (`description`, `weight`, `source_type`, `target_type`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.graphs import Head, graph_format
from tiny_graph_rag.formats.graphs.kg_columns import UNKNOWN_RELATION, UNKNOWN_TYPE, GraphColumns
from tiny_graph_rag.formats.graphs.rows import BAD_WEIGHTS, DESCRIPTION, DETAIL, NAME, TYPE, WEIGHT, Rows, detail_text
from tiny_graph_rag.formats.graphs.tables import csv_rows
from tiny_graph_rag.graph.model import DEFAULT_WEIGHT, KnowledgeGraph

SOURCES = ("source", "subject", "head", "from", "start", "source_entity_id", "s", "h")
RELATIONS = ("relation", "predicate", "relationship", "relationship_type", "label", "type", "edge", "p", "r")
TARGETS = ("target", "object", "tail", "to", "end", "target_entity_id", "o", "t")
WEIGHTS = ("weight", "score")
TYPES = (("source_type", "subject_type", "head_type"), ("target_type", "object_type", "tail_type"))
BROKEN = "lines with another number of fields (left out)"


def _is_triples(head: Head) -> bool:
    lines = [line for line in head.text.split("\n")[:20] if line.strip()]
    if head.is_cut:
        lines = lines[:-1] or lines
    if not lines or lines[0][:1] in "{[<@" or "\0" in head.text:
        return False
    delimiter = _delimiter(lines[0])
    if len(lines[0].split(delimiter)) < 3:
        return False
    return delimiter == "\t" or bool(_header(lines[0].split(delimiter))) or head.path.suffix in (".csv", ".tsv")


@graph_format("triples", _is_triples, suffixes=(".tsv", ".csv", ".txt"))
def read_triples(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "triples")
    fields = _fields(path)
    if not fields:
        raise GraphError(f"{path}: the file is empty; wanted a source, a relation and a target a line")
    header = _header(fields[0])
    places = header or {"source": 0, "relation": 1, "target": 2}
    width = len(fields[0])
    body = fields[1:] if header else fields
    if not header and width != 3:
        raise GraphError(
            f"{path}: wanted three fields a line (source, relation, target) or a header that names them, "
            f"got {width}: {', '.join(fields[0])[:80]}"
        )
    broken = [row for row in body if len(row) != width]
    if broken:
        rows.flaw(BROKEN, repr("\t".join(broken[0]))[:60], len(broken))
        body = [row for row in body if len(row) == width]
    columns = list(zip(*body, strict=True)) or [()] * width
    _fill(rows, [list(map(str.strip, column)) for column in columns], places, fields[0] if header else [])
    return rows.finished(rows.filled)
