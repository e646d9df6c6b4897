"""Personalised PageRank from the seeds: where a random walk with restarts spends its time.

The retriever goes on until the masses stand still. The few steps that `bfs` weighs texts by (`RandomWalk`)
are in whole numbers, the same in any order of relations and on any machine: at each step half of the mass at
an entity goes on, shared out by the weights of its relations and synonym edges; the other half stops.
Relations that the question speaks of weigh more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import (
    Summed,
    compiled,
    expanded,
    found_in,
    looked_up,
    read_only,
    summed,
)
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.graph.text_index import MILLI, content_stems
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.linking.mentions import MentionFinder
from tiny_graph_rag.retrieval.base import Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Candidates
from tiny_graph_rag.run import Run

DAMPING = 0.85  # the share of steps that follow a relation (Page et al., 1999)
TOLERANCE = 1e-9  # of the mass in all that may still move in a step
CELLS = 1 << 18  # of relations and entities times homes that are walked at once
MOST_STEPS = 200  # 0.85 ** 200 is below the tolerance
# Mass and weights are whole numbers of these small parts, kept in floats: sums of them are exact, and so
# do not depend on the order in which a file lists its relations.
MASS_UNITS = 2.0**50
WEIGHT_UNITS = 2.0**32

Home = tuple[tuple[int, float], ...]  # seeds with their shares, which sum to 1; empty without seeds


@retriever("pagerank", "personalised PageRank from the seeds")
class PageRankRetriever(Retriever):
    """Personalised PageRank on all relations that may be walked; entities within the hops are returned.

    The walk starts at the seeds by their weights and restarts there with probability .15, and from an entity
    without relations always. Relations are followed by their weights. The scores of the whole graph sum to 1.
    Source: Haveliwala, Topic-sensitive PageRank (2002).
    """

    from_named: ClassVar[bool] = True

    def __init__(self, task: Task) -> None:
        self.candidates = Candidates(task)
        adjacency, relations = self.candidates.adjacency, task.graph.relations
        weights = relations.weights[adjacency.relations]
        weights = np.rint(weights / (weights.max(initial=0.0) or 1.0) * WEIGHT_UNITS)
        self._owner = np.repeat(np.arange(len(task.graph), dtype=np.int32), adjacency.degrees)
        out = np.bincount(self._owner, weights, len(task.graph))
        share = np.divide(weights, out[self._owner], out=np.zeros(len(weights)), where=out[self._owner] > 0)
        self._share, self._stuck = share, np.flatnonzero(out == 0)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return next(self._within(questions, [self.candidates.settings.hops], paths=True))

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        return self._within(questions, hops, paths=False)

    def _within(
        self, questions: Sequence[LinkedQuestion], hops: Sequence[int], *, paths: bool
    ) -> Iterator[Run]:
        """One walk for all questions with the same seeds, and for all limits."""
        rows: dict[Home, list[int]] = {}
        for row, question in enumerate(questions):
            rows.setdefault(_home(question.starts), []).append(row)
        asked = self.candidates.reached([questions[its[0]] for its in rows.values()])
        parts: dict[tuple[int, int], Run] = {}
        for its, mass, deepest in zip(rows.values(), self.masses(list(rows)), asked, strict=True):
            for limit in hops:
                reached = deepest.within(limit)
                for row in its:
                    parts[limit, row] = self.candidates.walked(
                        questions[row], reached, mass[reached.entities], paths=paths
                    )
        for limit in hops:
            yield Run.concatenated([parts[limit, row] for row in range(len(questions))])

    def masses(self, homes: Sequence[Home]) -> Iterator[NDArray[np.float64]]:
        """(entities,) for each home: each entity's share of the walk, by power iteration."""
        count, neighbours = len(self.candidates.graph), self.candidates.adjacency.neighbours
        at_once = 1 + CELLS // (1 + count + len(neighbours))
        for start in range(0, len(homes), at_once):
            shares = np.zeros((len(homes[start : start + at_once]), count))
            for row, home in enumerate(homes[start : start + at_once]):
                for entity, share in home:
                    shares[row, entity] = share
            masses, moving = np.rint(shares * MASS_UNITS), np.flatnonzero(shares.any(axis=1))
            places = neighbours + count * np.arange(len(shares))[:, None]
            for _ in range(MOST_STEPS):
                mass, places = masses[moving], places[: len(moving)]
                passed = np.rint(mass[:, self._owner] * self._share)
                arrived = np.bincount(places.ravel(), passed.ravel(), mass.size)  # exact sums, in any order
                back = (1 - DAMPING) * MASS_UNITS + DAMPING * mass[:, self._stuck].sum(axis=1)
                after = np.rint(arrived.reshape(mass.shape) * DAMPING + back[:, None] * shares[moving])
                masses[moving] = after
                moving = moving[np.abs(mass - after).sum(axis=1) >= TOLERANCE * MASS_UNITS]
            yield from masses / MASS_UNITS


