"""Lines and tables: drawn by rich on a terminal, plain text for a pipe or a file.

Loading rich takes longer than many a question, so that a pipe does without it. What is printed is the same
but for colours and for width: a line or cell in a pipe is as long as it comes.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TextIO

from tiny_graph_rag.messages import t
from tiny_graph_rag.report.plain import one_line, without_controls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console as RichConsole
    from rich.console import ConsoleOptions
    from rich.table import Table as RichTable

PIPE_WIDTH = 120  # columns that a pipe is taken to have, for those who show less where there is less room
LONGEST = 5000  # characters of a cell or line; what is longer is not read but scrolled past
_TAG = re.compile(r"(?<!\\)(\\*+)\[([a-z#/@][^\[]*?)\]")  # what rich takes for its markup, such as [bold]


class Console(Protocol):
    """rich's, or PlainConsole."""

    @property
    def width(self) -> int: ...

    def print(self, shown: Any, /, *, soft_wrap: bool = ...) -> None:
        """A line of markup, or a Table."""


def screen(stream: TextIO, quiet: bool) -> Console:
    """rich's console, where every text of a line or cell loses what a terminal would obey: names can't move
    the cursor or turn the reading direction. What rich itself writes comes after this."""
    from rich.console import Console as Drawn
    from rich.text import Text

    class Clean(Drawn):
        def render_str(self, text: str, **more: Any) -> Text:
            return super().render_str(without_controls(text), **more)

    return Clean(file=stream, quiet=quiet, highlight=False)


def escape(text: str) -> str:
    """Text that holds no markup, whatever stands in it."""
    return _TAG.sub(lambda found: f"{found[1] * 2}\\[{found[2]}]", text)


def without_markup(text: str) -> str:
    """What is left of a line of markup when nothing can be in colour; undoes `escape`."""

    def left(found: re.Match[str]) -> str:
        slashes, is_escaped = divmod(len(found[1]), 2)
        return "\\" * slashes + (f"[{found[2]}]" if is_escaped else "")

    return _TAG.sub(left, text)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """What rich's columns are given; a pipe heeds `justify` and `min_width`.

    spare: where a terminal is too narrow, the column with the highest is left out first; 0 stays.
    width: exactly so many columns of the terminal, where that was worked out.
    """

    header: str = ""
    justify: Literal["left", "right"] = "left"
    style: str = ""
    no_wrap: bool = False
    ratio: int | None = None
    min_width: int | None = None
    spare: int = 0
    width: int | None = None


