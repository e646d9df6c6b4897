"""Markdown: each results file, several of them method by method, sweeps and comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.markdown.others import comparison, sweep
from tiny_graph_rag.report.markdown.result import result
from tiny_graph_rag.report.markdown.tables import Json, cells, table_of
from tiny_graph_rag.report.plain import markdown_text, three


def markdown(documents: Sequence[Document]) -> str:
    """One report of all documents: results first, method by method where there are several, then the rest."""
    results = [each for each in documents if each.has_questions]
    lines: list[str] = []
    if len(results) > 1:
        lines += _methods(results)
    for each in results:
        lines += result(each, level=2 if len(results) > 1 else 1)
    for each in documents:
        if each.kind == "sweep":
            lines += sweep(each)
        if each.kind == "comparison":
            lines += comparison(each)
    return "\n".join(lines).rstrip() + "\n"


def _methods(results: Sequence[Document]) -> list[str]:
    """All results side by side, and which is best per slice."""
    measures = [
        each
        for each in results[0].content["summary"]["measures"]
        if all(each in other.content["summary"]["measures"] for other in results)
    ]
    rows = [[markdown_text(each.name), *cells(each.content["summary"], measures)] for each in results]
    lines = ["# Method by method", "", *table_of(["results", *measures], rows)]
    shas = {each.content["dataset"]["sha256"] for each in results}
    if len(shas) > 1:
        lines += ["These results come from different gold sets: their means can't be compared.", ""]
        return lines
    tags = dict.fromkeys(tag for each in results for tag in each.content["summary"].get("by_tag", {}))
    slices = [("all", [each.content["summary"] for each in results])]
    slices += [(tag, [each.content["summary"]["by_tag"].get(tag) for each in results]) for tag in tags]
    best = [
        [markdown_text(name), *(_best(results, parts, measure) for measure in measures)]
        for name, parts in slices
    ]
    note = "By the mean alone; `compare` says which differences are more than chance."
    return [*lines, "## Best per slice", "", *table_of(["slice", *measures], best), note, ""]


def _best(results: Sequence[Document], parts: Sequence[Json | None], measure: str) -> str:
    means = [None if part is None else (part["measures"].get(measure) or {}).get("mean") for part in parts]
    top = max((each for each in means if each is not None), default=None)
    if top is None:
        return "–"
    winners = [each.name for each, mean in zip(results, means, strict=True) if mean == top]
    named = "all equal" if len(winners) == len(results) else ", ".join(map(markdown_text, winners))
    return f"{named} {three(top)}"
