"""`sweep`: which --hops, --top-k and retriever."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import Without, command
from tiny_graph_rag.cli.linking import Linking
from tiny_graph_rag.cli.options import (
    Chosen,
    Common,
    Dataset,
    Folders,
    Graph,
    Measured,
    Reporting,
    Retrieving,
    comma_list,
    flags,
)
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session, check_cutoff, check_measures, described
from tiny_graph_rag.errors import UsageError

if TYPE_CHECKING:
    from tiny_graph_rag.measures import Measure

MOST_HOPS = 50  # the diameter of no graph that anyone would walk


@command(app, "sweep")
def sweep_command(
    dataset: Dataset,
    graph: Graph,
    folders: Folders,
    retrieving: Annotated[Retrieving, Without(("hops", "retriever"))],
    chosen: Chosen,
    reporting: Reporting,
    common: Common,
    hops: Annotated[str, typer.Option("--hops", help="Hop limits to try, such as 0-6 or 1,2,4.")] = "0-4",
    top_k: Annotated[
        str | None,
        typer.Option("--top-k", help="Ranks at which measures cut, such as 1,3,5,10.", show_default="5"),
    ] = None,
    retriever: Annotated[
        str | None, typer.Option("--retriever", help="Retrievers to try (a,b).", show_default="bfs")
    ] = None,
    measures: Measured = None,
    decide_by: Annotated[
        str | None,
        typer.Option(
            "--decide-by", help="Measure that decides what is recommended.", show_default="ndcg at --top-k"
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="Loss in that measure, against the best, that is no matter.")
    ] = 0.02,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Sweep file (a CSV goes beside it); - for standard output.",
            show_default="NAME-sweep.json",
        ),
    ] = None,
) -> None:
    """Try hop limits, cutoffs and retrievers on one gold set, and say which to take."""
    from tiny_graph_rag.files import check_writable, write_atomically
    from tiny_graph_rag.measures import Measure, default_measures, parse_measures
    from tiny_graph_rag.report.json.studies import sweep_csv, sweep_parts
    from tiny_graph_rag.report.terminal.sweep import print_sweep
    from tiny_graph_rag.study.sweep import Plan, sweep

    out = Output.of(output, reporting)
    limits = parse_numbers(hops, "--hops", low=0, high=MOST_HOPS)
    session = Session.open(
        common,
        folders,
        to_stdout=out.to_stdout,
        **{**flags(retrieving), "hops": max(limits), "latency_sample": 0},
    )
    config = session.config
    cutoffs = parse_numbers(top_k, "--top-k", low=1) if top_k else (config.evaluation.top_k,)
    check_cutoff(config, max(cutoffs))
    if not 0 <= tolerance <= 1:
        raise UsageError(f"--tolerance must be from 0 to 1, got {tolerance}")
    named = parse_measures(measures) if measures is not None else ()
    deciding = (
        Measure.parse(decide_by) if decide_by else Measure("ndcg", cutoffs[-1] if 5 not in cutoffs else 5)
    )
    if deciding.kind.weight is not None:
        raise UsageError(
            f"--decide-by {deciding}: it pools its counts over questions; a question has no value"
        )

    def measures_at(cutoff: int) -> tuple[Measure, ...]:
        return tuple(dict.fromkeys([*(named or default_measures(cutoff)), deciding]))

    check_measures(config, (*named, deciding))
    plan = Plan(
        hops=limits,
        cutoffs=cutoffs,
        retrievers=comma_list(retriever) or (config.retrieval.retriever,),
        measures=measures_at,
        decide_by=deciding,
        tolerance=tolerance,
    )
    examples = session.eval_set(dataset, chosen)
    target = out.path(session, f"{examples.name}-sweep.json")
    table = target.with_suffix(".csv")
    if not out.to_stdout:
        check_writable(table)
    linking = Linking.of(session)
    if not out.to_stdout:
        read = (examples.path, session.graph_path(graph, examples), config.file)
        out.keep_apart(target, table, read=read)
    knowledge = session.graph(graph, examples)
    session.say(described(knowledge, examples))
    runs = len(plan.retrievers) * len(plan.hops)
    with session.progress("sweeping", runs * len(examples)) as progress:
        found = sweep(knowledge, examples, config, plan, progress, linking.maker)
    linking.say_spent()
    print_sweep(found, session.console)
    out.write(target, sweep_parts(found))
    if not out.to_stdout:
        write_atomically(table, [sweep_csv(found)])
    out.tell(session, sweep=target, table=table)


def parse_numbers(text: str, option: str, *, low: int, high: int | None = None) -> tuple[int, ...]:
    """`0-3,6` → (0, 1, 2, 3, 6), ascending, each once. Raises UsageError for anything else."""
    found: set[int] = set()
    for part in comma_list(text):
        bounds = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if not bounds or int(bounds[2] or bounds[1]) < int(bounds[1]):
            raise UsageError(f"{option}: wanted numbers such as 0-6 or 1,2,4, got {part!r}")
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if first < low or (high is not None and last > high):
            allowed = f"from {low} to {high}" if high is not None else f"{low} or more"
            raise UsageError(f"{option} must be {allowed}, got {part!r}")
        if last - first > 1000:
            raise UsageError(f"{option}: {part!r} are too many")
        found.update(range(first, last + 1))
    return tuple(sorted(found))
