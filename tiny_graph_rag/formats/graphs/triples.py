"""Triples: a source, a relation and a target a line, as TSV or CSV, with a header or without.

An entity is what stands at an end; its name is its id. Without a header the order is source, relation,
target. A header may name further columns (`description`, `weight`, `source_type`, `target_type`).
"""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import BYTE_ORDER_MARK, decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.keys import are_numbers, edge_roles, key_of, node_roles, words_of
from tiny_graph_rag.formats.graphs.listed import UNDIRECTED_WORDS, Columns, names_ends
from tiny_graph_rag.formats.graphs.rows import BAD_WEIGHTS, SOME_UNDIRECTED, Rows, detail_text, unfolded
from tiny_graph_rag.formats.graphs.tables import (
    arrow_of_strings,
    coded_of_arrow,
    csv_lists,
    is_texts,
    numbers_of_arrow,
    strings_as_written,
    strings_of_arrow,
)
from tiny_graph_rag.formats.tables import check_width, delimiter_of, unguarded
from tiny_graph_rag.formats.words import EDGE_KEYS, HEADER_WORDS, NODE_KEYS, Role
from tiny_graph_rag.graph.building import UNKNOWN_RELATION, UNKNOWN_TYPE, GraphColumns
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT

if TYPE_CHECKING:
    import pyarrow

QUICK_BLOCK = 1 << 24  # bytes that are parsed at once
_GUARDED = re.compile(rb"(?m)(?:^|[,;\"])\s*'+[=+\-@]")
SAMPLED = 1000  # cells of a column that tell what it holds
BROKEN = "lines with another number of fields (left out)"


def _is_triples(head: Head) -> bool:
    lines = [line for line in head.text.split("\n")[:20] if line.strip()]
    if head.is_cut:
        lines = lines[:-1] or lines
    if not lines or lines[0][:1] in "{[<@" or "\0" in head.text:
        return False
    delimiter = delimiter_of(lines[0])
    fields = lines[0].split(delimiter)
    if len(fields) < 3:
        return is_header(fields)
    return delimiter == "\t" or is_header(fields) or head.path.suffix in (".csv", ".tsv")


@graph_format(
    "triples",
    "source, relation and target a line: TSV or CSV, with or without a header",
    _is_triples,
    suffixes=(".tsv", ".csv", ".txt"),
    general=True,
    takes_columns=True,
)
def read_triples(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "triples")
    quick = _quick(path, rows, columns)
    if quick is not None:
        return rows.finished(quick)
    names, cells = _columns(path, rows)
    if columns is not None:
        columns.check(names, path)
    has_header = is_header(names, columns)
    if not has_header:
        _check_headless(path, names, cells)
    table = ListedCells([column[has_header:] for column in cells])
    return rows.finished(
        graph_columns(path, rows, table, names if has_header else [], columns) or GraphColumns()
    )


def _check_headless(path: Path, first: list[str], cells: list[list[str]]) -> None:
    """Raises GraphError where the first line is a header that nobody knows, or no triple."""
    if len({Role.ID, Role.NAME, Role.TYPE} & set(node_roles(first).values())) > 1:
        raise GraphError.at(
            path,
            "the table has entities ({names}) and no relations; add the table of relations: -g "
            "{file},RELATIONS",
            names=", ".join(first)[:80],
            file=path.name,
        )
    if len(first) != 3:
        raise GraphError.at(
            path,
            "wanted three fields per line (source, relation, target) or a header that names them, got {got}: "
            "{names}. Set the columns: --columns source=COLUMN,target=COLUMN,relation=COLUMN",
            got=len(first),
            names=", ".join(first)[:80],
        )
    again = any(field in column[1:] for field in first for column in cells)
    numbers = any(are_numbers(column[1:]) and not are_numbers(column[:1]) for column in cells)
    if not again and len(cells[0]) > 1 and (numbers or sum(map(_says_column, first)) > 1):
        raise GraphError.at(
            path,
            "the first line looks like a header with unknown columns: {names}. Set them: --columns "
            "source={source},relation={relation},target={target}",
            names=", ".join(first),
            source=first[0],
            relation=first[1],
            target=first[2],
        )


