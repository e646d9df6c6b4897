"""The layers of a walk as one compiled loop (extra `fast`): the same states as walk.Layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import compiled
from tiny_graph_rag.retrieval.walk import (
    FAR,
    NO_PATH,
    NO_SLOT,
    Asked,
    Ints,
    Prices,
    Start,
    States,
    WalkedGraph,
    Walks,
)

Rows = NDArray[np.int32]

ROOM = 1 << 12  # rows at first; doubled where they are full
WALK, ENTITY, MASK, STEPS, COST, TOTAL, SLOT, BEFORE = range(len(States._fields))  # columns of a state
NEXT = len(States._fields)  # one more than the state before it at the same entity
TOTALS = 1 << 15  # thousandths: among totals below it, it is counted how many there are of each
WORST, HIGHEST, CHEAP, WANTED = range(4)  # of a walk's bound


class Tables(NamedTuple):
    """is_seed, state, total: (entities,); one more than the row of its newest state, and its least total so
    far. totals: (TOTALS,), how many entities have it so far.

    bound: totals above WORST are left out; so many as CHEAP have one up to HIGHEST; WANTED are wanted."""

    is_seed: NDArray[np.bool_]
    state: NDArray[np.int32]
    total: NDArray[np.int32]
    totals: NDArray[np.int32]
    bound: Ints


class CompiledLayers:
    """Walks one graph, one mention after the other, in memory that it keeps."""

    def __init__(self, graph: WalkedGraph, prices: Prices) -> None:
        self.graph, self.prices = WalkedGraph(*map(_read_only, graph)), prices
        entities = len(graph.indptr) - 1
        self._tables = Tables(
            np.zeros(entities, np.bool_),
            np.zeros(entities, np.int32),
            np.zeros(entities, np.int32),
            np.zeros(TOTALS, np.int32),
            np.zeros(4, np.int64),
        )
        self._rows = np.empty((ROOM, NEXT + 1), np.int32)

    def walk(self, asked: Asked, starts: Sequence[Start], explained: Ints) -> Walks:
        """As `Layers.walk`."""
        count = looked = 0
        worst = np.full((len(explained), len(starts)), FAR)
        for number, start in enumerate(starts):
            self._rows, count, slots = walk_layers(
                self.graph, self.prices, asked.of(start.question), start, explained, self._tables, self._rows,
                number, count, worst[:, number],
            )  # fmt: skip
            looked += slots
        return Walks(States(*self._rows[:count, :NEXT].T.astype(np.int64)), looked, worst)


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    """Columns from a file can't be written to; if all are so, one compiled form serves."""
    view = column.view()
    view.flags.writeable = False
    return view


@compiled
def with_room(rows: Rows, used: int, more: int) -> Rows:
    """The used rows with room for so many more; the same memory where it has it."""
    if used + more <= len(rows):
        return rows
    longer = np.empty((2 * (used + more), rows.shape[1]), np.int32)
    longer[:used] = rows[:used]
    return longer


@compiled
def walk_layers(
    graph: WalkedGraph,
    price: Prices,
    asked: Asked,
    start: Start,
    explained: Ints,
    tables: Tables,
    rows: Rows,
    number: int,
    old: int,
    worst: Ints,
) -> tuple[Rows, int, int]:
    """One walk, its states behind the `old` ones of those before it. (The rows, how many are used; slots
    looked at.) Written to `worst`: the highest total of interest, by hops."""
    count, looked, first = old, 0, old
    rows = with_room(rows, count, len(start.seeds))
    for seed in start.every_seed:
        tables.is_seed[seed] = True
    for seed in start.seeds:
        rows[count] = 0
        rows[count, ENTITY] = seed
        rows[count, SLOT], rows[count, BEFORE], rows[count, NEXT] = NO_SLOT, NO_PATH, tables.state[seed]
        count += 1
        tables.state[seed], tables.total[seed] = count, FAR
    tables.totals[:] = 0
    tables.bound[WORST], tables.bound[HIGHEST], tables.bound[CHEAP] = FAR, TOTALS - 1, 0
    tables.bound[WANTED] = start.wanted
    for steps in range(1, len(explained)):
        left = len(explained) - 1 - steps
        opened, slots = open_states(graph, rows, tables, first, count, asked.least[left + 1])
        looked += slots
        rows, first = with_room(rows, count, slots), count
        count = expand(
            graph, price, asked, asked.least[left], explained, start, steps, rows, tables, opened, count
        )
        worst[steps] = lowered(tables, start.slack)
    for row in range(old, count):
        rows[row, WALK] = number
        tables.state[rows[row, ENTITY]] = 0
    for seed in start.every_seed:
        tables.is_seed[seed] = False
    return rows, count, looked


