"""`eval`: retrieve for every question of a gold set and score what comes back."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from tiny_graph_rag.cli import app, shell_command
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.gating import Floors, Gates, end_with
from tiny_graph_rag.cli.help import MEASURE, MORE, OUTPUT
from tiny_graph_rag.cli.options import (
    ANSWERING,
    RETRIEVING,
    SCORING,
    Chosen,
    Cluster,
    Common,
    Dataset,
    Folders,
    Generating,
    Given,
    Graph,
    Label,
    Measured,
    PatchFile,
    Reporting,
    comma_list,
    option,
    to_file,
)
from tiny_graph_rag.cli.output import Output, keep_earlier, warn_unlisted
from tiny_graph_rag.cli.session import (
    PROGRESS_FROM,
    Session,
    check_cutoff,
    check_measures,
    described,
    settings_line,
)
from tiny_graph_rag.errors import TinyGraphRagError, UsageError
from tiny_graph_rag.linking import asks_model, make_linker
from tiny_graph_rag.retrieval import check_retrieval, is_own, make_retriever

if TYPE_CHECKING:
    from tiny_graph_rag.config import Config
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.measures import Measure
    from tiny_graph_rag.retrieval import RetrieverMaker
    from tiny_graph_rag.study.evaluate import Evaluation


@command(app, "eval", MEASURE)
def evaluate_command(
    dataset: Dataset,
    graph: Graph,
    folders: Folders,
    retrieving: Annotated[Given, RETRIEVING],
    generating: Generating,
    answers: Annotated[Given, ANSWERING],
    chosen: Chosen,
    reporting: Reporting,
    common: Common,
    floors: Floors,
    scoring: Annotated[Given, SCORING],
    output: Annotated[
        str | None,  # not a Path: that would lose a leading "./"
        to_file("Results file; - for standard output.", "NAME-results.json"),
    ] = None,
    watch: Annotated[
        bool,
        option(
            "Run again whenever the graph, gold set, vocabulary or settings change, and show what moved.",
            OUTPUT,
        ),
    ] = False,
    measures: Measured = None,
    patch: PatchFile = None,
    label: Label = None,
    cluster_address: Cluster = None,
    perturb: Annotated[
        str | None,
        option(
            "Ask again with changed questions (lower,typos,spaces,particles) and show how much is lost.",
            hidden=True,
        ),
    ] = None,
    repeat: Annotated[
        int,
        option(
            "Ask your own retriever this many times and show whether its order changes.", min=1, hidden=True
        ),
    ] = 1,
    save_run: Annotated[
        str | None, option("Write the whole run (.trec, .jsonl, .csv, .parquet).", MORE)
    ] = None,
    save_run_format: Annotated[
        str | None,
        option(
            "Format of --save-run: trec, jsonl, csv, parquet or contest.",
            flag="--format",
            default="by suffix",
            hidden=True,
        ),
    ] = None,
) -> None:
    """Score a knowledge graph's retrieval against a gold set, overall and by tag."""
    from tiny_graph_rag.cli.answering import prepare, priced, problems
    from tiny_graph_rag.fixing.asking import trials
    from tiny_graph_rag.report.json.results import document_parts, summary
    from tiny_graph_rag.study.evaluate import evaluate

    out = Output.of(output, reporting)
    session = Session.open(
        common,
        folders,
        to_stdout=out.to_stdout,
        patch=patch,
        **retrieving,
        **scoring,
        **answers,
    )
    if generating.has_prices:
        session = priced(session, generating)
    config = session.config
    check_retrieval(config)
    if repeat > 1 and not is_own(config.retrieval.retriever):
        raise UsageError("--repeat is for your own retriever; a built-in one always gives the same order")
    gates = floors.checked(session)
    computed = _measures(config, measures, gates)
    altered = _altered(config, perturb)
    saved = SavedRun.of(session, save_run, save_run_format)
    examples = session.eval_set(dataset, chosen)
    gates.check_tags({tag for example in examples for tag in example.tags})
    target = out.path(session, f"{examples.file_name}-results.json")
    if watch:
        _run_again(session, target, examples, graph)
    generating.check()
    asks = asks_model(config) or not generating.skip_generation
    answering = prepare(session, generating, examples, target) if asks else None
    session.graph_path(graph, examples)
    session.outputs.confirm()

    with session.cluster(cluster_address) as cluster:
        knowledge = session.graph(graph, examples)
        session.say(f"{described(knowledge, examples)} · {settings_line(config)}")
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
                retriever = cluster.sharing(session.graph_path(graph, examples), progress)
            if own:
                journal_of = None if out.to_stdout else target
                retriever = asking_own(session, generating, journal_of, progress, repeat)
            shown = (lambda done: None) if own else progress
            evaluation = evaluate(
                knowledge, examples, config, computed, shown, linker, retriever, every_kind=measures is None
            )
    if saved is not None:
        saved.write(session, evaluation)

    evaluation = replace(evaluation, trials=trials(evaluation))
    shows = shell_command(
        "query", dataset=dataset, graph=graph.graph, patch=patch, **retrieving, top_k=scoring["top_k"]
    )
    found = summary(evaluation)
    _show(session, evaluation, found, shows)
    if altered:
        evaluation = _asked_altered(session, evaluation, altered)
    if answering is not None:
        if generating.dry_run:
            answering.forecast(evaluation)
            return
        evaluation = answering.answered(evaluation)
    if not out.to_stdout:
        keep_earlier(session, target)
    out.write(session, target, document_parts(evaluation, session.made(label), found))
    out.tell(session, results=target)
    _conclude(
        session,
        gates,
        evaluation,
        problems(answering, evaluation) if answering else [],
        None if out.to_stdout else target,
    )


