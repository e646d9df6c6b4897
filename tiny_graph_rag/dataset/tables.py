"""Tables with a header: CSV, TSV and Parquet, for gold sets and runs alike."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import InputError, MissingExtraError
from tiny_graph_rag.files import decode_utf8, read_bytes

PARQUET_MAGIC = b"PAR1"
QUESTION_NAMES = ("query_id", "question_id", "qid", "eval_id", "id")
DOCUMENT_NAMES = ("doc_id", "docid", "document_id", "entity_id", "name")


def read_table(path: Path) -> tuple[list[str], Iterator[tuple[str, dict[str, Any]]]]:
    """The column names, and (place, row) of each row; place is for messages (`file:line`).

    Raises InputError for an empty file and a row of another length than the header.
    """
    raw = read_bytes(path)
    if raw[:4] == PARQUET_MAGIC:
        return _parquet(path)
    text = decode_utf8(raw, path)
    header, _, _ = text.partition("\n")
    rows = csv.reader(io.StringIO(text), delimiter="\t" if "\t" in header else ",")
    names = [name.strip() for name in next(rows, [])]
    if not names:
        raise InputError(f"{path}: the file is empty; wanted a header such as query_id,doc_id,score")
    return names, _checked(rows, names, path)


def _checked(rows: Any, names: list[str], path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in rows:
        if not row:
            continue
        place = f"{path.name}:{rows.line_num}"
        if len(row) != len(names):
            raise InputError(f"{place}: wanted {len(names)} fields ({', '.join(names)}), got {len(row)}")
        yield place, dict(zip(names, row, strict=True))


def _parquet(path: Path) -> tuple[list[str], Iterator[tuple[str, dict[str, Any]]]]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("reading Parquet", "pyarrow", "parquet") from error
    try:
        table = pyarrow.parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{path.name}: can't be read as Parquet: {error}") from error
    columns = [table.column(name).to_pylist() for name in table.column_names]
    rows = (
        (f"{path.name}: row {number}", dict(zip(table.column_names, values, strict=True)))
        for number, values in enumerate(zip(*columns, strict=True), start=1)
    )
    return list(table.column_names), rows


def one_of(wanted: tuple[str, ...], names: list[str], path: Path) -> str:
    """The first of the wanted column names that the table has. Raises InputError."""
    for name in wanted:
        if name in names:
            return name
    raise InputError(f"{path}: no column {wanted[0]!r}; the file has: {', '.join(names)}")
