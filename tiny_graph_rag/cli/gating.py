"""Options of the gates, and how a command holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import typer

from tiny_graph_rag.cli.help import DETAIL, GATES
from tiny_graph_rag.errors import FoundProblems, TinyGraphRagError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tiny_graph_rag.cli.session import Session
    from tiny_graph_rag.measures import Measure
    from tiny_graph_rag.study.gates import Gate, GateOutcome, HasMean

ON_MEAN: Final = "mean"
GateOn = Annotated[
    str,
    typer.Option(
        "--gate-on",
        help="Hold gates against the mean, or the failing end of its 95 % interval (interval).",
        rich_help_panel=GATES + DETAIL,
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option("--junit", help="Write the gates' outcome as JUnit XML.", rich_help_panel=GATES + DETAIL),
]


@dataclass(frozen=True, slots=True)
class Floors:
    """Gates of a single run."""

    PANEL: ClassVar[str] = GATES

    fail_under: Annotated[
        str | None,
        typer.Option("--fail-under", help='Exit with 1 unless these hold: "recall@5>=0.65,latency.p95<0.5".'),
    ] = None
    gate_on: GateOn = ON_MEAN
    junit: Junit = None

    def checked(self, session: Session) -> Gates:
        """Before any work. Raises UsageError for what is no gate or can't be written."""
        if not self.fail_under:
            return Gates.of(session, (), self.gate_on, self.junit)
        from tiny_graph_rag.study.gates import parse_floors

        return Gates.of(session, parse_floors(self.fail_under), self.gate_on, self.junit)


@dataclass(frozen=True, slots=True)
class Drops:
    """Gates of a comparison."""

    PANEL: ClassVar[str] = GATES

    max_drop: Annotated[
        str | None,
        typer.Option(
            "--max-drop",
            help='Exit with 1 where a system loses more than this: "ndcg@5=0.02,latency.p95=0.1".',
        ),
    ] = None
    gate_on: GateOn = ON_MEAN
    junit: Junit = None

    def checked(self, session: Session) -> Gates:
        """Before any work. Raises UsageError for what is no gate or can't be written."""
        from tiny_graph_rag.study.gates import parse_drops

        drops = parse_drops(self.max_drop) if self.max_drop else ()
        return Gates.of(session, drops, self.gate_on, self.junit)


@dataclass(frozen=True, slots=True)
class Gates:
    """What is to be held, against what of a mean (`mean` or `interval`), and the JUnit file, if any."""

    gates: tuple[Gate, ...]
    basis: str
    junit: Path | None

    @classmethod
    def of(cls, session: Session, gates: tuple[Gate, ...], gate_on: str, junit: Path | None) -> Gates:
        if gate_on != ON_MEAN:  # without a gate nothing of them is loaded
            from tiny_graph_rag.study.gates import check_basis

            check_basis(gate_on)
        return cls(gates, gate_on, None if junit is None else session.outputs.claim(junit))

    @property
    def measures(self) -> tuple[Measure, ...]:
        return tuple(gate.measure for gate in self.gates if not isinstance(gate.measure, str))

    @property
    def speeds(self) -> tuple[str, ...]:
        return tuple(gate.measure for gate in self.gates if isinstance(gate.measure, str))

    def hold(
        self, means: Mapping[Measure, HasMean], seconds: NDArray[np.float64], per_second: float | None
    ) -> list[GateOutcome]:
        """seconds: of each question; per_second: questions, None where that is not known."""
        if not self.gates:
            return []
        from tiny_graph_rag.report.json.numbers import latency_document
        from tiny_graph_rag.study.gates import hold_floors, speeds

        return hold_floors(self.gates, means, self.basis, speeds(latency_document(seconds), per_second))

    def conclude(self, session: Session, outcomes: Sequence[GateOutcome], suite: str) -> None:
        """Say what passed, write the JUnit file. Raises FoundProblems with one line a gate that failed."""
        if self.junit is not None:
            from tiny_graph_rag.study.gates import junit_xml

            session.outputs.write(self.junit, [junit_xml(outcomes, suite)])
        for outcome in outcomes:
            if outcome.passed:
                session.say(outcome.message)
        failed = [outcome.message for outcome in outcomes if not outcome.passed]
        end_with([*([FoundProblems(*failed)] if failed else []), *session.failures])


def end_with(problems: Sequence[TinyGraphRagError]) -> None:
    """Raise all of them as one: every message, and the exit code of the gravest. A failed service (3) goes
    before a failed gate (1), for the figures that the gate was held against are then too low."""
    if problems:
        gravest = max(problems, key=lambda item: item.exit_code)
        raise type(gravest)(*(line for problem in problems for line in problem.args))
