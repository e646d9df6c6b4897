"""Worksheets (.xlsx) as rows of text, as openpyxl streams them: empty cells take no memory."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import InputError
from tiny_graph_rag.files import check_unpacked, stamp_of

NumberedRow = tuple[int, dict[int, str]]  # of the sheet from 1, and its texts by their column from 0
LAST_ROW = 1 << 20  # as Excel has them: a cell may say that it stands further down
EMPTY_CELLS = 20_000_000  # at most, some seconds: a small file may have one cell a row, in its last column


def worksheets(path: Path) -> Iterator[tuple[str, list[NumberedRow]]]:
    """Name of each sheet and those of its rows that hold a text.

    Numbers that are whole have no fraction, days are as 2026-01-31. Raises InputError.
    """
    yield from _read_once(path, *stamp_of(path))


@lru_cache(maxsize=1)  # its format, its questions and what else it holds are asked for one by one
def _read_once(path: Path, *stamp: int) -> list[tuple[str, list[NumberedRow]]]:
    """stamp: of the file, which is read again when it has changed."""
    from openpyxl import load_workbook  # a fifth of a second

    try:
        with (
            path.open("rb") as stream,
            zipfile.ZipFile(stream) as packed,
            warnings.catch_warnings(action="ignore"),  # of what a sheet has besides its cells
        ):
            check_unpacked(path, sum(part.file_size for part in packed.infolist()))
            book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            return [(sheet.title, list(_rows(path, sheet))) for sheet in book.worksheets]
    except InputError:
        raise
    except Exception as error:  # of broken archives and documents it raises what their parts do
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError.at(
            path.name, "can't be read as a worksheet: {error}. Save it as CSV", error=why
        ) from error


def _rows(path: Path, sheet: Any) -> Iterator[NumberedRow]:
    sheet.reset_dimensions()  # what a sheet says of its size may be wrong
    empty = 0
    for number, row in enumerate(sheet.iter_rows(max_row=LAST_ROW, values_only=True), start=1):
        cells = {at: text for at, value in enumerate(row) if (text := _text(value))}
        empty += len(row) - len(cells)
        if empty > EMPTY_CELLS:
            raise InputError.at(
                path.name, "holds more than {n} empty cells. Save it as CSV", n=f"{EMPTY_CELLS:,}"
            )
        if cells:
            yield number, cells


def _text(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return str(value).removesuffix(" 00:00:00")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
