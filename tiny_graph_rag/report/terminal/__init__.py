"""Lines and tables: drawn by rich on a terminal, plain text for a pipe or a file.

Each module of this folder makes what a command shows: lines of markup and tables, one after another, which a
console prints. Loading rich takes longer than many a question, so that a pipe does without it. What is
printed is the same but for colours and for width: a line or cell in a pipe is as long as it comes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from tiny_graph_rag.measures.base import Measure
from tiny_graph_rag.measures.statistics import RELIABLE_FROM
from tiny_graph_rag.messages import UNDEFINED, counted, t, three
from tiny_graph_rag.report import tables
from tiny_graph_rag.report.plain import cell_width, one_line, without_controls
from tiny_graph_rag.report.tables import Cell, View, mean_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console as RichConsole
    from rich.console import ConsoleOptions
    from rich.table import Table as RichTable

PIPE_WIDTH = 120  # columns that a pipe is taken to have, for those who show less where there is less room
LONGEST = 5000  # characters of a cell or line; what is longer is not read but scrolled past
_TAG = re.compile(r"(?<!\\)(\\*+)\[([a-z#/@][^\[]*?)\]")  # what rich takes for its markup, such as [bold]


class CopiedLine(str):
    """A line to be copied: it is not wrapped."""


Shown = str | View  # a line of markup, or a table


class Console(Protocol):
    """rich's, or PlainConsole."""

    @property
    def width(self) -> int: ...

    def print(self, shown: Shown, /) -> None: ...


def screen(stream: TextIO, quiet: bool) -> Console:
    """rich's console, where every text of a line or cell loses what a terminal would obey: names can't move
    the cursor or turn the reading direction. What rich itself writes comes after this."""
    from rich.console import Console as RichConsole
    from rich.text import Text

    class Clean(RichConsole):
        def print(self, *shown: Any, **more: Any) -> None:
            drawn = (Drawn(part) if isinstance(part, View) else part for part in shown)
            super().print(*drawn, soft_wrap=any(isinstance(part, CopiedLine) for part in shown), **more)

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
class Drawn:
    """A table as rich draws it in a terminal: what has no room is left out and named below.

    widths: of the columns, where they were worked out.
    """

    view: View

    def __rich_console__(self, console: RichConsole, options: ConsoleOptions) -> Iterator[RichTable | str]:
        left, widths = _fitted(self.view, options.max_width)
        yield _rich_table(self.view, left, widths)
        gone = [head for column, head in enumerate(self.view.head) if column not in left and head]
        if gone:
            yield t("not shown in this narrow terminal: {columns}", columns=", ".join(gone))


def markup(cell: Cell) -> str:
    """A cell as markup: text as it stands, a mean with its 95 % interval: `0.750 .68–.81`, and a ? where that
    is unreliable."""
    if isinstance(cell, str):
        return escape(cell)
    if math.isnan(cell.mean):
        return UNDEFINED
    if math.isnan(cell.low):  # one value tells nothing of the others
        return f"{three(cell.mean)} [dim]?[/dim]"
    ends = "–".join(f"{end:.2f}".removeprefix("0") for end in (cell.low, cell.high))
    return f"{three(cell.mean)} [dim]{ends}{' ' if cell.reliable else '?'}[/dim]"


def without_intervals(view: View) -> View:
    """Means alone, and a ? where too few questions stand behind one."""

    def alone(cell: Cell) -> Cell:
        if isinstance(cell, str):
            return cell
        return three(cell.mean) + ("" if cell.reliable or math.isnan(cell.mean) else "?")

    return replace(view, rows=tuple(tuple(map(alone, row)) for row in view.rows))


def fits(view: View, width: int) -> bool:
    """Whether every cell has its room in `width` columns of a terminal."""
    return sum(_widths(view)) + 3 * len(view.head) - 1 <= width


def _columns(view: View) -> list[tuple[str, ...]]:
    """The texts of each column, its head first."""
    return list(zip(view.head, *(map(_plain, map(markup, row)) for row in view.rows), strict=True))


def _widths(view: View) -> list[int]:
    return [max(map(cell_width, column)) for column in _columns(view)]


def _fitted(view: View, width: int) -> tuple[list[int], dict[int, int]]:
    """The columns that `width` has room for, and how wide each is.

    What stays has room for its longest words, more where there is more. Tables without spare columns are left
    to rich.
    """
    every = list(range(len(view.head)))
    if not view.spare:
        return every, {}
    columns, left = _columns(view), every[:]
    widths = {
        column: max(_room(cell, column in view.whole) for cell in cells)
        for column, cells in enumerate(columns)
    }
    while sum(widths[column] + 3 for column in left) - 1 > width:
        sparest = max(left, key=lambda column: view.spare.get(column, 0))
        if not view.spare.get(sparest):
            return every, {}  # names too long for any terminal
        left.remove(sparest)
    room = width + 1 - sum(widths[column] + 3 for column in left)
    for column in left:
        more = min(room, max(map(cell_width, columns[column])) - widths[column])
        widths[column] += more
        room -= more
    return left, widths


def _rich_table(view: View, columns: Sequence[int], widths: Mapping[int, int]) -> RichTable:
    from rich import box
    from rich.table import Table

    headless = not any(view.head)
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_header=not headless,
        title=escape(view.title) or None,
        title_justify="left",
    )
    for column in columns:
        table.add_column(
            escape(view.head[column]),
            justify="left" if column in view.words else "right",
            style="bold" if headless and column == 0 else "",
            no_wrap=column in view.whole,
            width=widths.get(column),
        )
    for place, row in enumerate(view.rows):
        cells = [markup(row[column]) for column in columns]
        table.add_row(*cells, style=view.styles.get(place, ""), end_section=place in view.parted)
    return table


