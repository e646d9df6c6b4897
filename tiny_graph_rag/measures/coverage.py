"""Measures of the retrieved context: what expansion added, relations and paths.

All but one are NaN without a graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tiny_graph_rag.measures.base import Column, defined, divided, hits, measure
from tiny_graph_rag.measures.judged import Judged, RetrievedContext

GRAPH_RAG = "graph-RAG evaluation guides"
MOST_PATHS = 20_000  # of a question's reference relationships: a tenth of a second


def _of_context(judged: Judged, value: Callable[[RetrievedContext, int], float]) -> Column:
    """value: of what a question retrieved, and the question."""
    context = judged.context
    if context is None:
        return np.full(len(judged), np.nan)
    return np.array([value(context(row), row) for row in range(len(judged))], dtype=np.float64)


@measure("context_relevance", cutoff="none", source=GRAPH_RAG, needs_graph=True)
def context_relevance(judged: Judged, cutoff: int | None) -> Column:
    """Of the entities that expansion added to the seeds: share relevant; 0 where it added none."""

    def value(context: RetrievedContext, question: int) -> float:
        added = context.entities - context.seeds
        if not context.relevant:
            return math.nan
        return len(added & context.relevant) / len(added) if added else 0.0

    return _of_context(judged, value)


@measure("context_completeness", cutoff="none", source=GRAPH_RAG, needs_graph=True)
def context_completeness(judged: Judged, cutoff: int | None) -> Column:
    """Of the relevant: share inside the retrieved context, whatever its rank there; of a built-in retriever
    that is what a model would be sent, seeds included.
    """

    def value(context: RetrievedContext, question: int) -> float:
        wanted = int(judged.relevant[question])
        return context.filled / wanted if wanted else math.nan

    return _of_context(judged, value)


@measure("completeness", cutoff="optional", source="list questions (Voorhees, TREC 2003 QA)")
def completeness(judged: Judged, cutoff: int | None) -> Column:
    """Of all the answers of a list question: share returned, anywhere in the list unless cut at k."""
    return defined(judged, divided(hits(judged, cutoff), judged.relevant))


def _of_relations(judged: Judged, value: Callable[[RetrievedContext], float]) -> Column:
    """NaN without reference relationships, and where the retriever returns no relations at all."""

    def defined_value(context: RetrievedContext, question: int) -> float:
        return value(context) if context.references and context.relations is not None else math.nan

    return _of_context(judged, defined_value)


@measure("relation_recall", cutoff="none", source=GRAPH_RAG, needs_graph=True)
def relation_recall(judged: Judged, cutoff: int | None) -> Column:
    """Of the reference relationships: share that was returned, with both ends and its type. Undefined where
    the retriever returned relations for no question.
    """
    return _of_relations(judged, lambda context: sum(map(bool, context.held)) / len(context.references))


@measure("relation_precision", cutoff="none", source=GRAPH_RAG, needs_graph=True)
def relation_precision(judged: Judged, cutoff: int | None) -> Column:
    """Of the returned relations: share that is a reference relationship; the rest is the spurious-edge rate.
    0 where a question has none; undefined where the retriever returned relations for no question.
    """

    def value(context: RetrievedContext) -> float:
        right = {place for places in context.held for place in places}
        return len(right) / len(context.relations) if context.relations else 0.0

    return _of_relations(judged, value)


@measure("path_completeness", cutoff="none", source=GRAPH_RAG, needs_graph=True)
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
            one, other = reference.sources, reference.targets
            for start, end in ((one, other), (other, one)):
                if start & at:
                    onward = True
                    whole = not broken and bool(context.held[number])
                    walk(end, used | {number}, held + whole, not whole)
        if not onward and used and (held, len(used)) > (best, length):
            best, length = held, len(used)

    walk(context.seeds, frozenset(), 0, False)
    return best / length if length else 0.0
