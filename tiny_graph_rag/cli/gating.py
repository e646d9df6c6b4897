"""Options of the gates, and how a command holds them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from tiny_graph_rag.cli.help import GATES, MORE
from tiny_graph_rag.cli.options import option
from tiny_graph_rag.config import step_summary_file
from tiny_graph_rag.errors import FoundProblems, TinyGraphRagError
from tiny_graph_rag.outputs import write_atomically

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tiny_graph_rag.cli.session import Session
    from tiny_graph_rag.measures import Measure
    from tiny_graph_rag.measures.summary import Summary
    from tiny_graph_rag.study.gates import Gate, GateOutcome

Junit = Annotated[Path | None, option("Write the gates' outcome as JUnit XML.", MORE)]


@dataclass(frozen=True, slots=True)
class Floors:
    """Gates of a single run."""

    PANEL: ClassVar[str] = GATES

    fail_under: Annotated[
        str | None, option('Exit with code 1 unless these gates pass: "recall@5>=0.65,tag:2-hop/mrr>0.5".')
    ] = None
    junit: Junit = None

    def checked(self, session: Session) -> Gates:
        """Before any work. Raises UsageError for what is no gate or can't be written."""
        if not self.fail_under:
            return Gates.of(session, (), self.junit)
        from tiny_graph_rag.study.gates import parse_floors

        return Gates.of(session, parse_floors(self.fail_under), self.junit)


@dataclass(frozen=True, slots=True)
class Drops:
    """Gates of a comparison."""

    PANEL: ClassVar[str] = GATES

    max_drop: Annotated[
        str | None,
        option('Exit with code 1 if a system is worse by more than this: "ndcg@5=0.02,latency.p95=0.1".'),
    ] = None
    junit: Junit = None

    def checked(self, session: Session) -> Gates:
        """Before any work. Raises UsageError for what is no gate or can't be written."""
        from tiny_graph_rag.study.gates import parse_drops

        drops = parse_drops(self.max_drop) if self.max_drop else ()
        return Gates.of(session, drops, self.junit)


@dataclass(frozen=True, slots=True)
class Gates:
    """What is to be held, against what of a mean (`mean` or `interval`), and the JUnit file, if any."""

    gates: tuple[Gate, ...]
    basis: str
    junit: Path | None

    @classmethod
    def of(cls, session: Session, gates: tuple[Gate, ...], junit: Path | None) -> Gates:
        claimed = None if junit is None else session.outputs.claim(junit)
        return cls(gates, session.config.running.gate_on, claimed)

    @property
    def measures(self) -> tuple[Measure, ...]:
        return tuple(gate.measure for gate in self.gates if not isinstance(gate.measure, str))

    @property
    def speeds(self) -> tuple[str, ...]:
        return tuple(gate.measure for gate in self.gates if isinstance(gate.measure, str))

    def check_tags(self, tags: Collection[str]) -> None:
        """Raises UsageError for a gate on a tag that no question has."""
        if self.gates:
            from tiny_graph_rag.study.gates import check_tags

            check_tags(self.gates, tags)

    def hold(
        self, found: Summary, seconds: NDArray[np.float64], per_second: float | None
    ) -> list[GateOutcome]:
        """seconds: of each question; per_second: questions, None where that is not known."""
        if not self.gates:
            return []
        from tiny_graph_rag.measures.summary import latency_of
        from tiny_graph_rag.study.gates import hold_floors
        from tiny_graph_rag.study.results_file import speeds

        by_tag = {tag: part.measures for tag, part in found.by_tag.items()}
        took = speeds(latency_of(seconds), per_second)
        return hold_floors(self.gates, found.overall.measures, self.basis, took, by_tag)

    def conclude(
        self, session: Session, outcomes: Sequence[GateOutcome], suite: str, results: Path | None = None
    ) -> None:
        """Say what passed, write the JUnit file and the summary of a CI job. results: the file that was
        written, None for standard output. Raises FoundProblems with one line a gate that failed."""
        if self.junit is not None:
            from tiny_graph_rag.study.gates import junit_xml

            session.outputs.confirm()  # from here on the results are an input too
            write_atomically(self.junit, [junit_xml(outcomes, suite)])
        append_step_summary(session, results, outcomes)
        for outcome in outcomes:
            if outcome.passed:
                session.say(outcome.message)
        failed = [outcome.message for outcome in outcomes if not outcome.passed]
        end_with([*([FoundProblems(*failed)] if failed else []), *session.failures])


def append_step_summary(session: Session, results: Path | None, outcomes: Sequence[GateOutcome] = ()) -> None:
    """Where a CI system shows a summary of the job (GITHUB_STEP_SUMMARY), append the run's to it."""
    target = step_summary_file()
    if target is None or results is None:
        return
    from tiny_graph_rag.report.document import read_document
    from tiny_graph_rag.report.markdown import job_summary

    try:
        with target.open("a", encoding="utf-8", errors="replace") as summary:
            summary.write(job_summary(read_document(results), outcomes))
    except OSError as error:
        session.note("the job's summary could not be written to {path}: {error}", path=target, error=error)


def end_with(problems: Sequence[TinyGraphRagError]) -> None:
    """Raise all of them as one: every message, and the exit code of the gravest. A failed service (3) goes
    before a failed gate (1), for the figures that the gate was held against are then too low."""
    if problems:
        gravest = max(problems, key=lambda item: item.exit_code)
        raise type(gravest)(*(line for problem in problems for line in problem.args))
