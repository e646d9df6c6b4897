"""The ranking of questions by paths: the walks of their mentions, joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import unique, worth_compiling
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.cost import Column, Costs
from tiny_graph_rag.retrieval.query import ONE_OF_SEEDS, OTHERS, Mentions, Reading, WeighedMention
from tiny_graph_rag.retrieval.walk import (
    FAR,
    MASKS,
    SIZES,
    Asked,
    Ints,
    Layers,
    Prices,
    Starts,
    WalkedGraph,
    Walks,
    least_of,
    steps_of,
)
from tiny_graph_rag.run import COST_PARTS, NO_STEP

if TYPE_CHECKING:
    from tiny_graph_rag.retrieval.compiled import CompiledLayers

MENTIONS = 8  # that count singly; more of them are taken as one
FIRST, AT_ONCE = 4, 64  # questions that are walked together, at most
CELLS = 1 << 23  # of them times the entities or relations of the graph


class ToRank(NamedTuple):
    """A question as its paths are asked for. wanted: how many of the best entities; enough: how many of them
    where a path explains it all."""

    mentions: Mentions
    reading: Reading
    wanted: int
    enough: int


class Joined(NamedTuple):
    """What the mentions of each question explain together, a row an entity, ascending by question and entity.
    shown: the state whose path is shown; taken: (rows, mentions), the states that explain it, -1 for none."""

    question: Ints
    entity: Ints
    total: Ints
    shown: Ints
    taken: Ints


class Reached(NamedTuple):
    """What the paths of some questions reach within a hop limit, in the order of questions.

    question: number of each row's; parts: (rows, 5), the costs in millionths; hops: of the path shown, 0 of a
    seed; paths: (rows, hops) relations from the seed, filled up with NO_STEP.
    """

    question: NDArray[np.int64]
    entities: NDArray[np.int32]
    parts: Column
    hops: NDArray[np.int32]
    paths: NDArray[np.int32]

    @property
    def cost(self) -> Column:
        cost: Column = self.parts @ np.ones(5, np.int64)  # quicker than a sum over short rows
        return cost

    def of(self, rows: NDArray[Any] | slice) -> Reached:
        """rows: places, or a mask."""
        return Reached._make(column[rows] for column in self)

    def followed_by(self, more: Reached) -> Reached:
        return Reached(*map(np.concatenate, zip(self, more, strict=True)))  # type: ignore[arg-type]

    def of_question(self, number: int) -> slice:
        """Its rows."""
        return slice(*np.searchsorted(self.question, [number, number + 1]).tolist())


class CheapestPaths:
    """Ranks entities of one graph, some questions at a time, in memory of its own: not for two threads."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        columns: WalkedGraph,
        costs: Costs,
        *,
        hops: int,
        exclude_seeds: bool,
        may_compile: bool = True,
    ) -> None:
        """hops: the most that are asked for."""
        self.graph, self.costs, self.exclude_seeds, self.may_compile = (
            columns,
            costs,
            exclude_seeds,
            may_compile,
        )
        self.prices = Prices.of(costs.ranking)
        self._layers: Layers | CompiledLayers = Layers(columns, self.prices, costs.explained(hops))
        self._ranked_so_far = self._looked = 0
        self._size = len(graph), len(graph.relations)
        self._kinds = graph.entities.types
        self._types = len(graph.relations.types.names) + 1

    @property
    def at_once(self) -> int:
        """How many questions to rank together; few at first, to learn how large they are."""
        return max(1, min(AT_ONCE if self._looked else FIRST, CELLS // (1 + max(self._size))))

    def rank(self, given: Sequence[ToRank], limits: Sequence[int], *, more: int = 0) -> list[Reached]:
        """At each hop limit, the best of the entities within so many hops of each question's seeds.

        given: `at_once` questions at most. more: how many are still to be ranked after these.
        """
        walks = self.walk(given, limits, more=more)
        return [self._best(given, walks, limit) for limit in limits]

    def walk(self, given: Sequence[ToRank], limits: Sequence[int], *, more: int = 0) -> Walks:
        """The walks of all mentions, as far as `rank` needs them."""
        self._compile_for(len(given) + more)
        asked = self._stacked(given, max(limits))
        walks = self._layers.walk(asked, self._starts(given, asked), limits)
        self._ranked_so_far, self._looked = self._ranked_so_far + len(given), self._looked + walks.looked
        return walks

    def _compile_for(self, questions: int) -> None:
        """Walk by machine code where numba is loaded in less time than it saves on so many questions, which
        are expected to be as large as those so far."""
        if not isinstance(self._layers, Layers) or not self._ranked_so_far:
            return
        expected = questions * self._looked // self._ranked_so_far
        if worth_compiling(expected, allowed=self.may_compile):
            from tiny_graph_rag.retrieval.compiled import CompiledLayers

            self._layers = CompiledLayers(self.graph, self.prices, self._layers.explained)

    def _best(self, given: Sequence[ToRank], walks: Walks, limit: int) -> Reached:
        joined, count = self.joined(walks, limit), len(given)
        question, hops = joined.question, walks.states.steps[joined.shown]
        is_explained = np.zeros(count, np.bool_)
        is_explained[question[joined.total <= self._layers.explained[hops]]] = True
        wanted = np.where(is_explained, [one.enough for one in given], walks.asked.wanted)
        key = (joined.total * SIZES + self.graph.size_of(joined.entity)) * (limit + 1) + hops
        rows = best_of(question, wanted, key, self.graph.name_rank[joined.entity])
        parts = np.zeros((len(rows), len(COST_PARTS)), np.int64)
        parts[:, 1] = self.costs.path(joined.total[rows], hops[rows])
        return Reached(
            question[rows],
            joined.entity[rows].astype(np.int32),
            parts,
            hops[rows].astype(np.int32),
            self._paths(walks, joined.shown[rows], limit),
        )

    def _paths(self, walks: Walks, state: Ints, hops: int) -> NDArray[np.int32]:
        """(states, hops): the relations on the paths of states."""
        states, paths = walks.states, np.full((len(state), hops), NO_STEP, np.int32)
        for step in range(hops - 1, -1, -1):
            now = states.steps[state] > step
            paths[now, step] = self.graph.relations[states.slot[state[now]]]
            state = np.where(now, states.before[state], state)
        return paths

    # ---- the questions

    def _starts(self, given: Sequence[ToRank], asked: Asked) -> Starts:
        mentions = [(number, seeds) for number, one in enumerate(given) for seeds in _packed(one.mentions)]
        question = np.array([number for number, _ in mentions], np.int64)
        entity = np.array([seed for _, seeds in mentions for seed in seeds], np.int64)
        walk = np.repeat(np.arange(len(mentions)), [len(seeds) for _, seeds in mentions])
        row = question[walk]
        own, head = 0 * entity, asked.head[row]
        if asked.words.any():
            own = asked.entities[row, entity].astype(np.int64)
        off = (own == 0) | ((head > 0) & (own & head == 0))
        asks = np.array([one.reading.asks for one in given], np.int64)[row]
        total = asked.weight[row, -1] - asked.weight[row, own]
        total += np.where((asks == OTHERS) & off, self.prices.off_focus, 0)
        left_out = self.prices.other_seed * (
            np.bincount(question)[row] - 1
        )  # added where mentions are joined
        return Starts(question, walk, entity, np.where(asks == ONE_OF_SEEDS, -left_out, total))

    def _stacked(self, given: Sequence[ToRank], hops: int) -> Asked:
        """What the questions ask for; slots that some lack weigh nothing."""
        readings, count = [one.reading for one in given], len(given)
        weights = np.zeros((count, max(len(reading.slots) for reading in readings)), np.int64)
        types, (words, back) = np.zeros((count, self._types), np.uint8), np.zeros((2, count), np.int64)
        for number, reading in enumerate(readings):
            for place, slot in enumerate(reading.slots):
                weights[number, place] = slot.weight
                if slot.types:
                    types[number, list(slot.types)] |= 1 << place
                    back[number] |= slot.way_back << place
                else:
                    words[number] |= 1 << place
        weight = np.zeros((count, 1), np.int64)
        for place in range(weights.shape[1]):
            weight = np.concatenate([weight, weight + weights[:, place, None]], axis=1)
        focus, head, unexplained = np.array(
            [(one.focus, one.head, one.unexplained) for one in readings], np.int64
        ).T
        off_focus = (focus[:, None] > 0) & (np.arange(weight.shape[1]) & focus[:, None] == 0)
        end = weight[:, -1:] - weight + np.where(off_focus, self.prices.off_focus, 0)
        steps = steps_of(np.arange(weight.shape[1]), unexplained, _sorted(types), back, self.prices)
        least, ahead = least_of(weight, end, steps, unexplained, words, hops)
        entities, relations = self._held(readings, is_told=bool(words.any()))
        # Another mention may fill everything that one leaves empty.
        others = np.array([min(len(one.mentions), MENTIONS) for one in given]) - 1
        slack = np.where(others > 0, others * self.prices.other_seed + end[:, 0] + self.prices.off_head, 0)
        wanted, enough = (np.array([one[place] for one in given], np.int64) for place in (2, 3))
        enough = np.where(others > 0, wanted, enough)
        return Asked(
            weight, end, steps, types, least, ahead, head, words, unexplained, relations, entities,
            wanted, enough, slack,
        )  # fmt: skip

    def _held(self, readings: Sequence[Reading], *, is_told: bool) -> list[NDArray[np.uint8]]:
        """(questions, entities) and (questions, relations), the slots whose words their texts hold; without
        columns where no question asks for texts."""
        held = [np.zeros((len(readings), size * is_told), np.uint8) for size in self._size]
        kinds = np.zeros((len(readings), len(self._kinds.names) + 1), np.uint8)
        for number, reading in enumerate(readings):
            for place, slot in enumerate(reading.slots):
                if slot.found.entity_types:
                    kinds[number, list(slot.found.entity_types)] |= 1 << place
                for mine, rows in zip(held, (slot.found.entities, slot.found.relations), strict=True):
                    if len(rows):
                        mine[number, rows] |= 1 << place
        rows = np.flatnonzero(kinds.any(axis=1))
        if len(rows):
            held[0][rows] |= kinds[rows[:, None], self._kinds.codes]
        return held

    # ---- several mentions

    def joined(self, walks: Walks, limit: int) -> Joined:
        """Each entity's cheapest explanation over the mentions that reach it: one that is left out costs
        other_seed, one that is taken in costs its own path and fills its slots. To what others explain, a
        mention adds its path of the least total or its cheapest one. A seed is taken alone."""
        states, is_answer = walks.states, self.graph.may_return(walks.states.entity)
        if self.exclude_seeds:
            is_answer &= states.steps > 0
        state = walks.within(limit, is_answer, states.total)
        walk, entity, total = states.walk[state], states.entity[state], states.total[state]
        mentions = np.bincount(walks.starts.question, minlength=len(walks.asked.head))
        question, count = walks.starts.question[walk], int(mentions.max(initial=0))
        if count <= 1:
            return Joined(question, entity, total, state, state[:, None])
        pair = question * self._size[0] + entity
        pairs = unique(pair)
        offered = np.full((len(pairs), 2 * count), -1)
        row, mention = np.searchsorted(pairs, pair), walk - (np.cumsum(mentions) - mentions)[question]
        offered[row, mention] = state
        offered[row, mention + count] = walks.within(limit, is_answer, states.cost)
        question, entity = np.divmod(pairs, self._size[0])

        def table(column: Ints, missing: int) -> Ints:
            found: Ints = np.append(column, missing)[offered]
            return found

        end, other = walks.asked.end, self.prices.other_seed
        mentions, rows = mentions[question], np.arange(len(entity))
        totals, masks = table(states.total, FAR), table(states.mask, 0)
        costs = table(np.where(states.steps > 0, states.cost, FAR), FAR)
        first = totals[:, :count].argmin(1)
        shown = offered[rows, first]
        least, cost, mask = totals[rows, first], costs[rows, first], masks[rows, first]
        off_head = least - cost - end[question, mask]
        best = least + (mentions - 1) * other
        taken = np.zeros(offered.shape, np.bool_)
        taken[rows, first] = True
        costs[rows, first] = costs[rows, first + count] = FAR
        for number in range(1, count):
            trial = cost[:, None] + costs + (off_head + (mentions - number - 1) * other)[:, None]
            trial += end[question[:, None], mask[:, None] | masks]
            pick = trial.argmin(1)
            better = np.flatnonzero(trial[rows, pick] < best)
            if not len(better):
                break
            at = better, pick[better]
            best[better], taken[at] = trial[at], True
            cost[better] += costs[at]
            mask[better] |= masks[at]
            costs[better, at[1] % count] = costs[better, at[1] % count + count] = FAR
            blocked = np.ones(len(entity), dtype=bool)
            blocked[better] = False
            costs[blocked] = FAR  # what found none finds none later
        return Joined(question, entity, best, shown, np.where(taken, offered, -1))


def _sorted(types: NDArray[np.uint8]) -> Ints:
    """(questions, sorts): the slots that each sort of relation type fills, none of the first. types:
    (questions, types), the slots of each type; its sort is put in their place."""
    question, codes = np.nonzero(types)
    slots = question * MASKS + types[question, codes]
    different = unique(slots)
    owner, speaks = np.divmod(different, MASKS)
    sorts = np.arange(1, 1 + len(different)) - np.searchsorted(owner, owner)
    types[question, codes] = sorts[np.searchsorted(different, slots)]
    of_sorts = np.zeros((len(types), 1 + sorts.max(initial=0)), np.int64)
    of_sorts[owner, sorts] = speaks
    return of_sorts


def best_of(question: Ints, wanted: Ints, key: Ints, name_rank: NDArray[Any]) -> Ints:
    """The rows of the lowest keys, of equal ones by name, as many of each question as are wanted of it, in
    order. wanted: (questions,)."""
    order = np.lexsort((name_rank, question * (1 + key.max(initial=0)) + key))
    counts = np.bincount(question, minlength=len(wanted))
    rank = np.arange(len(question)) - np.repeat(np.cumsum(counts) - counts, counts)
    best: Ints = order[rank < np.repeat(wanted, counts)]
    return best


def _packed(mentions: Sequence[WeighedMention]) -> list[list[int]]:
    """Seeds of each mention. The last of too many mentions are one."""
    parts: list[list[int]] = []
    for place, mention in enumerate(mentions):
        if place < MENTIONS:
            parts.append([])
        parts[-1].extend(mention.seeds)
    return parts