def _home(seeds: Sequence[Seed]) -> Home:
    weights: dict[int, float] = {}
    for seed in sorted(seeds, key=lambda seed: (seed.entity, seed.weight)):
        weights[seed.entity] = weights.get(seed.entity, 0.0) + seed.weight
    total = sum(weights.values())
    return tuple((entity, weight / total) for entity, weight in weights.items())


MASS = 1 << 30  # of one walk in all; a step divides it by whole weights
STEPS = 4  # of a walk, whatever --hops is: it orders what was reached and adds nothing to it
MOST_SLOTS = 1 << 13  # relations looked at in one step; a walk that would need more ends there
UNSEEN = 0.01  # of the mass, divided by the number of entities: what an entity never visited counts as
LONGEST_NAME = 10  # stems; what is longer is a sentence
MOST_OF_ONE_NAME = 10  # entities; a name of more of them says little
SYNONYM_FROM = 400  # thousandths of the longer name's bits that two nearly equal names share

Column = NDArray[np.int64]
Ranges = tuple[NDArray[np.signedinteger[Any]], NDArray[np.signedinteger[Any]]]  # first place, how many


class Guide(Struct, frozen=True, eq=False):
    """What a random walk prefers. codes: type of each relation; of_type: (types,), weight by type, > 0; rows:
    relations, ascending, of those that weigh more, each by how much is `added`."""

    codes: NDArray[np.int32]
    of_type: Column
    rows: NDArray[np.signedinteger[Any]]
    added: Column

    def weights(self, relations: NDArray[np.int32]) -> Column:
        weights: Column = self.of_type[self.codes[relations]]
        if len(self.rows):
            place, is_more = looked_up(self.rows, relations)
            weights += np.where(is_more, self.added[place], 0)
        return weights


Start = tuple[tuple[int, ...], tuple[float, ...], Guide]  # different seeds, the share of the mass at each


class SynonymEdges(Struct, frozen=True, eq=False):
    """Entities that belong together without a relation: indptr[i] to indptr[i + 1] those joined to entity i.

    Their names are nearly one (weight: how much of the longer name's bits is the shorter one's, in
    thousandths), or one's description names the other (1000, as much as a relation).
    """

    indptr: NDArray[np.int32]
    neighbours: NDArray[np.int32]
    weights: NDArray[np.uint16]

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> SynonymEdges:
        columns = graph.derived("synonym-edges", lambda: _columns(graph))
        return cls(columns["indptr"], columns["neighbours"], columns["weights"])


