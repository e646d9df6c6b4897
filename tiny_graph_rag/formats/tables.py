"""Tables with a header: CSV, TSV and Parquet, for gold sets and runs alike."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

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


def json_document(path: Path, failure: type[InputError]) -> Any:
    """The document. Raises `failure` with line and column for what is no JSON."""
    try:
        return json.loads(decode_utf8(read_bytes(path), path))
    except json.JSONDecodeError as error:
        raise failure(f"{path.name}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from error


_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_NEEDS_ESCAPE = re.compile(r"[\s%]")


def encoded(identifier: str) -> str:
    """White space (and %, so that the way back is sure) percent-encoded; everything else as it is."""
    return _NEEDS_ESCAPE.sub(lambda found: quote(found[0], safe=""), identifier)


def decoded(identifier: str) -> str:
    """The way back. Escapes of anything but white space and % belong to the id and stay."""
    if "%" not in identifier:
        return identifier
    return _ESCAPES.sub(_decoded_run, identifier)


def all_decoded(identifiers: list[str]) -> list[str]:
    """`decoded` of each; one look at all of them where none is escaped."""
    return list(map(decoded, identifiers)) if "%" in " ".join(identifiers) else identifiers


def _decoded_run(found: re.Match[str]) -> str:
    # Several escapes in a row may be one character in UTF-8 and its neighbours.
    text = unquote(found[0], errors="strict") if _is_utf8(found[0]) else found[0]
    return text if all(each.isspace() or each == "%" for each in text) else found[0]


def _is_utf8(escapes: str) -> bool:
    try:
        unquote(escapes, errors="strict")
    except UnicodeDecodeError:
        return False
    return True
