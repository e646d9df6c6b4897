"""`measures`: every measure with its definition."""

from __future__ import annotations

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.options import Common, command
from tiny_graph_rag.cli.session import Session


@command(app, "measures")
def measures(common: Common) -> None:
    """List every measure with its spelling, definition, range and source."""

    from tiny_graph_rag.metrics import KINDS
    from tiny_graph_rag.metrics.reference import span, spelling
    from tiny_graph_rag.report.screen import Table, escape

    table = Table()
    for column in ("measure", "range", "definition", "source"):
        table.add_column(column, no_wrap=column in ("measure", "range"))
    for each in KINDS.values():
        table.add_row(*map(escape, (spelling(each), span(each), each.definition, each.source)))
    Session.open(common).console.print(table)
