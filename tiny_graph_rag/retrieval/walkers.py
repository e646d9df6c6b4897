"""Walkers on a graph: how many come by at each entity, in whole numbers.

At each step half of the walkers at an entity go on, shared out by the weights of its relations and of what is
joined to it; the others go home. Weights are what a guide prefers. With many questions to ask, compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.compiled import compiled
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.graph.traversal import slots_of
from tiny_graph_rag.retrieval.text_index import Joins

MOST_SLOTS = 1 << 15  # looked at in one step; walkers who would need more stay where they are

Column = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """What the walkers of one question prefer. codes: type of each relation; of_type: weight by type, > 0;
    rows: relations, ascending, whose weight is greater, each by how much is `added`."""

    codes: NDArray[np.int32]
    of_type: Column
    rows: NDArray[np.int32]
    added: Column

    def weights(self, relations: NDArray[np.int32]) -> Column:
        weights: Column = self.of_type[self.codes[relations]]
        if len(self.rows):
            place = np.minimum(np.searchsorted(self.rows, relations), len(self.rows) - 1)
            weights += np.where(self.rows[place] == relations, self.added[place], 0)
        return weights


class Walkers:
    """adjacency: the relations that may be walked."""

    def __init__(self, adjacency: Adjacency, joins: Joins) -> None:
        self.adjacency, self.joins = adjacency, joins

    def visits(
        self, at: NDArray[np.int32], mass: Column, guide: Guide, steps: int, *, fast: bool = False
    ) -> Column:
        """(entities,) how many walkers come by in so many steps; the start does not count.

        at: different entities; mass: walkers at each, less than 2^31. fast: compiled; the result is the same.
        """
        entities = len(self.adjacency.indptr) - 1
        visits = np.zeros(entities, dtype=np.int64)
        if fast:
            graph = self.adjacency, self.joins
            compiled(_walk)(
                *(_given(each) for each in (graph[0].indptr, graph[0].neighbours, graph[0].relations)),
                *(_given(each) for each in (graph[1].indptr, graph[1].neighbours, graph[1].weights)),
                *(_given(each) for each in (guide.codes, guide.of_type, guide.rows, guide.added)),
                *(_given(each) for each in (at, mass)),
                steps,
                visits,
            )
            return visits
        for _ in range(steps):
            at, mass = self._step(at, mass, guide)
            visits[at] += mass
        return visits

    def _step(self, at: NDArray[np.int32], mass: Column, guide: Guide) -> tuple[NDArray[np.int32], Column]:
        adjacency, joins = self.adjacency, self.joins
        slots, beside = slots_of(adjacency, at), slots_of(joins, at)
        if not 0 < len(slots) + len(beside) <= MOST_SLOTS:
            return at[:0], mass[:0]
        rows = np.arange(len(at))
        owner = rows.repeat(adjacency.indptr[at + 1] - adjacency.indptr[at])
        weight, reached = guide.weights(adjacency.relations[slots]), adjacency.neighbours[slots]
        if len(beside):
            owner = np.concatenate([owner, rows.repeat(joins.indptr[at + 1] - joins.indptr[at])])
            weight = np.concatenate([weight, joins.weights[beside]])
            reached = np.concatenate([reached, joins.neighbours[beside]])
        out = np.bincount(owner, weight, len(at)).astype(np.int64)
        flow = (mass[owner] >> 1) * weight // out[owner]
        arrived = np.bincount(reached, flow)  # whole numbers below 2^53: exact
        at = np.flatnonzero(arrived > 0).astype(np.int32)
        return at, arrived[at].astype(np.int64)


def _given(array: NDArray[Any]) -> NDArray[Any]:
    """Marked as read only, as mapped arrays are, that one compiled form serves both."""
    view = array.view()
    view.flags.writeable = False
    return view


def _walk(  # type: ignore[no-untyped-def]
    indptr, neighbours, relations, joined, beside, weights, codes, of_type, rows, added, at, mass, steps,
    visits,
):  # fmt: skip
    """`Walkers._step`, `steps` times; visits are added to. All else is arrays: of the graph, of the joins, of
    the guide, and where how many walkers start."""
    entities = len(visits)
    arrived = np.zeros(entities, dtype=np.int64)
    room = min(entities, max(len(at), MOST_SLOTS))
    here = np.empty(room, dtype=np.int32)
    left = np.empty(room, dtype=np.int64)
    ahead = np.empty(room, dtype=np.int32)
    weight = np.empty(MOST_SLOTS, dtype=np.int64)
    n = len(at)
    for i in range(n):
        here[i] = at[i]
        left[i] = mass[i]
    for _ in range(steps):
        slots = 0
        for i in range(n):
            u = here[i]
            slots += indptr[u + 1] - indptr[u] + joined[u + 1] - joined[u]
        if slots == 0 or slots > MOST_SLOTS:
            return
        reached = 0
        for i in range(n):
            u = here[i]
            first = indptr[u]
            last = indptr[u + 1]
            out = 0
            for s in range(first, last):
                relation = relations[s]
                mine = of_type[codes[relation]]
                if len(rows) > 0:
                    low = 0
                    high = len(rows)
                    while low < high:
                        middle = (low + high) >> 1
                        if rows[middle] < relation:
                            low = middle + 1
                        else:
                            high = middle
                    if low < len(rows) and rows[low] == relation:
                        mine += added[low]
                weight[s - first] = mine
                out += mine
            for s in range(joined[u], joined[u + 1]):
                out += weights[s]
            half = left[i] >> 1
            for s in range(first, last):
                flow = half * weight[s - first] // out
                if flow > 0:
                    v = neighbours[s]
                    if arrived[v] == 0:
                        ahead[reached] = v
                        reached += 1
                    arrived[v] += flow
            for s in range(joined[u], joined[u + 1]):
                flow = half * weights[s] // out
                if flow > 0:
                    v = beside[s]
                    if arrived[v] == 0:
                        ahead[reached] = v
                        reached += 1
                    arrived[v] += flow
        n = reached
        for i in range(n):
            v = ahead[i]
            here[i] = v
            left[i] = arrived[v]
            visits[v] += arrived[v]
            arrived[v] = 0
