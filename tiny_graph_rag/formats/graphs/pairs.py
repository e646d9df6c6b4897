"""A table of entities and one of relations, side by side: nodes.csv and edges.csv, or as TSV, Parquet,
JSON lines.

The names say which is which (`nodes`, `entities`, `vertices`; `edges`, `relationships`, `links`), or the
headers
of neo4j-admin's import do (`:ID`, `:START_ID`), for as many tables as there are labels and types. What
columns
are called: keys.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, InputError
from tiny_graph_rag.files import BYTE_ORDER_MARK, PARQUET_MAGIC, read_start
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.json_lists import records_in
from tiny_graph_rag.formats.graphs.keys import admin_column, node_roles, words_of
from tiny_graph_rag.formats.graphs.listed import (
    Columns,
    Lists,
    fill_entities,
    fill_relations,
    flat,
    names_ends,
)
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.tables import ParquetTable, csv_lists
from tiny_graph_rag.formats.tables import delimiter_of, unguarded
from tiny_graph_rag.formats.words import EDGE_WORDS, NODE_WORDS, Role
from tiny_graph_rag.graph.model import KnowledgeGraph

ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json")
JSON_ENDINGS = ENDINGS[3:]
LONGER = "rows with more fields than the header (the last column takes the rest)"
HEADER_BYTES = 1 << 16


def tables_beside(path: Path) -> list[tuple[Path, ...]]:
    """The tables that make a graph: of a folder every such group, of a file those that it belongs to."""
    folder = path if path.is_dir() else path.parent
    if path.is_file() and _ending(path) not in ENDINGS:
        return []
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
        data = [file for header in (*nodes, *edges) for file in _data_of(header, files)]
        return [(*nodes, *edges, *data)]
    pairs: list[tuple[Path, ...]] = [
        (node, edge)
        for node, is_edges, rest in named
        for edge, other_is_edges, other_rest in named
        if is_edges is False and other_is_edges and rest == other_rest and _ending(node) == _ending(edge)
        if _holds_entities(node)
    ]
    if pairs:
        return pairs
    both = [[file for file, is_edges, _ in named if is_edges is wanted] for wanted in (False, True)]
    return [tuple(file for group in both for file in group)] if all(both) else []


def _holds_entities(file: Path) -> bool:
    """Whether a table's header, where it has one, names entities."""
    header = _header(file)
    return not header or bool({Role.ID, Role.NAME} & set(node_roles(header).values()))


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
    words = words_of(_stem(file))
    for place, word in enumerate(words):
        if word in EDGE_WORDS or word in NODE_WORDS:
            return word in EDGE_WORDS, (*words[:place], *words[place + 1 :])
    return None, words


def _data_of(header: Path, files: Sequence[Path]) -> list[Path]:
    """The tables whose header stands in a file of its own: persons.csv of persons-header.csv."""
    base = _base(header)
    if not base:
        return []
    return [
        file for file in files if file != header and _stem(file).startswith(base) and not _admin_kinds(file)
    ]


def _base(file: Path) -> str:
    """What stands before `header` in the name of a file that holds a header alone; "" of any other."""
    stem = _stem(file)
    return stem.removesuffix("header").rstrip("-_.") if stem.endswith("header") else ""


def _admin_kinds(file: Path) -> set[str]:
    return {column.kind for name in _header(file) if (column := admin_column(name)) and column.kind.isupper()}


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
    heads = [path for path in paths if _base(path) and len(csv_lists(path)) == 1]
    tables = []
    for path in paths:
        head = next(
            (head for head in heads if _stem(path).startswith(_base(head)) and not _admin_kinds(path)), None
        )
        if path not in heads:
            tables.append(_table(path, head))
    rows = Rows(paths[0].parent if len(paths) != 1 else paths[0], "tables")
    return of_tables(rows, tables, columns)


@dataclass(slots=True)
class RecordTable:
    """is_edges: whether it holds relations; None where only its columns tell. label: what its rows are.
    longer: how many rows had more fields than the header."""

    name: str
    columns: list[str]
    records: list[dict[str, Any]]
    is_edges: bool | None = None
    label: str = ""
    longer: int = 0


