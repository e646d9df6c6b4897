"""Means in the terminal, of `summary` of a results file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tiny_graph_rag.measures.base import Measure
from tiny_graph_rag.measures.statistics import RELIABLE_FROM
from tiny_graph_rag.messages import counted, t
from tiny_graph_rag.report import tables
from tiny_graph_rag.report.blocks import View, mean_of
from tiny_graph_rag.report.terminal import Shown, fits, without_intervals

Json = Mapping[str, Any]

BESIDE = 5  # measures with their intervals that fit into a terminal's width


def unreliable() -> str:
    """What the mark says."""
    return t("? unreliable: too few questions affect this number", n=RELIABLE_FROM)


def summary_lines(summary: Json, width: int) -> Iterator[Shown]:
    """Means with intervals: overall, then by tag, most questions first; many measures in a column."""
    kinds = list(dict.fromkeys(map(_judged, summary["measures"])))
    for kind in kinds:  # a table each
        yield from _table_lines(_of_kind(summary, kind), width)
    yield from remarks(summary)


def _judged(measure: str) -> str:
    """What a measure judges: `relations` of `relations:recall@5`, "" for entities."""
    return measure.rpartition(":")[0]


def _of_kind(summary: Json, kind: str) -> Json:
    def part(of: Json) -> Json:
        return {**of, "measures": {key: mean for key, mean in of["measures"].items() if _judged(key) == kind}}

    return {**part(summary), "by_tag": {tag: part(of) for tag, of in summary["by_tag"].items()}}


def _table_lines(summary: Json, width: int) -> Iterator[Shown]:
    if len(summary["measures"]) > BESIDE:
        rows = [(name, mean_of(mean), f"{mean['n']:,}") for name, mean in summary["measures"].items()]
        yield View((t("measure"), t("all questions"), "n"), tuple(rows))
        if summary["by_tag"]:
            yield t("means by tag ({n}): see the results file", n=len(summary["by_tag"]))
        return
    view = tables.means(summary)
    if not fits(view, width):
        view = without_intervals(view)
        yield t("the intervals don't fit this terminal; the results file has them")
    yield view


def remarks(summary: Json) -> list[str]:
    """What a reader must know next to the means: marks, groups, questions without gold, empty lists."""
    lines = []
    means = [mean for part in (summary, *summary["by_tag"].values()) for mean in part["measures"].values()]
    if not all(mean["reliable"] for mean in means):
        lines.append(f"{t('means with their 95 % interval')}; {unreliable()}")
    if summary.get("groups") is not None:
        lines.append(
            t(
                "{n} questions in {groups} groups: each group counts as one observation in the intervals",
                n=f"{summary['questions']:,}",
                groups=f"{summary['groups']:,}",
            )
        )
    if all(map(_judged, summary["measures"])):  # what follows counts entities
        return lines
    lines += without_gold(summary)
    missed = summary["nothing_retrieved"] - summary["rightly_empty"]
    if missed:
        lines.append(
            counted(
                missed,
                "{n} question with a reference retrieved nothing and scores 0",
                "{n} questions with a reference retrieved nothing and score 0",
            )
        )
    if summary["failed"]:
        lines.append(
            counted(
                summary["failed"],
                "{n} question failed or is not in the run: it gets the worst value of every measure",
                "{n} questions failed or are not in the run: they get the worst value of every measure",
            )
        )
    return lines


def without_gold(part: Json) -> list[str]:
    """How many questions have no reference, what became of them, and where they count."""
    if not part["without_gold"]:
        return []
    wrong = part["without_gold"] - part["rightly_empty"] - part["failed_without_gold"]
    # These score questions without gold too, or only those.
    scored_by = [name for name in part["measures"] if Measure.parse(name).kind.scores_no_gold]
    line = counted(
        part["without_gold"],
        "{n} no-answer question ({means}): {empty} correctly returned nothing, {wrong} returned entities",
        "{n} no-answer questions ({means}): {empty} correctly returned nothing, {wrong} returned entities",
        means=t("only in the mean of {measures}", measures=", ".join(scored_by))
        if scored_by
        else t("not in the means"),
        empty=f"{part['rightly_empty']:,}",
        wrong=f"{wrong:,}",
    )
    if part["failed_without_gold"]:
        line += t(", {n} failed or not in the run", n=f"{part['failed_without_gold']:,}")
    return [line]
