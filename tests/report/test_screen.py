"""Lines and tables as text: the same on a terminal and in a pipe, in the width that there is."""

from __future__ import annotations

import io
import math

import pytest

from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.messages import figure
from tiny_graph_rag.report.headline import system_words
from tiny_graph_rag.report.plain import cell_width
from tiny_graph_rag.report.tables import View, end_words
from tiny_graph_rag.report.terminal import Console, CopiedLine, StrongLine, table_lines, wrapped


def printed(shown: str | View, width: int | None = None) -> str:
    stream = io.StringIO()
    Console(stream, width=width).print(shown)
    return stream.getvalue()


def test_words_stand_to_the_left_and_figures_to_the_right_of_columns_that_hangul_widens() -> None:
    rows = (("1", "점순", Mean(0.908, 0.7, 0.95, 9)), ("12", "[b]x", Mean(1.0, 0.8, 1.0, 40)))
    assert table_lines(View(("n", "이름", "score"), rows, (1,), "제목")) == [
        "제목",
        "",
        "  n  이름            score",
        " ─────────────────────────",
        "  1  점순   0.908 .70–.95?",
        " 12  [b]x  1.000 .80–1.00?",
        "",
    ]


@pytest.mark.parametrize(
    ("shown", "width", "lines"),
    [
        ("a b c", 3, ["a b", "c"]),
        ("a b c", None, ["a b c"]),  # a pipe has no width
        (CopiedLine("a b c"), 3, ["a b c"]),
        ("수탉 수탉", 5, ["수탉", "수탉"]),  # nine columns
        ("a\x1b[31mb\u202e", None, ["a[31mb"]),
        (StrongLine("bold"), None, ["bold"]),
        (StrongLine("bold"), 80, ["\x1b[1mbold\x1b[0m"]),
        (View(("x",), (("d\ne\x07",),)), None, ["", " x", " ───", " d e", ""]),
        (View(("measure",), ()), None, ["", " measure", " ───────", ""]),
    ],
)
def test_a_line_is_shown_as_its_reader_needs_it(
    shown: str | View, width: int | None, lines: list[str]
) -> None:
    assert printed(shown, width).splitlines() == lines


def test_wrapped_lines_keep_their_words_and_a_longer_word_stays_whole() -> None:
    assert wrapped("  ab cd efghijkl m", 6, "  ") == ["  ab", "  cd", "  efghijkl", "  m"]
    assert wrapped("ab cd ef gh", 6, "  ", 2) == ["ab cd", "  ef…"]


def test_a_wide_sign_takes_two_columns_and_an_accent_none() -> None:
    assert [cell_width(text) for text in ("abc", "수탉", "漢a", "e\u0301", "\u200d")] == [3, 4, 3, 1, 0]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (402.7, 2, "403"),
        (1.5e6, 2, "1,500,000"),
        (0.2512, 2, "0.25"),
        (9.996, 3, "10"),
        (4.1, 3, "4.1"),
        (0.0000412, 2, "0.000041"),
        (-0.5, 2, "-0.5"),
        (100, 3, "100"),
        (0, 3, "0"),
        (None, 3, "–"),
        (math.nan, 3, "–"),
        (math.inf, 3, "–"),
    ],
)
def test_a_figure_has_no_power_of_ten(value: float | None, digits: int, text: str) -> None:
    assert figure(value, digits) == text


def test_one_hop_is_no_hops_and_systems_are_told_apart() -> None:
    assert end_words({"verdict": "beyond_hops", "hop": 1}) == "needs 1 hop"
    settings = [{"system": "bfs"}, {"system": "bfs, exclude-seeds on"}, {"system": "bfs"}]
    assert system_words({"kind": "sweep", "settings": settings}) == "bfs; bfs, exclude-seeds on"
