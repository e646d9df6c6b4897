"""The cheapest explanations from a seed with very many relations, a column at a time.

The kernel visits relation after relation, which for a million of them takes seconds of plain Python, or a
second to load the compiled form, and marks in memory for each entity it meets. Here the relations of a run
are one operation, and only what one or two steps reach is held. The ranking is the kernel's: where it would
need more (a third step, several mentions, words of single entities), it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, expanded, found_in, unique
from tiny_graph_rag.columns.stored import give_back_pages, repeated
from tiny_graph_rag.retrieval import kernel
from tiny_graph_rag.retrieval.filters import Filters
from tiny_graph_rag.retrieval.typed_adjacency import Runs
from tiny_graph_rag.run import NO_STEP, Cut

WIDE_FROM = 1 << 14  # relations of a question's seeds; fewer are walked as fast by the kernel
STATES_AT_ONCE = 1 << 10  # whose neighbours are looked up together: their pages are given back in between

Ints = NDArray[np.int64]
filled_by: Callable[..., int] = kernel.filled_by
step_price: Callable[..., int] = kernel.step_price


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """One question's ranking. keys: energy in thousandths, then the tie part; masks: slots filled;
    walks: (rows, hops) relations from a seed, filled up with NO_STEP. cut: where a limit ended the walks; it
    is then the ranking of so many hops."""

    entities: NDArray[np.int32]
    hops: NDArray[np.int32]
    keys: Ints
    masks: Ints
    walks: NDArray[np.int32]
    cut: Cut | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question of one mention. types: bits of the slots that each relation type fills; slots, price: as the
    kernel takes them. near: the bound to look within first. most_steps: relations that may be looked at."""

    seeds: Sequence[int]
    masses: Sequence[int]
    types: Sequence[int]
    slots: tuple[Any, ...]
    price: Sequence[int]
    hops: int
    depth: int
    near: int
    most_steps: int


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Ways into entities by one more relation, a row each, in the order in which the kernel meets them.

    entity, edge; energy: of the entity as an answer by this way; mass: walkers that arrive; source: the
    entity it leaves; mask: slots filled; before: the relation walked before, NO_STEP at the first step.
    """

    entity: NDArray[np.int32]
    edge: NDArray[np.int32]
    energy: Ints
    mass: Ints
    source: NDArray[np.int32]
    mask: Ints
    before: NDArray[np.int32]

    @classmethod
    def joined(cls, parts: Sequence[Ways]) -> Ways:
        return cls(*(np.concatenate([getattr(each, name) for each in parts]) for name in cls.__slots__))

    def __getitem__(self, rows: Any) -> Ways:
        return Ways(*(getattr(self, name)[rows] for name in self.__slots__))


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """Where a second step may start: the best way into an entity for each mask, and the mass of all that
    cost the same. kind: of that way."""

    entity: NDArray[np.int32]
    mask: Ints
    cost: Ints
    mass: Ints
    edge: NDArray[np.int32]
    kind: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A seed's run, its first step priced: energy of its ends as answers, bound of what goes on from them."""

    seed: int
    mass: int
    first: int
    last: int
    kind: int
    cost: int
    mask: int
    energy: int
    bound: int


class Hubs:
    """Ranks by columns over one graph's arrays. returned, crossed: as in Filters."""

    def __init__(
        self, runs: Runs, filters: Filters, name_rank: NDArray[np.int32], *, alike: bool = False
    ) -> None:
        """alike: all relations weigh the same, so that no weight need be looked up."""
        self.runs, self.filters, self.name_rank, self.alike = runs, filters, name_rank, alike

    def units(self, relations: NDArray[np.int32]) -> Ints:
        if self.alike and len(relations):
            return repeated(np.int64(self.runs.units[0]), len(relations))
        return self.runs.units[relations].astype(np.int64)

    def is_wide(self, seeds: Sequence[int]) -> bool:
        """Whether the seeds have many relations together."""
        ptr, start = self.runs.run_ptr, self.runs.run_start
        slots = sum(int(start[ptr[each + 1]]) - int(start[ptr[each]]) for each in seeds)
        return slots >= WIDE_FROM

    def rank(self, asked: Asked) -> Ranked | None:
        """One mention's ranking, or None where the kernel is to find it."""
        if asked.slots[6]:  # words of single relations and entities
            return None
        search = _Search(self, asked)
        ways, theta = search.one_step(asked.near)
        if theta is None:
            return search.ranking(ways)
        while True:
            found = search.two_steps(theta, asked.most_steps)
            if found is None:
                return None
            ways, cut = found
            if cut >= kernel.FAR or search.enough(ways):
                return search.ranking(ways)
            theta = max(theta + kernel.WIDER, cut)


