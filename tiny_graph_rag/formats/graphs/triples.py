"""Triples: a source, a relation and a target a line, as TSV or CSV, with a header or without.

An entity is what stands at an end; its name is its id. Without a header the order is source, relation,
target. A header may name further columns (`description`, `weight`, `source_type`, `target_type`).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.graphs.heads import BYTE_ORDER_MARK, Head, graph_format
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
from tiny_graph_rag.formats.graphs.tables import (
    arrow_of_strings,
    coded_of_arrow,
    csv_rows,
    is_texts,
    numbers_of_arrow,
    strings_as_written,
    strings_of_arrow,
)
from tiny_graph_rag.formats.tables import check_width
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
QUICK_BLOCK = 1 << 24  # bytes that are parsed at once
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
    """The same graph by pyarrow, without a string a cell; None where it is not installed, where a line has
    another width, or where the file is not what it seems: the careful reader says what is wrong."""
    try:
        from pyarrow import ArrowException, BufferReader, large_string
        from pyarrow import csv as arrow_csv
    except ImportError:
        return None
    data = read_bytes(path).removeprefix(BYTE_ORDER_MARK).lstrip(b"\r\n")
    if b"\0" in data or (b"\r" in data and data.count(b"\r") > data.count(b"\r\n")):
        return None
    line = data[: data.find(b"\n")] if b"\n" in data else data
    first = line.decode("utf-8", "replace").removesuffix("\r")
    delimiter = _delimiter(first)
    check_width(first, delimiter, path)
    quoted = b'"' in data
    by_csv = quoted and delimiter != "\t"  # a line of TSV is a line, whatever its quotes
    if by_csv and first.count('"') % 2:
        return None
    names = _fields(first, delimiter)
    header = triple_places(names)
    if len({name.casefold() for name in names}) < len(names) if header else len(names) != 3:
        return None
    labels = list(map(str, range(len(names))))
    try:
        table = arrow_csv.read_csv(
            BufferReader(data),
            arrow_csv.ReadOptions(column_names=labels, skip_rows=int(bool(header)), block_size=QUICK_BLOCK),
            arrow_csv.ParseOptions(delimiter=delimiter, quote_char=by_csv and '"', newlines_in_values=by_csv),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(labels, large_string()), strings_can_be_null=False
            ),
        )
    except ArrowException:
        return None
    clean = unquoted if quoted and not by_csv else str.strip
    return of_arrow(path, rows, table.columns, names if header else [], clean)


def of_arrow(
    path: Path,
    rows: Rows,
    columns: Sequence[pyarrow.ChunkedArray],
    names: list[str],
    clean: Callable[[str], str] = str.strip,
    numbered: str = "line ",
) -> GraphColumns | None:
    """The graph of columns of texts or numbers; None where it has no entities.

    names: the header's, none where columns are source, relation and target. clean: `str.strip`, or what does
    more to a cell with quotes. numbered: what a relation is called, before its number.
    """
    from pyarrow import ArrowException, chunked_array, float64, large_string
    from pyarrow import types as arrow_types

    places = triple_places(names) or {"source": 0, "relation": 1, "target": 2}
    header = [name.casefold() for name in names]
    count, first = len(columns[0]), 1 + (bool(names) and numbered == "line ")
    ends = [columns[places[end]] for end in ("source", "target")]
    both = [chunk for end in ends for chunk in strings_as_written(end).cast(large_string()).chunks]
    row_of, texts = _coded(chunked_array(both, large_string()), clean)
    nameless = np.flatnonzero(np.diff(texts.offsets) == 0)
    if len(nameless):  # an empty end is nobody's
        row_of = np.where(row_of == nameless[0], -1, row_of - (row_of > nameless[0])).astype(np.int32)
        texts = Strings(texts.data, np.delete(texts.offsets, nameless[0]))
    if not len(texts):
        return None
    by_end = {"source": row_of[:count], "target": row_of[count:]}
    weights = np.full(count, DEFAULT_WEIGHT)
    if "weight" in places:
        written = columns[places["weight"]]
        is_number = arrow_types.is_integer(written.type) or arrow_types.is_floating(written.type)
        written = written if is_number else _cells(written, clean)
        try:
            numbers = written.cast(float64())
            told = [numbers_of_arrow(each, np.float64, DEFAULT_WEIGHT) for each in numbers.chunks]
            weights = np.concatenate([weights[:0], *told])
        except ArrowException:  # one of them is empty, or no number
            weights = _weights(rows, written.to_pylist())
    relations: Sequence[str] = Categories(np.zeros(count, np.int32), (UNKNOWN_RELATION,))
    if "relation" in places:
        codes, kinds = _coded(columns[places["relation"]], clean)
        relations = Categories(codes, tuple(each or UNKNOWN_RELATION for each in kinds))
    types = Categories(np.zeros(len(texts), np.int32), (UNKNOWN_TYPE,))
    for end, wanted in zip(("source", "target"), TYPES, strict=True):
        place = next((header.index(each) for each in wanted if each in header), None)
        if place is not None:
            codes, kinds = _coded(columns[place], clean)
            types = _told(types, by_end[end], Categories(codes, tuple(kinds)))
    rest = {
        name: place
        for place, name in enumerate(names)
        if place not in places.values() and header[place] not in (*TYPES[0], *TYPES[1])
    }
    details: Sequence[str] = Strings.blank(count)
    if rest:
        cells = [
            (_cells(each, clean) if is_texts(each.type) else each).to_pylist()
            for each in (columns[place] for place in rest.values())
        ]
        details = [
            detail_text(
                {name: value for name, value in zip(rest, row, strict=True) if value not in (None, "")}
            )
            for row in zip(*cells, strict=True)
        ]
    found = GraphColumns()
    blank, none = Strings.blank(len(texts)), StringLists.blank(len(texts))
    found.add_entity_columns(texts, texts, types, blank, none, none, blank)
    found.add_relation_columns(
        Strings.numbered(numbered, range(first, count + first)),
        by_end["source"],
        by_end["target"],
        relations,
        strings_of_arrow(_cells(columns[places["description"]], clean), path, "description")
        if "description" in places
        else Strings.blank(count),
        weights,
        StringLists.blank(count),
        details,
    )
    _took(rows, places, names, rest)
    return found


def _coded(column: pyarrow.ChunkedArray, clean: Callable[[str], str]) -> tuple[NDArray[np.int32], Strings]:
    """(rows,) places in the column's different texts, cleaned, in the order of their first rows."""
    column = strings_as_written(column)
    codes, written = coded_of_arrow(column, Path(), "")
    cells = strings_of_arrow(_cells(arrow_of_strings(written), clean), Path(), "")
    if not column.null_count and np.array_equal(cells.data, written.data):
        return codes, Strings(written.data, written.offsets[:-1])  # the last is null's
    place_of: dict[str, int] = {}
    place = np.array([place_of.setdefault(cell, len(place_of)) for cell in cells], dtype=np.int32)
    return place[codes], Strings.of(place_of)


