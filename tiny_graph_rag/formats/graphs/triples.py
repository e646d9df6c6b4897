"""Triples: a source, a relation and a target a line, as TSV or CSV, with a header or without.

An entity is what stands at an end; its name is its id. Without a header the order is source, relation,
target. A header may name further columns (`description`, `weight`, `source_type`, `target_type`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.graphs.heads import Head, graph_format
from tiny_graph_rag.formats.graphs.rows import (
    BAD_WEIGHTS,
    DESCRIPTION,
    DETAIL,
    NAME,
    TYPE,
    WEIGHT,
    Rows,
    detail_text,
)
from tiny_graph_rag.formats.graphs.tables import csv_rows
from tiny_graph_rag.graph.building import UNKNOWN_RELATION, UNKNOWN_TYPE, GraphColumns
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT

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
    return (
        delimiter == "\t"
        or bool(triple_places(lines[0].split(delimiter)))
        or head.path.suffix in (".csv", ".tsv")
    )


@graph_format(
    "triples",
    "source, relation and target a line: TSV or CSV, with or without a header",
    _is_triples,
    suffixes=(".tsv", ".csv", ".txt"),
    general=True,
)
def read_triples(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "triples")
    fields = _fields(path)
    if not fields:
        raise GraphError(f"{path}: the file is empty; wanted a source, a relation and a target a line")
    header = triple_places(fields[0])
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
    columns = [list(map(str.strip, column)) for column in zip(*body, strict=True)] or [
        [] for _ in range(width)
    ]
    return rows.finished(filled(rows, columns, places, fields[0] if header else []))


def filled(rows: Rows, columns: list[list[str]], places: dict[str, int], names: list[str]) -> GraphColumns:
    row_of: dict[str, int] = {}
    sources, targets = (
        np.array(
            [row_of.setdefault(name, len(row_of)) if name else -1 for name in columns[places[end]]],
            dtype=np.int32,
        )
        for end in ("source", "target")
    )
    entities, count = list(row_of), len(columns[0])
    empty, none = [""] * len(entities), [()] * len(entities)
    found = GraphColumns()
    found.add_entity_columns(entities, entities, _types(columns, names, row_of), empty, none, none, empty)
    rest = {
        name: columns[place]
        for place, name in enumerate(names)
        if place not in places.values() and name.casefold() not in (*TYPES[0], *TYPES[1])
    }
    details = [""] * count
    if rest:
        details = [
            detail_text({name: value for name, value in zip(rest, row, strict=True) if value})
            for row in zip(*rest.values(), strict=True)
        ]
    relations = columns[places["relation"]] if "relation" in places else [""] * count
    found.add_relation_columns(
        [f"line {number}" for number in range(1 + bool(names), count + 1 + bool(names))],
        sources,
        targets,
        relations if all(relations) else [each or UNKNOWN_RELATION for each in relations],
        columns[places["description"]] if "description" in places else [""] * count,
        _weights(rows, columns[places["weight"]]) if "weight" in places else np.full(count, DEFAULT_WEIGHT),
        [()] * count,
        details,
    )
    roles = {"source": f"{NAME} of an entity", "target": f"{NAME} of an entity", "relation": TYPE}
    roles |= {"description": DESCRIPTION, "weight": WEIGHT}
    rows.took(
        "file", {names[place] if names else f"field {place + 1}": roles[key] for key, place in places.items()}
    )
    rows.took("file", {name: TYPE for name in names if name.casefold() in (*TYPES[0], *TYPES[1])})
    rows.took("file", dict.fromkeys(rest, DETAIL))
    return found


def _types(columns: list[list[str]], names: list[str], row_of: dict[str, int]) -> list[str]:
    types = [UNKNOWN_TYPE] * len(row_of)
    header = [name.casefold() for name in names]
    for ends, wanted in zip((SOURCES, TARGETS), TYPES, strict=True):
        place = next((header.index(each) for each in wanted if each in header), None)
        end = next((header.index(each) for each in ends if each in header), None)
        if place is None or end is None:
            continue
        for name, type in zip(columns[end], columns[place], strict=True):
            if name and type:
                types[row_of[name]] = type
    return types


def _weights(rows: Rows, column: list[str]) -> NDArray[np.float64]:
    weights = np.full(len(column), DEFAULT_WEIGHT)
    for row, value in enumerate(column):
        try:
            weights[row] = float(value) if value else DEFAULT_WEIGHT
        except ValueError:
            rows.flaw(BAD_WEIGHTS, value[:40])
    return weights


def _fields(path: Path) -> list[list[str]]:
    text = decode_utf8(read_bytes(path), path)
    first = text.split("\n", 1)[0]
    if _delimiter(first) == "\t" and '"' not in text:  # nothing is quoted: no need for the csv module's care
        return [line.split("\t") for line in text.replace("\r\n", "\n").split("\n") if line]
    return csv_rows(path, _delimiter(first))


def _delimiter(line: str) -> str:
    return "\t" if "\t" in line else ";" if ";" in line and "," not in line else ","


def triple_places(fields: Sequence[str]) -> dict[str, int]:
    """Where each column stands; empty where the first line is a triple already."""
    names = [field.strip().casefold() for field in fields]
    found: dict[str, int] = {}
    wanted = {"source": SOURCES, "relation": RELATIONS, "target": TARGETS}
    wanted |= {"description": ("description",), "weight": WEIGHTS}
    for key, spellings in wanted.items():
        place = next((names.index(each) for each in spellings if each in names), None)
        if place is not None:
            found[key] = place
    return found if "source" in found and "target" in found else {}
