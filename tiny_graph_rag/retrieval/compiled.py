"""The layers of walks as one compiled loop (extra `fast`): the same paths as walk.Layers.

Each mention is walked twice: over the most hopeful states of each layer alone, which tells how much a path
may cost to be of interest; then over all states that may lead to one that costs no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import compiled, read_only
from tiny_graph_rag.retrieval.walk import (
    FAR,
    MASKS,
    MOST_SLOTS,
    NO_PATH,
    NO_SLOT,
    Asked,
    Ints,
    Prices,
    Starts,
    States,
    WalkedGraph,
    Walks,
)

Rows = NDArray[np.int32]

ROOM = 1 << 12  # rows at first; doubled where they are full
WALK, ENTITY, MASK, STEPS, COST, TOTAL, SLOT, BEFORE = range(len(States._fields))  # columns of a state
NEXT = len(States._fields)  # one more than the state before it at the same entity
HOPEFUL = 64  # states of each layer from which the first of the two walks goes on
NO_KEY = 1 << 62  # more than any key
WIDEST = 1 << 32  # steps × entities that keys have room for, next to any total


class Memory(NamedTuple):
    """Of one walk, by entity: whether no path leads there; one more than the row of its newest state; its
    least key so far, as of `key_of`. answers: the entities with a key up to the bound."""

    barred: NDArray[np.bool_]
    newest: NDArray[np.int32]
    key: Ints
    answers: NDArray[np.int32]


class Work(NamedTuple):
    """What the parts of one walk share. lowest: of the limits of hops. of_name, of_step, of_total: what a
    place in the tie-break order, a step and a thousandth of the total add to a key."""

    graph: WalkedGraph
    prices: Prices
    asked: Asked
    memory: Memory
    slack: int
    wanted: int
    lowest: int
    of_name: int
    of_step: int
    of_total: int


class CompiledLayers:
    """Walks one graph in memory that it keeps."""

    def __init__(self, graph: WalkedGraph, prices: Prices, wanted: int) -> None:
        """As of `Layers`."""
        self.graph, self.prices, self.wanted = WalkedGraph(*map(read_only, graph)), prices, wanted
        entities = len(graph.returned)
        newest, answers = np.zeros((2, entities), np.int32)
        self._memory = Memory(np.zeros(entities, np.bool_), newest, np.full(entities, NO_KEY), answers)
        self._rows = np.empty((ROOM, NEXT + 1), np.int32)

    def walk(self, asked: Asked, starts: Starts, limits: Sequence[int]) -> Walks:
        """As `Layers.walk`."""
        worst, entities = np.full(max(limits) + 1, NO_KEY - 1), len(self._memory.key)
        fits = len(worst) * entities <= WIDEST  # of millions a thousand hops away ties are kept
        of_keys = (1, entities, len(worst) * entities) if fits else (0, 0, 1)
        work = Work(
            self.graph, self.prices, asked, self._memory, starts.slack, self.wanted, min(limits), *of_keys
        )
        self._rows, count = walk_each(work, starts, self._rows, worst)
        states = States(*self._rows[:count, :NEXT].T.astype(np.int64))
        return Walks(asked, starts, states, 0, worst // work.of_total)


@compiled
def with_room(rows: Rows, used: int, more: int) -> Rows:
    """The used rows with room for so many more; the same memory where it has it."""
    if used + more <= len(rows):
        return rows
    longer = np.empty((2 * (used + more), rows.shape[1]), np.int32)
    longer[:used] = rows[:used]
    return longer


@compiled
def key_of(work: Work, entity: int, total: int, steps: int) -> int:
    """The rank of an entity among all: by total, then steps and name."""
    name = np.int64(work.graph.name_rank[entity])
    return int(total * work.of_total + steps * work.of_step + name * work.of_name)


@compiled
def walk_each(work: Work, starts: Starts, rows: Rows, worst: Ints) -> tuple[Rows, int]:
    """The states of all walks, and how many rows they fill.

    Written to `worst`: the highest key of interest, by hops; no walk needs more than those before it."""
    memory, count = work.memory, 0
    for walk in range(len(starts.cost)):
        first = count
        for seed, entity in enumerate(starts.entity):
            memory.barred[entity] |= starts.by_text[starts.walk[seed]] <= starts.by_text[walk]
        for most in (HOPEFUL, FAR):
            rows, count = walk_layers(work, starts, walk, most, rows, first, worst)
            for row in range(first, count):
                memory.newest[rows[row, ENTITY]], memory.key[rows[row, ENTITY]] = 0, NO_KEY
    memory.barred[starts.entity] = False
    return rows, count


@compiled
def walk_layers(
    work: Work, starts: Starts, walk: int, most: int, rows: Rows, first: int, worst: Ints
) -> tuple[Rows, int]:
    """One walk, its states from row `first` on, and how many there are then. most: states of a layer that it
    goes on from."""
    memory, count = work.memory, first
    rows = with_room(rows, count, len(starts.walk))
    for seed in np.flatnonzero(starts.walk == walk):
        entity = starts.entity[seed]
        rows[count, WALK], rows[count, ENTITY], rows[count, NEXT] = walk, entity, memory.newest[entity]
        rows[count, MASK] = rows[count, STEPS] = 0
        rows[count, COST], rows[count, TOTAL] = starts.cost[walk], starts.total[seed]
        rows[count, SLOT], rows[count, BEFORE] = NO_SLOT, NO_PATH
        count += 1
        memory.newest[entity] = count
    layer, found, hops = first, 0, len(worst) - 1
    for steps in range(1, hops + 1):
        bound, found = lowered(work, min(worst[steps - 1], worst[max(work.lowest, steps)]), found)
        opened, layer = open_states(work, hops - steps + 1, most, rows, layer, count, bound), count
        later = worst[min(steps + 1, hops)] // work.of_total
        rows, count, found = expand(work, hops - steps, most, rows, opened, count, bound, later, found)
        worst[steps], found = lowered(work, bound, found)
    return rows, count


@compiled
def open_states(work: Work, left: int, most: int, rows: Rows, first: int, count: int, bound: int) -> Ints:
    """The states from `first` on from which the walk goes on, with so many steps left; of more than `most`
    the most hopeful."""
    least, highest = work.asked.least[left], bound // work.of_total
    opened, chosen = np.empty(count - first, np.int64), 0
    for state in range(first, count):
        cost = rows[state, COST] + least[rows[state, MASK]]
        if cost <= highest:
            opened[chosen] = cost << 32 | state
            chosen += 1
    if chosen > most:
        opened, chosen = np.sort(opened[:chosen]), most
    return opened[:chosen] & (1 << 32) - 1


@compiled
def expand(
    work: Work, left: int, most: int, rows: Rows, opened: Ints, count: int, bound: int, later: int, found: int
) -> tuple[Rows, int, int]:
    """One step from the states `opened`, over at most so many slots of each. The states, how many there are
    then, and how many answers.

    left: the steps after this one; later: the highest total of interest with more steps; count, found: how
    many states and answers there are before."""
    graph, prices, asked, memory = work.graph, work.prices, work.asked, work.memory
    first, least, ahead, highest = count, asked.least[left], asked.ahead[left + 1], bound // work.of_total
    due = work.wanted
    for state in opened:
        if found >= due:
            bound, found = lowered(work, bound, found)
            due, highest = max(work.wanted, 2 * found), bound // work.of_total
        at, mask, last = rows[state, ENTITY], rows[state, MASK], rows[state, SLOT]
        rank, so_far, steps = np.int64(graph.name_rank[at]), rows[state, COST], rows[state, STEPS] + 1
        came_by = -1 if last == NO_SLOT else np.int64(graph.relations[last])
        low, high = graph.indptr[at], min(graph.indptr[at + 1], graph.indptr[at] + most)
        if count + high - low > len(rows):  # else counting who refers to them takes as long as a slot
            rows = with_room(rows, count, high - low)
        kind, step, is_hopeless = np.int64(-1), np.int64(0), False
        for slot in range(low, high):
            if graph.kind[slot] != kind:  # slots of one kind are next to each other
                kind = np.int64(graph.kind[slot])
                step = 2 * np.int64(asked.types[kind >> 1]) + (kind & 1)
                is_hopeless = so_far + ahead[mask, step] > highest
            if is_hopeless:
                continue
            entity = graph.neighbours[slot]
            taken, pays_for_kind = asked.steps[mask, step], 0
            cost, filled = so_far + (taken >> MOST_SLOTS), taken & (MASKS - 1)
            if asked.words:
                met = np.int64(asked.entities[entity] | asked.relations[graph.relations[slot]])
                if step < 2:
                    cost -= min(asked.weight[met & ~mask], asked.unexplained)
                filled |= met
                if asked.head and asked.entities[entity] & asked.head == 0:
                    pays_for_kind = prices.off_head
            # Whether it may be an answer, or lead to one.
            total, key = cost + asked.end[filled] + pays_for_kind, NO_KEY
            if total <= highest and graph.returned[entity]:
                key = key_of(work, entity, total, steps)
            if key > bound and cost + least[filled] > min(later, highest):
                continue
            if left == 0 and not work.slack and key > memory.key[entity]:
                continue
            if graph.relations[slot] == came_by or memory.barred[entity]:
                continue
            goal = memory.newest[entity] - 1
            while goal >= 0 and rows[goal, MASK] != filled:
                goal = rows[goal, NEXT] - 1
            if goal < first:
                if goal >= 0 and rows[goal, COST] <= cost:
                    continue
                goal, count = count, count + 1
                rows[goal, WALK], rows[goal, ENTITY] = rows[state, WALK], entity
                rows[goal, MASK], rows[goal, STEPS] = filled, steps
                rows[goal, NEXT], rows[goal, COST] = memory.newest[entity], FAR
                memory.newest[entity] = count
            if key <= bound < memory.key[entity]:
                memory.answers[found], found = entity, found + 1
            memory.key[entity] = min(memory.key[entity], key)
            is_better = cost < rows[goal, COST]
            if cost == rows[goal, COST]:
                rival = rows[goal, BEFORE]
                other = np.int64(graph.name_rank[rows[rival, ENTITY]])
                is_better = (rank, slot, mask) < (other, rows[goal, SLOT], rows[rival, MASK])
            if is_better:
                rows[goal, COST], rows[goal, TOTAL] = cost, total
                rows[goal, SLOT], rows[goal, BEFORE] = slot, state
    return rows, count, found


@compiled
def lowered(work: Work, bound: int, found: int) -> tuple[int, int]:
    """The key of the last entity wanted among so many answers, if it is below the bound, and how many answers
    are up to it. Other mentions may change a total, so that it alone counts."""
    answers, kept = work.memory.answers, 0
    if found >= work.wanted:
        best = np.partition(work.memory.key[answers[:found]], work.wanted - 1)[work.wanted - 1]
        if work.slack:
            best = (best // work.of_total + work.slack + 1) * work.of_total - 1
        bound = min(bound, best)
    for entity in answers[:found]:
        if work.memory.key[entity] <= bound:
            answers[kept], kept = entity, kept + 1
    return bound, kept