def _says_column(field: str) -> bool:
    """Whether a field is what columns are called."""
    words = words_of(field)
    keys = {key for keys in (*NODE_KEYS.values(), *EDGE_KEYS.values()) for key in keys}
    return (
        len(words) < 4
        and len(field.split()) < 3
        and (bool(HEADER_WORDS & set(words)) or key_of(field) in keys)
    )


class Cells(ABC):
    """The columns of a table of relations, by number."""

    rows: int

    @abstractmethod
    def ends(self, source: int, target: int) -> tuple[NDArray[np.int32], Strings]:
        """(2 × rows,) places of sources, then of targets, in a list of texts; "" may be among them."""

    @abstractmethod
    def coded(self, column: int) -> tuple[NDArray[np.int32], Sequence[str]]:
        """(rows,) places in a list of texts."""

    @abstractmethod
    def texts(self, column: int) -> Sequence[str]: ...

    @abstractmethod
    def values(self, column: int) -> Sequence[Any]:
        """What is kept of a column as a detail."""

    @abstractmethod
    def weights(self, column: int, rows: Rows) -> NDArray[np.float64]: ...


class ListedCells(Cells):
    def __init__(self, columns: list[list[str]]) -> None:
        self.columns = columns
        self.rows = len(columns[0]) if columns else 0

    def ends(self, source: int, target: int) -> tuple[NDArray[np.int32], Strings]:
        codes, texts = _coded_list([*self.columns[source], *self.columns[target]])
        return codes, Strings.of(texts)

    def coded(self, column: int) -> tuple[NDArray[np.int32], Sequence[str]]:
        return _coded_list(self.columns[column])

    def texts(self, column: int) -> Sequence[str]:
        return self.columns[column]

    def values(self, column: int) -> Sequence[Any]:
        return self.columns[column]

    def weights(self, column: int, rows: Rows) -> NDArray[np.float64]:
        return _weights(rows, self.columns[column])


def _coded_list(texts: list[str]) -> tuple[NDArray[np.int32], list[str]]:
    place_of: dict[str, int] = {}
    codes = np.array([place_of.setdefault(text, len(place_of)) for text in texts], dtype=np.int32)
    return codes, list(place_of)


class ArrowCells(Cells):
    """Arrow's columns of texts or numbers. clean: `str.strip`, or what does more to a cell with quotes."""

    def __init__(
        self, path: Path, columns: Sequence[pyarrow.ChunkedArray], clean: Callable[[str], str] = str.strip
    ) -> None:
        self.path, self.columns, self.clean = path, columns, clean
        self.rows = len(columns[0])

    def ends(self, source: int, target: int) -> tuple[NDArray[np.int32], Strings]:
        from pyarrow import chunked_array, large_string

        both = [
            chunk
            for column in (source, target)
            for chunk in strings_as_written(self.columns[column]).cast(large_string()).chunks
        ]
        return _coded(chunked_array(both, large_string()), self.clean)

    def coded(self, column: int) -> tuple[NDArray[np.int32], Sequence[str]]:
        return _coded(self.columns[column], self.clean)

    def texts(self, column: int) -> Sequence[str]:
        return strings_of_arrow(_cells(self.columns[column], self.clean), self.path, "")

    def values(self, column: int) -> Sequence[Any]:
        cells = self.columns[column]
        found: list[Any] = (_cells(cells, self.clean) if is_texts(cells.type) else cells).to_pylist()
        return found

    def weights(self, column: int, rows: Rows) -> NDArray[np.float64]:
        from pyarrow import ArrowException, float64
        from pyarrow import types as arrow_types

        written = self.columns[column]
        is_number = arrow_types.is_integer(written.type) or arrow_types.is_floating(written.type)
        written = written if is_number else _cells(written, self.clean)
        try:
            numbers = written.cast(float64())
            parts = [numbers_of_arrow(chunk, np.float64, DEFAULT_WEIGHT) for chunk in numbers.chunks]
            return np.concatenate([np.zeros(0), *parts])
        except ArrowException:  # one of them is empty, or no number
            return _weights(rows, written.to_pylist())


