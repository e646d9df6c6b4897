"""`report`: reports from results files, whenever they were made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import LOOK, OUTPUT
from tiny_graph_rag.cli.options import Common, Reports, argument, option, reports_of, to_file
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.messages import said


@command(app, "report", LOOK)
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
    title: Annotated[str | None, option("Title of the reports.", default="the gold set's name")] = None,
    since: Annotated[
        Path | None,
        option(
            "Earlier results of the same questions, to say what changed.",
            OUTPUT,
            default="the last of history/ next to the file",
        ),
    ] = None,
) -> None:
    """Show results files as a page, as Markdown, as tables or as pictures. Nothing is computed again."""
    from tiny_graph_rag.errors import InputError
    from tiny_graph_rag.inputs import find_input
    from tiny_graph_rag.outputs import output_path
    from tiny_graph_rag.report.document import read_document
    from tiny_graph_rag.report.reports import ReportError, write_reports

    session = Session.open(common)
    names = reports_of(report) or ("html",)
    folder = Path(session.config.storage.results_dir)
    earlier = find_input(since, folder, "results file") if since is not None else None
    documents = [
        replace(
            read_document(find_input(result, folder, "results file")),
            title=title or "",
            since=earlier,
        )
        for result in results
    ]
    target = output_path(output, folder) if output is not None else None
    failed: list[ReportError] = []
    for path in write_reports(documents, names, target, claim=session.outputs.claim, failed=failed):
        session.say("report: {path}", path=path)
    if failed:
        # The program writes no file that it can't show; this one was changed in a way that no check saw.
        raise InputError(
            *(
                said(
                    "{path}: the file was changed and can't be shown: {why}",
                    path=documents[0].path,
                    why=failure,
                )
                for failure in failed
            )
        )
