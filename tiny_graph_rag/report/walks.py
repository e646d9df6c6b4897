"""Walks through the graph as results files hold them."""

from __future__ import annotations

from typing import Any

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval import NO_STEP


def walk_steps(graph: KnowledgeGraph, entity: int, relations: list[int]) -> list[dict[str, Any]]:
    """The walk that ends at `entity`, from its seed: one {"from", "relation", "to", "forward"} a step."""
    steps: list[dict[str, Any]] = []
    ids, known = graph.entities.ids, graph.relations
    at, at_id = entity, ids[entity]
    for relation in reversed([each for each in relations if each != NO_STEP]):
        source, target = known.sources.item(relation), known.targets.item(relation)
        forward = at == target
        before = source if forward else target
        before_id = ids[before]
        steps.append({"from": before_id, "relation": known.types[relation], "to": at_id, "forward": forward})
        at, at_id = before, before_id
    return steps[::-1]
