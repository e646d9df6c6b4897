"""Results documents for tests: what `eval` writes, of any size, from a seed.

The walks hang together (each step starts where the one before ended, ranked entities are at the walk's end),
so that pictures can be drawn; the measures are made up, for reports compute nothing and need no truth.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

MEASURES = ("precision@5", "recall@5", "mrr", "ndcg@5")
VERDICTS = ("hit", "ranked_below_k", "beyond_hops", "unreachable", "no_seed", "not_in_graph")
RELATIONS = ("WROTE", "DIRECTED_BY", "STARRED_ACTORS", "HAS_GENRE", "LIVES_IN", "가족이다", "OWNS")
TYPES = ("PERSON", "FILM", "PLACE", "작품")
TAGS = ("1-hop", "2-hop", "3-hop", "paraphrase", "coreference")
WORDS = ("Anna", "river", "점순", "수탉", "동백꽃", "letter", "Holmes", "닭싸움", "garden", "House", "산기슭")

Json = dict[str, Any]


def results(questions: int, references: int, *, entities: int = 500, seed: int = 0) -> Json:
    """A document of `questions` questions and `references` references in all."""
    chance = random.Random(seed)
    names = {f"e{row:05d}": f"{chance.choice(WORDS)} {chance.choice(WORDS)} {row}" for row in range(entities)}
    ids = list(names)
    rows = []
    for row in range(questions):
        mine = references * (row + 1) // questions - references * row // questions
        rows.append(_question(chance, row, mine, ids, names))
    verdicts = [reference["verdict"] for question in rows for reference in question["references"]]
    by_tag = {tag: [row_cells for row_cells in rows if tag in row_cells["tags"]] for tag in TAGS}
    used = {entity: None for question in rows for entity in _mentioned(question)}
    return {
        "schema_version": 1,
        "package_version": "0.1.0",
        "kind": "eval",
        "graph": {"name": "made-up", "sha256": "0" * 64},
        "dataset": {"name": "made-up-eval", "sha256": "1" * 64, "selection": None},
        "config": {"retrieval": {"linker": "names", "retriever": "bfs", "hops": 3, "depth": 100}},
        "summary": {
            "k": 5,
            "mean_precision_at_k": 0.25,
            "mean_recall_at_k": 0.5,
            "mean_mrr": 0.5,
            "mean_ndcg_at_k": 0.5,
            "total_token_usage": 0,
            "token_usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            "estimated_cost_usd": 0.0,
            **_slice(rows),
            "by_tag": {tag: _slice(slice_) for tag, slice_ in by_tag.items() if slice_},
            "waterfall": waterfall(0.9, 0.9, 0.85, 0.8, 0.8, 0.75, 0.5),
            "oracle_recall": 0.8,
            "verdicts": {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict in verdicts},
            "recommendations": [
                {
                    "rule": "largest loss",
                    "text": "The ranking loses most: 25.0 of 100 points of recall lie below rank 5.",
                    "said": "The ranking loses most: {points} of 100 points of recall lie below rank 5.",
                    "values": {"points": "25.0"},
                    "evidence": {"step": "recall@k", "loss": 0.25},
                }
            ],
            "questions_per_second": 1000.0,
        },
        "results": rows,
        "entities": {
            id_: {
                "name": names[id_],
                "type": TYPES[int(id_[1:]) % len(TYPES)],
                "description": f"What is known of {names[id_]}.",
            }
            for id_ in ids
            if id_ in used
        },
    }


def waterfall(*recalls: float) -> list[Json]:
    """What remains after each step → the summary's waterfall."""
    steps = (
        *("in graph", "recognised by name", "reachable", "within --hops of a named entity"),
        *("within depth", "room in --top-k", "recall@k"),
    )
    before = (1.0, *recalls)
    return [
        {
            "step": step,
            "recall": recall,
            "loss": round(before[place] - recall, 12),
            "references": round(40 * (before[place] - recall)),
        }
        for place, (step, recall) in enumerate(zip(steps, recalls, strict=True))
    ]