class RandomWalk:
    """Walks on one graph. adjacency: the relations that may be walked."""

    def __init__(self, adjacency: Adjacency, edges: SynonymEdges) -> None:
        self.adjacency, self.edges = adjacency, edges
        self._entities = len(adjacency.indptr) - 1

    def bits(self, start: Start, memory: Column | None = None) -> tuple[NDArray[np.int64], Column]:
        """(entities, thousandths of bits): log2 of the share of the mass that comes by, above that of none. A
        seed has as much as the entity visited most: where the walk starts says nothing of it.

        memory: (3, entities) of zeros, by which the walk is compiled.
        """
        seeds, shares, guide = start
        at, mass = np.array(seeds, np.int64), (np.array(shares) * MASS).astype(np.int64)
        if memory is None:
            entities, times = self.visits(at, mass, guide)
        else:
            entities, times = self.visits_compiled(at, mass, guide, memory)
        others = ~found_in(np.sort(at), entities)
        share = np.concatenate([np.full(len(at), times.max(initial=1)), times[others]]) / MASS
        least = UNSEEN / max(1, self._entities)
        bits = np.rint(MILLI * (np.log2(share + least) - math.log2(least))).astype(np.int64)
        return np.concatenate([at, entities[others]]), bits

    def visits(self, entities: NDArray[np.int64], mass: Column, guide: Guide) -> Summed:
        """(entities, ascending; the mass that comes by at each in all steps). entities: where the walk
        starts, which does not count, each with its mass."""
        arrivals = []
        for _ in range(STEPS):
            slots, edges = _ranges(self.adjacency.indptr, entities), _ranges(self.edges.indptr, entities)
            if slots[1].sum() + edges[1].sum() > MOST_SLOTS:
                break
            owner, weight, reached = self._ahead(slots, edges, guide)
            whole = np.bincount(owner, weight, len(mass)).astype(np.int64)
            flow = (mass >> 1)[owner] * weight // whole[owner]
            entities, mass = summed([(reached, flow)], self._entities)
            arrivals.append((entities, mass))
        return summed(arrivals, self._entities)

    def _ahead(
        self, slots: Ranges, edges: Ranges, guide: Guide
    ) -> tuple[NDArray[np.int64], Column, NDArray[np.int32]]:
        """(whose, weight, where to) of every way on from entities with these ranges of slots and of edges."""
        owner, ways = expanded(*slots)
        its_owner, joins = expanded(*edges)
        weight = guide.weights(self.adjacency.relations[ways])
        return (
            np.concatenate([owner, its_owner]),
            np.concatenate([weight, self.edges.weights[joins]]),
            np.concatenate([self.adjacency.neighbours[ways], self.edges.neighbours[joins]]),
        )

    def visits_compiled(
        self, entities: NDArray[np.int64], mass: Column, guide: Guide, memory: Column
    ) -> Summed:
        """The same as `visits`, by machine code."""
        slots = self.adjacency.indptr, self.adjacency.neighbours, self.adjacency.relations
        edges = self.edges.indptr, self.edges.neighbours, self.edges.weights
        weights = guide.codes, guide.of_type, guide.rows, guide.added
        columns = (tuple([read_only(column) for column in part]) for part in (slots, edges, weights))
        return Summed(*compiled(_visits)(*columns, entities, mass, memory))


def _visits(
    slots: tuple[NDArray[Any], ...],
    edges: tuple[NDArray[Any], ...],
    guide: tuple[NDArray[Any], ...],
    entities: NDArray[np.int64],
    mass: Column,
    memory: Column,
) -> tuple[NDArray[np.int64], Column]:
    """`RandomWalk.visits`. slots, edges, guide: columns of the adjacency, of SynonymEdges and of Guide;
    memory: (3, entities), zeros before and after."""
    (first_slot, neighbours, relations), (first_edge, joined, joins) = slots, edges
    codes, of_type, rows, added = guide
    here, there, by = memory[0], memory[1], memory[2]
    reached, found = len(entities), 0
    at, onward, weight, end = np.empty((4, max(MOST_SLOTS, reached)), np.int64)
    seen = np.empty(min(len(by), STEPS * MOST_SLOTS), np.int64)
    at[:reached], here[entities] = entities, mass
    for _ in range(STEPS):
        ways = 0
        for entity in at[:reached]:
            ways += first_slot[entity + 1] - first_slot[entity]
            ways += first_edge[entity + 1] - first_edge[entity]
        if ways > MOST_SLOTS:
            break
        left, reached = reached, 0
        for entity in at[:left]:
            half, here[entity], whole, ways = here[entity] >> 1, 0, 0, 0
            for slot in range(first_slot[entity], first_slot[entity + 1]):
                relation = relations[slot]
                weight[ways], end[ways] = of_type[codes[relation]], neighbours[slot]
                if len(rows):
                    place = np.searchsorted(rows, relation)
                    if place < len(rows) and rows[place] == relation:
                        weight[ways] += added[place]
                whole, ways = whole + weight[ways], ways + 1
            for edge in range(first_edge[entity], first_edge[entity + 1]):
                weight[ways], end[ways] = joins[edge], joined[edge]
                whole, ways = whole + weight[ways], ways + 1
            for way in range(ways):
                if not way or weight[way] != weight[way - 1]:  # divisions take longest
                    flow = half * weight[way] // whole
                if flow and not there[end[way]]:
                    onward[reached] = end[way]
                    reached += 1
                there[end[way]] += flow
        for entity in onward[:reached]:
            if not by[entity]:
                seen[found] = entity
                found += 1
            by[entity] += there[entity]
        at, onward, here, there = onward, at, there, here
    here[at[:reached]] = 0
    visited = np.sort(seen[:found])
    times = by[visited]
    by[visited] = 0
    return visited, times


