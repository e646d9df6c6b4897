"""The ranking of a question by paths: the walks of its mentions, joined."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
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
    FAR,
    MASKS,
    Asked,
    Ints,
    Layers,
    Prices,
    Starts,
    WalkedGraph,
    Walks,
)
from tiny_graph_rag.run import COST_PARTS, NO_STEP

if TYPE_CHECKING:
    from tiny_graph_rag.retrieval.compiled import CompiledLayers

MENTIONS = 8  # that count singly; more of them are taken as one
KEPT_CELLS = 1 << 25  # entities and relations of the readings for which it is kept what they ask for


Read = tuple[LinkedQuestion, Reading]


class Joined(NamedTuple):
    """What the mentions of a question explain together, a row an entity, ascending. shown: the state whose
    path is shown; more, of_row: the states of other mentions that explain it too, and the row of each."""

    entity: Ints
    total: Ints
    shown: Ints
    more: Ints
    of_row: Ints


class Reached(NamedTuple):
    """What the paths of a question reach within a hop limit.

    parts: (rows, 5), the costs in millionths; hops: of the path shown, 0 of a seed; paths: (rows, hops)
    relations from the seed, filled up with NO_STEP.
    """

    entities: NDArray[np.int32]
    parts: Column
    hops: NDArray[np.int32]
    paths: NDArray[np.int32]

    @property
    def cost(self) -> Column:
        cost: Column = self.parts @ np.ones(5, np.int64)  # quicker than a sum over short rows
        return cost


class CheapestPaths:
    """Ranks entities of one graph, in memory of its own: not for two threads."""

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
        self._asked = lru_cache(1 + KEPT_CELLS // (1 + sum(self._size)))(self._asked_by)

    def rank(self, asked: Read, limits: Sequence[int], *, more: int = 0) -> list[Reached]:
        """At each hop limit, the best of the entities within so many hops of the question's seeds. more: how
        many questions are still to be ranked after it."""
        walks = self.walk(asked, limits, more=more)
        return [self._best(walks, limit) for limit in limits]

    def walk(self, asked: Read, limits: Sequence[int], *, more: int = 0) -> Walks:
        """The walks of all mentions, as far as `rank` needs them."""
        self._compile_for(1 + more)
        (question, reading), wanted = asked, self._asked(asked[1], max(limits))
        walks = self._layers.walk(wanted, self._starts(question, reading, wanted), limits)
        self._ranked_so_far, self._looked = self._ranked_so_far + 1, self._looked + walks.looked
        return walks

    @property
    def is_compiled(self) -> bool:
        return not isinstance(self._layers, Layers)

    def _compile_for(self, questions: int) -> None:
        """Walk by machine code where numba is loaded in less time than it saves on so many questions, which
        are expected to be as large as those so far."""
        if self.is_compiled or not self._ranked_so_far:
            return
        expected = questions * self._looked // self._ranked_so_far
        if worth_compiling(expected, allowed=self.may_compile):
            from tiny_graph_rag.retrieval.compiled import CompiledLayers

            self._layers = CompiledLayers(self.graph, self.prices, self.wanted)

    def _best(self, walks: Walks, limit: int) -> Reached:
        joined, states, starts = self.joined(walks, limit), walks.states, walks.starts
        hops = states.steps[joined.shown]
        rows = np.lexsort((self.graph.name_rank[joined.entity], hops, joined.total))[: self.wanted]
        shown = joined.shown[rows]
        parts = np.zeros((len(rows), len(COST_PARTS)), np.int64)
        parts[:, 0] = np.where(starts.by_text, starts.cost, 0)[states.walk[shown]]
        parts[:, 1] = joined.total[rows] - parts[:, 0]
        paths = np.full((len(rows), limit), NO_STEP, np.int32)
        for step in range(limit - 1, -1, -1):
            now = states.steps[shown] > step
            paths[now, step] = self.graph.relations[states.slot[shown[now]]]
            shown = np.where(now, states.before[shown], shown)
        entities = joined.entity[rows].astype(np.int32)
        return Reached(entities, parts * (UNIT // MILLI), hops[rows].astype(np.int32), paths)

    # ---- the question

    def _starts(self, question: LinkedQuestion, reading: Reading, asked: Asked) -> Starts:
        mentions, by_text = _named(question), sorted({seed.entity for seed in question.seeds if seed.is_text})
        references = {seed.entity for seed in question.seeds if seed.is_reference}
        left_out = self.prices.other_seed * max(0, len(mentions) - 1)  # all mentions but one
        costs = np.array([left_out] * len(mentions) + [left_out + self.prices.text_seed] * bool(by_text))
        is_text = np.arange(len(costs)) >= len(mentions)
        seeds: list[tuple[int, int, int]] = []
        for walk, entities in enumerate([*mentions, by_text]):
            for entity in entities:
                own = int(asked.entities[entity]) if asked.words else 0
                total = costs[walk] + asked.weight[-1] - asked.weight[own]
                if reading.named == OFFERED:
                    total = costs[walk] * is_text[walk]
                elif own == 0 or (asked.head and not own & asked.head):
                    total += min(reading.named, self.prices.off_focus) if is_text[walk] else reading.named
                if entity in references and not is_text[walk]:
                    total += self.prices.referred
                seeds.append((walk, entity, total))
        # Another mention may fill everything that one leaves empty.
        slack = left_out + int(asked.end[0]) + self.prices.off_head if len(mentions) > 1 else 0
        walks, ends, totals = np.array(seeds, np.int64).reshape(-1, 3).T.copy()
        return Starts(is_text, costs, walks, ends, totals, slack)

    def _asked_by(self, reading: Reading, hops: int) -> Asked:
        """What a question with this reading asks for; the most hops of its paths."""
        slots, masks = reading.slots, np.arange(1 << len(reading.slots))
        weight, words, speaks = 0 * masks, 0, np.zeros(self._types, np.int64)
        kinds = np.zeros(len(self._kinds.names) + 1, np.uint8)
        for place, slot in enumerate(slots):
            weight += slot.weight * (masks >> place & 1)
            words |= (not slot.types) << place
            speaks[list(slot.types)] |= 1 << place
            kinds[list(slot.found.entity_types)] |= 1 << place
        entities, relations = (np.zeros(size * (words > 0), np.uint8) for size in self._size)
        for place, slot in enumerate(slots):
            entities[slot.found.entities] |= 1 << place
            relations[slot.found.relations] |= 1 << place
        if kinds.any():
            entities |= kinds[self._kinds.codes]
        off_focus = (reading.focus > 0) & (masks & reading.focus == 0)
        end = weight[-1] - weight + self.prices.off_focus * off_focus
        sorts = unique(np.append(speaks, 0))
        cost, filled = self._steps(sorts, masks[:, None], reading.unexplained)
        steps = cost * MASKS | filled
        cost[:, :2] -= np.minimum(weight[words & ~masks], reading.unexplained)[:, None]
        least, ahead = [np.full(end.shape, FAR)], [np.full(cost.shape, FAR)]
        for _ in range(hops):
            ahead.append(cost + np.minimum(end, least[-1])[filled | words])
            least.append(ahead[-1].min(1))
        return Asked(
            weight, end, steps, np.searchsorted(sorts, speaks).astype(np.uint8), np.stack(least),
            np.stack(ahead), reading.head, words, reading.unexplained, relations, entities,
        )  # fmt: skip

    def _steps(self, speaks: Ints, masks: Ints, unexplained: int) -> tuple[Ints, Ints]:
        """(masks, 2 × sorts): what a step costs before texts explain any of it, and the slots filled then.

        speaks: the slots that relation types of each sort fill; masks: (masks, 1)."""
        fillable, against = np.repeat(speaks, 2), np.arange(2 * len(speaks)) & 1
        free = fillable & ~masks
        fills = free & -free  # the first slot in order
        is_early = (masks & (fills - 1)) != fills - 1
        named = self.prices.against * against
        named = named + np.where(fills == 0, self.prices.again, self.prices.early * is_early)
        return self.prices.step + np.where(fillable == 0, unexplained, named), masks | fills

    # ---- several mentions

    def joined(self, walks: Walks, limit: int) -> Joined:
        """Each entity's cheapest explanation: the path of the least total, and of every other mention the
        cheapest path that costs less than to leave the mention out; what that path explains counts too. Paths
        from text seeds and seeds themselves explain alone."""
        states, starts = walks.states, walks.starts
        near = (states.steps <= limit) & (states.total <= walks.worst[limit])
        near &= self.graph.returned[states.entity] & (states.steps >= self.exclude_seeds)
        order = _sorted(states, np.flatnonzero(near), "entity", "total", "walk", "steps", "mask")
        shown = order[begins(states.entity[order])]
        entity, total, mask = states.entity[shown], states.total[shown], states.mask[shown]
        if not starts.slack:  # no other mention
            return Joined(entity, total, shown, shown[:0], shown[:0])
        price = states.cost - starts.cost[states.walk] - self.prices.other_seed
        joins = (states.steps > 0) & ~starts.by_text[states.walk]
        near &= joins & (price < 0)
        order = _sorted(states, np.flatnonzero(near), "entity", "walk", "cost", "steps", "mask")
        more = order[begins(states.entity[order], states.walk[order])]
        row = np.searchsorted(entity, states.entity[more])
        first = shown[row]
        others = joins[first] & (states.walk[first] != states.walk[more])
        more, row = more[others], row[others]
        np.add.at(total, row, price[more])
        np.bitwise_or.at(mask, row, states.mask[more])
        total += walks.asked.end[mask] - walks.asked.end[states.mask[shown]]
        return Joined(entity, total, shown, more, row)


def _sorted(states: Any, rows: Ints, *by: str) -> Ints:
    """Rows of states in the order of these columns."""
    return rows[np.lexsort([getattr(states, column)[rows] for column in reversed(by)])]


def _named(question: LinkedQuestion) -> list[tuple[int, ...]]:
    """Seeds of each mention. The last of too many mentions are one."""
    parts = [mention.seeds for mention in mentions_of(question.named)]
    return [*parts[: MENTIONS - 1], *([sum(parts[MENTIONS - 1 :], ())] if len(parts) >= MENTIONS else [])]
