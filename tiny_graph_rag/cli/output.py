"""Where a command's results go: `-o`, the name they have without it, the reports next to them, the earlier
results that they replace. And how it ends: gates held against the results, and what went wrong."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Struct

from tiny_graph_rag.cli.help import GATES
from tiny_graph_rag.cli.options import option, reports_of, to_file
from tiny_graph_rag.cli.session import STDOUT, Session
from tiny_graph_rag.errors import FoundProblems, TinyGraphRagError, UsageError
from tiny_graph_rag.inputs import bare_name, is_results
from tiny_graph_rag.measures.summary import Summary
from tiny_graph_rag.messages import t
from tiny_graph_rag.outputs import KEPT_IN, output_path
from tiny_graph_rag.study.gates import Gate, GateOutcome, hold_floors, junit_xml

if TYPE_CHECKING:
    from tiny_graph_rag.report.document import Document
    from tiny_graph_rag.study.evaluate import Evaluation

KEPT = 20  # results of each name; a folder that grows without end would surprise people
Written = Annotated[str | None, to_file("JSON file to write; - for standard output.", "none")]
FailUnder = Annotated[
    str | None,
    option('Exit with code 1 unless these gates pass: "recall@5>=0.65,tag:2-hop/mrr>0.5".', GATES),
]
Junit = Annotated[
    Path | None, option("Write the gates' outcome, or the error of this command, as JUnit XML.", GATES)
]


class Output(Struct, frozen=True):
    """The file that a command writes, and the reports next to it.

    path: None where no file is written, also where all goes to standard output.
    """

    session: Session
    path: Path | None
    reports: tuple[str, ...] = ()
    to_stdout: bool = False

    @classmethod
    def of(
        cls,
        session: Session,
        given: str | None,
        derived: str | Path | None = None,
        report: str | None = None,
        *,
        ending: str = ".json",
        folder: str = "results_dir",
        may_replace: Callable[[Path], bool] | None = None,
        is_own: bool = False,
    ) -> Output:
        """Claimed, so refused before any work where it can't be written.

        given: what `-o` says. derived: the name without `-o`, a Path as it stands; None where nothing is
        written then. report: what `--report` says. ending: of what is written, "" where any will do. folder:
        the setting of storage under which a relative name lies. may_replace: of a file that has the derived
        name already, whether it may go; None for any. is_own: as `Outputs.claim` has it.

        Raises UsageError for a file with the ending of a report, and as `reports_of` does.
        """
        if ending:
            _check_ending(given, ending)
        to_stdout = given == STDOUT
        reports = reports_of(report, to_stdout=to_stdout)
        name = derived if given is None else given
        if to_stdout or name is None:
            return cls(session, None, reports, to_stdout)
        place = Path(getattr(session.config.storage, folder))
        path = name if isinstance(name, Path) else output_path(name, place)
        free = given is not None or may_replace is None or not path.is_file() or may_replace(path)
        session.outputs.claim(path, is_own=is_own, replaces=free)
        return cls(session, path, reports)

    def write(self, parts: Iterable[bytes | memoryview]) -> None:
        """Write the file, or to standard output."""
        if self.path is not None:
            self.session.outputs.write(self.path, parts)
        elif self.to_stdout:
            sys.stdout.buffer.writelines(parts)
            sys.stdout.buffer.flush()

    def document(self, kind: str, **fields: Any) -> None:
        """Write `fields` as JSON, below the head that every file has; nothing where no file is wanted."""
        if self.path is None and not self.to_stdout:
            return
        from tiny_graph_rag.report.json import head, laid_out

        self.write([laid_out(head(kind, self.session.made(), **fields)), b"\n"])
        self.tell("json")

    def tell(self, what: str, content: dict[str, Any] | None = None) -> None:
        """Name the file after what it is, and write the reports next to it. content: what these show, where
        the file itself is no document."""
        if self.path is None:
            return
        self.session.say(f"{t(what)}: {self.path}")
        if self.reports:
            from tiny_graph_rag.report.document import Document, read_document

            shown = Document(self.path.with_suffix(".json"), content) if content else read_document(self.path)
            write_reports(self.session, [shown], self.reports)


def write_reports(
    session: Session, documents: Sequence[Document], names: Sequence[str], target: Path | None = None
) -> None:
    """Write reports and say which; a kind of file may be one that these don't show. target: as `-o` of
    `report` says, else next to the first document."""
    from tiny_graph_rag.report import reports

    written, idle = reports.write_reports(documents, names, target, claim=session.outputs.claim)
    for path in written:
        session.say("report: {path}", path=path)
    if idle:
        session.warn("--report {names}: not available for this kind of file", names=",".join(idle))


def _check_ending(given: str | None, ending: str) -> None:
    """Raises UsageError for `-o page.html` where no page is written, and for a page of another name."""
    path = Path(given or STDOUT)
    if path.suffix not in ("", ending):
        from tiny_graph_rag.report.reports import REPORTS

        if ending == ".html" or path.suffix[1:].lower() in REPORTS:
            form, name = ending[1:].upper(), path.with_suffix(ending)
            raise UsageError(
                "-o {output}: the file is {form}; name it {name}", output=given, form=form, name=name
            )


def run_output(
    session: Session, given: str | None, derived: str | None = None, format: str | None = None
) -> tuple[Output, str]:
    """Where a run goes, claimed, and in which form. Raises UsageError for an unknown form."""
    from tiny_graph_rag.formats.writing import RUN_FORMS, form_of

    out = Output.of(session, given, derived, ending="")
    return out, form_of(RUN_FORMS, out.path or Path("run.jsonl"), format)


def write_run(out: Output, evaluation: Evaluation, form: str, *, names: bool = False) -> None:
    """Write whole rankings, where that is wanted, and say what becomes of questions that retrieved nothing.

    A question that failed is left out, for in a file an empty list would be an answer.
    """
    if out.path is None and not out.to_stdout:
        return
    from tiny_graph_rag.formats.writing import LISTS_EMPTY, run_parts

    known, run = evaluation.graph.entities, evaluation.run  # with what only the retriever knows
    rows = [row for row in range(len(run)) if row not in run.failures]
    run = run.of(np.array(rows, dtype=np.int64)) if run.failures else run
    asked = [evaluation.examples[row].written_id for row in rows]
    out.write(run_parts(run, asked, known.names if names else known.ids, known.names, form))
    if form not in LISTS_EMPTY and not np.diff(run.offsets).all():
        out.session.warn(
            "a {form} run has no line for a question that retrieved nothing, so `score` will count it as "
            "missing; a .jsonl run keeps it",
            form=form,
        )
    out.tell("run")


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
    shutil.copyfile(path, folder / f"{name}-{written:%Y%m%dT%H%M%S.%fZ}.json")
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


def hold(
    session: Session,
    gates: Sequence[Gate],
    found: Summary,
    junit: Path | None,
    problems: Sequence[TinyGraphRagError] = (),
) -> None:
    """Hold gates against the means of a run, and end with what failed. problems: what went wrong before."""
    outcomes = hold_floors(gates, found, session.config.running.gate_on)
    conclude(session, outcomes, junit, problems)


def conclude(
    session: Session,
    outcomes: Sequence[GateOutcome],
    junit: Path | None,
    problems: Sequence[TinyGraphRagError] = (),
) -> None:
    """Say which gates passed, and end with one line for each that failed, then what else went wrong.

    junit: the file for CI that holds the same.
    """
    if junit is not None:
        session.outputs.write(junit, [junit_xml(outcomes)])
    for outcome in outcomes:
        if outcome.passed:
            session.say(outcome.message)
    failed = [outcome.message for outcome in outcomes if not outcome.passed]
    end_with([*([FoundProblems(*failed)] if failed else []), *problems])


def end_with(problems: Sequence[TinyGraphRagError]) -> None:
    """Raise all of them as one: every message, and the exit code of the gravest. A failed service (3) goes
    before a failed gate (1), for the figures that the gate was held against are then too low."""
    if problems:
        gravest = max(problems, key=lambda item: item.exit_code)
        raise type(gravest)(*(line for problem in problems for line in problem.args))
