"""Triples in a file that may be larger than memory: Parquet or TSV, read in pieces.

A small one becomes the same graph in memory; a large one goes into the graph cache by graph/large.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.errors import GraphError, optional
from tiny_graph_rag.files import GZIP_MAGIC, PARQUET_MAGIC
from tiny_graph_rag.formats.graphs.keys import edge_roles
from tiny_graph_rag.formats.tables import check_parquet, reading_parquet
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.large import ENDS as LARGE_ENDS
from tiny_graph_rag.graph.large import Triples
from tiny_graph_rag.messages import said

if TYPE_CHECKING:
    import pyarrow

BATCH_ROWS = 1 << 17
BLOCK_BYTES = 1 << 24
ENDS = {"source": Role.SOURCE, "relation": Role.TYPE, "target": Role.TARGET}


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
        lambda: _tsv_batches(path, names, [columns[end] for end in LARGE_ENDS], has_header=bool(places)),
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
    return Triples(
        path, rows, columns, rest, lambda: _parquet_batches(path, [columns[end] for end in LARGE_ENDS])
    )


def _end_columns(names: Sequence[str], *, strict: bool = False) -> dict[str, str]:
    """`source`, `relation`, `target` → the column; empty where these columns hold no relations."""
    roles = edge_roles(names, strict=strict)
    columns = {}
    for end, role in ENDS.items():
        column = next((name for name, other in roles.items() if other == role), None)
        if column is not None:
            columns[end] = column
    return columns if {"source", "target"} <= columns.keys() else {}


def _parquet_batches(path: Path, names: Sequence[str]) -> Iterator[Sequence[pyarrow.Array]]:
    with reading_parquet(path, GraphError) as parquet, parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=list(names)):
            yield [batch.column(name) for name in names]


def _tsv_batches(
    path: Path, names: Sequence[str], ends: Sequence[str], *, has_header: bool
) -> Iterator[Sequence[pyarrow.Array]]:
    csv = optional("pyarrow.csv", said("reading a large TSV file"), "parquet")
    from pyarrow import ArrowException, string

    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(
            column_names=list(names), skip_rows=int(has_header), block_size=BLOCK_BYTES
        ),
        "parse_options": csv.ParseOptions(delimiter="\t", quote_char=False),
        "convert_options": csv.ConvertOptions(
            include_columns=list(ends), column_types=dict.fromkeys(ends, string()), strings_can_be_null=False
        ),
    }
    try:
        with csv.open_csv(path, **options) as reader:
            for batch in reader:
                yield batch.columns
    except (OSError, ArrowException) as error:
        raise GraphError.at(
            path, "wanted {n} fields in each line: {why}", n=len(names), why=str(error).splitlines()[0]
        ) from error
