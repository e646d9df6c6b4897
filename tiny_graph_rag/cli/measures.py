"""`measures`: every measure with its definition."""

from __future__ import annotations

import sys

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.options import Common
from tiny_graph_rag.cli.session import Session


@command(app, "measures")
def measures(common: Common) -> None:
    """List every measure with its spelling, range, definition and source."""
    from tiny_graph_rag.measures.reference import listed

    session = Session.open(common)
    rows = listed()
    if not sys.stdout.isatty():
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        for name, its_span, definition, source in rows:
            session.say(f"{name:{widths[0]}}  {its_span:{widths[1]}}  {definition} [{source}]")
        return
    from tiny_graph_rag.report.terminal import Table, escape

    table = Table()
    for column in ("measure", "range", "definition", "source"):
        table.add_column(column, no_wrap=column in ("measure", "range"))
    for row in rows:
        table.add_row(*map(escape, row))
    session.console.print(table)
