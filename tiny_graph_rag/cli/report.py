"""`report` and `history`: reports from results files, and the results of a folder over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import INPUT, OUTPUT
from tiny_graph_rag.cli.options import Common, Reports, argument, option, reports_of, to_file
from tiny_graph_rag.cli.output import STDOUT, Output, Written, say_reports
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import InputError, UsageError, unknown
from tiny_graph_rag.inputs import find_input, note_named
from tiny_graph_rag.messages import said
from tiny_graph_rag.outputs import output_path
from tiny_graph_rag.report.document import read_document
from tiny_graph_rag.report.history import groups, history_document, history_lines, read_past
from tiny_graph_rag.report.reports import write_reports


@command(app, "report")
def report_command(
    results: Annotated[
        list[Path], argument("Results files of eval, score, sweep or compare.", default=False)
    ],
    common: Common,
    report: Reports = None,
    output: Annotated[
        str | None,
        to_file(
            "Folder to write to, or the file where one report is written (page.html).",
            "next to the first file",
        ),
    ] = None,
) -> None:
    """Show results files as a page, as Markdown, as tables or as pictures. Nothing is computed again."""
    session = Session.open(common)
    names = reports_of(report) or ("html",)
    folder = Path(session.config.storage.results_dir)
    documents = [read_document(find_input(result, folder, "results file")) for result in results]
    target = output_path(output, folder) if output is not None else None
    try:
        written = write_reports(documents, names, target, claim=session.outputs.claim)
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # no check saw that it was changed
        raise InputError(
            "{path}: the file was changed and can't be shown: {why}", path=documents[0].path, why=error
        ) from error
    say_reports(session, names, written)


@command(app, "history")
def history_command(
    common: Common,
    folder: Annotated[Path | None, argument("Folder of results.", default="--results-dir")] = None,
    dataset: Annotated[str | None, option("Only results on this gold set.", INPUT)] = None,
    report: Annotated[
        str | None, option("Page to write, such as history.html.", OUTPUT, default="none")
    ] = None,
    output: Written = None,
) -> None:
    """Show results over time: a table and a line for each measure, oldest first."""
    session = Session.open(common, to_stdout=output == STDOUT)
    results = Path(session.config.storage.results_dir)
    place = folder or results
    if not place.is_dir():
        raise InputError(
            "{place}: this folder doesn't exist; `eval` creates it with the first results", place=place
        )
    if report is not None and Path(report).suffix != ".html":
        raise UsageError("--report {report}: the page is an HTML file; name it something.html", report=report)
    past, problems = read_past(place)
    for problem in problems:
        session.warn("left out: {problem}", problem=problem)
    note_named(*(result.path for result in past))
    # An older history lies in that folder too: it was opened to see what it is, and may be replaced.
    out = Output.of(session, output).at(is_own=True)
    page = Output.of(session, report, ending="").at()
    if dataset is not None:
        name, known = (
            Path(dataset).name.removesuffix(".jsonl"),
            dict.fromkeys(result.dataset for result in past),
        )
        if name not in known:
            raise unknown(said("gold set"), name, list(known))
        past = [result for result in past if result.dataset == name]
    if not past:
        raise InputError("{place}: no results of eval or score here; run `eval` first", place=place)
    named = groups(past)
    session.show(history_lines(named))
    document = history_document(named)
    out.document("history", **document)
    if page.path is not None:
        from tiny_graph_rag.report.html import history_page

        page.write([history_page(place.name, document).encode("utf-8", "replace")])
        session.say("report: {path}", path=page.path)
