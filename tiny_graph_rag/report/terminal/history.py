"""Results over time in the terminal: a row each, and each measure's course in a line of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tiny_graph_rag.config import spelled_setting
from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.messages import t
from tiny_graph_rag.report.history import Past, differing
from tiny_graph_rag.report.plain import one_line
from tiny_graph_rag.report.terminal import Console, Table, escape
from tiny_graph_rag.report.terminal.summary import interval, shown, unreliable
from tiny_graph_rag.report.terminal.sweep import sparkline

NAME_WIDTH = 40


def print_history(named: dict[str, list[Past]], measures: Sequence[str], tag: str, console: Console) -> None:
    """A table a gold set, oldest result first. measures: columns; all that a result has where empty."""
    for dataset, rows in named.items():
        wanted = list(measures) or list(dict.fromkeys(name for row in rows for name in row.measures))
        table = Table(title=escape(f"{dataset} · {tag}" if tag else dataset))
        for place, header in enumerate((t("made"), t("result"), t("label"), t("settings that differ"))):
            table.add_column(header, no_wrap=place == 0, spare=4 if place == 2 else 0)
        for place, measure in enumerate(wanted):
            table.add_column(measure, justify="right", no_wrap=True, spare=0 if place == 0 else 5 + place)
        table.add_column("n", justify="right")
        for row, differs in zip(rows, differing(rows), strict=True):
            found = _of(row, tag)
            means = [_mean(found.get(measure)) for measure in wanted]
            said = ", ".join(spelled_setting(name, value) for name, value in differs.items())
            table.add_row(
                row.at.strftime("%Y-%m-%d %H:%M"),
                escape(one_line(row.name, NAME_WIDTH)),
                escape(one_line(row.label, NAME_WIDTH)),
                escape(one_line(said)),
                *(interval(mean) if mean else "–" for mean in means),
                f"{max((mean.n for mean in means if mean), default=0):,}",
            )
        console.print(table)
        for measure in wanted if len(rows) > 1 else ():
            course = [_mean(_of(row, tag).get(measure)) for row in rows]
            values = [mean.mean if mean else math.nan for mean in course]
            console.print(f"  {measure}: {sparkline(values)} {shown(values[0])} → {shown(values[-1])}")
        if not all(mean.reliable for row in rows for mean in map(_mean, _of(row, tag).values()) if mean):
            console.print(unreliable())
        console.print("")


def _of(past: Past, tag: str) -> dict[str, dict[str, Any]]:
    return past.by_tag.get(tag, {}) if tag else past.measures


def _mean(found: dict[str, Any] | None) -> Mean | None:
    """A mean as files hold it: null is NaN."""
    if found is None:
        return None
    mean, low, high = (math.nan if found[name] is None else found[name] for name in ("mean", "low", "high"))
    return Mean(mean, low, high, found["n"], reliable=found.get("reliable", True))
