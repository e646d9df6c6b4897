"""`generate`: a gold set from a graph alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.gold_files import gold_output, pin, write_gold
from tiny_graph_rag.cli.help import GOLD
from tiny_graph_rag.cli.options import Common, Graph, option, to_file
from tiny_graph_rag.cli.output import STDOUT
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import FoundProblems, amount

if TYPE_CHECKING:
    pass


@command(app, "generate", GOLD)
def generate_command(
    common: Common,
    graph: Graph = None,
    n: Annotated[int, option("Number of questions to generate.")] = 200,
    shapes: Annotated[
        str | None,
        option("Shapes and variants, with shares: chain=50,alias-noise=50.", default="all of them"),
    ] = None,
    hops: Annotated[str, option("Hops of the questions: 2, or 1-3.")] = "1-3",
    output: Annotated[
        str | None,
        to_file("Gold set to write, under --dataset-dir; - for standard output.", "GRAPH-generated.jsonl"),
    ] = None,
) -> None:
    """Generate a gold set from a graph: questions whose answers are computed on the graph.

    They are in the language of `--lang`, else in the graph's."""
    from tiny_graph_rag.gold.generate import SHARES, Wanted, generate, parse_hops, parse_shapes
    from tiny_graph_rag.graph.names import NameIndex
    from tiny_graph_rag.report.terminal.checks import generated_lines

    format = None if output is None or Path(output).suffix else "jsonl"
    session = Session.open(common, to_stdout=output == STDOUT)
    wanted = Wanted(
        n,
        parse_shapes(shapes) if shapes is not None else SHARES,
        shapes is not None and "=" in shapes,
        parse_hops(hops),
        common.lang or "",
        session.config.evaluation.seed,
    )
    knowledge = session.graph(graph)
    out = gold_output(session, output, format, f"{knowledge.name}-generated.jsonl")
    names = NameIndex.of(knowledge)
    found = generate(knowledge, names, wanted)
    if not found.questions:
        raise FoundProblems(
            "{graph}: no question can be made from {relations}; every one was trivial, ambiguous or "
            "beyond --hops",
            graph=knowledge.name,
            relations=amount(len(knowledge.relations), "relation"),
        )
    session.show(generated_lines(found, wanted.n, knowledge.name))
    write_gold(out, found.questions, format)
    if out.path is not None:
        pin(out, format, knowledge, names)
        session.say("gold set: {path}", path=out.path)
