"""Tables of entities and of relations: nodes.csv and edges.csv, or as TSV, Parquet, JSON lines; the sheets of
a workbook; relations alone.

The names say which is which (`nodes`, `entities`, `vertices`; `edges`, `relationships`, `links`), or the
headers of neo4j-admin's import do (`:ID`, `:START_ID`), for as many tables as there are labels and types;
else their columns do (roles.py). Of relations alone an entity is what stands at an end; without a header the
order is source, relation, target.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tiny_graph_rag.columns.strings import Categories
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import GZIP_MAGIC, PARQUET_MAGIC, decode_utf8, read_bytes, read_start
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.assembly import of_tables, says
from tiny_graph_rag.formats.graphs.base import EDGE_NAMES, NONE, Columns, graph_format
from tiny_graph_rag.formats.graphs.filling import fill_relations, with_related
from tiny_graph_rag.formats.graphs.json_lists import document_of, one_table
from tiny_graph_rag.formats.graphs.refused import lines_refused
from tiny_graph_rag.formats.graphs.roles import (
    TIME,
    edge_roles,
    has_ends,
    names_ends,
    names_entities,
)
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import (
    HEADLESS,
    Table,
    admin_column,
    admin_kind,
    key_of,
    parquet_table,
    words_of,
)
from tiny_graph_rag.formats.tables import column_names, csv_rows, delimiter_of, is_number, sheets, unguarded
from tiny_graph_rag.formats.words import (
    ANSWER_KEYS,
    EDGE_KEYS,
    FIELDS,
    HEADER_WORDS,
    NAMES_OR_ANSWER,
    NODE_KEYS,
    QUERY_KEYS,
    Role,
)
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import bare_name

if TYPE_CHECKING:
    from tiny_graph_rag.graph.large import Triples

ENDINGS = (".csv", ".tsv", ".xlsx", ".parquet", ".jsonl", ".ndjson", ".json")
JSON_ENDINGS = ENDINGS[4:]
UNIQUE = (
    "lines at the top that may be column names (read as a relation; if so, name the columns with --columns)"
)
UNREAD = "tables of relations next to it (not read; name the folder for all of them)"


# --- which files belong together


def tables_beside(path: Path) -> list[tuple[Path, ...]]:
    """The tables that make a graph: of a folder every such group, of a file those that it belongs to."""
    if path.is_file() and _ending(path) not in ENDINGS:
        return []
    header = path.parent / f"{bare_name(path)}-header{_ending(path)}"
    if path.is_file() and header.is_file():
        return [(header, path)]
    try:
        folder = path if path.is_dir() else path.parent
        groups = _groups(sorted(file for file in folder.iterdir() if file.is_file() and _is_table(file)))
    except OSError:
        return []
    if path.is_file() and says(bare_name(path))[0]:  # of several tables of relations that one
        groups = [
            tuple(file for file in group if file == path or not says(bare_name(file))[0]) for group in groups
        ]
    return groups if path.is_dir() else [group for group in groups if path in group]


def _groups(files: Sequence[Path]) -> list[tuple[Path, ...]]:
    kinds = {file: set(map(admin_kind, _header(file))) for file in files}
    nodes = [file for file in files if "ID" in kinds[file]]
    edges = [file for file in files if {"START_ID", "END_ID"} <= kinds[file]]
    if edges:
        plain = [file for file in files if file not in edges and names_entities(_header(file))]
        return [(*(nodes or plain), *edges)]
    named = [(file, *says(bare_name(file))) for file in files]
    nodes = [
        file for file, is_edges, _ in named if is_edges is False and names_entities(_header(file) or ["id"])
    ]
    edges = [file for file, is_edges, _ in named if is_edges]
    facts = [file for file in edges if names_ends(_header(file)) or _ending(file) in ENDINGS[2:]]
    types = [file for file in edges if facts and file not in facts]  # which names them
    edges = facts or edges
    rest = {file: (_ending(file), words) for file, _, words in named}
    pairs: list[tuple[Path, ...]] = [
        (node, edge, *types) for node in nodes for edge in edges if rest[node] == rest[edge]
    ]
    return pairs or ([(*nodes, *edges, *types)] if nodes and edges else [])


def _is_table(file: Path) -> bool:
    """By its ending; of JSON and other tables only one whose name says what it holds."""
    if _ending(file) not in JSON_ENDINGS:
        return _ending(file) in ENDINGS
    # Nothing is read of other files: one may be the command's output.
    start = "[" if _ending(file) == ".json" else "{"
    return says(bare_name(file))[0] is not None and Head(file).text[:1] == start


def _ending(file: Path) -> str:
    return Path(file.name.removesuffix(".gz")).suffix.lower()


def _header(file: Path) -> Sequence[str]:
    """The names of a table's columns; empty where its first row holds a number, or another format is its."""
    names = Head(file).columns if _ending(file) in (".csv", ".tsv") else ()
    return () if any(map(is_number, names[:1])) else names


