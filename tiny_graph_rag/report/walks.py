"""Walks through the graph as results files hold them."""

from __future__ import annotations

from typing import Any

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval import NO_STEP


def walk_steps(graph: KnowledgeGraph, entity: int, relations: list[int]) -> list[dict[str, Any]]:
    """The walk that ends at `entity`, from its seed: one {"from", "relation", "to", "forward"} a step."""
    steps: list[dict[str, Any]] = []
    at = entity
    for relation in reversed([each for each in relations if each != NO_STEP]):
        source, target = int(graph.relations.sources[relation]), int(graph.relations.targets[relation])
        forward = at == target
        before = source if forward else target
        steps.append(
            {
                "from": graph.entities.ids[before],
                "relation": graph.relations.types[relation],
                "to": graph.entities.ids[at],
                "forward": forward,
            }
        )
        at = before
    return steps[::-1]
