"""`score`: anyone's run against anyone's gold set."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import INPUT, MEASURES, MORE
from tiny_graph_rag.cli.options import CUTTING, Chosen, Details, Label, Measured, Reports, option, to_file
from tiny_graph_rag.cli.output import FailUnder, Junit, Output, hold, keep_earlier
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.formats.gold import GOLD_FORMATS
from tiny_graph_rag.formats.runs import RUN_FORMATS
from tiny_graph_rag.gold.examples import GRADED
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import bare_name, find_input
from tiny_graph_rag.measures import Measure, default_measures, parse_measures
from tiny_graph_rag.measures.judged import PASSAGES
from tiny_graph_rag.measures.textual import TextMatch
from tiny_graph_rag.report.json import head
from tiny_graph_rag.report.json.score import Wish, document_parts, summary
from tiny_graph_rag.report.terminal.screens import answered_counts, details_lines, evaluation_lines
from tiny_graph_rag.scoring.opening import Opened, Request, attempts, check_needs
from tiny_graph_rag.scoring.stretches import Collected
from tiny_graph_rag.scoring.trec import AnotherWay
from tiny_graph_rag.study.gates import parse_floors


@command("score", CUTTING)
def score(
    session: Session,
    run: Annotated[Path, option("Run file: TREC, JSONL, JSON, CSV, TSV or Parquet (docs/runs.md).", INPUT)],
    gold: Annotated[Path, option("Gold set: JSONL, JSON, TREC qrels, CSV, TSV or Parquet.", INPUT)],
    chosen: Chosen,
    graph: Annotated[
        Path | None, option("Knowledge graph: names become entities.", INPUT, short="-g")
    ] = None,
    run_format: Annotated[str | None, option("Format of the run file.", MORE, default="by content")] = None,
    gold_format: Annotated[str | None, option("Format of the gold set.", MORE, default="by content")] = None,
    measures: Measured = None,
    label: Label = None,
    match: Annotated[
        str | None,
        option(
            "When a retrieved item counts as a reference: name, id, text, contains, rouge1, rouge2, rougeL.",
            MEASURES,
            default="id or name",
        ),
    ] = None,
    ties: Annotated[
        str, option("Equal scores: list (file order) or trec (float32, then id descending).", MORE)
    ] = "list",
    fail_under: FailUnder = None,
    junit: Junit = None,
    report: Reports = None,
    output: Annotated[str | None, to_file("Results file; - for standard output.", "RUN-results.json")] = None,
    details: Details = False,
) -> None:
    """Score a run of any program against a gold set, in any common format."""
    if graph is not None:  # as `eval` has it: names are entities, and --match is for passages
        if match == "name":
            raise UsageError("--match name: with -g names become entities; leave one out")
        session = session.using(match=match)
    settings, storage = session.config.evaluation, session.config.storage
    text_match = None if match is None or graph is not None else TextMatch(match, settings.rouge_threshold)
    gates = parse_floors(fail_under) if fail_under is not None else ()
    named = parse_measures(measures) if measures is not None else default_measures(settings.top_k)
    wanted = tuple(dict.fromkeys([*named, *(gate.measure for gate in gates)]))
    check_needs(wanted, has_graph=graph is not None)
    for formats, form in ((RUN_FORMATS, run_format), (GOLD_FORMATS, gold_format)):
        if form is not None:
            formats.entry(form)
    of_passages = settings.match if match in (None, "name") else match
    request = Request(
        find_input(run, Path(storage.results_dir), "run"),
        find_input(gold, Path(storage.dataset_dir), "gold set"),
        run_format,
        gold_format,
        ties,
        chosen.selection() or None,
        TextMatch.of_passages(of_passages, settings.rouge_threshold),
    )
    name = chosen.selection().named(bare_name(request.run))
    out = Output.of(session, output, f"{name}-results.json", report)
    knowledge = session.graph(session.graph_path(graph)) if graph is not None else None
    also = tuple(default_measures(settings.top_k))
    wish = Wish(wanted, also, settings.top_k, settings.shown_ranks, text_match)
    if out.path is not None:
        keep_earlier(session, out.path)
    is_free = measures is None and not gates
    opened, collected = _attempted(session, out, request, wish, label, knowledge, is_free=is_free)
    for line in opened.notes():
        session.warn(line)
    scored = collected.found.overall.measures
    if any(measure.kind.name == "contest_map" for measure in scored):
        session.say("contest_map counts duplicates, and leaves out questions that the run doesn't have")
    if graph is not None and match is not None and not any(measure.of == PASSAGES for measure in scored):
        session.warn("--match changes nothing here: with -g it is for passages, and none were scored")
    _show(session, opened, wish, collected, request.run.name, on_graph=knowledge is not None)
    if details and out.path is not None:
        from tiny_graph_rag.report.document import read_document

        session.show(details_lines(read_document(out.path).content))
    out.tell("results")
    hold(session, gates, collected.found, junit)


def _attempted(
    session: Session,
    out: Output,
    request: Request,
    wish: Wish,
    label: str | None,
    knowledge: KnowledgeGraph | None,
    *,
    is_free: bool,
) -> tuple[Opened, Collected]:
    """Score and write, a second way where the first finds that it doesn't fit these files. is_free: nobody
    has said which measures, or what a gate needs."""
    scored_on = {"name": knowledge.name, "sha256": knowledge.sha256} if knowledge else None
    for opened in attempts(request, knowledge, wish.match):
        if is_free:
            wish = replace(wish, measures=opened.usual(wish.measures))
        collected = Collected(wish.measures)
        parts = document_parts(
            head("score", session.made(label), graph=scored_on, config=session.config.as_dict()),
            partial(_sources, opened, request),
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
        session.say(
            "names were compared as they are written; with a graph (-g), an alias counts as its entity"
        )


def _sources(opened: Opened, request: Request) -> dict[str, dict[str, Any]]:
    """Which files were scored; who asks has read them."""
    return {
        "dataset": {
            "name": opened.gold_name,
            "sha256": sha256_of(request.gold),
            "selection": opened.selection or None,
        },
        "run": {
            "name": request.run.name,
            "sha256": sha256_of(request.run),
            "format": opened.run_format,
        },
    }
