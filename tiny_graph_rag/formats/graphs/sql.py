"""SQLite and DuckDB files: tables of entities and tables of relations.

Which they are is given by `--columns nodes=TABLE,edges=TABLE`, else by their names and columns. Files are
opened to be read only; views are not read, for one may be without end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tiny_graph_rag.errors import GraphError, InputError, optional
from tiny_graph_rag.files import check_declared
from tiny_graph_rag.formats.graphs.assembly import of_tables
from tiny_graph_rag.formats.graphs.base import NONE, Columns, graph_format
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import Table
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

SQLITE_MAGIC = b"SQLite format 3\0"
DUCKDB_MAGIC = b"DUCK"  # behind a checksum of eight bytes
ROW_BYTES, CELL_BYTES = 250, 16  # of a record in memory, and of each of its values besides its text


@graph_format(
    "SQLite",
    "a SQLite file with tables of entities and relations",
    lambda head: head.raw.startswith(SQLITE_MAGIC),
    suffixes=(".sqlite", ".sqlite3", ".db"),
    takes_columns=True,
)
def read_sqlite(paths: Sequence[Path], columns: Columns = NONE) -> KnowledgeGraph:
    path = paths[0]
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
                "ORDER BY rowid"
            ).fetchall()
            tables = [_table(connection, name, path) for (name,) in names]
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            return of_tables(Rows(path, "SQLite"), tables, columns)
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
def read_duckdb(paths: Sequence[Path], columns: Columns = NONE) -> KnowledgeGraph:
    path = paths[0]
    duckdb = optional("duckdb", said("reading DuckDB files"), "duckdb")
    try:
        with duckdb.connect(
            str(path), read_only=True, config={"enable_external_access": False}
        ) as connection:
            connection.execute("SET enable_progress_bar = false")  # it is drawn where results are printed
            names = connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY table_name"
            ).fetchall()
            tables = [_table(connection, name, path) for (name,) in names]
            return of_tables(Rows(path, "DuckDB"), tables, columns)
    except duckdb.Error as error:
        raise GraphError.at(path, "can't be read as DuckDB: {why}", why=str(error).splitlines()[0]) from error


def _table(connection: Any, name: str, path: Path) -> Table:
    """A table that is read when its cells are asked for, without what is no text and no number. Reading it
    raises InputError where it gives far more than the file holds."""
    query = f'SELECT * FROM "{name.replace(chr(34), 2 * chr(34))}"'

    @cache
    def records() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = connection.execute(query)
        size = 0
        while rows := cursor.fetchmany(1000):
            size += sum(len(value) for row in rows for value in row if isinstance(value, str))
            size += len(rows) * (ROW_BYTES + CELL_BYTES * len(header))
            check_declared(path, size, said("more than {n} rows", n=f"{len(found):,}"))
            found += [
                {key: value for key, value in zip(header, row, strict=True) if not isinstance(value, bytes)}
                for row in rows
            ]
        return found

    header = [column[0] for column in connection.execute(f"{query} LIMIT 0").description]
    return Table(header, lambda column: [record.get(column) for record in records()], name)
