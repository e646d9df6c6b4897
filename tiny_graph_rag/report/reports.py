"""Reports by name: what `--report html,md,csv,png,svg` writes.

A report takes documents and gives files, (path, content) each; it computes nothing. To add one, write such a
function under `@report(…)` in a module of this folder, or in another package with an entry point in the group
`tiny_graph_rag.reports`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from tiny_graph_rag.files import check_writable, write_atomically
from tiny_graph_rag.registry import Registry
from tiny_graph_rag.report.document import Document

Files = Iterator[tuple[str, bytes]]
Report = Callable[[Sequence[Document]], Files]

REPORTS: Registry[Report] = Registry(
    "report", "tiny_graph_rag.report", first=("html", "markdown", "csv_files")
)
R = TypeVar("R", bound=Report)


def report(name: str, line: str) -> Callable[[R], R]:
    """Register a report. line: what it writes, for `--help` and the docs."""

    def register(write: R) -> R:
        REPORTS.add(name, write, write)
        return write

    return register


def check_reports(names: Sequence[str]) -> None:
    """Refuse an unknown report before any work. Raises UsageError."""
    for each in names:
        if each not in REPORTS:
            raise REPORTS.unknown(each)


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
