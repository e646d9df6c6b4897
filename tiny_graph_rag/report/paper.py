r"""A paper's table in LaTeX, to be taken in with \input: systems × measures, the best in bold, letters for
what is significantly better.

LaTeX wants booktabs; names in Hangul want XeLaTeX or LuaLaTeX with kotex, which the file says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import three
from tiny_graph_rag.report.document import Document, joint_name
from tiny_graph_rag.report.plain import LONGEST, best_of, one_line
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.systems import Systems, system_names
from tiny_graph_rag.report.tables import Cell, Figure, View, in_full

Json = dict[str, Any]

LETTERS = (
    "The best mean of each column is bold. A letter marks a system that is significantly worse than the one "
    "it is shown with: paired randomisation test, two-sided, p < .05 after Holm's correction for the pairs "
    "of systems, and a 95 % interval of the difference without 0."
)
PREAMBLE = r"% In the preamble: \usepackage{booktabs}"
HANGUL = r"% In the preamble: \usepackage{booktabs,kotex}, for names in Hangul: XeLaTeX or LuaLaTeX"
WIDE = 7  # columns from which a table is set smaller
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")
_SPECIAL = str.maketrans(
    {text: f"\\{text}" for text in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"{\char34}",  # \textquotedbl stops LaTeX in its oldest encoding, the default of pdflatex
        "[": "{[}",  # after \\ an option would begin here
        "]": "{]}",
        "`": "{`}",
        "-": "{-}",  # two of an option would become a dash
        "−": "$-$",
        "–": "--",
        "·": r"\textperiodcentered{}",
        "…": r"\ldots{}",
        "→": r"$\rightarrow$",
    }
)


@report("paper", "one LaTeX table of systems and measures")
def paper(documents: Sequence[Document]) -> Files:
    """One table of all results where they are of the same questions, else one of each."""
    results = [document for document in documents if document.has_questions]
    found = Systems.of(results)
    if found is not None:
        yield f"{joint_name(results)}-paper.tex", latex_table(systems_table(found)).encode("utf-8", "replace")
        return
    for result in results:
        yield f"{result.name}-paper.tex", latex_table(result_table(result)).encode("utf-8", "replace")


def systems_table(found: Systems) -> View:
    """A row a system. Letters mark the systems that one is significantly better than."""
    letters, pairs = letters_of(len(found.names)), found.pairs
    columns = {measure: [row.mean for row in means] for measure, means in pairs.means.items()}
    better = {
        measure: [[letters[other] for other in pairs.better_than(measure, row)] for row in range(len(means))]
        for measure, means in columns.items()
    }
    names = [f"{letter}  {name}" for letter, name in zip(letters, found.names, strict=True)]
    return _table(found.documents[0].content, names, columns, LETTERS, better)


def result_table(document: Document) -> View:
    """One row: the means of a result."""
    means = document.content["summary"]["measures"]
    columns = {measure: [mean["mean"]] for measure, mean in means.items()}
    return _table(document.content, system_names([document]), columns)


def letters_of(count: int) -> list[str]:
    """a, b, … z, aa, ab, …"""
    singles = list(ascii_lowercase)
    return [*singles, *(one + other for one in singles for other in singles)][:count]


def _table(
    content: Json,
    names: Sequence[str],
    columns: Mapping[str, Sequence[float | None]],
    legend: str = "",
    better: Mapping[str, Sequence[Sequence[str]]] | None = None,
) -> View:
    """columns: measure → the mean of each row, None where it has none. better: measure → letters of each row.

    The caption names the gold set and the questions behind the means; the label holds ASCII letters, digits
    and hyphens, any other sign of the gold set's name becomes a hyphen.
    """
    summary, dataset = content.get("summary") or content, (content.get("dataset") or {}).get("name") or ""
    scored = summary.get("scored")
    questions = summary.get("questions") if scored is None else scored
    counted = "" if questions is None else amount(questions, "question")
    counted += "" if scored is None else " with a reference"
    on = ", ".join(part for part in (one_line(dataset, 60), counted) if part)
    plain = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in dataset)
    cells = [
        _figures(measure, means, better[measure] if better else [()] * len(means))
        for measure, means in columns.items()
    ]
    rows: list[tuple[Cell, ...]] = [
        (one_line(name, 64), *figures) for name, *figures in zip(names, *cells, strict=True)
    ]
    return View(
        ("system", *columns),
        tuple(rows),
        caption=f"Results on {on}. {legend}".rstrip(),
        label="tab:" + ("-".join(plain.split()).lower() or "results"),
    )


def _figures(
    measure: str, means: Sequence[float | None], letters: Sequence[Sequence[str]]
) -> Iterator[Figure]:
    """The cells of a column; the best is bold where there are several."""
    best, known = three(best_of(measure, means)), sum(mean is not None for mean in means)
    for mean, marks in zip(means, letters, strict=True):
        yield Figure(three(mean), known > 1 and "–" != three(mean) == best, tuple(marks))


def latex_table(table: View) -> str:
    """A `table` with caption and label. Figures stand to the left, for they are equally wide and letters
    follow them."""
    lines = [
        r"\begin{table}",
        r"  \centering",
        *([r"  \small"] if len(table.head) > WIDE else []),
        f"  \\caption{{{_text(table.caption)}}}",
        f"  \\label{{{table.label}}}",
        r"  \smallskip",  # the standard classes leave no space below a caption
        f"  \\begin{{tabular}}{{{'l' * len(table.head)}}}",
        r"    \toprule",
        f"    {' & '.join(map(_text, table.head))} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(map(_cell, row))} \\\\" for row in table.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    preamble = HANGUL if any(map(_HANGUL.search, lines)) else PREAMBLE
    return "\n".join([preamble, *lines]) + "\n"


def _cell(cell: Cell) -> str:
    """A figure has its letters above the line."""
    if not isinstance(cell, Figure):
        return _text(in_full(cell))
    text = f"\\textbf{{{_text(cell.text)}}}" if cell.best else _text(cell.text)
    return f"{text}$^{{\\mathrm{{{''.join(cell.marks)}}}}}$" if cell.marks else text


def _text(text: str) -> str:
    return one_line(text, LONGEST).translate(_SPECIAL)
