"""Results of several gold sets in one table: systems by the measure that decides on each set."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import three
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.headline import system_words
from tiny_graph_rag.report.plain import best_of, one_line, worst_by
from tiny_graph_rag.report.systems import Systems, numbered_names
from tiny_graph_rag.report.tables import Cell, Figure, View

LETTERS = (
    "The best mean of each column is bold. A letter marks a system that is significantly worse than the one "
    "it is shown with: paired randomisation test, two-sided, p < .05 after Holm's correction for the pairs "
    "of systems, and a 95 % interval of the difference without 0."
)


def letters(count: int) -> list[str]:
    """a, b, … z, aa, ab, …"""
    singles = list(ascii_lowercase)
    return [*singles, *(one + other for one in singles for other in singles)][:count]


def by_gold_set(results: Sequence[Document]) -> dict[str, list[Document]]:
    """The results of each gold set, under its SHA-256."""
    sets: dict[str, list[Document]] = {}
    for result in results:
        sets.setdefault(result.content["dataset"]["sha256"], []).append(result)
    return sets


def sets_table(results: Sequence[Document]) -> View:
    """A row a system, a column a gold set. One system has one name in all sets: its `--label`, else its
    retriever with the settings that are not the default."""
    sets = list(by_gold_set(results).values())
    named = [dict(zip(_names(members), members, strict=True)) for members in sets]
    systems = list(dict.fromkeys(name for members in named for name in members))
    marks = dict(zip(systems, letters(len(systems)), strict=True))
    heads, counts, columns = [], [], []
    for members in named:
        measure, cells, scored = _column(members, marks)
        dataset = one_line(next(iter(members.values())).content["dataset"]["name"], 60)
        heads.append(f"{dataset} {measure}")
        counts.append(f"{dataset} {amount(scored, 'question')}")
        columns.append(cells)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{marks[name]}  {one_line(name, 60)}", *(column.get(name, Figure("–")) for column in columns))
        for name in systems
    )
    caption = f"Results on {len(sets)} gold sets ({', '.join(counts)} with a reference). {LETTERS}"
    return View(("system", *heads), rows, caption=caption, label="tab:gold-sets")


def _names(results: Sequence[Document]) -> Sequence[str]:
    """Of one gold set's results; equal ones are numbered."""
    return numbered_names([result.label or system_words(result.content) or result.name for result in results])


def _column(members: dict[str, Document], marks: dict[str, str]) -> tuple[str, dict[str, Figure], int]:
    """One gold set: the measure that decides, the figure of each system, and the questions behind it."""
    names, documents = list(members), list(members.values())
    found = Systems.of(documents)
    summaries = [document.content["summary"] for document in documents]
    shared = [name for name in summaries[0]["measures"] if all(name in one["measures"] for one in summaries)]
    measure = found.measure if found else worst_by(shared, summaries[0]["k"])
    means = [summary["measures"].get(measure, {}).get("mean") for summary in summaries]
    best = three(best_of(measure, means))
    worse = [found.pairs.better_than(measure, row) if found else [] for row in range(len(names))]
    cells = {
        name: Figure(
            three(mean),
            best=len(names) > 1 and mean is not None and three(mean) == best,
            marks=tuple(marks[names[other]] for other in below),
        )
        for name, mean, below in zip(names, means, worse, strict=True)
    }
    return measure, cells, summaries[0]["scored"]
