"""Reports by name: what `--report html,md,tex,csv,png,svg` writes.

A report takes documents and gives files, (path, content) each; it computes nothing. To add one, write such a
function under `@report(…)` and add its name to the table, or to another package's entry points in the group
`tiny_graph_rag.reports`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from tiny_graph_rag.errors import TinyGraphRagError, UsageError
from tiny_graph_rag.outputs import check_writable, write_atomically
from tiny_graph_rag.registry import Registry
from tiny_graph_rag.report.document import Document


class ReportError(TinyGraphRagError):
    """A mistake of this program in one report; the others are written."""

    exit_code = 70


Files = Iterator[tuple[str, bytes]]
Report = Callable[[Sequence[Document]], Files]

REPORTS: Registry[Report] = Registry(
    "report",
    "tiny_graph_rag.report",
    {
        "html": "html:pages",
        "md": "markdown:markdown_file",
        "csv": "csv_files:tables",
        "paper": "paper:paper",
        "png": "plots:png",
        "svg": "plots:svg",
    },
)
R = TypeVar("R", bound=Report)


def report(name: str, line: str) -> Callable[[R], R]:
    """Register a report. line: what it writes, for `--help` and the docs."""
    return REPORTS.register(name, line, lambda write: write)


def endings() -> list[str]:
    """Of files that reports write: `paper` writes LaTeX, each other one what it is called."""
    return [*REPORTS, "tex"]


def check_reports(names: Sequence[str]) -> None:
    """Refuse an unknown report before any work. Raises UsageError."""
    for name in names:
        REPORTS.entry(name)


def write_reports(
    documents: Sequence[Document],
    names: Sequence[str],
    target: Path | None = None,
    claim: Callable[[Path], object] = check_writable,
    failed: list[ReportError] | None = None,
) -> list[Path]:
    """Write the reports next to the first document, into the folder `target`, or as the file `target` where
    that ends as a report does; returns what was written.

    claim: refuses a file that can't be written, or must stay; asked for all of them before any is written.
    failed: gets the reports that could not be made while the others were; None raises the first of them,
    after the others are written. Raises UsageError where several reports would go to one file.
    """
    check_reports(names)
    names = list(dict.fromkeys(names))
    as_file = target is not None and target.suffix[1:] in endings() and not target.is_dir()
    if target is not None and not as_file and target.is_file():
        raise UsageError(
            "{target}: wanted a folder for the reports, or a file that ends as one ({endings})",
            target=target,
            endings=", ".join(f".{ending}" for ending in endings()),
        )
    folder = documents[0].path.parent if target is None or as_file else target
    files, broken = [], []
    for name in names:
        try:
            files += list(REPORTS[name](documents))
        except TinyGraphRagError:
            raise
        except Exception as error:  # one report's mistake is no reason to withhold the others
            broken.append(
                ReportError(
                    "--report {name} failed: {kind}: {error}",
                    name=name,
                    kind=type(error).__name__,
                    error=error,
                )
            )
    if as_file and target is not None and not broken:
        fitting = [(name, content) for name, content in files if name.endswith(target.suffix)]
        if not fitting:
            raise UsageError(
                "{target}: --report {names} does not write this; add --report {suffix}",
                target=target,
                names=",".join(names),
                suffix=target.suffix[1:],
            )
        files = fitting if len(names) == 1 else files  # of `paper` the LaTeX file or the Markdown one
    if as_file and len(files) != 1:
        listed = ", ".join(name for name, _ in files[:4])
        raise UsageError(
            "{target}: {files} reports would be written to this file ({listed}); give a folder",
            target=target,
            files=len(files),
            listed=listed,
        )
    written = [target if as_file and target is not None else folder / name for name, _ in files]
    for path in written:
        claim(path)
    for path, (_, content) in zip(written, files, strict=True):
        write_atomically(path, [content])
    if failed is not None:
        failed += broken
    elif broken:
        raise broken[0]
    return written