def of_tables(rows: Rows, tables: Sequence[RecordTable], given: Columns | None = None) -> KnowledgeGraph:
    """The graph of tables of entities and tables of relations. Raises GraphError."""
    given = given or Columns()
    given.check([column for table in tables for column in table.columns], rows.path)
    for table in tables:
        admin = {column.kind for name in table.columns if (column := admin_column(name))}
        if "START_ID" in admin or ("ID" in admin and table.is_edges is None):
            table.is_edges = "START_ID" in admin
        elif table.is_edges is None:
            table.is_edges = names_ends(table.columns, given)
        if table.longer:
            rows.flaw(LONGER, table.name, table.longer)
    nodes = [table for table in tables if table.is_edges is False]
    edges = [table for table in tables if table.is_edges]
    _apart(nodes, edges)
    for table in nodes:
        _fill_labels(table.records, table.columns, table.label if len(nodes) > 1 else "", ("type",))
        fill_entities(rows, table.records, given, place=f"{table.name}[{{}}]")
    for table in edges:
        _fill_labels(
            table.records, table.columns, table.label if len(edges) > 1 else "", ("type", "relation")
        )
        if len(table.columns) == 2 and not names_ends(table.columns):
            table = RecordTable(
                table.name,
                ["source", "target"],
                [dict(zip(("source", "target"), record.values(), strict=False)) for record in table.records],
            )
        lists = Lists([] if not nodes else [True], table.records, places=("", f"{table.name}[{{}}]"))
        fill_relations(rows, lists, given)
    return rows.graph()


def _fill_labels(records: list[dict[str, Any]], columns: list[str], label: str, keys: Sequence[str]) -> None:
    """Of several tables each says by its name what its rows are, where no column does."""
    if label and not any(
        words_of(column)[-1:] in (("type",), ("label",), ("kind",)) or words_of(column) == ("relation",)
        for column in columns
    ):
        for record in records:
            record[keys[-1]] = label


def _apart(nodes: Sequence[RecordTable], edges: Sequence[RecordTable]) -> None:
    """Ids of several id spaces (`:ID(Person)`, `:ID(Film)`), which may be equal, with their space before
    them.
    """
    spaces = {
        admin.space
        for table in nodes
        for column in table.columns
        if (admin := admin_column(column)) and admin.kind == "ID"
    }
    if len(spaces) < 2:
        return
    for table in (*nodes, *edges):
        for column in table.columns:
            admin = admin_column(column)
            if admin is not None and admin.kind in ("ID", "START_ID", "END_ID") and admin.space:
                for record in table.records:
                    if record.get(column) not in (None, ""):
                        record[column] = f"{admin.space}:{record[column]}"


def _table(path: Path, head: Path | None = None) -> RecordTable:
    """head: the file of its header, where that is another."""
    is_edges, rest = _named(path)
    if _ending(path) == ".parquet" or read_start(path, 4) == PARQUET_MAGIC:
        parquet = ParquetTable(path)
        return RecordTable(path.name, parquet.names, list(parquet.records()), is_edges, " ".join(rest))
    if _ending(path) in JSON_ENDINGS:
        values = flat(records_in(path))
        records = [value for value in values if isinstance(value, dict)]
        if len(records) < len(values):
            raise GraphError.at(path, "wanted a list of objects, one an entity or relation")
        return RecordTable(
            path.name,
            list(dict.fromkeys(key for record in records for key in record)),
            records,
            is_edges,
            " ".join(rest),
        )
    names, records, longer = _records([*(csv_lists(head) if head is not None else ()), *csv_lists(path)])
    return RecordTable(path.name, names, records, is_edges, " ".join(rest), longer)


def _records(lines: list[list[str]]) -> tuple[list[str], list[dict[str, Any]], int]:
    """Header, records and how many rows have more fields than the header; types after a colon are left
    out.
    """
    if not lines:
        return [], [], 0
    names = [_name(field.strip()) for field in lines[0]]
    width, records, longer = len(names), [], 0
    for line in lines[1:]:
        if len(line) > width and any(cell.strip() for cell in line[width:]):
            line = [*line[: width - 1], ",".join(line[width - 1 :])]  # a text whose commas nobody quoted
            longer += 1
        record = {name: unguarded(cell.strip()) for name, cell in zip(names, line, strict=False) if name}
        if any(record.values()):
            records.append(record)
    return [name for name in names if name], records, longer


def _name(field: str) -> str:
    """A column's name without its type; "" for one that pandas numbers rows by."""
    admin = admin_column(field)
    if admin is not None and not admin.kind.isupper():
        return admin.name
    return "" if field.startswith("Unnamed: ") or (admin is not None and admin.kind == "IGNORE") else field