# --- formats

# Where MS GraphRAG leaves its tables, in a project or below it; that of relations lies in the same folder.
GRAPHRAG_FOLDERS = ("", "output/", "output/*/artifacts/", "output/artifacts/", "artifacts/")
GRAPHRAG_ENTITIES = ("entities.parquet", "create_final_entities.parquet", "entities.csv")


@graph_format(
    "tables",
    "tables of entities and of relations: MS GraphRAG's, nodes and edges in CSV, Parquet, Excel",
    lambda head: head.is_worksheet or bool(tables_beside(head.path)),
    suffixes=(".xlsx",),
    within=tuple(folder + name for folder in GRAPHRAG_FOLDERS for name in GRAPHRAG_ENTITIES),
    general=True,
    takes_columns=True,
    tables=tables_beside,
)
def read_tables(paths: Sequence[Path], columns: Columns = NONE) -> KnowledgeGraph:
    """The name of a file, or of a sheet of several, says what it holds, else its columns do."""
    is_book = len(paths) == 1 and Head(paths[0]).is_worksheet
    rows = Rows(paths[0].parent if len(paths) > 1 else paths[0], "worksheets" if is_book else "tables")
    tables = [table for path in paths for table in tables_in(path, rows)]
    read = {path.resolve() for path in paths}
    for group in tables_beside(paths[0].resolve().parent) if len(paths) > 1 else ():
        others = {file for file in group if says(bare_name(file))[0]}
        for file in sorted(others - read) if read & ({*group} - others) else ():
            rows.flaw(UNREAD, file.name)
    if any(table.is_edges for table in tables):
        for table in (table for table in tables if table.is_edges is None):
            table.is_edges = names_ends(table.names, columns) or None
    return of_tables(rows, tables, columns)


def _is_triples(head: Head) -> bool:
    if head.is_parquet or head.line[:1] in "{[<@" or "\0" in head.text:  # "" is in any text
        return head.is_parquet
    return head.line.count("\t") > 1 or _is_header(head.line.split(delimiter_of(head.line)), NONE)


@graph_format(
    "triples",
    "source, relation and target a row: Parquet, or TSV or CSV with or without a header",
    _is_triples,
    suffixes=(".tsv", ".csv", ".txt", ".parquet"),
    general=True,
    takes_columns=True,
)
def read_triples(paths: Sequence[Path], columns: Columns = NONE) -> KnowledgeGraph:
    """Without a header the order is source, relation, target; of more columns the user says the numbers."""
    path = paths[0]
    rows = Rows(path, "triples")
    if Head(path).is_parquet:
        table = parquet_table(path, str.strip)
        columns.check([*table.names, *table.unread], path)
    else:
        first, table = csv_table(path, rows, lambda names: _is_header(names, columns))
        columns.check([*first, *table.names], path)
        if not _is_header(first, columns) and not columns.roles(EDGE_NAMES, table.names):
            both = with_related(csv_table(path, rows, padded=True)[1]) if names_entities(first) else []
            if both:
                return of_tables(rows, both)
            _check_first_line(path, first, table, rows)
    fill_relations(rows, table, columns)
    return rows.graph()


