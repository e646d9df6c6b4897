r"""A paper's table in LaTeX, to be taken in with \input: systems × measures, the best in bold, a dagger for
what differs significantly from the first.

LaTeX wants booktabs; names in Hangul want XeLaTeX or LuaLaTeX with kotex, which the file says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import three
from tiny_graph_rag.report.document import Document, joint_name, system_names
from tiny_graph_rag.report.plain import LONGEST, best_of, one_line
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.tables import Cell, Figure, View, in_full
from tiny_graph_rag.study.compare import compare, incomparable
from tiny_graph_rag.study.results_file import system_of

Json = dict[str, Any]

TESTED = (
    "The best mean of each column is bold. † marks a significant difference from {first}: paired "
    "randomisation test, two-sided, p < .05 after Holm's correction for all tests of the table, and a 95 % "
    "interval of the difference without 0."
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
        "†": r"$\dagger$",
    }
)


@report("paper", "one LaTeX table of systems and measures")
def paper(documents: Sequence[Document]) -> Files:
    """One table of all results where they are of the same questions, else one of each."""
    results = [document for document in documents if document.has_questions]
    systems = [system_of(result.content, result.path) for result in results]
    is_one = len(results) > 1 and not incomparable(systems)
    for part in [results] if is_one else [[result] for result in results]:
        yield f"{joint_name(part)}-paper.tex", latex_table(means_table(part)).encode("utf-8", "replace")


def means_table(documents: Sequence[Document], measures: Sequence[str] = ()) -> View:
    """A row a result of the same questions. Each is tested against the first one, where there are several.
    measures: of several results, all that they have in common unless named."""
    names, content = system_names(documents), documents[0].content
    if len(documents) > 1:
        systems = [system_of(document.content, document.path) for document in documents]
        found = compare(systems, measures=measures, by_tag=False).overall
        means = {measure: [row.mean for row in rows] for measure, rows in found.items()}
        sure = {measure: [row.is_sure for row in rows] for measure, rows in found.items()}
    else:
        own = content["summary"]["measures"].items()
        means = {measure: [mean["mean"]] for measure, mean in own}
        sure = {measure: [False] for measure in means}
    columns = [_figures(measure, means[measure], sure[measure]) for measure in means]
    rows = [(one_line(name, 64), *figures) for name, *figures in zip(names, *columns, strict=True)]
    return View(
        ("system", *means),
        tuple(rows),
        caption=_caption(content, TESTED.format(first=one_line(names[0], 64)) if len(names) > 1 else ""),
        label=_label((content.get("dataset") or {}).get("name") or ""),
    )


def _caption(content: Json, legend: str) -> str:
    """The gold set and the questions behind the means, then the legend."""
    summary, dataset = content["summary"], (content.get("dataset") or {}).get("name") or ""
    questions = amount(summary.get("scored", summary.get("questions")), "question")
    counted = f"{questions} with a reference" if "scored" in summary else questions
    on = ", ".join(part for part in (one_line(dataset, 60), counted) if part)
    return f"Results on {on}. {legend}".rstrip()


def _label(dataset: str) -> str:
    """ASCII letters, digits and hyphens; any other sign of the gold set's name becomes a hyphen."""
    plain = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in dataset)
    return "tab:" + ("-".join(plain.split()).lower() or "results")


def _figures(measure: str, means: Sequence[float | None], sure: Sequence[bool]) -> Iterator[Figure]:
    """The cells of a column; the best is bold where there are several."""
    best = three(best_of(measure, means)) if len(means) > 1 else ""
    for mean, differs in zip(means, sure, strict=True):
        yield Figure(three(mean), "–" != three(mean) == best, differs)


def latex_table(table: View) -> str:
    """A `table` with caption and label. Figures stand to the left, for they are equally wide and a dagger
    may follow them."""
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
    return f"{text}$^\\dagger$" if cell.differs else text


def _text(text: str) -> str:
    return one_line(text, LONGEST).translate(_SPECIAL)
