"""The cheapest paths from the seeds of a question to every entity near them, one hop after the other.

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
    """What a question asks for.

    weight, end: by mask of slots filled, what these weigh and what is paid at the end. steps: (masks,
    2 × sorts of types), along a relation and against it, what a step costs before texts explain any of it,
    × MASKS, plus the slots that are filled then; types: the sort of each relation type, 0 of those that fill
    no slot. least, ahead: (hops + 1, masks) and, of each step, (…, 2 × sorts), by steps left, the least that
    any path still pays from there. head: bits of the slots that say of what kind an answer is; words: of
    those that texts fill. unexplained: price of a step that no word explains. relations, entities: the slots
    that their texts fill, only where a question has such words.
    """

    weight: Ints
    end: Ints
    steps: Ints
    types: NDArray[np.uint8]
    least: Ints
    ahead: Ints
    head: int
    words: int
    unexplained: int
    relations: NDArray[np.uint8]
    entities: NDArray[np.uint8]


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
    """Where a question's walks start: one of each mention, and one of its text seeds behind them.

    by_text, cost: (walks,); what all of the walk's paths cost besides, which is where other mentions are left
    out. walk, entity, total: of the seeds of one walk after the other; what the seed costs as an answer.
    slack: what other mentions may still change in an entity's total.
    """

    by_text: NDArray[np.bool_]
    cost: Ints
    walk: Ints
    entity: Ints
    total: Ints
    slack: int


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
    """From all starts of a question. looked: slots looked at; worst: (hops + 1,), the highest total of
    interest within so many hops."""

    asked: Asked
    starts: Starts
    states: States
    looked: int
    worst: Ints


class Layers:
    """The readable form, in numpy."""

    def __init__(self, graph: WalkedGraph, prices: Prices, wanted: int) -> None:
        """wanted: how many of the best entities of a question."""
        self.graph, self.prices, self.wanted = graph, prices, wanted

    def walk(self, asked: Asked, starts: Starts, limits: Sequence[int]) -> Walks:
        """limits: of hops; up to the highest of them."""
        lowest, hops, masks = min(limits), max(limits), len(asked.end)
        none = np.full(len(starts.walk), -1)
        seeds = States(
            starts.walk, starts.entity, 0 * none, 0 * none, starts.cost[starts.walk], starts.total, none, none
        )
        worst, layers, looked, done = np.full(hops + 1, FAR), [seeds.of(none[:0])], 0, 0
        for walk, by_text in enumerate(starts.by_text):
            barred = np.zeros(len(self.graph.returned), np.bool_)
            barred[starts.entity[starts.by_text[starts.walk] <= by_text]] = True
            # How far below FAR the cheapest state is, by entity and mask; the least total of each entity.
            saved, least = np.zeros(len(barred) * masks, np.int32), np.full(len(barred), FAR)
            layers.append(seeds.of(starts.walk == walk))
            for steps in range(1, hops + 1):
                layer, left = layers[-1], hops - steps
                bound = min(worst[steps - 1], worst[max(lowest, steps)])
                opened = np.flatnonzero(layer.cost + asked.least[left + 1, layer.mask] <= bound)
                ends, seen = self._ends(asked, layer, opened, barred)
                ends = self._cheapest(ends, layer, saved, masks)
                is_answer = self.graph.returned[ends.entity]
                np.minimum.at(least, ends.entity[is_answer], ends.total[is_answer])
                if len(least) >= self.wanted:
                    bound = min(bound, np.partition(least, self.wanted - 1)[self.wanted - 1] + starts.slack)
                leads_to = ends.cost + asked.least[left, ends.mask]
                kept = (ends.total <= bound) | (leads_to <= min(bound, worst[min(steps + 1, hops)]))
                layers.append(ends._replace(before=ends.before + done).of(kept))
                worst[steps], looked, done = bound, looked + seen, done + len(layer.entity)
            done += len(layers[-1].entity)
        states = States(*(np.concatenate(columns) for columns in zip(*layers, strict=True)))
        return Walks(asked, starts, states, looked, worst)

    def _ends(
        self, asked: Asked, layer: States, opened: Ints, barred: NDArray[np.bool_]
    ) -> tuple[States, int]:
        """What lies one step ahead of these states, each step a row, with the state of the layer that it
        leaves; and the slots looked at."""
        graph = self.graph
        first, last = (graph.indptr[layer.entity[opened] + end].astype(np.int64) for end in (0, 1))
        owner, slots = expanded(first, last - first)
        looked, owner, last = len(slots), opened[owner], layer.slot[opened][owner]
        came_by = np.where(last == NO_SLOT, -1, graph.relations[last])  # never straight back
        keep = np.flatnonzero((graph.relations[slots] != came_by) & ~barred[graph.neighbours[slots]])
        owner, slots = owner[keep], slots[keep]
        entity, mask, kind = graph.neighbours[slots].astype(np.int64), layer.mask[owner], graph.kind[slots]
        column = 2 * asked.types[kind >> 1].astype(np.int64) + (kind & 1)
        cost, filled = np.divmod(asked.steps[mask, column], MASKS)
        cost += layer.cost[owner]
        total = cost + asked.end[filled]
        if asked.words:
            own = asked.entities[entity].astype(np.int64)
            met = own | asked.relations[graph.relations[slots]]
            explained = np.minimum(asked.weight[met & ~mask], asked.unexplained)
            cost -= np.where(column < 2, explained, 0)
            filled |= met
            is_other_kind = (asked.head > 0) & (own & asked.head == 0)
            total = cost + asked.end[filled] + self.prices.off_head * is_other_kind
        steps, walk = layer.steps[owner] + 1, layer.walk[owner]
        return States(walk, entity, filled, steps, cost, total, slots, owner), looked

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