def _is_header(fields: Sequence[str], given: Columns) -> bool:
    """Whether the first line names the ends of relations, or a column that the user names; otherwise it is a
    triple already."""
    names = [field.strip() for field in fields]
    return any(name in names for name in given.named.values()) or names_ends(names, given, strict=True)


def _check_first_line(path: Path, first: Sequence[str], table: Table, rows: Rows) -> None:
    """Raises GraphError where the first line, which names no ends, is no triple, or looks like a header that
    nobody knows, and warns of one that may be a header. table: its rows with it."""
    keys = set(map(key_of, first))
    answers = (*FIELDS["reference_entities"], *ANSWER_KEYS, *NAMES_OR_ANSWER)
    if not (keys.isdisjoint(QUERY_KEYS) or keys.isdisjoint(answers)):
        raise GraphError.at(
            path, "the file looks like a gold set; give that with --dataset, and the graph with -g"
        )
    times = table.texts(table.names[-1])
    is_dated = len(first) > len(HEADLESS) and all(map(TIME.fullmatch, times))  # temporal triples
    below = [table.texts(name)[1:] for name in table.names]
    pairs = list(zip(first, below, strict=True))
    again = any(field in column and not _says_column(field) for field, column in pairs)
    numbers = any(column and all(map(is_number, column)) and not is_number(field) for field, column in pairs)
    says_name = key_of(first[0]) in (*NODE_KEYS[Role.ID], *NODE_KEYS[Role.NAME])
    says = numbers or says_name or sum(map(_says_column, first)) > 1
    is_pair = len(first) == 2 and not {*table.texts(table.names[0])}.isdisjoint(times)
    has_width = len(first) == len(HEADLESS) or is_dated or is_pair
    if has_width and (not below[0] or again or not says):
        if len(below[0]) > len(HEADLESS) and {*first}.isdisjoint(chain(*below)):
            rows.flaw(UNIQUE, ", ".join(first)[:120])
        return
    are_weights = all(map(is_number, below[-1]))
    source, target = {2: first, 3: first[: 3 - are_weights : 2 - are_weights]}.get(len(first), ["COLUMN"] * 2)
    raise lines_refused(path) or GraphError.at(
        path,
        "wanted source, relation and target in each line, or a header that names them; the first line is: "
        "{names}. If it is a header, say which columns they are: --columns "
        "source={source},target={target},relation=COLUMN; without one the columns are called 'field 1', "
        "'field 2' and so on. If the table has entities alone, add the table "
        "of relations: -g {file},RELATIONS",
        names=", ".join(first)[:2000],
        source=source,
        target=target,
        file=path.name,
    )


def _says_column(field: str) -> bool:
    """Whether a field is what columns are called."""
    words = words_of(field)
    keys = {key for keys in (*NODE_KEYS.values(), *EDGE_KEYS.values()) for key in keys}
    is_short = len(words) < 4 and len(field.split()) < 3
    return is_short and (bool(HEADER_WORDS & set(words)) or key_of(field) in keys)


# --- triples that graph/large.py loads piece by piece

ENDS = {"source": Role.SOURCE, "relation": Role.TYPE, "target": Role.TARGET}


