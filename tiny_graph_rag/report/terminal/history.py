"""Results over time in the terminal: a row each, and each measure's course in a line of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tiny_graph_rag.config import spelled_setting
from tiny_graph_rag.messages import t, three
from tiny_graph_rag.report.history import Past, differing
from tiny_graph_rag.report.plain import one_line
from tiny_graph_rag.report.tables import Cell, View, mean_cells, mean_of
from tiny_graph_rag.report.terminal import Shown

NAME_WIDTH = 40
_EIGHTHS = "▁▂▃▄▅▆▇█"


def history_lines(named: dict[str, list[Past]], measures: Sequence[str], tag: str) -> Iterator[Shown]:
    """A table a gold set, oldest result first. measures: columns; all that a result has where empty."""
    for dataset, rows in named.items():
        wanted = list(measures) or list(dict.fromkeys(name for row in rows for name in row.measures))
        lines: list[tuple[Cell, ...]] = []
        for row, differs in zip(rows, differing(rows), strict=True):
            means = mean_cells(_of(row, tag), wanted)
            settings = ", ".join(spelled_setting(name, value) for name, value in differs.items())
            lines.append(
                (
                    row.at.strftime("%Y-%m-%d %H:%M"),
                    one_line(row.name, NAME_WIDTH),
                    one_line(row.label, NAME_WIDTH),
                    one_line(settings),
                    *means,
                    f"{max((mean.n for mean in means), default=0):,}",
                )
            )
        heads = (t("made"), t("result"), t("label"), t("settings that differ"))
        yield View(
            (*heads, *wanted, "n"),
            tuple(lines),
            (0, 1, 2, 3),
            f"{dataset} · {tag}" if tag else dataset,
        )
        for measure in wanted if len(rows) > 1 else ():
            values = [mean_of(_of(row, tag).get(measure)).mean for row in rows]
            yield f"  {measure}: {sparkline(values)} {three(values[0])} → {three(values[-1])}"
        if not all(mean_of(mean).reliable for row in rows for mean in _of(row, tag).values()):
            yield t("? unreliable: too few questions affect this number")
        yield ""


def sparkline(values: Sequence[float]) -> str:
    """One character a value in [0, 1]; · where undefined."""
    return "".join("·" if math.isnan(value) else _EIGHTHS[min(7, int(8 * max(value, 0)))] for value in values)


def _of(past: Past, tag: str) -> dict[str, dict[str, Any]]:
    return past.by_tag.get(tag, {}) if tag else past.measures
