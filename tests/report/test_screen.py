"""A pipe gets what a wide terminal would show, without rich; a terminal gets rich."""

from __future__ import annotations

import io
import subprocess
import sys

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.conftest import ROOT
from tiny_graph_rag.report.screen import Column, Row, Screen, cell_width, plain_table

COLUMNS = (Column("rank", right=True), Column("이름"), Column("score", right=True), Column("walk"))
ROWS = (
    Row(("1", "점순네 수탉", "0.908", "A —OWNS→ [bold]B")),
    Row(("12", "cafe\u0301 é", "1.000", ""), good=True, last=True),
    Row(("", "together", "0.5", "漢字 ok"), bold=True, last=True),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_plain_table_is_the_one_that_rich_draws() -> None:
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in COLUMNS:
        drawn.add_column(column.title, justify="right" if column.right else "left")
    for row in ROWS:
        drawn.add_row(*map(escape, row.cells), end_section=row.last)
    stream = io.StringIO()
    Console(file=stream, width=200).print(drawn)
    assert plain_table(COLUMNS, ROWS) == [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_wide_sign_takes_two_columns_and_an_accent_none() -> None:
    assert [cell_width(each) for each in ("abc", "수탉", "漢a", "e\u0301", "\u200d")] == [3, 4, 3, 1, 0]


def test_what_comes_from_a_graph_can_not_command_a_terminal_or_break_a_line() -> None:
    stream = io.StringIO()
    screen = Screen(stream)
    screen.line("a\x1b[31mb\nc")
    screen.table((Column("x"),), [Row(("d\ne\x07",))])
    assert stream.getvalue() == "a[31mb c\n\n x\n ───\n d e\n\n"


def test_a_terminal_gets_rich_and_quiet_nothing() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    screen = Screen(terminal)
    screen.line("[b]title", bold=True)
    screen.table(COLUMNS, ROWS)
    assert "[b]title" in terminal.getvalue()
    assert "A —OWNS→ [bold]B" in terminal.getvalue()
    Screen(pipe, quiet=True).line("x")
    Screen(pipe, quiet=True).table(COLUMNS, ROWS)
    assert pipe.getvalue() == ""


def test_a_piped_query_loads_neither_rich_nor_what_judges() -> None:
    code = (
        "import sys; from tiny_graph_rag.cli import load, app; load('query');"
        "app(['query', '점순이는 누구야?', '-g', '김유정-동백꽃-KG.json'], standalone_mode=False);"
        "print([each for each in ('rich', 'tiny_graph_rag.evaluation.runner') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.endswith("[]\n")
