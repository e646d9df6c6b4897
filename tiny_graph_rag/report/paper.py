r"""A paper's table: systems × measures, the best in bold, letters for what is significantly better.

LaTeX needs booktabs; the same table as Markdown is written next to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import three
from tiny_graph_rag.report import latex, markdown
from tiny_graph_rag.report.document import Document, joint_name
from tiny_graph_rag.report.plain import best_of, one_line
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.sets import LETTERS, by_gold_set, letters, sets_table
from tiny_graph_rag.report.systems import Systems, system_names
from tiny_graph_rag.report.tables import Cell, Figure, View

Json = dict[str, Any]
BEST = "The best mean of each measure is bold."


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


def _files(name: str, table: View) -> Files:
    yield f"{name}-paper.tex", latex.paper_table(table).encode("utf-8", "replace")
    yield f"{name}-paper.md", markdown.paper_table(table).encode("utf-8", "replace")


def systems_table(found: Systems) -> View:
    """Letters mark the systems that one is significantly better than."""
    marks = letters(len(found.names))
    rows = [
        (f"{marks[row]}  {name}", {measure: means[row].mean for measure, means in found.pairs.means.items()})
        for row, name in enumerate(found.names)
    ]
    better = {
        measure: [
            tuple(marks[at] for at in found.pairs.better_than(measure, row)) for row in range(len(rows))
        ]
        for measure in found.measures
    }
    return _table(found.documents[0].content, "system", rows, LETTERS, better)


def _of_one(document: Document) -> View:
    means = document.content["summary"]["measures"]
    row = system_names([document])[0], {measure: mean["mean"] for measure, mean in means.items()}
    return _table(document.content, "system", [row], "")


def sweep_table(content: Json) -> View:
    """A row a setting."""
    rows = [
        (
            _setting_name(setting),
            {measure: mean["mean"] for measure, mean in setting["measures"].items()},
        )
        for setting in content["settings"]
    ]
    return _table(content, "setting", rows, BEST)


def _setting_name(setting: Json) -> str:
    hops = "" if setting["hops"] is None else f", {amount(setting['hops'], 'hop')}"
    return f"{setting['system']}{hops}"


def _of_comparison(content: Json) -> View:
    rows = [
        (system["name"], {measure: means[place]["mean"] for measure, means in content["measures"].items()})
        for place, system in enumerate(content["systems"])
    ]
    return _table(content, "system", rows, BEST)


def _table(
    content: Json,
    first_head: str,
    rows: Sequence[tuple[str, Mapping[str, float | None]]],
    legend: str,
    marks: Mapping[str, Sequence[tuple[str, ...]]] | None = None,
) -> View:
    """The best mean of each measure is bold, where there are several. rows: a name, and the mean of each
    measure. marks: of each measure and row."""
    measures = list(dict.fromkeys(measure for _, means in rows for measure in means))
    best = {
        measure: three(best_of(measure, [means.get(measure) for _, means in rows])) for measure in measures
    }
    cells: list[tuple[Cell, ...]] = [
        (
            one_line(name, 60),
            *(
                Figure(
                    three(means.get(measure)),
                    best=len(rows) > 1 and "–" != three(means.get(measure)) == best[measure],
                    marks=marks[measure][place] if marks else (),
                )
                for measure in measures
            ),
        )
        for place, (name, means) in enumerate(rows)
    ]
    caption = f"{_on(content)} {legend}".rstrip()
    return View((first_head, *measures), tuple(cells), caption=caption, label=_label(content))


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
