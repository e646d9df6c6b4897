"""The cheapest paths from the seeds of mentions to every entity near them, one hop after the other.

A state is (entity, slots filled): where a path of so many steps stands, and which slots of the question its
steps have explained. It keeps its cheapest path, and all states of s steps make those of s + 1. Its total is
the cost of the path and what is paid at the end: for each slot left empty, and for not being what the
question asks for.

Since a path of s steps comes from paths of s - 1, the states of the first layers are those of every hop
limit. What cannot be among the `wanted` best of any limit is left out. compiled.py does the same as `Layers`
in a loop, and tests hold one against the other. Costs are whole thousandths, so no order of entities and
relations changes a ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, expanded
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
    steps: (rows, masks, 2 × sorts of types), as of `steps_of`; types: (rows, types), the sort of
    each relation type. least, ahead: (rows, hops + 1, masks) and, of each step, (…, 2 × sorts), as of
    `least_of`. head: bits of the slots that say of what kind an answer is; words: of those that texts fill.
    unexplained: price of a step that no word explains; named: as of `Reading`. relations, entities: the slots
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
    named: Ints
    relations: NDArray[np.uint8]
    entities: NDArray[np.uint8]
    slack: Ints

    def of(self, row: int) -> Asked:
        return Asked(*(column[row] for column in self))


class WalkedGraph(NamedTuple):
    """The graph as it is walked: the slots of entity i from indptr[i] to indptr[i + 1].

    kind: (slots,), twice the relation type's code, plus one against the relation's direction; an entity's
    slots are in the order of their kinds. neighbours, relations: (slots,). name_rank: (entities,), the
    tie-break order. returned: (entities,), what may be an answer.
    """

    indptr: NDArray[Any]
    kind: NDArray[Any]
    neighbours: NDArray[Any]
    relations: NDArray[Any]
    name_rank: NDArray[Any]
    returned: NDArray[np.bool_]


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


def steps_of(masks: Ints, unexplained: Ints, speaks: Ints, price: Prices) -> Ints:
    """(questions, masks, 2 × sorts): what a step costs before texts explain any of it, × MASKS, plus the
    slots that are filled then. Two columns a sort of relation type: along the relation and against it.

    speaks: (questions, sorts), the slots that types of each sort fill, none of the first.
    """
    masks, fillable = masks[:, None], np.repeat(speaks, 2, axis=1)[:, None]
    free = fillable & ~masks
    fills = free & -free  # the first slot in order
    early = (masks & (fills - 1)) != fills - 1
    against = np.arange(fillable.shape[-1]) & 1
    named = against * price.against + np.where(fills == 0, price.again, early * price.early)
    cost = price.step + np.where(fillable == 0, unexplained[:, None, None], named)
    steps: Ints = cost * MASKS | masks | fills
    return steps


def least_of(
    weight: Ints, end: Ints, steps: Ints, unexplained: Ints, words: Ints, hops: int
) -> tuple[Ints, Ints]:
    """`Asked.least` and `Asked.ahead`: by steps left and by mask, the least that any path still pays from
    there, and by the column of `steps` that it goes on with."""
    masks, question = np.arange(end.shape[1]), np.arange(len(end))[:, None, None]
    least, ahead = [np.full(end.shape, FAR)], [np.full(steps.shape, FAR)]
    explained = np.minimum(np.take_along_axis(weight, words[:, None] & ~masks, 1), unexplained[:, None])
    cost, filled = np.divmod(steps, MASKS)
    cost[..., :2] -= explained[..., None]
    filled |= words[:, None, None]
    for _ in range(hops):
        ahead.append(cost + np.minimum(end, least[-1])[question, filled])
        least.append(ahead[-1].min(2))
    return np.stack(least, axis=1), np.stack(ahead, axis=1)


class Layers:
    """The readable form, in numpy; walks one graph, from one mention at a time."""

    def __init__(self, graph: WalkedGraph, prices: Prices, wanted: int) -> None:
        """wanted: how many of the best entities of a question."""
        self.graph, self.prices, self.wanted = graph, prices, wanted
        self._entities = len(graph.indptr) - 1

    def walk(self, asked: Asked, starts: Starts, limits: Sequence[int]) -> Walks:
        """limits: of hops; up to the highest of them."""
        seeds = len(starts.walk)
        none, lowest, hops = np.full(seeds, -1), min(limits), max(limits)
        every = States(
            starts.walk, starts.entity, 0 * none, 0 * none, starts.cost[starts.walk], starts.total, none, none
        )
        looked, layers, done = 0, [every.of(none[:0])], 0
        highest = np.full((hops + 1, len(starts.question)), FAR)
        for walk, (question, by_text) in enumerate(zip(starts.question, starts.by_text, strict=True)):
            wanted, barred = asked.of(starts.asked[walk]), np.zeros(self._entities, np.bool_)
            own = starts.question[starts.walk] == question
            barred[starts.entity[own & (starts.by_text[starts.walk] <= by_text)]] = True
            if walk and starts.question[walk - 1] == question:  # no walk needs more than those before it
                highest[:, walk] = highest[:, walk - 1]
            worst, masks = highest[:, walk], len(wanted.end)
            # How far below FAR the cheapest state is, by entity and mask; the entities met, each with its
            # least total.
            saved, met, least = np.zeros(self._entities * masks, np.int32), none[:0], none[:0]
            layers.append(every.of(starts.walk == walk))
            for steps in range(1, hops + 1):
                layer, left, bound = (
                    layers[-1],
                    hops - steps,
                    min(worst[steps - 1], worst[max(lowest, steps)]),
                )
                opened = np.flatnonzero(layer.cost + wanted.least[left + 1, layer.mask] <= bound)
                ends, seen = self._ends(wanted, layer, opened, barred)
                ends = self._cheapest(ends, layer, saved, masks)
                is_answer = self.graph.returned[ends.entity]
                met = np.concatenate([met, ends.entity[is_answer]])
                least = np.concatenate([least, ends.total[is_answer]])
                order = np.lexsort((least, met))
                firsts = order[begins(met[order])]
                met, least = met[firsts], least[firsts]
                if len(met) >= self.wanted:
                    last = np.partition(least, self.wanted - 1)[self.wanted - 1]
                    bound = min(bound, last + wanted.slack)
                leads_to = np.minimum(ends.total, ends.cost + wanted.least[left, ends.mask])
                layers.append(ends._replace(before=ends.before + done).of(leads_to <= bound))
                worst[steps], looked, done = bound, looked + seen, done + len(layer.entity)
            done += len(layers[-1].entity)
        states = States(*(np.concatenate(columns) for columns in zip(*layers, strict=True)))
        return Walks(asked, starts, states, looked, highest)

    def _ends(
        self, asked: Asked, layer: States, opened: Ints, barred: NDArray[np.bool_]
    ) -> tuple[States, int]:
        """What lies one step ahead of these states, each step a row, with the state of the layer that it
        leaves; and the slots looked at. barred: (entities,), where no path returns to."""
        graph = self.graph
        first, last = (graph.indptr[layer.entity[opened] + end].astype(np.int64) for end in (0, 1))
        owner, slots = expanded(first, last - first)
        looked, owner, last = len(slots), opened[owner], layer.slot[opened][owner]
        came_by = np.where(last == NO_SLOT, -1, graph.relations[last])  # never straight back
        keep = np.flatnonzero((graph.relations[slots] != came_by) & ~barred[graph.neighbours[slots]])
        owner, slots = owner[keep], slots[keep]
        entity, relation = graph.neighbours[slots].astype(np.int64), graph.relations[slots]
        mask, kind = layer.mask[owner], graph.kind[slots].astype(np.int64)
        sort = asked.types[kind >> 1].astype(np.int64)
        cost, filled = np.divmod(asked.steps[mask, 2 * sort + (kind & 1)], MASKS)
        cost += layer.cost[owner]
        pays_for_kind = 0 * cost
        if asked.words:
            own = asked.entities[entity].astype(np.int64)
            met = own | asked.relations[relation]
            explained = np.minimum(asked.weight[met & ~mask], asked.unexplained)
            cost -= np.where(sort == 0, explained, 0)
            filled |= met
            pays_for_kind = self.prices.off_head * ((asked.head > 0) & (own & asked.head == 0))
        total, steps = cost + asked.end[filled] + pays_for_kind, layer.steps[owner] + 1
        return States(layer.walk[owner], entity, filled, steps, cost, total, slots, owner), looked

    def _cheapest(self, ends: States, layer: States, saved: NDArray[np.int32], masks: int) -> States:
        """The states that these ends make, but for those that cost no less than one of fewer steps. Of paths
        that cost as much, the first is shown by the name of the state that it leaves, the slot, its mask."""
        ends = ends.of(FAR - ends.cost > saved[ends.entity * masks + ends.mask])
        node = ends.entity * masks + ends.mask
        np.maximum.at(saved, node, (FAR - ends.cost).astype(np.int32))
        rows = np.flatnonzero(FAR - ends.cost == saved[node])
        before = ends.before[rows]
        rank = self.graph.name_rank[layer.entity[before]]
        order = np.lexsort((layer.mask[before], ends.slot[rows], rank, node[rows]))
        return ends.of(rows[order[begins(node[rows[order]])]])
