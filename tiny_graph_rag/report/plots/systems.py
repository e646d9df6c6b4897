"""Pictures of several results: side by side, by tag, question by question, rank of the first hit, precision
and recall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes

from tiny_graph_rag.messages import t, three
from tiny_graph_rag.report.document import Document, joint_name
from tiny_graph_rag.report.plain import best_of, rises
from tiny_graph_rag.report.plots.fonts import drawable
from tiny_graph_rag.report.plots.picture import ACCENT, GRID, INK, LINES, LOST, SOFT, Picture, lined, panels
from tiny_graph_rag.report.systems import Systems, curve, first_hit_names, first_hits

Json = dict[str, Any]

TAGS_SHOWN = 24
DARK = 0.55  # of the scale: light words stand on cells above it
RAMP = ("#1d5a96", "#5b8fbf", "#9cbfdd", "#cfdfec", "#e9eff4", LOST)  # early hits to none
WORDS = (
    *("Systems side by side", "mean with its 95 % interval", "{measure} by tag and system"),
    *("{measure} by question against {baseline}, sorted", "questions, sorted by difference"),
    *("better {better} · equal {equal} · worse {worse}", "Rank of the first hit", "share of questions"),
    *("later or never", "Precision and recall by rank", "precision at rank k", "recall at rank k"),
)


def system_figures(found: Systems) -> Iterator[tuple[str, Picture]]:
    """(file name without ending, figure). found: two results or more of the same questions."""
    name = joint_name(found.documents)
    title = drawable((found.documents[0].content.get("dataset") or {}).get("name") or "", 60)
    yield f"{name}-systems", _side_by_side(found, title)
    heat = found.heat(found.measure)
    if heat:
        yield f"{name}-heat", _heat(found, heat, title)
    yield f"{name}-question-differences", _question_differences(found, title)
    yield f"{name}-first-hit", first_hit_figure(found.documents, found.names, title)
    yield f"{name}-precision-recall", _precision_recall(found, title)


def _labels(names: Sequence[str]) -> list[str]:
    return [drawable(name, 30) for name in names]


def _side_by_side(found: Systems, title: str) -> Picture:
    """A panel a measure, a dot with its interval a system."""
    measures, names = found.measures, found.names
    figure, cells = panels(len(measures), 2.6, 0.7 + 0.32 * len(names), margin=(1.8, 0.6))
    figure.headed(t("Systems side by side"), title)
    for panel, measure in zip(cells, measures, strict=True):
        best = found.pairs.best(measure)
        for row, mean in enumerate(found.means(measure)):
            if mean["mean"] is None:
                continue
            if mean.get("low") is not None:
                panel.plot([mean["low"], mean["high"]], [row, row], color=ACCENT, linewidth=3, alpha=0.35)
            panel.plot(mean["mean"], row, "o", color=ACCENT, markersize=5)
            weight = "bold" if row == best else "normal"
            _beside(panel, row, three(mean["mean"]), weight)
        values = [
            mean[end]
            for mean in found.means(measure)
            for end in ("mean", "high")
            if mean.get(end) is not None
        ]
        panel.set(title=measure, xlim=(0, 1) if max(values, default=0) <= 1 else (0, max(values) * 1.05))
        lined(panel, "x")
        panel.set_xlabel(t("mean with its 95 % interval"))
    cells[0].set_yticks(range(len(names)), _labels(names))
    cells[0].set_ylim(len(names) - 0.4, -0.6)
    return figure


def _beside(panel: Axes, row: float, text: str, weight: str = "normal") -> None:
    """A figure to the right of a panel's row."""
    place = panel.get_yaxis_transform()
    panel.text(1.03, row, text, transform=place, va="center", color=INK, size=8, weight=weight)


def _heat(found: Systems, heat: dict[str, list[float | None]], title: str) -> Picture:
    """A cell a tag and system, darker where the mean is higher."""
    rows = dict(list(heat.items())[:TAGS_SHOWN])
    figure = Picture(figsize=(2.4 + 1.05 * len(found.names), 1.3 + 0.34 * len(rows)))
    panel = figure.subplots()
    values = [[math.nan if mean is None else mean for mean in means] for means in rows.values()]
    known = [mean for means in values for mean in means if mean == mean]
    top = 1.0 if max(known) <= 1 else max(known)
    panel.imshow(values, cmap="Blues", vmin=0, vmax=top * 1.15, aspect="auto")
    for row, means in enumerate(values):
        best = best_of(found.measure, means)
        for column, mean in enumerate(means):
            colour = "white" if mean == mean and mean / top > DARK else INK
            weight = "bold" if mean == best else "normal"
            panel.text(
                column, row, three(mean), ha="center", va="center", color=colour, weight=weight, size=8
            )
    panel.set_xticks(range(len(found.names)), _labels(found.names), rotation=30, ha="right")
    questions = found.documents[0].content["summary"]["by_tag"]
    panel.set_yticks(
        range(len(rows)), [f"{drawable(tag, 30)}  (n {questions[tag]['questions']})" for tag in rows]
    )
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)
    figure.headed(t("{measure} by tag and system", measure=found.measure), title)
    return figure


