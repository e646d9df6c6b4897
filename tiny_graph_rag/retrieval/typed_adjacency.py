"""Adjacency as the kernel walks it: an entity's slots grouped by relation type and direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.filters import Filters

HEAVIEST = (1 << 16) - 1  # units of the heaviest relation; a mass times it stays within 62 bits


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Adjacency in runs: the slots of one entity, grouped by relation type and direction.

    run_ptr: (entities + 1,) into runs. run_start: (runs + 1,) into slots. kind: (runs,), twice the type's
    code, plus one against the relation's direction. neighbours, relations: (slots,). strength: (entities,),
    the sum of its slots' units. units: (relations,), weights as whole numbers. symmetric: whether each slot
    has one back. The columns are narrow because a walk from a hub reads most of them.
    """

    run_ptr: NDArray[np.signedinteger[Any]]
    run_start: NDArray[np.signedinteger[Any]]
    kind: NDArray[np.signedinteger[Any]]
    neighbours: NDArray[np.int32]
    relations: NDArray[np.int32]
    strength: NDArray[np.int64]
    units: NDArray[np.uint16]
    symmetric: bool

    @classmethod
    def of(cls, graph: KnowledgeGraph, filters: Filters) -> Runs:
        passable = filters.slots(graph)
        if passable is None:
            arrays = graph.derived("runs", lambda: runs_of(graph, None))
        else:
            arrays = runs_of(graph, passable)
        return cls(**arrays, symmetric=filters.out and filters.against)


def runs_of(graph: KnowledgeGraph, walked: NDArray[np.bool_] | None) -> dict[str, NDArray[Any]]:
    """The arrays of Runs; walked: (slots,), None for all."""
    adjacency, entities = graph.adjacency, len(graph)
    starts = np.repeat(np.arange(entities), adjacency.degrees)
    kinds = 2 * graph.relations.types.codes[adjacency.relations].astype(np.int64) + ~adjacency.forward
    width = 2 * max(len(graph.relations.types.names), 1)
    order = np.argsort(starts * width + kinds, kind="stable")
    if walked is not None:
        order = order[walked[order]]
    starts, kinds = starts[order], kinds[order]
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (starts[1:] != starts[:-1]) | (kinds[1:] != kinds[:-1])
    begins = np.flatnonzero(fresh)
    units = unit_weights(graph.relations.weights)
    relations = adjacency.relations[order]
    strength = np.zeros(entities, dtype=np.int64)
    np.add.at(strength, starts, units[relations])
    return {
        "run_ptr": _narrow(np.searchsorted(starts[begins], np.arange(entities + 1)), (np.int32, np.int64)),
        "run_start": _narrow(np.append(begins, len(order)), (np.int32, np.int64)),
        "kind": _narrow(kinds[begins], (np.int16, np.int32)),
        "neighbours": adjacency.neighbours[order],
        "relations": relations,
        "strength": strength,
        "units": units.astype(np.uint16),
    }


def _narrow(column: NDArray[Any], kinds: tuple[type[np.signedinteger[Any]], ...]) -> NDArray[Any]:
    """In the first type that holds the column's greatest value."""
    most = int(column.max(initial=0))
    return column.astype(next((kind for kind in kinds if most <= np.iinfo(kind).max), kinds[-1]))


def unit_weights(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Weights as whole numbers from 1 to HEAVIEST, the heaviest relation's."""
    heaviest = float(weights.max(initial=0.0))
    if heaviest <= 0:
        return np.full(len(weights), HEAVIEST, dtype=np.int64)
    return np.maximum(1, np.rint(weights / heaviest * HEAVIEST)).astype(np.int64)
