"""SQLite and DuckDB files: tables of entities and tables of relations.

Which they are is given by `--columns nodes=TABLE,edges=TABLE`, else by their names and columns; tables that
foreign keys of the relations point to hold entities. Files are opened to be read only.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tiny_graph_rag.errors import GraphError, InputError, optional
from tiny_graph_rag.files import check_declared
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.given import Columns
from tiny_graph_rag.formats.graphs.pairs import of_database
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import Table
from tiny_graph_rag.formats.tables import LONGEST_CELL
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

SQLITE_MAGIC = b"SQLite format 3\0"
DUCKDB_MAGIC = b"DUCK"  # behind a checksum of eight bytes
ROW_BYTES, CELL_BYTES = 250, 16  # of a record in memory, and of each of its values besides its text
MIB = 1 << 20
STEPS = 1_000_000  # of SQLite's machine between two looks


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
            # A view may be without end, and make cells of any length: more work and longer cells than the
            # file's size explains are refused.
            size, steps = path.stat().st_size // MIB + 1, itertools.count()
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(size * MIB, LONGEST_CELL))
            connection.set_progress_handler(lambda: next(steps) > 40 * size, STEPS)
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
            return of_database(
                Rows(path, "SQLite"), headers, lambda name: _table(connection, name, path), columns, pointed
            )
    except InputError:
        raise
    except (sqlite3.Error, ValueError, TypeError, OverflowError, MemoryError) as error:  # a damaged schema
        why = str(error) or type(error).__name__
        raise GraphError.at(path, "can't be read as SQLite: {error}", error=why) from error


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
                "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'main' AND "
                "table_name IN (SELECT table_name FROM duckdb_tables()) ORDER BY table_name, column_index"
            ).fetchall()
            headers: dict[str, list[str]] = {}
            for table, column in found:
                headers.setdefault(table, []).append(column)
            keys = connection.execute(
                "SELECT table_name, referenced_table FROM duckdb_constraints() "
                "WHERE constraint_type = 'FOREIGN KEY'"
            ).fetchall()
            pointed = {name: [to for source, to in keys if source == name] for name in headers}
            return of_database(
                Rows(path, "DuckDB"), headers, lambda name: _table(connection, name, path), columns, pointed
            )
    except duckdb.Error as error:
        raise GraphError.at(path, "can't be read as DuckDB: {why}", why=str(error).splitlines()[0]) from error


def _header(cursor: Any) -> list[str]:
    return [column[0] for column in cursor.description]


def _table(connection: Any, table: str, path: Path) -> Table:
    """The records of a table, without what is no text and no number. Raises InputError for one that gives far
    more than the file holds."""
    cursor = connection.execute(f"SELECT * FROM {_quoted(table)}")
    names = _header(cursor)
    records: list[dict[str, Any]] = []
    size = 0
    while rows := cursor.fetchmany(1000):
        size += sum(len(value) for row in rows for value in row if isinstance(value, str))
        size += len(rows) * (ROW_BYTES + CELL_BYTES * len(names))
        check_declared(path, size, said("more than {n} rows", n=f"{len(records):,}"))
        records += [
            {name: value for name, value in zip(names, row, strict=True) if not isinstance(value, bytes)}
            for row in rows
        ]
    return Table.of_records(records, table)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
