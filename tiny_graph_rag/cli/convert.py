"""`convert`: a graph of one writer for another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import MORE, OUTPUT
from tiny_graph_rag.cli.options import Common, Graph, PatchFile, from_config, option, to_file
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import amount
from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.formats.graphs import DATABASE, ENDING, graph_name, write_vocabulary
from tiny_graph_rag.formats.graphs.writing import write_graph
from tiny_graph_rag.formats.writing import GRAPH_WRITERS, form_of
from tiny_graph_rag.gold.examples import EvalSet


@command(app, "convert")
def convert(
    common: Common,
    output: Annotated[Path, to_file("File to write; its suffix sets the format.", default=False)],
    graph: Graph = None,
    query: Annotated[str | None, from_config("--query", panel=MORE)] = None,
    to: Annotated[
        str | None,
        option(
            "Format to write: kg-json, graphml or triples.",
            OUTPUT,
            flag="--format",
            default="by suffix",
        ),
    ] = None,
    patch: PatchFile = None,
) -> None:
    """Write a graph for another program: KG JSON, GraphML or triples."""
    session = Session.open(common, patch=patch, query=query)
    form = form_of(GRAPH_WRITERS, output, to, "--format")
    session.outputs.claim(output)
    words = None
    if session.patch is not None and session.patch.has_words:
        words = output.with_name(f"{graph_name(output)}{ENDING}")
        session.outputs.claim(words)
    knowledge = session.graph(graph)
    knowledge, _ = session.patched(knowledge, EvalSet(()))
    for line in write_graph(knowledge, output, form):
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
        path=output,
        form=form,
    )
    if DATABASE.match(str(graph)) and form == "kg-json":
        session.say("fingerprint (SHA-256): {sha256}", sha256=sha256_of(output))
