"""`stats` and `visualize`: what a knowledge graph looks like, in figures and as a page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.options import Common, Details, Graph, option, to_file
from tiny_graph_rag.cli.output import STDOUT, Output, Written
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.formats.graphs import graph_name
from tiny_graph_rag.graph.statistics import statistics
from tiny_graph_rag.messages import counted
from tiny_graph_rag.report.graph_page import core_of, graph_page
from tiny_graph_rag.report.terminal.checks import statistics_lines


@command(app, "stats")
def stats(common: Common, graph: Graph = None, output: Written = None, details: Details = False) -> None:
    """Show the entities, relations, types, degrees, components, aliases and problems of a graph."""
    session = Session.open(common, to_stdout=output == STDOUT)
    out = Output.of(session, output).at()
    knowledge = session.graph(graph)
    found = statistics(knowledge)
    session.show(statistics_lines(knowledge.name, found, details=details))
    known = {"name": knowledge.name, "sha256": knowledge.sha256}
    counts = {**asdict(found), "degrees": {str(quantile): part for quantile, part in found.degrees.items()}}
    out.document("stats", graph=known, statistics=counts)


@command(app, "visualize")
def visualize_command(
    common: Common,
    graph: Graph = None,
    max_nodes: Annotated[
        int,
        option(
            "Largest number of entities to draw; those with the most relations come first.", min=1, max=1000
        ),
    ] = 200,
    output: Annotated[str | None, to_file("Page to write.", "NAME-graph.html")] = None,
) -> None:
    """Draw a graph as one HTML page that opens offline, and list what was left out."""
    session = Session.open(common, to_stdout=output == STDOUT)
    path = session.graph_path(graph)
    out = Output.of(session, output, ending="").at(f"{graph_name(path)}-graph.html")
    knowledge = session.graph(path)
    core = core_of(knowledge, max_nodes)
    out.write([graph_page(knowledge, core).encode("utf-8", "replace")])
    for line in core.left_out:
        session.say("left out: {what}", what=line)
    session.say(
        "drew {entities} and {relations}: {path}",
        entities=counted(len(core.entities), "{n} entity", "{n} entities"),
        relations=counted(len(core.relations), "{n} relation", "{n} relations"),
        path=out.path or STDOUT,
    )
