"""`stats`: what a knowledge graph looks like."""

from __future__ import annotations

from dataclasses import asdict

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import LOOK
from tiny_graph_rag.cli.options import Common, Folders, Graph
from tiny_graph_rag.cli.output import STDOUT, DocumentOutput, Written
from tiny_graph_rag.cli.session import Session


@command(app, "stats", LOOK)
def stats(graph: Graph, folders: Folders, common: Common, output: Written = None) -> None:
    """Show the entities, relations, types, degrees, components, aliases and problems of a graph."""
    from tiny_graph_rag.graph.statistics import statistics
    from tiny_graph_rag.report.terminal.graph import statistics_lines

    session = Session.open(common, folders, to_stdout=output == STDOUT)
    out = DocumentOutput.of(session, output)
    knowledge = session.graph(graph)
    found = statistics(knowledge)
    session.show(statistics_lines(knowledge.name, found))
    known = {"name": knowledge.name, "sha256": knowledge.sha256}
    counts = {**asdict(found), "degrees": {str(quantile): part for quantile, part in found.degrees.items()}}
    out.write("stats", graph=known, statistics=counts)
