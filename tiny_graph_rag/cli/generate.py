"""`generate`: a gold set from a graph alone."""

from __future__ import annotations

from typing import Annotated

import typer

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import Without, command
from tiny_graph_rag.cli.gold_files import GoldOutput
from tiny_graph_rag.cli.help import GOLD
from tiny_graph_rag.cli.options import Common, Folders, Graph, from_config
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import FoundProblems


@command(app, "generate", GOLD)
def generate_command(
    graph: Graph,
    folders: Folders,
    common: Annotated[Common, Without(("lang",))],
    n: Annotated[int, typer.Option("--n", help="Questions wanted.")] = 200,
    shapes: Annotated[
        str | None,
        typer.Option(
            "--shapes",
            help="Shapes and variants, with shares: chain=40,count=20,alias-noise=40.",
            show_default="all of them",
        ),
    ] = None,
    hops: Annotated[str, typer.Option("--hops", help="Hops of the questions: 2, or 1-4.")] = "1-4",
    lang: Annotated[
        str | None,
        typer.Option("--lang", help="Language of the questions: en or ko.", show_default="the graph's"),
    ] = None,
    vocabulary: Annotated[str | None, from_config("--vocabulary")] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Gold set to write, under --dataset-dir; - for standard output.",
            show_default="GRAPH-generated.jsonl",
        ),
    ] = None,
) -> None:
    """Make a gold set from a graph alone: questions whose answers the graph itself decides."""
    from tiny_graph_rag.gold.generate import SHARES, Wanted, generate, parse_hops, parse_shapes
    from tiny_graph_rag.graph.names import NameIndex
    from tiny_graph_rag.report.terminal.gold_sets import print_generated

    to = GoldOutput(output)
    session = Session.open(common, folders, to_stdout=to.to_stdout, vocabulary=vocabulary)
    wanted = Wanted(
        n,
        parse_shapes(shapes) if shapes is not None else SHARES,
        shapes is not None and "=" in shapes,
        parse_hops(hops),
        lang or "",
        session.config.evaluation.seed,
    )
    knowledge = session.graph(graph)
    path = to.path(session, f"{knowledge.name}-generated.jsonl", read=(session.graph_path(graph),))
    names = NameIndex.of(knowledge)
    found = generate(knowledge, names, wanted)
    if not found.questions:
        raise FoundProblems(
            f"{knowledge.name}: no question found in {len(knowledge.relations):,} relations; every one was "
            "trivial, ambiguous or beyond --hops"
        )
    to.write(path, found.questions)
    print_generated(found, wanted.n, session.console)
    if not to.to_stdout:
        to.stamp(path, knowledge, names)
        session.say(f"gold set: {path}")
