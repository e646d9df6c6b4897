"""Lines and tables, on a terminal with colours and cells that wrap, elsewhere as plain text.

rich draws on terminals. A pipe or a file gets the same table, as wide as its cells need, without rich being
loaded, which takes longer than many a question.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from tiny_graph_rag.report.plain import one_line

LONGEST_CELL = 2000  # characters; a longer one is no longer read but scrolled past


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """good: shown in green; bold: in bold; last: of a group of rows, with room below."""

    cells: tuple[str, ...]
    good: bool = False
    bold: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class Screen:
    stream: TextIO
    quiet: bool = False

    def line(self, text: str, *, bold: bool = False) -> None:
        if self.quiet:
            return
        if self.stream.isatty():
            from rich.console import Console

            style = "bold" if bold else None
            Console(file=self.stream, highlight=False).print(text, style=style, markup=False)
        else:
            self._write(one_line(text, LONGEST_CELL))

    def table(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        if self.quiet:
            return
        if self.stream.isatty():
            self._drawn(columns, rows)
        else:
            for line in plain_table(columns, rows):
                self._write(line)

    def _write(self, line: str) -> None:
        self.stream.write(f"{line}\n")

    def _drawn(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        from rich import box
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in columns:
            table.add_column(column.title, justify="right" if column.right else "left")
        for row in rows:
            style = " ".join(["green"] * row.good + ["bold"] * row.bold)
            table.add_row(*map(escape, row.cells), style=style, end_section=row.last)
        Console(file=self.stream, highlight=False).print(table)


def plain_table(columns: Sequence[Column], rows: Sequence[Row]) -> list[str]:
    """The lines that rich would draw on a terminal that is wide enough, without spaces at their ends."""
    shown = [[one_line(cell, LONGEST_CELL) for cell in row.cells] for row in rows]
    widths = [
        max(map(cell_width, (column.title, *(cells[place] for cells in shown))))
        for place, column in enumerate(columns)
    ]

    def line(cells: Sequence[str]) -> str:
        padded = [
            " " * (width - cell_width(cell)) + cell
            if column.right
            else cell + " " * (width - cell_width(cell))
            for cell, width, column in zip(cells, widths, columns, strict=True)
        ]
        return f" {'   '.join(padded)}".rstrip()

    lines = ["", line([column.title for column in columns]), " " + "─" * (sum(widths) + 3 * len(widths) - 3)]
    for row, cells in zip(rows, shown, strict=True):
        lines.append(line(cells))
        if row.last and row is not rows[-1]:
            lines.append("")
    return [*lines, ""]


def cell_width(text: str) -> int:
    """How many columns of a terminal a line takes: two for a wide sign (Hangul, Han), none for a mark."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(sign) in "WF")
        for sign in text
    )