def graph_columns(
    path: Path,
    rows: Rows,
    cells: Cells,
    names: list[str],
    given: Columns | None = None,
    numbered: str = "line ",
) -> GraphColumns | None:
    """The graph of a table of relations; None where it has no entities.

    names: the header's, none where columns are source, relation and target. numbered: what a relation is
    called, before its number.
    """

    def sample(column: str) -> Sequence[Any]:
        return cells.values(names.index(column))[:SAMPLED]

    if not cells.rows:
        return None
    own = given.of_edges(names) if given is not None else {}
    roles = edge_roles(names, sample, own) if names else {}
    places: dict[str, int] = {}
    for name, role in roles.items():
        if role not in (Role.ID, Role.UNUSED):  # an id of a line is no more than its number
            places.setdefault(role, names.index(name))
    places = places or {Role.SOURCE: 0, Role.TYPE: 1, Role.TARGET: 2}
    count, first = cells.rows, 1 + (bool(names) and numbered == "line ")
    row_of, texts = cells.ends(places[Role.SOURCE], places[Role.TARGET])
    nameless = np.flatnonzero(np.diff(texts.offsets) == 0)
    if len(nameless):  # an empty end is nobody's
        row_of = np.where(row_of == nameless[0], -1, row_of - (row_of > nameless[0])).astype(np.int32)
        texts = Strings(texts.data, np.delete(texts.offsets, nameless[0]))
    if not len(texts):
        return None
    by_end = {Role.SOURCE: row_of[:count], Role.TARGET: row_of[count:]}

    def told(start: Categories, roles: tuple[str, str]) -> Categories:
        for end, role in zip((Role.SOURCE, Role.TARGET), roles, strict=True):
            if role in places:
                codes, kinds = cells.coded(places[role])
                start = _told(start, by_end[end], Categories(codes, tuple(kinds)))
        return start

    types = told(
        Categories(np.zeros(len(texts), np.int32), (UNKNOWN_TYPE,)), (Role.SOURCE_TYPE, Role.TARGET_TYPE)
    )
    entity_names: Sequence[str] = texts
    if Role.SOURCE_NAME in places:
        called = told(Categories(np.zeros(len(texts), np.int32), ("",)), (Role.SOURCE_NAME, Role.TARGET_NAME))
        entity_names = [name or id for name, id in zip(called, texts, strict=True)]
    relations: Sequence[str] = Categories(np.zeros(count, np.int32), (UNKNOWN_RELATION,))
    if Role.TYPE in places:
        codes, kinds = cells.coded(places[Role.TYPE])
        relations = Categories(codes, tuple(kind or UNKNOWN_RELATION for kind in kinds))
    unused = {name for name, role in roles.items() if role == Role.UNUSED}
    rest = {
        name: place for place, name in enumerate(names) if place not in places.values() and name not in unused
    }
    details: Sequence[str] = Strings.blank(count)
    if rest:
        lines = zip(*(cells.values(place) for place in rest.values()), strict=True)
        held = (
            {name: cell for name, cell in zip(rest, line, strict=True) if cell not in (None, "")}
            for line in lines
        )
        details = [detail_text(unfolded(line)) for line in held]
    chunks = StringLists.blank(count)
    if Role.CHUNKS in places:
        chunks = StringLists.of([[text] if text else [] for text in cells.texts(places[Role.CHUNKS])])
    columns = GraphColumns()
    blank, none = Strings.blank(len(texts)), StringLists.blank(len(texts))
    columns.add_entity_columns(texts, entity_names, types, blank, none, none, blank)
    columns.add_relation_columns(
        Strings.numbered(numbered, range(first, count + first)),
        by_end[Role.SOURCE],
        by_end[Role.TARGET],
        relations,
        cells.texts(places[Role.DESCRIPTION]) if Role.DESCRIPTION in places else Strings.blank(count),
        cells.weights(places[Role.WEIGHT], rows) if Role.WEIGHT in places else np.full(count, DEFAULT_WEIGHT),
        chunks,
        details,
    )
    _took(rows, places, names, rest, unused)
    if Role.DIRECTED in places:
        _note_direction(rows, cells, places[Role.DIRECTED], names[places[Role.DIRECTED]])
    return columns


