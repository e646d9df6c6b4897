"""`measures`: every measure with its definition."""

from __future__ import annotations

import sys

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import LOOK
from tiny_graph_rag.cli.options import Common
from tiny_graph_rag.cli.output import STDOUT, Output, Written
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.messages import ENGLISH, speaking, t


@command(app, "measures", LOOK)
def measures(common: Common, output: Written = None) -> None:
    """List every measure with its spelling, range, definition and source."""
    from tiny_graph_rag.measures.reference import listed

    session = Session.open(common, to_stdout=output == STDOUT)
    rows = listed()
    fields = ("name", "range", "definition", "source")
    with speaking(ENGLISH):  # files are in English
        listing = [dict(zip(fields, row, strict=True)) for row in listed()]
    Output.of(session, output).at().document("measures", measures=listing)
    if session.to_stdout:
        return
    if not sys.stdout.isatty():
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        for name, its_span, definition, source in rows:
            session.say(f"{name:{widths[0]}}  {its_span:{widths[1]}}  {definition} [{source}]")
        return
    from tiny_graph_rag.report.tables import View

    heads = (t("measure"), t("range"), t("definition"), t("cited from"))
    session.show([View(heads, tuple(rows), (0, 1, 2, 3))])
