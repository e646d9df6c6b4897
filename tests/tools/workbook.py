"""Workbooks (.xlsx) for tests."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import openpyxl


def workbook(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """A worksheet file; of each sheet the rows, the first of which names the columns."""
    book = openpyxl.Workbook(write_only=True)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()
