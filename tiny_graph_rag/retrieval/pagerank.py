"""Personalised PageRank from the seeds: where a random walker who keeps going home spends the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from os import cpu_count
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, zeros_as_touched
from tiny_graph_rag.columns.compiled import compiled, worth_compiling
from tiny_graph_rag.columns.stored import give_back_pages
from tiny_graph_rag.graph.traversal import NOT_CUT, Reached, slots_of
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.retrieval.base import Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Candidates
from tiny_graph_rag.run import Cut, Run

DAMPING = 0.85  # the share of steps that follow a relation (Page et al., 1999)
TOLERANCE = 1e-9  # of the mass in all that may still move in a step
MOST_STEPS = 200  # 0.85 ** 200 is below the tolerance
# Mass and weights are whole numbers of these small parts, kept in floats: sums of them are exact, and so
# do not depend on the order in which a file lists its relations.
MASS_UNITS = 2.0**50
WEIGHT_UNITS = 2.0**32
NEIGHBOURS_A_STEP = 30  # as many neighbours as numpy looks at in the time of one step of plain Python

FIRST_KNOWN = 1 << 10
SLOTS_PUSHED = 1 << 20  # at once
BLOCK = 16  # homes side by side: two cache lines of masses an entity

Home = tuple[tuple[int, float], ...]  # seeds with their shares, which sum to 1; empty without seeds


@retriever("pagerank", "personalised PageRank from the seeds")
class PageRankRetriever(Retriever):
    """Personalised PageRank on all relations that may be walked; entities within the hops are returned.

    The walker starts at the seeds by their weights and returns there with probability .15, and from an
    entity without relations always. Relations are followed by their weights. The scores of the whole graph
    sum to 1. On a graph with more relations than `max_steps` mass is pushed on only where enough of it lies
    for that limit to hold; what stays behind is less than 1 / (.15 * max_steps) a relation of an entity.
    Sources: Haveliwala, Topic-sensitive PageRank (2002); Andersen, Chung & Lang, Local graph partitioning
    using PageRank vectors (2006).
    """

    from_named: ClassVar[bool] = True

    def __init__(self, task: Task) -> None:
        self.candidates = Candidates(task)
        self.entities, most = len(task.graph), task.config.running.max_steps
        self.is_near = 0 < most < len(self.candidates.adjacency.neighbours)
        if not self.is_near:
            adjacency = self.candidates.adjacency
            owner = np.repeat(np.arange(self.entities, dtype=np.int32), adjacency.degrees)
            self.whole = self._steps(owner, adjacency.neighbours, adjacency.relations, self.entities)

    def _steps(
        self, owner: NDArray[np.int32], neighbours: NDArray[np.int32], relations: NDArray[np.int32], size: int
    ) -> Steps:
        weights = self.candidates.graph.relations.weights[relations]
        weights = np.rint(weights / (weights.max(initial=0.0) or 1.0) * WEIGHT_UNITS)
        out = np.bincount(owner, weights=weights, minlength=size)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = weights / out[owner]
        share = np.where(np.isfinite(share), share, 0.0)
        return Steps(owner, neighbours, share, np.flatnonzero(np.bincount(owner, share, size) == 0))

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return next(self.retrieve_within(questions, [self.candidates.settings.hops]))

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """Hops only say what is returned: the walker goes everywhere, once for all limits."""
        parts: dict[tuple[int, int], Run] = {}
        if self.is_near:
            for row, question in enumerate(questions):
                pushed = self._pushed(question, max(hops))
                parts |= {(limit, row): pushed.run(self.candidates, question, limit) for limit in hops}
        else:
            reached = self.candidates.reached(questions)
            for row, mass in self._masses(questions):
                for limit in hops:
                    near = reached[row].within(limit)
                    parts[limit, row] = self.candidates.walked(questions[row], near, mass[near.entities])
        rows = range(len(questions))
        for limit in hops:
            yield Run.concatenated([parts[limit, row] for row in rows])

    def _pushed(self, question: LinkedQuestion, hops: int) -> Pushed:
        """Where the walker's mass comes to lie, and how far from the seeds that is."""
        if not hasattr(self, "_places"):
            self._places = zeros_as_touched(self.entities, np.int32)
        push = Push(self.candidates, self._places)
        try:
            push.run(_home(question.starts))
            return push.found(_home(question.starts), hops)
        finally:
            self._places[push.entities[: push.known]] = 0

    def _masses(self, questions: Sequence[LinkedQuestion]) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """(row of a question, mass (entities,)), in any order; questions with the same seeds share theirs."""
        rows: dict[Home, list[int]] = {}
        for row, question in enumerate(questions):
            rows.setdefault(_home(question.starts), []).append(row)
        homes = list(rows)
        blocks = [homes[start : start + BLOCK] for start in range(0, len(homes), BLOCK)]
        running = self.candidates.running
        steps = len(homes) * len(self.whole.owner) * MOST_STEPS // NEIGHBOURS_A_STEP
        fast = worth_compiling(steps, allowed=running.compiled)
        threads = (running.threads or cpu_count() or 1) if fast else 1
        with ExitStack() as until_done:
            each_of: Callable[..., Iterator[NDArray[np.float64]]] = map
            if threads > 1:
                from concurrent.futures import ThreadPoolExecutor  # one thread needs none of it

                each_of = until_done.enter_context(ThreadPoolExecutor(threads)).map
            for start in range(0, len(blocks), threads):  # no more of them at once: each holds whole graphs
                together = blocks[start : start + threads]
                for block, masses in zip(
                    together, each_of(partial(self.masses, fast=fast), together), strict=True
                ):
                    for home, mass in zip(block, masses, strict=True):
                        yield from ((row, mass) for row in rows[home])

    def masses(self, homes: Sequence[Home], fast: bool = False) -> NDArray[np.float64]:
        """(homes, entities): each entity's share of the walker's time, for at most BLOCK homes.

        The same for a home whatever stands beside it, compiled or not.
        """
        if not fast:
            every = [self.whole.mass(home, self.entities) for home in homes]
            return np.array(every).reshape(len(homes), self.entities)
        start = np.zeros((self.entities, BLOCK))
        for column, home in enumerate(homes):
            for entity, share in home:
                start[entity, column] = share
        adjacency, steps = self.candidates.adjacency, self.whole
        found = compiled(power)(adjacency.indptr, adjacency.neighbours, steps.share, steps.stuck, start)
        return np.ascontiguousarray(found[:, : len(homes)].T) / MASS_UNITS


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Where a walker goes. owner, neighbours: (slots,) entities at both ends; share: of those who leave the
    owner; stuck: entities that nobody leaves."""

    owner: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    share: NDArray[np.float64]
    stuck: NDArray[np.int64]

    def mass(self, home: Home, entities: int) -> NDArray[np.float64]:
        """(entities,): `power` for one home, by numpy."""
        start = np.zeros(entities)
        for entity, share in home:
            start[entity] = share
        mass = np.rint(start * MASS_UNITS)
        passed = np.empty(
            len(self.share)
        )  # used again: of a large graph new memory costs as much as the sums
        for _ in range(MOST_STEPS if len(home) else 0):
            np.take(mass, self.owner, out=passed)
            passed *= self.share
            np.rint(passed, out=passed)
            moved = np.bincount(self.neighbours, passed, entities).astype(np.float64)
            stranded = float(np.add.reduce(mass[self.stuck]))
            back = (1 - DAMPING) * MASS_UNITS + DAMPING * stranded
            after = np.rint(DAMPING * moved + back * start)
            change = float(np.abs(after - mass).sum())
            mass = after
            if change < TOLERANCE * MASS_UNITS:
                break
        return mass / MASS_UNITS


@dataclass(frozen=True, slots=True, eq=False)
class Pushed:
    """reached: over the relations that mass was pushed along. mass: of its entities. whole: the hop up to
    which everything was pushed on, NOT_CUT where nothing within the hops was left."""

    reached: Reached
    mass: NDArray[np.float64]
    whole: int

    def run(self, candidates: Candidates, question: LinkedQuestion, hops: int) -> Run:
        near = self.reached.within(hops)
        run = candidates.walked(question, near, self.mass[: len(near)])
        if self.whole == NOT_CUT or self.whole >= hops:
            return run
        return replace(run, cuts={0: Cut(self.whole, "max_steps", candidates.running.max_steps)})


class Push:
    """Forward push of one question's mass, in rounds: whoever holds enough keeps a share and passes on the
    rest, all at once. To push over a relation takes mass from the walkers, so that rounds end.

    places: (entities,) zeros, where each entity gets one more than its place in `entities`, those known.
    """

    def __init__(self, candidates: Candidates, places: NDArray[np.int32]) -> None:
        self.candidates, self.adjacency, self.places = candidates, candidates.adjacency, places
        self.least = MASS_UNITS / ((1 - DAMPING) * candidates.running.max_steps)  # a relation of who pushes
        self.known = 0
        self.entities = np.zeros(FIRST_KNOWN, np.int32)
        self.slots = np.zeros(FIRST_KNOWN, np.int64)  # of each
        self.kept, self.waiting = np.zeros(FIRST_KNOWN), np.zeros(FIRST_KNOWN)
        self.has_pushed = np.zeros(FIRST_KNOWN, bool)
        self.weights: NDArray[np.float64] | None = candidates.graph.relations.weights
        if self.weights.strides == (0,):  # all alike
            self.weights = None
        self.heaviest = 1.0 if self.weights is None else float(self.weights.max(initial=0.0)) or 1.0

    def run(self, home: Home) -> None:
        seeds = self._rows(np.array([entity for entity, _ in home], np.int32))
        shares = np.array([share for _, share in home])
        self.waiting[seeds] = np.rint(shares * MASS_UNITS)
        pushing = np.flatnonzero(self.waiting[: self.known] > 0)  # the seeds always, whatever the limit
        while len(pushing):
            stranded = 0.0
            for some in self._parts(pushing):
                stranded += self._push(some)
            self.waiting[seeds] += np.rint(shares * stranded)
            waiting, slots = self.waiting[: self.known], np.maximum(self.slots[: self.known], 1)
            pushing = np.flatnonzero(waiting >= self.least * slots)

    def _parts(self, rows: NDArray[np.int64]) -> Sequence[NDArray[np.int64]]:
        """Of about SLOTS_PUSHED slots each."""
        ends = np.cumsum(self.slots[rows])
        return np.split(rows, np.flatnonzero(np.diff(ends // SLOTS_PUSHED)) + 1)

    def _push(self, rows: NDArray[np.int64]) -> float:
        """Mass passed on by these; -> what nobody can be passed goes home."""
        mass = self.waiting[rows]
        onward = np.rint(DAMPING * mass)
        self.kept[rows] += mass - onward
        self.waiting[rows] = 0
        self.has_pushed[rows] = True
        slots = slots_of(self.adjacency, self.entities[rows])
        owner = np.repeat(np.arange(len(rows)), self.slots[rows])
        if self.weights is None:
            passed = np.rint(onward / np.maximum(self.slots[rows], 1))[owner]
        else:
            weights = np.rint(self.weights[self.adjacency.relations[slots]] / self.heaviest * WEIGHT_UNITS)
            total = np.maximum(np.bincount(owner, weights, len(rows)), 1.0)
            passed = np.rint(onward[owner] * (weights / total[owner]))
        left = onward.sum() - passed.sum()
        found = self._rows(self.adjacency.neighbours[slots])
        self.waiting[: self.known] += np.bincount(found, passed, self.known)
        give_back_pages(self.adjacency.neighbours)
        return float(left)

    def _rows(self, entities: NDArray[np.int32]) -> NDArray[np.int32]:
        """Their places among those known, which they become."""
        new = distinct(entities[self.places[entities] == 0])[0]
        first, self.known = self.known, self.known + len(new)
        if self.known > len(self.entities):
            room = max(self.known, 2 * len(self.entities))
            for name in ("entities", "slots", "kept", "waiting", "has_pushed"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.zeros(room - len(column), column.dtype)]))
        self.entities[first : self.known] = new
        indptr = self.adjacency.indptr
        self.slots[first : self.known] = indptr[new + 1] - indptr[new]
        self.places[new] = np.arange(first + 1, self.known + 1)
        return np.asarray(self.places[entities] - 1)

    def found(self, seeds: Home, hops: int) -> Pushed:
        """What lies within the hops along relations that were pushed over."""
        level = self._rows(np.array([entity for entity, _ in seeds], np.int32)).astype(np.int64)
        seen = np.zeros(self.known, bool)
        seen[level] = True
        rows, ends, whole = [level], [0, len(level)], NOT_CUT
        for hop in range(hops):
            ends_here = ~self.has_pushed[level] & (self.slots[level] > 1)  # with one, it leads back alone
            if whole == NOT_CUT and ends_here.any():
                whole = hop
            graph = self.adjacency if hop or self.candidates.first is None else self.candidates.first
            level = level[self.has_pushed[level]]
            parts = [np.zeros(0, np.int64)]
            for some in self._parts(level):
                found = self._rows(graph.neighbours[slots_of(graph, self.entities[some])]).astype(np.int64)
                seen = np.concatenate([seen, np.zeros(self.known - len(seen), bool)])
                parts.append(distinct(found[~seen[found]])[0])
                seen[parts[-1]] = True
                give_back_pages(graph.neighbours)
            level = np.concatenate(parts)
            rows.append(level)
            ends.append(ends[-1] + len(level))
        every = np.concatenate(rows)
        mass = (self.kept[every] + (1 - DAMPING) * self.waiting[every]) / MASS_UNITS
        return Pushed(Reached(self.entities[every], np.array(ends), whole), mass, whole)


def _home(seeds: Sequence[Seed]) -> Home:
    weights: dict[int, float] = {}
    for seed in sorted(seeds, key=lambda each: (each.entity, each.weight)):
        weights[seed.entity] = weights.get(seed.entity, 0.0) + seed.weight
    total = sum(weights.values())
    return tuple((entity, weight / total) for entity, weight in weights.items())


def power(
    indptr: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    share: NDArray[np.float64],
    stuck: NDArray[np.int64],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Power iteration for BLOCK homes side by side, so that a relation is looked up once for all of them.

    start: (entities, BLOCK), each column a home's shares. Returns the masses in units; a column stands still
    once it has converged, whatever the others do.
    """
    entities = len(start)
    mass = np.rint(start * MASS_UNITS)
    moved = np.zeros((entities, BLOCK))
    is_open = np.zeros(BLOCK, dtype=np.bool_)
    for entity in range(entities):
        for column in range(BLOCK):
            if start[entity, column] > 0.0:
                is_open[column] = True
    back = np.zeros(BLOCK)
    change = np.zeros(BLOCK)
    for _ in range(MOST_STEPS):
        if not is_open.any():
            break
        moved[:] = 0.0
        for entity in range(entities):
            most = 0.0
            for column in range(BLOCK):
                most = max(most, mass[entity, column])
            if most > 0.0:
                for slot in range(indptr[entity], indptr[entity + 1]):
                    for column in range(BLOCK):
                        moved[neighbours[slot], column] += np.rint(mass[entity, column] * share[slot])
        back[:] = 0.0
        for entity in stuck:
            for column in range(BLOCK):
                back[column] += mass[entity, column]
        for column in range(BLOCK):
            back[column] = (1 - DAMPING) * MASS_UNITS + DAMPING * back[column]
        change[:] = 0.0
        for entity in range(entities):
            for column in range(BLOCK):
                after = np.rint(DAMPING * moved[entity, column] + back[column] * start[entity, column])
                if not is_open[column]:
                    after = mass[entity, column]
                change[column] += abs(after - mass[entity, column])
                mass[entity, column] = after
        for column in range(BLOCK):
            is_open[column] = is_open[column] and change[column] >= TOLERANCE * MASS_UNITS
    return mass
