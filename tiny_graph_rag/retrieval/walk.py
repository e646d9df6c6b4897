"""The cheapest path from the seeds of a mention to every entity near them, one hop after the other.

A state is (entity, slots filled): where a path of so many steps stands, and which slots of the question its
steps have explained. All states of s steps make those of s + 1; a state keeps its cheapest path and the
cheapest by another relation, which alone may go straight back over the first one's. The total of an entity
is the cost of its path, of each slot left empty, and of not being what the question asks for.

Since a path of s steps comes from paths of s - 1, the answers of each layer are those of every hop limit.
What cannot be among the `wanted` best of any limit is left out. `Layers` is the readable form; compiled.py
does the same in a loop, and tests hold one against the other. Costs are whole thousandths and masses whole
numbers, so no order of entities and relations changes a ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, expanded, unique, zeros_as_touched

Ints = NDArray[np.int64]
FAR = 1 << 29  # more than any cost
NO_KIND, NO_SLOT, NO_PATH = -2, -1, -1  # of a state before the first step


class Prices(NamedTuple):
    """In thousandths; docs/retrieval.md says what is paid when."""

    step: int
    against: int
    unexplained: int
    again: int
    early: int
    off_focus: int
    off_head: int
    other_seed: int


class Asked(NamedTuple):
    """What a question asks for.

    left, weight: by mask of slots filled, what the others and what these weigh. least: (hops + 1, masks), the
    least that any path still pays in so many steps. focus, head, back: bits of slots. types: slots that each
    relation type fills; relations, entities: those that its texts fill, only where has_words.
    """

    left: Ints
    weight: Ints
    least: Ints
    focus: int
    head: int
    back: int
    price: Prices
    types: Ints
    has_words: bool
    relations: NDArray[np.uint8]
    entities: NDArray[np.uint8]


class Columns(NamedTuple):
    """The graph as it is walked: the slots of entity i from indptr[i] to indptr[i + 1].

    kind: (slots,), twice the relation type's code, plus one against the relation's direction; an entity's
    slots are in the order of their kinds. neighbours, relations: (slots,). strength: (entities,), the sum of
    its slots' units. units: (relations,), weights as whole numbers. name_rank: the tie-break order. returned:
    (entities,), what may be an answer; empty: all.
    """

    indptr: NDArray[Any]
    kind: NDArray[Any]
    neighbours: NDArray[Any]
    relations: NDArray[Any]
    strength: NDArray[Any]
    units: NDArray[Any]
    name_rank: NDArray[Any]
    returned: NDArray[np.bool_]


class Start(NamedTuple):
    """Of one mention. seeds: its entities; masses: of each; every_seed: those of all mentions, where no path
    may return to."""

    seeds: Ints
    masses: Ints
    every_seed: Ints


class Bounds(NamedTuple):
    """hops: steps at most; wanted: how many of the best entities, or `enough` where a path explains all;
    explained: by its steps, the total of such a path at most. slack: what other mentions may still change in
    an entity's total."""

    hops: int
    wanted: int
    enough: int
    explained: Ints
    slack: int


class States(NamedTuple):
    """(states,) or, of their two paths, (states, 2), the cheapest first. A path's number is 2 × its state,
    plus 1 for the second. before: the path that it goes on from; kind, slot: of its last step."""

    entity: Ints
    mask: Ints
    cost: Ints
    mass: Ints
    kind: Ints
    slot: Ints
    before: Ints


class Answers(NamedTuple):
    """(rows,): each reached entity's cheapest explanation. lands: whether it ends on the question's focus;
    before, slot: the path that it goes on from and its last step; rank, mask_before: of that path's end, to
    choose among equals; mass: of all equally cheap ones."""

    entity: Ints
    total: Ints
    mass: Ints
    cost: Ints
    mask: Ints
    lands: Ints
    steps: Ints
    before: Ints
    slot: Ints
    rank: Ints
    mask_before: Ints

    def of(self, rows: NDArray[Any]) -> Answers:
        return Answers(*(column[rows] for column in self))


