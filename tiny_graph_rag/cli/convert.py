"""`convert`: a graph of one writer for another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import LOOK, OUTPUT
from tiny_graph_rag.cli.options import Common, Folders, Graph
from tiny_graph_rag.cli.output import keep_apart
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import amount


@command(app, "convert", LOOK)
def convert(
    source: Annotated[Path, typer.Argument(help="Graph: a file or a folder of any known writer.")],
    target: Annotated[
        Path, typer.Argument(help="File to write, its form by suffix; a folder for a Parquet pair.")
    ],
    folders: Folders,
    common: Common,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="kg-json, graphml, node-link, triples or parquet.",
            show_default="by suffix",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Write a graph for another program: KG JSON, GraphML, node-link JSON, triples or Parquet."""
    from tiny_graph_rag.files import check_writable
    from tiny_graph_rag.formats.graphs.writing import check_form, form_of, write_graph

    session = Session.open(common, folders)
    form = form_of(target, to)
    check_form(form)
    is_pair = form == "parquet"
    check_writable(target / "entities.parquet" if is_pair and target.suffix != ".parquet" else target)
    graph = Graph(source, None)
    keep_apart((target,), (session.graph_path(graph),))
    knowledge = session.graph(graph)
    for line in write_graph(knowledge, target, form):
        session.warn(line)
    session.say(
        f"{knowledge.name} ({knowledge.origin.writer}): {amount(len(knowledge), 'entity', 'entities')}, "
        f"{amount(len(knowledge.relations), 'relation')} → {target} ({form})"
    )
