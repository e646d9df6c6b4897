"""Facts of a run over a graph: types, sources, and the subgraph around each ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.measures.facts import Facts, RelationReference, RetrievedContext, Subgraph
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
    subgraph: Callable[[int], Subgraph],
) -> Facts:
    """Facts of a run over a graph; entities beyond the graph's have no type and no source.

    seeds: where paths begin. subgraph: what a question retrieved. Worked out question by question when a
    measure asks, and kept for the next measure.
    """
    kept: dict[int, RetrievedContext] = {}

    def context(question: int) -> RetrievedContext:
        if question not in kept:
            retrieved = subgraph(question)
            keys = judgments.pair_keys[judgments.pairs_of(question)]
            relevant = frozenset((keys - question * judgments.universe).tolist())
            references = tuple(relationships[question])
            kept[question] = RetrievedContext(
                seeds[question],
                retrieved.entities,
                retrieved.entities - seeds[question],
                relevant,
                _filled(judgments, question, retrieved.entities & relevant),
                retrieved.relations,
                references,
                tuple(_held(retrieved.relations or (), reference) for reference in references),
            )
        return kept[question]

    def type_of(row: int) -> str:
        entity = int(run.entities[row])
        return fold(graph.entities.types[entity]) if entity < len(graph) else ""

    def sources_of(row: int) -> Sequence[str]:
        entity = int(run.entities[row])
        return graph.entities.source_chunks[entity] if entity < len(graph) else ()

    return Facts([frozenset(map(fold, types)) for types in expected_types], type_of, sources_of, context)


def _filled(judgments: Judgments, question: int, entities: frozenset[int]) -> int:
    """Several matching entities of one reference fill it once."""
    keys = np.array(sorted(entities), dtype=np.int64) + question * judgments.universe
    return sum(item != NO_ITEM for item in matched_in_order(keys, judgments))


def _held(relations: Sequence[RelationReference], reference: RelationReference) -> tuple[int, ...]:
    return tuple(place for place, relation in enumerate(relations) if reference.is_met_by(relation))
