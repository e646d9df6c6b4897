"""Markdown: each results file, several of them method by method, sweeps and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiny_graph_rag.report import tables as of
from tiny_graph_rag.report.document import Document, joint_name
from tiny_graph_rag.report.plain import LONGEST, markdown_text
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.views import blocks


@report("md", "one Markdown file; several results one after another")
def markdown_file(documents: Sequence[Document]) -> Files:
    yield f"{joint_name(documents)}.md", markdown(documents).encode("utf-8", "replace")


def markdown(documents: Sequence[Document]) -> str:
    lines = (line for block in blocks(documents) for line in (*_lines(block), ""))
    return "\n".join(lines).rstrip() + "\n"


def _lines(block: of.Block) -> Iterator[str]:
    match block:
        case of.Heading(text, level):
            yield f"{'#' * level} {_text(text)}"
        case of.Paragraph(text, strong):
            yield f"**{_text(text)}**" if strong else _text(text)
        case of.View(head, rows, words):
            yield f"| {' | '.join(map(_text, head))} |"
            yield "|" + "|".join(" --- " if at in words else " ---: " for at in range(len(head))) + "|"
            for row in rows:
                yield f"| {' | '.join(_text(of.in_full(cell)) for cell in row)} |"


def _text(text: str) -> str:
    return markdown_text(text, LONGEST)
