"""Where a command's results go: `-o`, the name they have without it, and the reports beside them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tiny_graph_rag.cli.help import OUTPUT
from tiny_graph_rag.cli.options import Reporting
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.files import bare_name, check_writable, output_path, write_atomically
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import said, t

STDOUT = "-"


@dataclass(frozen=True, slots=True)
class Output:
    """given: what `-o` says, None without it. reports: names of the reports asked for."""

    given: str | None
    reports: tuple[str, ...]
    title: str = ""
    _read: list[Path] = field(default_factory=list)

    @classmethod
    def of(cls, given: str | None, reporting: Reporting) -> Output:
        """Raises UsageError for reports that nobody writes, or that have no file to stand beside."""
        return cls(given, reporting.names(to_stdout=given == STDOUT), reporting.title or "")

    @property
    def to_stdout(self) -> bool:
        return self.given == STDOUT

    def path(self, session: Session, derived: str) -> Path:
        """The file to write, `derived` unless named. Refused before any work where it can't be written."""
        path = output_path(self.given or derived, Path(session.config.storage.results_dir))
        if not self.to_stdout:
            check_writable(path)
        return path

    def keep_apart(self, path: Path, *more: Path | None, read: Iterable[Path | None]) -> None:
        """Refuse a `path` (or `more` outputs, or reports beside it) that the command reads or that are the
        same. See below."""
        self._read.extend(source for source in read if source is not None)
        keep_apart((None if self.to_stdout else path, *more), self._read)
        if self.to_stdout:
            return
        name, folder = bare_name(path), os.path.realpath(path.parent)
        for item in self._read:
            beside = os.path.realpath(item.parent) == folder and nfc(item.name).startswith(name)
            if beside and item.suffix[1:].lower() in self.reports:
                raise UsageError(
                    said(
                        "{each}: this command reads that file, and --report {suffix} beside {name} could "
                        "destroy it; choose another name with -o",
                        each=item,
                        suffix=item.suffix[1:],
                        name=path.name,
                    )
                )

    def write(self, path: Path, parts: Iterable[bytes]) -> None:
        if not self.to_stdout:
            write_atomically(path, parts)
            return
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()

    def tell(self, session: Session, **written: Path) -> None:
        """Name the files, each after what it is, and write the reports beside the first."""
        if self.to_stdout:
            return
        for what, path in written.items():
            session.say(f"{t(what)}: {path}")
        if self.reports:
            from tiny_graph_rag.report.document import read_document
            from tiny_graph_rag.report.reports import ReportError, write_reports

            document = replace(read_document(next(iter(written.values()))), title=self.title)
            failed: list[ReportError] = []
            for path in write_reports([document], self.reports, read=self._read, failed=failed):
                session.say(t("report: {path}", path=path))
            session.failures.extend(failed)


def keep_apart(outputs: Iterable[Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Refuse to write over what is read, or twice to one file; links and `..` are seen through.

    None stands for what was not asked for. Raises UsageError.
    """
    read = {os.path.realpath(path) for path in inputs if path is not None}
    written: set[str] = set()
    for path in outputs:
        if path is None or (
            path.exists() and not path.is_file()
        ):  # a device takes anything, any number of times
            continue
        place = os.path.realpath(path)
        if place in read:
            raise UsageError(
                said(
                    "{path}: this command reads that file and would destroy it; choose another name",
                    path=path,
                )
            )
        if place in written:
            raise UsageError(said("{path}: two outputs would go to this one file; rename one", path=path))
        written.add(place)


Written = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        help="Write it as JSON here; - for standard output.",
        show_default="none",
        rich_help_panel=OUTPUT,
    ),
]


def write_document(session: Session, given: str | None, kind: str, **fields: Any) -> None:
    """`-o` of a command that writes no file without it: `fields` as JSON, below the head that every file has.
    What else it prints goes to standard error where `given` is -, if the session knows (`to_stdout`)."""
    if given is None:
        return
    from tiny_graph_rag.report.json.numbers import head, whole

    out = Output(given, ())
    path = out.path(session, given)
    out.write(path, [whole(head(kind, session.made(), **fields))])
    out.tell(session, json=path)
