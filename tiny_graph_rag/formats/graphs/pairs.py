"""A table of entities and one of relations, side by side: nodes.csv and edges.csv, or as TSV, Parquet,
JSON lines.

The names say which is which (`nodes`, `entities`, `vertices`; `edges`, `relationships`, `links`), or the
headers
of neo4j-admin's import do (`:ID`, `:START_ID`), for as many tables as there are labels and types. What
columns
are called: keys.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tiny_graph_rag.errors import GraphError, InputError
from tiny_graph_rag.files import BYTE_ORDER_MARK, PARQUET_MAGIC, read_start
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.csv_tables import csv_table
from tiny_graph_rag.formats.graphs.filling import fill_entities, fill_relations, flat
from tiny_graph_rag.formats.graphs.given import Columns, names_ends
from tiny_graph_rag.formats.graphs.json_lists import records_in
from tiny_graph_rag.formats.graphs.keys import node_roles
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.spelling import admin_column, looks_like_id, words_of
from tiny_graph_rag.formats.graphs.table import Table, of_matrix, parquet_table, worksheet_tables
from tiny_graph_rag.formats.tables import delimiter_of
from tiny_graph_rag.formats.words import EDGE_WORDS, NODE_WORDS, Role
from tiny_graph_rag.graph.model import KnowledgeGraph

ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json")
JSON_ENDINGS = ENDINGS[3:]
HEADER_BYTES = 1 << 16
STRANGERS = "tables next to it whose entities are in no relation (left out)"


def tables_beside(path: Path) -> list[tuple[Path, ...]]:
    """The tables that make a graph: of a folder every such group, of a file those that it belongs to."""
    folder = path if path.is_dir() else path.parent
    if path.is_file() and _ending(path) not in ENDINGS:
        return []
    header = path.with_name(f"{_stem(path)}-header{_ending(path)}")
    if path.is_file() and header.is_file():
        return [(header, path)]
    try:
        files = sorted(file for file in folder.iterdir() if file.is_file() and _is_table(file))
    except OSError:
        return []
    groups = _groups(files)
    return groups if path.is_dir() else [group for group in groups if path in group]


def _groups(files: Sequence[Path]) -> list[tuple[Path, ...]]:
    named = [(file, *_named(file)) for file in files]
    if not any(is_edges for _, is_edges, _ in named) and len(files) < 2:
        return []
    headers = {file: [admin_column(column) for column in _header(file)] for file in files}
    admin = {file: {column.kind for column in columns if column} for file, columns in headers.items()}
    nodes = [file for file in files if "ID" in admin[file]]
    edges = [file for file in files if {"START_ID", "END_ID"} <= admin[file]]
    if nodes and edges:
        return [(*nodes, *edges)]
    pairs: list[tuple[Path, ...]] = [
        (node, edge)
        for node, is_edges, rest in named
        for edge, other_is_edges, other_rest in named
        if is_edges is False and other_is_edges and rest == other_rest and _ending(node) == _ending(edge)
        if _holds_entities(node)
    ]
    if pairs:
        return pairs
    named = [(file, is_edges, rest) for file, is_edges, rest in named if is_edges or _holds_entities(file)]
    both = [[file for file, is_edges, _ in named if is_edges is wanted] for wanted in (False, True)]
    return [tuple(file for group in both for file in group)] if all(both) else []


def _holds_entities(file: Path) -> bool:
    """Whether a table's header, where it has one, names entities."""
    header = _header(file)
    return not header or _has_names(header, Columns())


def _is_table(file: Path) -> bool:
    """By its ending; of JSON and other tables only one whose name says what it holds."""
    if _ending(file) not in JSON_ENDINGS:
        return _ending(file) in ENDINGS
    if _named(file)[0] is None:
        return False
    try:
        start = read_start(file, 64).removeprefix(BYTE_ORDER_MARK).lstrip()[:1]
    except InputError:
        return False
    return start == (b"[" if _ending(file) == ".json" else b"{")


