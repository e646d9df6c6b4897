"""What every part is made of: headings, tables, and means with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tiny_graph_rag.report.plain import markdown_text, three

Json = dict[str, Any]


def titled(text: str, level: int) -> str:
    return f"{'#' * level} {markdown_text(text)}\n"


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> list[str]:
    """words: the columns that hold words and stand to the left; figures stand to the right."""
    return [
        f"| {' | '.join(head)} |",
        "|" + "|".join(" --- " if place in words else " ---: " for place in range(len(head))) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def mean_cells(mean: Json) -> list[str]:
    low, high = mean.get("low"), mean.get("high")
    unsure = " (few)" if mean.get("reliable") is False and mean["n"] else ""
    interval = "–" if low is None else f"{three(low)} – {three(high)}{unsure}"
    return [three(mean["mean"]), interval, f"{mean['n']:,}"]


def cells(part: Json, measures: Iterable[str]) -> Iterator[str]:
    for each in measures:
        mean = part["measures"].get(each) or {"mean": None, "n": 0}
        value, interval, _ = mean_cells(mean)
        few = ", few" if interval.endswith(" (few)") else ""
        yield value if interval == "–" else f"{value} ({interval.removesuffix(' (few)')}{few})"
