"""Triples: a source, a relation and a target a line, as TSV or CSV, with a header or without.

An entity is what stands at an end; its name is its id. Without a header the order is source, relation,
target. A header may name further columns (`description`, `weight`, `source_type`, `target_type`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import BYTE_ORDER_MARK, decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.keys import are_numbers, edge_roles, key_of, node_roles, words_of
from tiny_graph_rag.formats.graphs.listed import UNDIRECTED_WORDS, Columns, names_ends
from tiny_graph_rag.formats.graphs.rows import BAD_WEIGHTS, SOME_UNDIRECTED, Rows
from tiny_graph_rag.formats.graphs.tables import ArrowTable, ListedTable, Table, csv_lists
from tiny_graph_rag.formats.tables import check_width, delimiter_of, unguarded
from tiny_graph_rag.formats.words import EDGE_KEYS, HEADER_WORDS, NODE_KEYS, Role
from tiny_graph_rag.graph.building import UNKNOWN_RELATION, UNKNOWN_TYPE, GraphColumns
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT

if TYPE_CHECKING:
    pass

QUICK_BLOCK = 1 << 24  # bytes that are parsed at once
_GUARDED = re.compile(rb"(?m)(?:^|[,;\"])\s*'+[=+\-@]")
SAMPLED = 1000  # cells of a column that tell what it holds
HEADLESS = ("field 1", "field 2", "field 3")
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
    cells = _columns(path, rows)
    names = [column[0] for column in cells]
    if columns is not None:
        columns.check(names, path)
    header = is_header(names, columns)
    if not header:
        _check_fields(path, names)
    called = _once(names) if header else HEADLESS
    table = ListedTable(dict(zip(called, (column[header:] for column in cells), strict=True)))
    if not header:
        _check_first_line(path, names, table)
    return rows.finished(graph_columns(rows, table, columns, has_header=header, first=1 + header))


def _once(names: Sequence[str]) -> list[str]:
    """Of columns of one name the later ones get a number; without a name they stay unused."""
    return [
        name if name not in names[:place] else f"{name or 'Unnamed:'} {names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _check_fields(path: Path, first: list[str]) -> None:
    """Raises GraphError where the first line, which names no ends, is no triple."""
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


def _check_first_line(path: Path, first: list[str], table: Table) -> None:
    """Raises GraphError where it looks like a header that nobody knows. table: its rows with it."""
    below = [table.values(name, SAMPLED)[1:] for name in table.names]
    again = any(field in column for field in first for column in below)
    numbers = any(
        are_numbers(column) and not are_numbers([field]) for field, column in zip(first, below, strict=True)
    )
    if not again and below[0] and (numbers or sum(map(_says_column, first)) > 1):
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


def graph_columns(
    rows: Rows,
    table: Table,
    given: Columns | None = None,
    *,
    has_header: bool = True,
    label: str = "line ",
    first: int = 2,
) -> GraphColumns:
    """The graph of a table of relations; without an entity it is empty.

    has_header: else the columns are source, relation and target. label, first: what the first relation is
    called.
    """
    roles = dict(zip(table.names, (Role.SOURCE, Role.TYPE, Role.TARGET), strict=False))
    if has_header:
        own = given.of_edges(table.names) if given is not None else {}
        roles = edge_roles(table.names, lambda name: table.values(name, SAMPLED), own)
    column_of: dict[str, str] = {}
    for name, role in roles.items():
        if role not in (Role.ID, Role.UNUSED):  # an id of a line is no more than its number
            column_of.setdefault(role, name)
    columns, count = GraphColumns(), len(table)
    if not count:
        return columns
    row_of, found = table.coded(column_of[Role.SOURCE], column_of[Role.TARGET])
    texts = found if isinstance(found, Strings) else Strings.of(found)
    nameless = np.flatnonzero(np.diff(texts.offsets) == 0)
    if len(nameless):  # an empty end is nobody's
        row_of = np.where(row_of == nameless[0], -1, row_of - (row_of > nameless[0])).astype(np.int32)
        texts = Strings(texts.data, np.delete(texts.offsets, nameless[0]))
    if not len(texts):
        return columns
    by_end = {Role.SOURCE: row_of[:count], Role.TARGET: row_of[count:]}

    def told(start: str, roles: tuple[str, str]) -> Categories:
        of_entities = Categories(np.zeros(len(texts), np.int32), (start,))
        for end, role in zip((Role.SOURCE, Role.TARGET), roles, strict=True):
            if role in column_of:
                codes, kinds = table.coded(column_of[role])
                of_entities = _told(of_entities, by_end[end], Categories(codes, tuple(kinds)))
        return of_entities

    types = told(UNKNOWN_TYPE, (Role.SOURCE_TYPE, Role.TARGET_TYPE))
    entity_names: Sequence[str] = texts
    if Role.SOURCE_NAME in column_of:
        called = told("", (Role.SOURCE_NAME, Role.TARGET_NAME))
        entity_names = [name or id for name, id in zip(called, texts, strict=True)]
    unused = [name for name, role in roles.items() if role == Role.UNUSED]
    taken = {*column_of.values(), *unused}
    chunks = StringLists.blank(count)
    if Role.CHUNKS in column_of:
        chunks = StringLists.of([[text] if text else [] for text in table.strings(column_of[Role.CHUNKS])])
    blank, none = Strings.blank(len(texts)), StringLists.blank(len(texts))
    columns.add_entity_columns(texts, entity_names, types, blank, none, none, blank)
    columns.add_relation_columns(
        Strings.numbered(label, range(first, count + first)),
        by_end[Role.SOURCE],
        by_end[Role.TARGET],
        table.filled(column_of.get(Role.TYPE), UNKNOWN_RELATION),
        table.strings(column_of[Role.DESCRIPTION]) if Role.DESCRIPTION in column_of else Strings.blank(count),
        _weights(rows, table, column_of.get(Role.WEIGHT)),
        chunks,
        table.details(taken),
    )
    ends = Role.ID if Role.SOURCE_NAME in column_of else Role.NAME
    said_roles = dict.fromkeys((Role.SOURCE, Role.TARGET), f"{ends} of an entity")
    rows.took("file", {name: said_roles.get(role, role) for role, name in column_of.items()})
    rows.took("file", {name: Role.DETAIL for name in table.names if name not in taken})
    rows.took("file", dict.fromkeys(unused, Role.UNUSED))
    if Role.DIRECTED in column_of:
        _note_direction(rows, table, column_of[Role.DIRECTED])
    return columns


def _note_direction(rows: Rows, table: Table, name: str) -> None:
    codes, words = table.coded(name)
    is_directed = np.array([word.casefold() not in UNDIRECTED_WORDS for word in words] + [True])[codes]
    if not is_directed.any():
        rows.undirected("file", name)
    elif not is_directed.all():
        rows.flaw(SOME_UNDIRECTED, f"row {np.flatnonzero(~is_directed)[0] + 1}", int((~is_directed).sum()))


def _weights(rows: Rows, table: Table, name: str | None) -> NDArray[np.float64]:
    """Of a column's numbers; where nothing stands the usual weight, and a flaw where no number does."""
    if name is None:
        return np.full(len(table), DEFAULT_WEIGHT)
    weights = table.numbers(name)
    missing = np.flatnonzero(np.isnan(weights)).tolist()
    written = table.values(name) if missing else []
    for row in missing:
        value = written[row]
        if value not in (None, "") and not are_numbers([value]):
            rows.flaw(BAD_WEIGHTS, str(value)[:40])
        elif value not in (None, ""):
            continue  # NaN itself, of which the graph's own check says that it is not finite
        weights[row] = DEFAULT_WEIGHT
    return weights


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
    if given is not None:
        given.check(names, path)
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
    by_name = dict(zip(names if header else HEADLESS, table.columns, strict=True))
    cells = ArrowTable(path, by_name, clean)
    if not header:
        _check_fields(path, names)
        _check_first_line(path, names, cells)
    return graph_columns(rows, cells, given, has_header=header, first=1 + header)


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


def _columns(path: Path, rows: Rows) -> list[list[str]]:
    """Every column, with what the first line has; lines of another width are left out and counted."""
    text = decode_utf8(read_bytes(path), path).replace("\r\n", "\n")
    if not text.strip():
        raise GraphError.at(path, "the file is empty; wanted a source, a relation and a target a line")
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = delimiter_of(first)
    check_width(first, delimiter, path)
    if delimiter == "\t":
        tabbed = _tabbed(text)
        if tabbed is not None:
            return tabbed
    fields = csv_lists(path, delimiter)
    width = len(fields[0])
    broken = [row for row in fields if len(row) != width]
    if broken:  # a quote that is never closed takes lines into its cell: each of them is lost
        lines = sum(1 + sum(cell.count("\n") for cell in row) for row in broken)
        rows.flaw(BROKEN, repr("\t".join(broken[0]))[:60], lines)
    kept = (row for row in fields if len(row) == width)
    columns = [list(map(_plain, column)) for column in zip(*kept, strict=True)]
    return columns


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
