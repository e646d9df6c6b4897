"""`stats`: what a knowledge graph looks like."""

from __future__ import annotations

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.options import Common, Folders, Graph
from tiny_graph_rag.cli.session import Session


@command(app, "stats")
def stats(graph: Graph, folders: Folders, common: Common) -> None:
    """Count a graph's entities, relations, types, degrees, components, aliases and flaws."""
    from tiny_graph_rag.graph.statistics import statistics
    from tiny_graph_rag.report.terminal.graph import print_statistics

    session = Session.open(common, folders)
    knowledge = session.graph(graph)
    print_statistics(knowledge.name, statistics(knowledge), session.console)
