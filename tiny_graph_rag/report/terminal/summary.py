"""Means in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tiny_graph_rag.errors import amount
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.statistics import RELIABLE_FROM, Mean
from tiny_graph_rag.measures.summary import Slice, Summary
from tiny_graph_rag.report.plain import one_line
from tiny_graph_rag.report.terminal import Console, Table, escape

UNRELIABLE = f"?: not to be relied on (fewer than {RELIABLE_FROM} observations, or few that weigh or differ)"
BESIDE = 5  # measures with their intervals that fit into a terminal's width


def shown(value: float) -> str:
    """The one place that rounds for people: three digits, – where undefined."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def interval(mean: Mean) -> str:
    """A mean with its 95 % interval: `0.750 .68–.81`, and a ? where the interval is not to be relied on."""
    if math.isnan(mean.mean):
        return shown(mean.mean)
    if math.isnan(mean.low):  # one value tells nothing of the others
        return f"{shown(mean.mean)} [dim]?[/dim]"
    ends = "–".join(f"{end:.2f}".removeprefix("0") for end in (mean.low, mean.high))
    return f"{shown(mean.mean)} [dim]{ends}{' ' if mean.reliable else '?'}[/dim]"


def print_summary(summary: Summary, console: Console) -> None:
    """Means with intervals: overall, then by tag, most questions first; many measures in a column."""
    overall = summary.overall
    if len(overall.measures) > BESIDE:
        table = Table()
        for column in ("measure", "all questions", "n"):
            table.add_column(column, justify="left" if column == "measure" else "right")
        for each, mean in overall.measures.items():
            table.add_row(str(each), interval(mean), f"{mean.n:,}")
        console.print(table)
        if summary.by_tag:
            console.print(f"by tag ({len(summary.by_tag)}): in the results file")
    else:
        console.print(_beside(summary))
    for line in remarks(summary):
        console.print(line)


def remarks(summary: Summary) -> list[str]:
    """What a reader must know beside the means: marks, groups, questions without gold, empty lists."""
    overall, lines = summary.overall, []
    means = [mean for part in (overall, *summary.by_tag.values()) for mean in part.measures.values()]
    if not all(mean.reliable for mean in means):
        lines.append(f"means with their 95 % interval; {UNRELIABLE}")
    if overall.groups is not None:
        lines.append(
            f"{overall.questions:,} questions in {amount(overall.groups, 'group')}: "
            "intervals take a group as one observation"
        )
    lines += without_gold(overall.without_gold, overall.rightly_empty, scored_all_the_same(overall.measures))
    missed = overall.nothing_retrieved - overall.rightly_empty
    if missed:
        lines.append(
            amount(
                missed,
                "question with a reference retrieved nothing and scores 0",
                "questions with a reference retrieved nothing and score 0",
            )
        )
    return lines


def scored_all_the_same(measures: Iterable[Measure]) -> list[str]:
    """The measures that score questions without gold too, or only those."""
    return [str(each) for each in measures if each.kind.scores_no_gold]


def without_gold(questions: int, rightly_empty: int, scored_by: Sequence[str]) -> list[str]:
    """How many questions have no reference, whether they were rightly left empty, and where they count."""
    if not questions:
        return []
    count = "in no mean" if not scored_by else f"in no mean but that of {', '.join(scored_by)}"
    wrong = questions - rightly_empty
    return [
        amount(questions, "question has", "questions have")
        + f" no reference: {rightly_empty:,} rightly left empty, {wrong:,} answered with entities; {count}"
    ]


def _beside(summary: Summary) -> Table:
    overall = summary.overall
    table = Table()
    table.add_column("questions")
    for each in overall.measures:
        table.add_column(str(each), justify="right")
    table.add_column("n", justify="right")
    _add(table, "all", overall, style="bold")
    by_tag = sorted(summary.by_tag.items(), key=lambda item: (-item[1].questions, item[0]))
    for tag, part in by_tag:
        _add(table, f"  {escape(one_line(tag, 40))}", part)
    return table


def _add(table: Table, label: str, part: Slice, style: str = "") -> None:
    counted = [mean.n for mean in part.measures.values()]
    n = f"{min(counted):,}" if len(set(counted)) == 1 else f"{min(counted):,}–{max(counted):,}"
    table.add_row(label, *(interval(mean) for mean in part.measures.values()), n, style=style)
