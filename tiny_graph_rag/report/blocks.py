"""What reports are made of before anybody renders them: headings, paragraphs, lists and tables.

Cells and paragraphs are words as a reader sees them, rounded but not escaped; a mean with its interval stays
one until it is rendered, because each form writes it in its own way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.shown import three

Cell = str | Mean


@dataclass(frozen=True, slots=True)
class Heading:
    """level: 1 for the title of a report."""

    text: str
    level: int


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class NumberedList:
    """Paragraphs with numbers before them."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    """A table. rows: a cell a column of `head`. words: the columns that hold words and stand to the left;
    figures stand to the right.

    The rest is for a terminal. title: above the table. spare: column → how early it is left out where there
    is little room, the highest first; a column that is not named stays. whole: columns whose cells are not
    wrapped. styles: row → style, such as bold. parted: rows with room below.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: tuple[int, ...] = (0,)
    title: str = ""
    spare: Mapping[int, int] = field(default_factory=dict)
    whole: tuple[int, ...] = ()
    styles: Mapping[int, str] = field(default_factory=dict)
    parted: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell of a paper's table. best: bold. marks: letters or daggers that stand above the line."""

    text: str
    best: bool = False
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table for a paper. rows: a name, and a figure for each column of `head` after the first."""

    caption: str
    label: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Figure, ...]], ...]


Block = Heading | Paragraph | NumberedList | View


def mean_of(found: Mapping[str, Any] | None) -> Mean:
    """A mean as files hold it, null as NaN; of no questions where there is none."""
    found = found or {"mean": None, "n": 0}
    mean, low, high = (
        math.nan if found.get(name) is None else found[name] for name in ("mean", "low", "high")
    )
    return Mean(mean, low, high, found["n"], reliable=found.get("reliable", True))


def ends(mean: Mean) -> str:
    """`0.680 – 0.810`, and a ? where the interval is unreliable; – where there is none."""
    if math.isnan(mean.low):
        return "–"
    return f"{three(mean.low)} – {three(mean.high)}{unsure(mean)}"


def unsure(mean: Mean) -> str:
    """` ?` where too few questions stand behind a mean."""
    return "" if mean.reliable or not mean.n else " ?"


def in_full(cell: Cell) -> str:
    """A cell as files have it: of a mean `0.750 (0.680 – 0.810)`."""
    if isinstance(cell, str):
        return cell
    if math.isnan(cell.low):
        return three(cell.mean)
    return f"{three(cell.mean)} ({three(cell.low)} – {three(cell.high)}){unsure(cell)}"