def triples_of(path: Path) -> Triples | None:
    """How DuckDB reads the triples of a Parquet or TSV file that may be larger than memory; None where it is
    none or names columns that are no triples."""
    with path.open("rb") as stream:
        start = stream.read(1 << 16)
    if start.startswith(PARQUET_MAGIC):
        held = parquet_table(path)
        names, rows, table = [*held.names, *held.unread], held.rows, "read_parquet($path)"
        roles = edge_roles(Table.of_header(names))
    else:
        line, _, rest = start.partition(b"\n")
        names = line.decode("utf-8", "replace").rstrip("\r").split("\t")
        if len(names) < len(ENDS) or b'"' in start or start[:2] == GZIP_MAGIC or not rest:
            return None
        roles = edge_roles(Table.of_header(names), strict=True)
        has_header = has_ends(roles)
        if not has_header and len(names) == len(ENDS):
            names, roles = list(ENDS), dict(ENDS)
        rows = path.stat().st_size * start.count(b"\n") // len(start)
        columns = ", ".join(_quoted(name, "'") + ": 'varchar'" for name in names)
        table = (
            f"read_csv($path, delim = '\t', quote = '', escape = '', auto_detect = false, "
            f"header = {str(has_header).lower()}, columns = {{{columns}}})"
        )
    column_of = {role: name for name, role in reversed(roles.items())}
    if not set(ENDS.values()) <= column_of.keys():
        return None
    ends = {end: column_of[role] for end, role in ENDS.items()}
    left_out = [name for name in names if name not in ends.values()]
    from tiny_graph_rag.graph.large import Triples

    return Triples(path, rows, ends, left_out, table, {end: _quoted(name, '"') for end, name in ends.items()})


def _quoted(name: str, quote: str) -> str:
    """A name in DuckDB's SQL."""
    return f"{quote}{name.replace(quote, 2 * quote)}{quote}"


# --- the graph of tables


def tables_in(path: Path, rows: Rows) -> list[Table]:
    """The table of a file, or those of a workbook's sheets. Raises GraphError for a header alone, as
    neo4j-admin may have it."""
    if Head(path).is_worksheet:
        several = [Table.of_records([row for _, row in below], name) for name, _, below in sheets(path)]
        if len(several) != 1:
            return several
        table = several[0]
    elif _ending(path) == ".parquet" or read_start(path, 4) == PARQUET_MAGIC:
        table = parquet_table(path)
    elif _ending(path) in JSON_ENDINGS:
        document = document_of(path, rows)
        rows.problems.check()
        table = one_table(document, path.name)
    else:
        names, table = csv_table(path, rows, padded=True)
        if len(names) <= len(HEADLESS) and _is_data(names, table):
            _, table = csv_table(path, rows, lambda names: False, padded=True)
            if not says(bare_name(path))[0]:
                cells = map(table.cells, table.names)
                table = Table.of_columns(dict(zip(("id", "name", "type"), cells, strict=False)))
        if not table.rows and any(map(admin_column, table.names)):
            raise GraphError.at(path, "the file holds a header alone; put it above the rows, in one file")
    table.name = path.name
    table.is_edges, table.label = says(bare_name(path))
    return [table]


def _is_data(first: Sequence[str], table: Table) -> bool:
    """Whether a first row, which names no end and no entity, is one of a table without a header: something of
    it stands again below, or it begins with a number as all the others."""
    if names_ends(first) or names_entities(first):
        return False
    below = table.texts(table.names[0])
    is_numbered = is_number(first[0]) and bool(below) and all(map(is_number, below))
    return is_numbered or any(map(lambda name, column: name in table.texts(column), first, table.names))


# --- CSV and TSV. A text that stands in many cells is in memory once, so that twenty million relations fit.

IGNORED = ":IGNORE"
BROKEN = "lines with another number of fields (left out)"
LONGER = "rows with more fields than the header (the last column takes the rest)"
_LINE = re.compile(r"[^\n]+")
_COMMENTS = re.compile(r"\A\s*(?:#[^\t\n]*\n)+(?=[^\n]*\t)")  # above a table of tabs, as SSSOM has them

IsHeader = Callable[[Sequence[str]], bool]
Row = list[str]


