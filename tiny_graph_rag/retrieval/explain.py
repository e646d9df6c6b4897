"""Why an entity stands where it does: in words, the parts of its cost by paths, each with its price."""

from __future__ import annotations

from collections.abc import Iterator

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.retrieval.paths import CheapestPaths, RankedPaths
from tiny_graph_rag.retrieval.query import ONE_OF_SEEDS, OTHERS
from tiny_graph_rag.retrieval.walk import States

# The parts that are not a step of a path, as they are shown.
OFFERED = "one of the options in the question"
OTHER_RELATION = "the last relation isn't the one asked for"
NAMED = "named in the question, which asks for something else"
OTHER_KIND = "not of the kind asked for"
UNEXPLAINED = "left unexplained"
WITHOUT_PATH = "no path from other names in the question"


class Explanation:
    """Of the entities that one question's paths rank."""

    def __init__(self, graph: KnowledgeGraph, paths: CheapestPaths, ranked: RankedPaths) -> None:
        """ranked: by `paths`, just now."""
        self.graph, self.relations = graph, paths.graph.relations
        self.ranked, self.prices = ranked, paths.prices
        self.states = States(
            *(column.copy() for column in ranked.walks.states)
        )  # the next walks overwrite it
        self.reading, self.asked = ranked.questions.given[0].reading, ranked.questions.asked.of(0)
        self._mentions = int(ranked.questions.mentions[0])
        self._rows = dict(zip(ranked.entities.tolist(), ranked.row.tolist(), strict=True))

    def reasons(self, entity: int) -> list[Reason]:
        """The parts of an entity's cost; they add up to it. One path of each mention that explains it, the
        one shown first; then what is paid at the end."""
        row = self._rows[entity]
        return list(self._of_seed(entity) if row < 0 else self._of_row(row))

    def _of_seed(self, entity: int) -> Iterator[Reason]:
        questions, asks = self.ranked.questions, self.reading.asks
        if asks == ONE_OF_SEEDS:
            yield Reason(OFFERED, (), 0.0)
            return
        own, head = int(questions.own[questions.seed.tolist().index(entity)]), int(self.asked.head)
        if asks == OTHERS and (own == 0 or (head and not own & head)):
            yield self._part(NAMED, 0, self.prices.off_focus)
        yield from self._left(own, self._mentions - 1)

    def _of_row(self, row: int) -> Iterator[Reason]:
        joined, mask, lands = self.ranked.joined, 0, 0
        shown, (taken,) = int(joined.shown[row]), joined.taken[row].nonzero()
        for mention in sorted(taken.tolist(), key=lambda mention: mention != shown):
            place = int(joined.place[row, mention])
            mask, lands = mask | int(joined.answers.mask[place]), lands | int(joined.answers.lands[place])
            yield from self._steps(place)
        if not lands:
            yield self._part(OTHER_RELATION, int(self.asked.focus), self.prices.off_focus)
        if off_head := self._off_head(int(joined.place[row, shown])):
            yield self._part(OTHER_KIND, int(self.asked.head), off_head)
        yield from self._left(mask, self._mentions - len(taken))

    def _off_head(self, place: int) -> int:
        """What is paid for the kind of an entity: what an answer's total has besides."""
        answers = self.ranked.joined.answers
        rest = answers.total[place] - answers.cost[place] - self.asked.left[answers.mask[place]]
        return int(rest) - (0 if answers.lands[place] else self.prices.off_focus)

    def _steps(self, place: int) -> Iterator[Reason]:
        """The steps of an answer's path, from the seed on."""
        answers, states = self.ranked.joined.answers, self.states
        entity, slot = int(answers.entity[place]), int(answers.slot[place])
        cost, mask, before = (int(column[place]) for column in (answers.cost, answers.mask, answers.before))
        steps = []
        for _ in range(int(answers.steps[place])):
            state, which = divmod(before, 2)
            paid, filled = int(states.cost[state, which]), int(states.mask[state])
            steps.append(self._part(self._arrow(slot, entity), mask & ~filled, cost - paid))
            entity, cost, mask = int(states.entity[state]), paid, filled
            slot, before = int(states.slot[state, which]), int(states.before[state, which])
        return reversed(steps)

    def _arrow(self, slot: int, entity: int) -> str:
        relations, relation = self.graph.relations, int(self.relations[slot])
        arrow = "—{}→ {}" if int(relations.targets[relation]) == entity else "←{}— {}"
        return arrow.format(relations.types[relation], self.graph.entities.names[entity])

    def _left(self, mask: int, mentions: int) -> Iterator[Reason]:
        """What is paid for slots that are not in the mask, and for so many mentions left out."""
        for place in range(len(self.reading.slots)):
            weight = int(self.asked.weight[1 << place])
            if weight and not mask >> place & 1:
                yield self._part(UNEXPLAINED, 1 << place, weight)
        if mentions > 0:
            yield self._part(WITHOUT_PATH, 0, mentions * self.prices.other_seed)

    def _part(self, what: str, mask: int, price: int) -> Reason:
        """mask: of the slots whose words it explains or leaves."""
        filled = [slot.words for place, slot in enumerate(self.reading.slots) if mask >> place & 1]
        return Reason(what, tuple(dict.fromkeys(word for words in filled for word in words)), price / 1000)
