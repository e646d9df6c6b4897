"""`score`: anyone's run against anyone's gold set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.gating import Floors, Gates
from tiny_graph_rag.cli.help import DETAIL, INPUT, MEASURE, MEASURES, OUTPUT
from tiny_graph_rag.cli.options import (
    Chosen,
    Cluster,
    Common,
    Folders,
    Graph,
    Label,
    Measured,
    Reporting,
    comma_list,
    from_config,
)
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session, selection
from tiny_graph_rag.errors import UsageError, at
from tiny_graph_rag.messages import said, t

if TYPE_CHECKING:
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.measures import Measure
    from tiny_graph_rag.measures.textual import TextMatch
    from tiny_graph_rag.report.json.score import Wish, Written
    from tiny_graph_rag.scoring.opening import Opened, Request
    from tiny_graph_rag.scoring.stretches import Collected
    from tiny_graph_rag.study.waterfall import Listed

ROUGE_THRESHOLD = 0.5
NAMED = ("jsonl", "contest")  # formats of gold sets whose references are names


@command(app, "score", MEASURE)
def score(
    run: Annotated[
        Path,
        typer.Option(
            "--run",
            help="Run file: TREC, JSONL, JSON, CSV, TSV or Parquet (each shape: docs/runs.md).",
            rich_help_panel=INPUT,
        ),
    ],
    gold: Annotated[
        Path,
        typer.Option(
            "--gold",
            help="Gold set: JSONL, JSON, TREC qrels, CSV, TSV or Parquet.",
            rich_help_panel=INPUT,
        ),
    ],
    folders: Folders,
    chosen: Chosen,
    reporting: Reporting,
    common: Common,
    floors: Floors,
    graph: Annotated[
        Path | None,
        typer.Option("-g", "--graph", help="Knowledge graph: names become entities.", rich_help_panel=INPUT),
    ] = None,
    run_format: Annotated[
        str | None,
        typer.Option(
            "--run-format",
            help="What the run file is.",
            show_default="by content",
            rich_help_panel=INPUT + DETAIL,
        ),
    ] = None,
    gold_format: Annotated[
        str | None,
        typer.Option(
            "--gold-format",
            help="What the gold set is.",
            show_default="by content",
            rich_help_panel=INPUT + DETAIL,
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option("--split", help="Only this split of a gold table.", rich_help_panel=INPUT + DETAIL),
    ] = None,
    measures: Measured = None,
    label: Label = None,
    top_k: Annotated[int | None, from_config("--top-k", panel=MEASURES)] = None,
    match: Annotated[
        str | None,
        typer.Option(
            "--match",
            help="When a retrieved item is a reference: name, id, text, rouge1, rouge2, rougeL.",
            show_default="id or name",
            rich_help_panel=MEASURES,
        ),
    ] = None,
    rouge_threshold: Annotated[
        float,
        typer.Option(
            "--rouge-threshold",
            help="ROUGE F1 from which a text is a reference.",
            rich_help_panel=MEASURES + DETAIL,
        ),
    ] = ROUGE_THRESHOLD,
    cluster_address: Cluster = None,
    ties: Annotated[
        str,
        typer.Option(
            "--ties",
            help="Equal scores: list (file order) or trec (float32, then id descending).",
            rich_help_panel=MEASURES + DETAIL,
        ),
    ] = "list",
    ambiguous: Annotated[str | None, from_config("--ambiguous", panel=MEASURES + DETAIL)] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Results file; - for standard output.",
            show_default="RUN-results.json",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Score a run that any program made against a gold set in any of the common formats."""
    import numpy as np

    from tiny_graph_rag.files import bare_name, find_input, sha256_meanwhile
    from tiny_graph_rag.measures import default_measures
    from tiny_graph_rag.report.json.numbers import head
    from tiny_graph_rag.report.json.score import Wish, document_parts
    from tiny_graph_rag.scoring.matching import Matching
    from tiny_graph_rag.scoring.opening import Request, attempts
    from tiny_graph_rag.scoring.stretches import Collected
    from tiny_graph_rag.scoring.trec_gold import AnotherWay
    from tiny_graph_rag.study.waterfall import Listed

    if ambiguous not in (None, "first") and graph is None:
        raise UsageError(said("--ambiguous looks at the entities of a graph; name the graph with -g"))
    text_match = _text_match(match, rouge_threshold, on_graph=graph is not None)
    out = Output.of(output, reporting)
    session = Session.open(common, folders, to_stdout=out.to_stdout, top_k=top_k, ambiguous=ambiguous)
    gates = floors.checked(session)
    config = session.config
    cutoff = config.evaluation.top_k
    wanted = _measures(measures, gates, cutoff, on_graph=graph is not None)
    matching = Matching.of(
        config.evaluation.relation_match,
        config.evaluation.match if match in (None, "name") else match,
        rouge_threshold,
    )
    request = Request(
        find_input(run, Path(config.storage.results_dir), "run"),
        find_input(gold, Path(config.storage.dataset_dir), "gold set"),
        run_format,
        gold_format,
        split,
        ties,
        config.evaluation.ambiguous,
        chosen.limit,
        comma_list(chosen.tags),
        comma_list(chosen.ids),
        matching,
    )
    target = out.path(session, f"{selection(chosen).named(bare_name(request.run))}-results.json")
    graph_path = session.graph_path(Graph(graph)) if graph is not None else None
    session.outputs.confirm()
    knowledge = session.graph(Graph(graph)) if graph is not None else None
    scored_on = {"name": knowledge.name, "sha256": knowledge.sha256} if knowledge else None
    wish = Wish(
        wanted,
        tuple(default_measures(cutoff)),
        cutoff,
        config.evaluation.shown_ranks,
        text_match,
        matching,
        config.evaluation.ambiguous,
    )
    run_sum, gold_sum = sha256_meanwhile(request.run), sha256_meanwhile(request.gold)
    for opened in attempts(request, knowledge, text_match):
        collected, listed = Collected(wish.measures, wish.also), Listed(cutoff)
        parts = document_parts(
            head("score", session.made(label), graph=scored_on, config=config.as_dict()),
            partial(_sources, opened, request.run.name, run_sum, gold_sum),
            _written(session, opened, wish, knowledge, graph_path, cluster_address),
            collected,
            knowledge,
            cutoff=cutoff,
            usage=opened.usage,
            listed=listed,
        )
        try:
            # Nothing is shown of an attempt that another one has to repeat.
            out.write(session, target, [b"".join(parts)] if out.to_stdout else parts)
        except AnotherWay:
            continue
        break
    _show(session, request, opened, wish, collected, listed, on_graph=knowledge is not None)
    out.tell(session, results=target)
    seconds = np.array(collected.latencies, dtype=np.float64)
    per_second = len(seconds) / seconds.sum() if seconds.sum() > 0 else None
    outcomes = gates.hold(collected.found(), seconds, per_second)
    gates.conclude(session, outcomes, "score", None if out.to_stdout else target)


