"""Where a command's results go: `-o`, the name they have without it, the reports next to them,
and the earlier results that they replace."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tiny_graph_rag.cli.options import Reporting, to_file
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.inputs import bare_name, is_results
from tiny_graph_rag.messages import t
from tiny_graph_rag.outputs import KEPT_IN, output_path

if TYPE_CHECKING:
    from tiny_graph_rag.report.document import Document

STDOUT = "-"
KEPT = 20  # results of each name; a folder that grows without end would surprise people


@dataclass(frozen=True, slots=True)
class Output:
    """given: what `-o` says, None without it. reports: names of the reports asked for. folder: the setting of
    storage under which a relative name lies."""

    given: str | None
    reports: tuple[str, ...] = ()
    folder: str = "results_dir"
    title: str = ""

    @classmethod
    def of(cls, given: str | None, reporting: Reporting, ending: str = ".json") -> Output:
        """Raises UsageError for reports that nobody writes, or that have no results file to be next to, and
        for a file that ends as one of them. ending: of what is written."""
        _check_ending(given, ending)
        return cls(given, reporting.names(to_stdout=given == STDOUT), title=reporting.title or "")

    @property
    def to_stdout(self) -> bool:
        return self.given == STDOUT

    def path(
        self,
        session: Session,
        derived: str | Path,
        may_replace: Callable[[Path], bool] | None = None,
        *,
        is_own: bool = False,
    ) -> Path:
        """The file to write, `derived` unless named; claimed, so refused before any work where it can't be.

        may_replace: of a file that has the derived name already, whether it may go; None for any.
        """
        folder = Path(getattr(session.config.storage, self.folder))
        if self.to_stdout:
            return output_path(STDOUT, folder)
        path = derived if isinstance(derived, Path) else output_path(derived, folder)
        if self.given is not None:
            path = output_path(self.given, folder)
        free = self.given is not None or may_replace is None or not path.is_file() or may_replace(path)
        session.outputs.claim(path, is_own=is_own, replaces=free)
        if self.reports:
            session.outputs.claim_beside(path, self.reports)
        return path

    def write(self, session: Session, path: Path, parts: Iterable[bytes]) -> None:
        if not self.to_stdout:
            session.outputs.write(path, parts)
            return
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()

    def tell(self, session: Session, **written: Path) -> None:
        """Name the files, each after what it is, and write the reports next to the first."""
        if self.to_stdout:
            return
        for what, path in written.items():
            session.say(f"{t(what)}: {path}")
        if self.reports:
            from tiny_graph_rag.report.document import read_document

            document = read_document(next(iter(written.values())))
            self._report(session, replace(document, title=self.title))

    def report(self, session: Session, path: Path, content: dict[str, Any]) -> None:
        """Write the reports of a document that is no file itself. path: next to which they go."""
        if self.reports:
            from tiny_graph_rag.report.document import Document

            self._report(session, Document(path, content, self.title))

    def _report(self, session: Session, document: Document) -> None:
        from tiny_graph_rag.report.reports import ReportError, write_reports

        failed: list[ReportError] = []
        for path in write_reports([document], self.reports, claim=session.outputs.claim, failed=failed):
            session.say("report: {path}", path=path)
        session.failures.extend(failed)


def _check_ending(given: str | None, ending: str) -> None:
    """Raises UsageError for `-o page.html`: what is written would not be a page."""
    path = Path(given or STDOUT)
    if path.suffix not in ("", ending):
        from tiny_graph_rag.report.reports import REPORTS

        if path.suffix[1:].lower() in REPORTS:
            form, name = ending[1:].upper(), path.with_suffix(ending)
            raise UsageError(
                "-o {output}: the file is {form}; name it {name}", output=given, form=form, name=name
            )


Written = Annotated[str | None, to_file("JSON file to write; - for standard output.", "none")]


@dataclass(frozen=True, slots=True)
class DocumentOutput:
    """`-o` of a command that writes no file without it. path: None without it."""

    session: Session
    output: Output
    path: Path | None

    @classmethod
    def of(cls, session: Session, given: str | None, *, is_own: bool = False) -> DocumentOutput:
        """Before any work. is_own: as `Outputs.claim` has it. What else the command prints goes to standard
        error where `given` is -, if the session knows (`to_stdout`)."""
        _check_ending(given, ".json")
        output = Output(given)
        path = None if given is None else output.path(session, given, is_own=is_own)
        return cls(session, output, path)

    def write(self, kind: str, **fields: Any) -> None:
        """`fields` as JSON, below the head that every file has."""
        if self.path is None:
            return
        from tiny_graph_rag.report.json.spelled import head, whole

        self.output.write(self.session, self.path, [whole(head(kind, self.session.made(), **fields))])
        self.output.tell(self.session, json=self.path)


def warn_unlisted(session: Session, form: str, empty: int) -> None:
    """Of a run that was written in this form: what becomes of its questions that retrieved nothing."""
    from tiny_graph_rag.formats.runs.writing import LISTS_EMPTY

    if empty and form not in LISTS_EMPTY:
        session.warn(
            "a {form} run has no line for a question that retrieved nothing, so `score` will count it as "
            "missing; a .jsonl run keeps it",
            form=form,
        )


def keep_earlier(session: Session, path: Path) -> None:
    """Copy the results at `path`, if any, to `history/` in the same folder, before they are replaced.

    Only below the results folder: elsewhere a file was named by hand, and a folder next to it would be in the
    way. The oldest copies beyond KEPT are removed. Says so when the first result is kept.
    """
    results = os.path.realpath(session.config.storage.results_dir)
    if not is_results(path) or not os.path.realpath(path).startswith(results + os.sep):
        return
    folder, name = path.parent / KEPT_IN, bare_name(path)
    is_first = not folder.exists()
    folder.mkdir(exist_ok=True)
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    _copy(path, folder / f"{name}-{written:%Y%m%dT%H%M%S.%fZ}.json")
    ending = re.compile(rf"{re.escape(name)}-\d{{8}}T\d{{6}}\.\d{{6}}Z\.json")
    copies = sorted(file for file in folder.iterdir() if ending.fullmatch(file.name))
    for file in copies[:-KEPT]:
        file.unlink(missing_ok=True)
    if is_first:
        session.note(
            "earlier results are kept in {folder} (the last {n} of each name); `history` shows them",
            folder=folder,
            n=KEPT,
        )


def _copy(path: Path, target: Path) -> None:
    """A second name for the same bytes costs nothing; where a file system has none, a copy."""
    if target.exists():
        return
    try:
        os.link(path, target)
    except OSError:
        shutil.copyfile(path, target)