def _ranges(indptr: NDArray[np.signedinteger[Any]], at: NDArray[np.int64]) -> Ranges:
    """Where the slots of each entity begin, and how many they are."""
    first = indptr[at]
    return first, indptr[at + 1] - first


def _columns(graph: KnowledgeGraph) -> Mapping[str, NDArray[Any]]:
    """Columns of SynonymEdges. Nearly one are `Tulsa` and `Tulsa, Oklahoma`: the shorter name's stems stand
    together in the longer one and hold a good part of its bits."""
    names = [tuple(content_stems(name)) for name in graph.entities.names]
    same_name: dict[tuple[str, ...], list[int]] = {}
    often: dict[str, int] = {}
    for row, stems in enumerate(names):
        if stems:
            same_name.setdefault(stems, []).append(row)
        for stem in set(stems):
            often[stem] = often.get(stem, 0) + 1
    bits = {stem: math.log2(1 + len(names) / count) for stem, count in often.items()}
    shares: dict[tuple[int, int], int] = dict.fromkeys(_named_in(graph), MILLI)
    for row, stems in enumerate(names):
        if not 0 < len(stems) <= LONGEST_NAME:
            continue
        whole = sum(bits[stem] for stem in stems)
        for start, end in combinations(range(len(stems) + 1), 2):
            part = stems[start:end]
            others = same_name.get(part, ())
            if not others or len(others) > MOST_OF_ONE_NAME:
                continue
            share = round(MILLI * sum(bits[stem] for stem in part) / whole)
            if share >= SYNONYM_FROM:
                for other in others:
                    pair = (row, other) if row < other else (other, row)
                    if other != row:
                        shares[pair] = max(share, shares.get(pair, 0))
    pairs = np.array(sorted(shares), dtype=np.int64).reshape(-1, 2)
    weights = np.array([shares[one, other] for one, other in pairs.tolist()], dtype=np.int64)
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    return {
        "indptr": np.searchsorted(ends[order, 0], np.arange(len(graph) + 1)).astype(np.int32),
        "neighbours": ends[order, 1].astype(np.int32),
        "weights": np.concatenate([weights, weights])[order].astype(np.uint16),
    }


def _named_in(graph: KnowledgeGraph) -> Iterator[tuple[int, int]]:
    """Pairs of entities, the lower row first, of which one's description names the other and few others."""
    descriptions = graph.entities.descriptions
    rows = np.flatnonzero(np.diff(descriptions.offsets)).tolist()
    if not rows:
        return
    finder = MentionFinder(graph, NameIndex.of(graph))
    for row in rows:
        for mention in finder.find(descriptions[row]):
            if len(mention.entities) <= MOST_OF_ONE_NAME:
                yield from ((min(row, other), max(row, other)) for other in mention.entities if other != row)
