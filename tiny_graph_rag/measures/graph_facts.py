"""Facts of a run over a graph: types, sources, and the subgraph around each ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.measures.facts import Facts, RelationReference, RetrievedContext
from tiny_graph_rag.measures.judged import NO_ITEM, matched_in_order

if TYPE_CHECKING:
    from tiny_graph_rag.gold.resolve import Judgments
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.run import Run


def graph_facts(
    graph: KnowledgeGraph,
    run: Run,
    judgments: Judgments,
    *,
    seeds: Sequence[frozenset[int]],
    expected_types: Sequence[Sequence[str]],
    relationships: Sequence[Sequence[RelationReference]],
) -> Facts:
    """Facts of a run over a graph; entities beyond the graph's have no type and no source.

    Worked out question by question when a measure asks, and kept for the next measure.
    """
    kept: dict[int, RetrievedContext] = {}

    def context(question: int) -> RetrievedContext:
        if question not in kept:
            returned = frozenset(run.entities[run.rows(question)].tolist())
            entities = frozenset(each for each in returned | seeds[question] if each < len(graph))
            relations = _inside(graph, entities)
            first, last = np.searchsorted(
                judgments.pair_keys, [question * judgments.universe, (question + 1) * judgments.universe]
            )
            relevant = frozenset((judgments.pair_keys[first:last] - question * judgments.universe).tolist())
            references = tuple(relationships[question])
            kept[question] = RetrievedContext(
                seeds[question],
                returned,
                returned - seeds[question],
                relevant,
                _filled(judgments, question, (returned | seeds[question]) & relevant),
                tuple(relations.tolist()),
                references,
                tuple(_held(graph, relations, each) for each in references),
            )
        return kept[question]

    def type_of(row: int) -> str:
        entity = int(run.entities[row])
        return fold(graph.entities.types[entity]) if entity < len(graph) else ""

    def sources_of(row: int) -> Sequence[str]:
        entity = int(run.entities[row])
        return graph.entities.source_chunks[entity] if entity < len(graph) else ()

    return Facts([frozenset(map(fold, each)) for each in expected_types], type_of, sources_of, context)


def _filled(judgments: Judgments, question: int, entities: frozenset[int]) -> int:
    """Several bearers of one reference fill it once."""
    keys = np.array(sorted(entities), dtype=np.int64) + question * judgments.universe
    return sum(item != NO_ITEM for item in matched_in_order(keys, judgments))


def _inside(graph: KnowledgeGraph, entities: frozenset[int]) -> NDArray[np.int64]:
    """Relations with both ends among the entities, ascending; self-loops are never walked and don't count."""
    adjacency = graph.adjacency
    parts = [slice(int(adjacency.indptr[each]), int(adjacency.indptr[each + 1])) for each in sorted(entities)]
    if not parts:
        return np.zeros(0, dtype=np.int64)
    neighbours = np.concatenate([adjacency.neighbours[each] for each in parts])
    relations = np.concatenate([adjacency.relations[each] for each in parts])
    inside = np.isin(neighbours, np.fromiter(entities, dtype=np.int64, count=len(entities)))
    return distinct(relations[inside])[0].astype(np.int64)


def _held(graph: KnowledgeGraph, relations: NDArray[np.int64], wanted: RelationReference) -> tuple[int, ...]:
    known = graph.relations
    return tuple(
        row
        for row in relations.tolist()
        if int(known.sources[row]) in wanted.sources
        and int(known.targets[row]) in wanted.targets
        and wanted.type in ("", fold(known.types[row]))
    )
