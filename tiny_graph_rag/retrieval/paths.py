"""The ranking of questions by paths: the walks of their mentions, joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, unique, worth_compiling
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import MILLI
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.cost import UNIT, Column
from tiny_graph_rag.retrieval.query import OFFERED, Reading, mentions_of
from tiny_graph_rag.retrieval.walk import (
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


Read = tuple[LinkedQuestion, Reading]
Seeds = list[tuple[int, ...]]  # of each mention


class Joined(NamedTuple):
    """What the mentions of each question explain together, a row an entity, ascending by question and entity.
    shown: the state whose path is shown; more, of_row: the states of other mentions that explain it too, and
    the row of each."""

    question: Ints
    entity: Ints
    total: Ints
    shown: Ints
    more: Ints
    of_row: Ints


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

    def of_question(self, number: int) -> slice:
        """Its rows."""
        return slice(*np.searchsorted(self.question, [number, number + 1]).tolist())


class CheapestPaths:
    """Ranks entities of one graph, some questions at a time, in memory of its own: not for two threads."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        columns: WalkedGraph,
        prices: Prices,
        *,
        wanted: int,
        exclude_seeds: bool,
        may_compile: bool = True,
    ) -> None:
        """wanted: how many of the best entities of a question."""
        self.graph, self.prices, self.exclude_seeds = columns, prices, exclude_seeds
        self.wanted, self.may_compile = wanted, may_compile
        self._layers: Layers | CompiledLayers = Layers(columns, prices, wanted)
        self._ranked_so_far = self._looked = 0
        self._size = len(graph), len(graph.relations)
        self._kinds = graph.entities.types
        self._types = len(graph.relations.types.names) + 1

    @property
    def at_once(self) -> int:
        """How many questions to rank together; few at first, to learn how large they are."""
        return max(1, min(AT_ONCE if self._looked else FIRST, CELLS // (1 + max(self._size))))

    def rank(self, given: Sequence[Read], limits: Sequence[int], *, more: int = 0) -> list[Reached]:
        """At each hop limit, the best of the entities within so many hops of each question's seeds.

        given: `at_once` questions at most. more: how many are still to be ranked after these.
        """
        walks = self.walk(given, limits, more=more)
        return [self._best(walks, limit) for limit in limits]

    def walk(self, given: Sequence[Read], limits: Sequence[int], *, more: int = 0) -> Walks:
        """The walks of all mentions, as far as `rank` needs them."""
        self._compile_for(len(given) + more)
        named = [_named(question) for question, _ in given]
        kinds = [(reading, len(seeds)) for (_, reading), seeds in zip(given, named, strict=True)]
        rows = {kind: row for row, kind in enumerate(dict.fromkeys(kinds))}
        asked = self._stacked(list(rows), max(limits))
        starts = self._starts(given, named, asked, [rows[kind] for kind in kinds])
        walks = self._layers.walk(asked, starts, limits)
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

            self._layers = CompiledLayers(self.graph, self.prices, self.wanted)

    def _best(self, walks: Walks, limit: int) -> Reached:
        joined, starts = self.joined(walks, limit), walks.starts
        hops = walks.states.steps[joined.shown]
        key = joined.total * (limit + 1) + hops
        rows = best_of(joined.question, self.wanted, key, self.graph.name_rank[joined.entity])
        walk = walks.states.walk[joined.shown[rows]]
        parts = np.zeros((len(rows), len(COST_PARTS)), np.int64)
        parts[:, 0] = np.where(starts.by_text, starts.cost, 0)[walk]
        parts[:, 1] = joined.total[rows] - parts[:, 0]
        return Reached(
            joined.question[rows],
            joined.entity[rows].astype(np.int32),
            parts * (UNIT // MILLI),
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

    def _starts(
        self, given: Sequence[Read], mentions: Sequence[Seeds], asked: Asked, rows: Sequence[int]
    ) -> Starts:
        """rows: of `asked`, one a question."""
        walks: list[tuple[int, bool, int]] = []
        seeds: list[tuple[int, int, bool]] = []
        for number, (question, _) in enumerate(given):
            by_text = sorted({seed.entity for seed in question.seeds if seed.is_text})
            references = {seed.entity for seed in question.seeds if seed.is_reference}
            left_out = self.prices.other_seed * max(0, len(mentions[number]) - 1)
            for entities in mentions[number]:
                seeds += [(len(walks), entity, entity in references) for entity in entities]
                walks.append((number, False, left_out))
            if by_text:
                seeds += [(len(walks), entity, False) for entity in by_text]
                walks.append((number, True, left_out + self.prices.text_seed))
        of_question, is_text, cost = np.array(walks, np.int64).reshape(-1, 3).T
        walk, entity, referred = np.array(seeds, np.int64).reshape(-1, 3).T
        of_asked = np.array(rows)[of_question]
        row = of_asked[walk]
        own, head = 0 * entity, asked.head[row]
        if asked.words.any():
            own = asked.entities[row, entity].astype(np.int64)
        off = (own == 0) | ((head > 0) & (own & head == 0))
        left = asked.weight[row, -1] - asked.weight[row, own]
        named = asked.named[row]
        left += np.where(off, np.where(is_text[walk], np.minimum(named, self.prices.off_focus), named), 0)
        total = np.where(named == OFFERED, (cost * is_text)[walk], cost[walk] + left)
        total += self.prices.referred * referred
        return Starts(of_question, of_asked, is_text > 0, cost, walk, entity, total)

    def _stacked(self, kinds: Sequence[tuple[Reading, int]], hops: int) -> Asked:
        """What questions with these readings and so many mentions ask for; slots that some lack weigh
        nothing."""
        count, readings = len(kinds), [reading for reading, _ in kinds]
        weights = np.zeros((count, max(len(reading.slots) for reading in readings)), np.int64)
        types, words = np.zeros((count, self._types), np.uint8), np.zeros(count, np.int64)
        sorts: list[NDArray[np.uint8]] = []  # of relation types, by the slots that they fill
        for number, reading in enumerate(readings):
            for place, slot in enumerate(reading.slots):
                weights[number, place] = slot.weight
                if slot.types:
                    types[number, list(slot.types)] |= 1 << place
                else:
                    words[number] |= 1 << place
            sorts.append(unique(np.append(types[number], np.uint8(0))))
            types[number] = np.searchsorted(sorts[-1], types[number])
        speaks = np.zeros((count, max(map(len, sorts))), np.int64)
        for number, fills in enumerate(sorts):
            speaks[number, : len(fills)] = fills
        weight = np.zeros((count, 1), np.int64)
        for place in range(weights.shape[1]):
            weight = np.concatenate([weight, weight + weights[:, place, None]], axis=1)
        focus, head, unexplained, named = np.array(
            [(one.focus, one.head, one.unexplained, one.named) for one in readings], np.int64
        ).T
        off_focus = (focus[:, None] > 0) & (np.arange(weight.shape[1]) & focus[:, None] == 0)
        end = weight[:, -1:] - weight + np.where(off_focus, self.prices.off_focus, 0)
        steps = steps_of(np.arange(weight.shape[1]), unexplained, speaks, self.prices)
        least, ahead = least_of(weight, end, steps, unexplained, words, hops)
        entities, relations = self._held(readings, is_told=bool(words.any()))
        # Another mention may fill everything that one leaves empty.
        others = np.array([mentions - 1 for _, mentions in kinds])
        slack = np.where(others > 0, others * self.prices.other_seed + end[:, 0] + self.prices.off_head, 0)
        return Asked(
            weight, end, steps, types, least, ahead, head, words, unexplained, named, relations, entities,
            slack,
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
        """Each entity's cheapest explanation: the path of the least total, and of every other mention the
        cheapest path that costs less than to leave the mention out; what that path explains counts too. Paths
        from text seeds and seeds themselves explain alone."""
        states, starts = walks.states, walks.starts
        is_answer = self.graph.returned[states.entity]
        if self.exclude_seeds:
            is_answer &= states.steps > 0
        pair = starts.question[states.walk] * self._size[0] + states.entity
        least = walks.within(limit, is_answer, states.total)
        order = np.lexsort((states.total[least], pair[least]))
        shown = least[order[begins(pair[least[order]])]]
        total, mask = states.total[shown], states.mask[shown]
        price = states.cost - starts.cost[states.walk] - self.prices.other_seed
        joins = is_answer & (states.steps > 0) & ~starts.by_text[states.walk]
        more = walks.within(limit, joins & (price < 0), states.cost)
        row = np.searchsorted(pair[shown], pair[more])
        first = shown[row]
        others = joins[first] & (states.walk[first] != states.walk[more])
        more, row = more[others], row[others]
        np.add.at(total, row, price[more])
        np.bitwise_or.at(mask, row, states.mask[more])
        question, entity = np.divmod(pair[shown], self._size[0])
        end = walks.asked.end[starts.asked[states.walk[shown]]]
        at = np.arange(len(shown))
        total += end[at, mask] - end[at, states.mask[shown]]
        return Joined(question, entity, total, shown, more, row)


def best_of(question: Ints, wanted: int, key: Ints, name_rank: NDArray[Any]) -> Ints:
    """The rows of the lowest keys, of equal ones by name, at most so many of each question, in order."""
    order = np.lexsort((name_rank, question * (1 + key.max(initial=0)) + key))
    rank = np.arange(len(question)) - np.searchsorted(question, question)
    best: Ints = order[rank < wanted]
    return best


def _named(question: LinkedQuestion) -> Seeds:
    """Seeds of each mention. The last of too many mentions are one."""
    parts = [mention.seeds for mention in mentions_of(question.named)]
    return [*parts[: MENTIONS - 1], *([sum(parts[MENTIONS - 1 :], ())] if len(parts) >= MENTIONS else [])]
