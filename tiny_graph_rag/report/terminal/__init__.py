"""What commands print: lines and tables as plain text, the same on a terminal, in a pipe and in a log.

A terminal has a width, so there a sentence is wrapped; a table is as wide as it comes. A pipe has none.
Names from graphs and gold sets lose what a terminal would obey.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from msgspec import Struct

from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.messages import UNDEFINED, t, three
from tiny_graph_rag.report.plain import cell_width, one_line, wrapped
from tiny_graph_rag.report.tables import Block, Cell, Heading, Paragraph, View, in_full

SCREEN_WIDTH = 80  # columns of what a command prints by itself
LONGEST = 5000  # characters of a cell or line; what is longer is not read but scrolled past
GAP = "  "  # between columns
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class CopiedLine(str):
    """A line to be copied: not wrapped."""


class StrongLine(str):
    """A line that a terminal shows in bold."""


Shown = str | View  # a line, or a table


class Console(Struct, frozen=True):
    """width: of a terminal, in columns; None for a pipe or a file."""

    stream: TextIO
    quiet: bool = False
    width: int | None = None

    def print(self, shown: Shown) -> None:
        if self.quiet:
            return
        if isinstance(shown, View):
            lines = table_lines(shown)
        else:
            lines = [one_line(line, LONGEST) for line in shown.split("\n")]
            if self.width is not None and not isinstance(shown, CopiedLine):
                lines = [part for line in lines for part in wrapped(line, self.width)]
        if isinstance(shown, StrongLine) and self.width is not None:
            lines = [f"{_BOLD}{line}{_PLAIN}" for line in lines]
        self.stream.write("".join(f"{line}\n" for line in lines))


def cell_text(cell: Cell) -> str:
    """A cell in one line: of a mean `0.750 .68–.81`, with a ? where its interval is unreliable."""
    if not isinstance(cell, Mean):
        return one_line(in_full(cell), LONGEST)
    if math.isnan(cell.mean):
        return UNDEFINED
    if math.isnan(cell.low):  # one value says nothing about the others
        return f"{three(cell.mean)} ?"
    return f"{three(cell.mean)} {interval_text(cell.low, cell.high)}{' ' if cell.reliable else '?'}"


def interval_text(low: float, high: float) -> str:
    """`.68–.81`"""
    return "–".join(f"{end:.2f}".removeprefix("0") for end in (low, high))


def table_lines(view: View) -> list[str]:
    """Columns that hold words stand to the left, figures to the right."""
    rows = [tuple(map(cell_text, row)) for row in (view.head, *view.rows)]
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    lines = [cell_text(view.title), ""] if view.title else [""]
    for place, cells in enumerate(rows):
        padded = [_padded(cell, widths[at], at in view.words) for at, cell in enumerate(cells)]
        if place or any(view.head):
            lines.append(f" {GAP.join(padded)}".rstrip())
        if not place and any(view.head):
            lines.append(" " + "─" * (sum(widths) + len(GAP) * (len(widths) - 1)))
    return [*lines, ""]


def _padded(text: str, width: int, is_left: bool) -> str:
    room = " " * (width - cell_width(text))
    return text + room if is_left else room + text


def block_lines(blocks: Iterable[Block]) -> Iterator[Shown]:
    """A report as a terminal shows it: what `--details` prints."""
    for block in blocks:
        match block:
            case Heading(text):
                yield StrongLine(f"\n{text}")
            case Paragraph(text, strong):
                yield StrongLine(text) if strong else text
            case View():
                yield block


def joined_in_lines(parts: Sequence[str], width: int = SCREEN_WIDTH, most: int = 2) -> Iterator[str]:
    """Parts between dots, as many as `most` lines of a screen hold, indented, and how many more there are."""
    lines = ["  "]
    for number, part in enumerate(parts, start=1):
        longer = f"{lines[-1]} · {part}" if lines[-1].strip() else f"  {part}"
        more = " · " + t("{n} more: --details", n=len(parts) - number + 1)
        room = width if len(lines) < most or number == len(parts) else width - cell_width(more)
        if cell_width(longer) <= room or not lines[-1].strip():
            lines[-1] = longer
        elif len(lines) < most:
            lines.append(f"  {part}")
        else:
            lines[-1] += more
            break
    yield from (line for line in lines if line.strip())
