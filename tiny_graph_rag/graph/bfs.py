"""Breadth-first search by levels: everything that counts hops uses it.

A search holds one byte an entity ("seen") and the entities in the order in which they were reached.

Distances to given targets are searched for 64 questions in one machine word, a bit each. A step of that looks
at the whole graph: from 16 million slots on, one question after the other is searched from both ends, which
in most graphs meet before either has seen much. Hops are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from tiny_graph_rag.columns.arrays import distinct, expanded, found_in, unique
from tiny_graph_rag.graph.tables import Adjacency

NOT_REACHED = -1
NO_RELATION = -1  # behind the last relation of a path
WORD_BITS = 64
BLOCK_BYTES = 1 << 21  # of reached-bits at once: what stays in a cache while neighbours are read (measured)
BOTH_ENDS_FROM = 1 << 24  # slots
LEVELS_AT_ONCE = 64  # for all questions together; what lies farther is searched a question at a time
SLOTS_A_LEVEL = 1 << 14  # what numpy looks at in the time that a further level takes, however small it is

QuestionEntities = tuple[NDArray[np.int64], NDArray[np.int64]]


class Neighbourhood(Struct, frozen=True, eq=False):
    """entities: int32, nearest first, each once. levels: int64 (hops + 2,), where each hop's entities start
    and the last one's end."""

    entities: NDArray[np.int32]
    levels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.entities)

    @property
    def hops(self) -> NDArray[np.int32]:
        """(entities,): fewest relations from a seed."""
        return np.repeat(np.arange(len(self.levels) - 1, dtype=np.int32), np.diff(self.levels))

    def within(self, hops: int) -> Neighbourhood:
        """What lies within fewer hops."""
        levels = self.levels[: hops + 2]
        return Neighbourhood(self.entities[: levels[-1]], levels)


class BreadthFirst:
    """Searches one graph, one search after the other in the same memory (not for two threads)."""

    def __init__(self, adjacency: Adjacency) -> None:
        self.adjacency = adjacency
        self.seen = np.zeros(len(adjacency.indptr) - 1, np.uint8)
        self._entities = np.zeros(len(self.seen) + 1, np.int32)
        self._levels = [0, 0]

    def begin(self, seeds: ArrayLike) -> None:
        """Forget the last search; level 0 are the seeds (entity rows, repeated ones count once)."""
        self.seen[self._entities[: self._levels[-1]]] = 0
        rows = unique(np.atleast_1d(np.asarray(seeds, dtype=np.int32)))
        self._entities[: len(rows)], self.seen[rows] = rows, 1
        self._levels = [0, len(rows)]

    def grow(self) -> NDArray[np.int32]:
        """Reach the next level, and return it."""
        around = self.adjacency.neighbours[slots_of(self.adjacency.indptr, self.last)[1]]
        new = unique(around[self.seen[around] == 0])
        end = self._levels[-1] + len(new)
        self._entities[self._levels[-1] : end], self.seen[new] = new, 1
        self._levels.append(end)
        return new

    @property
    def depth(self) -> int:
        """Of the last level."""
        return len(self._levels) - 2

    @property
    def last(self) -> NDArray[np.int32]:
        return self.level(self.depth)

    def level(self, depth: int) -> NDArray[np.int32]:
        return self._entities[self._levels[depth] : self._levels[depth + 1]]

    @property
    def ahead(self) -> int:
        """Slots that the next level looks at."""
        indptr = self.adjacency.indptr
        return int((indptr[self.last + 1] - indptr[self.last]).sum())

    def reach(self, seeds: ArrayLike, hops: int, *, enough: int = 0) -> Neighbourhood:
        """Everything within `hops` relations of any seed. enough: entities behind whose hop it ends, 0 for
        none."""
        self.begin(seeds)
        while self.depth < hops and not 0 < enough <= self._levels[-1]:
            self.grow()
        levels = np.array(self._levels + self._levels[-1:] * (hops - self.depth))
        return Neighbourhood(self._entities[: levels[-1]].copy(), levels)


