"""Which relations may be walked and which entities returned: the filters of `--relations`, `--types` …"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config.sections import Retrieval
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.graph.model import KnowledgeGraph

LISTED = 8  # known names in a message where none is near


@dataclass(frozen=True, slots=True, eq=False)
class Filters:
    """relations: bool (relations,), which may be walked. returned: bool (entities,), which may be answers.
    crossed: bool (entities,), which a walk may go on from (a seed always). Each is None where all may.
    out, against: whether relations are walked in their own direction and against it.
    """

    relations: NDArray[np.bool_] | None = None
    returned: NDArray[np.bool_] | None = None
    crossed: NDArray[np.bool_] | None = None
    out: bool = True
    against: bool = True

    @classmethod
    def of(cls, graph: KnowledgeGraph, settings: Retrieval) -> Filters:
        """Raises UsageError for an unknown type, with the nearest names."""
        kinds = graph.relations.types
        wanted = _codes(settings.relations, kinds.names, "--relations", "relation type")
        unwanted = _codes(settings.not_relations, kinds.names, "--not-relations", "relation type")
        types = _codes(settings.types, graph.entities.types.names, "--types", "entity type")
        limits = []
        if wanted:
            limits.append(np.isin(kinds.codes, wanted))
        if unwanted:
            limits.append(~np.isin(kinds.codes, unwanted))
        if settings.min_weight > 0:
            limits.append(graph.relations.weights >= settings.min_weight)
        walked = np.logical_and.reduce(limits) if limits else None
        most = settings.max_degree
        return cls(
            relations=None if walked is None or walked.all() else walked,
            returned=np.isin(graph.entities.types.codes, types) if types else None,
            crossed=graph.adjacency.degrees <= most if most else None,
            out=settings.direction != "in" or graph.origin.is_undirected,
            against=settings.direction != "out" or graph.origin.is_undirected,
        )

    def passable(self, graph: KnowledgeGraph) -> NDArray[np.bool_] | None:
        """(slots,), False where a walk may not leave an entity by that slot; None where all may."""
        may = self.slots(graph)
        if self.crossed is None:
            return may
        crossed = np.repeat(self.crossed, graph.adjacency.degrees)
        return crossed if may is None else may & crossed

    def slots(self, graph: KnowledgeGraph) -> NDArray[np.bool_] | None:
        """(slots,), False where the slot's relation may not be walked that way; None where all may."""
        if self.relations is None and self.out and self.against:
            return None
        adjacency = graph.adjacency
        may = np.ones(len(adjacency.relations), dtype=bool)
        if self.relations is not None:
            may &= self.relations[adjacency.relations]
        if not self.out:
            may &= ~adjacency.forward
        if not self.against:
            may &= adjacency.forward
        return may


def _codes(listed: str, known: Sequence[str], flag: str, what: str) -> list[int]:
    names = [name.strip() for name in listed.split(",") if name.strip()]
    by_fold = {name.casefold(): place for place, name in enumerate(known)}
    found = []
    for name in names:
        place = known.index(name) if name in known else by_fold.get(name.casefold())
        if place is None:
            more = ", …" if len(known) > LISTED else ""
            choices = (
                f". The graph has: {', '.join(known[:LISTED])}{more}" if known else ": the graph has none"
            )
            raise UsageError(
                "{flag}: no {what} {name}{near}",
                flag=flag,
                what=what,
                name=repr(name),
                near=nearest(name, known) or choices,
            )
        found.append(place)
    return found
