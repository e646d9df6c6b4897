"""A graph's rows as results files spell them: ids, names and walks, each decoded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.base import NO_STEP

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
