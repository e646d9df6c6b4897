"""Why the entities that a question's paths reach stand where they do, in words: the parts of a cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.retrieval.paths import CheapestPaths, Read
from tiny_graph_rag.retrieval.query import OFFERED
from tiny_graph_rag.retrieval.walk import NO_PATH

# The parts that are not a step of a path, as they are shown.
OPTION = "one of the options in the question"
OTHER_RELATION = "no hop is over the relation asked for"
NAMED = "named in the question, which asks for something else"
OTHER_KIND = "not of the kind asked for"
UNEXPLAINED = "left unexplained"
HELD = "words in its texts"
REFERRED = "a pronoun refers to it; the question asks for something else"
WITHOUT_PATH = "no path from other names in the question"


class PathReasons:
    """Why the entities that one question's paths reach stand where they do: in words, the parts of a cost by
    paths, each with its price."""

    def __init__(self, graph: KnowledgeGraph, paths: CheapestPaths, read: Read, hops: int) -> None:
        self.graph, self.relations, self.prices = graph, paths.graph.relations, paths.prices
        (self.question, self.reading), walks = read, paths.walk(read, [hops])
        self.states, self.joined, self.asked = walks.states, paths.joined(walks, hops), walks.asked
        self.by_text = walks.starts.by_text

    def reasons(self, entity: int) -> list[Reason]:
        """The parts of an entity's cost; they add up to it. One path of each mention that explains it, the
        one shown first; then what is paid at the end."""
        row = int(np.searchsorted(self.joined.entity, entity))
        shown = int(self.joined.shown[row])
        # What is left out next to a path from a text seed is a part of `link`.
        mentions = 0 if self.by_text[self.states.walk[shown]] else int((~self.by_text).sum()) - 1
        is_seed = self.states.steps[shown] == 0
        return list(self._of_seed(entity, mentions) if is_seed else self._of_row(row, mentions))

    def _of_seed(self, entity: int, others: int) -> Iterator[Reason]:
        own = int(self.asked.entities[entity]) if self.asked.words else 0
        if self.reading.named == OFFERED:
            yield Reason(OPTION, (), 0.0)
        else:
            is_off = own == 0 or (self.reading.head and not own & self.reading.head)
            is_named = any(seed.entity == entity for seed in self.question.named)
            price = self.reading.named if is_named else min(self.reading.named, self.prices.off_focus)
            if price and is_off:
                yield self._part(NAMED, 0, price)
            yield from self._left(own, others)
        if any(seed.is_reference and seed.entity == entity for seed in self.question.seeds):
            yield self._part(REFERRED, 0, self.prices.referred)

    def _of_row(self, row: int, others: int) -> Iterator[Reason]:
        shown, more = int(self.joined.shown[row]), self.joined.more[self.joined.of_row == row].tolist()
        mask = 0
        for state in (shown, *more):
            mask |= int(self.states.mask[state])
            yield from self._steps(state)
        if self.reading.focus and not mask & self.reading.focus:
            yield self._part(OTHER_RELATION, self.reading.focus, self.prices.off_focus)
        for_kind = (
            self.states.total[shown] - self.states.cost[shown] - self.asked.end[self.states.mask[shown]]
        )
        if for_kind:
            yield self._part(OTHER_KIND, self.reading.head, int(for_kind))
        yield from self._left(mask, others - len(more))

    def _steps(self, state: int) -> Iterator[Reason]:
        """The steps of a state's path, from the seed on."""
        states, steps = self.states, []
        while (before := int(states.before[state])) != NO_PATH:
            filled = int(states.mask[state]) & ~int(states.mask[before])
            cost = int(states.cost[state] - states.cost[before])
            steps.append(
                self._part(self._arrow(int(states.slot[state]), int(states.entity[state])), filled, cost)
            )
            state = before
        return reversed(steps)

    def _arrow(self, slot: int, entity: int) -> str:
        relations, relation = self.graph.relations, int(self.relations[slot])
        arrow = "—{}→ {}" if int(relations.targets[relation]) == entity else "←{}— {}"
        return arrow.format(relations.types[relation], self.graph.entities.names[entity])

    def _left(self, mask: int, mentions: int) -> Iterator[Reason]:
        """What is paid for slots that are not in the mask, and for so many mentions left out."""
        for place, slot in enumerate(self.reading.slots):
            if slot.weight and not mask >> place & 1:
                yield self._part(UNEXPLAINED, 1 << place, slot.weight)
        if mentions > 0 and self.prices.other_seed:
            yield self._part(WITHOUT_PATH, 0, mentions * self.prices.other_seed)

    def _part(self, what: str, mask: int, price: int) -> Reason:
        """mask: of the slots whose words it explains or leaves."""
        filled = [slot.words for place, slot in enumerate(self.reading.slots) if mask >> place & 1]
        return Reason(what, tuple(dict.fromkeys(word for words in filled for word in words)), price / 1000)
