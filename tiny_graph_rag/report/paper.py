r"""A paper's table in LaTeX, to be taken in with \input, and the same as Markdown.

LaTeX wants booktabs; names in Hangul want XeLaTeX or LuaLaTeX with kotex, which the file says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tiny_graph_rag.report import markdown
from tiny_graph_rag.report.document import Document, joint_name
from tiny_graph_rag.report.paper_tables import (
    by_gold_set,
    comparison_table,
    result_table,
    sets_table,
    sweep_table,
    systems_table,
)
from tiny_graph_rag.report.plain import one_line
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.systems import Systems
from tiny_graph_rag.report.tables import Cell, Figure, View, in_full
from tiny_graph_rag.report.views import LONGEST

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
        yield from _files(joint_name(results), sets_table(results) if found is None else systems_table(found))
    for document in documents:
        if document.kind == "sweep":
            yield from _files(document.name, sweep_table(document.content))
        elif document.kind == "comparison" and not is_joint:
            yield from _files(document.name, comparison_table(document.content))
        elif document.has_questions and not is_joint:
            yield from _files(document.name, result_table(document))


def _files(name: str, table: View) -> Files:
    yield f"{name}-paper.tex", latex_table(table).encode("utf-8", "replace")
    yield f"{name}-paper.md", markdown.paper_table(table).encode("utf-8", "replace")


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
        *(f"  {line}" for line in _tabular(table)),
        r"\end{table}",
    ]
    preamble = HANGUL if any(map(_HANGUL.search, lines)) else PREAMBLE
    return "\n".join([preamble, *lines]) + "\n"


def _tabular(table: View) -> Iterator[str]:
    yield f"\\begin{{tabular}}{{{'l' * len(table.head)}}}"
    yield r"  \toprule"
    yield f"  {' & '.join(map(_text, table.head))} \\\\"
    yield r"  \midrule"
    for row in table.rows:
        yield f"  {' & '.join(map(_cell, row))} \\\\"
    yield r"  \bottomrule"
    yield r"\end{tabular}"


def _cell(cell: Cell) -> str:
    """A figure has its letters above the line."""
    if not isinstance(cell, Figure):
        return _text(in_full(cell))
    text = f"\\textbf{{{_text(cell.text)}}}" if cell.best else _text(cell.text)
    return f"{text}$^{{\\mathrm{{{''.join(cell.marks)}}}}}$" if cell.marks else text


def _text(text: str) -> str:
    return one_line(text, LONGEST).translate(_SPECIAL)
