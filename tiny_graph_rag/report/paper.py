r"""A paper's table: systems × measures, the best in bold, letters for what is significantly better.

LaTeX needs booktabs; the same table as Markdown stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

from tiny_graph_rag.errors import UsageError, amount
from tiny_graph_rag.figures import three
from tiny_graph_rag.messages import said
from tiny_graph_rag.report import latex, markdown
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.plain import one_line, rises
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.systems import Systems, system_names
from tiny_graph_rag.report.views import Figure, PaperTable
from tiny_graph_rag.study.compare import incomparable
from tiny_graph_rag.study.results_file import system_of

Json = dict[str, Any]
DAGGER = "†"


@report("paper", "one table of systems and measures, LaTeX and Markdown")
def paper(documents: Sequence[Document]) -> Files:
    """The files of the one table. Raises UsageError where the documents do not make one."""
    table = paper_table(documents)
    name = documents[0].name if len(documents) == 1 else f"{documents[0].name}-and-{len(documents) - 1}-more"
    yield f"{name}-paper.tex", latex.paper_table(table).encode("utf-8", "replace")
    yield f"{name}-paper.md", markdown.paper_table(table).encode("utf-8", "replace")


def paper_table(documents: Sequence[Document]) -> PaperTable:
    """Of several results every pair is tested; of a comparison all are tested against the first; a single
    result and a sweep have no tests. Raises UsageError for results that can't stand in one table."""
    results = [document for document in documents if document.has_questions]
    if len(results) > 1:
        found = Systems.of(results)
        if found is None:
            reasons = incomparable([system_of(document.content, document.path) for document in results])
            raise UsageError(said("--report paper: {reasons}", reasons="; ".join(reasons)))
        return _of_systems(found)
    if results:
        return _of_one(results[0])
    first = documents[0]
    return _of_sweep(first.content) if first.kind == "sweep" else _of_comparison(first.content)


def letters(count: int) -> list[str]:
    """a, b, … z, aa, ab, …"""
    singles = list(ascii_lowercase)
    return [*singles, *(one + other for one in singles for other in singles)][:count]


def _of_systems(found: Systems) -> PaperTable:
    marks = letters(len(found.names))
    best = {measure: found.pairs.best(measure) for measure in found.measures}
    rows = [
        (
            f"{marks[row]}  {one_line(name, 60)}",
            *(
                Figure(
                    three(found.pairs.means[measure][row].mean),
                    best=best[measure] is not None
                    and three(found.pairs.means[measure][row].mean)
                    == three(found.pairs.means[measure][best[measure] or 0].mean),
                    marks=tuple(marks[other] for other in found.pairs.better_than(measure, row)),
                )
                for measure in found.measures
            ),
        )
        for row, name in enumerate(found.names)
    ]
    tests = sum(map(len, found.pairs.tests.values()))
    caption = (
        f"{_on(found.documents[0].content)} The best mean of each measure is bold. A letter marks a system that "
        "is significantly worse than the one it stands beside: paired randomisation test, two-sided, p < .05 "
        f"after Holm's correction for {amount(tests, 'test')}, and a 95 % interval of the difference without 0."
    )
    return PaperTable(caption, _label(found.documents[0].content), ("system", *found.measures), tuple(rows))


def _of_one(document: Document) -> PaperTable:
    measures = document.content["summary"]["measures"]
    row = (one_line(system_names([document])[0], 60), *(Figure(three(mean["mean"])) for mean in measures.values()))
    return PaperTable(_on(document.content), _label(document.content), ("system", *measures), (row,))


def _of_sweep(content: Json) -> PaperTable:
    settings = content["settings"]
    measures = list(dict.fromkeys(measure for setting in settings for measure in setting["measures"]))
    rows = [
        (
            one_line(_setting_name(setting), 60),
            *(
                _best_of(settings, measure, (setting["measures"].get(measure) or {}).get("mean"))
                for measure in measures
            ),
        )
        for setting in settings
    ]
    caption = f"{_on(content)} The best mean of each measure is bold."
    return PaperTable(caption, _label(content), ("setting", *measures), tuple(rows))


def _setting_name(setting: Json) -> str:
    hops = "" if setting["hops"] is None else f", {amount(setting['hops'], 'hop')}"
    return f"{setting['system']}{hops}"


def _best_of(settings: Sequence[Json], measure: str, mean: float | None) -> Figure:
    means = [(setting["measures"].get(measure) or {}).get("mean") for setting in settings]
    known = [value for value in means if value is not None]
    top = (max if rises(measure) else min)(known, default=None)
    return Figure(three(mean), best=mean is not None and three(mean) == three(top))


def _of_comparison(content: Json) -> PaperTable:
    systems = [system["name"] for system in content["systems"]]
    measures = content["measures"]
    best = {
        measure: three((max if rises(measure) else min)([row["mean"] for row in rows if row["mean"] is not None]))
        for measure, rows in measures.items()
        if any(row["mean"] is not None for row in rows)
    }
    rows = [
        (
            one_line(name, 60),
            *(
                Figure(
                    three(of[place]["mean"]),
                    best=three(of[place]["mean"]) == best.get(measure),
                    marks=(DAGGER,) if _is_sure(of[place]) else (),
                )
                for measure, of in measures.items()
            ),
        )
        for place, name in enumerate(systems)
    ]
    caption = (
        f"{_on(content)} The best mean of each measure is bold. {DAGGER}: significantly different from "
        f"{one_line(systems[0], 60)} (paired randomisation test, two-sided, p < .05 after Holm's correction, and "
        "a 95 % interval of the difference without 0)."
    )
    return PaperTable(caption, _label(content), ("system", *measures), tuple(rows))


def _is_sure(row: Json) -> bool:
    from tiny_graph_rag.study.compare import SURE

    if row.get("p_holm") is None or row.get("low") is None:
        return False
    return bool(row["p_holm"] < SURE and not row["low"] <= 0 <= row["high"])


def _on(content: Json) -> str:
    questions = content["summary"]["questions"] if "summary" in content else content.get("questions")
    dataset = one_line((content.get("dataset") or {}).get("name") or "", 60)
    counted = f"{amount(questions, 'question')}" if questions is not None else ""
    return f"Results on {', '.join(part for part in (dataset, counted) if part)}."


def _label(content: Json) -> str:
    """`tab:NAME`, of letters, digits and hyphens alone; what else the gold set's name has becomes a hyphen."""
    name = (content.get("dataset") or {}).get("name") or "results"
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in name)
    return "tab:" + ("-".join(part for part in plain.split("-") if part).lower() or "results")