class Walk(NamedTuple):
    """From the seeds of one mention. answers: of each layer those that end there; hops: the limit; looked:
    slots looked at; worst: the highest total of interest after the last one."""

    states: States
    answers: Answers
    hops: int
    looked: int
    worst: int

    def within(self, hops: int) -> Answers:
        """Each entity once, by its cheapest explanation of at most so many steps."""
        total, steps = self.answers.total, self.answers.steps
        rows = np.flatnonzero(total <= self.worst if hops >= self.hops else steps <= hops)
        rows = rows[np.lexsort((steps[rows], total[rows], self.answers.entity[rows]))]
        answers = self.answers.of(rows)
        firsts = np.flatnonzero(begins(answers.entity))
        if len(firsts) == len(rows):
            return answers
        tied = np.flatnonzero(begins(answers.entity, answers.total))
        mass = np.add.reduceat(answers.mass, tied)[np.searchsorted(tied, firsts)]
        return answers.of(firsts)._replace(mass=mass)


def least_of(left: Ints, step: int, types: Sequence[int], words: int, hops: int) -> Ints:
    """`Asked.least`: each further step may fill one of the slots in `types`, and all in `words`.

    left: by mask; types: bits of slots that relation types fill.
    """
    masks, rows = np.arange(len(left)), [np.full(len(left), FAR)]
    for _ in range(hops):
        ahead = np.minimum(left, rows[-1])
        rows.append(step + np.min([ahead[masks | words | bit] for bit in (0, *types)], axis=0))
    return np.stack(rows)


class _Ends(NamedTuple):
    """(ends,): what lies one step ahead of a layer's paths, and what each pays to get there. before: its
    path; rank: of the entity that it leaves; place: row of the end among the entities met; mask_before: the
    slots filled before."""

    entity: Ints
    relation: Ints
    slot: Ints
    kind: Ints
    speaks: Ints
    met: Ints
    mask: Ints
    cost: Ints
    mass: Ints
    before: Ints
    rank: Ints
    place: Ints
    mask_before: Ints

    def of(self, rows: NDArray[Any]) -> _Ends:
        return _Ends(*(column[rows] for column in self))


