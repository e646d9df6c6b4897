"""Triples in a file that may be larger than memory: Parquet or TSV, read in pieces.

A small one becomes the same graph in memory; a large one goes into the graph cache by graph/large.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.errors import GraphError, MissingExtraError, optional
from tiny_graph_rag.files import GZIP_MAGIC, PARQUET_MAGIC
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.keys import edge_roles
from tiny_graph_rag.formats.graphs.listed import Columns, names_ends, no_ends
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.tables import ArrowTable, ParquetTable
from tiny_graph_rag.formats.graphs.triples import graph_columns
from tiny_graph_rag.formats.tables import check_parquet, reading_parquet
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.large import Triples
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

if TYPE_CHECKING:
    import pyarrow

BATCH_ROWS = 1 << 17
BLOCK_BYTES = 1 << 24
ENDS = {"source": Role.SOURCE, "relation": Role.TYPE, "target": Role.TARGET}


def _is_parquet(head: Head) -> bool:
    if not head.is_parquet:
        return False
    try:
        return names_ends(ParquetTable(head.path).names)
    except MissingExtraError:
        return True  # reading it says what is missing


@graph_format(
    "triples in Parquet",
    "a Parquet file with columns source, relation, target",
    _is_parquet,
    suffixes=(".parquet",),
    general=True,
    takes_columns=True,
)
def read_parquet_triples(paths: Sequence[Path], given: Columns | None = None) -> KnowledgeGraph:
    from pyarrow.types import is_binary, is_large_binary, is_nested

    table = ParquetTable(paths[0])
    rows = Rows(paths[0], "triples in Parquet")
    columns = {name: table.column(name) for name in table.names}
    kinds = {name: column.type for name, column in columns.items()}
    opaque = {
        name: f"{Role.UNUSED}: {kind}"
        for name, kind in kinds.items()
        if is_nested(kind) or is_binary(kind) or is_large_binary(kind)
    }
    names = [name for name in columns if name not in opaque]
    if given is not None:
        given.check(table.names, paths[0])
    if not names_ends(names, given):
        raise GraphError(no_ends(paths[0], table.names))
    cells = ArrowTable(paths[0], {name: columns[name] for name in names}, str.strip)
    found = graph_columns(rows, cells, given, label="row ", first=1)
    rows.took("file", opaque)
    return rows.finished(found)


def triples_of(path: Path) -> Triples | None:
    """The triples of a Parquet or TSV file; None where it is none or names columns that are no triples."""
    with path.open("rb") as stream:
        start = stream.read(1 << 16)
    if start.startswith(PARQUET_MAGIC):
        return _parquet(path)
    line, _, rest = start.partition(b"\n")
    fields = line.decode("utf-8", "replace").rstrip("\r").split("\t")
    if len(fields) < 3 or b'"' in start or start[:2] == GZIP_MAGIC or not rest:
        return None
    columns_of = _end_columns(fields, strict=True)
    places = {end: fields.index(column) for end, column in columns_of.items()}
    if not places and len(fields) != 3:
        return None
    rows = path.stat().st_size * start.count(b"\n") // len(start)
    if places and len(places) < len(ENDS):
        return None
    names = fields if places else list(ENDS)
    columns = {end: names[place] for end, place in places.items()} or {end: end for end in ENDS}
    return Triples(
        path, rows, columns, [name for name in names if name not in columns.values()],
        lambda end: _tsv_column(path, names, columns[end], has_header=bool(places)),
    )  # fmt: skip


def _parquet(path: Path) -> Triples | None:
    with reading_parquet(path, GraphError) as parquet, parquet.ParquetFile(path) as file:
        check_parquet(file, path)
        names = list(file.schema_arrow.names)
        rows = file.metadata.num_rows
    columns = _end_columns(names)
    if len(columns) < len(ENDS):
        return None
    rest = [name for name in names if name not in columns.values()]
    return Triples(path, rows, columns, rest, lambda end: _parquet_column(path, columns[end]))


def _end_columns(names: Sequence[str], *, strict: bool = False) -> dict[str, str]:
    """`source`, `relation`, `target` → the column; empty where these columns hold no relations."""
    roles = edge_roles(names, strict=strict)
    columns = {}
    for end, role in ENDS.items():
        column = next((name for name, other in roles.items() if other == role), None)
        if column is not None:
            columns[end] = column
    return columns if {"source", "target"} <= columns.keys() else {}


def _parquet_column(path: Path, name: str) -> Iterator[pyarrow.Array]:
    with reading_parquet(path, GraphError) as parquet, parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=[name]):
            yield batch.column(0)


def _tsv_column(path: Path, names: Sequence[str], name: str, *, has_header: bool) -> Iterator[pyarrow.Array]:
    csv = optional("pyarrow.csv", said("reading a large TSV file"), "parquet")
    from pyarrow import ArrowException, string

    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(
            column_names=list(names), skip_rows=int(has_header), block_size=BLOCK_BYTES
        ),
        "parse_options": csv.ParseOptions(delimiter="\t", quote_char=False),
        "convert_options": csv.ConvertOptions(
            include_columns=[name], column_types={name: string()}, strings_can_be_null=False
        ),
    }
    try:
        with csv.open_csv(path, **options) as reader:
            for batch in reader:
                yield batch.column(0)
    except (OSError, ArrowException) as error:
        raise GraphError.at(
            path, "wanted {n} fields in each line: {why}", n=len(names), why=str(error).splitlines()[0]
        ) from error
