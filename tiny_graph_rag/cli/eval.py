"""`eval`: retrieve for every question of a gold set and score what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace

from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import MORE
from tiny_graph_rag.cli.options import (
    ANSWERING,
    CUTTING,
    PATCHING,
    RETRIEVING,
    Chosen,
    Dataset,
    Details,
    Generating,
    Graph,
    Label,
    Measured,
    Reports,
    option,
    to_file,
)
from tiny_graph_rag.cli.output import FailUnder, Junit, Output, hold, keep_earlier, run_output, write_run
from tiny_graph_rag.cli.session import PROGRESS_FROM, Session, shell_command
from tiny_graph_rag.linking import asks_model, make_linker
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import telling
from tiny_graph_rag.outputs import refuse_dash
from tiny_graph_rag.report.json import Spelled
from tiny_graph_rag.report.json.results import content_head, document_parts, question, summary
from tiny_graph_rag.report.tables import reference_lines, worst_rows
from tiny_graph_rag.report.terminal.screens import answered_counts, details_lines, evaluation_lines
from tiny_graph_rag.results import as_read
from tiny_graph_rag.retrieval import RetrieverMaker, check_retrieval, is_own, make_retriever
from tiny_graph_rag.study.evaluate import Evaluation, evaluate, measured
from tiny_graph_rag.study.gates import check_tags, parse_floors
from tiny_graph_rag.study.settings import tried_by_eval

if TYPE_CHECKING:
    from tiny_graph_rag.cli.answering import Answering


@command("eval", RETRIEVING, ANSWERING, CUTTING, PATCHING)
def evaluate_command(
    session: Session,
    dataset: Dataset,
    generating: Generating,
    chosen: Chosen,
    graph: Graph = None,
    fail_under: FailUnder = None,
    junit: Junit = None,
    report: Reports = None,
    output: Annotated[
        str | None,  # not a Path: that would lose a leading "./"
        to_file("Results file; - for standard output.", "NAME-results.json"),
    ] = None,
    measures: Measured = None,
    label: Label = None,
    save_run: Annotated[str | None, option("Write the whole run (.trec, .jsonl, .csv).", MORE)] = None,
    details: Details = False,
) -> None:
    """Score a knowledge graph's retrieval against a gold set, overall and by tag."""
    config = session.config
    check_retrieval(config)
    if config.generation.judge:
        from tiny_graph_rag.answers.rubrics import parse_judges

        parse_judges(config.generation.judge)
    gates = parse_floors(fail_under) if fail_under is not None else ()
    computed = measured(config, measures, [gate.measure for gate in gates])
    refuse_dash(save_run or "")
    saved, form = run_output(session, save_run)
    examples = session.eval_set(dataset, chosen)
    check_tags(gates, {tag for example in examples for tag in example.tags})
    out = Output.of(session, output, f"{examples.file_name}-results.json", report)
    generating.check()
    answering: Answering | None = None
    if asks_model(config) or not generating.skip_generation:
        from tiny_graph_rag.cli.answering import prepare  # what asks a model is half the program

        answering = prepare(session, generating, examples, out.path)
    path = session.graph_path(graph, examples)

    with session.cluster() as cluster:
        knowledge = session.graph(path, examples)
        knowledge, examples = session.patched(knowledge, examples)
        if generating.dry_run and asks_model(config) and answering is not None:
            unlinked = config.override(linker="none", latency_sample=0)
            answering.forecast(evaluate(knowledge, examples, unlinked, computed))
            return
        own, n = is_own(config.retrieval.retriever), len(examples)
        with (
            nullcontext(make_linker) if answering is None else answering.linker_maker(n) as linker,
            session.progress("retrieving", n, least=0 if own else PROGRESS_FROM) as progress,
        ):
            retriever: RetrieverMaker = make_retriever
            if cluster is not None:
                from tiny_graph_rag.retrieval.cluster import sharing

                retriever = sharing(cluster, path, progress)
            if own:
                retriever = asking_own(session, out.path, progress, resume=generating.resume)
            shown = (lambda done: None) if own else progress
            evaluation = evaluate(
                knowledge, examples, config, computed, shown, linker, retriever, every_kind=measures is None
            )
    evaluation = replace(evaluation, decision=tried_by_eval(evaluation))
    found = summary(evaluation)
    flags = {flag: session.given[flag] for flag in (*RETRIEVING, *CUTTING, *PATCHING)}
    again = {"dataset": dataset, "graph": graph, **flags, **session.common.again}
    _show(session, evaluation, found, partial(shell_command, **again), asdict(chosen))
    if answering is not None:
        if generating.dry_run:
            answering.forecast(evaluation)
            return
        evaluation = answering.answered(evaluation)
    if out.path is not None:
        keep_earlier(session, out.path)
    parts: Iterable[bytes] = document_parts(evaluation, session.made(label), found)
    if details:
        import msgspec

        parts = [b"".join(parts)]
        session.show(details_lines(msgspec.json.decode(parts[0])))
    out.write(parts)
    out.tell("results")
    write_run(saved, evaluation, form)
    failed = () if answering is None else answering.problems(evaluation)
    hold(session, gates, evaluation.summary, junit, failed)


def _show(
    session: Session,
    evaluation: Evaluation,
    found: dict[str, Any],
    command_line: Callable[..., str],
    selection: dict[str, object],
) -> None:
    """One screen. found: the results file's `summary`. command_line: of a command with the same files and
    settings. selection: which questions of the gold set."""
    worst = _worst_of(evaluation)
    commands = {} if worst is None else {"query": command_line("query", id=worst[0])}
    if not is_own(evaluation.config.retrieval.retriever) and session.patch is None:
        commands["fix"] = command_line("fix", **selection)
    content = content_head(evaluation, found)
    counts = answered_counts(Measure("recall", found["k"]).compute(evaluation.judged))
    session.show(evaluation_lines(content, counts, worst, commands))
    for line in evaluation.notes:
        session.say(line)


def _worst_of(evaluation: Evaluation) -> tuple[str, str, int] | None:
    """The question to look at first: its id, what became of its first missed reference, and how many
    questions score as low. None where every question is answered, or no measure says how well."""
    measure = telling(list(evaluation.scores))
    if measure is None:
        return None
    values = evaluation.scores[measure]
    rows = worst_rows(values.tolist())
    if not rows:
        return None
    found = as_read(question(evaluation, rows[0], Spelled(evaluation.graph)))
    became = next(reference_lines(found, evaluation.explanation.diagnosis.limits.hops), "")
    return found["id"], became, int((values == values[rows[0]]).sum())


def asking_own(
    session: Session, results: Path | None, progress: Callable[[int, str], None], *, resume: bool
) -> RetrieverMaker:
    """A function of the user's as the retriever, with this run's journal next to its results."""
    from tiny_graph_rag.retrieval.own import JOURNAL_ENDING, make_own

    journal = None
    if results is not None:
        journal = results.with_name(results.name.removesuffix(".json") + JOURNAL_ENDING)
        session.outputs.claim(journal, is_own=True)
    return make_own(session.config, journal=journal, resume=resume, done=progress)
