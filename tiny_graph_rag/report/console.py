"""Results in the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from tiny_graph_rag.evaluation.summary import Slice
from tiny_graph_rag.metrics.statistics import RELIABLE_FROM, Mean
from tiny_graph_rag.report.explained_console import print_explanation

if TYPE_CHECKING:
    from rich.console import Console

    from tiny_graph_rag.evaluation.runner import Evaluation


def shown(value: float) -> str:
    """The one place that rounds for people: three digits, – where undefined."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def interval(mean: Mean) -> str:
    """A mean with its 95 % interval: `0.750 .68–.81`, and a ? where too few questions stand behind it."""
    if math.isnan(mean.low):
        return shown(mean.mean)
    ends = "–".join(f"{end:.2f}".removeprefix("0") for end in (mean.low, mean.high))
    return f"{shown(mean.mean)} [dim]{ends}{' ' if mean.reliable else '?'}[/dim]"


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """The summary: overall, then by tag, most questions first."""
    overall = evaluation.summary.overall
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("questions")
    for each in overall.measures:
        table.add_column(str(each), justify="right")
    table.add_column("n", justify="right")
    _add(table, "all", overall, style="bold")
    by_tag = sorted(evaluation.summary.by_tag.items(), key=lambda item: (-item[1].questions, item[0]))
    for tag, part in by_tag:
        _add(table, f"  {escape(tag)}", part)
    console.print(table)
    if any(
        not mean.reliable
        for part in (overall, *evaluation.summary.by_tag.values())
        for mean in part.measures.values()
    ):
        console.print(
            f"means with their 95 % interval; ?: fewer than {RELIABLE_FROM} questions, not to be relied on"
        )
    if overall.without_gold:
        console.print(
            f"{overall.without_gold} questions have no reference and are in no mean (n counts the others)"
        )
    if overall.nothing_retrieved:
        console.print(
            f"{overall.nothing_retrieved} questions retrieved nothing; with a reference they score 0"
        )
    print_explanation(evaluation.explanation, console)


def _add(table: Table, label: str, part: Slice, style: str = "") -> None:
    counted = [mean.n for mean in part.measures.values()]
    n = f"{min(counted):,}" if len(set(counted)) == 1 else f"{min(counted):,}–{max(counted):,}"
    table.add_row(label, *(interval(mean) for mean in part.measures.values()), n, style=style)
