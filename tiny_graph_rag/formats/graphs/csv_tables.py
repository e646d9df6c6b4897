"""CSV and TSV as tables. A text that stands in many cells is in memory once, so that twenty million relations
fit."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from tiny_graph_rag.columns.strings import Categories
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import Table, admin_column
from tiny_graph_rag.formats.tables import csv_rows, delimiter_of, unguarded

IGNORED = ":IGNORE"
HEADLESS = ("field 1", "field 2", "field 3")
BROKEN = "lines with another number of fields (left out)"
LONGER = "rows with more fields than the header (the last column takes the rest)"
_LINE = re.compile(r"[^\n]+")
_COMMENTS = re.compile(r"\A\s*(?:#[^\t\n]*\n)+(?=[^\n]*\t)")  # above a table of tabs, as SSSOM has them

IsHeader = Callable[[Sequence[str]], bool]
Row = list[str]


def csv_table(
    path: Path, rows: Rows, is_header: IsHeader = bool, *, padded: bool = False
) -> tuple[list[str], Table]:
    """The first line's fields, and the table below it; without a header the fields are the first row.

    is_header: whether the first line names columns.
    padded: rows may be shorter than the header, or have unquoted commas in their last cell; else lines of
    another width are left out and counted. Raises GraphError.
    """
    cells = _rows(path)
    first = next(cells)
    names = [field.strip() for field in first]
    has_header = is_header(names)
    below = cells if has_header else chain([first], cells)
    sound = _sound(below, len(names), path, rows, padded)
    called = _once([_name(name) for name in names])
    if not has_header:
        called = [*HEADLESS, *(f"field {number}" for number in range(4, len(names) + 1))][: len(names)]
    columns = dict(zip(called, _columns(sound, len(names)), strict=False))
    columns.pop(IGNORED, None)
    return names, Table.of_columns(columns, path.name, row_label="line ", first=1 + has_header)


def _columns(rows: Iterable[Sequence[str]], width: int) -> list[Categories]:
    """The columns of rows of that width, with clean cells."""
    codes = [array("i") for _ in range(width)]
    texts: list[dict[str, int]] = [{} for _ in range(width)]
    for row in rows:
        for code, place, cell in zip(codes, texts, row, strict=True):
            code.append(place.setdefault(cell, len(place)))
    return [
        Categories(np.array(code, np.int32), tuple(unguarded(cell.strip()) for cell in place))
        for code, place in zip(codes, texts, strict=True)
    ]


def _name(field: str) -> str:
    """A column's name without its type; `IGNORED` for one that neo4j-admin leaves out."""
    admin = admin_column(field)
    if admin is not None and not admin.kind.isupper():
        return admin.name
    return IGNORED if admin is not None and admin.kind == "IGNORE" else field


def _once(names: Sequence[str]) -> list[str]:
    """Of columns of one name the later ones get a number; one without a name is called as pandas calls it."""
    return [
        name
        if name and name not in names[:place]
        else f"{name or 'Unnamed:'} {names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def _sound(cells: Iterable[Row], width: int, path: Path, rows: Rows, padded: bool) -> Iterator[Row]:
    """Rows as long as the header; padded: others made so, without those that hold nothing."""
    for row in cells:
        if len(row) != width and not padded:
            stripped = [cell.strip() for cell in row]  # an open quote takes some lines
            lines = 1 + sum(cell.count("\n") for cell in stripped)
            rows.flaw(BROKEN, repr("\t".join(stripped))[:60], lines)
            continue
        if len(row) > width and any(cell.strip() for cell in row[width:]):
            row = [*row[: width - 1], ",".join(row[width - 1 :])]  # a text whose commas nobody quoted
            rows.flaw(LONGER, path.name)
        if not padded or any(cell.strip() for cell in row):
            yield [*row[:width], *[""] * (width - len(row))]


def _rows(path: Path) -> Iterator[list[str]]:
    """The rows, lines of nothing left out. Raises GraphError."""
    text = _COMMENTS.sub("", decode_utf8(read_bytes(path), path).replace("\r\n", "\n"))
    if not text.strip():
        raise GraphError.at(path, "the file is empty; wanted a source, a relation and a target a line")
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = delimiter_of(first)
    if delimiter == "\t":  # a line is a line, unless one has another width: there quotes may hold tabs
        tabs = first.count("\t")
        if all(line[0].count("\t") == tabs for line in _LINE.finditer(text)):
            quoted = '"' in text
            for line in _LINE.finditer(text):
                cells = line[0].split("\t")
                yield list(map(unquoted, cells)) if quoted else cells
            return
    for _, row in csv_rows(path, text, GraphError, delimiter):
        yield row


def unquoted(cell: str) -> str:
    """A cell without the quotes around it, doubled ones in it once; other quotes are signs like any."""
    cell = cell.strip()
    inner = cell[1:-1]
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"' or '"' in inner.replace('""', ""):
        return cell
    return inner.replace('""', '"').strip()
