"""Personalised PageRank from the seeds: where a random walk with restarts spends its time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import zeros_as_touched
from tiny_graph_rag.columns.compiled import compiled, worth_compiling
from tiny_graph_rag.graph.bfs import NOT_CUT, Reached, slots_of
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.retrieval.base import Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Candidates
from tiny_graph_rag.run import Run

DAMPING = 0.85  # the share of steps that follow a relation (Page et al., 1999)
TOLERANCE = 1e-9  # of the mass in all that may still move in a step
MOST_STEPS = 200  # 0.85 ** 200 is below the tolerance
# Mass and weights are whole numbers of these small parts, kept in floats: sums of them are exact, and so
# do not depend on the order in which a file lists its relations.
MASS_UNITS = 2.0**50
WEIGHT_UNITS = 2.0**32
NEIGHBOURS_A_STEP = 30  # as many neighbours as numpy looks at in the time of one step of plain Python

Home = tuple[tuple[int, float], ...]  # seeds with their shares, which sum to 1; empty without seeds


@retriever("pagerank", "personalised PageRank from the seeds")
class PageRankRetriever(Retriever):
    """Personalised PageRank on all relations that may be walked; entities within the hops are returned.

    The walk starts at the seeds by their weights and restarts there with probability .15, and from an entity
    without relations always. Relations are followed by their weights. The scores of the whole graph sum to 1.
    A graph with more slots than `max_steps` is walked only as far as a search within the hops and that
    limit looked at its relations; from the entities at the rim the walk restarts. Source: Haveliwala,
    Topic-sensitive PageRank (2002).
    """

    from_named: ClassVar[bool] = True

    def __init__(self, task: Task) -> None:
        self.candidates = Candidates(task)
        self.entities, most = len(task.graph), task.config.running.max_steps
        is_large = 0 < most < len(self.candidates.adjacency.neighbours)
        self.whole = None if is_large else self._whole()

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return next(self.retrieve_within(questions, [self.candidates.settings.hops]))

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """One walk for all questions with the same seeds and, within `max_steps`, for all limits."""
        rows: dict[Home, list[int]] = {}
        for row, question in enumerate(questions):
            rows.setdefault(_home(question.starts), []).append(row)
        asked = self.candidates.reached([questions[its[0]] for its in rows.values()])
        fast = self._is_fast(len(rows), len(self.candidates.adjacency.neighbours))
        parts: dict[tuple[int, int], Run] = {}
        for (home, its), deepest in zip(rows.items(), asked, strict=True):
            mass = self.whole.mass(home, fast) if self.whole else None
            for limit in hops:
                reached = deepest.within(limit)
                scores = self._within(reached, home) if mass is None else mass[reached.entities]
                for row in its:
                    parts[limit, row] = self.candidates.walked(questions[row], reached, scores)
        for limit in hops:
            yield Run.concatenated([parts[limit, row] for row in range(len(questions))])

    def _is_fast(self, homes: int, slots: int) -> bool:
        steps = homes * slots * MOST_STEPS // NEIGHBOURS_A_STEP
        return worth_compiling(steps, allowed=self.candidates.running.compiled)

    def _within(self, reached: Reached, home: Home) -> NDArray[np.float64]:
        """(reached,): mass of a walk that knows only the relations that the search looked at.

        Beyond these lies the rim, from which the walk restarts: it is one entity to the walk, whose mass is
        shared out among those that it stands for at the end.
        """
        if not hasattr(self, "_places"):
            self._places = zeros_as_touched(self.entities, np.int32)
        self._places[reached.entities] = np.arange(len(reached), dtype=np.int32)
        walked = len(reached.levels) - 2 if reached.walked == NOT_CUT else reached.walked
        rim = int(reached.levels[max(walked, 1)])
        owner, neighbours, weights = self._around(reached.entities[: reached.levels[walked]])
        inside, out = neighbours < rim, _added(owner, weights, rim)
        outward, ends, weights_outward = owner[~inside], neighbours[~inside] - rim, weights[~inside]
        steps = Steps.of(
            np.append(owner[inside], np.arange(rim, dtype=np.int32)),
            np.append(neighbours[inside], np.full(rim, rim, np.int32)),
            np.append(weights[inside], _added(outward, weights_outward, rim)),
            rim + 1,
        )
        at_home = tuple((int(self._places[entity]), share) for entity, share in home)
        mass = steps.mass(at_home, self._is_fast(1, len(steps.owner)))[:rim]
        passed = np.rint(mass[outward] * _shares(weights_outward, out[outward]) * MASS_UNITS)
        arrived = _added(ends, passed, len(reached) - rim)
        return np.append(mass, np.rint(DAMPING * arrived) / MASS_UNITS)

    def _around(
        self, entities: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """(owner, neighbour, weight) of each slot of the entities; both ends as places in what was
        reached."""
        adjacency = self.candidates.adjacency
        owner, slots = slots_of(adjacency.indptr, entities)
        return owner.astype(np.int32), self._places[adjacency.neighbours[slots]], self._weights(slots)

    def _whole(self) -> Steps:
        adjacency = self.candidates.adjacency
        owner = np.repeat(np.arange(self.entities, dtype=np.int32), adjacency.degrees)
        return Steps.of(owner, adjacency.neighbours, self._weights(slice(None)), self.entities)

    def _weights(self, slots: NDArray[np.int64] | slice) -> NDArray[np.float64]:
        """(slots,): weights of the relations in units of the heaviest one's."""
        weights = self.candidates.graph.relations.weights
        if weights.strides == (0,):  # one number for all relations: a large column less to read
            return np.full(len(self.candidates.adjacency.neighbours[slots]), WEIGHT_UNITS)
        weights = weights[self.candidates.adjacency.relations[slots]]
        return np.rint(weights / (weights.max(initial=0.0) or 1.0) * WEIGHT_UNITS)


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Where the walk goes. owner, neighbours: (slots,) entities at both ends; share: of what leaves the
    owner; stuck: entities that nobody leaves; size: how many entities there are."""

    owner: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    share: NDArray[np.float64]
    stuck: NDArray[np.int64]
    size: int

    @classmethod
    def of(
        cls, owner: NDArray[np.int32], neighbours: NDArray[np.int32], weights: NDArray[np.float64], size: int
    ) -> Steps:
        out = _added(owner, weights, size)
        return cls(owner, neighbours, _shares(weights, out[owner]), np.flatnonzero(out == 0), size)

    def mass(self, home: Home, fast: bool = False) -> NDArray[np.float64]:
        """(size,): each entity's share of the walk, by power iteration; the same compiled or not."""
        pass_on = compiled(passed_on) if fast else _passed_on_by_numpy
        mass = np.zeros(self.size)
        for entity, share in home:
            mass[entity] = round(share * MASS_UNITS)
        for _ in range(MOST_STEPS if home else 0):
            after = pass_on(self.owner, self.neighbours, self.share, mass)
            after *= DAMPING
            back = (1 - DAMPING) * MASS_UNITS + DAMPING * float(mass[self.stuck].sum())
            for entity, share in home:
                after[entity] += back * share
            np.rint(after, out=after)
            mass -= after
            change = float(np.abs(mass, out=mass).sum())
            mass = after
            if change < TOLERANCE * MASS_UNITS:
                break
        return mass / MASS_UNITS


def _added(rows: NDArray[np.int32], amounts: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """(size,): the sum of each row's amounts; exact of whole numbers, in any order."""
    return np.bincount(rows, amounts, size).astype(np.float64, copy=False)


def _shares(weights: NDArray[np.float64], out: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of each weight of all that leave its entity, 0 where these are 0."""
    return np.divide(weights, out, out=np.zeros(len(weights)), where=out > 0)


def passed_on(
    owner: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    share: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(entities,): the mass that follows a relation to each; adds in place, without a column of slots."""
    moved = np.zeros(len(mass))
    for slot in range(len(owner)):
        moved[neighbours[slot]] += np.rint(mass[owner[slot]] * share[slot])
    return moved


def _passed_on_by_numpy(
    owner: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    share: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> NDArray[np.float64]:
    return _added(neighbours, np.rint(mass[owner] * share), len(mass))


def _home(seeds: Sequence[Seed]) -> Home:
    weights: dict[int, float] = {}
    for seed in sorted(seeds, key=lambda seed: (seed.entity, seed.weight)):
        weights[seed.entity] = weights.get(seed.entity, 0.0) + seed.weight
    total = sum(weights.values())
    return tuple((entity, weight / total) for entity, weight in weights.items())
