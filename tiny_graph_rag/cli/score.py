"""`score`: anyone's run against anyone's gold set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.gating import FailUnder, Junit, hold
from tiny_graph_rag.cli.help import INPUT, MEASURES, MORE
from tiny_graph_rag.cli.options import CUTTING, Chosen, Label, Measured, Reports, option, to_file
from tiny_graph_rag.cli.output import Output, keep_earlier
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import UsageError, at
from tiny_graph_rag.files import sha256_meanwhile
from tiny_graph_rag.formats.gold.base import GOLD_FORMATS
from tiny_graph_rag.formats.runs import WrittenRun
from tiny_graph_rag.formats.runs.base import RUN_FORMATS
from tiny_graph_rag.gold.examples import GRADED
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import bare_name, find_input
from tiny_graph_rag.measures import Measure, default_measures, parse_measures
from tiny_graph_rag.measures.judged import PASSAGES
from tiny_graph_rag.measures.textual import TextMatch
from tiny_graph_rag.report.json.score import Wish, document_parts, summary
from tiny_graph_rag.report.json.spelled import head
from tiny_graph_rag.report.terminal.screens import answered_counts, evaluation_lines
from tiny_graph_rag.scoring.opening import Opened, Request, attempts, check_needs
from tiny_graph_rag.scoring.stretches import Collected
from tiny_graph_rag.scoring.trec import AnotherWay
from tiny_graph_rag.study.gates import Gate, parse_floors


@dataclass(frozen=True, slots=True)
class Scoring:
    """A gold set, and how a run is scored against it."""

    gold: Annotated[Path, option("Gold set: JSONL, JSON, TREC qrels, CSV, TSV or Parquet.", INPUT)]
    graph: Annotated[Path | None, option("Knowledge graph: names become entities.", INPUT, short="-g")] = None
    run_format: Annotated[str | None, option("Format of the run file.", MORE, default="by content")] = None
    gold_format: Annotated[str | None, option("Format of the gold set.", MORE, default="by content")] = None
    measures: Measured = None
    label: Label = None
    match: Annotated[
        str | None,
        option(
            "When a retrieved item counts as a reference: name, id, text, contains, rouge1, rouge2, rougeL.",
            MEASURES,
            default="id or name",
        ),
    ] = None
    ties: Annotated[
        str, option("Equal scores: list (file order) or trec (float32, then id descending).", MORE)
    ] = "list"

    def text_match(self, threshold: float) -> TextMatch | None:
        """How texts are compared, None where names become entities. threshold: of ROUGE. Raises UsageError
        for what is no way to match."""
        if self.match == "name" and self.graph is not None:
            raise UsageError("--match name: with -g names become entities; leave one out")
        if self.match is None or self.graph is not None:
            return None
        return TextMatch(self.match, threshold)

    def request(self, session: Session, run: Path, chosen: Chosen) -> Request:
        """The two files, and how they are read. Raises InputError where one is not there."""
        if self.run_format is not None:
            RUN_FORMATS.entry(self.run_format)
        if self.gold_format is not None:
            GOLD_FORMATS.entry(self.gold_format)
        storage, settings = session.config.storage, session.config.evaluation
        match = settings.match if self.match in (None, "name") else self.match
        passage_match = TextMatch.of_passages(match, settings.rouge_threshold)
        return Request(
            find_input(run, Path(storage.results_dir), "run"),
            find_input(self.gold, Path(storage.dataset_dir), "gold set"),
            self.run_format,
            self.gold_format,
            self.ties,
            settings.ambiguous,
            chosen.selection() or None,
            passage_match,
        )

    def computed(self, gates: Sequence[Gate], cutoff: int) -> tuple[Measure, ...]:
        """The measures asked for, then those of gates. Raises UsageError for one that looks at a graph where
        none is given."""
        named = parse_measures(self.measures) if self.measures is not None else default_measures(cutoff)
        wanted = tuple(dict.fromkeys([*named, *(gate.measure for gate in gates)]))
        check_needs(wanted, has_graph=self.graph is not None)
        return wanted


@command("score", CUTTING)
def score(
    session: Session,
    how: Scoring,
    chosen: Chosen,
    run: Annotated[Path, option("Run file: TREC, JSONL, JSON, CSV, TSV or Parquet (docs/runs.md).", INPUT)],
    fail_under: FailUnder = None,
    junit: Junit = None,
    report: Reports = None,
    output: Annotated[str | None, to_file("Results file; - for standard output.", "RUN-results.json")] = None,
) -> None:
    """Score a run of any program against a gold set, in any common format."""
    of_passages = how.match if how.graph is not None else None  # as `eval` has it: names are entities there
    session = session.using(match=of_passages)
    if session.config.evaluation.ambiguous != "first" and how.graph is None:
        raise UsageError("evaluation.ambiguous needs a graph; add -g")
    text_match = how.text_match(session.config.evaluation.rouge_threshold)
    gates = parse_floors(fail_under) if fail_under is not None else ()
    config = session.config
    cutoff = config.evaluation.top_k
    wanted = how.computed(gates, cutoff)
    request = how.request(session, run, chosen)
    part, name = request.selection, bare_name(request.run)
    out = Output.of(session, output, f"{name if part is None else part.named(name)}-results.json", report)
    graph_path = session.graph_path(how.graph) if how.graph is not None else None
    knowledge = session.graph(graph_path) if graph_path is not None else None
    wish = Wish(
        wanted,
        tuple(default_measures(cutoff)),
        cutoff,
        config.evaluation.shown_ranks,
        text_match,
    )
    if out.path is not None:
        keep_earlier(session, out.path)
    opened, collected = _attempted(session, out, request, wish, how, gates, knowledge)
    for line in opened.notes():
        session.warn(at(request.run.name, line))
    if of_passages is not None and not any(
        measure.of == PASSAGES for measure in collected.found.overall.measures
    ):
        session.warn("--match changes nothing here: with -g it is for passages, and none were scored")
    _show(session, opened, wish, collected, request.run.name, on_graph=knowledge is not None)
    out.tell("results")
    hold(session, gates, collected.found, junit)


def _attempted(
    session: Session,
    out: Output,
    request: Request,
    wish: Wish,
    how: Scoring,
    gates: Sequence[Gate],
    knowledge: KnowledgeGraph | None,
) -> tuple[Opened, Collected]:
    """Score and write, a second way where the first finds that it doesn't fit these files."""
    scored_on = {"name": knowledge.name, "sha256": knowledge.sha256} if knowledge else None
    run_sum, gold_sum = sha256_meanwhile(request.run), sha256_meanwhile(request.gold)
    for opened in attempts(request, knowledge, wish.match):
        if how.measures is None and not gates:
            wish = of_what_is_there(wish, opened.run)
        collected = Collected(wish.measures)
        parts = document_parts(
            head("score", session.made(how.label), graph=scored_on, config=session.config.as_dict()),
            partial(_sources, opened, request.run.name, run_sum, gold_sum),
            opened.stretches,
            wish,
            collected,
            knowledge,
            opened.usage,
        )
        try:
            # Nothing is shown of an attempt that another one has to repeat.
            out.write([b"".join(parts)] if out.to_stdout else parts)
        except AnotherWay:
            continue
        break
    return opened, collected