@compiled
def open_states(
    graph: WalkedGraph, rows: Rows, tables: Tables, first: int, count: int, least: Ints
) -> tuple[Ints, int]:
    """The states from `first` on that are left next, each with the least total that it may lead to, and how
    many slots they have. least: by mask, what a path still pays."""
    opened, chosen, slots = np.empty((count - first, 2), np.int64), 0, 0
    for state in range(first, count):
        entity, mask, cost = rows[state, ENTITY], rows[state, MASK], rows[state, COST]
        if cost + least[mask] > tables.bound[WORST]:
            continue
        rival = tables.state[entity] - 1
        while rival >= 0:
            explains_as_much = rows[rival, MASK] | mask == rows[rival, MASK]
            is_other = rows[rival, MASK] != mask or rival < first
            if explains_as_much and is_other and rows[rival, COST] <= cost:
                break
            rival = rows[rival, NEXT] - 1
        if rival < 0:
            opened[chosen, 0], opened[chosen, 1] = state, cost + least[mask]
            chosen += 1
            slots += graph.indptr[entity + 1] - graph.indptr[entity]
    return opened[:chosen], slots


@compiled
def expand(
    graph: WalkedGraph,
    price: Prices,
    asked: Asked,
    least: Ints,
    explained: Ints,
    start: Start,
    steps: int,
    rows: Rows,
    tables: Tables,
    opened: Ints,
    count: int,
) -> int:
    """One step from the states `opened`, the most hopeful first: what they reach tells which of the others to
    leave out. How many states there are then; count: how many there are before."""
    first, is_kept = count, False
    for index in np.argsort(opened[:, 1]):
        state, worst = opened[index, 0], lowered(tables, start.slack)
        if opened[index, 1] > worst:
            break
        at, mask, last = rows[state, ENTITY], rows[state, MASK], rows[state, SLOT]
        rank = np.int64(graph.name_rank[at])
        came_by, came_as = np.int64(-1), np.int64(-1)
        if last != NO_SLOT:
            came_by, came_as = np.int64(graph.relations[last]), np.int64(graph.kind[last]) ^ 1
        known_kind = np.int64(-1)
        for slot in range(graph.indptr[at], graph.indptr[at + 1]):
            kind, relation, entity = np.int64(graph.kind[slot]), graph.relations[slot], graph.neighbours[slot]
            if kind == known_kind and not is_kept:
                continue  # costs as much as the last one
            if relation == came_by or tables.is_seed[entity]:
                continue
            # What the step explains and costs.
            speaks = np.int64(asked.types[kind >> 1])
            free = speaks & ~mask
            if kind != came_as:
                free &= ~asked.back
            fills = free & -free
            filled, pays_for_kind = mask | fills, 0
            cost = rows[state, COST] + price.step
            if speaks == 0:
                cost += asked.unexplained
            else:
                cost += (kind & 1) * price.against
                if fills == 0:
                    cost += price.again
                elif mask & (fills - 1) != fills - 1:
                    cost += price.early
            if asked.has_words:
                met = np.int64(asked.entities[entity] | asked.relations[relation])
                if speaks == 0:
                    cost -= min(asked.weight[met & ~mask], asked.unexplained)
                filled |= met
                if asked.head and asked.entities[entity] & asked.head == 0:
                    pays_for_kind = price.off_head
            else:
                known_kind = kind
            # Whether it may be an answer, or lead to one.
            total = cost + asked.end[filled] + pays_for_kind
            is_kept = min(total, cost + least[filled]) <= worst
            if not is_kept:
                continue
            goal = tables.state[entity] - 1
            if goal < 0:
                tables.total[entity] = FAR
            if total < tables.total[entity] and (len(graph.returned) == 0 or graph.returned[entity]):
                count_total(tables, tables.total[entity], total)
                tables.total[entity] = total
                if total <= explained[steps]:
                    tables.bound[WANTED] = start.enough
            while goal >= first and rows[goal, MASK] != filled:
                goal = rows[goal, NEXT] - 1
            if goal < first:
                goal, count = count, count + 1
                rows[goal, ENTITY], rows[goal, MASK], rows[goal, STEPS] = entity, filled, steps
                rows[goal, NEXT], rows[goal, COST] = tables.state[entity], FAR
                tables.state[entity] = count
            is_better = cost < rows[goal, COST]
            if cost == rows[goal, COST]:
                rival = rows[goal, BEFORE]
                other = np.int64(graph.name_rank[rows[rival, ENTITY]])
                is_better = (rank, slot, mask) < (other, rows[goal, SLOT], rows[rival, MASK])
            if is_better:
                rows[goal, COST], rows[goal, TOTAL] = cost, total
                rows[goal, SLOT], rows[goal, BEFORE] = slot, state
    return count


@compiled
def lowered(tables: Tables, slack: int) -> int:
    """The bound, once it is as low as the wanted entities allow."""
    bound, totals = tables.bound, tables.totals
    while bound[HIGHEST] > 0 and bound[CHEAP] - totals[bound[HIGHEST]] >= bound[WANTED]:
        bound[CHEAP] -= totals[bound[HIGHEST]]
        bound[HIGHEST] -= 1
    if bound[CHEAP] >= bound[WANTED]:
        bound[WORST] = min(bound[WORST], bound[HIGHEST] + slack)
    return int(bound[WORST])


@compiled
def count_total(tables: Tables, before: int, total: int) -> None:
    """Count an entity's new total, lower than the one `before`."""
    if total <= tables.bound[HIGHEST]:
        if before <= tables.bound[HIGHEST]:
            tables.totals[before] -= 1
        else:
            tables.bound[CHEAP] += 1
        tables.totals[total] += 1
