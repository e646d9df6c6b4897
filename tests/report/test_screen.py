"""A pipe gets what a wide terminal would show, without rich; a terminal gets rich."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console as RichConsole
from rich.markup import escape as rich_escape
from rich.text import Text

from tests.conftest import ROOT
from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.report.plain import cell_width
from tiny_graph_rag.report.tables import View
from tiny_graph_rag.report.terminal import Drawn, PlainConsole, escape, plain_lines, without_markup

ROWS = (
    ("1", "점순네 수탉", Mean(0.908, 0.7, 0.95, 9), "A —OWNS→ [bold]B"),
    ("12", "cafe\u0301 é", Mean(1.0, 0.8, 1.0, 40), ""),
    ("", "together", "0.5", "漢字 ok"),
)


def made(title: str = "", head: tuple[str, ...] = ("rank", "이름", "score", "walk")) -> View:
    return View(head, ROWS, (1, 3), title, whole=(3,), styles={1: "green", 2: "bold"}, parted=(1, 2))


def printed(table: View, width: int = 200) -> list[str]:
    stream = io.StringIO()
    RichConsole(file=stream, width=width).print(Drawn(table))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize("options", [{}, {"title": "제목 [b]x"}, {"head": ("", "", "", "")}])
def test_a_plain_table_is_the_one_that_rich_draws(options: dict[str, Any]) -> None:
    table = made(**options)
    assert plain_lines(table) == printed(table)


def test_a_table_without_rows_is_drawn_too() -> None:
    table = View(("measure",), ())
    assert plain_lines(table) == printed(table)


def test_a_narrow_terminal_still_wraps() -> None:
    assert max(map(cell_width, printed(made(), width=40))) <= 40


@given(st.text(alphabet="ab[]/\\ #=.한", max_size=12))
def test_escaped_text_comes_back_from_either_console(text: str) -> None:
    assert without_markup(escape(text)) == text
    if not text.endswith("\\"):  # there, rich's own escape adds another
        assert escape(text) == rich_escape(text)
    if "\\" not in text:  # rich drops some, escaped or not
        assert Text.from_markup(f"[bold]x[/bold] {escape(text)}", emoji=False).plain == f"x {text}"
        assert without_markup(f"[bold]x[/bold] {escape(text)}") == f"x {text}"


def test_a_wide_sign_takes_two_columns_and_an_accent_none() -> None:
    assert [cell_width(text) for text in ("abc", "수탉", "漢a", "e\u0301", "\u200d")] == [3, 4, 3, 1, 0]


def test_what_comes_from_a_graph_can_not_command_a_terminal_or_break_a_table() -> None:
    stream = io.StringIO()
    console = PlainConsole(stream)
    console.print("a\x1b[31mb")
    console.print(View(("x",), (("d\ne\x07",),)))
    assert stream.getvalue() == "a[31mb\n\n x\n ───\n d e\n\n"


def test_quiet_prints_nothing() -> None:
    stream = io.StringIO()
    PlainConsole(stream, quiet=True).print(made())
    assert stream.getvalue() == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("query 점순이는누구야? -g 김유정-동백꽃-KG.json", "tiny_graph_rag.study.evaluate"),
        ("stats -g 김유정-동백꽃-KG.json", "msgspec"),
        ("measures", "msgspec"),
    ],
)
def test_a_piped_command_loads_no_rich_and_a_small_graph_no_decoder(command: str, unused: str) -> None:
    code = (
        "import sys; from tiny_graph_rag.cli import load, app; load(sys.argv[1]);"
        "app(sys.argv[1:], standalone_mode=False);"
        f"print([each for each in ('rich', 'numba', {unused!r}) if each in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.endswith("[]\n")


def test_a_narrow_terminal_leaves_spare_columns_out_and_cuts_no_figure() -> None:
    """Three between columns, one at either end: 5 + 13 + 5 + 7 + 9 + 2 = 41. Without `more`
    5 + 13 + 7 + 6 + 2 = 33, without the interval too 5 + 7 + 3 + 2 = 17."""
    row = ("점순", "0.100 … 0.200", "0.333", "0.55555")
    table = View(("names", "interval", "more", "last"), (row,), (0, 1, 3), spare={1: 1, 2: 2}, whole=(1,))
    kept = {}
    for width in (41, 40, 33, 32, 17):
        lines = printed(table, width)
        assert max(map(cell_width, lines)) <= width
        kept[width] = [
            figure for figure in ("0.100 … 0.200", "0.333", "0.55555") if figure in " ".join(lines)
        ]
        assert ("not shown" in " ".join(lines)) == (width < 41)
    assert kept[41] == ["0.100 … 0.200", "0.333", "0.55555"]
    assert kept[40] == kept[33] == ["0.100 … 0.200", "0.55555"]
    assert kept[32] == kept[17] == ["0.55555"]
