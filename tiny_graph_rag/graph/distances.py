"""How far entities lie from seeds: breadth-first search for 64 questions in one machine word.

Every entity holds one bit a question ("reached"). One step ORs the words of an entity's neighbours into its
own, for all questions at once, and stops when every wanted entity that can be reached has been.

A step looks at the whole graph. From 16 million slots on, one question after the other is searched from both
ends at once, which in most graphs meet before either side has seen much; hops and walks are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, repeat

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, found_in, stretches
from tiny_graph_rag.columns.compiled import compiled, worth_compiling
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.graph.traversal import slots_of

NOT_REACHED = -1
WORD_BITS = 64
BOTH_ENDS_FROM = 1 << 24  # slots
BLOCK_BYTES = 1 << 21  # of reached-bits at once: what stays in a cache while neighbours are read (measured)


def twins(adjacency: Adjacency) -> NDArray[np.int64]:
    """(slots,): the slot of the same relation seen from its other end."""
    pairs = np.argsort(adjacency.relations, kind="stable").reshape(-1, 2)
    twin = np.empty(len(adjacency.relations), dtype=np.int64)
    twin[pairs] = pairs[:, ::-1]
    return twin


Columns = tuple[NDArray[np.int64], NDArray[np.int64]]
Steps = tuple[NDArray[np.int64], NDArray[np.int32]]


def hops_between(
    adjacency: Adjacency,
    seeds: Columns,
    wanted: Columns,
    passable: NDArray[np.bool_] | None = None,
    onward: NDArray[np.bool_] | None = None,
) -> NDArray[np.int32]:
    """Fewest relations from the nearest seed of the same question, for each wanted entity.

    seeds, wanted: (question, entity) columns, questions ascending. passable: (slots,), False where a walk
    may not leave an entity by that slot; onward: the same for all steps but the first, where it differs.
    Returns (wanted,), 0 for a seed, NOT_REACHED where no walk leads.
    """
    hops = np.full(len(wanted[0]), NOT_REACHED, dtype=np.int32)
    if passable is None and onward is None and len(adjacency.neighbours) > BOTH_ENDS_FROM:
        search = BothEnds(adjacency)
        for question in distinct(wanted[0])[0].tolist():
            its, rows = (
                slice(*np.searchsorted(each, [question, question + 1]).tolist())
                for each in (seeds[0], wanted[0])
            )
            hops[rows] = search.hops(seeds[1][its], wanted[1][rows].tolist())
        return hops
    steps = _steps(adjacency, passable, onward)
    for chosen, sources, words in _blocks(seeds, distinct(wanted[0])[0], len(adjacency.indptr) - 1):
        rows = slice(*np.searchsorted(wanted[0], [chosen[0], chosen[-1] + 1]).tolist())
        question, entity = np.searchsorted(chosen, wanted[0][rows]), wanted[1][rows]
        open_rows, found = np.arange(len(question)), hops[rows]
        for hop, reached in enumerate(_levels(steps, sources, words)):
            bits = reached[entity[open_rows], question[open_rows] // WORD_BITS] & _bit(question[open_rows])
            found[open_rows[bits > 0]] = hop
            open_rows = open_rows[bits == 0]
            if not len(open_rows):
                break
    return hops


def sizes_within(
    adjacency: Adjacency,
    seeds: Columns,
    questions: int,
    hops: int,
    passable: NDArray[np.bool_] | None = None,
    onward: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """(questions, hops + 1): how many entities lie within 0, 1, … hops of the question's seeds."""
    sizes = np.zeros((questions, hops + 1), dtype=np.int64)
    steps = _steps(adjacency, passable, onward)
    for chosen, sources, words in _blocks(seeds, np.arange(questions), len(adjacency.indptr) - 1):
        for hop, reached in enumerate(_levels(steps, sources, words)):
            bits = np.unpackbits(reached.view(np.uint8), axis=1, bitorder="little")
            sizes[chosen, hop:] = bits.sum(axis=0, dtype=np.int64)[: len(chosen), None]
            if hop == hops:
                break
    return sizes