def _note_direction(rows: Rows, cells: Cells, place: int, name: str) -> None:
    codes, words = cells.coded(place)
    is_directed = np.array([word.casefold() not in UNDIRECTED_WORDS for word in words] + [True])[codes]
    if not is_directed.any():
        rows.undirected("file", name)
    elif not is_directed.all():
        rows.flaw(SOME_UNDIRECTED, f"row {np.flatnonzero(~is_directed)[0] + 1}", int((~is_directed).sum()))


def _took(
    rows: Rows, places: dict[str, int], names: Sequence[str], rest: Iterable[str], unused: Iterable[str]
) -> None:
    """Note what became of each column."""
    roles = {Role.SOURCE: f"{Role.NAME} of an entity", Role.TARGET: f"{Role.NAME} of an entity"}
    if Role.SOURCE_NAME in places:
        roles = {Role.SOURCE: f"{Role.ID} of an entity", Role.TARGET: f"{Role.ID} of an entity"}
    by_place = {place: roles.get(role, role) for role, place in places.items()}
    rows.took(
        "file", {names[place] if names else f"field {place + 1}": role for place, role in by_place.items()}
    )
    rows.took("file", dict.fromkeys(rest, Role.DETAIL))
    rows.took("file", dict.fromkeys(unused, Role.UNUSED))


def _quick(path: Path, rows: Rows, given: Columns | None = None) -> GraphColumns | None:
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
    delimiter = delimiter_of(first)
    check_width(first, delimiter, path)
    quoted = b'"' in data
    by_csv = quoted and delimiter != "\t"  # a line of TSV is a line, whatever its quotes
    if by_csv and first.count('"') % 2:
        return None
    names = _fields(first, delimiter)
    header = is_header(names, given)
    if len(set(names)) < len(names) if header else len(names) != 3:
        return None
    labels = list(map(str, range(len(names))))
    try:
        table = arrow_csv.read_csv(
            BufferReader(data),
            arrow_csv.ReadOptions(column_names=labels, skip_rows=int(header), block_size=QUICK_BLOCK),
            arrow_csv.ParseOptions(delimiter=delimiter, quote_char=by_csv and '"', newlines_in_values=by_csv),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(labels, large_string()), strings_can_be_null=False
            ),
        )
    except ArrowException:
        return None
    clean = unquoted if quoted and not by_csv else str.strip
    if delimiter != "\t" and _GUARDED.search(data):
        clean = _plain
    cells = ArrowCells(path, table.columns, clean)
    if not header:
        _check_headless(path, names, [list(cells.values(place)[:SAMPLED]) for place in range(3)])
    return graph_columns(path, rows, cells, names if header else [], given)


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
    mark = "'" if clean is _plain else '"'
    if clean is not str.strip and compute.any(compute.match_substring(column, mark)).as_py():
        return arrow_of_strings(Strings.of([clean(text) for text in strings_of_arrow(column, Path(), "")]))
    if column.null_count:
        column = arrow_of_strings(strings_of_arrow(column, Path(), ""))
    return compute.utf8_trim_whitespace(column)


def _told(types: Categories, rows: NDArray[np.int32], told: Categories) -> Categories:
    """Types of entities once some lines gave theirs: of several of a name the last counts."""
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
        raise GraphError.at(path, "the file is empty; wanted a source, a relation and a target a line")
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = delimiter_of(first)
    check_width(first, delimiter, path)
    if delimiter == "\t":
        tabbed = _tabbed(text)
        if tabbed is not None:
            return [column[0] for column in tabbed], tabbed
    fields = csv_lists(path, delimiter)
    width = len(fields[0])
    broken = [row for row in fields if len(row) != width]
    if broken:  # a quote that is never closed takes lines into its cell: each of them is lost
        lines = sum(1 + sum(cell.count("\n") for cell in row) for row in broken)
        rows.flaw(BROKEN, repr("\t".join(broken[0]))[:60], lines)
    kept = (row for row in fields if len(row) == width)
    columns = [list(map(_plain, column)) for column in zip(*kept, strict=True)]
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


def _plain(cell: str) -> str:
    """A cell of CSV without what keeps a spreadsheet from running it."""
    return unguarded(cell.strip())


def is_header(fields: Sequence[str], given: Columns | None = None) -> bool:
    """Whether the first line names the ends of relations; otherwise it is a triple already."""
    return names_ends([field.strip() for field in fields], given, strict=True)