@dataclass(slots=True)
class Table:
    """Cells and title are markup: `escape` what comes from outside. Printed by either console."""

    title: str = ""
    show_header: bool = True
    columns: list[TableColumn] = field(default_factory=list)
    rows: list[tuple[tuple[str, ...], str, bool]] = field(default_factory=list)

    def add_column(self, header: str = "", **more: Any) -> None:
        self.columns.append(TableColumn(header, **more))

    def add_row(self, *cells: str, style: str = "", end_section: bool = False) -> None:
        """end_section: leave room below."""
        self.rows.append((cells, style, end_section))

    def __rich_console__(self, console: RichConsole, options: ConsoleOptions) -> Iterator[RichTable | str]:
        fitted, left_out = self.fitted(options.max_width)
        yield fitted.drawn()
        if any(left_out):
            yield t("not shown in this narrow terminal: {columns}", columns=", ".join(left_out))

    def fitted(self, width: int) -> tuple[Table, list[str]]:
        """The table without the spare columns that `width` has no room for, and their headers.

        What stays has room for its longest words, more where there is more. Tables without spare columns are
        left to rich.
        """
        if not any(table_column.spare for table_column in self.columns):
            return self, []
        cells = [
            [_plain(table_column.header), *(_plain(row[0][place]) for row in self.rows)]
            for place, table_column in enumerate(self.columns)
        ]
        widths = [
            max(_room(cell, column.no_wrap) for cell in mine)
            for mine, column in zip(cells, self.columns, strict=True)
        ]
        kept = list(range(len(self.columns)))
        while sum(widths[place] + 3 for place in kept) - 1 > width:
            sparest = max(kept, key=lambda place: self.columns[place].spare)
            if not self.columns[sparest].spare:
                return self, []  # names too long for any terminal
            kept.remove(sparest)
        left = width + 1 - sum(widths[place] + 3 for place in kept)
        for place in kept:
            more = max(map(cell_width, cells[place])) - widths[place]
            if more <= left:
                widths[place] += more
                left -= more
        table = Table(
            self.title,
            self.show_header,
            [replace(self.columns[place], width=widths[place]) for place in kept],
            [(tuple(row[place] for place in kept), style, ends) for row, style, ends in self.rows],
        )
        gone = [
            table_column.header
            for place, table_column in enumerate(self.columns)
            if place not in kept and table_column.header
        ]
        return table, gone

    def fits(self, width: int) -> bool:
        """Whether every cell has its room in `width` columns."""
        widths = [
            max(cell_width(_plain(text)) for text in (column.header, *(row[0][place] for row in self.rows)))
            for place, column in enumerate(self.columns)
        ]
        return sum(widths) + 3 * len(widths) - 1 <= width

    def drawn(self) -> RichTable:
        from rich import box
        from rich.table import Table as Drawn

        drawn = Drawn(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            show_header=self.show_header,
            title=self.title or None,
            title_justify="left",
        )
        for column in self.columns:
            drawn.add_column(
                column.header,
                justify=column.justify,
                style=column.style,
                no_wrap=column.no_wrap,
                ratio=column.ratio,
                min_width=column.min_width,
                width=column.width,
            )
        for cells, style, end_section in self.rows:
            drawn.add_row(*cells, style=style, end_section=end_section)
        return drawn

    def plain_lines(self) -> list[str]:
        """As rich draws it where there is room enough, without spaces at the ends of lines."""
        header = [_plain(table_column.header) if self.show_header else "" for table_column in self.columns]
        shown = [[_plain(cell) for cell in cells] for cells, _, _ in self.rows]
        widths = [
            max([cell_width(cells[place]) for cells in (header, *shown)] + [column.min_width or 0])
            for place, column in enumerate(self.columns)
        ]

        def line(cells: list[str]) -> str:
            padded = []
            for cell, width, column in zip(cells, widths, self.columns, strict=True):
                room = " " * (width - cell_width(cell))
                padded.append(room + cell if column.justify == "right" else cell + room)
            return f" {'   '.join(padded)}".rstrip()

        lines = [_plain(self.title)] if self.title else []
        lines.append("")
        if self.show_header:
            lines += [line(header), " " + "─" * (sum(widths) + 3 * len(widths) - 3)]
        for place, (cells, (_, _, end_section)) in enumerate(zip(shown, self.rows, strict=True), start=1):
            lines.append(line(cells))
            if end_section and place < len(shown):
                lines.append("")
        return [*lines, ""]


@dataclass(frozen=True, slots=True)
class PlainConsole:
    """Prints as rich's Console does, for streams where nobody sees colours."""

    stream: TextIO
    quiet: bool = False
    width: int = PIPE_WIDTH

    def print(self, shown: Any, /, *, soft_wrap: bool = True) -> None:
        if self.quiet:
            return
        lines = shown.plain_lines() if isinstance(shown, Table) else map(_plain, str(shown).split("\n"))
        self.stream.write("".join(f"{line}\n" for line in lines))


def cut(text: str, width: int) -> str:
    """`text` in `width` columns of a terminal at most; what is longer ends in an ellipsis."""
    if cell_width(text) <= width:
        return text
    kept, used = [], 1
    for sign in text:
        used += cell_width(sign)
        if used > width:
            break
        kept.append(sign)
    return "".join(kept).rstrip() + "…"


def _room(text: str, whole: bool) -> int:
    """Columns of a terminal that a cell takes at least: its longest word, or all of it."""
    words = [] if whole else text.split()
    return max(map(cell_width, words or [text]))


def _plain(markup: str) -> str:
    return one_line(without_markup(markup), LONGEST)


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
