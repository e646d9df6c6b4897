"""`generate`: a gold set from a graph alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tiny_graph_rag.cli.asking import Model
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.gold_files import gold_output, pin, write_gold
from tiny_graph_rag.cli.help import OPTIONS
from tiny_graph_rag.cli.options import Graph, option, settings, to_file
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import FoundProblems, amount
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.generate import SHARES, Wanted, generate, names_an_answer, parse_hops, parse_shapes
from tiny_graph_rag.gold.rewrite import rewrite_call, rewritten
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.llm.chat import require_api
from tiny_graph_rag.report.terminal.checks import generated_lines

if TYPE_CHECKING:
    from tiny_graph_rag.llm.base import Call


@command("generate", settings(("--model", OPTIONS)))
def generate_command(
    session: Session,
    graph: Graph = None,
    n: Annotated[int, option("Number of questions to generate.")] = 200,
    shapes: Annotated[
        str | None,
        option("Shapes and variants, with shares: chain=50,alias-noise=50.", default="all of them"),
    ] = None,
    hops: Annotated[str, option("Hops of the questions: 2, or 1-3.")] = "1-3",
    rewrite: Annotated[bool, option("Let a model reword the questions as people would ask them.")] = False,
    dry_run: Annotated[bool, option("Show calls, tokens and cost of --rewrite; call nothing.")] = False,
    max_cost: Annotated[float | None, option("Most USD that --rewrite may cost.", min=0.0)] = None,
    resume: Annotated[bool, option("Continue an interrupted --rewrite from its journal.")] = False,
    output: Annotated[
        str | None,
        to_file("Gold set to write, under --dataset-dir; - for standard output.", "GRAPH-generated.jsonl"),
    ] = None,
) -> None:
    """Generate a gold set from a graph: questions whose answers are computed on the graph.

    They are in the language of `--lang`, else in the graph's."""
    format = None if output is None or Path(output).suffix else "jsonl"
    if rewrite and not dry_run:
        require_api(session.config, "--rewrite")
    wanted = Wanted(
        n,
        parse_shapes(shapes) if shapes is not None else SHARES,
        shapes is not None and "=" in shapes,
        parse_hops(hops),
        session.common.lang or "",
        session.config.evaluation.seed,
    )
    knowledge = session.graph(graph)
    out = gold_output(session, output, format, f"{knowledge.name}-generated.jsonl")
    rewriting = None
    if rewrite:
        journal = None if dry_run else _journal(out)
        rewriting = Model.of(session, "rewriting", cap_usd=max_cost, journal=journal, resume=resume)
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
    if rewriting is not None:
        calls = _calls(session, knowledge, found.questions)
        if dry_run:
            _forecast(rewriting, calls)
            return
        found = replace(found, questions=_rewritten(rewriting, found.questions, calls))
    write_gold(out, found.questions, format)
    if out.path is not None:
        pin(out, format, knowledge, names)
        session.say("gold set: {path}", path=out.path)


def _journal(out: Output) -> Path:
    """Of `--rewrite`: next to the gold set, else in the folder of gold sets."""
    from tiny_graph_rag.llm.kept import journal_path

    path = out.path or Path(out.session.config.storage.dataset_dir, "generated.jsonl")
    return journal_path(path.with_name(f"{path.stem}-rewrite.json"))


def _calls(session: Session, graph: KnowledgeGraph, questions: Sequence[Example]) -> list[Call]:
    """What a model is asked for each question; a reply that names an answer is no question."""
    names, settings = NameIndex.of(graph), session.config.openai
    rows = {
        question.id: [names.resolve(name)[0][0] for name in question.reference_entities]
        for question in questions
    }
    return [
        rewrite_call(question, settings, lambda one, text: names_an_answer(graph, text, rows[one.id]))
        for question in questions
    ]


def _forecast(model: Model, calls: Sequence[Call]) -> None:
    from tiny_graph_rag.llm.cost import forecast
    from tiny_graph_rag.report.terminal.answers import forecast_lines

    name = model.session.config.openai.model
    found = forecast(calls, model.tariff.counter(name))
    model.session.show(forecast_lines([("rewriting", found, found.cost_usd(model.tariff.price(name)))]))


def _rewritten(model: Model, questions: Sequence[Example], calls: Sequence[Call]) -> tuple[Example, ...]:
    """The questions in the model's words. Raises ServiceError where the API can't be used at all."""
    try:
        with model.progress("rewriting", len(calls)) as done:
            outcomes = model.chat.ask(calls, done)
    finally:
        model.close()
    made, kept = rewritten(questions, calls, outcomes)
    model.session.say(
        "{made} questions rewritten, {kept} kept their template",
        made=f"{len(made) - kept:,}",
        kept=f"{kept:,}",
    )
    model.say_paid()
    return made
