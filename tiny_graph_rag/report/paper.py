r"""A paper's table: systems × measures, the best in bold, letters for what is significantly better.

LaTeX needs booktabs; the same table as Markdown is written next to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import three
from tiny_graph_rag.report import latex, markdown
from tiny_graph_rag.report.document import Document, joint_name
from tiny_graph_rag.report.plain import best_of, one_line, swept_measures
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.sets import LETTERS, by_gold_set, letters, sets_table
from tiny_graph_rag.report.systems import Systems, system_names
from tiny_graph_rag.report.tables import Figure, PaperTable
from tiny_graph_rag.study.compare import SURE

Json = dict[str, Any]
DAGGER = "†"


@report("paper", "one table of systems and measures, LaTeX and Markdown")
def paper(documents: Sequence[Document]) -> Files:
    """One table of all results of one gold set, or of several, every pair tested; their comparison file adds
    nothing to it.

    Otherwise results, sweeps and comparisons have a table each.
    """
    results = [document for document in documents if document.has_questions]
    found = Systems.of(results)
    is_joint = found is not None or len(by_gold_set(results)) > 1
    if is_joint:
        table = sets_table(results) if found is None else systems_table(found)
        yield from _files(joint_name(results), table)
    for document in documents:
        if document.kind == "sweep":
            yield from _files(document.name, sweep_table(document.content))
        elif document.kind == "comparison" and not is_joint:
            yield from _files(document.name, _of_comparison(document.content))
        elif document.has_questions and not is_joint:
            yield from _files(document.name, _of_one(document))


def _files(name: str, table: PaperTable) -> Files:
    yield f"{name}-paper.tex", latex.paper_table(table).encode("utf-8", "replace")
    yield f"{name}-paper.md", markdown.paper_table(table).encode("utf-8", "replace")


def systems_table(found: Systems) -> PaperTable:
    marks = letters(len(found.names))
    best = {measure: found.pairs.best(measure) for measure in found.measures}
    rows = [
        (
            f"{marks[row]}  {one_line(name, 60)}",
            tuple(
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
    caption = f"{_on(found.documents[0].content)} {LETTERS}"
    return PaperTable(caption, _label(found.documents[0].content), ("system", *found.measures), tuple(rows))


def _of_one(document: Document) -> PaperTable:
    measures = document.content["summary"]["measures"]
    row = (
        one_line(system_names([document])[0], 60),
        tuple(Figure(three(mean["mean"])) for mean in measures.values()),
    )
    return PaperTable(_on(document.content), _label(document.content), ("system", *measures), (row,))


def _figure(measure: str, mean: float | None, means: Sequence[float | None], *marks: str) -> Figure:
    """A mean among those of its column."""
    return Figure(
        three(mean), best=mean is not None and three(mean) == three(best_of(measure, means)), marks=marks
    )


def sweep_table(content: Json) -> PaperTable:
    settings = content["settings"]
    measures = swept_measures(content)
    columns = {
        measure: [(setting["measures"].get(measure) or {}).get("mean") for setting in settings]
        for measure in measures
    }
    rows = [
        (
            one_line(_setting_name(setting), 60),
            tuple(_figure(measure, means[place], means) for measure, means in columns.items()),
        )
        for place, setting in enumerate(settings)
    ]
    caption = f"{_on(content)} The best mean of each measure is bold."
    return PaperTable(caption, _label(content), ("setting", *measures), tuple(rows))


def _setting_name(setting: Json) -> str:
    hops = "" if setting["hops"] is None else f", {amount(setting['hops'], 'hop')}"
    return f"{setting['system']}{hops}"


def _of_comparison(content: Json) -> PaperTable:
    systems = [system["name"] for system in content["systems"]]
    measures = content["measures"]
    rows = [
        (
            one_line(name, 60),
            tuple(
                _figure(
                    measure,
                    of[place]["mean"],
                    [row["mean"] for row in of],
                    *((DAGGER,) if _is_sure(of[place]) else ()),
                )
                for measure, of in measures.items()
            ),
        )
        for place, name in enumerate(systems)
    ]
    caption = (
        f"{_on(content)} The best mean of each measure is bold. {DAGGER}: significantly different from "
        f"{one_line(systems[0], 60)} (paired randomisation test, two-sided, p < .05 after Holm's correction, "
        "and a 95 % interval of the difference without 0)."
    )
    return PaperTable(caption, _label(content), ("system", *measures), tuple(rows))


def _is_sure(row: Json) -> bool:
    if row.get("p_holm") is None or row.get("low") is None:
        return False
    return bool(row["p_holm"] < SURE and not row["low"] <= 0 <= row["high"])


def _on(content: Json) -> str:
    """The gold set, and the questions that the means are of."""
    summary = content.get("summary") or content
    scored = summary.get("scored")
    questions = summary.get("questions") if scored is None else scored
    dataset = one_line((content.get("dataset") or {}).get("name") or "", 60)
    counted = "" if questions is None else amount(questions, "question")
    counted += "" if scored is None else " with a reference"
    return f"Results on {', '.join(part for part in (dataset, counted) if part)}."


def _label(content: Json) -> str:
    """`tab:NAME`, of ASCII letters, digits and hyphens; any other sign of the name becomes a hyphen."""
    name = (content.get("dataset") or {}).get("name") or "results"
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in name)
    return "tab:" + ("-".join(part for part in plain.split("-") if part).lower() or "results")