def _cells(column: pyarrow.ChunkedArray, clean: Callable[[str], str]) -> pyarrow.ChunkedArray:
    """Every cell cleaned; null is ""."""
    from pyarrow import compute, large_string

    column = strings_as_written(column).cast(large_string())
    if clean is not str.strip and compute.any(compute.match_substring(column, '"')).as_py():
        return arrow_of_strings(Strings.of([clean(each) for each in strings_of_arrow(column, Path(), "")]))
    if column.null_count:
        column = arrow_of_strings(strings_of_arrow(column, Path(), ""))
    return compute.utf8_trim_whitespace(column)


def _told(types: Categories, rows: NDArray[np.int32], told: Categories) -> Categories:
    """Types of entities once some lines told theirs: of several of a name the last counts."""
    last = np.full(len(types), -1, dtype=np.int32)
    known = rows >= 0
    last[rows[known]] = told.codes[known]
    names = (*types.names, *told.names)
    is_told = np.array([bool(name) for name in told.names] + [False])[last]
    return Categories(np.where(is_told, last + len(types.names), types.codes).astype(np.int32), names)


def unquoted(cell: str) -> str:
    """A cell without the quotes around it, doubled ones in it once; other quotes are signs like any."""
    cell = cell.strip()
    inner = cell[1:-1]
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"' or '"' in inner.replace('""', ""):
        return cell
    return inner.replace('""', '"').strip()


def _fields(line: str, delimiter: str) -> list[str]:
    """The cells of a line that ends where it ends."""
    if delimiter == "\t" or '"' not in line:
        return [unquoted(field) for field in line.split(delimiter)]
    return [field.strip() for field in next(csv.reader([line], delimiter=delimiter))]


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
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = _delimiter(first)
    check_width(first, delimiter, path)
    if delimiter == "\t":
        tabbed = _tabbed(text)
        if tabbed is not None:
            return [column[0] for column in tabbed], tabbed
    fields = csv_rows(path, delimiter)
    width = len(fields[0])
    broken = [row for row in fields if len(row) != width]
    if broken:  # a quote that is never closed takes lines into its cell: each of them is lost
        lines = sum(1 + sum(cell.count("\n") for cell in row) for row in broken)
        rows.flaw(BROKEN, repr("\t".join(broken[0]))[:60], lines)
    kept = (row for row in fields if len(row) == width)
    columns = [list(map(str.strip, column)) for column in zip(*kept, strict=True)]
    return [column[0] for column in columns], columns


def _tabbed(text: str) -> list[list[str]] | None:
    """Columns of tab-separated lines, in which a line is a line; None where one has another width, for there
    quotes may hold tabs."""
    lines = [line for line in text.split("\n") if line]
    width = lines[0].count("\t") + 1
    if any(line.count("\t") != width - 1 for line in lines):
        return None
    cells = "\t".join(lines).split("\t")
    clean = unquoted if '"' in text else str.strip
    cells = list(map(clean, cells))
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
