"""Reports by name: what `--report html,md,csv,png,svg` writes.

A report takes documents and gives files, (path, content) each; it computes nothing. To add one, write a
function of the same kind and name it in REPORTS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.files import check_writable, write_atomically
from tiny_graph_rag.report.document import Document

Files = Iterator[tuple[str, bytes]]
Report = Callable[[Sequence[Document]], Files]


def _html(documents: Sequence[Document]) -> Files:
    """A page for each result; sweeps and comparisons go into it, or get their own where there is none."""
    from tiny_graph_rag.report.html import results_page

    results = [each for each in documents if each.has_questions]
    studies = [each for each in documents if not each.has_questions]
    for each in results or studies:
        others = [other.content for other in studies] if results else []
        yield f"{each.name}.html", results_page(each.content, others).encode()


def _markdown(documents: Sequence[Document]) -> Files:
    """One file, method by method where there are several."""
    from tiny_graph_rag.report.markdown import markdown

    name = documents[0].name if len(documents) == 1 else f"{documents[0].name}-and-{len(documents) - 1}-more"
    yield f"{name}.md", markdown(documents).encode()


def _csv(documents: Sequence[Document]) -> Files:
    from tiny_graph_rag.report.csv_files import csv_files

    for each in documents:
        yield from csv_files(each)


def _png(documents: Sequence[Document]) -> Files:
    from tiny_graph_rag.report.plots import picture_files

    return picture_files(documents, "png")


def _svg(documents: Sequence[Document]) -> Files:
    from tiny_graph_rag.report.plots import picture_files

    return picture_files(documents, "svg")


REPORTS: dict[str, Report] = {"html": _html, "md": _markdown, "csv": _csv, "png": _png, "svg": _svg}


def check_reports(names: Sequence[str]) -> None:
    """Refuse an unknown report before any work. Raises UsageError."""
    for each in names:
        if each not in REPORTS:
            known = tuple(REPORTS)
            raise UsageError(
                f"unknown report {each!r}{nearest(each, known) or '.'} Choices: {', '.join(known)}"
            )


def write_reports(
    documents: Sequence[Document], names: Sequence[str], folder: Path | None = None
) -> list[Path]:
    """Write the reports beside the first document, or into `folder`; returns what was written."""
    check_reports(names)
    folder = folder or documents[0].path.parent
    written = []
    for each in dict.fromkeys(names):
        for name, content in REPORTS[each](documents):
            path = folder / name
            check_writable(path)
            write_atomically(path, [content])
            written.append(path)
    return written
