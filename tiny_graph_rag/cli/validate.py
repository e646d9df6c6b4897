"""`validate`: does a gold set fit its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.options import Chosen, Dataset, Details, Graph, option
from tiny_graph_rag.cli.output import Output, Written
from tiny_graph_rag.cli.session import GRAPH_HINT, GRAPH_SIGNS, Session, hinting
from tiny_graph_rag.errors import DatasetError, FoundProblems, UsageError, amount
from tiny_graph_rag.fixing.renames import proposed_lines, strict_renames
from tiny_graph_rag.formats.gold import read_gold, read_sound
from tiny_graph_rag.formats.writing import row_of, written
from tiny_graph_rag.gold.examples import PATTERN, EvalSet
from tiny_graph_rag.gold.patterns import GRAMMAR, with_patterns
from tiny_graph_rag.gold.pin import pin_path, read_drift, write_pin
from tiny_graph_rag.gold.validate import Validation, validate, validate_alone
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.inputs import find_input
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.messages import Said, counted, said
from tiny_graph_rag.outputs import write_atomically
from tiny_graph_rag.report.json import dataset_json
from tiny_graph_rag.report.json.studies import findings_json, validation_json
from tiny_graph_rag.report.terminal.checks import findings_lines, validation_lines
from tiny_graph_rag.study.explanation import gold_links
from tiny_graph_rag.study.verdicts import HopTag, hop_tags


@command("validate")
def validate_command(
    session: Session,
    dataset: Dataset,
    chosen: Chosen,
    graph: Graph = None,
    pin: Annotated[
        bool, option("Pin the gold set to this graph version, so that later changes are detected.")
    ] = False,
    fix_suggestions: Annotated[
        Path | None, option("Write a gold set in which missing references are renamed; review it before use.")
    ] = None,
    was: Annotated[
        Path | None, option("Older version of the graph, used by --fix-suggestions to find renamed entities.")
    ] = None,
    refresh: Annotated[
        bool, option("Compute the references of questions with a pattern on this graph, and save them.")
    ] = False,
    output: Written = None,
    details: Details = False,
) -> None:
    """Check a gold set against its graph: missing or ambiguous names, duplicates, the recall ceiling."""
    out = Output.of(session, output)
    if fix_suggestions is not None:
        session.outputs.claim(fix_suggestions)
    elif was is not None:
        raise UsageError("--was is for --fix-suggestions; add that, or leave it out")
    path = find_input(dataset, Path(session.config.storage.dataset_dir), "gold set")
    with hinting(path, GRAPH_SIGNS, said(GRAPH_HINT)):
        examples, broken = read_sound(path)
        if not len(examples) or (broken and fix_suggestions is not None):
            raise DatasetError(*broken)
    whole, examples = examples, session.told(examples, chosen)
    knowledge = _graph(session, graph, examples, is_needed=pin or refresh or fix_suggestions is not None)
    if knowledge is None:
        _without_graph(session, examples, broken, out, details=details)
        return
    if refresh:
        examples = _refresh(session, knowledge, whole, path, broken)
    examples = with_patterns(knowledge, examples)
    names = NameIndex.of(knowledge)
    found = validate(knowledge, examples, names)
    drift = read_drift(knowledge, examples, found.judgments)
    tags = _hop_tags(knowledge, examples, names, found)
    session.show(validation_lines(found, broken, tags, drift, pins=pin, details=details))
    out.document(
        "validation",
        graph={"name": knowledge.name, "sha256": knowledge.sha256},
        dataset=dataset_json(examples),
        **validation_json(found, broken, tags, drift),
    )
    if fix_suggestions is not None:
        older = session.graph(was) if was is not None else None
        proposals = strict_renames(knowledge, found.missing_names, older)
        session.outputs.write(fix_suggestions, proposed_lines(map(row_of, whole), proposals))
        session.say(
            "{path}: {n} of {all} missing names replaced; check `suggested_renames` in its lines "
            "before you use it",
            path=fix_suggestions,
            n=len(proposals),
            all=len(found.missing_names),
        )
    errors = found.count("error") + len(broken)
    lost = len(drift.lost) if drift and not pin else 0
    if pin:
        _pin(session, knowledge, examples, found, errors)
    _conclude(session, errors, found.count("warning"), lost=lost)


def _conclude(session: Session, errors: int, warnings: int, *, lost: int = 0) -> None:
    """Raises FoundProblems for errors, and for references that a changed graph has lost."""
    if errors or lost:
        raise FoundProblems(
            "{errors}, {warnings}", errors=amount(errors, "error"), warnings=amount(warnings, "warning")
        )
    session.say(counted(warnings, "no errors, {n} warning", "no errors, {n} warnings"))


def _pin(session: Session, graph: KnowledgeGraph, examples: EvalSet, found: Validation, errors: int) -> None:
    """Record which graph the gold set fits. Raises FoundProblems where it has errors."""
    if errors:
        raise FoundProblems(
            "not pinned: {errors}; fix them before you pin the gold set to the graph",
            errors=amount(errors, "error"),
        )
    session.outputs.claim(pin_path(examples), is_own=True)
    session.say("pinned: {path}", path=write_pin(graph, examples, found.judgments))


def _graph(
    session: Session, graph: Path | None, examples: EvalSet, *, is_needed: bool
) -> KnowledgeGraph | None:
    """The graph that was named, or that the set's name or the folder implies; None where there is none, or
    where nothing in the set names entities. Raises UsageError where one is needed."""
    if graph is None and not is_needed:
        if not any(example.judged for example in examples):
            return None
        try:
            session.graph_path(graph, examples)
        except UsageError:
            return None
    return session.graph(graph, examples)


def _refresh(
    session: Session, graph: KnowledgeGraph, examples: EvalSet, path: Path, broken: list[Said]
) -> EvalSet:
    """Compute every pattern on this graph, write the set back where something changed, and say what.

    Raises DatasetError for a set without patterns, a broken one, or a pattern that can't be computed.
    """
    if broken:
        raise DatasetError(*broken)
    if not any(PATTERN in example.unknown for example in examples):
        raise DatasetError(
            "{name}: no question has a pattern under {key}, such as {grammar}",
            name=path.name,
            key=repr(PATTERN),
            grammar=GRAMMAR,
        )
    found, changes = with_patterns(graph, examples, refresh=True), 0
    for before, after in zip(examples, found, strict=True):
        names, others = before.reference_entities, after.reference_entities
        parts = [f"+ {name}" for name in others if name not in names]
        parts += [f"− {name}" for name in names if name not in others]
        changes += bool(parts)
        if parts:
            session.say(f"{after.id}: {', '.join(parts)}")
    patterns = sum(PATTERN in example.unknown for example in examples)
    session.say(
        "{patterns} computed on {graph}: {n} changed",
        patterns=amount(patterns, "pattern"),
        graph=graph.name,
        n=amount(changes, "reference list"),
    )
    if not changes:
        return examples
    is_json = path.name.removesuffix(".gz").endswith(".json")
    form = "sheet" if examples.format == "sheet" else "json" if is_json else "jsonl"
    write_atomically(path, written(found.examples, path, form))
    return read_gold(path)


def _without_graph(
    session: Session, examples: EvalSet, broken: list[Said], out: Output, *, details: bool
) -> None:
    """Schema, fields, duplicates and tags: what needs no graph. Raises FoundProblems for errors."""
    findings = validate_alone(examples)
    session.show(findings_lines(findings, broken, details=details))
    judged = sum(example.judged for example in examples)
    session.say(
        "{questions} read as {format}, {judged} with reference entities; no graph was given (-g), so names "
        "were not looked up",
        questions=amount(len(examples), "question"),
        format=examples.format,
        judged=f"{judged:,}",
    )
    errors = sum(finding.severity == "error" for finding in findings) + len(broken)
    warnings = sum(finding.severity == "warning" for finding in findings)
    counts = {"errors": errors, "warnings": warnings, "questions": len(examples)}
    more = {"broken_lines": list(broken), "findings": findings_json(findings)}
    out.document("validation", dataset=dataset_json(examples), **counts, **more)
    _conclude(session, errors, warnings)


def _hop_tags(
    graph: KnowledgeGraph, examples: EvalSet, names: NameIndex, found: Validation
) -> dict[str, HopTag]:
    """Hop tags against the graph, from seed_entities where given, else from the names in the question."""
    seeds = NameLinker(graph, names).link(examples.examples)
    for row, linked_question in enumerate(gold_links(graph, names, examples.examples, [*seeds])):
        if examples[row].seed_entities is not None:
            seeds[row] = linked_question
    return hop_tags(graph.adjacency, examples.examples, found.judgments, seeds)
