"""Tables as papers have them: systems × measures, or systems × gold sets, the best in bold, letters for what
is significantly better.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any, NamedTuple

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import three
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.headline import system_words
from tiny_graph_rag.report.plain import best_of, one_line, swept_measures, worst_by
from tiny_graph_rag.report.systems import Systems, numbered_names, system_names
from tiny_graph_rag.report.tables import Cell, Figure, View

Json = dict[str, Any]

BEST = "The best mean of each measure is bold."
LETTERS = (
    "The best mean of each column is bold. A letter marks a system that is significantly worse than the one "
    "it is shown with: paired randomisation test, two-sided, p < .05 after Holm's correction for the pairs "
    "of systems, and a 95 % interval of the difference without 0."
)


class Column(NamedTuple):
    """The means of one measure, a row each; None where a row has none. marks: letters of each row."""

    head: str
    measure: str
    means: Sequence[float | None]
    marks: Sequence[Sequence[str]] = ()

    def cells(self) -> list[Figure]:
        best, known = (
            three(best_of(self.measure, self.means)),
            [mean for mean in self.means if mean is not None],
        )
        return [
            Figure(
                three(mean),
                best=len(known) > 1 and "–" != three(mean) == best,
                marks=tuple(self.marks[row]) if self.marks else (),
            )
            for row, mean in enumerate(self.means)
        ]


def by_gold_set(results: Sequence[Document]) -> dict[str, list[Document]]:
    """The results of each gold set, under its SHA-256."""
    sets: dict[str, list[Document]] = {}
    for result in results:
        sets.setdefault(result.content["dataset"]["sha256"], []).append(result)
    return sets


def systems_table(found: Systems) -> View:
    """Letters mark the systems that one is significantly better than."""
    marks, pairs = letters(len(found.names)), found.pairs
    columns = [
        Column(
            measure,
            measure,
            [row.mean for row in means],
            [[marks[other] for other in pairs.better_than(measure, row)] for row in range(len(means))],
        )
        for measure, means in pairs.means.items()
    ]
    names = [f"{mark}  {name}" for mark, name in zip(marks, found.names, strict=True)]
    return _of_content(found.documents[0].content, "system", names, columns, LETTERS)


def sets_table(results: Sequence[Document]) -> View:
    """A row a system, a column a gold set, by the measure that decides there. One system has one name in all
    sets: its `--label`, else its retriever with the settings that are not the default."""
    named = []
    for group in by_gold_set(results).values():
        own = [result.label or system_words(result.content) or result.name for result in group]
        named.append(dict(zip(numbered_names(own), group, strict=True)))
    systems = list(dict.fromkeys(name for members in named for name in members))
    marks = dict(zip(systems, letters(len(systems)), strict=True))
    counts, columns = [], []
    for members in named:
        names, documents = list(members), list(members.values())
        found, first = Systems.of(documents), documents[0].content
        measure = (
            found.measure if found else worst_by(list(first["summary"]["measures"]), first["summary"]["k"])
        )
        means = {
            name: document.content["summary"]["measures"].get(measure, {}).get("mean")
            for name, document in members.items()
        }
        below = {
            name: [marks[names[other]] for other in found.pairs.better_than(measure, row)] if found else []
            for row, name in enumerate(names)
        }
        dataset = one_line(first["dataset"]["name"], 60)
        counts.append(f"{dataset} {amount(first['summary']['scored'], 'question')}")
        columns.append(
            Column(
                f"{dataset} {measure}",
                measure,
                list(map(means.get, systems)),
                [below.get(n, []) for n in systems],
            )
        )
    caption = f"Results on {len(named)} gold sets ({', '.join(counts)} with a reference). {LETTERS}"
    return _table("system", [f"{marks[name]}  {name}" for name in systems], columns, caption, "tab:gold-sets")


def result_table(document: Document) -> View:
    """One row: the means of a result."""
    means = document.content["summary"]["measures"]
    columns = [Column(measure, measure, [mean["mean"]]) for measure, mean in means.items()]
    return _of_content(document.content, "system", system_names([document]), columns)


def sweep_table(content: Json) -> View:
    """A row a setting."""
    settings = content["settings"]
    names = [
        setting["system"] + ("" if setting["hops"] is None else f", {amount(setting['hops'], 'hop')}")
        for setting in settings
    ]
    columns = [
        Column(measure, measure, [setting["measures"].get(measure, {}).get("mean") for setting in settings])
        for measure in swept_measures(content)
    ]
    return _of_content(content, "setting", names, columns, BEST)


def comparison_table(content: Json) -> View:
    """A row a system of a comparison."""
    columns = [
        Column(measure, measure, [row["mean"] for row in rows])
        for measure, rows in content["measures"].items()
    ]
    return _of_content(content, "system", [system["name"] for system in content["systems"]], columns, BEST)


def letters(count: int) -> list[str]:
    """a, b, … z, aa, ab, …"""
    singles = list(ascii_lowercase)
    return [*singles, *(one + other for one in singles for other in singles)][:count]


def _of_content(
    content: Json, first_head: str, names: Sequence[str], columns: Sequence[Column], legend: str = ""
) -> View:
    """With the gold set and the questions that the means are of as caption, and a label of ASCII letters,
    digits and hyphens; any other sign of the gold set's name becomes a hyphen."""
    summary, dataset = content.get("summary") or content, (content.get("dataset") or {}).get("name") or ""
    scored = summary.get("scored")
    questions = summary.get("questions") if scored is None else scored
    counted = "" if questions is None else amount(questions, "question")
    counted += "" if scored is None else " with a reference"
    on = ", ".join(part for part in (one_line(dataset, 60), counted) if part)
    plain = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in dataset or "results")
    label = "tab:" + ("-".join(plain.split()).lower() or "results")
    return _table(first_head, names, columns, f"Results on {on}. {legend}".rstrip(), label)


def _table(
    first_head: str, names: Sequence[str], columns: Sequence[Column], caption: str, label: str
) -> View:
    rows: list[tuple[Cell, ...]] = [
        (one_line(name, 64), *cells)
        for name, *cells in zip(names, *(column.cells() for column in columns), strict=True)
    ]
    return View((first_head, *(column.head for column in columns)), tuple(rows), caption=caption, label=label)
