"""`validate`: does a gold set fit its graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import GOLD
from tiny_graph_rag.cli.options import Chosen, Common, Dataset, Folders, Graph
from tiny_graph_rag.cli.output import STDOUT, Written, keep_apart, write_document
from tiny_graph_rag.cli.session import Session, selection
from tiny_graph_rag.errors import DatasetError, FoundProblems, amount
from tiny_graph_rag.messages import counted, said, t

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.gold.validate import Validation
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.graph.names import NameIndex
    from tiny_graph_rag.study.hops import HopTag


@command(app, "validate", GOLD)
def validate_command(
    dataset: Dataset,
    graph: Graph,
    folders: Folders,
    chosen: Chosen,
    common: Common,
    stamp: Annotated[
        bool, typer.Option("--stamp", help="Record beside the gold set that it fits this graph, if it does.")
    ] = False,
    fix_suggestions: Annotated[
        Path | None,
        typer.Option(
            "--fix-suggestions", help="Write a gold set with missing references renamed, for you to accept."
        ),
    ] = None,
    output: Written = None,
    all_: Annotated[bool, typer.Option("--all", help="Show every finding, not ten of a kind.")] = False,
) -> None:
    """Check a gold set against its graph: what resolves, what doesn't, what that costs, what is odd."""
    from tiny_graph_rag.files import check_writable, find_input, write_atomically
    from tiny_graph_rag.formats.gold.jsonl import as_lines, read_sound_lines
    from tiny_graph_rag.gold.nearest import proposed_lines, renames
    from tiny_graph_rag.gold.stamp import read_drift, write_stamp
    from tiny_graph_rag.gold.validate import validate
    from tiny_graph_rag.graph.names import NameIndex
    from tiny_graph_rag.report.json.results import dataset_json
    from tiny_graph_rag.report.json.studies import validation_json
    from tiny_graph_rag.report.terminal.validation import print_findings, print_validation

    session = Session.open(common, folders, to_stdout=output == STDOUT)
    if fix_suggestions is not None:
        check_writable(fix_suggestions)
    path = find_input(dataset, Path(session.config.storage.dataset_dir), "gold set")
    keep_apart((fix_suggestions,), (path, session.config.file))
    examples, broken = read_sound_lines(path)
    if not len(examples):
        raise DatasetError(*broken)
    examples = examples.select(selection(chosen))
    knowledge = session.graph(graph, examples)
    names = NameIndex.of(knowledge)
    found = validate(knowledge, examples, names)
    drift = read_drift(knowledge, examples, found.judgments)
    print_findings(found.findings, broken, all_, session.console)
    tags = _hop_tags(knowledge, examples, names, found)
    print_validation(found, broken, tags, drift, session.console)
    if output is not None:
        from tiny_graph_rag.report.json.results import dataset_json
        from tiny_graph_rag.report.json.studies import validation_json

        write_document(
            session,
            output,
            "validation",
            graph={"name": knowledge.name, "sha256": knowledge.sha256},
            dataset=dataset_json(examples),
            **validation_json(found, broken, tags, drift),
        )
    if fix_suggestions is not None:
        proposals = renames(found.missing_names)
        write_atomically(fix_suggestions, proposed_lines(as_lines(path), proposals))
        session.say(
            t(
                "{path}: {n} of {all} missing names renamed; look at `suggested_renames` in its lines before "
                "you use it",
                path=fix_suggestions,
                n=len(proposals),
                all=len(found.missing_names),
            )
        )
    errors = found.count("error") + len(broken)
    lost = len(drift.lost) if drift and not stamp else 0
    if stamp:
        if errors:
            raise FoundProblems(
                said(
                    "not stamped: {errors}; a stamp says that the gold set fits the graph",
                    errors=amount(errors, "error"),
                )
            )
        session.say(t("stamped: {path}", path=write_stamp(knowledge, examples, found.judgments)))
    warnings = amount(found.count("warning"), "warning")
    if errors or lost:
        raise FoundProblems(said("{errors}, {warnings}", errors=amount(errors, "error"), warnings=warnings))
    session.say(counted(found.count("warning"), "no errors, {n} warning", "no errors, {n} warnings"))


def _hop_tags(
    graph: KnowledgeGraph, examples: EvalSet, names: NameIndex, found: Validation
) -> dict[str, HopTag]:
    """Hop tags against the graph, from seed_entities where given, else from the names in the question."""
    from tiny_graph_rag.linking.names import NameLinker
    from tiny_graph_rag.study.gold_seeds import gold_links
    from tiny_graph_rag.study.hops import FreeHops, hop_tags

    seeds = NameLinker(graph, names).link(examples.examples)
    for row, each in enumerate(gold_links(graph, names, examples.examples, [*seeds])):
        if examples[row].seed_entities is not None:
            seeds[row] = each
    return hop_tags(examples.examples, found.judgments, seeds, FreeHops(graph.adjacency, found.judgments))