class Layers:
    """The readable form, in numpy; walks one graph, a mention at a time."""

    def __init__(self, graph: Columns) -> None:
        self.graph = graph
        entities = len(graph.indptr) - 1
        self._known = np.zeros(0, np.int64)  # entities that this walk met, a place each in the tables
        self._place = zeros_as_touched(entities, np.int32)  # one more than an entity's place
        self._is_seed = zeros_as_touched(entities, np.bool_)

    def walk(self, asked: Asked, start: Start, bounds: Bounds) -> Walk:
        self._is_seed[start.every_seed] = True
        none = np.full((len(start.seeds), 2), NO_PATH)
        cost = np.stack([np.zeros(len(start.seeds), np.int64), np.full(len(start.seeds), FAR)], 1)
        mass = np.stack([start.masses, start.masses], 1)
        layer = States(start.seeds, 0 * start.seeds, cost, mass, none - 1, none, none)
        self._least = np.zeros((0, len(asked.left)), np.int64)  # cost of the states so far, by place and mask
        self._totals = np.zeros(0, np.int64)  # the least of each entity so far, by place
        self._placed(start.seeds)
        layers, answers, looked, steps, first = [layer], [], 0, 0, 0
        worst, wanted = FAR, bounds.wanted
        for left in range(bounds.hops - 1, -1, -1):
            opened = self._opened(layer, asked.least[left + 1], worst)
            slots = [self.graph.indptr[layer.entity[opened] + end].astype(np.int64) for end in (0, 1)]
            looked += int((slots[1] - slots[0]).sum())
            steps += 1
            ends = self._ends(asked, layer, opened, (slots[0], slots[1] - slots[0]), first)
            answers.append(self._answers(asked, ends, steps, worst))
            if (answers[-1].total <= bounds.explained[steps]).any():
                wanted = bounds.enough
            worst = min(worst, self._highest(answers[-1], wanted) + bounds.slack)
            keep = ends.cost + asked.least[left][ends.mask] <= worst
            first += len(layer.entity)
            layer = self._next_layer(ends.of(keep), len(asked.left))
            layers.append(layer)
        self._place[self._known], self._is_seed[start.every_seed] = 0, False
        self._known = self._known[:0]
        if not answers:
            answers.append(Answers(*(np.zeros(0, np.int64) for _ in Answers._fields)))
        return Walk(States(*_stacked(layers)), Answers(*_stacked(answers)), steps, looked, worst)

    def _placed(self, entities: Ints) -> Ints:
        """Places of entities in the tables, new ones for those that were not met before."""
        new, known = unique(entities[self._place[entities] == 0]), len(self._known)
        self._place[new] = np.arange(known + 1, known + len(new) + 1)
        self._known = np.concatenate([self._known, new])
        return self._place[entities].astype(np.int64) - 1

    def _opened(self, layer: States, least: Ints, worst: int) -> Ints:
        """States that may lead to a total of interest, but for those where another one at the entity, of as
        few steps, explains as much or more for no more. least: by mask, what is still paid."""
        missing = np.full((len(self._known) - len(self._least), self._least.shape[1]), FAR)
        earlier = np.concatenate([self._least, missing])
        now, at = earlier.copy(), (self._place[layer.entity] - 1, layer.mask)
        now[at] = np.minimum(now[at], layer.cost[:, 0])
        more, beyond = now.copy(), np.full_like(now, FAR)  # the least of what explains as much or more; more
        for bit in (1 << slot for slot in range(now.shape[1].bit_length() - 1)):
            whole, strict = (table.reshape(len(now), -1, 2, bit) for table in (more, beyond))
            strict[:, :, 0] = np.minimum(np.minimum(strict[:, :, 0], strict[:, :, 1]), whole[:, :, 1])
            whole[:, :, 0] = np.minimum(whole[:, :, 0], whole[:, :, 1])
        self._least = now
        undominated = np.minimum(earlier[at], beyond[at]) > layer.cost[:, 0]
        return np.flatnonzero(undominated & (layer.cost[:, 0] + least[layer.mask] <= worst))

    def _ends(self, asked: Asked, layer: States, opened: Ints, ahead: tuple[Ints, Ints], first: int) -> _Ends:
        """By each state's cheapest path, but straight back by its second. ahead: of the opened states, first
        slot and how many; first: number of the layer's first state."""
        graph, price = self.graph, asked.price
        owner, slots = expanded(*ahead)
        owner, relation, entity = opened[owner], graph.relations[slots], graph.neighbours[slots]
        last = layer.slot[owner, 0]
        came_by = np.where(last == NO_SLOT, -1, graph.relations[last])
        which = (relation == came_by).astype(np.int64)
        keep = np.flatnonzero((layer.cost[owner, which] < FAR) & ~self._is_seed[entity])
        owner, slots, relation, entity, which = (c[keep] for c in (owner, slots, relation, entity, which))
        kind, mask = graph.kind[slots].astype(np.int64), layer.mask[owner]
        speaks = asked.types[kind >> 1]
        free = speaks & ~mask
        if asked.back:
            free &= np.where(layer.kind[owner, which] == kind ^ 1, -1, ~asked.back)
        fills = free & -free  # the first slot in order
        early = (mask & (fills - 1)) != fills - 1
        named = (kind & 1) * price.against + np.where(fills == 0, price.again, early * price.early)
        cost = layer.cost[owner, which] + price.step + np.where(speaks == 0, price.unexplained, named)
        filled, met = mask | fills, np.zeros(len(owner), np.int64)
        if asked.has_words:
            met = (asked.entities[entity] | asked.relations[relation]).astype(np.int64)
            explained = np.minimum(asked.weight[met & ~filled], price.unexplained)
            cost -= np.where(speaks == 0, explained, 0)
        at = layer.entity[owner]
        mass = layer.mass[owner, which] * graph.units[relation] // graph.strength[at]
        before = 2 * (first + owner) + which
        place, rank = self._placed(entity), graph.name_rank[at]
        return _Ends(
            entity.astype(np.int64), relation, slots, kind, speaks, met, filled | met, cost, mass, before,
            rank, place, mask,
        )  # fmt: skip

    def _answers(self, asked: Asked, ends: _Ends, steps: int, worst: int) -> Answers:
        """The ends as answers, with what is paid at the end; of each entity the cheapest."""
        price = asked.price
        total = ends.cost + asked.left[ends.mask]
        lands = np.full(len(total), asked.focus == 0) | ((ends.speaks | ends.met) & asked.focus > 0)
        total += np.where(lands, 0, price.off_focus)
        if asked.head:
            total += np.where(ends.met & asked.head, 0, price.off_head)
        keep = total <= worst
        if len(self.graph.returned):
            keep &= self.graph.returned[ends.entity]
        answers = Answers(
            ends.entity, total, ends.mass, ends.cost, ends.mask, lands.astype(np.int64),
            np.full(len(total), steps), ends.before, ends.slot, ends.rank, ends.mask_before,
        ).of(keep)  # fmt: skip
        order = answers.rank, answers.mask, answers.mask_before, answers.slot
        row, mass = _cheapest(ends.place[keep], len(self._known), answers.total, answers.mass, order)
        met = np.flatnonzero(row >= 0)
        return answers.of(row[met])._replace(mass=mass[met])

    def _highest(self, answers: Answers, wanted: int) -> int:
        """The total of the last entity wanted, with these answers added; FAR where there are fewer."""
        self._totals = np.append(self._totals, np.full(len(self._known) - len(self._totals), FAR))
        at = self._place[answers.entity] - 1
        self._totals[at] = np.minimum(self._totals[at], answers.total)
        if len(self._totals) < wanted:
            return FAR
        return int(np.partition(self._totals, wanted - 1)[wanted - 1])

    def _next_layer(self, ends: _Ends, masks: int) -> States:
        """The states that these ends make, each with its cheapest path and its cheapest by another
        relation."""
        group = ends.place * masks + ends.mask
        first, total = _cheapest(
            group, len(self._known) * masks, ends.cost, ends.mass, (ends.rank, ends.slot)
        )
        other = np.flatnonzero(ends.relation != ends.relation[first[group]])
        rest = ends.of(other)
        second, mass = _cheapest(group[other], len(first), rest.cost, rest.mass, (rest.rank, rest.slot))
        state = np.flatnonzero(first >= 0)
        first, second = first[state], np.append(other, -1)[second[state]]
        cost = np.stack([ends.cost[first], np.where(second < 0, FAR, np.append(ends.cost, FAR)[second])], 1)
        masses = np.stack([total[state], np.where(cost[:, 0] == cost[:, 1], total[state], mass[state])], 1)
        paths = np.stack([first, second], 1)
        steps = (column[paths] for column in (ends.kind, ends.slot, ends.before))
        return States(ends.entity[first], ends.mask[first], cost, masses, *steps)


def _stacked(parts: Sequence[Any]) -> list[Ints]:
    """One column of each field, the parts' rows one after the other."""
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def _cheapest(group: Ints, count: int, cost: Ints, mass: Ints, order: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Of each group the cheapest row, of equal ones the first by `order` (-1 for none), and the mass of all
    that cost as little."""
    best = np.full(count, FAR)
    np.minimum.at(best, group, cost)
    tied = np.flatnonzero(cost == best[group])
    mine = group[tied]
    total = np.bincount(mine, mass[tied], count).astype(np.int64)  # exact: below 2^53
    row = np.full(count, -1)
    row[mine] = tied
    again = tied[np.bincount(mine, minlength=count)[mine] > 1]
    if len(again):
        again = again[np.lexsort([*[column[again] for column in order[::-1]], group[again]])]
        again = again[begins(group[again])]
        row[group[again]] = again
    return row, total
