"""Triples: a source, a relation and a target a line, as TSV or CSV, with a header or without.

An entity is what stands at an end; its name is its id. Without a header the order is source, relation,
target. A header may name further columns (`description`, `weight`, `source_type`, `target_type`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
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
from tiny_graph_rag.formats.graphs.tables import categories_of_arrow, csv_rows, strings_of_arrow
from tiny_graph_rag.graph.building import UNKNOWN_RELATION, UNKNOWN_TYPE, GraphColumns
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT

if TYPE_CHECKING:
    import pyarrow

SOURCES = (
    "source",
    "subject",
    "head",
    "from",
    "start",
    "source_entity_id",
    "s",
    "h",
    "주어",
    "출발",
    "출발점",
)
RELATIONS = (
    "relation",
    "predicate",
    "relationship",
    "relationship_type",
    "label",
    "type",
    "edge",
    "p",
    "r",
    "관계",
    "술어",
)
TARGETS = ("target", "object", "tail", "to", "end", "target_entity_id", "o", "t", "목적어", "도착", "도착점")
WEIGHTS = ("weight", "score", "가중치")
_TYPES = (
    ("source_type", "subject_type", "head_type", "주어_유형", "출발_유형"),
    ("target_type", "object_type", "tail_type", "목적어_유형", "도착_유형"),
)
TYPES = tuple((*names, *(each.replace("_", " ") for each in names)) for names in _TYPES)
QUICK_BLOCK = 1 << 24  # bytes that are parsed at once
# Quotes, other line ends, a byte order mark, blanks at the end of a cell: for the readers that take care.
_CARE = (b'"', b"\r", b"\0", b"\xef\xbb\xbf", b"\t ", b" \t", b"\n ", b" \n")
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
    quick = _quick(path, rows)
    if quick is not None:
        return rows.finished(quick)
    first, columns = _columns(path, rows)
    header = triple_places(first)
    places = header or {"source": 0, "relation": 1, "target": 2}
    if not header and len(first) != 3:
        raise GraphError(
            f"{path}: wanted three fields a line (source, relation, target) or a header that names them, "
            f"got {len(first)}: {', '.join(first)[:80]}"
        )
    if header:
        columns = [column[1:] for column in columns]
    return rows.finished(filled(rows, columns, places, first if header else []))


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
        Strings.numbered("line ", range(1 + bool(names), count + 1 + bool(names))),
        sources,
        targets,
        relations if all(relations) else [each or UNKNOWN_RELATION for each in relations],
        columns[places["description"]] if "description" in places else [""] * count,
        _weights(rows, columns[places["weight"]]) if "weight" in places else np.full(count, DEFAULT_WEIGHT),
        [()] * count,
        details,
    )
    _took(rows, places, names, rest)
    return found


def _took(rows: Rows, places: dict[str, int], names: Sequence[str], rest: Iterable[str]) -> None:
    """Note what became of each column."""
    roles = {"source": f"{NAME} of an entity", "target": f"{NAME} of an entity", "relation": TYPE}
    roles |= {"description": DESCRIPTION, "weight": WEIGHT}
    rows.took(
        "file", {names[place] if names else f"field {place + 1}": roles[key] for key, place in places.items()}
    )
    rows.took("file", {name: TYPE for name in names if name.casefold() in (*TYPES[0], *TYPES[1])})
    rows.took("file", dict.fromkeys(rest, DETAIL))


def _quick(path: Path, rows: Rows) -> GraphColumns | None:
    """The same graph by pyarrow, without a string a cell; None where it is not installed, or where the file
    wants more care: quotes, blanks around a cell, empty names, lines of another width, further columns."""
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    data = read_bytes(path)
    if any(sign in data for sign in _CARE) or data[:1].isspace() or data[-1:] == b" ":
        return None
    first = data[: data.find(b"\n") + 1].decode("utf-8", "replace").rstrip("\n").split("\t")
    header = triple_places(first)
    places = header or {"source": 0, "relation": 1, "target": 2}
    names = first if header else []
    folded = [name.casefold() for name in names]
    known = {*(names[place] for place in header.values()), *TYPES[0], *TYPES[1]}
    if len(set(folded)) < len(names) or not {*folded} <= {each.casefold() for each in known}:
        return None
    if len(first) < 3 or (not header and len(first) != 3):
        return None
    labels = list(map(str, range(len(first))))
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(data),
            csv.ReadOptions(column_names=labels, skip_rows=int(bool(header)), block_size=QUICK_BLOCK),
            csv.ParseOptions(delimiter="\t", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(labels, pyarrow.large_string()), strings_can_be_null=False
            ),
        )
    except pyarrow.ArrowException:
        return None
    ends = pyarrow.concat_arrays(
        [*table.column(places["source"]).chunks, *table.column(places["target"]).chunks]
    ).dictionary_encode()
    entities = strings_of_arrow(pyarrow.chunked_array([ends.dictionary]), path, "source")
    if not len(entities) or not np.diff(entities.offsets).all():
        return None
    count = table.num_rows
    row_of = ends.indices.to_numpy(zero_copy_only=False)
    by_end = {"source": row_of[:count], "target": row_of[count:]}
    weights = np.full(count, DEFAULT_WEIGHT)
    if "weight" in places:
        try:
            numbers = table.column(places["weight"]).cast(pyarrow.float64())
        except pyarrow.ArrowException:
            return None
        weights = np.asarray(numbers.to_numpy(), dtype=np.float64)
    relations: Sequence[str] = Categories(np.zeros(count, np.int32), (UNKNOWN_RELATION,))
    if "relation" in places:
        coded = categories_of_arrow(table.column(places["relation"]))
        relations = Categories(coded.codes, tuple(each or UNKNOWN_RELATION for each in coded.names))
    types = _coded_types(table, folded, by_end, len(entities))
    found = GraphColumns()
    blank, none = Strings.blank(len(entities)), StringLists.blank(len(entities))
    found.add_entity_columns(entities, entities, types, blank, none, none, blank)
    found.add_relation_columns(
        Strings.numbered("line ", range(1 + bool(names), count + 1 + bool(names))),
        by_end["source"],
        by_end["target"],
        relations,
        strings_of_arrow(table.column(places["description"]), path, "description")
        if "description" in places
        else Strings.blank(count),
        weights,
        StringLists.blank(count),
        Strings.blank(count),
    )
    _took(rows, places, names, ())
    return found


def _coded_types(
    table: pyarrow.Table, header: list[str], by_end: dict[str, NDArray[np.int32]], entities: int
) -> Categories:
    """What `_types` finds: of several types of a name the last counts, a target's before a source's."""
    kinds = {UNKNOWN_TYPE: 0}
    codes = np.zeros(entities, dtype=np.int32)
    for end, wanted in zip(("source", "target"), TYPES, strict=True):
        place = next((header.index(each) for each in wanted if each in header), None)
        if place is None:
            continue
        coded = categories_of_arrow(table.column(place))
        last = np.full(entities, -1, dtype=np.int32)
        last[by_end[end]] = coded.codes
        kind = [kinds.setdefault(name, len(kinds)) if name else -1 for name in coded.names]
        told = np.array([*kind, -1], dtype=np.int32)[last]
        codes = np.where(told >= 0, told, codes)
    return Categories(codes, tuple(kinds))


def _types(columns: list[list[str]], names: list[str], row_of: dict[str, int]) -> list[str]:
    types = [UNKNOWN_TYPE] * len(row_of)
    header = [name.casefold() for name in names]
    for ends, wanted in zip((SOURCES, TARGETS), TYPES, strict=True):
        place = next((header.index(each) for each in wanted if each in header), None)
        end = next((header.index(each) for each in ends if each in header), None)
        if place is None or end is None:
            continue
        told = dict(zip(columns[end], columns[place], strict=True))  # of several the last
        for name, type in told.items():
            if name and type:
                types[row_of[name]] = type
    return types


def _weights(rows: Rows, column: list[str]) -> NDArray[np.float64]:
    try:
        return np.fromiter(map(float, column), dtype=np.float64, count=len(column))
    except ValueError:  # one of them is empty, or no number
        weights = np.full(len(column), DEFAULT_WEIGHT)
    for row, value in enumerate(column):
        try:
            weights[row] = float(value) if value else DEFAULT_WEIGHT
        except ValueError:
            rows.flaw(BAD_WEIGHTS, value[:40])
    return weights


def _columns(path: Path, rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The first line's fields, and every column; lines of another width are left out and counted."""
    text = decode_utf8(read_bytes(path), path).replace("\r\n", "\n")
    if not text.strip():
        raise GraphError(f"{path}: the file is empty; wanted a source, a relation and a target a line")
    delimiter = _delimiter(text.lstrip("\n").split("\n", 1)[0])
    if delimiter == "\t" and '"' not in text:  # nothing is quoted: no need for the csv module's care
        quick = _unquoted(text)
        if quick is not None:
            return [column[0] for column in quick], quick
    fields = csv_rows(path, delimiter)
    width = len(fields[0])
    broken = [row for row in fields if len(row) != width]
    if broken:
        rows.flaw(BROKEN, repr("\t".join(broken[0]))[:60], len(broken))
    kept = (row for row in fields if len(row) == width)
    columns = [list(map(str.strip, column)) for column in zip(*kept, strict=True)]
    return [column[0] for column in columns], columns


