"""`stats`, `visualize`, `convert`: what a graph looks like, and a graph for another program."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import MORE, OUTPUT
from tiny_graph_rag.cli.options import PATCHING, Details, GraphAlone, option, settings, to_file
from tiny_graph_rag.cli.output import Output, Written
from tiny_graph_rag.cli.session import STDOUT, Session
from tiny_graph_rag.errors import amount
from tiny_graph_rag.formats.graphs import graph_name
from tiny_graph_rag.formats.writing import GRAPH_FORMS, form_of, graph_parts
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.statistics import statistics
from tiny_graph_rag.graph.vocabulary import ENDING, write_vocabulary
from tiny_graph_rag.messages import counted
from tiny_graph_rag.outputs import refuse_dash
from tiny_graph_rag.report.graph_page import core_of, graph_page
from tiny_graph_rag.report.terminal.checks import statistics_lines


@command("stats")
def stats(
    session: Session, graph: GraphAlone = None, output: Written = None, details: Details = False
) -> None:
    """Show the entities, relations, types, degrees, components, aliases and problems of a graph."""
    out = Output.of(session, output)
    knowledge = session.graph(graph)
    found = statistics(knowledge)
    session.show(statistics_lines(knowledge.name, found, details=details))
    known = {"name": knowledge.name, "sha256": knowledge.sha256}
    counts = {**asdict(found), "degrees": {str(quantile): part for quantile, part in found.degrees.items()}}
    out.document("stats", graph=known, statistics=counts)


@command("visualize")
def visualize_command(
    session: Session,
    graph: GraphAlone = None,
    max_nodes: Annotated[
        int,
        option(
            "Largest number of entities to draw; those with the most relations come first.", min=1, max=1000
        ),
    ] = 200,
    output: Annotated[str | None, to_file("Page to write.", "NAME-graph.html")] = None,
) -> None:
    """Draw a graph as one HTML page that opens offline, and list what was left out."""
    path = session.graph_path(graph)
    out = Output.of(session, output, f"{graph_name(path)}-graph.html", ending=".html")
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


@command("convert", PATCHING, settings(("--query", MORE)))
def convert(
    session: Session,
    output: Annotated[
        str, to_file("File to write; its suffix sets the format; - for standard output.", default=False)
    ],
    graph: GraphAlone = None,
    to: Annotated[
        str | None,
        option(
            "Format to write: kg-json, graphml or triples.",
            OUTPUT,
            flag="--format",
            default="by suffix",
        ),
    ] = None,
) -> None:
    """Write a graph for another program: KG JSON, GraphML or triples."""
    out = Output.of(session, output if output == STDOUT else None, Path(output), ending="")
    path = out.path or Path("graph.json")
    form = form_of(GRAPH_FORMS, path, to)
    words = None
    if session.patch is not None and session.patch.has_words:
        refuse_dash(output)  # the words are a file of their own
        words = session.outputs.claim(path.with_name(f"{graph_name(path)}{ENDING}"))
    knowledge, _ = session.patched(session.graph(graph), EvalSet(()))
    out.write(graph_parts(knowledge, path, form))
    for line in GRAPH_FORMS[form].losses(knowledge):
        session.warn(line)
    if words is not None:
        write_vocabulary(words, knowledge.vocabulary)
        session.say("vocabulary: {path}", path=words)
    if session.patch is not None and session.patch.settings:
        session.warn(
            "a graph holds no settings; give these as options, or in config.yaml: {settings}",
            settings=session.patch.settings,
        )
    session.say(
        "{name} ({writer}): {entities}, {relations} → {path} ({form})",
        name=knowledge.name,
        writer=knowledge.origin.writer,
        entities=amount(len(knowledge), "entity", "entities"),
        relations=amount(len(knowledge.relations), "relation"),
        path=out.path or STDOUT,
        form=form,
    )
