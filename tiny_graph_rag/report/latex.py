r"""LaTeX: the tables of the Markdown report, to be taken into a paper with \input.

They want booktabs and adjustbox; names in Hangul want XeLaTeX or LuaLaTeX with kotex, which the file says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from tiny_graph_rag.messages import three
from tiny_graph_rag.report import tables as of
from tiny_graph_rag.report.document import Document, joint_name
from tiny_graph_rag.report.plain import one_line
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.views import LONGEST, file_blocks

SECTIONS = ("section", "subsection", "subsubsection")
PREAMBLE = r"% In the preamble: \usepackage{booktabs,adjustbox}"
HANGUL = r"% In the preamble: \usepackage{booktabs,adjustbox,kotex}, for names in Hangul: XeLaTeX or LuaLaTeX"
PAPER_PREAMBLE = r"% In the preamble: \usepackage{booktabs}"
PAPER_HANGUL = r"% In the preamble: \usepackage{booktabs,kotex}, for names in Hangul: XeLaTeX or LuaLaTeX"
WIDE = 7  # columns from which a paper's table is set smaller
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
        "[": "{[}",  # after \\ and \item an option would begin here
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


@report("tex", "tables for a paper; several results one after another")
def latex_file(documents: Sequence[Document]) -> Files:
    yield f"{joint_name(documents)}.tex", latex(documents).encode("utf-8", "replace")


def latex(documents: Sequence[Document]) -> str:
    tables = [line for block in file_blocks(documents) for line in (*_lines(block), "")]
    lines = [HANGUL if any(map(_HANGUL.search, tables)) else PREAMBLE, "", *tables]
    return "\n".join(lines).rstrip() + "\n"


def paper_table(table: of.View) -> str:
    """A `table` with caption and label, for \\input. It needs booktabs.

    Figures stand to the left, for they are equally wide and letters follow them.
    """
    lines = [
        r"\begin{table}",
        r"  \centering",
        *([r"  \small"] if len(table.head) > WIDE else []),
        f"  \\caption{{{_text(table.caption)}}}",
        f"  \\label{{{table.label}}}",
        r"  \smallskip",  # the standard classes leave no space below a caption
        *(f"  {line}" for line in _tabular(table, "l" * len(table.head))),
        r"\end{table}",
    ]
    preamble = PAPER_HANGUL if any(map(_HANGUL.search, lines)) else PAPER_PREAMBLE
    return "\n".join([preamble, *lines]) + "\n"


def _tabular(table: of.View, columns: str) -> Iterator[str]:
    yield f"\\begin{{tabular}}{{{columns}}}"
    yield r"  \toprule"
    yield f"  {' & '.join(map(_text, table.head))} \\\\"
    yield r"  \midrule"
    for row in table.rows:
        yield f"  {' & '.join(map(_cell, row))} \\\\"
    yield r"  \bottomrule"
    yield r"\end{tabular}"


def _lines(block: of.Block) -> Iterator[str]:
    match block:
        case of.Heading(text, level):
            yield f"\\{SECTIONS[level - 1]}*{{{_text(text)}}}"
        case of.Paragraph(text, strong):
            yield f"\\noindent\\textbf{{{_text(text)}}}" if strong else f"\\noindent {_text(text)}"
        case of.NumberedList(items):
            yield r"\begin{enumerate}"
            for item in items:
                yield f"  \\item {_text(item)}"
            yield r"\end{enumerate}"
        case of.View(head, _, words):
            yield r"\begin{center}\begin{adjustbox}{max width=\textwidth}"
            yield from _tabular(block, "".join("l" if at in words else "r" for at in range(len(head))))
            yield r"\end{adjustbox}\end{center}"


def _cell(cell: of.Cell) -> str:
    """A mean has its interval below it, a figure its letters above the line."""
    if isinstance(cell, of.Figure):
        text = f"\\textbf{{{_text(cell.text)}}}" if cell.best else _text(cell.text)
        return f"{text}$^{{\\mathrm{{{''.join(cell.marks)}}}}}$" if cell.marks else text
    if isinstance(cell, str) or math.isnan(cell.low):
        return _text(of.in_full(cell))
    return f"\\shortstack[r]{{{_text(three(cell.mean))}\\\\{{\\scriptsize {_text(of.ends(cell))}}}}}"


def _text(text: str) -> str:
    return one_line(text, LONGEST).translate(_SPECIAL)