def _unquoted(text: str) -> list[list[str]] | None:
    """Columns of tab-separated lines by one split of the whole; None where a line has another width."""
    text = text.strip("\n")
    width = text.split("\n", 1)[0].count("\t") + 1
    signs = np.frombuffer(text.encode(), dtype=np.uint8)
    is_line_end = signs[(signs == ord("\t")) | (signs == ord("\n"))] == ord("\n")
    ends = np.flatnonzero(is_line_end)
    if len(is_line_end) != (len(ends) + 1) * width - 1 or (ends % width != width - 1).any():
        return None
    cells = text.replace("\n", "\t").split("\t")
    if any(sign in text for sign in ("\t ", " \t", "\n ", " \n")):
        cells = list(map(str.strip, cells))
    return [cells[place::width] for place in range(width)]


def _delimiter(line: str) -> str:
    return "\t" if "\t" in line else ";" if ";" in line and "," not in line else ","


def triple_places(fields: Sequence[str]) -> dict[str, int]:
    """Where each column stands; empty where the first line is a triple already."""
    names = [field.strip().casefold() for field in fields]
    found: dict[str, int] = {}
    wanted: dict[str, tuple[str, ...]] = {"source": SOURCES, "relation": RELATIONS, "target": TARGETS}
    wanted |= {"description": ("description", "설명"), "weight": WEIGHTS}
    for key, spellings in wanted.items():
        place = next((names.index(each) for each in spellings if each in names), None)
        if place is not None:
            found[key] = place
    return found if "source" in found and "target" in found else {}
