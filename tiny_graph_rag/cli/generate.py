"""`generate`: a gold set from a graph alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import Without, command
from tiny_graph_rag.cli.gold_files import GoldOutput
from tiny_graph_rag.cli.help import GOLD, OPTIONS
from tiny_graph_rag.cli.linking import asking
from tiny_graph_rag.cli.options import Cluster, Common, Folders, Graph, from_config, option, to_file
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import FoundProblems, UsageError, amount
from tiny_graph_rag.messages import said

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import Example
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.llm.base import Call
    from tiny_graph_rag.llm.setup import Tariff


@command(app, "generate", GOLD)
def generate_command(
    graph: Graph,
    folders: Folders,
    common: Annotated[Common, Without(("lang",))],
    n: Annotated[int, option("Number of questions to generate.")] = 200,
    shapes: Annotated[
        str | None,
        option("Shapes and variants, with shares: chain=40,count=20,alias-noise=40.", default="all of them"),
    ] = None,
    hops: Annotated[str, option("Hops of the questions: 2, or 1-4.")] = "1-4",
    lang: Annotated[
        str | None, option("Language of the questions: en or ko.", default="the graph's language")
    ] = None,
    vocabulary: Annotated[str | None, from_config("--vocabulary", panel=OPTIONS)] = None,
    rewrite: Annotated[bool, option("Let a model reword the questions as people would ask them.")] = False,
    model: Annotated[str | None, from_config("--model", panel=OPTIONS)] = None,
    concurrency: Annotated[int | None, from_config("--concurrency", panel=OPTIONS)] = None,
    dry_run: Annotated[bool, option("Show calls, tokens and cost of --rewrite; call nothing.")] = False,
    max_cost: Annotated[float | None, option("Most USD that --rewrite may cost.", min=0.0)] = None,
    resume: Annotated[bool, option("Continue an interrupted --rewrite from its journal.")] = False,
    cluster_address: Cluster = None,
    output: Annotated[
        str | None,
        to_file("Gold set to write, under --dataset-dir; - for standard output.", "GRAPH-generated.jsonl"),
    ] = None,
) -> None:
    """Generate a gold set from a graph: questions whose answers are computed on the graph."""
    from tiny_graph_rag.gold.generate import SHARES, Wanted, generate, parse_hops, parse_shapes
    from tiny_graph_rag.graph.names import NameIndex
    from tiny_graph_rag.report.terminal.gold_sets import generated_lines

    to = GoldOutput(output, None if output is None or Path(output).suffix else "jsonl")
    session = Session.open(
        common,
        folders,
        to_stdout=to.to_stdout,
        vocabulary=vocabulary,
        model=model,
        concurrency=concurrency,
    )
    rewriting = Rewriting.of(session, max_cost, resume=resume, dry_run=dry_run) if rewrite else None
    wanted = Wanted(
        n,
        parse_shapes(shapes) if shapes is not None else SHARES,
        shapes is not None and "=" in shapes,
        parse_hops(hops),
        lang or "",
        session.config.evaluation.seed,
    )
    knowledge = session.graph(graph)
    path = to.path(session, f"{knowledge.name}-generated.jsonl")
    names = NameIndex.of(knowledge)
    with session.cluster(cluster_address) as cluster:
        if cluster is None:
            found = generate(knowledge, names, wanted)
        else:
            from tiny_graph_rag.gold.generate import generate_on
            from tiny_graph_rag.retrieval.cluster import Shared

            shared = Shared.of(knowledge, session.graph_path(graph), session.config)
            (found,) = cluster.mapped(shared, generate_on, [wanted])
    if not found.questions:
        raise FoundProblems(
            "{graph}: no question can be made from {relations}; every one was trivial, ambiguous or "
            "beyond --hops",
            graph=knowledge.name,
            relations=amount(len(knowledge.relations), "relation"),
        )
    session.show(generated_lines(found, wanted.n, knowledge.name))
    if rewriting is not None:
        if dry_run:
            rewriting.forecast(knowledge, found.questions)
            return
        found = replace(found, questions=rewriting.said(knowledge, found.questions, path))
    to.write(session, path, found.questions)
    if not to.to_stdout:
        to.pin(session, path, knowledge, names)
        session.say("gold set: {path}", path=path)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """`--rewrite`: priced, capped, journaled and cached like all calls."""

    session: Session
    tariff: Tariff
    max_cost: float | None
    resume: bool

    @classmethod
    def of(cls, session: Session, max_cost: float | None, *, resume: bool, dry_run: bool) -> Rewriting:
        """Before any work. Raises UsageError without an API, and for a cap without a price."""
        from tiny_graph_rag.llm.endpoint import Endpoint
        from tiny_graph_rag.llm.setup import HOW_TO_TURN_ON, Tariff, can_ask

        if not dry_run and not can_ask(session.config):
            raise UsageError("{option} needs an API: {how}", option="--rewrite", how=said(HOW_TO_TURN_ON))
        tariff, name = Tariff(session.config), session.config.openai.model
        if not dry_run:
            Endpoint.of(session.config)  # an address that may not be asked is refused before any work
        session.say(asking("rewriting", tariff, name))
        if max_cost is not None:
            tariff.require_prices((name,))
        return cls(session, tariff, max_cost, resume)

    def _calls(self, graph: KnowledgeGraph, questions: Sequence[Example]) -> list[Call]:
        from tiny_graph_rag.gold.generate import names_an_answer
        from tiny_graph_rag.gold.rewrite import rewrite_call
        from tiny_graph_rag.graph.names import NameIndex

        names, settings = NameIndex.of(graph), self.session.config.openai
        rows = {
            question.id: [names.resolve(name)[0][0] for name in question.reference_entities]
            for question in questions
        }
        return [
            rewrite_call(question, settings, lambda one, text: names_an_answer(graph, text, rows[one.id]))
            for question in questions
        ]

    def forecast(self, graph: KnowledgeGraph, questions: Sequence[Example]) -> None:
        from tiny_graph_rag.answers.forecast import forecast
        from tiny_graph_rag.report.terminal.answers import forecast_lines

        name = self.session.config.openai.model
        found = forecast(self._calls(graph, questions), self.tariff.counter(name))
        rows = [("rewriting", found, found.cost_usd(self.tariff.price(name)))]
        self.session.show(forecast_lines(rows))

    def said(self, graph: KnowledgeGraph, questions: Sequence[Example], path: Path) -> tuple[Example, ...]:
        """The questions in the model's words. Raises ServiceError where the API can't be used at all."""
        from tiny_graph_rag.cli.linking import say_paid
        from tiny_graph_rag.gold.rewrite import rewritten
        from tiny_graph_rag.llm.kept import journal_path
        from tiny_graph_rag.llm.setup import open_chat

        journal = journal_path(path.with_name(f"{path.stem}-rewrite.json"))
        self.session.outputs.claim(journal, is_own=True)
        chat = open_chat(self.session.config, self.tariff, journal, resume=self.resume, cap_usd=self.max_cost)
        calls = self._calls(graph, questions)
        try:
            with self.session.progress("rewriting", len(calls), least=0) as bar:
                outcomes = chat.ask(calls, lambda outcome: bar(chat.ledger.asked + chat.ledger.known))
        finally:
            if chat.journal is not None:
                chat.journal.close()
        made, kept = rewritten(questions, calls, outcomes)
        self.session.say(
            "{made} questions rewritten, {kept} kept their template",
            made=f"{len(made) - kept:,}",
            kept=f"{kept:,}",
        )
        say_paid(self.session, chat)
        return made