def _question_differences(found: Systems, title: str) -> Picture:
    """A panel a system against the first one: a bar a question, sorted."""
    rows = found.differences(found.measure)
    figure, cells = panels(len(rows), 3.1, 2.4, margin=(0.8, 0.6))
    sign = 1 if rises(found.measure) else -1
    for panel, (system, values) in zip(cells, rows.items(), strict=True):
        colours = [ACCENT if sign * value > 0 else LOST for value in values]
        panel.bar(range(len(values)), values, color=colours, width=1.0)
        panel.axhline(0, color=SOFT, linewidth=0.8)
        better, worse = (sum(way * sign * value > 0 for value in values) for way in (1, -1))
        counts = t(
            "better {better} · equal {equal} · worse {worse}",
            better=better,
            equal=len(values) - better - worse,
            worse=worse,
        )
        panel.set_title(f"{drawable(system, 30)}\n{counts}", fontsize=9, fontweight="normal")
        panel.set_xlabel(t("questions, sorted by difference"))
        lined(panel, "y")
    cells[0].set_ylabel(found.measure)
    baseline = drawable(found.names[0], 30)
    heading = t(
        "{measure} by question against {baseline}, sorted",
        baseline=baseline,
        measure=found.measure,
    )
    figure.headed(heading, title)
    return figure


def first_hit_figure(documents: Sequence[Document], names: Sequence[str], title: str) -> Picture:
    """A bar a system: at which rank its questions have their first reference."""
    heads = [*first_hit_names(), t("later or never")]
    figure = Picture(figsize=(7, 1.5 + 0.42 * len(names)))
    panel = figure.subplots()
    for row, document in enumerate(documents):
        counts, left = first_hits(document.content), 0.0
        total = max(1, sum(counts))
        for head, colour, count in zip(heads, RAMP, counts, strict=True):
            share = count / total
            label = head if row == 0 else None
            panel.barh(
                row,
                share,
                left=left,
                color=colour,
                height=0.62,
                label=label,
                edgecolor="white",
                linewidth=0.5,
            )
            if share > 0.045:
                ink = "white" if colour in RAMP[:2] else INK
                panel.text(left + share / 2, row, str(count), ha="center", va="center", color=ink, size=8)
            left += share
    panel.set_yticks(range(len(names)), _labels(names))
    panel.set(xlim=(0, 1), xlabel=t("share of questions"))
    panel.set_ylim(len(names) - 0.5, -0.5)
    figure.legend(loc="outside lower center", ncols=len(heads), fontsize=8, handlelength=1, columnspacing=1.2)
    figure.headed(t("Rank of the first hit"), title)
    return figure


def _precision_recall(found: Systems, title: str) -> Picture:
    """A line a system: precision against recall at the ranks 1, 2, …"""
    figure = Picture(figsize=(5.4, 4.4))
    panel = figure.subplots()
    for place, (name, document) in enumerate(zip(found.names, found.documents, strict=True)):
        line = curve(document.content)
        colour = LINES[place % len(LINES)]
        style = "-" if place < len(LINES) else "--"
        panel.plot(
            line.recall,
            line.precision,
            style,
            color=colour,
            marker="o",
            markersize=3,
            label=drawable(name, 30),
        )
        for cutoff in (1, 5, 10):
            if place == 0 and cutoff <= len(line.recall):
                at = (line.recall[cutoff - 1], line.precision[cutoff - 1])
                panel.annotate(
                    f"k = {cutoff}", at, xytext=(5, 5), textcoords="offset points", color=SOFT, size=8
                )
    panel.set(xlim=(0, 1), ylim=(0, 1), xlabel=t("recall at rank k"), ylabel=t("precision at rank k"))
    panel.grid(color=GRID, linewidth=0.6)
    panel.legend(fontsize=8)
    figure.headed(t("Precision and recall by rank"), title)
    return figure
