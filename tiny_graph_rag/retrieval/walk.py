"""The cheapest paths from the seeds of mentions to every entity near them, one hop after the other.

A state is (entity, slots filled): where a path of so many steps stands, and which slots of the question its
steps have explained. All states of s steps make those of s + 1; a state keeps its cheapest path and the
cheapest by another relation, which alone may go straight back over the first one's. The total of an entity
is the cost of its path, of each slot left empty, and of not being what the question asks for.

Since a path of s steps comes from paths of s - 1, the answers of each layer are those of every hop limit.
What cannot be among the `wanted` best of any limit is left out. `Layers` walks from many mentions at once,
each over a copy of the graph of its own: node = walk × entities + entity. compiled.py does the same in a
loop, and tests hold one against the other. Costs are whole thousandths and masses whole numbers, so no order
of entities and relations changes a ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """What questions ask for, a row a question; `of` gives one question's.

    left, weight: (questions, masks), by mask of slots filled, what the others and what these weigh. least:
    (questions, hops + 1, masks), the least that any path still pays in so many steps. focus, head, back: bits
    of slots. unexplained: price of a step that no word explains. types: (questions, types), slots that each
    relation type fills; relations, entities: those that its texts fill, only where has_words.
    """

    left: Ints
    weight: Ints
    least: Ints
    focus: Ints
    head: Ints
    back: Ints
    unexplained: Ints
    types: NDArray[np.uint8]
    has_words: NDArray[np.bool_]
    relations: NDArray[np.uint8]
    entities: NDArray[np.uint8]

    def of(self, question: int) -> Asked:
        return Asked(*(column[question] for column in self))


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
    """Of one mention. question: row of `Asked`. seeds: its entities; masses: of each; every_seed: those of
    all mentions of the question, where no path may return to. wanted: how many of the best entities, or
    `enough` where a path explains all; slack: what other mentions may still change in an entity's total."""

    question: int
    seeds: Ints
    masses: Ints
    every_seed: Ints
    wanted: int
    enough: int
    slack: int


class Bounds(NamedTuple):
    """hops: steps at most; explained: by steps, the total at most of a path that explains its question."""

    hops: int
    explained: Ints


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
    """(rows,): each reached entity's cheapest explanation. walk: from which start; lands: whether it ends on
    the question's focus; before, slot: the path that it goes on from and its last step; rank, mask_before: of
    that path's end, to choose among equals; mass: of all equally cheap ones."""

    walk: Ints
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


class Walks(NamedTuple):
    """From all starts. answers: of each layer those that end there; hops: the limit; looked: slots looked at;
    worst: (walks,), the highest total of interest after the last layer."""

    states: States
    answers: Answers
    hops: int
    looked: int
    worst: Ints

    def within(self, hops: int) -> Answers:
        """Each entity of a walk once, by its cheapest explanation of at most so many steps; in the order of
        walks and entities."""
        walk, entity, total, _, _, _, _, steps, *_ = self.answers
        rows = np.flatnonzero(total <= self.worst[walk] if hops >= self.hops else steps <= hops)
        node = walk[rows] * (entity.max(initial=0) + 1) + entity[rows]
        cheapest = total[rows] * (self.hops + 1) + steps[rows]
        order = np.argsort(node * (cheapest.max(initial=0) + 1) + cheapest)  # of different numbers
        answers, node = self.answers.of(rows[order]), node[order]
        firsts = np.flatnonzero(begins(node))
        if len(firsts) == len(rows):
            return answers
        tied = np.flatnonzero(begins(node, answers.total))
        mass = np.add.reduceat(answers.mass, tied)[np.searchsorted(tied, firsts)]
        return answers.of(firsts)._replace(mass=mass)


def least_of(left: Ints, step: int, types: Sequence[int], words: int, hops: int) -> Ints:
    """`Asked.least` of a question: each further step may fill one of the slots in `types`, and all in
    `words`.

    left: by mask; types: bits of slots that relation types fill.
    """
    masks, rows = np.arange(len(left)), [np.full(len(left), FAR)]
    for _ in range(hops):
        ahead = np.minimum(left, rows[-1])
        rows.append(step + np.min([ahead[masks | words | bit] for bit in (0, *types)], axis=0))
    return np.stack(rows)


class _Layer(NamedTuple):
    """The states of so many steps, numbered from `first` on. place: row of each node among those met."""

    states: States
    walk: Ints
    place: Ints
    first: int