def of_what_is_there(wish: Wish, run: WrittenRun | None) -> Wish:
    """The same measures of passages, where these are all that a run has."""
    if run is None or run.lists_entities or run.passages is None:
        return wish
    of_passages = {measure: Measure.parse(f"{PASSAGES}:{measure}") for measure in wish.also}
    return replace(wish, measures=tuple(of_passages.get(measure, measure) for measure in wish.measures))


def _show(
    session: Session,
    opened: Opened,
    wish: Wish,
    collected: Collected,
    run: str,
    *,
    on_graph: bool,
) -> None:
    """One screen: the means, and where recall is lost as far as a run tells."""
    found = summary(collected, wish.cutoff, opened.usage)
    content = {
        "kind": "score",
        "dataset": {"name": opened.gold_name},
        "run": {"name": run},
        "summary": found,
    }
    counts = answered_counts(collected.whole.scores[Measure("recall", wish.cutoff)])
    session.show(evaluation_lines(content, counts, None, {}))
    listed = [question for question in opened.questions if question.reference_entities]
    if not on_graph and wish.match is None and listed and opened.gold_format not in GRADED:
        if any(question.judges_chunks for question in listed):
            session.say("ids of chunks were compared as they are written")
        else:
            session.say(
                "names were compared as they are written; with a graph (-g), an alias counts as its entity"
            )


def _sources(
    opened: Opened, run: str, run_sum: Callable[[], str], gold_sum: Callable[[], str]
) -> dict[str, dict[str, Any]]:
    """Which files were scored, known when their sums are."""
    return {
        "dataset": {
            "name": opened.gold_name,
            "sha256": gold_sum(),
            "selection": opened.selection or None,
        },
        "run": {"name": run, "sha256": run_sum(), "format": opened.run_format},
    }
