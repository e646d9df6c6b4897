"""Walkers on a graph: how many come by at each entity, in whole numbers.

At each step half of the walkers at an entity go on, shared out by the weights of its relations and of what is
joined to it; the others go home. Weights are what a guide prefers. With many questions to ask, compiled.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import expanded, zeros_as_touched
from tiny_graph_rag.columns.compiled import compiled
from tiny_graph_rag.columns.sums import Sums
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.retrieval.text_index import Joins

MOST_SLOTS = 1 << 15  # looked at in one step; walkers who would need more stay where they are
TOGETHER = 8  # starts from which walkers go side by side
ROOM = 1 << 20  # places that they have in all: of a larger graph, fewer starts

Column = NDArray[np.int64]
Visits = tuple[NDArray[np.int64], Column]  # entities, each once, in any order; how many came by


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


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """at: different entities; mass: walkers at each, less than 2^31; steps: how many they go."""

    at: NDArray[np.signedinteger[Any]]
    mass: Column
    steps: int


class Walkers:
    """adjacency: the relations that may be walked."""

    def __init__(self, adjacency: Adjacency, joins: Joins) -> None:
        self.adjacency, self.joins = adjacency, joins
        self._entities = len(adjacency.indptr) - 1
        self._together = max(1, min(TOGETHER, ROOM // max(1, self._entities)))
        self._sums = Sums(self._together * self._entities)
        self._of_thread = threading.local()

    def visits(self, starts: Sequence[Start], guide: Guide, *, fast: bool = False) -> list[Visits]:
        """Of each start, alone: where walkers come by, and how many; the start itself does not count.

        fast: compiled; the result is the same.
        """
        if fast:
            return [self._compiled(each, guide) for each in starts]
        groups = (starts[each : each + self._together] for each in range(0, len(starts), self._together))
        return [each for group in groups for each in self._side_by_side(group, guide)]

    def _side_by_side(self, starts: Sequence[Start], guide: Guide) -> list[Visits]:
        """Entity e of start s is place s × entities + e."""
        size, many = self._entities, len(starts)
        steps = np.array([each.steps for each in starts])
        places = np.concatenate([each.at + row * size for row, each in enumerate(starts)])
        mass = np.concatenate([each.mass for each in starts])
        came = []
        for step in range(int(steps.max())):
            start = places // size
            at = places - start * size
            slots, joined = _ranges(self.adjacency.indptr, at), _ranges(self.joins.indptr, at)
            needed = np.bincount(start, slots[1] + joined[1], many)
            home = (steps <= step) | (needed > MOST_SLOTS)
            if home.any():
                out = ~home[start]
                mass, start = mass[out], start[out]
                slots, joined = slots[:, out], joined[:, out]
            owner, weight, reached = self._ahead(slots, joined, guide)
            whole = np.bincount(owner, weight, len(mass)).astype(np.int64)
            flow = (mass >> 1)[owner] * weight // whole[owner]
            arrived = self._sums.of([(reached + (start * size)[owner], flow)], within=many * size)
            came.append(arrived)
            places, mass = arrived.rows, arrived.sums
            if not len(places):
                break
        rows, counts = self._sums.of(came, within=many * size)
        bounds = np.searchsorted(rows, np.arange(many + 1) * size).tolist()
        return [
            (rows[low:high] - row * size, counts[low:high])
            for row, (low, high) in enumerate(pairwise(bounds))
        ]

    def _ahead(
        self, slots: NDArray[np.int64], joined: NDArray[np.int64], guide: Guide
    ) -> tuple[NDArray[np.int64], Column, NDArray[np.int32]]:
        """(whose, weight, where to) of every way on from entities with these ranges of slots and of joins."""
        adjacency, joins = self.adjacency, self.joins
        owner, ways = expanded(*slots)
        weight, reached = guide.weights(adjacency.relations[ways]), adjacency.neighbours[ways]
        if joined[1].any():
            its_owner, ways = expanded(*joined)
            owner = np.concatenate([owner, its_owner])
            weight = np.concatenate([weight, joins.weights[ways]])
            reached = np.concatenate([reached, joins.neighbours[ways]])
        return owner, weight, reached

    def _compiled(self, start: Start, guide: Guide) -> Visits:
        memory = self._of_thread.__dict__.pop("memory", None)  # gone where a walk is interrupted half-way
        if memory is None:
            memory = tuple(zeros_as_touched(self._entities, np.int64) for _ in range(7))
        adjacency, joins = self.adjacency, self.joins
        given = (
            adjacency.indptr, adjacency.neighbours, adjacency.relations, joins.indptr, joins.neighbours,
            joins.weights, guide.codes, guide.of_type, guide.rows, guide.added,
            start.at.astype(np.int64), start.mass,
        )  # fmt: skip
        count = compiled(_walk)(*(_given(each) for each in given), start.steps, *memory)
        self._of_thread.memory = memory
        rows, counts = memory[:2]
        return rows[:count].copy(), counts[:count].copy()


def _ranges(indptr: NDArray[np.signedinteger[Any]], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """(2, entities): where the slots of each begin, and how many they are."""
    first = indptr[at]
    return np.stack([first, indptr[at + 1] - first])


def _given(array: NDArray[Any]) -> NDArray[Any]:
    """Marked as read only, as mapped arrays are, that one compiled form serves both."""
    view = array.view()
    view.flags.writeable = False
    return view


def _walk(  # type: ignore[no-untyped-def]
    indptr, neighbours, relations, joined, beside, weights, codes, of_type, rows, added, at, mass, steps,
    came, counts, visits, arrived, here, left, ahead,
):  # fmt: skip
    """How many entities walkers come by at; which ones and how many, in `came` and `counts`.

    The first arrays are of the graph, of the joins and of the guide, then where how many walkers start. The
    last are memory, as long as there are entities; visits and arrived hold zeros before and after.
    """
    weight = np.empty(MOST_SLOTS, dtype=np.int64)
    n = len(at)
    found = 0
    for i in range(n):
        here[i] = at[i]
        left[i] = mass[i]
    for _ in range(steps):
        slots = 0
        for i in range(n):
            u = here[i]
            slots += indptr[u + 1] - indptr[u] + joined[u + 1] - joined[u]
        if slots == 0 or slots > MOST_SLOTS:
            break
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
            if visits[v] == 0:
                came[found] = v
                found += 1
            visits[v] += arrived[v]
            arrived[v] = 0
    for i in range(found):
        counts[i] = visits[came[i]]
        visits[came[i]] = 0
    return found
