"""Gates of a command, and how it ends when they or something else failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli.help import GATES
from tiny_graph_rag.cli.options import option
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import FoundProblems, TinyGraphRagError
from tiny_graph_rag.measures.summary import Summary
from tiny_graph_rag.study.gates import Gate, GateOutcome, hold_floors, junit_xml

FailUnder = Annotated[
    str | None,
    option('Exit with code 1 unless these gates pass: "recall@5>=0.65,tag:2-hop/mrr>0.5".', GATES),
]

Junit = Annotated[
    Path | None, option("Write the gates' outcome, or the error of this command, as JUnit XML.", GATES)
]


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
