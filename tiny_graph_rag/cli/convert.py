"""`convert`: a graph of one writer for another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import LOOK, MORE, OUTPUT
from tiny_graph_rag.cli.options import Common, Graph, PatchFile, argument, from_config, option, to_file
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import UsageError, amount
from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.formats.graphs import DATABASE, ENDING, graph_name, write_vocabulary
from tiny_graph_rag.formats.graphs.writing import write_graph
from tiny_graph_rag.formats.writing import GRAPH_WRITERS, form_of
from tiny_graph_rag.gold.examples import EvalSet


@command(app, "convert", LOOK)
def convert(
    common: Common,
    source: Annotated[
        Path | None,
        argument(
            "Graph: a file or folder in any supported format, or a database (neo4j://host/db).", default=False
        ),
    ] = None,
    target: Annotated[
        Path | None,
        argument("File to write; its suffix sets the format. For Parquet, a folder.", default=False),
    ] = None,
    graph: Graph = None,
    query: Annotated[str | None, from_config("--query", panel=MORE)] = None,
    output: Annotated[Path | None, to_file("File to write (same as TARGET).")] = None,
    to: Annotated[
        str | None,
        option(
            "Format to write: kg-json, graphml, triples or parquet.",
            OUTPUT,
            flag="--format",
            default="by suffix",
        ),
    ] = None,
    patch: PatchFile = None,
) -> None:
    """Write a graph for another program: KG JSON, GraphML, triples or Parquet."""
    session = Session.open(common, patch=patch, query=query)
    given = [path for path in (source, target) if path is not None]
    if graph is not None:
        given.insert(0, graph)
    if output is not None:
        given.append(output)
    if len(given) != 2:
        raise UsageError(
            "convert wants a graph and a file to write (GRAPH TARGET, or -g GRAPH -o TARGET), got {given}",
            given=len(given),
        )
    source, target = given
    form = form_of(GRAPH_WRITERS, target, to, "--format")
    for path in GRAPH_WRITERS[form].files(target):
        session.outputs.claim(path)
    words = target.with_name(f"{graph_name(target)}{ENDING}") if _adds_words(session) else None
    if words is not None:
        session.outputs.claim(words)
    knowledge = session.graph(source)
    knowledge, _ = session.patched(knowledge, EvalSet(()))
    for line in write_graph(knowledge, target, form):
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
        f"{knowledge.name} ({knowledge.origin.writer}): {amount(len(knowledge), 'entity', 'entities')}, "
        f"{amount(len(knowledge.relations), 'relation')} → {target} ({form})"
    )
    if DATABASE.match(str(source)) and form == "kg-json":
        session.say("fingerprint (SHA-256): {sha256}", sha256=sha256_of(target))


def _adds_words(session: Session) -> bool:
    return session.patch is not None and session.patch.has_words