def _blocks(
    seeds: Columns, questions: NDArray[np.int64], entities: int
) -> Iterator[tuple[NDArray[np.int64], Columns, int]]:
    """Questions in blocks that fit the cache: (questions, seeds with questions counted from 0, words)."""
    block = WORD_BITS * max(1, BLOCK_BYTES // max(8 * entities, 1))
    for start in range(0, len(questions), block):
        chosen = questions[start : start + block]
        held = found_in(chosen, seeds[0])
        yield chosen, (np.searchsorted(chosen, seeds[0][held]), seeds[1][held]), -(-len(chosen) // WORD_BITS)


def _steps(
    adjacency: Adjacency, passable: NDArray[np.bool_] | None, onward: NDArray[np.bool_] | None
) -> list[Steps]:
    first = _incoming(adjacency, passable)
    return [first] if onward is None else [first, _incoming(adjacency, onward)]


def _incoming(adjacency: Adjacency, passable: NDArray[np.bool_] | None) -> Steps:
    """Rows of the entities from which one step leads to an entity."""
    if passable is None:
        return adjacency.indptr, adjacency.neighbours
    kept = passable[twins(adjacency)]
    before = np.concatenate([[0], np.cumsum(kept)])
    return before[adjacency.indptr], adjacency.neighbours[kept]


def _levels(steps: Sequence[Steps], seeds: Columns, words: int) -> Iterator[NDArray[np.uint64]]:
    """(entities, words) bits of what is reached within 0, 1, … hops, until nothing new is.

    steps: for the first step and, where it differs, for all others. The array grows in place from hop to hop.
    """
    reached = np.zeros((len(steps[0][0]) - 1, words), dtype=np.uint64)
    np.bitwise_or.at(reached, (seeds[1], seeds[0] // WORD_BITS), _bit(seeds[0]))
    yield reached
    for indptr, neighbours in chain(steps[:1], repeat(steps[-1])):
        if worth_compiling(0):  # once numba is in; a level alone does not pay for its import
            grown = np.empty_like(reached)
            if not compiled(grow)(indptr, neighbours, reached, grown):
                return
            reached[:] = grown
        else:
            linked = np.flatnonzero(indptr[1:] > indptr[:-1])  # reduceat has no empty rows
            if not len(linked):
                return
            new = reached[linked] | np.bitwise_or.reduceat(reached[neighbours], indptr[linked], axis=0)
            if np.array_equal(new, reached[linked]):
                return
            reached[linked] = new
        yield reached


def grow(
    indptr: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    reached: NDArray[np.uint64],
    grown: NDArray[np.uint64],
) -> bool:
    """Write to `grown` what is reached one step on; -> whether anything is new."""
    entities, words = reached.shape
    is_new = False
    for v in range(entities):
        for word in range(words):
            grown[v, word] = reached[v, word]
        for slot in range(indptr[v], indptr[v + 1]):
            u = neighbours[slot]
            for word in range(words):
                grown[v, word] |= reached[u, word]
        for word in range(words):
            if grown[v, word] != reached[v, word]:
                is_new = True
    return is_new


def _bit(question: NDArray[np.int64]) -> NDArray[np.uint64]:
    return np.uint64(1) << (question % WORD_BITS).astype(np.uint64)


UNSEEN = -1


def shortest_walks(
    adjacency: Adjacency, seeds: Sequence[int], targets: Collection[int]
) -> dict[int, list[int]]:
    """Target → the relations (rows) of a shortest walk to it, from its nearest seed on.

    Targets that no walk reaches are left out; a seed has the empty walk. Among equally short walks the one
    through the lowest entity row, then the lowest slot, is taken, so the answer is always the same.
    """
    if len(adjacency.neighbours) > BOTH_ENDS_FROM:
        return BothEnds(adjacency).walks(np.asarray(seeds), targets)
    before = np.full(len(adjacency.indptr) - 1, UNSEEN, dtype=np.int64)
    by = np.full(len(before), UNSEEN, dtype=np.int64)
    frontier = distinct(np.asarray(seeds, dtype=np.int64))[0]
    before[frontier] = frontier
    open_targets = set(targets) - set(frontier.tolist())
    while len(frontier) and open_targets:
        starts = adjacency.indptr[frontier]
        counts = adjacency.indptr[frontier + 1] - starts
        slots = stretches(starts, counts)
        found = adjacency.neighbours[slots].astype(np.int64)
        fresh = np.flatnonzero(before[found] == UNSEEN)[::-1]
        found = found[fresh]
        # Written backwards: of several slots that lead to an entity the first is written last, and stays.
        before[found] = np.repeat(frontier, counts)[fresh]
        by[found] = adjacency.relations[slots[fresh]]
        is_new = np.zeros(len(before), dtype=bool)
        is_new[found] = True
        frontier = np.flatnonzero(is_new)
        open_targets = {each for each in open_targets if before[each] == UNSEEN}
    walks = {}
    for target in targets:
        if before[target] == UNSEEN:
            continue
        walk, at = [], target
        while by[at] != UNSEEN:
            walk.append(int(by[at]))
            at = int(before[at])
        walks[target] = walk[::-1]
    return walks


class BothEnds:
    """Searches from a question's seeds and from each target, always on the side with fewer slots to look at.

    adjacency: each slot has one back. Each side holds its levels, level i what lies i steps away, ascending;
    the seeds' are kept for the question's other targets.
    """

    def __init__(self, adjacency: Adjacency) -> None:
        self.adjacency = adjacency
        entities = len(adjacency.indptr) - 1
        self._near_seeds, self._near_target = (np.zeros(entities, dtype=np.int32) for _ in range(2))

    def hops(self, seeds: NDArray[np.int64], targets: Sequence[int]) -> list[int]:
        """Of each target, from its nearest seed; NOT_REACHED where no walk leads."""
        return [hops for hops, _, _ in self._met(seeds, targets)]

    def walks(self, seeds: NDArray[np.int64], targets: Collection[int]) -> dict[int, list[int]]:
        """What `shortest_walks` says."""
        found = {}
        for target, (hops, after, before) in zip(targets, self._met(seeds, list(targets)), strict=True):
            if hops != NOT_REACHED:
                found[target] = self._walk(target, hops, after, before)
        return found

    def _met(
        self, seeds: NDArray[np.int64], targets: Sequence[int]
    ) -> Iterator[tuple[int, list[NDArray[np.int32]], list[NDArray[np.int32]]]]:
        """For each target its hops and both sides' levels; what is near to each side is marked until then."""
        level, near = self._near_seeds, self._near_target
        after = [distinct(seeds.astype(np.int32))[0]]
        level[after[0]] = 1
        for target in targets:
            before = [np.array([target], dtype=np.int32)]
            near[target] = 1
            hops = int(level[target]) - 1
            while hops < 0 and len(after[-1]) and len(before[-1]):
                own, others, marks, other_marks = after, before, level, near
                if self._slots(before[-1]) < self._slots(after[-1]):
                    own, others, marks, other_marks = before, after, near, level
                found = self.adjacency.neighbours[slots_of(self.adjacency, own[-1])]
                own.append(distinct(found[marks[found] == 0])[0])
                marks[own[-1]] = len(own)
                if (other_marks[own[-1]] > 0).any():
                    hops = len(own) + len(others) - 2
            yield hops if hops >= 0 else NOT_REACHED, after, before
            for each in before:
                near[each] = 0
        for each in after:
            level[each] = 0

    def _slots(self, entities: NDArray[np.int32]) -> int:
        indptr = self.adjacency.indptr
        return int((indptr[entities + 1] - indptr[entities]).sum())

    def _walk(
        self, target: int, hops: int, after: list[NDArray[np.int32]], before: list[NDArray[np.int32]]
    ) -> list[int]:
        """The relations of a walk: before each entity stands the lowest row of those one step nearer."""
        level, at, walk = self._near_seeds, target, list[int]()
        for nearer in self._on_a_walk(hops, after, before):
            at = self._step_back(nearer, at, walk)
        while level[at] > 1:
            around = self.adjacency.neighbours[slots_of(self.adjacency, np.array([at]))]
            at = self._step_back(around[level[around] == level[at] - 1], at, walk)
        return walk[::-1]

    def _on_a_walk(
        self, hops: int, after: list[NDArray[np.int32]], before: list[NDArray[np.int32]]
    ) -> list[NDArray[np.int32]]:
        """What lies 1, 2, … steps from the target on a shortest walk, as far as the target's side went."""
        steps = hops - (len(after) - 1)  # 0 or less where the seeds' side reached the target
        if steps <= 0:
            return []
        met = before[steps]
        sets = [met[self._near_seeds[met] > 0]]
        for step in range(steps - 1, 0, -1):
            around = self.adjacency.neighbours[slots_of(self.adjacency, sets[-1])]
            sets.append(distinct(around[self._near_target[around] == step + 1])[0])
        return sets[::-1]

    def _step_back(self, nearer: NDArray[np.int32], at: int, walk: list[int]) -> int:
        """From `at` to the lowest row of `nearer` beside it, by that one's first slot; -> the row."""
        graph = self.adjacency
        around = graph.neighbours[slots_of(graph, np.array([at]))]
        row = int(around[found_in(np.sort(nearer), around)].min())
        first, last = int(graph.indptr[row]), int(graph.indptr[row + 1])
        walk.append(int(graph.relations[first + int(np.searchsorted(graph.neighbours[first:last], at))]))
        return row
