"""Personalised PageRank from the seeds: where a random walker who keeps going home spends the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.compiled import compiled, worth_compiling
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.retrieval.base import Retriever, Run, Task
from tiny_graph_rag.retrieval.candidates import Candidates

DAMPING = 0.85  # the share of steps that follow a relation (Page et al., 1999)
TOLERANCE = 1e-9  # of the mass in all that may still move in a step
MOST_STEPS = 200  # 0.85 ** 200 is below the tolerance
# Mass and weights are whole numbers of these small parts, kept in floats: sums of them are exact, and so
# do not depend on the order in which a file lists its relations.
MASS_UNITS = 2.0**50
WEIGHT_UNITS = 2.0**32
NEIGHBOURS_A_STEP = 30  # as many neighbours as numpy looks at in the time of one step of plain Python


class PageRankRetriever(Retriever):
    """Personalised PageRank on all relations that may be walked; entities within the hops are returned.

    The walker starts at the seeds by their weights and returns there with probability .15, and from an
    entity without relations always. Relations are followed by their weights. The scores of the whole graph
    sum to 1. Source: Haveliwala, Topic-sensitive PageRank (2002).
    """

    name: ClassVar[str] = "pagerank"

    def __init__(self, task: Task) -> None:
        self.candidates = Candidates(task)
        adjacency = self.candidates.adjacency
        self.entities = len(task.graph)
        self.owner = np.repeat(np.arange(self.entities, dtype=np.int32), adjacency.degrees)
        weights = task.graph.relations.weights[adjacency.relations]
        weights = np.rint(weights / (weights.max(initial=0.0) or 1.0) * WEIGHT_UNITS)
        out = np.bincount(self.owner, weights=weights, minlength=self.entities)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = weights / out[self.owner]
        self.share = np.where(np.isfinite(share), share, 0.0)
        self.stuck = np.flatnonzero(np.bincount(self.owner, self.share, self.entities) == 0)

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        steps = len(questions) * len(self.owner) * MOST_STEPS // NEIGHBOURS_A_STEP
        fast = worth_compiling(steps, allowed=self.candidates.running.compiled)
        parts = []
        masses: dict[tuple[tuple[int, float], ...], NDArray[np.float64]] = {}
        for question, reached in zip(questions, self.candidates.reached(questions), strict=True):
            home = _home(question.seeds)
            if home not in masses:
                masses = {home: self.mass(home, fast)}  # questions on one topic often stand together
            entities = reached.entities
            run = self.candidates.ranked(question, entities, masses[home][entities], reached.hops)
            parts.append(replace(run, walks=self.candidates.walks(reached, run.entities)))
        return Run.concatenated(parts)

    def mass(self, home: Sequence[tuple[int, float]], fast: bool = False) -> NDArray[np.float64]:
        """(entities,): each one's share of the walker's time; home: the seeds and their shares."""
        start = np.zeros(self.entities)
        for entity, share in home:
            start[entity] = share
        mass = np.rint(start * MASS_UNITS)
        adjacency = self.candidates.adjacency
        for _ in range(MOST_STEPS if len(home) else 0):
            if fast:
                moved = np.zeros(self.entities)
                compiled(_move)(adjacency.indptr, adjacency.neighbours, self.share, mass, moved)
            else:
                passed = np.rint(mass[self.owner] * self.share)
                moved = np.bincount(adjacency.neighbours, passed, self.entities).astype(np.float64)
            stranded = float(np.add.reduce(mass[self.stuck]))
            back = (1 - DAMPING) * MASS_UNITS + DAMPING * stranded
            after = np.rint(DAMPING * moved + back * start)
            change = float(np.abs(after - mass).sum())
            mass = after
            if change < TOLERANCE * MASS_UNITS:
                break
        return mass / MASS_UNITS


def _home(seeds: Sequence[Seed]) -> tuple[tuple[int, float], ...]:
    weights: dict[int, float] = {}
    for seed in sorted(seeds, key=lambda each: (each.entity, each.weight)):
        weights[seed.entity] = weights.get(seed.entity, 0.0) + seed.weight
    total = sum(weights.values())
    return tuple((entity, weight / total) for entity, weight in weights.items())


def _move(
    indptr: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    share: NDArray[np.float64],
    mass: NDArray[np.float64],
    moved: NDArray[np.float64],
) -> None:
    """What numpy's bincount sums, compiled."""
    for entity in range(len(mass)):
        here = mass[entity]
        if here != 0.0:
            for slot in range(indptr[entity], indptr[entity + 1]):
                moved[neighbours[slot]] += np.rint(here * share[slot])