class _Search:
    def __init__(self, graph: Hubs, asked: Asked) -> None:
        self.graph, self.runs, self.types = graph, graph.runs, asked.types
        self.left, self.least, _, self.focus, self.head, self.back, _, self.exclude_seeds, self.asks, _ = (
            asked.slots
        )
        self.price, self.hops, self.depth = asked.price, asked.hops, asked.depth
        self.seeds, self.masses = list(asked.seeds), list(asked.masses)
        self.seed_rows = np.sort(np.array(self.seeds, dtype=np.int32))
        self.first = list(self._first())

    def _step(self, kind: int, mask: int, last: int) -> tuple[int, int, int]:
        """(slots filled, what the step costs, what an answer there pays beside)."""
        speaks = self.types[kind >> 1]
        low = filled_by(kind, speaks, mask, last, self.back)
        more = 0 if self.focus == 0 or speaks & self.focus else self.price[kernel.OFF_FOCUS]
        more += self.price[kernel.OFF_HEAD] if self.head else 0
        return mask | low, step_price(kind, speaks, mask, low, self.price), more

    def _goes_on(self, cost: int, mask: int, length: int) -> int:
        """The least that an explanation costs which goes on behind so many steps; FAR where none may."""
        more = self.hops - length
        if not more:
            return kernel.FAR
        least: int = self.least[more * len(self.left) + mask]
        return cost + self.price[kernel.STEP] + least

    def _first(self) -> Iterator[_Run]:
        runs = self.runs
        for seed, mass in zip(self.seeds, self.masses, strict=True):
            for run in range(int(runs.run_ptr[seed]), int(runs.run_ptr[seed + 1])):
                kind = int(runs.kind[run])
                mask, cost, more = self._step(kind, 0, -2)
                yield _Run(
                    seed, mass, int(runs.run_start[run]), int(runs.run_start[run + 1]), kind, cost, mask,
                    cost + self.left[mask] + more, self._goes_on(cost, mask, 1),
                )  # fmt: skip

    def one_step(self, near: int) -> tuple[Ways, int | None]:
        """Answers of one step, the cheapest runs that suffice; and the bound up to which two steps are to be
        looked at, None where one step suffices: nothing that goes on could be as cheap."""
        cut = min((each.bound for each in self.first), default=kernel.FAR)
        for energy in sorted({each.energy for each in self.first}):
            taken = [each for each in self.first if each.energy <= energy]
            if sum(each.last - each.first for each in taken) < self.depth:
                continue
            ways = self._ways_by(taken)
            if self.enough(ways):
                return ways, None if energy < cut else min(energy, near)
        return self._ways_by(self.first), None if cut >= kernel.FAR else near

    def _ways_by(self, runs: Sequence[_Run]) -> Ways:
        parts = []
        for each in runs:
            rows = slice(each.first, each.last)
            entity, edge = self.runs.neighbours[rows], self.runs.relations[rows]
            mass = each.mass * self.graph.units(edge) // int(self.runs.strength[each.seed])
            many = len(entity)
            part = Ways(
                entity, edge, np.full(many, each.energy), mass, np.full(many, each.seed, np.int32),
                np.full(many, each.mask), np.full(many, NO_STEP, np.int32),
            )  # fmt: skip
            parts.append(part[self._is_no_seed(entity)])
        none = np.zeros(0, dtype=np.int64)
        rows32 = np.zeros(0, dtype=np.int32)
        return Ways.joined([Ways(rows32, rows32, none, none, rows32, none, rows32), *parts])

    def _is_no_seed(self, entities: NDArray[np.int32]) -> NDArray[np.bool_]:
        keep = np.ones(len(entities), dtype=bool)
        for seed in self.seeds:
            keep &= entities != seed
        return keep

    def enough(self, ways: Ways) -> bool:
        """Whether as many entities as are wanted may be returned."""
        return len(unique(self._returned(ways).entity)) >= self.depth

    def _returned(self, ways: Ways) -> Ways:
        returned = self.graph.filters.returned
        return ways if returned is None else ways[returned[ways.entity]]

    def two_steps(self, theta: int, most_steps: int) -> tuple[Ways, int] | None:
        """All answers up to an energy, and the least energy of what was left out."""
        near = [each for each in self.first if each.energy <= theta]
        if sum(each.last - each.first for each in near) > most_steps:
            return None
        parts = [self._ways_by(near)]
        going = [each for each in self.first if each.bound <= theta]
        left_out = [least for each in self.first for least in (each.energy, each.bound) if least > theta]
        cut = min(left_out, default=kernel.FAR)
        if not going:
            return parts[0], cut
        looked = 0
        for states in self._states(going):
            found = self._onward(states, theta)
            if found is None:
                return None
            ways, steps, least = found
            cut, looked = min(cut, least), looked + steps
            give_back_pages(self.runs.neighbours)
            if looked > most_steps:
                return None
            parts.append(ways)
        return Ways.joined(parts), cut

    def _states(self, going: Sequence[_Run]) -> Iterator[States]:
        """The states behind a first step that go on, as the kernel merges them, some entities at a time."""
        ways = self._ways_by(going)
        lengths = [each.last - each.first for each in going]
        kinds = np.repeat([each.kind for each in going], lengths)
        costs = np.repeat([each.cost for each in going], lengths)
        keep = np.concatenate(
            [self._is_no_seed(self.runs.neighbours[each.first : each.last]) for each in going]
        )
        kinds, costs = kinds[keep], costs[keep]
        crossed = self.graph.filters.crossed
        if crossed is not None:
            may = crossed[ways.entity]
            ways, kinds, costs = ways[may], kinds[may], costs[may]
        rank = self.graph.name_rank[ways.source]
        order = np.lexsort((np.arange(len(rank)), rank, costs, ways.mask, ways.entity))
        ways, kinds, costs = ways[order], kinds[order], costs[order]
        first = np.flatnonzero(begins(ways.entity, ways.mask))
        if not len(first):
            return
        least = np.repeat(costs[first], np.diff(first, append=len(order)))
        mass = np.add.reduceat(np.where(costs == least, ways.mass, 0), first)
        states = States(
            ways.entity[first], ways.mask[first], costs[first], mass, ways.edge[first], kinds[first]
        )
        live = _live(states)
        rows = np.flatnonzero(live)
        ends = states.entity[rows]
        at = 0
        while at < len(rows):
            upto = min(at + STATES_AT_ONCE, len(rows))
            while upto < len(rows) and ends[upto] == ends[upto - 1]:
                upto += 1
            some = rows[at:upto]
            yield States(*(getattr(states, name)[some] for name in States.__slots__))
            at = upto

    def _onward(self, states: States, theta: int) -> tuple[Ways, int, int] | None:
        """(ways of a second step, relations looked at, the least energy left out); None where a third step
        might be as cheap."""
        runs = self.runs
        counts = (runs.run_ptr[states.entity + 1] - runs.run_ptr[states.entity]).astype(np.int64)
        state, run = expanded(runs.run_ptr[states.entity], counts)
        classes, of_class = _classes(states)
        width = 2 * len(self.types)
        code = of_class[state] * width + runs.kind[run]
        used = np.flatnonzero(np.bincount(code, minlength=len(classes) * width))
        table = np.full((len(classes) * width, 3), kernel.FAR, dtype=np.int64)  # mask, cost, energy
        cut, looked_at = kernel.FAR, np.zeros(len(table), dtype=bool)
        for each in used.tolist():
            mask, cost, last = classes[each // width]
            kind = each % width
            filled, step, more = self._step(kind, mask, last)
            cost += step
            energy, onward = cost + self.left[filled] + more, self._goes_on(cost, filled, 2)
            if onward <= theta:
                return None
            cut = min(cut, onward, energy if energy > theta else kernel.FAR)
            table[each] = filled, cost, energy
            looked_at[each] = energy <= theta
        keep = looked_at[code]
        state, run, code = state[keep], run[keep], code[keep]
        mask, cost, energy = table[code].T
        # Ways out of one entity by one run that fill the same slots are one, the cheapest's.
        order = np.lexsort((states.mask[state], cost, mask, run))
        state, run, mask, cost, energy = state[order], run[order], mask[order], cost[order], energy[order]
        first = np.flatnonzero(begins(run, mask))
        steps = (runs.run_start[run + 1] - runs.run_start[run]).astype(np.int64)
        looked = int(steps.sum())
        mass = np.zeros(0, dtype=np.int64)
        if len(first):
            least = np.repeat(cost[first], np.diff(first, append=len(order)))
            mass = np.add.reduceat(np.where(cost == least, states.mass[state], 0), first)
        state, run, mask, energy, steps = state[first], run[first], mask[first], energy[first], steps[first]
        owner, slot = expanded(runs.run_start[run], steps)
        entity, edge = runs.neighbours[slot], runs.relations[slot]
        source = states.entity[state]
        arriving = mass[owner] * self.graph.units(edge) // runs.strength[source][owner]
        ways = Ways(
            entity, edge, energy[owner], arriving, source[owner], mask[owner], states.edge[state][owner]
        )
        return ways[self._is_no_seed(entity)], looked, cut

    def ranking(self, ways: Ways) -> Ranked:
        """The first `depth` by key, hop and name, with the walk shown of each."""
        ways = self._returned(ways)
        order = np.argsort(ways.entity, kind="stable")
        entity = ways.entity[order]
        first = np.flatnonzero(begins(entity))
        found, keys = entity[first], np.zeros(0, dtype=np.int64)
        if len(first):
            energy = ways.energy[order]
            least = np.minimum.reduceat(energy, first)
            cheapest = energy == np.repeat(least, np.diff(first, append=len(order)))
            mass = np.add.reduceat(np.where(cheapest, ways.mass[order], 0), first)
            keys = _keys(least, mass, self.runs.strength[found])
        seeds, seed_keys = self._seeds()
        entities = np.concatenate([found, seeds])
        keys = np.concatenate([keys, seed_keys])
        if len(keys) > self.depth:
            limit = np.partition(keys, self.depth - 1)[self.depth - 1]
            kept = np.flatnonzero(keys <= limit)
            entities, keys = entities[kept], keys[kept]
        hops = self._hops(entities)
        order = np.lexsort((self.graph.name_rank[entities], hops, keys))[: self.depth]
        entities, hops, keys = entities[order], hops[order], keys[order]
        masks = np.zeros(len(order), dtype=np.int64)
        walks = np.full((len(order), self.hops), NO_STEP, dtype=np.int32)
        shown = self._shown(ways, entities[hops > 0])
        place = {each: row for row, each in enumerate(shown.entity.tolist())}
        for row, each in enumerate(entities.tolist()):
            at = place.get(each)
            if at is None or not hops[row]:
                continue
            masks[row] = shown.mask[at]
            walk = [step for step in (int(shown.before[at]), int(shown.edge[at])) if step != NO_STEP]
            walks[row, : len(walk)] = walk
        return Ranked(entities.astype(np.int32), hops, keys, masks, walks)

    def _seeds(self) -> tuple[NDArray[np.int32], Ints]:
        """The seeds that are answers, and their keys."""
        returned, price = self.graph.filters.returned, self.price
        mine = [
            (seed, mass)
            for seed, mass in zip(self.seeds, self.masses, strict=True)
            if not self.exclude_seeds and (returned is None or returned[seed])
        ]
        energy = 0
        if self.asks != kernel.ONE_OF_SEEDS:
            energy = self.left[0] + (price[kernel.OFF_FOCUS] if self.asks == kernel.OTHERS else 0)
        keys = _keys(
            np.full(len(mine), energy),
            np.array([mass for _, mass in mine], dtype=np.int64),
            np.full(len(mine), 1 << 16, dtype=np.int64),
        )
        return np.array([seed for seed, _ in mine], dtype=np.int32), keys

    def _hops(self, entities: NDArray[np.int32]) -> NDArray[np.int32]:
        """0 of a seed, 1 of its neighbours, 2 of the others."""
        hops = np.full(len(entities), 2, dtype=np.int32)
        order = np.argsort(entities)
        ascending = entities[order]
        for seed in self.seeds:
            first, last = (int(self.runs.run_start[self.runs.run_ptr[seed + each]]) for each in (0, 1))
            near = self.runs.neighbours[first:last]
            near = near[found_in(ascending, near)]
            hops[order[np.searchsorted(ascending, near)]] = 1
        hops[~self._is_no_seed(entities)] = 0
        return hops

    def _shown(self, ways: Ways, entities: NDArray[np.int32]) -> Ways:
        """Of each entity the way that is shown: the cheapest, the shortest, by the entity first in the house
        order, then by fewest slots filled."""
        mine = np.flatnonzero(found_in(np.sort(entities), ways.entity))
        ways = ways[mine]
        rank = self.graph.name_rank[ways.source]
        order = np.lexsort((mine, ways.mask, rank, ways.before != NO_STEP, ways.energy, ways.entity))
        ways = ways[order]
        return ways[begins(ways.entity)]


def _live(states: States) -> NDArray[np.bool_]:
    """False for a state that explains no more than another of its entity and costs no less."""
    live = np.ones(len(states.entity), dtype=bool)
    masks = sorted(set(states.mask.tolist())) if len(states.entity) else []
    rows = {mask: np.flatnonzero(states.mask == mask) for mask in masks}
    for mask in masks:
        for wider in masks:
            if wider == mask or wider | mask != wider:
                continue
            mine, theirs = rows[mask], rows[wider]
            at = np.minimum(np.searchsorted(states.entity[theirs], states.entity[mine]), len(theirs) - 1)
            other = theirs[at]
            same = states.entity[other] == states.entity[mine]
            live[mine[same & (states.cost[other] <= states.cost[mine])]] = False
    return live


def _classes(states: States) -> tuple[list[tuple[int, int, int]], Ints]:
    """The different (mask, cost, kind) of states, and which each has."""
    packed = (states.mask << 48) | (states.cost << 20) | states.kind
    known = unique(packed)
    classes = [
        (each >> 48, (each >> 20) & ((1 << 28) - 1), each & ((1 << 20) - 1)) for each in known.tolist()
    ]
    return classes, np.searchsorted(known, packed)


def _keys(energy: Ints, mass: Ints, strength: Ints) -> Ints:
    """`energy`, then the tie part, as the kernel makes it of one entity (`kernel.damped`)."""
    share = (mass << 16) // np.maximum(strength, 1)
    length = np.zeros(len(share), dtype=np.int64)
    rest = share.copy()
    for bits in (32, 16, 8, 4, 2, 1):
        above = rest >= 1 << bits
        length += bits * above
        rest = np.where(above, rest >> bits, rest)
    length += rest > 0
    over = length - (kernel.MANTISSA + 1)
    part = np.where(over > 0, share >> np.maximum(over, 0), share << np.maximum(-over, 0))
    damped = (length << kernel.MANTISSA) | (part & ((1 << kernel.MANTISSA) - 1))
    damped = np.where(length > 0, damped, 0)
    return (energy << kernel.TIE_BITS) + ((1 << kernel.TIE_BITS) - 1 - damped)
