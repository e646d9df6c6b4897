"""`visualize`: a whole graph as one page."""

from __future__ import annotations

from typing import Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import LOOK
from tiny_graph_rag.cli.options import Common, Graph, option, to_file
from tiny_graph_rag.cli.output import STDOUT, Output
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.messages import counted


@command(app, "visualize", LOOK)
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
    from tiny_graph_rag.formats.graphs import graph_name
    from tiny_graph_rag.report.graph_page import core_of, graph_page

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