def plain_lines(view: View) -> list[str]:
    """As rich draws it where there is room enough, without spaces at the ends of lines."""
    widths, columns = _widths(view), _columns(view)

    def line(cells: Sequence[str]) -> str:
        padded = []
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            room = " " * (width - cell_width(cell))
            padded.append(cell + room if column in view.words else room + cell)
        return f" {'   '.join(padded)}".rstrip()

    head, *rows = zip(*columns, strict=True)
    lines = [one_line(view.title, LONGEST), ""] if view.title else [""]
    if any(view.head):
        lines += [line(head), " " + "─" * (sum(widths) + 3 * len(widths) - 3)]
    for place, cells in enumerate(rows):
        lines.append(line(cells))
        if place in view.parted and place + 1 < len(rows):
            lines.append("")
    return [*lines, ""]


@dataclass(frozen=True, slots=True)
class PlainConsole:
    """Prints as rich's Console does, for streams where nobody sees colours."""

    stream: TextIO
    quiet: bool = False
    width: int = PIPE_WIDTH

    def print(self, shown: Shown, /) -> None:
        if self.quiet:
            return
        lines = plain_lines(shown) if isinstance(shown, View) else map(_plain, shown.split("\n"))
        self.stream.write("".join(f"{line}\n" for line in lines))


def _room(text: str, whole: bool) -> int:
    """Columns of a terminal that a cell takes at least: its longest word, or all of it."""
    words = [] if whole else text.split()
    return max(map(cell_width, words or [text]))


def _plain(markup: str) -> str:
    return one_line(without_markup(markup), LONGEST)


Json = Mapping[str, Any]

BESIDE = 5  # measures with their intervals that fit into a terminal's width


def unreliable() -> str:
    """What the mark says."""
    return t("? unreliable: too few questions affect this number", n=RELIABLE_FROM)


def summary_lines(summary: Json, width: int) -> Iterator[Shown]:
    """Means with intervals: overall, then by tag, most questions first; many measures in a column."""
    kinds = list(dict.fromkeys(map(_judged, summary["measures"])))
    for kind in kinds:  # a table each
        yield from _table_lines(_of_kind(summary, kind), width)
    yield from remarks(summary)


def _judged(measure: str) -> str:
    """What a measure judges: `relations` of `relations:recall@5`, "" for entities."""
    return measure.rpartition(":")[0]


def _of_kind(summary: Json, kind: str) -> Json:
    def part(of: Json) -> Json:
        return {**of, "measures": {key: mean for key, mean in of["measures"].items() if _judged(key) == kind}}

    return {**part(summary), "by_tag": {tag: part(of) for tag, of in summary["by_tag"].items()}}


def _table_lines(summary: Json, width: int) -> Iterator[Shown]:
    if len(summary["measures"]) > BESIDE:
        rows = [(name, mean_of(mean), f"{mean['n']:,}") for name, mean in summary["measures"].items()]
        yield View((t("measure"), t("all questions"), "n"), tuple(rows))
        if summary["by_tag"]:
            yield t("means by tag ({n}): see the results file", n=len(summary["by_tag"]))
        return
    view = tables.means(summary)
    if not fits(view, width):
        view = without_intervals(view)
        yield t("the intervals don't fit this terminal; the results file has them")
    yield view


def remarks(summary: Json) -> list[str]:
    """What a reader must know next to the means: marks, groups, questions without gold, empty lists."""
    lines = []
    means = [mean for part in (summary, *summary["by_tag"].values()) for mean in part["measures"].values()]
    if not all(mean["reliable"] for mean in means):
        lines.append(f"{t('means with their 95 % interval')}; {unreliable()}")
    if summary.get("groups") is not None:
        lines.append(
            t(
                "{n} questions in {groups} groups: each group counts as one observation in the intervals",
                n=f"{summary['questions']:,}",
                groups=f"{summary['groups']:,}",
            )
        )
    if all(map(_judged, summary["measures"])):  # what follows counts entities
        return lines
    lines += without_gold(summary)
    missed = summary["nothing_retrieved"] - summary["rightly_empty"]
    if missed:
        lines.append(
            counted(
                missed,
                "{n} question with a reference retrieved nothing and scores 0",
                "{n} questions with a reference retrieved nothing and score 0",
            )
        )
    if summary["failed"]:
        lines.append(
            counted(
                summary["failed"],
                "{n} question failed or is not in the run: it gets the worst value of every measure",
                "{n} questions failed or are not in the run: they get the worst value of every measure",
            )
        )
    return lines


def without_gold(part: Json) -> list[str]:
    """How many questions have no reference, what became of them, and where they count."""
    if not part["without_gold"]:
        return []
    wrong = part["without_gold"] - part["rightly_empty"] - part["failed_without_gold"]
    # These score questions without gold too, or only those.
    scored_by = [name for name in part["measures"] if Measure.parse(name).kind.scores_no_gold]
    line = counted(
        part["without_gold"],
        "{n} no-answer question ({means}): {empty} correctly returned nothing, {wrong} returned entities",
        "{n} no-answer questions ({means}): {empty} correctly returned nothing, {wrong} returned entities",
        means=t("only in the mean of {measures}", measures=", ".join(scored_by))
        if scored_by
        else t("not in the means"),
        empty=f"{part['rightly_empty']:,}",
        wrong=f"{wrong:,}",
    )
    if part["failed_without_gold"]:
        line += t(", {n} failed or not in the run", n=f"{part['failed_without_gold']:,}")
    return [line]