def _measures(measures: str | None, gates: Gates, cutoff: int, *, on_graph: bool) -> tuple[Measure, ...]:
    """What is computed: the measures asked for, then those of gates. Raises UsageError for one that looks at
    a graph where none is given."""
    from tiny_graph_rag.measures import default_measures, parse_measures

    named = parse_measures(measures) if measures is not None else default_measures(cutoff)
    wanted = tuple(dict.fromkeys([*named, *gates.measures]))
    for name in wanted:
        if name.kind.needs == "graph" and not on_graph:
            raise UsageError(
                said("measure {measure} looks at a graph's relations; name the graph with -g", measure=name)
            )
    return wanted


def _show(
    session: Session,
    request: Request,
    opened: Opened,
    wish: Wish,
    collected: Collected,
    listed: Listed,
    *,
    on_graph: bool,
) -> None:
    """What the terminal says: warnings, means, and where recall is lost as far as a run tells."""
    from tiny_graph_rag.report.terminal.summary import print_summary

    for line in opened.notes():
        session.warn(at(request.run.name, line))
    print_summary(collected.found(), session.console)
    steps, _ = listed.waterfalls(collected.tags)
    if steps and not math.isnan(steps[0].recall):
        from tiny_graph_rag.report.terminal.evaluation import waterfall_table

        session.console.print(waterfall_table(steps, wish.cutoff))
    elif not on_graph and wish.match is None and opened.gold_format in NAMED:
        session.say(
            t("names were compared as they are written; with a graph (-g), an alias counts as its entity")
        )


def _written(
    session: Session,
    opened: Opened,
    wish: Wish,
    graph: KnowledgeGraph | None,
    path: Path | None,
    address: str | None,
) -> Iterator[Written]:
    """What becomes of each stretch, here or on the workers of a cluster."""
    from tiny_graph_rag.report.json.score import written, written_on

    if address is None or opened.run is None:
        if address is not None:
            session.note(
                t(
                    "a large TREC run is scored while it is read, so a cluster doesn't make it faster: it "
                    "is scored on this machine"
                )
            )
        yield from (written(stretch, wish) for stretch in opened.stretches)
        return
    from tiny_graph_rag.retrieval.cluster import ClusterClient, Shared
    from tiny_graph_rag.scoring.judging import AT_ONCE, parts, with_its_run

    questions = opened.questions
    with ClusterClient.open(address) as cluster, session.progress("scoring", len(questions)) as progress:
        size = cluster.parts_of(len(questions), AT_ONCE)[0].stop
        shards = [(wish, *with_its_run(part, opened.run)) for part in parts(questions, opened.run, size)]
        done = 0

        def more(place: int) -> None:
            nonlocal done
            done += len(shards[place][1])
            progress(done)

        shared = Shared.of(graph, path, session.config)
        yield from cluster.mapped(shared, written_on, shards, more)


def _sources(
    opened: Opened, run: str, run_sum: Callable[[], str], gold_sum: Callable[[], str]
) -> dict[str, dict[str, Any]]:
    """Which files were scored, known when their sums are."""
    return {
        "dataset": {"name": opened.gold_name, "sha256": gold_sum(), "selection": opened.selection},
        "run": {"name": run, "sha256": run_sum(), "format": opened.run_format},
    }


def _text_match(kind: str | None, threshold: float, *, on_graph: bool) -> TextMatch | None:
    """Raises UsageError for what is no way to match, or a threshold that nothing is held against."""
    if kind is not None and on_graph:
        raise UsageError(
            said("--match compares strings and texts; with -g names become entities. Leave one out")
        )
    if threshold != ROUGE_THRESHOLD and not (kind or "").startswith("rouge"):
        raise UsageError(said("--rouge-threshold goes with --match rouge1, rouge2 or rougeL"))
    if kind is None:
        return None
    from tiny_graph_rag.measures.textual import TextMatch

    return TextMatch(kind, threshold)
