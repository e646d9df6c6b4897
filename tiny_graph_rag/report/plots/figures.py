"""The pictures: bars by tag, hop curves, systems side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes

from tiny_graph_rag.messages import t, three
from tiny_graph_rag.report.document import Document, joint_name
from tiny_graph_rag.report.headline import subject
from tiny_graph_rag.report.plain import swept_measures, tags_of
from tiny_graph_rag.report.plots.fonts import drawable
from tiny_graph_rag.report.plots.picture import ACCENT, GRID, INK, LINES, SOFT, Picture, lined, panels
from tiny_graph_rag.report.systems import Systems

Json = dict[str, Any]

TAGS_SHOWN, CURVES_SHOWN = 24, 9
NEAR_THE_TITLE = 0.94  # of a panel: a value above its point would stand in the title
# What a picture says of its own, shown by `t`: the fonts must have its letters too.
WORDS = (
    *("all", "all questions", "no gold", "hops", "reachable within h hops", "{measure} by hops"),
    *("Systems side by side", "mean with its 95 % interval"),
)


def figures(documents: Sequence[Document]) -> Iterator[tuple[str, Picture]]:
    """(file name without ending, figure) of all that the documents have numbers for."""
    for document in documents:
        if document.has_questions:
            yield f"{document.name}-tags", _tags(document.content)
        elif document.kind == "sweep":
            for measure in _swept(document.content):
                decides = measure == _deciding(document.content)
                ending = "hops" if decides else f"hops-{measure.replace('@', '-at-')}"
                yield f"{document.name}-{ending}", _hops(document.content, measure)
    results = [document for document in documents if document.has_questions]
    if len(results) > 1 and (found := Systems.of(results)) is not None:
        yield f"{joint_name(found.documents)}-systems", _side_by_side(found)


def _dataset_name(content: Json) -> str:
    return drawable((content.get("dataset") or {}).get("name") or "", 60)


def _counted(part: Json) -> str:
    """The n of the table: questions behind the means, not those without a reference."""
    counts = sorted({mean["n"] for mean in part["measures"].values() if mean["mean"] is not None})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"


def _tags(content: Json) -> Picture:
    """A panel a measure, a bar a tag, with intervals and values; tags without any value are left out."""
    summary = content["summary"]
    valued = [
        (tag, part)
        for tag, part in tags_of(summary)
        if any(mean["mean"] is not None for mean in part["measures"].values())
    ]
    measures = [block for block, mean in summary["measures"].items() if mean["mean"] is not None]
    slices = [(t("all"), summary), *valued[:TAGS_SHOWN]] if measures else []
    figure, cells = panels(len(measures), 2.1, 0.8 + 0.3 * max(1, len(slices)), margin=(2, 0.5))
    figure.headed(drawable(subject(content), 100))
    places = range(len(slices))
    for panel, measure in zip(cells, measures, strict=False):
        for place, (_, part) in zip(places, slices, strict=True):
            mean = part["measures"].get(measure) or {"mean": None}
            if mean["mean"] is None:
                panel.text(0.01, place, t("no gold"), color=SOFT, va="center", size=8)
                continue
            panel.barh(place, mean["mean"], color=ACCENT, alpha=0.9 if place == 0 else 0.6, height=0.62)
            if mean.get("low") is not None:
                panel.plot([mean["low"], mean["high"]], [place, place], color=INK, linewidth=1.2)
            panel.text(1.02, place, three(mean["mean"]), color=INK, va="center", size=8)
        panel.set(title=measure, xlim=(0, 1))
        lined(panel, "x")
    if not measures:
        cells[0].remove()
    labels = [f"{drawable(name, 30)}  (n {_counted(part)})" for name, part in slices]
    cells[0].set_yticks(list(places), labels)
    cells[0].set_ylim(len(slices) - 0.4, -0.6)  # the first on top
    return figure


def _deciding(content: Json) -> str:
    measures = swept_measures(content)
    decided = content.get("decide_by")
    return str(decided) if decided in measures else measures[0]


def _swept(content: Json) -> list[str]:
    """Every measure, the deciding one first."""
    return list(dict.fromkeys([_deciding(content), *swept_measures(content)]))


def _curve(panel: Axes, means: Sequence[tuple[int | None, Json]], colour: str, label: str) -> None:
    """A system's means by hops with their intervals, the best of them as a figure; a level line for one that
    does not walk. means: (hops, mean), hops None where there are none."""
    level = [mean["mean"] for hop, mean in means if hop is None]
    if level:
        panel.axhline(level[0], color=colour, linestyle=":", label=label)
        return
    hops = [hop for hop, _ in means if hop is not None]
    values = [mean["mean"] for _, mean in means]
    panel.plot(hops, values, color=colour, marker="o", markersize=3, label=label)
    if not means:
        return
    at, top = max(zip(hops, values, strict=True), key=lambda pair: pair[1])
    panel.annotate(
        three(top),
        (at, top),
        xytext=(0, 5 if top < NEAR_THE_TITLE else -11),
        textcoords="offset points",
        ha="left" if at == min(hops) < max(hops) else "center",
        color=colour,
        size=8,
    )
    if all(mean.get("low") is not None for _, mean in means):
        low, high = ([mean[end] for _, mean in means] for end in ("low", "high"))
        panel.fill_between(hops, low, high, color=colour, alpha=0.15, linewidth=0)


def _oracle(panel: Axes, parts: Sequence[tuple[Json, Json]], *, several: bool) -> None:
    """What the best possible ranking would reach by hops, of the first system that walks: another may start
    from other seeds. parts: (setting, the slice of it)."""
    reached = [
        (setting["system"], setting["hops"], part["oracle_recall"])
        for setting, part in parts
        if part.get("oracle_recall") is not None
    ]
    system = reached[0][0] if reached else ""
    known = sorted({(hops, share) for name, hops, share in reached if name == system})
    name = t("reachable within h hops")
    panel.plot(
        [hops for hops, _ in known],
        [value for _, value in known],
        color=SOFT,
        linestyle="--",
        linewidth=1,
        label=f"{name} ({drawable(system, 30)})" if several else name,
    )


def _hops(content: Json, measure: str) -> Picture:
    """A panel for all questions and each tag: a measure by hops, and what the hops could give. Tags for which
    nothing is defined have none."""
    settings = content["settings"]
    used = [setting for setting in settings if measure in setting["measures"]]

    def valued(tag: str) -> int:
        """Questions behind the measure, 0 where it is undefined."""
        means = [
            setting["by_tag"][tag]["measures"].get(measure)
            for setting in used
            if tag in setting.get("by_tag", {})
        ]
        return max((mean["n"] for mean in means if mean and mean["mean"] is not None), default=0)

    tags = [
        tag
        for tag in dict.fromkeys(tag for setting in used for tag in setting.get("by_tag", {}))
        if valued(tag)
    ]
    slices = ["", *tags[: CURVES_SHOWN - 1]]
    figure, cells = panels(len(slices), 3.1, 2.5, across=3, margin=(0, 0.4), sharex=True)
    figure.headed(
        t("{measure} by hops", measure=measure),
        _dataset_name(content),
    )
    for panel, tag in zip(cells, slices, strict=True):
        parts = [(setting, setting["by_tag"].get(tag) if tag else setting) for setting in used]
        systems = list(dict.fromkeys(setting["system"] for setting in used))
        for colour, system in zip(LINES, systems, strict=False):
            means = [
                (piece["hops"], part["measures"].get(measure))
                for piece, part in parts
                if part and piece["system"] == system
            ]
            known = [(hops, mean) for hops, mean in means if mean and mean["mean"] is not None]
            _curve(panel, known, colour, drawable(system, 30))
        _oracle(panel, [(piece, part) for piece, part in parts if part], several=len(systems) > 1)
        n = valued(tag) if tag else max((setting["measures"][measure]["n"] for setting in used), default=0)
        panel.set(
            title=f"{drawable(tag, 30) if tag else t('all questions')}  (n {n})",
            ylim=(0, 1.02),
            xlabel=t("hops"),
        )
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.tick_params(labelbottom=True)
        panel.grid(color=GRID, linewidth=0.6)
    cells[0].legend(fontsize=7)
    return figure


def _side_by_side(found: Systems) -> Picture:
    """A panel a measure, a dot with its interval a system."""
    measures, names = found.measures, found.names
    figure, cells = panels(len(measures), 2.6, 0.7 + 0.32 * len(names), margin=(1.8, 0.6))
    dataset = _dataset_name(found.documents[0].content)
    figure.headed(t("Systems side by side"), dataset)
    for panel, measure in zip(cells, measures, strict=True):
        best = found.pairs.best(measure)
        for row, mean in enumerate(found.means(measure)):
            if mean["mean"] is None:
                continue
            if mean.get("low") is not None:
                panel.plot([mean["low"], mean["high"]], [row, row], color=ACCENT, linewidth=3, alpha=0.35)
            panel.plot(mean["mean"], row, "o", color=ACCENT, markersize=5)
            weight = "bold" if row == best else "normal"
            right_of_panel = panel.get_yaxis_transform()
            text = three(mean["mean"])
            panel.text(1.03, row, text, transform=right_of_panel, va="center", size=8, weight=weight)
        values = [
            mean[end]
            for mean in found.means(measure)
            for end in ("mean", "high")
            if mean.get(end) is not None
        ]
        panel.set(title=measure, xlim=(0, 1) if max(values, default=0) <= 1 else (0, max(values) * 1.05))
        lined(panel, "x")
        panel.set_xlabel(t("mean with its 95 % interval"))
    cells[0].set_yticks(range(len(names)), [drawable(name, 30) for name in names])
    cells[0].set_ylim(len(names) - 0.4, -0.6)
    return figure