def _measures(config: Config, measures: str | None, gates: Gates) -> tuple[Measure, ...]:
    """What is computed: the measures asked for, then those of gates. Raises UsageError for an unknown one
    or cuts deeper than retrieval goes."""
    from tiny_graph_rag.measures import default_measures, parse_measures

    cutoff = config.evaluation.top_k
    check_cutoff(config, cutoff)
    chosen = parse_measures(measures) if measures is not None else default_measures(cutoff)
    computed = tuple(dict.fromkeys([*chosen, *gates.measures]))
    check_measures(config, computed)
    return computed


def _altered(config: Config, perturb: str | None) -> tuple[str, ...]:
    """The kinds of --perturb. Raises UsageError for an unknown one, and where asking again is expensive."""
    if perturb is None:
        return ()
    from tiny_graph_rag.study.perturb import parse_kinds

    kinds = parse_kinds(comma_list(perturb))
    if asks_model(config):
        raise UsageError(
            "--perturb would pay for every question again for each kind of change; use --linker names"
        )
    if is_own(config.retrieval.retriever):
        raise UsageError(
            "--perturb would ask your own retriever every question again for each kind of change; "
            "leave out --perturb"
        )
    return kinds


@dataclass(frozen=True, slots=True)
class SavedRun:
    """`--save-run`: where the whole run goes, and in which form."""

    path: Path
    form: str

    @classmethod
    def of(cls, session: Session, path: str | None, form: str | None) -> Self | None:
        """Before any work. Raises UsageError for an unknown format, or a file that can't be written."""
        if path is None:
            if form is not None:
                raise UsageError("--format {form} needs --save-run FILE", form=form)
            return None
        from tiny_graph_rag.formats.writing import RUN_WRITERS, form_of
        from tiny_graph_rag.outputs import output_path

        target = output_path(path, Path(session.config.storage.results_dir))
        return cls(session.outputs.claim(target), form_of(RUN_WRITERS, target, form, "--format"))

    def write(self, session: Session, evaluation: Evaluation) -> None:
        import numpy as np

        from tiny_graph_rag.formats.runs.writing import run_parts

        known = evaluation.graph.entities  # with what only the retriever knows
        run, questions = evaluation.run, [example.written_id for example in evaluation.examples]
        if run.failures:  # in a file an empty list would be an answer, so a question that failed is left out
            answered = np.array([row for row in range(len(run)) if row not in run.failures], dtype=np.int64)
            run, questions = run.of(answered), [questions[row] for row in answered.tolist()]
        session.outputs.write(self.path, run_parts(run, questions, known.ids, known.names, self.form))
        warn_unlisted(session, self.form, int((np.diff(run.offsets) == 0).sum()))


def _run_again(session: Session, target: Path, examples: EvalSet, graph: Graph) -> None:
    """--watch: whenever a file changes, until somebody ends it."""
    from tiny_graph_rag.cli.watching import watch

    if session.to_stdout or examples.path is None:
        raise UsageError("--watch compares results files; leave out `-o -`")
    watch(session, target, examples.path, session.graph_path(graph, examples))


def _show(session: Session, evaluation: Evaluation, found: dict[str, Any], shows: str) -> None:
    """The terminal's report. found: the results file's `summary`. shows: the command that shows one question,
    but for its id."""
    from tiny_graph_rag.gold.examples import groups_offered
    from tiny_graph_rag.report.terminal.evaluation import evaluation_lines

    session.show(
        evaluation_lines(
            evaluation,
            found,
            session.console.width,
            lambda question: f"{shows} --id {shlex.quote(question)}",
        )
    )
    if not any(row_question.group for row_question in evaluation.examples):
        offered = groups_offered(
            [(row_question.id, row_question.reference_entities) for row_question in evaluation.examples]
        )
        if offered:
            session.say(offered)
    for line in evaluation.notes:
        session.say(line)


def _asked_altered(session: Session, evaluation: Evaluation, kinds: tuple[str, ...]) -> Evaluation:
    from tiny_graph_rag.report.terminal.evaluation import perturbed_lines
    from tiny_graph_rag.study.perturb import perturb

    evaluation = replace(evaluation, perturbed=perturb(evaluation, kinds))
    session.show(perturbed_lines(evaluation.perturbed))
    return evaluation


def _conclude(
    session: Session,
    gates: Gates,
    evaluation: Evaluation,
    problems: list[TinyGraphRagError],
    results: Path | None,
) -> None:
    """Hold the gates. Raises all that went wrong as one, a failed gate first. problems: of the answers.
    results: the file that was written, None for standard output."""
    latency = evaluation.latency
    outcomes = gates.hold(evaluation.summary, latency.seconds, latency.questions_per_second)
    try:
        gates.conclude(session, outcomes, "eval", results)
    except TinyGraphRagError as failed:
        problems = [failed, *problems]
    end_with(problems)


def asking_own(
    session: Session,
    generating: Generating,
    results: Path | None,
    progress: Callable[[int, str], None],
    repeat: int = 1,
) -> RetrieverMaker:
    """A function of the user's as the retriever, with this run's journal next to its results."""
    from tiny_graph_rag.retrieval.own import Asking, make_own
    from tiny_graph_rag.retrieval.own_replies import JOURNAL_ENDING

    config, journal = session.config, None
    if results is not None:
        journal = results.with_name(results.name.removesuffix(".json") + JOURNAL_ENDING)
        session.outputs.claim(journal, is_own=True)
    asking = Asking(
        config.openai.concurrency,
        config.openai.timeout,
        journal,
        generating.resume or generating.retry_failed,
        repeat=repeat,
        done=progress,
    )
    return make_own(config.retrieval.retriever, asking)
