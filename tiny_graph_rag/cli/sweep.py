"""`sweep`: which --hops, --top-k and retriever."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from tiny_graph_rag.cli.asking import CommandLinker
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import MEASURES, MORE, RETRIEVAL
from tiny_graph_rag.cli.options import (
    PATCHING,
    RETRIEVING,
    Chosen,
    Common,
    Dataset,
    Details,
    Given,
    Graph,
    Label,
    Measured,
    Reports,
    comma_list,
    option,
    to_file,
)
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.config import Setting, find_setting, settings_of
from tiny_graph_rag.config.sections import MOST_HOPS
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.linking import LINKERS
from tiny_graph_rag.measures import parse_measures
from tiny_graph_rag.report.json import lines_of
from tiny_graph_rag.report.json.studies import sweep_document
from tiny_graph_rag.report.terminal.screens import details_lines, sweep_lines
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.scoring.source_chunks import kind_expected
from tiny_graph_rag.study.sweep import Plan, sweep

OWN_OPTIONS = ("retrieval.hops", "evaluation.top_k", "retrieval.retriever", "retrieval.linker")
RETRIEVES = ("retrieval", "ranking", "embeddings", "openai")  # sections that say what is retrieved


@command("sweep", {"exclude_seeds": RETRIEVING["exclude_seeds"]}, PATCHING)
def sweep_command(
    common: Common,
    given: Given,
    dataset: Dataset,
    chosen: Chosen,
    graph: Graph = None,
    report: Reports = None,
    hops: Annotated[str, option("Hop limits to try, such as 0-6 or 1,2,4.", RETRIEVAL)] = "1-4",
    top_k: Annotated[
        str | None, option("Cutoffs of the measures, such as 1,3,5,10.", MEASURES, default="5")
    ] = None,
    retriever: Annotated[str | None, option("Retrievers to try (a,b).", RETRIEVAL, default="bfs")] = None,
    linker: Annotated[str | None, option("Linkers to try (a,b).", RETRIEVAL, default="names+text")] = None,
    measures: Measured = None,
    label: Label = None,
    decide_by: Annotated[
        str | None, option("Measure that decides the recommendation.", MEASURES, default="ndcg at --top-k")
    ] = None,
    tolerance: Annotated[float, option("How far below the best mean still counts as equal.", MORE)] = 0.005,
    output: Annotated[str | None, to_file("Sweep file; - for standard output.", "NAME-sweep.json")] = None,
    details: Details = False,
) -> None:
    """Try hop limits, cutoffs, retrievers or any setting on a gold set and recommend one.

    `--set` takes several values to try here, such as retrieval.min_weight=0,0.5."""
    asking = (name for name in comma_list(linker) if LINKERS[name].asks_model)
    limits = parse_numbers(hops, "--hops", low=0, high=MOST_HOPS)
    fixed, varied = _split(common.set_ or ())
    given |= {"latency_sample": 0, "linker": next(asking, None)}  # one that asks needs a model
    session = Session.open(replace(common, set_=fixed), given, output)
    config = session.config
    examples = session.eval_set(dataset, chosen)
    plan = Plan.of(
        config,
        limits,
        parse_numbers(top_k, "--top-k", low=1) if top_k else (config.evaluation.top_k,),
        _values(retriever, linker, varied),
        measures=parse_measures(measures) if measures is not None else (),
        decide_by=decide_by,
        tolerance=tolerance,
        of=kind_expected(examples),
    )
    out = Output.of(session, output, f"{examples.file_name}-sweep.json", report)
    linking = CommandLinker.of(session)
    path = session.graph_path(graph, examples)
    with session.cluster() as cluster:
        knowledge = session.graph(path, examples)
        knowledge, examples = session.patched(knowledge, examples)
        with session.progress("sweeping", len(plan.variants) * len(plan.hops) * len(examples)) as progress:
            retrievers = make_retriever
            if cluster is not None:
                from tiny_graph_rag.retrieval.cluster import sharing

                retrievers = sharing(cluster, path)
            found = sweep(knowledge, examples, config, plan, progress, linking.maker, retrievers)
    linking.conclude()
    document = sweep_document(found, session.made(label))
    session.show(details_lines(document) if details else sweep_lines(document))
    out.write(lines_of(document, "settings"))
    out.tell("sweep")


def _split(given: Sequence[str]) -> tuple[list[str], dict[Setting, tuple[str, ...]]]:
    """What `--set` gives: settings of one value, which hold for the whole sweep, and those with several,
    which are varied. Raises UsageError for what has an option of its own here, and for several values of what
    says nothing about retrieval: all would score the same."""
    fixed: list[str] = []
    varied: dict[Setting, tuple[str, ...]] = {}
    for setting, text in settings_of(given, "--set"):
        if setting.full_name in OWN_OPTIONS:
            option = f"--{setting.name.replace('_', '-')}"
            raise UsageError(
                "--set {name}: in a sweep this is {option}", name=setting.full_name, option=option
            )
        values = comma_list(text) if "," in text else (text,)
        if len(values) == 1:
            fixed.append(f"{setting.full_name}={text}")
        elif (
            setting.section in RETRIEVES and setting.name != "vocabulary"
        ):  # which is read once, with the graph
            varied[setting] = values
        else:
            raise UsageError(
                "--set {name} can't change what is retrieved; give it one value", name=setting.full_name
            )
    return fixed, varied


def _values(
    retriever: str | None, linker: str | None, varied: Mapping[Setting, Sequence[str]]
) -> dict[str, Sequence[Any]]:
    """What is tried of each setting. Raises UsageError for a value that can't be."""
    values: dict[str, Sequence[Any]] = {}
    for name, names in (("retriever", comma_list(retriever)), ("linker", comma_list(linker))):
        if names:
            values[name] = names
    for setting, texts in varied.items():
        named = setting.name if find_setting(setting.name) == setting else setting.full_name
        values[named] = [setting.parse(text, f"--set {setting.full_name}") for text in texts]
    return values


def parse_numbers(text: str, option: str, *, low: int, high: int = 1_000_000) -> tuple[int, ...]:
    """`0-3,6` → (0, 1, 2, 3, 6), ascending, each once. Raises UsageError for anything else."""
    found: set[int] = set()
    for part in comma_list(text):
        bounds = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", part)
        numbers = range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1) if bounds else range(0)
        if not numbers or numbers[0] < low or numbers[-1] > high or len(numbers) > 1 + MOST_HOPS:
            raise UsageError(
                "{option}: wanted numbers from {low} to {high}, such as 0-6 or 1,2,4, got {part}",
                option=option,
                low=low,
                high=f"{high:,}",
                part=repr(part),
            )
        found.update(numbers)
    return tuple(sorted(found))
