"""The cheapest paths from the seeds of mentions to every entity near them, one hop after the other.

A state is (entity, slots filled): where a path of so many steps stands, and which slots of the question its
steps have explained. It keeps its cheapest path, and all states of s steps make those of s + 1. Its total is
the cost of the path and what is paid at the end: for each slot left empty, and for not being what the
question asks for.

Since a path of s steps comes from paths of s - 1, the states of the first layers are those of every hop
limit. What cannot be among the `wanted` best of any limit is left out. `Layers` walks from many mentions at
once, each over a copy of the graph of its own: node = walk × entities + entity. compiled.py does the same in
a loop, and tests hold one against the other. Costs are whole thousandths, so no order of entities and
relations changes a ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, expanded, unique
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.linking.question_words import milli

Ints = NDArray[np.int64]
FAR = 1 << 29  # more than any cost
MOST_SLOTS = 8
MASKS = 1 << MOST_SLOTS
NO_SLOT, NO_PATH = -1, -1  # of a state before the first step


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
    text_seed: int
    referred: int

    @classmethod
    def of(cls, ranking: RankingPrices, *, typed: bool) -> Prices:
        """typed: whether relation types say anything; else only steps and seeds cost anything."""
        prices = cls(*(milli(getattr(ranking, name)) for name in cls._fields))
        if typed:
            return prices
        step, text_seed = milli(ranking.untyped_hop), milli(ranking.untyped_text_seed)
        return cls(*[0] * len(prices))._replace(step=step, text_seed=text_seed, referred=prices.referred)


class Asked(NamedTuple):
    """What questions ask for, a row for all with one reading and as many mentions; `of` gives one.

    weight, end: (rows, masks), by mask of slots filled, what these weigh and what is paid at the end.
    steps: (rows, masks, 4 × sorts of types), as of `steps_of`; types: (rows, types), the sort of
    each relation type. least, ahead: (rows, hops + 1, masks) and, of each step, (…, 4 × sorts), as of
    `least_of`. head: bits of the slots that say of what kind an answer is; words: of those that texts fill.
    unexplained: price of a step that no word explains; asks: as of `Reading`. relations, entities: the slots
    that their texts fill, only where a question has such words. slack: what other mentions may still change
    in an entity's total.
    """

    weight: Ints
    end: Ints
    steps: Ints
    types: NDArray[np.uint8]
    least: Ints
    ahead: Ints
    head: Ints
    words: Ints
    unexplained: Ints
    asks: Ints
    relations: NDArray[np.uint8]
    entities: NDArray[np.uint8]
    slack: Ints

    def of(self, row: int) -> Asked:
        return Asked(*(column[row] for column in self))


class WalkedGraph(NamedTuple):
    """The graph as it is walked: the slots of entity i from indptr[i] to indptr[i + 1].

    kind: (slots,), twice the relation type's code, plus one against the relation's direction; an entity's
    slots are in the order of their kinds. neighbours, relations: (slots,). name_rank: (entities,), the
    tie-break order. returned: (entities,), what may be an answer; empty: all.
    """

    indptr: NDArray[Any]
    kind: NDArray[Any]
    neighbours: NDArray[Any]
    relations: NDArray[Any]
    name_rank: NDArray[Any]
    returned: NDArray[np.bool_]

    def may_return(self, entities: Ints) -> NDArray[np.bool_]:
        """Which of them may be answers."""
        return self.returned[entities] if len(self.returned) else np.ones(len(entities), np.bool_)


class Starts(NamedTuple):
    """Where walks start: one of each mention, and one of a question's text seeds behind them.

    question, asked, by_text, cost: (walks,), ascending; the row of `Asked`; what all of the walk's paths cost
    besides, which is where other mentions are left out. walk, entity, total: of the seeds of one walk after
    the other; what the seed costs as an answer.
    """

    question: Ints
    asked: Ints
    by_text: NDArray[np.bool_]
    cost: Ints
    walk: Ints
    entity: Ints
    total: Ints


class States(NamedTuple):
    """(states,), each below the one before it. walk: from which start; steps: 0 of a seed; cost, total: of
    its cheapest path; slot: of the last step; before: the state that it goes on from."""

    walk: Ints
    entity: Ints
    mask: Ints
    steps: Ints
    cost: Ints
    total: Ints
    slot: Ints
    before: Ints

    def of(self, rows: NDArray[Any]) -> States:
        return States(*(column[rows] for column in self))


class Walks(NamedTuple):
    """From all starts. looked: slots looked at; worst: (hops + 1, walks), the highest total of interest to
    its question within so many hops."""

    asked: Asked
    starts: Starts
    states: States
    looked: int
    worst: Ints

    def within(self, hops: int, is_answer: NDArray[np.bool_], least: Ints) -> Ints:
        """The state of the least value of each entity of a walk within so many hops, in the order of walks
        and entities. is_answer, least: (states,); which may be answers, the values (total or cost)."""
        walk, entity, mask, steps, _, total, *_ = self.states
        rows = np.flatnonzero(is_answer & (steps <= hops) & (total <= self.worst[hops][walk]))
        node = walk[rows] * (entity.max(initial=0) + 1) + entity[rows]
        place = (least[rows] * (hops + 1) + steps[rows]) * (mask.max(initial=0) + 1) + mask[rows]
        place -= place.min(initial=0)
        order = np.argsort(node * (place.max(initial=0) + 1) + place)  # equal ones are the same seed
        firsts: Ints = rows[order[begins(node[order])]]
        return firsts


def steps_of(masks: Ints, unexplained: Ints, speaks: Ints, back: Ints, price: Prices) -> Ints:
    """(questions, masks, 4 × sorts): what a step costs before texts explain any of it, × MASKS, plus the
    slots that are filled then. Four columns a sort of relation type: along the relation and against it, then
    both of a step back through the type of the last one.

    speaks: (questions, sorts), the slots that types of each sort fill, none of the first; back: those that
    only a step back fills.
    """
    masks, fillable = masks[:, None], np.repeat(speaks, 4, axis=1)[:, None]
    column = np.arange(fillable.shape[-1])
    free = fillable & ~masks & np.where(column & 2, -1, ~back[:, None, None])
    fills = free & -free  # the first slot in order
    early = (masks & (fills - 1)) != fills - 1
    named = (column & 1) * price.against + np.where(fills == 0, price.again, early * price.early)
    cost = price.step + np.where(fillable == 0, unexplained[:, None, None], named)
    steps: Ints = cost * MASKS | masks | fills
    return steps


def least_of(
    weight: Ints, end: Ints, steps: Ints, unexplained: Ints, words: Ints, hops: int
) -> tuple[Ints, Ints]:
    """`Asked.least` and `Asked.ahead`: by steps left and by mask, the least that any path still pays from
    there, and by the column of `steps` that it goes on with.

    least is of a mask of fewer slots, where that is less: where a state is left out, so are those that it
    would dominate."""
    masks, question = np.arange(end.shape[1]), np.arange(len(end))[:, None, None]
    least, ahead = [np.full(end.shape, FAR)], [np.full(steps.shape, FAR)]
    explained = np.minimum(np.take_along_axis(weight, words[:, None] & ~masks, 1), unexplained[:, None])
    cost, filled = np.divmod(steps, MASKS)
    cost[..., :4] -= explained[..., None]
    filled |= words[:, None, None]
    for _ in range(hops):
        ahead.append(cost + np.minimum(end, least[-1])[question, filled])
        lowest = ahead[-1].min(2)
        for bit in (1 << slot for slot in range(len(masks).bit_length() - 1)):
            lowest = np.minimum(lowest, lowest[:, masks & ~bit])
        least.append(lowest)
    return np.stack(least, axis=1), np.stack(ahead, axis=1)


class Layers:
    """The readable form, in numpy; walks one graph, from many mentions at a time."""

    def __init__(self, graph: WalkedGraph, prices: Prices, wanted: int) -> None:
        """wanted: how many of the best entities of a question."""
        self.graph, self.prices, self.wanted = graph, prices, wanted
        self._entities = len(graph.indptr) - 1
        self._place = np.zeros(0, np.int32)  # by node, one more than its row among those met
        self._is_seed = np.zeros(0, np.bool_)

    def walk(self, asked: Asked, starts: Starts, limits: Sequence[int]) -> Walks:
        """limits: of hops; up to the highest of them."""
        question, count = starts.question, len(starts.question)
        nodes = max(count, 2 * (question.max(initial=0) + 1)) * self._entities
        if nodes > len(self._place):
            self._place, self._is_seed = np.zeros(nodes, np.int32), np.zeros(nodes, np.bool_)
        self._asked, self._question, self._row = asked, question, starts.asked
        self._seen_by = 2 * question + starts.by_text
        owner = self._seen_by[starts.walk]  # paths from text seeds return to none, others to no named one
        seeds = np.concatenate([owner, owner | 1]) * self._entities + np.tile(starts.entity, 2)
        self._is_seed[seeds] = True
        layers: list[States] = []
        looked, done, hops, none = 0, 0, max(limits), np.full(len(starts.walk), -1)
        highest = np.full((hops + 1, count), FAR)
        every = States(
            starts.walk, starts.entity, 0 * none, 0 * none, starts.cost[starts.walk], starts.total, none, none
        )
        for of_text in (False, True):  # what others cost says how much a path from a text seed may
            self._known = np.zeros(0, np.int64)  # nodes met, in this order
            self._least = np.zeros((0, asked.end.shape[1]), np.int32)  # cost of states, by place and mask
            self._totals = np.zeros(0, np.int64)  # the least of each node so far, by place
            layers.append(every.of(starts.by_text[starts.walk] == of_text))
            for steps in range(1, hops + 1):
                layer, left, worst = layers[-1], hops - steps, np.minimum(*highest[steps - 1 : steps + 1])
                opened = self._opened(layer, left + 1, worst)
                ends, owner, seen = self._ends(layer, opened, done)
                looked, done = looked + seen, done + len(layer.entity)
                layer = self._cheapest(ends, layer, owner)
                answers = layer.of(self.graph.may_return(layer.entity) & (layer.total <= worst[layer.walk]))
                highest[steps] = np.minimum(worst, self._highest(answers) + asked.slack[starts.asked])
                least = layer.cost + asked.least[starts.asked[layer.walk], left, layer.mask]
                layers.append(layer.of(np.minimum(layer.total, least) <= highest[steps][layer.walk]))
            self._place[self._known], done = 0, done + len(layers[-1].entity)
        self._is_seed[seeds] = False
        states = States(*(np.concatenate(columns) for columns in zip(*layers, strict=True)))
        return Walks(asked, starts, states, looked, highest)

    def _placed(self, walk: Ints, entities: Ints) -> Ints:
        """Rows of nodes in the tables, new ones for those that were not met before."""
        nodes = walk * self._entities + entities
        new, known = unique(nodes[self._place[nodes] == 0]), len(self._known)
        self._place[new] = np.arange(known + 1, known + len(new) + 1)
        self._known = np.concatenate([self._known, new])
        places: Ints = self._place[nodes].astype(np.int64) - 1
        return places

    def _opened(self, layer: States, left: int, worst: Ints) -> Ints:
        """States that may lead to a total of interest in so many more steps, but for those where another one
        at the entity, of as few steps, explains as much or more for no more."""
        at = self._placed(layer.walk, layer.entity), layer.mask
        missing = np.full((len(self._known) - len(self._least), self._least.shape[1]), FAR, np.int32)
        self._least = np.concatenate([self._least, missing])
        earlier = self._least[at]
        self._least[at] = np.minimum(earlier, layer.cost)
        masks = np.arange(self._least.shape[1])
        explains_more = (masks & masks[:, None] == masks[:, None]) & (masks != masks[:, None])
        barred = np.where(explains_more, 0, FAR).astype(np.int32)  # (mask, other)
        more = np.maximum(self._least[at[0]], barred[layer.mask]).min(1)
        undominated = np.minimum(earlier, more) > layer.cost
        least = self._asked.least[self._row[layer.walk], left, layer.mask]
        return np.flatnonzero(undominated & (layer.cost + least <= worst[layer.walk]))

    def _ends(self, layer: States, opened: Ints, done: int) -> tuple[States, Ints, int]:
        """What lies one step ahead of these states, each step a row, with the state that it leaves; and the
        slots looked at. done: states of the layers before."""
        graph, asked = self.graph, self._asked
        first, last = (graph.indptr[layer.entity[opened] + end].astype(np.int64) for end in (0, 1))
        owner, slots = expanded(first, last - first)
        looked, owner, last = len(slots), opened[owner], layer.slot[opened][owner]
        entity, relation = graph.neighbours[slots].astype(np.int64), graph.relations[slots]
        came_by = np.where(last == NO_SLOT, -1, graph.relations[last])
        is_seed = self._is_seed[self._seen_by[layer.walk[owner]] * self._entities + entity]
        keep = np.flatnonzero((relation != came_by) & ~is_seed)  # never straight back
        owner, slots, relation, entity, last = (c[keep] for c in (owner, slots, relation, entity, last))
        walk, mask = layer.walk[owner], layer.mask[owner]
        row, kind = self._row[walk], graph.kind[slots].astype(np.int64)
        is_back = (last != NO_SLOT) & (graph.kind[last] == kind ^ 1)
        sort = asked.types[row, kind >> 1].astype(np.int64)
        cost, filled = np.divmod(asked.steps[row, mask, 4 * sort + 2 * is_back + (kind & 1)], MASKS)
        cost += layer.cost[owner]
        pays_for_kind = 0 * cost
        if asked.words.any():
            own, head = asked.entities[row, entity].astype(np.int64), asked.head[row]
            met = own | asked.relations[row, relation]
            explained = np.minimum(asked.weight[row, met & ~mask], asked.unexplained[row])
            cost -= np.where(sort == 0, explained, 0)
            filled |= met
            pays_for_kind = self.prices.off_head * ((head > 0) & (own & head == 0))
        total = cost + asked.end[row, filled] + pays_for_kind
        ends = States(walk, entity, filled, layer.steps[owner] + 1, cost, total, slots, done + owner)
        return ends, owner, looked

    def _cheapest(self, ends: States, layer: States, owner: Ints) -> States:
        """The states that these ends make. owner: of each, the state of the layer before that it leaves;
        of paths that cost as much, the first by that state's name, the slot and its mask is shown."""
        masks = self._least.shape[1]
        group = self._placed(ends.walk, ends.entity) * masks + ends.mask
        best = np.full(len(self._known) * masks, FAR)
        np.minimum.at(best, group, ends.cost)
        rows = np.flatnonzero(ends.cost == best[group])
        rank = self.graph.name_rank[layer.entity[owner[rows]]]
        order = np.lexsort((layer.mask[owner[rows]], ends.slot[rows], rank, group[rows]))
        return ends.of(rows[order[begins(group[rows[order]])]])

    def _highest(self, answers: States) -> Ints:
        """(walks,): the total of the last entity wanted, with these answers added, in that walk of the
        question where it is least; FAR where there are fewer."""
        self._totals = np.append(self._totals, np.full(len(self._known) - len(self._totals), FAR))
        at = self._place[answers.walk * self._entities + answers.entity] - 1
        np.minimum.at(self._totals, at, answers.total)
        ascending = np.sort(self._known // self._entities * (FAR + 1) + self._totals)
        walk, totals = np.divmod(ascending, FAR + 1)
        last = np.arange(len(walk)) - np.searchsorted(walk, walk) == self.wanted - 1
        highest = np.full(1 + self._question.max(initial=0), FAR)
        np.minimum.at(highest, self._question[walk[last]], totals[last])
        return highest[self._question]
