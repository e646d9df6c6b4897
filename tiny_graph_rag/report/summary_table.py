"""Means with their intervals as a table and lines, for terminals and pipes alike."""

from __future__ import annotations

import math

from tiny_graph_rag.evaluation.summary import Slice, Summary
from tiny_graph_rag.metrics.statistics import RELIABLE_FROM, Mean
from tiny_graph_rag.report.plain import one_line
from tiny_graph_rag.report.screen import Column, Row, Screen

BESIDE = 5  # measures with their intervals that fit into a terminal's width


def shown(value: float) -> str:
    """The one place that rounds for people: three digits, – where undefined."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def interval(mean: Mean) -> str:
    """A mean with its 95 % interval: `0.750 .68–.81`, and a ? where too few questions stand behind it."""
    if math.isnan(mean.mean):
        return shown(mean.mean)
    if math.isnan(mean.low):  # one value tells nothing of the others
        return f"{shown(mean.mean)} ?"
    ends = "–".join(f"{end:.2f}".removeprefix("0") for end in (mean.low, mean.high))
    return f"{shown(mean.mean)} {ends}{' ' if mean.reliable else '?'}"


def summary_table(summary: Summary) -> tuple[list[Column], list[Row]]:
    """Overall, then by tag, most questions first; many measures in a column, without tags."""
    overall = summary.overall
    if len(overall.measures) > BESIDE:
        columns = [Column("measure"), Column("all questions", right=True), Column("n", right=True)]
        return columns, [
            Row((str(each), interval(mean), f"{mean.n:,}")) for each, mean in overall.measures.items()
        ]
    columns = [Column("questions"), *(Column(str(each), right=True) for each in overall.measures)]
    by_tag = sorted(summary.by_tag.items(), key=lambda item: (-item[1].questions, item[0]))
    rows = [_row(f"  {one_line(tag, 40)}", part) for tag, part in by_tag]
    return [*columns, Column("n", right=True)], [_row("all", overall, bold=True), *rows]


def _row(label: str, part: Slice, *, bold: bool = False) -> Row:
    counted = [mean.n for mean in part.measures.values()]
    n = f"{min(counted):,}" if len(set(counted)) == 1 else f"{min(counted):,}–{max(counted):,}"
    return Row((label, *(interval(mean) for mean in part.measures.values()), n), bold=bold)


def summary_notes(summary: Summary) -> list[str]:
    """What a reader must know of the means."""
    overall, found = summary.overall, []
    if summary.by_tag and len(overall.measures) > BESIDE:
        found.append(f"by tag ({len(summary.by_tag)}): in the results file")
    means = [mean for part in (overall, *summary.by_tag.values()) for mean in part.measures.values()]
    if not all(mean.reliable for mean in means):
        found.append(
            f"means with their 95 % interval; ?: fewer than {RELIABLE_FROM} questions, not to be relied on"
        )
    if overall.without_gold:
        found.append(
            f"{overall.without_gold:,} questions have no reference and are in no mean (n counts the others)"
        )
    if overall.nothing_retrieved:
        found.append(
            f"{overall.nothing_retrieved:,} questions retrieved nothing; with a reference they score 0"
        )
    return found


def show_summary(summary: Summary, screen: Screen) -> None:
    screen.table(*summary_table(summary))
    for each in summary_notes(summary):
        screen.line(each)
