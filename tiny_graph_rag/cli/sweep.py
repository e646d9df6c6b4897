"""`sweep`: which --hops, --top-k and retriever."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import Without, command
from tiny_graph_rag.cli.gating import end_with
from tiny_graph_rag.cli.help import DETAIL, MEASURE, MEASURES, OUTPUT, RETRIEVAL
from tiny_graph_rag.cli.linking import Linking
from tiny_graph_rag.cli.options import (
    Chosen,
    Cluster,
    Common,
    Dataset,
    Folders,
    Graph,
    Label,
    Measured,
    Reporting,
    Retrieving,
    comma_list,
    flags,
)
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session, check_cutoff, check_measures, described, joined, settings_line
from tiny_graph_rag.config import Config, setting_value
from tiny_graph_rag.config.sections import MOST_HOPS
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.linking import LINKERS
from tiny_graph_rag.messages import said
from tiny_graph_rag.retrieval import check_retrieval, make_retriever

if TYPE_CHECKING:
    from tiny_graph_rag.study.sweep import Plan, Variant


@command(app, "sweep", MEASURE)
def sweep_command(
    dataset: Dataset,
    graph: Graph,
    folders: Folders,
    retrieving: Annotated[Retrieving, Without(("hops", "retriever", "linker", "fuzzy"))],
    chosen: Chosen,
    reporting: Reporting,
    common: Common,
    hops: Annotated[
        str,
        typer.Option("--hops", help="Hop limits to try, such as 0-6 or 1,2,4.", rich_help_panel=RETRIEVAL),
    ] = "0-4",
    top_k: Annotated[
        str | None,
        typer.Option(
            "--top-k",
            help="Ranks at which measures cut, such as 1,3,5,10.",
            show_default="5",
            rich_help_panel=MEASURES,
        ),
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(
            "--retriever", help="Retrievers to try (a,b).", show_default="bfs", rich_help_panel=RETRIEVAL
        ),
    ] = None,
    linker: Annotated[
        str | None,
        typer.Option(
            "--linker", help="Linkers to try (a,b).", show_default="names", rich_help_panel=RETRIEVAL
        ),
    ] = None,
    fuzzy: Annotated[
        str | None,
        typer.Option(
            "--fuzzy",
            help="Likenesses to try, such as none,0.85,0.9.",
            show_default="none",
            rich_help_panel=RETRIEVAL,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any setting of config.yaml with its values (retrieval.min_weight=0,0.5); again for more.",
            rich_help_panel=RETRIEVAL,
        ),
    ] = None,
    measures: Measured = None,
    label: Label = None,
    cluster_address: Cluster = None,
    decide_by: Annotated[
        str | None,
        typer.Option(
            "--decide-by",
            help="Measure that decides what is recommended.",
            show_default="ndcg at --top-k",
            rich_help_panel=MEASURES,
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            help="Loss in that measure, against the best, that is no matter.",
            rich_help_panel=MEASURES + DETAIL,
        ),
    ] = 0.02,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Sweep file (a CSV goes beside it); - for standard output.",
            show_default="NAME-sweep.json",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Try hop limits, cutoffs and retrievers on one gold set, and say which to take."""
    from tiny_graph_rag.files import check_writable, write_atomically
    from tiny_graph_rag.report.json.studies import sweep_csv, sweep_parts
    from tiny_graph_rag.report.terminal.sweep import print_sweep
    from tiny_graph_rag.study.sweep import sweep

    out = Output.of(output, reporting)
    asking = (name for name in comma_list(linker) if LINKERS[name].asks_model)
    limits = parse_numbers(hops, "--hops", low=0, high=MOST_HOPS)
    session = Session.open(
        common,
        folders,
        to_stdout=out.to_stdout,
        **{
            **flags(retrieving),
            "hops": max(limits),
            "latency_sample": 0,
            "linker": next(asking, None),  # it needs a model to ask
        },
    )
    config = session.config
    variants = tuple(_variants(config, retriever, linker, fuzzy, set_ or []))
    plan = _plan(config, limits, top_k, variants, measures, decide_by, tolerance)
    examples = session.eval_set(dataset, chosen)
    target = out.path(session, f"{examples.file_name}-sweep.json")
    table = target.with_suffix(".csv")
    if not out.to_stdout:
        check_writable(table)
    linking = Linking.of(session)
    if not out.to_stdout:
        read = (examples.path, session.graph_path(graph, examples), *session.files_read)
        out.keep_apart(target, table, read=read)
    with joined(cluster_address) as cluster:
        knowledge = session.graph(graph, examples)
        varied = {name for variant in plan.variants for name in variant.varied}
        more = settings_line(config, without=("hops", *varied))
        session.say(" · ".join([described(knowledge, examples), *([more] if more else [])]))
        path, n, finished = session.graph_path(graph, examples), len(examples), 0
        with session.progress("sweeping", len(plan.variants) * len(plan.hops) * n) as progress:

            def told(done: int) -> None:
                nonlocal finished
                finished = done
                progress(done)

            def of_shards(done: int) -> None:
                progress(finished + min(done, n))

            retrievers = make_retriever if cluster is None else cluster.sharing(path, of_shards)
            found = sweep(knowledge, examples, config, plan, told, linking.maker, retrievers)
    linking.say_spent()
    print_sweep(found, session.console)
    out.write(target, sweep_parts(found, session.made(label)))
    if not out.to_stdout:
        write_atomically(table, [sweep_csv(found)])
    out.tell(session, sweep=target, table=table)
    end_with(session.failures)


