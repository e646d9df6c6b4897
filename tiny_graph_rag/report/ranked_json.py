"""One question's seeds and ranking as results files hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.report.walks import walk_steps
from tiny_graph_rag.retrieval.base import NO_STEP, Reason, Run


def linked_json(graph: KnowledgeGraph, linked: LinkedQuestion) -> list[dict[str, Any]]:
    return [
        {
            "id": graph.entities.ids[seed.entity],
            "name": graph.entities.names[seed.entity],
            "mention": seed.mention,
            "start": seed.start,
            "end": seed.end,
            "rule": seed.rule,
            "weight": seed.weight,
        }
        for seed in linked.seeds
    ]


def ranked_json(
    graph: KnowledgeGraph,
    run: Run,
    row: int,
    most: int,
    reasons: Sequence[Sequence[Reason]] | None = None,
) -> list[dict[str, Any]]:
    """The first `most` entities of question `row`, each with the walk that reached it; reasons: by rank."""
    start, stop, _ = run.rows(row).indices(len(run.entities))
    found = []
    for place in range(start, min(stop, start + most)):
        entity = int(run.entities[place])
        each: dict[str, Any] = {
            "id": graph.entities.ids[entity],
            "name": graph.entities.names[entity],
            "score": float(run.scores[place]),
            "hop": int(run.hops[place]),
        }
        if run.walks is not None:
            each["walk"] = walk_steps(graph, entity, run.walks[place].tolist())
        if reasons is not None and place - start < len(reasons):
            each["reasons"] = [
                {"what": part.what, "words": list(part.words), "price": part.price}
                for part in reasons[place - start]
            ]
        found.append(each)
    return found


def names_in(graph: KnowledgeGraph, run: Run, most: int) -> dict[str, str]:
    """Id → name of all that the run's first `most` rows and their walks touch.

    Only these: all of a large graph's names would take a second and much memory.
    """
    rows = set(run.entities[:most].tolist())
    if run.walks is not None:
        for relation in set(run.walks[:most].ravel().tolist()) - {NO_STEP}:
            rows |= {graph.relations.sources.item(relation), graph.relations.targets.item(relation)}
    return {graph.entities.ids[row]: graph.entities.names[row] for row in rows}
