"""Reports by name: what `--report html,md,csv,png,svg` writes.

A report takes documents and gives files, (path, content) each; it computes nothing. To add one, write such a
function under `@report(…)` and add its name to the table, or to another package's entry points in the group
`tiny_graph_rag.reports`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.messages import listed
from tiny_graph_rag.outputs import check_writable, write_atomically
from tiny_graph_rag.registry import Registry
from tiny_graph_rag.report.document import Document

Files = Iterator[tuple[str, bytes]]
Report = Callable[[Sequence[Document]], Files]

REPORTS: Registry[Report] = Registry(
    "report",
    "tiny_graph_rag.report",
    {
        "html": "html:pages",
        "md": "markdown:markdown_file",
        "csv": "csv_files:tables",
        "png": "plots:png",
        "svg": "plots:svg",
    },
)
R = TypeVar("R", bound=Report)


def report(name: str, line: str) -> Callable[[R], R]:
    """Register a report. line: what it writes, for `--help` and the docs."""
    return REPORTS.register(name, line)


def check_reports(names: Sequence[str]) -> None:
    """Refuse an unknown report before any work. Raises UsageError."""
    for name in names:
        REPORTS.entry(name)


def write_reports(
    documents: Sequence[Document],
    names: Sequence[str],
    target: Path | None = None,
    claim: Callable[[Path], object] = check_writable,
) -> tuple[list[Path], list[str]]:
    """Write the reports next to the first document, into the folder `target`, or as the file `target` where
    that ends as a report does; returns what was written, and the reports that these documents don't have.

    claim: refuses a file that can't be written, or must stay; asked for all of them before any is written.
    Raises UsageError where several reports would go to one file, and for a file that no report is.
    """
    check_reports(names)
    files_of = {name: list(REPORTS[name](documents)) for name in names}
    files = [file for some in files_of.values() for file in some]
    folder = documents[0].path.parent if target is None else target
    written = [folder / name for name, _ in files]
    if target is not None and not target.is_dir() and (target.suffix or target.is_file()):
        fitting = [name for name, _ in files if name.endswith(target.suffix)]
        if len(files) != 1 or not fitting:
            raise UsageError(
                "{target}: wanted a folder, or one report of this kind; --report {names} writes {files}",
                target=target,
                names=",".join(names),
                files=listed([name for name, _ in files], 4) or "-",
            )
        written = [target]
    for path in written:
        claim(path)
    for path, (_, content) in zip(written, files, strict=True):
        write_atomically(path, [content])
    return written, [name for name, some in files_of.items() if not some]