def hops_between(
    adjacency: Adjacency,
    seeds: QuestionEntities,
    wanted: QuestionEntities,
    passable: NDArray[np.bool_] | None = None,
) -> NDArray[np.int32]:
    """Fewest relations from the nearest seed of the same question, for each wanted entity.

    seeds, wanted: (question, entity) columns, questions ascending. passable: (slots,), False where a path may
    not leave an entity by that slot. Returns (wanted,), 0 for a seed, NOT_REACHED where no path leads.
    """
    front = BreadthFirst(adjacency if passable is None else adjacency.only(passable))
    into = adjacency if passable is None else front.adjacency.reversed()
    hops = np.full(len(wanted[0]), NOT_REACHED, dtype=np.int32)

    def search_one_by_one(questions: NDArray[np.int64]) -> None:
        back = BreadthFirst(into)
        for question in questions.tolist():
            rows = _rows(wanted, question)
            hops[rows] = list(_hops_of(front, back, seeds[1][_rows(seeds, question)], wanted[1][rows]))

    questions = distinct(wanted[0])[0]
    if len(adjacency.neighbours) > BOTH_ENDS_FROM:
        search_one_by_one(questions)
        return hops
    block = WORD_BITS * max(1, BLOCK_BYTES // (8 * len(front.seen)))
    for start in range(0, len(questions), block):
        chosen = questions[start : start + block]
        asked = found_in(chosen, seeds[0])
        sources = np.searchsorted(chosen, seeds[0][asked]), seeds[1][asked]
        rows = slice(*np.searchsorted(wanted[0], [chosen[0], chosen[-1] + 1]).tolist())
        question, entity, its_hops = np.searchsorted(chosen, wanted[0][rows]), wanted[1][rows], hops[rows]
        left = np.arange(len(question))
        levels = _bits_by_level(into, sources, -(-len(chosen) // WORD_BITS))
        for hop, reached in enumerate(islice(levels, LEVELS_AT_ONCE)):
            is_reached = reached[entity[left], question[left] // WORD_BITS] & _bit(question[left]) > 0
            its_hops[left[is_reached]] = hop
            left = left[~is_reached]
            if not len(left):
                break
        if len(left) and next(levels, None) is not None:  # a level costs as much as the graph is large
            search_one_by_one(chosen[distinct(question[left])[0]])
    return hops


def _bits_by_level(into: Adjacency, seeds: QuestionEntities, words: int) -> Iterator[NDArray[np.uint64]]:
    """(entities, words) bits of what each question reaches within 0, 1, … hops, until nothing new is.

    into: the relations that lead to an entity. One step ORs the words of an entity's neighbours into its
    own, for 64 questions at once; the array grows in place.
    """
    reached = np.zeros((len(into.indptr) - 1, words), dtype=np.uint64)
    np.bitwise_or.at(reached, (seeds[1], seeds[0] // WORD_BITS), _bit(seeds[0]))
    linked = np.flatnonzero(np.diff(into.indptr))  # reduceat has no empty rows
    yield reached
    while True:
        grown = reached.copy()
        if len(linked):
            around = reached[into.neighbours]
            grown[linked] |= np.bitwise_or.reduceat(around, into.indptr[linked], axis=0)
        if np.array_equal(grown, reached):
            return
        reached[:] = grown
        yield reached


def _bit(question: NDArray[np.int64]) -> NDArray[np.uint64]:
    return np.uint64(1) << (question % WORD_BITS).astype(np.uint64)


def shortest_paths(
    adjacency: Adjacency, rank: NDArray[np.int32], seeds: ArrayLike, targets: Sequence[int]
) -> dict[int, list[int]]:
    """Target → the relations (rows) of a shortest path to it, from its nearest seed on.

    Targets that no path reaches are left out; a seed has the empty path. rank: as in `paths_back`.
    """
    front, back = BreadthFirst(adjacency), BreadthFirst(adjacency)
    near: list[int] = []
    ways: list[tuple[list[int], list[NDArray[np.int32]]]] = []  # targets, and the levels on paths to them
    for target, hops in zip(targets, _hops_of(front, back, seeds, np.asarray(targets)), strict=True):
        if 0 <= hops <= front.depth:
            near.append(target)
        elif hops != NOT_REACHED:  # both ends have met: of those near the target what lies on a path
            marked = [front.level(depth) for depth in range(front.depth)]
            marked.append(meeting := back.last[front.seen[back.last] > 0])
            for depth in range(back.depth - 1, -1, -1):
                meeting = adjacency.neighbours[slots_of(adjacency.indptr, meeting)[1]]
                meeting = unique(meeting[found_in(np.sort(back.level(depth)), meeting)])
                marked.append(meeting)
            ways.append(([target], marked))
    ways.append((near, [front.level(depth) for depth in range(front.depth + 1)]))
    levels, paths = np.zeros(len(front.seen), np.int32), {}
    for reached, marked in ways:
        for depth, level in enumerate(marked):
            levels[level] = depth + 1
        walks = paths_back(adjacency, levels, np.array(reached, np.int32), rank, len(marked) - 1)
        for target, walk in zip(reached, walks, strict=True):
            paths[target] = walk[walk != NO_RELATION].tolist()
        for level in marked:
            levels[level] = 0
    return {target: paths[target] for target in targets if target in paths}


def paths_back(
    backwards: Adjacency,
    levels: NDArray[np.int32],
    entities: NDArray[np.signedinteger[Any]],
    rank: NDArray[np.int32],
    hops: int,
) -> NDArray[np.int32]:
    """(entities, hops): the relations of a shortest path to each of `entities`, filled up with NO_RELATION.

    backwards: the relations that lead to an entity. levels: (all entities,), 1 of a seed, one more for each
    hop, 0 of what was not reached. Before each entity stands, of those one hop nearer, the first by rank,
    over its first relation.
    """
    paths = np.full((len(entities), hops), NO_RELATION, dtype=np.int32)
    at = entities.copy()
    while len(rows := np.flatnonzero(levels[at] > 1)):
        level = levels[at[rows]]
        owner, slots = slots_of(backwards.indptr, at[rows])
        nearer = levels[backwards.neighbours[slots]] == level[owner] - 1
        owner, slots = owner[nearer], slots[nearer]
        before, relation = backwards.neighbours[slots], backwards.relations[slots]
        order = np.lexsort((relation, rank[before], owner))
        first = order[np.searchsorted(owner[order], np.arange(len(rows)))]
        paths[rows, level - 2], at[rows] = relation[first], before[first]
    return paths


def slots_of(
    indptr: NDArray[np.signedinteger[Any]], entities: NDArray[np.signedinteger[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(the place in `entities` of each slot's owner, the slots), one entity after the other."""
    return expanded(indptr[entities], indptr[entities + 1] - indptr[entities])


def _rows(columns: QuestionEntities, question: int) -> slice:
    return slice(*np.searchsorted(columns[0], [question, question + 1]).tolist())


def _hops_of(
    front: BreadthFirst, back: BreadthFirst, seeds: ArrayLike, targets: NDArray[np.signedinteger[Any]]
) -> Iterator[int]:
    """Of each target the hops from its nearest seed, or NOT_REACHED; `back` searches the relations backwards.

    The level with fewer slots grows, in front for all targets that are left. Where hops exceed front.depth,
    the last levels of both ends have just met.
    """
    front.begin(seeds)
    hops = np.where(front.seen[targets] > 0, 0, NOT_REACHED)
    for row in range(len(targets)):
        if hops[row] == NOT_REACHED:
            back.begin(targets[row])
        while hops[row] == NOT_REACHED and len(front.last) and len(back.last):
            left = np.count_nonzero(hops == NOT_REACHED)
            if front.ahead <= left * (back.ahead + SLOTS_A_LEVEL):
                met = back.seen[front.grow()]
                reached = (hops == NOT_REACHED) & (front.seen[targets] > 0)
                hops[reached] = front.depth
            else:
                met = front.seen[back.grow()]
            if met.any():
                hops[row] = front.depth + back.depth
        yield int(hops[row])
