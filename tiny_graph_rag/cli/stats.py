"""`stats`: what a knowledge graph looks like."""

from __future__ import annotations

from dataclasses import asdict

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import LOOK
from tiny_graph_rag.cli.options import Common, Details, Graph
from tiny_graph_rag.cli.output import STDOUT, Output, Written
from tiny_graph_rag.cli.session import Session


@command(app, "stats", LOOK)
def stats(common: Common, graph: Graph = None, output: Written = None, details: Details = False) -> None:
    """Show the entities, relations, types, degrees, components, aliases and problems of a graph."""
    from tiny_graph_rag.graph.statistics import statistics
    from tiny_graph_rag.report.terminal.checks import statistics_lines

    session = Session.open(common, to_stdout=output == STDOUT)
    out = Output.of(session, output).at()
    knowledge = session.graph(graph)
    found = statistics(knowledge)
    session.show(statistics_lines(knowledge.name, found, details=details))
    known = {"name": knowledge.name, "sha256": knowledge.sha256}
    counts = {**asdict(found), "degrees": {str(quantile): part for quantile, part in found.degrees.items()}}
    out.document("stats", graph=known, statistics=counts)
