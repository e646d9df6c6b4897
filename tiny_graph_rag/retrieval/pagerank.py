"""Personalised PageRank from the seeds: where a random walker who keeps going home spends the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from os import cpu_count
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.compiled import compiled, worth_compiling
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

BLOCK = 16  # homes side by side: two cache lines of masses an entity

Home = tuple[tuple[int, float], ...]  # seeds with their shares, which sum to 1; empty without seeds


@retriever("pagerank", "personalised PageRank from the seeds")
class PageRankRetriever(Retriever):
    """Personalised PageRank on all relations that may be walked; entities within the hops are returned.

    The walker starts at the seeds by their weights and returns there with probability .15, and from an
    entity without relations always. Relations are followed by their weights. The scores of the whole graph
    sum to 1. On a graph with more relations than `max_steps` he stays within the hops.
    Source: Haveliwala, Topic-sensitive PageRank (2002).
    """

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
        reached = self.candidates.reached(questions)
        if self.is_near:
            yield from self._near(questions, reached, hops)
            return
        parts: dict[tuple[int, int], Run] = {}
        for row, mass in self._masses(questions):
            for limit in hops:
                near = reached[row].within(limit)
                parts[limit, row] = self.candidates.walked(questions[row], near, mass[near.entities])
        rows = range(len(questions))
        for limit in hops:
            yield Run.concatenated([parts[limit, row] for row in rows])

    def _near(
        self, questions: Sequence[LinkedQuestion], reached: Sequence[Reached], hops: Sequence[int]
    ) -> Iterator[Run]:
        """A walker who goes no farther than each limit, over the relations that lead there."""
        for limit in hops:
            parts = []
            for question, every in zip(questions, reached, strict=True):
                near = every.within(limit)
                walked = limit if near.walked == NOT_CUT else near.walked
                run = self.candidates.walked(question, near, self._mass_near(question, near, walked))
                cut = Cut(walked, "max_steps", self.candidates.running.max_steps)
                parts.append(replace(run, cuts={0: cut}))
            yield Run.concatenated(parts)

    def _mass_near(self, question: LinkedQuestion, near: Reached, walked: int) -> NDArray[np.float64]:
        """(reached,): the masses where only the relations of entities within fewer hops are followed, from
        either end."""
        adjacency, filters = self.candidates.adjacency, self.candidates.filters
        inner, size = int(near.levels[walked]), len(near)
        rows = np.sort(near.entities)
        place = np.argsort(near.entities)
        slots = slots_of(adjacency, near.entities[:inner])
        owner = np.repeat(np.arange(inner), adjacency.degrees[near.entities[:inner]])
        found = np.searchsorted(rows, adjacency.neighbours[slots])
        neighbours, relations = place[np.minimum(found, size - 1)], adjacency.relations[slots]
        if filters.out and filters.against:  # what leads to the outermost entities leads back
            back = neighbours >= inner
            owner, neighbours = np.append(owner, neighbours[back]), np.append(neighbours, owner[back])
            relations = np.append(relations, relations[back])
        steps = self._steps(owner.astype(np.int32), neighbours.astype(np.int32), relations, size)
        home = ((int(place[np.searchsorted(rows, entity)]), share) for entity, share in _home(question.seeds))
        return steps.mass(tuple(home), size)

    def _masses(self, questions: Sequence[LinkedQuestion]) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """(row of a question, mass (entities,)), in any order; questions with the same seeds share theirs."""
        rows: dict[Home, list[int]] = {}
        for row, question in enumerate(questions):
            rows.setdefault(_home(question.seeds), []).append(row)
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