def csv_table(
    path: Path, rows: Rows, is_header: IsHeader = bool, *, padded: bool = False
) -> tuple[list[str], Table]:
    """The first line's fields, and the table below it; without a header the fields are the first row.

    is_header: whether the first line names columns.
    padded: rows may be shorter than the header, or have unquoted commas in their last cell; else lines of
    another width are left out and counted. Raises GraphError.
    """
    cells = _rows(path)
    first = next(cells)
    names = [field.strip() for field in first]
    has_header = is_header(names)
    below = cells if has_header else chain([first], cells)
    sound = _sound(below, len(names), path, rows, padded)
    called = [*HEADLESS, *(f"field {number}" for number in range(4, len(names) + 1))][: len(names)]
    if has_header:
        called = column_names(map(_name, names), path)
    columns = dict(zip(called, _columns(sound, len(names)), strict=False))
    columns.pop(IGNORED, None)
    return names, Table.of_columns(columns, path.name, row_label="line ", first=1 + has_header)


def _columns(rows: Iterable[Sequence[str]], width: int) -> list[Categories]:
    """The columns of rows of that width, with clean cells."""
    codes = [array("i") for _ in range(width)]
    texts: list[dict[str, int]] = [{} for _ in range(width)]
    for row in rows:
        for code, place, cell in zip(codes, texts, row, strict=True):
            code.append(place.setdefault(cell, len(place)))
    return [
        Categories(np.array(code, np.int32), tuple(unguarded(cell.strip()) for cell in place))
        for code, place in zip(codes, texts, strict=True)
    ]


def _name(field: str) -> str:
    """A column's name without its type; `IGNORED` for one that neo4j-admin leaves out."""
    admin = admin_column(field)
    if admin is not None and not admin.kind.isupper():
        return admin.name
    return IGNORED if admin is not None and admin.kind == "IGNORE" else field


def _sound(cells: Iterable[Row], width: int, path: Path, rows: Rows, padded: bool) -> Iterator[Row]:
    """Rows as long as the header; padded: others made so, without those that hold nothing."""
    for row in cells:
        if len(row) != width and not padded:
            stripped = [cell.strip() for cell in row]  # an open quote takes some lines
            lines = 1 + sum(cell.count("\n") for cell in stripped)
            rows.flaw(BROKEN, repr("\t".join(stripped))[:60], lines)
            continue
        if len(row) > width and any(cell.strip() for cell in row[width:]):
            row = [*row[: width - 1], ",".join(row[width - 1 :])]  # a text whose commas nobody quoted
            rows.flaw(LONGER, path.name)
        if not padded or any(cell.strip() for cell in row):
            yield [*row[:width], *[""] * (width - len(row))]


def _rows(path: Path) -> Iterator[list[str]]:
    """The rows, lines of nothing left out. Raises GraphError."""
    text = _COMMENTS.sub("", decode_utf8(read_bytes(path), path).replace("\r\n", "\n"))
    if not text.strip():
        raise GraphError.at(path, "the file is empty; wanted a source, a relation and a target a line")
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = delimiter_of(first)
    if delimiter == "\t":  # a line is a line, unless one has another width: there quotes may hold tabs
        tabs = first.count("\t")
        if all(line[0].count("\t") == tabs for line in _LINE.finditer(text)):
            quoted = '"' in text
            for line in _LINE.finditer(text):
                cells = line[0].split("\t")
                yield list(map(unquoted, cells)) if quoted else cells
            return
    if delimiter not in first:  # between spaces
        triples = list(map(str.split, text.splitlines()))
        if all(len(row) in (0, 3) and not all(map(is_number, row)) for row in triples):
            yield from filter(None, triples)
            return
    for _, row in csv_rows(path, text, GraphError, delimiter):
        yield row


def unquoted(cell: str) -> str:
    """A cell without the quotes around it, doubled ones in it once; other quotes are signs like any."""
    cell = cell.strip()
    inner = cell[1:-1]
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"' or '"' in inner.replace('""', ""):
        return cell
    return inner.replace('""', '"').strip()
