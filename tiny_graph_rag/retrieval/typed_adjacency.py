"""Adjacency as the search walks it: an entity's slots grouped by relation type and direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins
from tiny_graph_rag.columns.stored import OnDisk
from tiny_graph_rag.graph.model import Derived, KnowledgeGraph
from tiny_graph_rag.graph.tables import SLOTS_AT_ONCE, entity_ranges
from tiny_graph_rag.retrieval.filters import Filters

HEAVIEST = (1 << 16) - 1  # units of the heaviest relation; a mass times it stays within 62 bits


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Adjacency in runs: the slots of one entity, grouped by relation type and direction.

    run_ptr: (entities + 1,) into runs. run_start: (runs + 1,) into slots. kind: (runs,), twice the type's
    code, plus one against the relation's direction. neighbours, relations: (slots,). strength: (entities,),
    the sum of its slots' units. units: (relations,), weights as whole numbers.
    The columns are narrow because a walk from a hub reads most of them.
    """

    run_ptr: NDArray[np.signedinteger[Any]]
    run_start: NDArray[np.signedinteger[Any]]
    kind: NDArray[np.signedinteger[Any]]
    neighbours: NDArray[np.int32]
    relations: NDArray[np.int32]
    strength: NDArray[np.int64]
    units: NDArray[np.uint16]

    @classmethod
    def of(cls, graph: KnowledgeGraph, filters: Filters) -> Runs:
        passable = filters.slots(graph)
        arrays: Mapping[str, Any]
        if passable is None:
            arrays = graph.derived("runs", lambda: runs_of(graph, None))
        else:
            arrays = runs_of(graph, passable)
        return cls(**arrays)


def runs_of(graph: KnowledgeGraph, walked: NDArray[np.bool_] | None) -> dict[str, NDArray[Any] | OnDisk]:
    """The arrays of Runs; walked: (slots,), None for all. Sorted for SLOTS_AT_ONCE slots at a time."""
    adjacency, entities = graph.adjacency, len(graph)
    slots = len(adjacency.neighbours)
    codes, width = graph.relations.types.codes, 2 * max(len(graph.relations.types.names), 1)
    wide = np.int32 if slots <= np.iinfo(np.int32).max else np.int64
    numbers = {
        "run_ptr": wide,
        "run_start": wide,
        "kind": np.int16 if width - 1 <= np.iinfo(np.int16).max else np.int32,
        "neighbours": np.int32,
        "relations": np.int32,
    }
    kept = graph.derivations if walked is None else Derived()
    written = {name: kept.column(name, kind, slots) for name, kind in numbers.items()}
    units = unit_weights(graph.relations.weights)
    strength = np.zeros(entities, dtype=np.int64)
    runs = passed = 0
    for low, high in entity_ranges(adjacency.indptr, SLOTS_AT_ONCE):
        first, last = int(adjacency.indptr[low]), int(adjacency.indptr[high])
        starts = np.repeat(np.arange(high - low), np.diff(adjacency.indptr[low : high + 1]))
        kinds = 2 * codes[adjacency.relations[first:last]].astype(np.int64) + ~adjacency.forward[first:last]
        order = np.argsort(starts * width + kinds, kind="stable")
        if walked is not None:
            order = order[walked[first:last][order]]
        starts, kinds = starts[order], kinds[order]
        first_slots = np.flatnonzero(begins(starts, kinds))
        relations = adjacency.relations[first:last][order]
        np.add.at(strength[low:high], starts, units[relations])
        written["run_ptr"].add(np.searchsorted(starts[first_slots], np.arange(high - low)) + runs)
        written["run_start"].add(first_slots + passed)
        written["kind"].add(kinds[first_slots])
        written["neighbours"].add(adjacency.neighbours[first:last][order])
        written["relations"].add(relations)
        runs += len(first_slots)
        passed += len(order)
    written["run_ptr"].add(np.array([runs]))
    written["run_start"].add(np.array([passed]))
    columns = {name: part.done() for name, part in written.items()}
    return {**columns, "strength": strength, "units": units}


def unit_weights(weights: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Weights as whole numbers from 1 to HEAVIEST, the heaviest relation's."""
    heaviest = float(weights.max(initial=0.0))
    units = np.full(len(weights), HEAVIEST, dtype=np.uint16)
    for first in range(0, len(weights) if heaviest > 0 else 0, SLOTS_AT_ONCE):
        part = weights[first : first + SLOTS_AT_ONCE]
        units[first : first + SLOTS_AT_ONCE] = np.maximum(1, np.rint(part / heaviest * HEAVIEST))
    return units
