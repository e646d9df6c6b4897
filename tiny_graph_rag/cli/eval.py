"""`eval`: retrieve for every question of a gold set and score what comes back."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiny_graph_rag.cli import app, shell_command
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.gating import Floors, end_with
from tiny_graph_rag.cli.help import DETAIL, MEASURE, MEASURES, OUTPUT
from tiny_graph_rag.cli.options import (
    GENERATION_SETTINGS,
    Chosen,
    Cluster,
    Common,
    Dataset,
    Folders,
    Generating,
    Graph,
    Label,
    Measured,
    Reporting,
    Retrieving,
    comma_list,
    flags,
    from_config,
)
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import (
    PROGRESS_FROM,
    Session,
    check_cutoff,
    check_measures,
    described,
    joined,
    settings_line,
)
from tiny_graph_rag.config.sections import COMPACT, FULL
from tiny_graph_rag.errors import TinyGraphRagError, UsageError, nearest
from tiny_graph_rag.linking import asks_model, make_linker
from tiny_graph_rag.retrieval import is_own, make_retriever

if TYPE_CHECKING:
    from tiny_graph_rag.config import Config
    from tiny_graph_rag.retrieval import RetrieverMaker


@command(app, "eval", MEASURE)
def evaluate_command(
    dataset: Dataset,
    graph: Graph,
    folders: Folders,
    retrieving: Retrieving,
    generating: Generating,
    chosen: Chosen,
    reporting: Reporting,
    common: Common,
    floors: Floors,
    output: Annotated[
        str | None,  # not a Path: that would lose a leading "./"
        typer.Option(
            "-o",
            "--output",
            help="Results file; - for standard output.",
            show_default="NAME-results.json",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Run again when graph, gold set, vocabulary or settings change; show what moved.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    top_k: Annotated[int | None, from_config("--top-k", panel=MEASURES)] = None,
    measures: Measured = None,
    label: Label = None,
    latency_sample: Annotated[int | None, from_config("--latency-sample", panel=MEASURES + DETAIL)] = None,
    save_reasons: Annotated[bool | None, from_config("--save-reasons", panel=OUTPUT + DETAIL)] = None,
    results: Annotated[str | None, from_config("--results", panel=OUTPUT + DETAIL)] = None,
    cluster_address: Cluster = None,
    perturb: Annotated[
        str | None,
        typer.Option(
            "--perturb",
            help="Ask again in altered form (lower,typos,spaces,particles) and show what it costs.",
            rich_help_panel=MEASURES + DETAIL,
        ),
    ] = None,
    save_run: Annotated[
        str | None,
        typer.Option(
            "--save-run",
            help="Write the whole run: .trec, .jsonl, .csv or .parquet.",
            rich_help_panel=OUTPUT + DETAIL,
        ),
    ] = None,
    save_run_format: Annotated[
        str | None,
        typer.Option(
            "--save-run-format",
            help="trec, jsonl, csv, parquet or contest.",
            show_default="by suffix",
            rich_help_panel=OUTPUT + DETAIL,
        ),
    ] = None,
) -> None:
    """Score a knowledge graph's retrieval against a gold set, overall and by tag."""
    from tiny_graph_rag.cli.answering import prepare, priced
    from tiny_graph_rag.files import check_writable, output_path, write_atomically
    from tiny_graph_rag.gold.examples import groups_offered
    from tiny_graph_rag.measures import default_measures, parse_measures
    from tiny_graph_rag.report.json.results import document_parts
    from tiny_graph_rag.report.terminal.evaluation import print_evaluation
    from tiny_graph_rag.study.evaluate import evaluate
    from tiny_graph_rag.study.trials import trials

    out = Output.of(output, reporting)
    session = Session.open(
        common,
        folders,
        to_stdout=out.to_stdout,
        **flags(retrieving),
        top_k=top_k,
        save_reasons=save_reasons,
        results=results,
        latency_sample=latency_sample,
        **{name: getattr(generating, name) for name in GENERATION_SETTINGS},
    )
    session = priced(session, generating)
    config = session.config
    check_cutoff(config, config.evaluation.top_k)
    form = config.running.results
    if form not in (FULL, COMPACT):
        hint = nearest(form, (FULL, COMPACT))
        raise UsageError(f"--results must be {FULL} or {COMPACT}, got {form!r}{hint}")
    chosen_measures = (
        parse_measures(measures) if measures is not None else default_measures(config.evaluation.top_k)
    )
    gates = floors.checked()
    kinds = _kinds(perturb)
    if kinds and asks_model(config):
        raise UsageError("--perturb would pay for every question once more a kind; use --linker names")
    computed = tuple(dict.fromkeys([*chosen_measures, *gates.measures]))
    check_measures(config, computed)
    examples = session.eval_set(dataset, chosen)
    target = out.path(session, f"{examples.file_name}-results.json")
    saved = output_path(save_run, Path(config.storage.results_dir)) if save_run else None
    if saved is not None:
        from tiny_graph_rag.formats.runs.writing import form_of, run_parts

        form = form_of(saved, save_run_format)
        check_writable(saved)
    if watch:
        from tiny_graph_rag.cli.watching import watch as run_again

        if out.to_stdout or examples.path is None:
            raise UsageError("--watch compares results files; leave out `-o -`")
        run_again(session, target, examples.path, session.graph_path(graph, examples))
    answering = prepare(session, generating, examples, target)
    out.keep_apart(
        target,
        saved,
        gates.junit,
        read=(examples.path, session.graph_path(graph, examples), *session.files_read),
    )
    knowledge = session.graph(graph, examples)
    session.say(f"{described(knowledge, examples)} · {settings_line(config)}")
    if generating.dry_run and asks_model(config) and answering is not None:
        unlinked = config.override(linker="none", latency_sample=0)
        answering.forecast(evaluate(knowledge, examples, unlinked, computed))
        return
    own = is_own(config.retrieval.retriever)
    if own and kinds:
        raise UsageError(
            "--perturb would ask your own retriever every question once more a kind; leave it out"
        )
    with (
        joined(cluster_address) as cluster,
        nullcontext(make_linker) if answering is None else answering.linker_maker(len(examples)) as maker,
        session.progress("retrieving", len(examples), least=0 if own else PROGRESS_FROM) as progress,
    ):
        maker_of_retrievers: RetrieverMaker = make_retriever
        if cluster is not None:
            maker_of_retrievers = cluster.sharing(session.graph_path(graph, examples), progress)
        if own:
            maker_of_retrievers = asking_own(config, generating, None if out.to_stdout else target, progress)
        shown = (lambda done: None) if own else progress
        evaluation = evaluate(knowledge, examples, config, computed, shown, maker, maker_of_retrievers)
    if saved is not None:
        known = evaluation.graph.entities  # with what only the retriever knows
        questions = [each.id for each in examples]
        write_atomically(saved, run_parts(evaluation.run, questions, known.ids, known.names, form))
    evaluation = replace(evaluation, trials=trials(evaluation))
    shows = shell_command("query", dataset=dataset, graph=graph.graph, **flags(retrieving), top_k=top_k)
    print_evaluation(evaluation, session.console, lambda question: f"{shows} --id {shlex.quote(question)}")
    if not any(each.group for each in examples):
        offered = groups_offered([(each.id, each.reference_entities) for each in examples])
        if offered:
            session.say(offered)
    for line in evaluation.notes:
        session.say(line)
    if kinds:
        from tiny_graph_rag.report.terminal.evaluation import print_perturbed
        from tiny_graph_rag.study.perturb import perturb as perturbed

        evaluation = replace(evaluation, perturbed=perturbed(evaluation, kinds))
        print_perturbed(evaluation.perturbed, session.console)
    if answering is not None:
        if generating.dry_run:
            answering.forecast(evaluation)
            return
        evaluation = answering.answered(evaluation)
    out.write(target, document_parts(evaluation, session.made(label)))
    out.tell(session, results=target)
    latency = evaluation.latency
    outcomes = gates.hold(evaluation.summary.overall.measures, latency.seconds, latency.questions_per_second)
    problems = []
    if answering is not None:
        from tiny_graph_rag.cli import answering as unanswered

        problems = unanswered.problems(answering, evaluation)
    try:
        gates.conclude(session, outcomes, "eval")
    except TinyGraphRagError as failed:
        problems.insert(0, failed)
    end_with(problems)


def asking_own(
    config: Config, generating: Generating, results: Path | None, progress: Callable[[int, str], None]
) -> RetrieverMaker:
    """A function of the user's as the retriever, with this run's journal beside its results."""
    from tiny_graph_rag.retrieval.own import JOURNAL_ENDING, Asking, make_own

    journal = None
    if results is not None:
        journal = results.with_name(results.name.removesuffix(".json") + JOURNAL_ENDING)
    asking = Asking(
        config.openai.concurrency,
        config.openai.timeout,
        journal,
        generating.resume or generating.retry_failed,
        progress,
    )
    return make_own(config.retrieval.retriever, asking)


def _kinds(perturb: str | None) -> tuple[str, ...]:
    if perturb is None:
        return ()
    from tiny_graph_rag.study.perturb import parse_kinds

    return parse_kinds(comma_list(perturb))