class _Ends(NamedTuple):
    """(ends,): what lies one step ahead of a layer's paths, and what each pays to get there. before: its
    path; rank: of the entity that it leaves; place: row of the end among the nodes met; mask_before: the
    slots filled before."""

    walk: Ints
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
    """The readable form, in numpy; walks one graph, from many mentions at a time."""

    def __init__(self, graph: Columns, prices: Prices) -> None:
        self.graph, self.prices = graph, prices
        self._entities = len(graph.indptr) - 1
        self._place = zeros_as_touched(0, np.int32)  # by node, one more than its row among those met
        self._is_seed = zeros_as_touched(0, np.bool_)

    def walk(self, asked: Asked, starts: Sequence[Start], bounds: Bounds) -> Walks:
        count, sizes = len(starts), np.array([len(start.seeds) for start in starts], np.int64)
        if count * self._entities > len(self._place):
            self._place = zeros_as_touched(count * self._entities, np.int32)
            self._is_seed = zeros_as_touched(count * self._entities, np.bool_)
        self._asked = asked
        self._question = np.array([start.question for start in starts], np.int64)
        self._known = np.zeros(0, np.int64)  # nodes met, in this order
        self._least = np.zeros((0, asked.left.shape[1]), np.int64)  # cost of states so far, by place and mask
        self._totals = np.zeros(0, np.int64)  # the least of each node so far, by place
        every = _concatenated(
            start.every_seed + self._entities * number for number, start in enumerate(starts)
        )
        self._is_seed[every] = True
        walk = np.repeat(np.arange(count), sizes)
        seeds, masses = (
            _concatenated(start.seeds for start in starts),
            _concatenated(start.masses for start in starts),
        )
        none = np.full((len(seeds), 2), NO_PATH)
        cost = np.stack([0 * seeds, np.full(len(seeds), FAR)], 1)
        states = States(seeds, 0 * seeds, cost, np.stack([masses, masses], 1), none - 1, none, none)
        layer = _Layer(states, walk, self._placed(walk, seeds), 0)
        layers, answers, looked = [layer.states], [], 0
        worst, slack = np.full(count, FAR), np.array([start.slack for start in starts], np.int64)
        wanted = np.array([start.wanted for start in starts], np.int64)
        enough = np.array([start.enough for start in starts], np.int64)
        for steps in range(1, bounds.hops + 1 if starts else 1):
            left = bounds.hops - steps
            ends, seen = self._ends(layer, self._opened(layer, left + 1, worst))
            looked += seen
            answers.append(self._answers(ends, steps, worst))
            is_explained = answers[-1].total <= bounds.explained[steps]
            wanted[answers[-1].walk[is_explained]] = enough[answers[-1].walk[is_explained]]
            worst = np.minimum(worst, self._highest(answers[-1], wanted) + slack)
            least = asked.least[self._question[ends.walk], left, ends.mask]
            layer = self._next_layer(layer, ends.of(ends.cost + least <= worst[ends.walk]))
            layers.append(layer.states)
        self._place[self._known], self._is_seed[every] = 0, False
        answers.append(Answers(*(np.zeros(0, np.int64) for _ in Answers._fields)))
        return Walks(States(*_stacked(layers)), Answers(*_stacked(answers)), bounds.hops, looked, worst)

    def _placed(self, walk: Ints, entities: Ints) -> Ints:
        """Rows of nodes in the tables, new ones for those that were not met before."""
        nodes = walk * self._entities + entities
        new, known = unique(nodes[self._place[nodes] == 0]), len(self._known)
        self._place[new] = np.arange(known + 1, known + len(new) + 1)
        self._known = np.concatenate([self._known, new])
        places: Ints = self._place[nodes].astype(np.int64) - 1
        return places

    def _opened(self, layer: _Layer, left: int, worst: Ints) -> Ints:
        """States that may lead to a total of interest in so many more steps, but for those where another one
        at the entity, of as few steps, explains as much or more for no more."""
        missing = np.full((len(self._known) - len(self._least), self._least.shape[1]), FAR)
        earlier = np.concatenate([self._least, missing])
        cost = layer.states.cost[:, 0]
        now, at = earlier.copy(), (layer.place, layer.states.mask)
        now[at] = np.minimum(now[at], cost)
        more, beyond = now.copy(), np.full_like(now, FAR)  # the least of what explains as much or more; more
        for bit in (1 << slot for slot in range(now.shape[1].bit_length() - 1)):
            whole, strict = (table.reshape(len(now), -1, 2, bit) for table in (more, beyond))
            strict[:, :, 0] = np.minimum(np.minimum(strict[:, :, 0], strict[:, :, 1]), whole[:, :, 1])
            whole[:, :, 0] = np.minimum(whole[:, :, 0], whole[:, :, 1])
        self._least = now
        undominated = np.minimum(earlier[at], beyond[at]) > cost
        least = self._asked.least[self._question[layer.walk], left, layer.states.mask]
        return np.flatnonzero(undominated & (cost + least <= worst[layer.walk]))

    def _ends(self, layer: _Layer, opened: Ints) -> tuple[_Ends, int]:
        """By each opened state's cheapest path, but straight back by its second; and the slots looked at."""
        graph, price, asked, states = self.graph, self.prices, self._asked, layer.states
        first, last = (graph.indptr[states.entity[opened] + end].astype(np.int64) for end in (0, 1))
        owner, slots = expanded(first, last - first)
        looked, owner, relation = len(slots), opened[owner], graph.relations[slots]
        entity, last = graph.neighbours[slots].astype(np.int64), states.slot[owner, 0]
        came_by = np.where(last == NO_SLOT, -1, graph.relations[last])
        which = (relation == came_by).astype(np.int64)
        is_seed = self._is_seed[layer.walk[owner] * self._entities + entity]
        keep = np.flatnonzero((states.cost[owner, which] < FAR) & ~is_seed)
        owner, slots, relation, entity, which = (c[keep] for c in (owner, slots, relation, entity, which))
        walk = layer.walk[owner]
        question, kind, mask = self._question[walk], graph.kind[slots].astype(np.int64), states.mask[owner]
        speaks = asked.types[question, kind >> 1].astype(np.int64)
        free = speaks & ~mask
        if asked.back.any():
            free &= np.where(states.kind[owner, which] == kind ^ 1, -1, ~asked.back[question])
        fills = free & -free  # the first slot in order
        early = (mask & (fills - 1)) != fills - 1
        named = (kind & 1) * price.against + np.where(fills == 0, price.again, early * price.early)
        unexplained = asked.unexplained[question]
        cost = states.cost[owner, which] + price.step + np.where(speaks == 0, unexplained, named)
        filled, met = mask | fills, np.zeros(len(owner), np.int64)
        if asked.has_words.any():
            met = (asked.entities[question, entity] | asked.relations[question, relation]).astype(np.int64)
            explained = np.minimum(asked.weight[question, met & ~filled], unexplained)
            cost -= np.where(speaks == 0, explained, 0)
        at = states.entity[owner]
        mass = states.mass[owner, which] * graph.units[relation] // graph.strength[at]
        before = 2 * (layer.first + owner) + which
        ends = _Ends(
            walk, entity, relation, slots, kind, speaks, met, filled | met, cost, mass, before,
            graph.name_rank[at], self._placed(walk, entity), mask,
        )  # fmt: skip
        return ends, looked

    def _answers(self, ends: _Ends, steps: int, worst: Ints) -> Answers:
        """The ends as answers, with what is paid at the end; of each node the cheapest."""
        asked, question = self._asked, self._question[ends.walk]
        focus, head = asked.focus[question], asked.head[question]
        total = ends.cost + asked.left[question, ends.mask]
        lands = (focus == 0) | ((ends.speaks | ends.met) & focus > 0)
        total += np.where(lands, 0, self.prices.off_focus)
        total += np.where((head == 0) | (ends.met & head > 0), 0, self.prices.off_head)
        keep = total <= worst[ends.walk]
        if len(self.graph.returned):
            keep &= self.graph.returned[ends.entity]
        answers = Answers(
            ends.walk, ends.entity, total, ends.mass, ends.cost, ends.mask, lands.astype(np.int64),
            np.full(len(total), steps), ends.before, ends.slot, ends.rank, ends.mask_before,
        ).of(keep)  # fmt: skip
        order = answers.rank, answers.mask, answers.mask_before, answers.slot
        row, mass = _cheapest(ends.place[keep], len(self._known), answers.total, answers.mass, order)
        met = np.flatnonzero(row >= 0)
        return answers.of(row[met])._replace(mass=mass[met])

    def _highest(self, answers: Answers, wanted: Ints) -> Ints:
        """(walks,): the total of the last entity wanted, with these answers added; FAR where there are
        fewer."""
        self._totals = np.append(self._totals, np.full(len(self._known) - len(self._totals), FAR))
        at = self._place[answers.walk * self._entities + answers.entity] - 1
        self._totals[at] = np.minimum(self._totals[at], answers.total)
        walk = self._known // self._entities
        ascending = np.sort(walk * (FAR + 1) + self._totals)
        counts = np.bincount(walk, minlength=len(wanted))
        last = np.minimum(np.cumsum(counts) - counts + wanted, len(ascending)) - 1
        highest: Ints = np.where(counts < wanted, FAR, ascending[last] - np.arange(len(wanted)) * (FAR + 1))
        return highest

    def _next_layer(self, layer: _Layer, ends: _Ends) -> _Layer:
        """The states that these ends make, each with its cheapest path and its cheapest by another
        relation."""
        masks = self._least.shape[1]
        group = ends.place * masks + ends.mask
        order = ends.rank, ends.slot, ends.mask_before
        first, total = _cheapest(group, len(self._known) * masks, ends.cost, ends.mass, order)
        other = np.flatnonzero(ends.relation != ends.relation[first[group]])
        rest = ends.of(other)
        order = rest.rank, rest.slot, rest.mask_before
        second, mass = _cheapest(group[other], len(first), rest.cost, rest.mass, order)
        state = np.flatnonzero(first >= 0)
        first, second = first[state], np.append(other, -1)[second[state]]
        cost = np.stack([ends.cost[first], np.where(second < 0, FAR, np.append(ends.cost, FAR)[second])], 1)
        masses = np.stack([total[state], np.where(cost[:, 0] == cost[:, 1], total[state], mass[state])], 1)
        paths = np.stack([first, second], 1)
        steps = (column[paths] for column in (ends.kind, ends.slot, ends.before))
        states = States(ends.entity[first], ends.mask[first], cost, masses, *steps)
        return _Layer(states, ends.walk[first], ends.place[first], layer.first + len(layer.states.entity))


def _concatenated(columns: Iterable[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *columns])


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
