"""Relations alone: a source, a relation and a target a row, in CSV, TSV, Parquet or a worksheet.

An entity is what stands at an end; its name is its id. Without a header the order is source, relation,
target. A header may name further columns (`description`, `weight`, `source_type`, `target_type`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.errors import GraphError, MissingExtraError
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.csv_tables import HEADLESS, csv_table
from tiny_graph_rag.formats.graphs.filling import fill_relations
from tiny_graph_rag.formats.graphs.given import Columns, names_ends
from tiny_graph_rag.formats.graphs.keys import node_roles
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.spelling import are_numbers, key_of, words_of
from tiny_graph_rag.formats.graphs.table import Table, of_matrix, parquet_table
from tiny_graph_rag.formats.tables import delimiter_of
from tiny_graph_rag.formats.words import EDGE_KEYS, HEADER_WORDS, NODE_KEYS, Role
from tiny_graph_rag.graph.model import KnowledgeGraph

SAMPLED = 1000  # cells of a column that tell what it holds


def _is_triples(head: Head) -> bool:
    if head.is_parquet:
        try:
            return names_ends(parquet_table(head.path).names)
        except MissingExtraError:
            return True  # reading it says what is missing
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
    "source, relation and target a row: Parquet, or TSV or CSV with or without a header",
    _is_triples,
    suffixes=(".tsv", ".csv", ".txt", ".parquet"),
    general=True,
    takes_columns=True,
)
def read_triples(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "triples")
    given = columns or Columns()
    is_parquet, matrix = Head.of(path).is_parquet, None
    if is_parquet:
        table = parquet_table(path, str.strip)
        first = [*table.names, *table.unread]
    else:
        first, table = csv_table(path, rows, lambda names: is_header(names, given))
        matrix = None if is_header(first, given) else csv_table(path, Rows(path, ""))[1]
    given.check(first, path)
    own = None
    if not is_header(first, given) and (related := of_matrix(matrix or table)) is not None:
        table = related
    elif not is_parquet and not is_header(first, given):
        _check_fields(path, first)
        _check_first_line(path, first, table)
        own = dict(zip(HEADLESS, (Role.SOURCE, Role.TYPE, Role.TARGET), strict=True))
    fill_relations(rows, table, given, own, alone=True, place="row {}")
    return rows.graph()


def is_header(fields: Sequence[str], given: Columns | None = None) -> bool:
    """Whether the first line names the ends of relations; otherwise it is a triple already."""
    return names_ends([field.strip() for field in fields], given, strict=True)


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
    if len(first) != len(HEADLESS):
        raise GraphError.at(
            path,
            "wanted three fields per line (source, relation, target) or a header that names them, got {got}: "
            "{names}. Set the columns: --columns source=COLUMN,target=COLUMN,relation=COLUMN",
            got=len(first),
            names=", ".join(first)[:80],
        )


def _check_first_line(path: Path, first: list[str], table: Table) -> None:
    """Raises GraphError where it looks like a header that nobody knows. table: its rows with it."""
    below = [list(table.cells(name)[1:SAMPLED]) for name in table.names]
    again = any(field in column for field in first for column in below)
    numbers = any(
        are_numbers(column) and not are_numbers([field]) for field, column in zip(first, below, strict=True)
    )
    says_name = key_of(first[0]) in (*NODE_KEYS[Role.ID], *NODE_KEYS[Role.NAME])
    if not again and below[0] and (numbers or says_name or sum(map(_says_column, first)) > 1):
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
