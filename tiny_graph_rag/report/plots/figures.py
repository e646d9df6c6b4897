"""The pictures: bars by tag, waterfall, hop curves, precision and recall over k, differences, cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes

from tiny_graph_rag.messages import counted, signed, t, three
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.plain import step_words, swept_measures, tags_of, walked, waterfall_steps
from tiny_graph_rag.report.plots.fonts import drawable
from tiny_graph_rag.report.plots.picture import ACCENT, GRID, INK, LINES, LOST, SOFT, Picture, lined, panels
from tiny_graph_rag.report.plots.systems import WORDS as SYSTEM_WORDS
from tiny_graph_rag.report.plots.systems import first_hit_figure, system_figures
from tiny_graph_rag.report.systems import Systems, system_names
from tiny_graph_rag.report.views import hops_of

Json = dict[str, Any]

TAGS_SHOWN, CURVES_SHOWN = 24, 9
NEAR_THE_TITLE = 0.94  # of a panel: a value above its point would stand in the title
# What a picture says of its own, shown by `t`: the fonts must have its letters too.
WORDS = (
    *("all", "all questions", "no gold", "hops", "{n} hop", "{n} hops", "other systems", "baseline"),
    *("Where recall is lost", "in graph", "a seed linked", "reachable", "past filters", "returned"),
    *("reachable within h hops", "reachable within {hops}", "above min-score", "within depth"),
    *("room in k", "in run", "{measure} by hops"),
    "{system} against {baseline}: difference, 95 % interval",
    *SYSTEM_WORDS,
)
LEAST_WIDTH = 0.02  # of a picture of differences: smaller ones shouldn't look large


def figures(documents: Sequence[Document]) -> Iterator[tuple[str, Picture]]:
    """(file name without ending, figure) of all that the documents have numbers for."""
    for document in documents:
        if document.has_questions:
            summary = document.content["summary"]
            yield f"{document.name}-tags", _tags(document.content)
            if waterfall_steps(summary):
                yield f"{document.name}-waterfall", _waterfall(document.content)
            if any(question["references"] for question in document.content["results"]):
                title = _titled(document.content)
                yield (
                    f"{document.name}-first-hit",
                    first_hit_figure([document], system_names([document]), title),
                )
            if len(cutoffs := _cutoffs(summary["measures"])) > 1:
                yield f"{document.name}-precision-recall", _precision_recall(document.content, cutoffs)
        elif document.kind == "sweep":
            for measure in _swept(document.content):
                decides = measure == _deciding(document.content)
                ending = "hops" if decides else f"hops-{measure.replace('@', '-at-')}"
                yield f"{document.name}-{ending}", _hops(document.content, measure)
        elif document.kind == "comparison":
            yield f"{document.name}-differences", _differences(document.content)
    results = [document for document in documents if document.has_questions]
    if len(results) > 1 and (found := Systems.of(results)) is not None:
        yield from system_figures(found)
    paid = [
        document
        for document in documents
        if document.has_questions and document.content["summary"]["estimated_cost_usd"]
    ]
    if len(paid) > 1:
        yield f"{paid[0].name}-cost", _cost(paid)


def _titled(content: Json) -> str:
    """What a picture is of: the gold set, and who retrieved."""
    asked = {} if content.get("kind") == "sweep" else (content.get("config") or {}).get("retrieval") or {}
    name = (content.get("run") or {}).get("name") if content.get("kind") == "score" else None
    system = name or asked.get("retriever") or ""
    if asked.get("retriever") and "hops" in asked and walked(content.get("summary") or {}):
        system += ", " + counted(asked["hops"], "{n} hop", "{n} hops")
    dataset = drawable((content.get("dataset") or {}).get("name") or "", 60)
    return " · ".join(item for item in (dataset, drawable(system, 40)) if item)


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
    figure.headed(_titled(content))
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


def _waterfall(content: Json) -> Picture:
    steps, cutoff = content["summary"]["waterfall"], content["summary"].get("k", "k")
    figure = Picture(figsize=(7, 0.9 + 0.42 * len(steps)))
    panel = figure.subplots()
    for place, step in enumerate(steps):
        panel.barh(place, step["recall"], color=ACCENT, height=0.6)
        panel.barh(place, step["loss"], left=step["recall"], color=LOST, height=0.6)
        lost = f"  −{100 * step['loss']:.1f}" if step["loss"] else ""
        panel.text(1.02, place, f"{three(step['recall'])}{lost}", va="center", color=INK)
    names = [step_words(step["step"], cutoff, hops_of(content)) for step in steps]
    panel.set_yticks(range(len(steps)), names)
    panel.set(xlim=(0, 1), title=f"{t('Where recall is lost')}: {_titled(content)}")
    panel.invert_yaxis()
    return figure


def _cutoffs(measures: Json) -> list[int]:
    """The k for which both precision and recall were computed."""
    ks = [int(measure.split("@")[1]) for measure in measures if measure.startswith("precision@")]
    return sorted(k for k in ks if f"recall@{k}" in measures)


def _precision_recall(content: Json, cutoffs: list[int]) -> Picture:
    measures = content["summary"]["measures"]
    figure = Picture(figsize=(4.6, 4))
    panel = figure.subplots()
    recall, precision = (
        [measures[f"{name}@{k}"]["mean"] or 0.0 for k in cutoffs] for name in ("recall", "precision")
    )
    panel.plot(recall, precision, color=ACCENT, marker="o", markersize=4)
    for k, x, y in zip(cutoffs, recall, precision, strict=True):
        panel.annotate(f"k = {k}", (x, y), xytext=(6, 5), textcoords="offset points", color=SOFT)
    panel.set(
        xlim=(0, 1),
        ylim=(0, 1),
        xlabel="recall@k",
        ylabel="precision@k",
        title=f"Precision and recall over k\n{_titled(content)}",
    )
    panel.grid(color=GRID, linewidth=0.6)
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
    figure.headed(t("{measure} by hops", measure=measure), _titled(content))
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


def _differences(content: Json) -> Picture:
    """A row a system and measure: the difference to the baseline with its interval."""
    rows = [(measure, row) for measure, part in content["measures"].items() for row in part[1:]]
    figure = Picture(figsize=(7, 1 + 0.34 * max(1, len(rows))))
    panel = figure.subplots()
    panel.axvline(0, color=SOFT, linewidth=0.8)
    for place, (_, row) in enumerate(rows):
        if row["difference"] is None:
            continue
        if row["low"] is not None:
            panel.plot([row["low"], row["high"]], [place, place], color=ACCENT, linewidth=2, alpha=0.5)
        panel.plot(row["difference"], place, "o", color=ACCENT, markersize=5)
        panel.text(
            1.02,
            place,
            signed(row["difference"]).replace("-", "−"),
            va="center",
            transform=panel.get_yaxis_transform(),
        )
    several = len(content["systems"]) > 2
    labels = [
        (f"{measure}  {drawable(row['system'], 30)}" if several else measure)
        + (f"  (n {row['n']})" if "n" in row else "")
        for measure, row in rows
    ]
    names = [drawable(row["system"], 40) for row in next(iter(content["measures"].values()), [])]
    against = t("other systems") if several else "".join(names[1:2])
    baseline = names[0] if names else t("baseline")
    title = t("{system} against {baseline}: difference, 95 % interval", system=against, baseline=baseline)
    panel.set_yticks(range(len(rows)), labels)
    figure.headed(title)
    panel.grid(axis="x", color=GRID, linewidth=0.6)
    panel.set_ylim(len(rows) - 0.4, -0.6)
    ends = [abs(row[key] or 0.0) for _, row in rows for key in ("difference", "low", "high")]
    widest = max([LEAST_WIDTH, *ends]) * 1.1
    panel.set_xlim(-widest, widest)
    return figure


def _cost(documents: Sequence[Document]) -> Picture:
    """A point a results file: what its answers cost, and how good its retrieval or its answers are."""
    figure = Picture(figsize=(5.4, 4))
    panel = figure.subplots()
    scores = [
        (document.content["summary"].get("answers") or {}).get("scores") or {} for document in documents
    ]
    shared = [name for name in scores[0] if all(name in score for score in scores)]
    for document, answers in zip(documents, scores, strict=True):
        summary = document.content["summary"]
        mean = answers[shared[0]]["mean"] if shared else summary["mean_ndcg_at_k"]
        panel.plot(summary["estimated_cost_usd"], mean, "o", color=ACCENT)
        panel.annotate(
            drawable(document.name, 30),
            (summary["estimated_cost_usd"], mean),
            xytext=(6, 4),
            textcoords="offset points",
        )
    panel.set(
        xlabel="cost, USD",
        ylabel=shared[0] if shared else "ndcg@k",
        ylim=(0, 1),
        title="Cost against quality",
    )
    panel.set_xlim(left=0)
    panel.grid(color=GRID, linewidth=0.6)
    return figure
