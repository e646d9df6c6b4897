"""Means in the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.statistics import RELIABLE_FROM, Mean
from tiny_graph_rag.measures.summary import Slice, Summary
from tiny_graph_rag.messages import counted, t
from tiny_graph_rag.report.plain import one_line
from tiny_graph_rag.report.terminal import Console, Table, escape

BESIDE = 5  # measures with their intervals that fit into a terminal's width


def unreliable() -> str:
    """What the mark says."""
    return t("? unreliable: too few questions affect this number", n=RELIABLE_FROM)


def shown(value: float) -> str:
    """The one place that rounds for people: three digits, – where undefined."""
    return "–" if math.isnan(value) else f"{value:.3f}"


def interval(mean: Mean) -> str:
    """A mean with its 95 % interval: `0.750 .68–.81`, and a ? where the interval is unreliable."""
    if math.isnan(mean.mean):
        return shown(mean.mean)
    if math.isnan(mean.low):  # one value tells nothing of the others
        return f"{shown(mean.mean)} [dim]?[/dim]"
    ends = "–".join(f"{end:.2f}".removeprefix("0") for end in (mean.low, mean.high))
    return f"{shown(mean.mean)} [dim]{ends}{' ' if mean.reliable else '?'}[/dim]"


def marked(mean: Mean) -> str:
    """A mean alone, and a ? where too few questions stand behind it."""
    return shown(mean.mean) + ("" if mean.reliable or math.isnan(mean.mean) else "[dim]?[/dim]")


def print_summary(summary: Summary, console: Console) -> None:
    """Means with intervals: overall, then by tag, most questions first; many measures in a column."""
    overall = summary.overall
    kinds = list(dict.fromkeys(measure.of for measure in overall.measures))
    if len(kinds) > 1:  # a table each
        for kind in kinds:
            _print_table(_of_kind(summary, kind), console)
    else:
        _print_table(summary, console)
    for line in remarks(summary):
        console.print(line)


def _of_kind(summary: Summary, kind: str) -> Summary:
    def part(of: Slice) -> Slice:
        return replace(of, measures={name: mean for name, mean in of.measures.items() if name.of == kind})

    return Summary(part(summary.overall), {tag: part(of) for tag, of in summary.by_tag.items()})


def _print_table(summary: Summary, console: Console) -> None:
    overall = summary.overall
    if len(overall.measures) > BESIDE:
        table = Table()
        for place, column in enumerate((t("measure"), t("all questions"), "n")):
            table.add_column(column, justify="right" if place else "left")
        for measure, mean in overall.measures.items():
            table.add_row(str(measure), interval(mean), f"{mean.n:,}")
        console.print(table)
        if summary.by_tag:
            console.print(t("means by tag ({n}): see the results file", n=len(summary.by_tag)))
    else:
        table = _beside(summary, interval)
        if not table.fits(console.width):
            table = _beside(summary, marked)
            console.print(t("the intervals don't fit this terminal; the results file has them"))
        console.print(table)


def remarks(summary: Summary) -> list[str]:
    """What a reader must know next to the means: marks, groups, questions without gold, empty lists."""
    overall, lines = summary.overall, []
    means = [mean for part in (overall, *summary.by_tag.values()) for mean in part.measures.values()]
    if not all(mean.reliable for mean in means):
        lines.append(f"{t('means with their 95 % interval')}; {unreliable()}")
    if overall.groups is not None:
        lines.append(
            t(
                "{n} questions in {groups} groups: each group counts as one observation in the intervals",
                n=f"{overall.questions:,}",
                groups=f"{overall.groups:,}",
            )
        )
    if all(measure.of for measure in overall.measures):  # what follows counts entities
        return lines
    lines += without_gold(overall)
    missed = overall.nothing_retrieved - overall.rightly_empty
    if missed:
        lines.append(
            counted(
                missed,
                "{n} question with a reference retrieved nothing and scores 0",
                "{n} questions with a reference retrieved nothing and score 0",
            )
        )
    if overall.failed:
        lines.append(
            counted(
                overall.failed,
                "{n} question failed or is not in the run: it gets the worst value of every measure",
                "{n} questions failed or are not in the run: they get the worst value of every measure",
            )
        )
    return lines


def scored_all_the_same(measures: Iterable[Measure]) -> list[str]:
    """The measures that score questions without gold too, or only those."""
    return [str(measure) for measure in measures if measure.kind.scores_no_gold]


def without_gold(part: Slice) -> list[str]:
    """How many questions have no reference, what became of them, and where they count."""
    if not part.without_gold:
        return []
    wrong = part.without_gold - part.rightly_empty - part.failed_without_gold
    scored_by = scored_all_the_same(part.measures)
    said = counted(
        part.without_gold,
        "{n} no-answer question ({means}): {empty} correctly returned nothing, {wrong} returned entities",
        "{n} no-answer questions ({means}): {empty} correctly returned nothing, {wrong} returned entities",
        means=t("only in the mean of {measures}", measures=", ".join(scored_by))
        if scored_by
        else t("not in the means"),
        empty=f"{part.rightly_empty:,}",
        wrong=f"{wrong:,}",
    )
    if part.failed_without_gold:
        said += t(", {n} failed or not in the run", n=f"{part.failed_without_gold:,}")
    return [said]


def _beside(summary: Summary, spelled: Callable[[Mean], str]) -> Table:
    overall = summary.overall
    table = Table()
    table.add_column(t("questions"))
    for measure in overall.measures:
        table.add_column(str(measure), justify="right")
    table.add_column("n", justify="right")
    _add(table, t("all"), overall, spelled, style="bold")
    by_tag = sorted(summary.by_tag.items(), key=lambda item: (-item[1].questions, item[0]))
    for tag, part in by_tag:
        _add(table, f"  {escape(one_line(tag, 40))}", part, spelled)
    return table


def _add(table: Table, label: str, part: Slice, spelled: Callable[[Mean], str], style: str = "") -> None:
    counted = [mean.n for mean in part.measures.values()]
    n = f"{min(counted):,}" if len(set(counted)) == 1 else f"{min(counted):,}–{max(counted):,}"
    table.add_row(label, *map(spelled, part.measures.values()), n, style=style)
