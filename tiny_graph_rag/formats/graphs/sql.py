"""SQLite and DuckDB files: tables of entities and tables of relations.

Which they are is given by `--columns nodes=TABLE,edges=TABLE`, else by their names and columns; tables that
foreign keys of the relations point to hold entities. Files are opened to be read only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tiny_graph_rag.errors import GraphError, optional
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.keys import node_roles, words_of
from tiny_graph_rag.formats.graphs.listed import Columns, names_ends
from tiny_graph_rag.formats.graphs.pairs import RecordTable, of_tables
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.words import EDGE_WORDS, NODE_WORDS, Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

SQLITE_MAGIC = b"SQLite format 3\0"
DUCKDB_MAGIC = b"DUCK"  # behind a checksum of eight bytes
EDGE_TABLES = EDGE_WORDS | {"triples", "triplets", "facts", "statements"}

Fetch = Callable[[str], list[dict[str, Any]]]


@graph_format(
    "SQLite",
    "a SQLite file with tables of entities and relations",
    lambda head: head.raw.startswith(SQLITE_MAGIC),
    suffixes=(".sqlite", ".sqlite3", ".db"),
    takes_columns=True,
)
def read_sqlite(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    path = paths[0]
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            names = [
                name
                for (name,) in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                    "AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
                )
            ]
            headers = {
                name: _header(connection.execute(f"SELECT * FROM {_quoted(name)} LIMIT 0")) for name in names
            }
            pointed = {
                name: [row[2] for row in connection.execute(f"PRAGMA foreign_key_list({_quoted(name)})")]
                for name in names
            }
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            return _graph(path, "SQLite", headers, pointed, lambda name: _fetched(connection, name), columns)
    except sqlite3.Error as error:
        raise GraphError.at(path, "can't be read as SQLite: {error}", error=error) from error


@graph_format(
    "DuckDB",
    "a DuckDB file with tables of entities and relations",
    lambda head: head.raw[8:12] == DUCKDB_MAGIC,
    suffixes=(".duckdb",),
    takes_columns=True,
)
def read_duckdb(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    path = paths[0]
    duckdb = optional("duckdb", said("reading DuckDB files"), "duckdb")
    try:
        with duckdb.connect(
            str(path), read_only=True, config={"enable_external_access": False}
        ) as connection:
            found = connection.execute(
                "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'main' "
                "ORDER BY table_name, ordinal_position"
            ).fetchall()
            headers: dict[str, list[str]] = {}
            for table, column in found:
                headers.setdefault(table, []).append(column)
            keys = connection.execute(
                "SELECT table_name, referenced_table FROM duckdb_constraints() "
                "WHERE constraint_type = 'FOREIGN KEY'"
            ).fetchall()
            pointed = {name: [to for source, to in keys if source == name] for name in headers}
            return _graph(path, "DuckDB", headers, pointed, lambda name: _fetched(connection, name), columns)
    except duckdb.Error as error:
        raise GraphError.at(path, "can't be read as DuckDB: {why}", why=str(error).splitlines()[0]) from error


def _graph(
    path: Path,
    writer: str,
    headers: dict[str, list[str]],
    pointed: dict[str, list[str]],
    records: Fetch,
    given: Columns | None,
) -> KnowledgeGraph:
    nodes, edges = _chosen(path, headers, pointed, given or Columns())
    tables = [
        RecordTable(name, headers[name], records(name), is_edges, name)
        for names, is_edges in ((nodes, False), (edges, True))
        for name in names
    ]
    rows = Rows(path, writer)
    for name in headers:
        if name not in (*nodes, *edges):
            rows.dropped("tables that hold neither entities nor relations", name)
    return of_tables(rows, tables, given)


def _chosen(
    path: Path, headers: dict[str, list[str]], pointed: dict[str, list[str]], given: Columns
) -> tuple[list[str], list[str]]:
    """Tables of entities and tables of relations. Raises GraphError."""
    named = {role: given.named[role].split("+") for role in ("nodes", "edges") if role in given.named}
    for tables in named.values():
        for table in tables:
            if table not in headers:
                raise GraphError.at(
                    path,
                    "no table {table}; the file has: {listed}",
                    table=repr(table),
                    listed=_listed(headers),
                )

    def says(table: str, words: frozenset[str]) -> bool:
        return bool(words & set(words_of(table)))

    ends = [name for name, columns in headers.items() if names_ends(columns, given)]
    edges = named.get("edges") or [name for name in ends if says(name, EDGE_TABLES)] or ends
    if not edges:
        raise GraphError.at(
            path,
            "no table of relations among {tables}. Set it: --columns "
            "edges=TABLE,source=COLUMN,target=COLUMN,nodes=TABLE",
            tables=_listed(headers),
        )
    others = [name for name in headers if name not in edges and _has_names(headers[name], given)]
    nodes = (
        named.get("nodes")
        or [name for name in others if says(name, NODE_WORDS)]
        or [name for name in others if any(name in pointed[edge] for edge in edges)]
        or (others if len(others) == 1 else [])
    )
    return nodes, edges


def _has_names(columns: list[str], given: Columns) -> bool:
    return bool({Role.ID, Role.NAME} & set(node_roles(columns, given=given.of_nodes(columns)).values()))


def _header(cursor: Any) -> list[str]:
    return [column[0] for column in cursor.description]


def _fetched(connection: Any, table: str) -> list[dict[str, Any]]:
    """The records of a table, without what is no text and no number."""
    cursor = connection.execute(f"SELECT * FROM {_quoted(table)}")
    names = _header(cursor)
    records = []
    while rows := cursor.fetchmany(10_000):
        records += [
            {name: value for name, value in zip(names, row, strict=True) if not isinstance(value, bytes)}
            for row in rows
        ]
    return records


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(headers: dict[str, list[str]]) -> str:
    return (
        ", ".join(f"{name} ({', '.join(columns[:8])})" for name, columns in list(headers.items())[:8])
        or "no tables"
    )
