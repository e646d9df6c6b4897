"""`compare`: systems against a baseline, from their results files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.gating import Junit, claim, conclude
from tiny_graph_rag.cli.help import GATES, MEASURES
from tiny_graph_rag.cli.options import Common, Details, Reports, argument, option, to_file
from tiny_graph_rag.cli.output import STDOUT, Output
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.inputs import find_input
from tiny_graph_rag.measures import parse_measures
from tiny_graph_rag.report.json.spelled import lines_of
from tiny_graph_rag.report.json.studies import comparison_document
from tiny_graph_rag.report.terminal.screens import comparison_lines, details_lines
from tiny_graph_rag.study.compare import compare
from tiny_graph_rag.study.gates import hold_drops, parse_drops
from tiny_graph_rag.study.results_file import System, read_system

LONGEST_NAME = 70  # characters of a derived file name: file systems take 255 bytes, a Hangul sign takes three


@command(app, "compare")
def compare_command(
    results: Annotated[list[Path], argument("Results files of eval or score; the first is the baseline.")],
    common: Common,
    max_drop: Annotated[
        str | None,
        option('Exit with code 1 if a system is worse by more than this: "ndcg@5=0.02,mrr=0.05".', GATES),
    ] = None,
    junit: Junit = None,
    report: Reports = None,
    measures: Annotated[
        str | None, option("Measures to compare.", MEASURES, default="all that the files have in common")
    ] = None,
    force: Annotated[
        bool, option("Compare what was scored differently, on the questions in common.")
    ] = False,
    output: Annotated[
        str | None, to_file("Comparison file; - for standard output.", "BASELINE-vs-OTHER-comparison.json")
    ] = None,
    details: Details = False,
) -> None:
    """Compare results: which is better, by how much, how certain that is, and which questions changed."""
    session = Session.open(common, to_stdout=output == STDOUT)
    out = Output.of(session, output, report)
    claim(session, junit)
    gates = parse_drops(max_drop) if max_drop is not None else ()
    folder = Path(session.config.storage.results_dir)
    systems = [read_system(find_input(result, folder, "results file")) for result in results]
    wanted = []
    if measures:
        named = [*parse_measures(measures), *(gate.measure for gate in gates)]
        wanted = list(dict.fromkeys(map(str, named)))
    out = out.at(f"{_named(systems)}-comparison.json")
    found = compare(systems, measures=wanted, seed=session.config.evaluation.seed, force=force)
    document = comparison_document(found, session.config, session.made())
    session.show(details_lines(document) if details else comparison_lines(document))
    out.write(lines_of(document, "flips"))
    out.tell("comparison")
    outcomes = []
    for row, system in enumerate(found.systems[1:], start=1):
        missing = [name for name in (str(gate.measure) for gate in gates) if name not in found.overall]
        if missing:
            raise UsageError(
                "--max-drop: {missing} is not in every results file; run eval with it in --measures",
                missing=missing[0],
            )
        differences = {key: rows[row] for key, rows in found.overall.items()}
        # A tag that every question has is no part of its own: its differences are those of all.
        every = {tag for tags in found.systems[0].tags for tag in tags}
        parts = {
            tag: {measure: rows[row] for measure, rows in found.by_tag.get(tag, found.overall).items()}
            for tag in every
        }
        outcomes += hold_drops(gates, system.name, differences, session.config.running.gate_on, parts)
    conclude(session, outcomes, junit)


def _named(systems: Sequence[System]) -> str:
    """The first two names, and how many more there are; long ones are cut."""
    first, *others = (system.name[: LONGEST_NAME // 2] for system in systems)
    more = f"-and-{len(others) - 1}-more" if len(others) > 1 else ""
    return "-vs-".join([first, *others[:1]]) + more
