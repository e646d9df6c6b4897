"""Measures of the retrieved context: types, sources, what expansion added, relations and paths.

All are NaN where the facts that they need are not known (no graph, no types in the run).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np

from tiny_graph_rag.measures.base import Column, defined, divided, hits, measure
from tiny_graph_rag.measures.judged import NO_ROW, Facts, Judged, RelationReference, RetrievedContext

GRAPH_RAG = "graph-RAG evaluation guides"
MOST_PATHS = 20_000  # of a question's reference relationships: a tenth of a second


def _each(judged: Judged, value: Callable[[Facts, int], float]) -> Column:
    facts = judged.facts
    if facts is None:
        return np.full(len(judged), np.nan)
    return np.array([value(facts, question) for question in range(len(judged))], dtype=np.float64)


def _of_context(judged: Judged, value: Callable[[RetrievedContext], float]) -> Column:
    return _each(judged, lambda facts, q: value(facts.context(q)) if facts.context else math.nan)


def _rows(judged: Judged, question: int, cutoff: int | None) -> list[int]:
    return [row for row in judged.rows[question, :cutoff].tolist() if row != NO_ROW]


@measure("type_coverage", source="enterprise RAG evaluation guides", needs="types")
def type_coverage(judged: Judged, cutoff: int | None) -> Column:
    """Expected types found among the first k, divided by the expected types; undefined without any."""

    def value(facts: Facts, question: int) -> float:
        expected = facts.expected_types[question]
        if not expected or facts.type_of is None:
            return math.nan
        found = {facts.type_of(row) for row in _rows(judged, question, cutoff)}
        return len(expected & found) / len(expected)

    return _each(judged, value)


@measure("source_diversity", source="Shannon (1948)", high=math.inf, needs="sources")
def source_diversity(judged: Judged, cutoff: int | None) -> Column:
    """Entropy, in bits, of the sources (on a graph, source_chunks) of the first k; 0 without sources."""

    def value(facts: Facts, question: int) -> float:
        if facts.sources_of is None:
            return math.nan
        rows = _rows(judged, question, cutoff)
        counts = sorted(Counter(source for row in rows for source in facts.sources_of(row)).values())
        total = sum(counts)
        return max(0.0, -math.fsum(n / total * math.log2(n / total) for n in counts)) if total else 0.0

    return _each(judged, value)


@measure("context_relevance", cutoff="none", source=GRAPH_RAG, needs="graph")
def context_relevance(judged: Judged, cutoff: int | None) -> Column:
    """Of the entities that expansion added to the seeds: share relevant; 0 where it added none."""

    def value(context: RetrievedContext) -> float:
        added = context.entities - context.seeds
        if not context.relevant:
            return math.nan
        return len(added & context.relevant) / len(added) if added else 0.0

    return _of_context(judged, value)


@measure("context_completeness", cutoff="none", source=GRAPH_RAG, needs="graph")
def context_completeness(judged: Judged, cutoff: int | None) -> Column:
    """Of the relevant: share inside the retrieved context, whatever its rank there; of a built-in retriever
    that is what a model would be sent, seeds included.
    """

    def value(facts: Facts, question: int) -> float:
        wanted = int(judged.relevant[question])
        if not wanted or facts.context is None:
            return math.nan
        return facts.context(question).filled / wanted

    return _each(judged, value)


@measure("completeness", cutoff="optional", source="list questions (Voorhees, TREC 2003 QA)")
def completeness(judged: Judged, cutoff: int | None) -> Column:
    """Of all the answers of a list question: share returned, anywhere in the list unless cut at k."""
    return defined(judged, divided(hits(judged, cutoff), judged.relevant))


def _of_relations(judged: Judged, value: Callable[[RetrievedContext], float]) -> Column:
    """NaN without reference relationships, and where the retriever returns no relations at all."""
    return _of_context(
        judged,
        lambda context: value(context) if context.references and context.relations is not None else math.nan,
    )


@measure("relation_recall", cutoff="none", source=GRAPH_RAG, needs="graph")
def relation_recall(judged: Judged, cutoff: int | None) -> Column:
    """Of the reference relationships: share that was returned, with both ends and its type. Undefined where
    the retriever returned relations for no question.
    """
    return _of_relations(judged, lambda context: sum(map(bool, context.held)) / len(context.references))


@measure("relation_precision", cutoff="none", source=GRAPH_RAG, needs="graph")
def relation_precision(judged: Judged, cutoff: int | None) -> Column:
    """Of the returned relations: share that is a reference relationship; the rest is the spurious-edge rate.
    0 where a question has none; undefined where the retriever returned relations for no question.
    """

    def value(context: RetrievedContext) -> float:
        right = {place for places in context.held for place in places}
        return len(right) / len(context.relations) if context.relations else 0.0

    return _of_relations(judged, value)


@measure("path_completeness", cutoff="none", source=GRAPH_RAG, needs="graph")
def path_completeness(judged: Judged, cutoff: int | None) -> Column:
    """The longest unbroken stretch from a seed along the reference relationships that were returned, divided
    by their number on that path; 0 where no seed is on one.
    """
    return _of_relations(judged, _stretch)


def _stretch(context: RetrievedContext) -> float:
    """Over all paths from a seed that use a relationship once, the greatest (stretch, then longest path).

    Paths that used the same relationships to the same end continue in the same way: one of them is followed.
    Where a gold set names so many that their paths can't all be looked at, the first MOST_PATHS decide.
    """
    best, length = 0, 0
    seen: set[tuple[frozenset[int], frozenset[int], int, bool]] = set()

    def walk(at: frozenset[int], used: frozenset[int], held: int, broken: bool) -> None:
        nonlocal best, length
        if (at, used, held, broken) in seen or len(seen) >= MOST_PATHS:
            return
        seen.add((at, used, held, broken))
        onward = False
        for number, reference in enumerate(context.references):
            if number in used:
                continue
            for start, end in _directions(reference):
                if start & at:
                    onward = True
                    whole = not broken and bool(context.held[number])
                    walk(end, used | {number}, held + whole, not whole)
        if not onward and used and (held, len(used)) > (best, length):
            best, length = held, len(used)

    walk(context.seeds, frozenset(), 0, False)
    return best / length if length else 0.0


def _directions(reference: RelationReference) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
    return (reference.sources, reference.targets), (reference.targets, reference.sources)
