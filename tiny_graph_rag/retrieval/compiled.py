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
BEST, ANSWERS, LOWERED_AT, WANTED = range(4)  # of `Memory.bound`


class Memory(NamedTuple):
    """Of one walk. is_seed, state, key, answers: (entities,); one more than the row of an entity's newest
    state; its least key so far, as of `key_of`; the entities with a key up to the bound.

    bound: BEST, the highest key of interest; the number of ANSWERS, and of how many of them BEST is lowered
    next; how many are WANTED."""

    is_seed: NDArray[np.bool_]
    state: NDArray[np.int32]
    key: Ints
    answers: NDArray[np.int32]
    bound: Ints


class Work(NamedTuple):
    """What the parts of one walk share; asked: of its question. of_name, of_step, of_total: what a place in
    the tie-break order, a step and a thousandth of the total add to a key."""

    graph: WalkedGraph
    prices: Prices
    asked: Asked
    memory: Memory
    of_name: int
    of_step: int
    of_total: int


class CompiledLayers:
    """Walks one graph, one mention after the other, in memory that it keeps."""

    def __init__(self, graph: WalkedGraph, prices: Prices, wanted: int) -> None:
        """As of `Layers`."""
        self.graph, self.prices = WalkedGraph(*map(read_only, graph)), prices
        entities = len(graph.indptr) - 1
        self._memory = Memory(
            np.zeros(entities, np.bool_),
            np.zeros(entities, np.int32),
            np.full(entities, NO_KEY),
            np.zeros(entities, np.int32),
            np.array([0, 0, 0, wanted]),
        )
        self._rows = np.empty((ROOM, NEXT + 1), np.int32)

    def walk(self, asked: Asked, starts: Starts, limits: Sequence[int]) -> Walks:
        """As `Layers.walk`."""
        worst, entities = np.full((max(limits) + 1, len(starts.question)), NO_KEY - 1), len(self._memory.key)
        fits = len(worst) * entities <= WIDEST  # of millions a thousand hops away ties are kept
        of_keys = (1, entities, len(worst) * entities) if fits else (0, 0, 1)
        work = Work(self.graph, self.prices, asked, self._memory, *of_keys)
        self._rows, count = walk_each(work, starts, min(limits), self._rows, worst)
        states = States(*self._rows[:count, :NEXT].T.astype(np.int64))
        return Walks(asked, starts, states, 0, worst // work.of_total)


@compiled
def copy_row(rows: Rows, row: int, to: Rows, place: int) -> None:
    """By column: numba takes seconds to compile the checks of a whole row."""
    for column in range(rows.shape[1]):
        to[place, column] = rows[row, column]


@compiled
def with_room(rows: Rows, used: int, more: int) -> Rows:
    """The used rows with room for so many more; the same memory where it has it."""
    if used + more <= len(rows):
        return rows
    longer = np.empty((2 * (used + more), rows.shape[1]), np.int32)
    for row in range(used):
        copy_row(rows, row, longer, row)
    return longer


@compiled
def key_of(work: Work, entity: int, total: int, steps: int) -> int:
    """The rank of an entity among all: by total, then steps and name."""
    name = np.int64(work.graph.name_rank[entity])
    return int(total * work.of_total + steps * work.of_step + name * work.of_name)


@compiled
def of_question(asked: Asked, row: int) -> Asked:
    """As `Asked.of`."""
    return Asked(
        asked.weight[row], asked.end[row], asked.steps[row], asked.types[row], asked.least[row],
        asked.ahead[row], asked.head[row], asked.words[row], asked.unexplained[row], asked.named[row],
        asked.relations[row], asked.entities[row], asked.slack[row],
    )  # fmt: skip


@compiled
def walk_each(work: Work, starts: Starts, lowest: int, rows: Rows, worst: Ints) -> tuple[Rows, int]:
    """The states of all walks, and how many rows they fill. lowest: of the limits of hops.

    Written to `worst`: the highest key of interest, by hops and walk; no walk needs more than those of its
    question before it."""
    graph, prices, every, memory = work[:4]
    count, first, hops = 0, 0, len(worst) - 1
    for walk, question in enumerate(starts.question):
        asked, last = of_question(every, starts.asked[walk]), first
        one = Work(graph, prices, asked, memory, work.of_name, work.of_step, work.of_total)
        while last < len(starts.walk) and starts.walk[last] == walk:
            last += 1
        for seed, entity in enumerate(starts.entity):
            other = starts.walk[seed]
            is_barred = starts.question[other] == question and starts.by_text[other] <= starts.by_text[walk]
            memory.is_seed[entity] |= is_barred
        seeds, highest = starts.entity[first:last], worst[:, walk]
        if walk and starts.question[walk - 1] == question:
            highest[:] = worst[:, walk - 1]
        for most in (HOPEFUL, FAR):
            memory.bound[BEST] = highest[lowest]
            rows, used = walk_layers(one, seeds, starts.cost[walk], hops, most, rows, count, highest)
            for row in range(count, used):
                memory.state[rows[row, ENTITY]], memory.key[rows[row, ENTITY]] = 0, NO_KEY
                rows[row, WALK] = walk
        for seed in range(first, last):
            rows[count + seed - first, TOTAL] = starts.total[seed]
        for entity in starts.entity:
            memory.is_seed[entity] = False
        count, first = only_needed(one, rows, count, used, highest, lowest), last
    return rows, count


@compiled
def walk_layers(
    work: Work, seeds: Ints, cost: int, hops: int, most: int, rows: Rows, count: int, worst: Ints
) -> tuple[Rows, int]:
    """One walk, its states behind the `count` ones of those before it, and how many there are then. cost: of
    its paths besides; most: states of a layer that it goes on from."""
    memory, first = work.memory, count
    rows = with_room(rows, count, len(seeds))
    for seed in seeds:
        rows[count, ENTITY], rows[count, MASK], rows[count, STEPS], rows[count, COST] = seed, 0, 0, cost
        rows[count, SLOT], rows[count, BEFORE], rows[count, NEXT] = NO_SLOT, NO_PATH, memory.state[seed]
        count += 1
        memory.state[seed] = count
    memory.bound[ANSWERS], memory.bound[LOWERED_AT] = 0, memory.bound[WANTED]
    for steps in range(1, hops + 1):
        lower(work, worst[steps])
        opened, first = open_states(work, hops - steps + 1, most, rows, first, count), count
        rows, count = expand(work, hops - steps, most, rows, opened, count)
        lower(work, NO_KEY)
        worst[steps] = memory.bound[BEST]
    return rows, count


@compiled
def open_states(work: Work, left: int, most: int, rows: Rows, first: int, count: int) -> Ints:
    """The states from `first` on from which the walk goes on, with so many steps left; of more than `most`
    the most hopeful."""
    least, worst = work.asked.least[left], work.memory.bound[BEST] // work.of_total
    opened, chosen = np.empty(count - first, np.int64), 0
    for state in range(first, count):
        cost = rows[state, COST] + least[rows[state, MASK]]
        if cost <= worst:
            opened[chosen] = cost << 32 | state
            chosen += 1
    if chosen > most:
        opened, chosen = np.sort(opened[:chosen]), most
    return opened[:chosen] & (1 << 32) - 1


@compiled
def expand(work: Work, left: int, most: int, rows: Rows, opened: Ints, count: int) -> tuple[Rows, int]:
    """One step from the states `opened`, over at most so many slots of each. The states and how many there
    are then.

    left: the steps after this one; count: how many states there are before."""
    graph, prices, asked, memory = work[:4]
    first, least, ahead = count, asked.least[left], asked.ahead[left + 1]
    highest, worst = memory.bound[BEST], memory.bound[BEST] // work.of_total
    steps = rows[opened[0], STEPS] + 1 if len(opened) else 0
    for state in opened:
        if memory.bound[ANSWERS] >= memory.bound[LOWERED_AT]:
            lower(work, NO_KEY)
            highest, worst = memory.bound[BEST], memory.bound[BEST] // work.of_total
        at, mask, last = rows[state, ENTITY], rows[state, MASK], rows[state, SLOT]
        rank, so_far = np.int64(graph.name_rank[at]), rows[state, COST]
        came_by = np.int64(-1) if last == NO_SLOT else np.int64(graph.relations[last])
        low, high = graph.indptr[at], min(graph.indptr[at + 1], graph.indptr[at] + most)
        if count + high - low > len(rows):  # else counting who refers to them takes as long as a slot
            rows = with_room(rows, count, high - low)
        kind, step, is_hopeless = np.int64(-1), np.int64(0), False
        for slot in range(low, high):
            if graph.kind[slot] != kind:  # slots of one kind are next to each other
                kind = np.int64(graph.kind[slot])
                step = 2 * np.int64(asked.types[kind >> 1]) + (kind & 1)
                is_hopeless = so_far + ahead[mask, step] > worst
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
            if total <= worst and graph.returned[entity]:
                key = key_of(work, entity, total, steps)
            if key > highest and cost + least[filled] > worst:
                continue
            if left == 0 and not asked.slack and key > memory.key[entity]:
                continue
            if graph.relations[slot] == came_by or memory.is_seed[entity]:
                continue
            if key < memory.key[entity]:
                if key <= memory.bound[BEST] < memory.key[entity]:
                    memory.answers[memory.bound[ANSWERS]] = entity
                    memory.bound[ANSWERS] += 1
                memory.key[entity] = key
            goal = memory.state[entity] - 1
            while goal >= 0 and rows[goal, MASK] != filled:
                goal = rows[goal, NEXT] - 1
            if 0 <= goal < first and rows[goal, COST] <= cost:
                continue
            if goal < first:
                goal, count = count, count + 1
                rows[goal, ENTITY], rows[goal, MASK], rows[goal, STEPS] = entity, filled, steps
                rows[goal, NEXT], rows[goal, COST] = memory.state[entity], FAR
                memory.state[entity] = count
            is_better = cost < rows[goal, COST]
            if cost == rows[goal, COST]:
                rival = rows[goal, BEFORE]
                other = np.int64(graph.name_rank[rows[rival, ENTITY]])
                is_better = (rank, slot, mask) < (other, rows[goal, SLOT], rows[rival, MASK])
            if is_better:
                rows[goal, COST], rows[goal, TOTAL] = cost, total
                rows[goal, SLOT], rows[goal, BEFORE] = slot, state
    return rows, count


@compiled
def lower(work: Work, most: int) -> None:
    """Lower the bound to `most` and to the key of the last entity wanted, if there are so many answers up to
    it. Other mentions may change a total, so that it alone counts."""
    memory, bound, slack, keys = work.memory, work.memory.bound, work.asked.slack, work.of_total
    wanted, count = bound[WANTED], bound[ANSWERS]
    found = memory.key[memory.answers[:count]]
    if count >= wanted:
        best = np.partition(found, wanted - 1)[wanted - 1]
        most = min(most, (best // keys + slack + 1) * keys - 1 if slack else best)
    bound[BEST], bound[ANSWERS] = min(bound[BEST], most), 0
    for row in range(count):
        if found[row] <= bound[BEST]:
            memory.answers[bound[ANSWERS]] = memory.answers[row]
            bound[ANSWERS] += 1
    bound[LOWERED_AT] = max(wanted, 2 * bound[ANSWERS])


@compiled
def only_needed(work: Work, rows: Rows, first: int, count: int, worst: Ints, lowest: int) -> int:
    """How many states there are without those, from `first` on, that are of no interest within any limit of
    hops and lead to none. worst: the highest key of interest, by hops."""
    needed, place = np.zeros(count - first, np.bool_), np.zeros(count - first, np.int32)
    for row in range(count - 1, first - 1, -1):
        steps = rows[row, STEPS]
        key = key_of(work, rows[row, ENTITY], rows[row, TOTAL], steps)
        needed[row - first] |= steps == 0 or key <= worst[max(lowest, steps)]
        if needed[row - first] and steps:
            needed[rows[row, BEFORE] - first] = True
    kept = first
    for row in range(first, count):
        if needed[row - first]:
            place[row - first] = kept
            copy_row(rows, row, rows, kept)
            if rows[row, STEPS]:
                rows[kept, BEFORE] = place[rows[row, BEFORE] - first]
            kept += 1
    return kept