def _plan(
    config: Config,
    hops: tuple[int, ...],
    top_k: str | None,
    variants: tuple[Variant, ...],
    measures: str | None,
    decide_by: str | None,
    tolerance: float,
) -> Plan:
    """What is tried and what decides. Raises UsageError for options that no plan can be made of."""
    from tiny_graph_rag.measures import Measure, default_measures, parse_measures
    from tiny_graph_rag.study.sweep import Plan

    cutoffs = parse_numbers(top_k, "--top-k", low=1) if top_k else (config.evaluation.top_k,)
    if not 0 <= tolerance <= 1:
        raise UsageError(said("--tolerance must be from 0 to 1, got {tolerance}", tolerance=tolerance))
    named = parse_measures(measures) if measures is not None else ()
    usual = 5 if 5 in cutoffs else cutoffs[-1]
    deciding = Measure.parse(decide_by) if decide_by else Measure("ndcg", usual)
    if deciding.kind.weight is not None:
        raise UsageError(
            said(
                "--decide-by {deciding}: it pools its counts over questions; a question has no value",
                deciding=deciding,
            )
        )
    for variant in variants:
        tried = config.replaced(**variant.settings)
        check_cutoff(tried, max(cutoffs))
        check_measures(tried, (*named, deciding))

    def measures_at(cutoff: int) -> tuple[Measure, ...]:
        return tuple(dict.fromkeys([*(named or default_measures(cutoff)), deciding]))

    return Plan(hops, cutoffs, variants, measures_at, deciding, tolerance)


def _variants(
    config: Config, retriever: str | None, linker: str | None, fuzzy: str | None, given: Sequence[str]
) -> Iterator[Variant]:
    """Every combination of the values to try. Raises UsageError for a setting or value that can't be."""
    from tiny_graph_rag.study.sweep import Variant

    values: dict[str, Sequence[Any]] = {
        "retriever": comma_list(retriever) or (config.retrieval.retriever,),
    }
    if linker is not None:
        values["linker"] = comma_list(linker)
    if fuzzy is not None:
        values["fuzzy"] = [setting_value("fuzzy", name) for name in comma_list(fuzzy)]
    for value in given:
        name, sign, listed = value.partition("=")
        key = name.strip().rpartition(".")[2].replace("-", "_")
        if not sign or key in ("hops", "top_k"):
            raise UsageError(
                said(
                    "--set {each}: wanted a setting and its values, such as retrieval.min_weight=0,0.5",
                    each=repr(value),
                )
            )
        values[key] = [setting_value(key, one) for one in comma_list(listed)]
    for combination in product(*values.values()):
        settings = dict(zip(values, combination, strict=True))
        check_retrieval(config.replaced(**settings))  # refuses what can't be, before any work
        yield Variant(settings, tuple(values))


def parse_numbers(text: str, option: str, *, low: int, high: int | None = None) -> tuple[int, ...]:
    """`0-3,6` → (0, 1, 2, 3, 6), ascending, each once. Raises UsageError for anything else."""
    found: set[int] = set()
    for part in comma_list(text) if text.strip() else [text]:
        bounds = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if not bounds or int(bounds[2] or bounds[1]) < int(bounds[1]):
            raise UsageError(
                said(
                    "{option}: wanted numbers such as 0-6 or 1,2,4, got {part}",
                    option=option,
                    part=repr(part),
                )
            )
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        if first < low or (high is not None and last > high):
            allowed = f"from {low} to {high}" if high is not None else f"{low} or more"
            raise UsageError(
                said(
                    "{option} must be {allowed}, got {part}", option=option, allowed=allowed, part=repr(part)
                )
            )
        if last - first > 1000:
            raise UsageError(said("{option}: {part} are too many", option=option, part=repr(part)))
        found.update(range(first, last + 1))
    return tuple(sorted(found))
