"""One question's seeds and ranking as results files hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.report.json.spelled import Spelled
from tiny_graph_rag.retrieval.base import Reason, Run


def linked_json(linked: LinkedQuestion, spelled: Spelled) -> list[dict[str, Any]]:
    return [
        {
            "id": spelled.ids[seed.entity],
            "name": spelled.names[seed.entity],
            "mention": seed.mention,
            "start": seed.start,
            "end": seed.end,
            "rule": seed.rule,
            "weight": seed.weight,
        }
        for seed in linked.seeds
    ]


def ranked_json(
    run: Run,
    row: int,
    most: int,
    spelled: Spelled,
    reasons: Sequence[Sequence[Reason]] | None = None,
) -> list[dict[str, Any]]:
    """The first `most` entities of question `row`, each with the walk that reached it; reasons: by rank."""
    start, stop, _ = run.rows(row).indices(len(run.entities))
    rows = slice(start, min(stop, start + most))
    entities, scores, hops = run.entities[rows].tolist(), run.scores[rows].tolist(), run.hops[rows].tolist()
    found: list[dict[str, Any]] = [
        {"id": spelled.ids[entity], "name": spelled.names[entity], "score": score, "hop": hop}
        for entity, score, hop in zip(entities, scores, hops, strict=True)
    ]
    if run.walks is not None:
        for each, entity, walk in zip(found, entities, run.walks[rows].tolist(), strict=True):
            each["walk"] = spelled.walk(entity, walk)
    for each, parts in zip(found, reasons or (), strict=False):
        each["reasons"] = [
            {"what": part.what, "words": list(part.words), "price": part.price} for part in parts
        ]
    return found
