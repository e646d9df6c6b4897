r"""A paper's table in LaTeX, to be taken in with \input: systems × measures, the best in bold, a dagger for
what differs significantly from the first.

LaTeX wants booktabs; names in Hangul want XeLaTeX or LuaLaTeX with kotex, which the file says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import three
from tiny_graph_rag.report.document import Document, joint_name, system_names
from tiny_graph_rag.report.plain import LONGEST, best_of, one_line
from tiny_graph_rag.report.reports import Files, report
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
        yield f"{joint_name(part)}-paper.tex", latex_table(part).encode("utf-8", "replace")


def latex_table(documents: Sequence[Document]) -> str:
    """A `table` with caption and label: a row a result of the same questions, each tested against the first.

    Figures stand to the left, for they are equally wide and a dagger may follow them.
    """
    names = [one_line(name, 64) for name in system_names(documents)]
    columns = _tested(documents) if len(documents) > 1 else _means(documents[0])
    head = ["system", *columns]
    rows = zip(map(_text, names), *columns.values(), strict=True)
    legend = TESTED.format(first=names[0]) if len(names) > 1 else ""
    lines = [
        r"\begin{table}",
        r"  \centering",
        *([r"  \small"] if len(head) > WIDE else []),
        f"  \\caption{{{_text(_caption(documents[0].content, legend))}}}",
        f"  \\label{{{_label(documents[0].content)}}}",
        r"  \smallskip",  # the standard classes leave no space below a caption
        f"  \\begin{{tabular}}{{{'l' * len(head)}}}",
        r"    \toprule",
        f"    {' & '.join(map(_text, head))} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    preamble = HANGUL if any(map(_HANGUL.search, lines)) else PREAMBLE
    return "\n".join([preamble, *lines]) + "\n"


def _means(document: Document) -> dict[str, list[str]]:
    """Measure → the cell of the only row."""
    means = document.content["summary"]["measures"]
    return {measure: [_text(three(mean["mean"]))] for measure, mean in means.items()}


def _tested(documents: Sequence[Document]) -> dict[str, list[str]]:
    """Measure → the cell of each row: the best is bold, what differs from the first has a dagger."""
    systems = [system_of(document.content, document.path) for document in documents]
    columns = {}
    for measure, rows in compare(systems, by_tag=False).overall.items():
        best = three(best_of(measure, [row.mean for row in rows]))
        columns[measure] = [
            (f"\\textbf{{{text}}}" if text == best != "–" else _text(text)) + r"$^\dagger$" * row.is_sure
            for row in rows
            for text in (three(row.mean),)
        ]
    return columns


def _caption(content: Json, legend: str) -> str:
    """The gold set and the questions behind the means, then the legend."""
    summary, dataset = content["summary"], (content.get("dataset") or {}).get("name") or ""
    questions = amount(summary.get("scored", summary.get("questions")), "question")
    counted = f"{questions} with a reference" if "scored" in summary else questions
    on = ", ".join(part for part in (one_line(dataset, 60), counted) if part)
    return f"Results on {on}. {legend}".rstrip()


def _label(content: Json) -> str:
    """ASCII letters, digits and hyphens; any other sign of the gold set's name becomes a hyphen."""
    dataset = (content.get("dataset") or {}).get("name") or ""
    plain = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in dataset)
    return "tab:" + ("-".join(plain.split()).lower() or "results")


def _text(text: str) -> str:
    return one_line(text, LONGEST).translate(_SPECIAL)