def _named(file: Path) -> tuple[bool | None, tuple[str, ...]]:
    """Whether the name says that the table holds relations, entities (False) or nothing of it, and the
    rest of
    the name."""
    return _says(words_of(_stem(file)))


def _says(words: tuple[str, ...]) -> tuple[bool | None, tuple[str, ...]]:
    for place, word in enumerate(words):
        if word in EDGE_WORDS or word in NODE_WORDS:
            return word in EDGE_WORDS, (*words[:place], *words[place + 1 :])
    return None, words


def _ending(file: Path) -> str:
    return Path(file.name.removesuffix(".gz")).suffix.lower()


def _stem(file: Path) -> str:
    return Path(file.name.removesuffix(".gz")).stem


def _header(file: Path) -> list[str]:
    if _ending(file) not in (".csv", ".tsv"):
        return []
    try:
        line = (
            read_start(file, HEADER_BYTES).decode("utf-8-sig", "replace").lstrip().partition("\n")[0].strip()
        )
    except InputError:
        return []
    return [field.strip().strip('"') for field in line.split(delimiter_of(line))]


@graph_format(
    "tables",
    "a table of entities and a table of relations: nodes and edges in CSV, TSV, Parquet, JSON",
    lambda head: len(head.paths) > 1 and all(_ending(path) in ENDINGS for path in head.paths),
    general=True,
    takes_columns=True,
    tables=tables_beside,
)
def read_tables(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    rows = Rows(paths[0].parent if len(paths) != 1 else paths[0], "tables")
    tables = [table_of(path, rows) for path in paths]
    try:
        return of_tables(rows, tables, columns)
    except GraphError:
        edges = [table for table in tables if table.is_edges]
        if not edges or len(edges) == len(tables):
            raise
        alone = Rows(rows.path, rows.writer)
        for table in (table for table in tables if not table.is_edges):
            alone.flaw(STRANGERS, table.name)
        graph = of_tables(alone, edges, columns)
        if all(map(looks_like_id, graph.entities.names)):
            raise
        return graph


def of_tables(rows: Rows, tables: Sequence[Table], given: Columns | None = None) -> KnowledgeGraph:
    """The graph of tables of entities and tables of relations. Raises GraphError."""
    given = given or Columns()
    given.check([column for table in tables for column in table.names], rows.path)
    for table in tables:
        admin = {column.kind for name in table.names if (column := admin_column(name))}
        if "START_ID" in admin or ("ID" in admin and table.is_edges is None):
            table.is_edges = "START_ID" in admin
        elif table.is_edges is None:
            table.is_edges = names_ends(table.names, given)
    tables = [table if names_ends(table.names, given) else of_matrix(table) or table for table in tables]
    nodes = [table for table in tables if table.is_edges is False]
    edges = [table for table in tables if table.is_edges]
    _apart(nodes, edges)
    for table in nodes:
        if len(nodes) > 1:
            _put_label(table, "type")
        fill_entities(rows, table, given, place=f"{table.name}[{{}}]")
    for table in edges:
        if len(edges) > 1:
            _put_label(table, "relation")
        if len(table.names) == 2 and not names_ends(table.names):
            ends = dict(zip(("source", "target"), map(table.cells, table.names), strict=True))
            table = Table.of_columns(ends, table.name)
        table.row_label = ""
        fill_relations(rows, table, given, alone=not nodes, place=f"{table.name}[{{}}]")
    return rows.graph()


def _put_label(table: Table, column: str) -> None:
    """Of several tables each says by its name what its rows are, where no column does."""
    if table.label and not any(
        words_of(name)[-1:] in (("type",), ("label",), ("kind",)) or words_of(name) == ("relation",)
        for name in table.names
    ):
        table.put(column, [table.label] * table.rows)


def _apart(nodes: Sequence[Table], edges: Sequence[Table]) -> None:
    """Ids of several id spaces (`:ID(Person)`, `:ID(Film)`), which may be equal, with their space before
    them."""
    spaces = {
        admin.space
        for table in nodes
        for column in table.names
        if (admin := admin_column(column)) and admin.kind == "ID"
    }
    if len(spaces) < 2:
        return
    for table in (*nodes, *edges):
        for column in table.names:
            admin = admin_column(column)
            if admin is not None and admin.kind in ("ID", "START_ID", "END_ID") and admin.space:
                cells = table.cells(column)
                table.put(
                    column, [f"{admin.space}:{cell}" if cell not in (None, "") else cell for cell in cells]
                )


def table_of(path: Path, rows: Rows) -> Table:
    """A table of a file. Raises GraphError for a header alone, as neo4j-admin may have it."""
    is_edges, rest = _named(path)
    if _ending(path) == ".parquet" or read_start(path, 4) == PARQUET_MAGIC:
        table = parquet_table(path)
    elif _ending(path) in JSON_ENDINGS:
        values = flat(records_in(path))
        records = [value for value in values if isinstance(value, dict)]
        if len(records) < len(values):
            raise GraphError.at(path, "wanted a list of objects, one an entity or relation")
        table = Table.of_records(records, path.name)
    else:
        _, table = csv_table(path, rows, padded=True)
        if not table.rows and any(admin_column(name) for name in table.names):
            raise GraphError.at(path, "the file holds a header alone; put it above the rows, in one file")
    table.is_edges, table.label = is_edges, " ".join(rest)
    return table


@graph_format(
    "worksheets",
    "an Excel workbook: a sheet of relations, or sheets of entities and of relations",
    lambda head: head.is_worksheet,
    suffixes=(".xlsx",),
    general=True,
    takes_columns=True,
)
def read_worksheets(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    """The name of a sheet says what it holds, else its columns do; others are left out."""
    tables = {table.name: table for table in worksheet_tables(paths[0])}
    headers = {name: table.names for name, table in tables.items()}
    return of_database(Rows(paths[0], "worksheets"), headers, tables.__getitem__, columns)


def of_database(
    rows: Rows,
    headers: Mapping[str, list[str]],
    load: Callable[[str], Table],
    given: Columns | None = None,
    pointed: Mapping[str, list[str]] | None = None,
) -> KnowledgeGraph:
    """The graph of tables in one file, of which some may hold something else.

    headers: of every table. load: reads one. pointed: table → those that its foreign keys point to, None
    where the file knows none. Raises GraphError where no table holds relations.
    """
    given = given or Columns()
    named = {role: given.named[role].split("+") for role in ("nodes", "edges") if role in given.named}
    for name in (name for names in named.values() for name in names if name not in headers):
        raise GraphError.at(
            rows.path,
            "no table {table}; the file has: {listed}",
            table=repr(name),
            listed=_listed(headers),
        )

    says = {name: _says(words_of(name))[0] for name in headers}
    ends = [name for name, columns in headers.items() if names_ends(columns, given)]
    edges = named.get("edges") or [name for name in ends if says[name]] or ends
    if not edges:
        raise GraphError.at(
            rows.path,
            "no table of relations among {tables}. Set it: --columns "
            "edges=TABLE,source=COLUMN,target=COLUMN,nodes=TABLE",
            tables=_listed(headers),
        )
    others = [name for name in headers if name not in edges and _has_names(headers[name], given)]
    nodes = (
        named.get("nodes")
        or [name for name in others if says[name] is False]
        or [name for name in others if any(name in (pointed or {})[edge] for edge in edges if pointed)]
        or (others if len(others) == 1 or pointed is None else [])
    )
    tables = []
    for name in (*nodes, *edges):
        table = load(name)
        table.is_edges, table.label = name in edges, " ".join(_says(words_of(name))[1])
        tables.append(table)
    for name in headers:
        if name not in (*nodes, *edges):
            rows.dropped("tables that hold neither entities nor relations", name)
    return of_tables(rows, tables, given)


def _has_names(columns: list[str], given: Columns) -> bool:
    return bool({Role.ID, Role.NAME} & set(node_roles(columns, given=given.of_nodes(columns)).values()))


def _listed(headers: Mapping[str, list[str]]) -> str:
    return (
        ", ".join(f"{name} ({', '.join(columns[:8])})" for name, columns in list(headers.items())[:8])
        or "no tables"
    )
