"""Triples in a file that may be larger than memory: how DuckDB reads them, for graph/large.py."""

from __future__ import annotations

from pathlib import Path

from tiny_graph_rag.files import GZIP_MAGIC, PARQUET_MAGIC
from tiny_graph_rag.formats.graphs.roles import edge_roles, has_ends
from tiny_graph_rag.formats.graphs.table import Table, parquet_table
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.large import Triples

ENDS = {"source": Role.SOURCE, "relation": Role.TYPE, "target": Role.TARGET}


def triples_of(path: Path) -> Triples | None:
    """The triples of a Parquet or TSV file; None where it is none or names columns that are no triples."""
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
    return Triples(path, rows, ends, left_out, table, {end: _quoted(name, '"') for end, name in ends.items()})


def _quoted(name: str, quote: str) -> str:
    """A name in DuckDB's SQL."""
    return f"{quote}{name.replace(quote, 2 * quote)}{quote}"