def _slice(rows: list[Json]) -> Json:
    measures = {}
    for measure in MEASURES:
        values = [row["metrics"][measure] for row in rows if row["metrics"][measure] is not None]
        mean = sum(values) / len(values) if values else None
        measures[measure] = {
            "mean": mean,
            "low": None if mean is None else max(0.0, mean - 0.1),
            "high": None if mean is None else min(1.0, mean + 0.1),
            "n": len(values),
            "reliable": len(values) >= 30,
        }
    without = sum(not row["references"] for row in rows)
    return {
        "questions": len(rows),
        "scored": len(rows) - without,
        "without_gold": without,
        "nothing_retrieved": sum(not row["ranked"] for row in rows),
        "failed": 0,
        "measures": measures,
    }


def _question(
    chance: random.Random, row: int, references: int, ids: list[str], names: dict[str, str]
) -> Json:
    seed = ids[chance.randrange(len(ids))]
    query = f"Who lives by {names[seed]}, and why?"
    start = query.index(names[seed])
    ranked = [{"id": seed, "name": names[seed], "score": 1.0, "hop": 0, "cost": _cost(0), "walk": []}]
    for place in range(1, 10):
        before = ranked[chance.randrange(len(ranked))]
        if before["hop"] >= 3:
            before = ranked[0]
        entity = ids[chance.randrange(len(ids))]
        walk = [*before["walk"], _step(chance, before["id"], entity)]
        score = round(1 / (1 + place), 6)
        entry = {"id": entity, "name": names[entity], "score": score, "hop": len(walk)}
        ranked.append({**entry, "cost": _cost(place), "walk": walk})
    return {
        "id": f"q{row:05d}",
        "query": query,
        "tags": sorted(chance.sample(TAGS, 2)),
        "linked": [
            {
                "id": seed,
                "name": names[seed],
                "mention": names[seed],
                "start": start,
                "end": start + len(names[seed]),
                "rule": "name",
                "weight": 1.0,
            }
        ],
        "ranked": ranked,
        "references": [_reference(chance, place, ranked, ids, names) for place in range(references)],
        "metrics": {measure: chance.randrange(1001) / 1000 if references else None for measure in MEASURES},
        "answer": None,
        "latency_seconds": None,
    }


def _cost(total: int) -> Json:
    """Parts that add up, the text seed's link among them where the total is large."""
    parts = {"link": 0.5 if total > 5 else 0, "text": 0.125 if total else 0, "neighbour": 0, "pagerank": 0}
    walk = total - sum(parts.values())
    return {"total": total, "link": parts.pop("link"), "path": walk, **parts}


def _reference(
    chance: random.Random, place: int, ranked: list[Json], ids: list[str], names: dict[str, str]
) -> Json:
    verdict = chance.choice(VERDICTS)
    if place + 1 >= len(ranked) and verdict in ("hit", "ranked_below_k"):
        verdict = "beyond_hops"
    entity = ids[chance.randrange(len(ids))]
    found: Json = {
        "name": names[entity],
        "grade": 1,
        "entity_ids": [entity],
        "resolved_by": "name",
        "ambiguous": False,
        "shares_entity": False,
        "verdict": verdict,
        "rank": None,
        "hop": None,
    }
    if verdict in ("hit", "ranked_below_k"):
        row = ranked[place + 1]
        found |= {"name": row["name"], "entity_ids": [row["id"]], "rank": place + 2, "hop": row["hop"]}
        if place + 2 > 5:
            found |= {"path": row["walk"], "verdict": "ranked_below_k"}
            found |= {"above": [hit["id"] for hit in ranked[:5]]}
        else:
            found |= {"verdict": "hit", "matched": row["name"]}
    elif verdict == "beyond_hops":
        way = [ranked[0]["id"], *(ids[chance.randrange(len(ids))] for _ in range(3)), entity]
        steps = [_step(chance, one, other) for one, other in pairwise(way)]
        found |= {"hop": 4, "path": steps}
    elif verdict == "not_in_graph":
        found |= {"entity_ids": [], "resolved_by": None, "nearest": [names[entity]], "name": "Nobody at all"}
    return found


def _step(chance: random.Random, one: str, other: str) -> Json:
    return {"from": one, "relation": chance.choice(RELATIONS), "to": other, "forward": chance.random() < 0.5}


def _mentioned(question: Json) -> list[str]:
    found = [item["id"] for item in (*question["linked"], *question["ranked"])]
    for reference in question["references"]:
        found += [*reference["entity_ids"], *reference.get("above", ())]
        for step in reference.get("path") or ():
            found += [step["from"], step["to"]]
    return found
