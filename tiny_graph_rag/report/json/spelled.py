"""A graph's rows as results files spell them: ids, names and walks, each decoded once; seeds and rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.run import NO_STEP, Run

T = TypeVar("T")


class Remembered(dict[int, T], Generic[T]):
    """A column by row that keeps what was looked at; its keys are the rows that somebody asked for."""

    def __init__(self, column: Sequence[T]) -> None:
        self.column = column

    def __missing__(self, row: int) -> T:
        value = self[row] = self.column[row]
        return value


class Spelled:
    """ids, names: by entity. An entity whose id was asked for is `mentioned`, ends of steps included."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph
        self.ids: Remembered[str] = Remembered(graph.entities.ids)
        self.names: Remembered[str] = Remembered(graph.entities.names)
        self._steps: dict[tuple[int, int], tuple[dict[str, Any], int]] = {}

    @property
    def mentioned(self) -> list[int]:
        """Ascending."""
        return sorted(self.ids)

    def names_by_id(self) -> dict[str, str]:
        """Of every entity that is mentioned."""
        return {self.ids[row]: self.names[row] for row in self.mentioned}

    def walk(self, entity: int, relations: Sequence[int]) -> list[dict[str, Any]]:
        """The walk that ends at `entity`, from its seed: one {"from", "relation", "to", "forward"} a step.

        relations: as Run.walks has them. Steps are shared between walks; who changes one copies it first.
        """
        steps: list[dict[str, Any]] = []
        at = entity
        for relation in reversed(relations):
            if relation == NO_STEP:
                continue
            step = self._steps.get((relation, at))
            if step is None:
                step = self._steps[relation, at] = self._step(relation, at)
            steps.append(step[0])
            at = step[1]
        return steps[::-1]

    def _step(self, relation: int, to: int) -> tuple[dict[str, Any], int]:
        """The step over `relation` that arrives at `to`, and where it comes from."""
        known = self.graph.relations
        source, target = known.sources.item(relation), known.targets.item(relation)
        forward = to == target
        before = source if forward else target
        step = {
            "from": self.ids[before],
            "relation": known.types[relation],
            "to": self.ids[to],
            "forward": forward,
        }
        return step, before


def linked_json(linked: LinkedQuestion, spelled: Spelled) -> list[dict[str, Any]]:
    """A question's seeds."""
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


def walk_in_words(walk: Sequence[dict[str, Any]], names: Mapping[str, str]) -> str:
    """`A —OWNS→ B ←FEEDS— C`; "" for a seed itself. walk: as `Spelled.walk` has it; names: by id."""
    if not walk:
        return ""
    parts = [names[walk[0]["from"]]]
    for step in walk:
        parts.append(f"—{step['relation']}→" if step["forward"] else f"←{step['relation']}—")
        parts.append(names[step["to"]])
    return " ".join(parts)
