"""`compare`, `report`, `history`: what becomes of results files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import GATES, INPUT, MEASURES, OUTPUT
from tiny_graph_rag.cli.options import Details, Reports, argument, option, reports_of, to_file
from tiny_graph_rag.cli.output import Junit, Output, Written, conclude, write_reports
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import InputError, UsageError, unknown
from tiny_graph_rag.inputs import find_input, note_named
from tiny_graph_rag.measures import parse_measures
from tiny_graph_rag.messages import said
from tiny_graph_rag.outputs import output_path
from tiny_graph_rag.report.document import read_document
from tiny_graph_rag.report.history import groups, history_document, history_lines, read_past
from tiny_graph_rag.report.json import lines_of
from tiny_graph_rag.report.json.studies import comparison_document
from tiny_graph_rag.report.terminal.screens import comparison_lines, details_lines
from tiny_graph_rag.study.compare import compare
from tiny_graph_rag.study.gates import hold_drops, parse_drops
from tiny_graph_rag.study.results_file import System, read_system, short_name

LONGEST_NAME = 70  # characters of a derived file name: file systems take 255 bytes, a Hangul sign takes three


@command("compare")
def compare_command(
    results: Annotated[list[Path], argument("Results files of eval or score; the first is the baseline.")],
    session: Session,
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
    gates = parse_drops(max_drop) if max_drop is not None else ()
    folder = Path(session.config.storage.results_dir)
    systems = [read_system(find_input(result, folder, "results file")) for result in results]
    named = [*parse_measures(measures), *(gate.measure for gate in gates)] if measures else []
    wanted = list(dict.fromkeys(map(str, named)))
    out = Output.of(session, output, f"{_named(systems)}-comparison.json", report)
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
    first, *others = (short_name(system.path)[: LONGEST_NAME // 2] for system in systems)
    more = f"-and-{len(others) - 1}-more" if len(others) > 1 else ""
    return "-vs-".join([first, *others[:1]]) + more


@command("report")
def report_command(
    results: Annotated[
        list[Path], argument("Results files of eval, score, sweep or compare.", default=False)
    ],
    session: Session,
    report: Annotated[str, option("Reports to write (a,b).", OUTPUT)] = "html",
    output: Annotated[
        str | None,
        to_file(
            "Folder to write to, or the file where one report is written (page.html).",
            "next to the first file",
        ),
    ] = None,
) -> None:
    """Show results files as a page, as Markdown, as tables or as pictures. Nothing is computed again."""
    names = reports_of(report)
    folder = Path(session.config.storage.results_dir)
    documents = [read_document(find_input(result, folder, "results file")) for result in results]
    target = output_path(output, folder) if output is not None else None
    try:
        write_reports(session, documents, names, target)
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # no check saw that it was changed
        raise InputError(
            "{path}: the file was changed and can't be shown: {why}", path=documents[0].path, why=error
        ) from error


@command("history")
def history_command(
    session: Session,
    folder: Annotated[Path | None, argument("Folder of results.", default="--results-dir")] = None,
    dataset: Annotated[str | None, option("Only results on this gold set.", INPUT)] = None,
    output: Written = None,
) -> None:
    """Show results over time: a table and a line for each measure, oldest first."""
    results = Path(session.config.storage.results_dir)
    place = folder or results
    if not place.is_dir():
        raise InputError(
            "{place}: this folder doesn't exist; `eval` creates it with the first results", place=place
        )
    past, problems = read_past(place)
    for problem in problems:
        session.warn("left out: {problem}", problem=problem)
    note_named(*(result.path for result in past))
    # An older history lies in that folder too: it was opened to see what it is, and may be replaced.
    out = Output.of(session, output, is_own=True)
    if dataset is not None:
        name = Path(dataset).name.removesuffix(".jsonl")
        known = dict.fromkeys(result.dataset for result in past)
        if name not in known:
            raise unknown(said("gold set"), name, list(known))
        past = [result for result in past if result.dataset == name]
    if not past:
        raise InputError("{place}: no results of eval or score here; run `eval` first", place=place)
    named = groups(past)
    session.show(history_lines(named))
    out.document("history", **history_document(named))
