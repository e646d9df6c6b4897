"""Does a gold set fit its graph, and does it measure what it means to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tiny_graph_rag.gold import checks
from tiny_graph_rag.gold.checks import Finding, Severity
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.nearest import Near, NearestNames


@dataclass(frozen=True, slots=True)
class Validation:
    """ceiling: mean share of references that the graph has, NaN without gold: no retrieval recalls more.

    references: as written; of them missing: resolve to nothing; by_alias: by an alias only; by_form: by
    another form of the name only; ambiguous: names of more than one; shared: mean the entity of another of
    the question. names_all: questions that name all of their references. missing_names: different missing
    names → the nearest in the graph.
    """

    findings: tuple[Finding, ...]
    questions: int
    without_gold: int
    references: int
    missing: int
    by_alias: int
    by_form: int
    ambiguous: int
    shared: int
    names_all: int
    ceiling: float
    missing_names: dict[str, tuple[Near, ...]]
    judgments: Judgments

    def count(self, severity: Severity) -> int:
        return sum(finding.severity == severity for finding in self.findings)


def validate_alone(examples: EvalSet) -> tuple[Finding, ...]:
    """What can be checked without a graph: fields, duplicates, tags."""
    findings = [
        *checks.check_fields(examples),
        *checks.check_duplicates(examples),
        *checks.check_tags(examples),
    ]
    return _in_order(findings)


def _in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.severity, finding.line)))


def validate(graph: KnowledgeGraph, examples: EvalSet, names: NameIndex) -> Validation:
    """Everything that can be measured from the gold set and the graph without linking or retrieving."""
    judgments = resolve(examples, names, len(graph))
    rows = judgments.references
    flat = [reference for row in rows for reference in row]
    levels = Counter(reference.resolved_by for reference in flat)
    missing_names = dict.fromkeys(reference.name for reference in flat if not reference.entities)
    nearest = NearestNames.of(graph.entities).of_all(missing_names) if missing_names else {}
    names_all = [
        bool(row) and all(checks.is_named(example.query, reference, graph) for reference in row)
        for example, row in zip(examples, rows, strict=True)
    ]
    findings = [
        *checks.check_missing(examples, rows, nearest),
        *checks.check_doubtful(examples, rows, graph),
        *checks.check_other_names(examples, names),
        *checks.check_relationships(examples, graph, names),
        *checks.check_naming(examples, names_all),
        *validate_alone(examples),
    ]
    found = np.array([len({reference.item for reference in row if reference.entities}) for row in rows])
    scored = judgments.relevant > 0
    return Validation(
        findings=_in_order(findings),
        questions=len(examples),
        without_gold=int((~scored).sum()),
        references=len(flat),
        missing=levels[None],
        by_alias=levels["alias"],
        by_form=levels["form"],
        ambiguous=sum(reference.is_ambiguous for reference in flat),
        shared=sum(reference.shares_entity for reference in flat),
        names_all=sum(names_all),
        ceiling=float((found[scored] / judgments.relevant[scored]).mean()) if scored.any() else math.nan,
        missing_names=nearest,
        judgments=judgments,
    )
