"""The ranking of questions by paths: the walks of their mentions, joined."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, unique, worth_compiling
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.query import ONE_OF_SEEDS, OTHERS, Reading
from tiny_graph_rag.retrieval.walk import (
    FAR,
    Asked,
    Ints,
    Layers,
    Prices,
    Start,
    WalkedGraph,
    Walks,
    least_of,
)
from tiny_graph_rag.run import NO_STEP

if TYPE_CHECKING:
    from tiny_graph_rag.retrieval.compiled import CompiledLayers

SIZES = 64  # more than any power of two of a count of relations
MENTIONS = 8  # that count singly; more of them are taken as one
KNOWN = 1 << 9  # readings whose columns are kept
FIRST, AT_ONCE = 4, 64  # questions that are walked together, at most
CELLS = 1 << 23  # of them times the entities or relations of the graph


class WeighedMention(NamedTuple):
    """Seeds that one mention names, each with its share of the mention."""

    seeds: tuple[int, ...]
    shares: tuple[float, ...]


Mentions = tuple[WeighedMention, ...]


class ToRank(NamedTuple):
    """A question as its paths are asked for. wanted: how many of the best entities; enough: how many of them
    where a path explains it all."""

    mentions: Mentions
    reading: Reading
    wanted: int
    enough: int


class Questions(NamedTuple):
    """Those that are ranked together. asked: a row a question; starts: their mentions, a walk each.

    Of their seeds, one after the other: seed_question, seed; own: slots that the seed fills itself; cost: of
    the seed as an answer."""

    given: Sequence[ToRank]
    asked: Asked
    starts: Sequence[Start]
    seed_question: Ints
    seed: Ints
    own: Ints
    cost: Ints


class Joined(NamedTuple):
    """What the mentions of each question explain together, a row an entity, ascending by question and entity.
    shown: the state whose path is shown; taken: (rows, mentions), the states that explain it, -1 for none."""

    question: Ints
    entity: Ints
    total: Ints
    shown: Ints
    taken: Ints


class RankedPaths(NamedTuple):
    """The rankings within a hop limit, and what they came from.

    question, ascending; of each the entities, best first; costs: in thousandths; hops: of the path shown;
    paths: (rows, hops) relations from a seed, filled up with NO_STEP; row: of each entity among the joined
    ones, -1 for a seed."""

    question: Ints
    entities: NDArray[np.int32]
    costs: Ints
    hops: NDArray[np.int32]
    paths: NDArray[np.int32]
    row: Ints
    questions: Questions
    walks: Walks
    joined: Joined


class CheapestPaths:
    """Ranks entities of one graph, some questions at a time, in memory of its own: not for two threads."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        columns: WalkedGraph,
        prices: Prices,
        *,
        explained: Ints,
        exclude_seeds: bool,
        may_compile: bool = True,
    ) -> None:
        """explained: as of `Layers.walk`, of the most hops that are asked for."""
        self.prices, self.exclude_seeds, self.may_compile = prices, exclude_seeds, may_compile
        self.graph, self.explained = columns, explained
        self._layers: Layers | CompiledLayers = Layers(self.graph, prices)
        self._ranked_so_far = self._looked = 0
        self._size = len(graph), len(graph.relations)
        self._kinds = graph.entities.types
        self._types = len(graph.relations.types.names) + 1
        self._asked = lru_cache(KNOWN)(self._asked_of)

    @property
    def at_once(self) -> int:
        """How many questions to rank together; few at first, to learn how large they are."""
        return max(1, min(AT_ONCE if self._looked else FIRST, CELLS // (1 + max(self._size))))

    def rank(self, given: Sequence[ToRank], limits: Sequence[int], *, more: int = 0) -> list[RankedPaths]:
        """At each hop limit, the best of the entities within so many hops of each question's seeds.

        given: `at_once` questions at most. more: how many are still to be ranked after these.
        """
        self._compile_for(len(given) + more)
        questions = self._questions(given, max(limits))
        explained = self.explained[: max(limits) + 1]
        walks = self._layers.walk(questions.asked, questions.starts, explained)
        self._ranked_so_far, self._looked = self._ranked_so_far + len(given), self._looked + walks.looked
        return [self._ranked(questions, walks, limit) for limit in limits]

    def _compile_for(self, questions: int) -> None:
        """Walk by machine code where numba is loaded in less time than it saves on so many questions, which
        are expected to be as large as those so far."""
        if not isinstance(self._layers, Layers) or not self._ranked_so_far:
            return
        expected = questions * self._looked // self._ranked_so_far
        if worth_compiling(expected, allowed=self.may_compile):
            from tiny_graph_rag.retrieval.compiled import CompiledLayers

            self._layers = CompiledLayers(self.graph, self.prices)

    def _ranked(self, questions: Questions, walks: Walks, limit: int) -> RankedPaths:
        joined, count = self._joined(questions, walks, limit), len(questions.given)
        seeds = self._seeds(questions)
        question = np.concatenate([joined.question, questions.seed_question[seeds]])
        entity = np.concatenate([joined.entity, questions.seed[seeds]])
        total = np.concatenate([joined.total, questions.cost[seeds]])
        row = np.concatenate([np.arange(len(joined.entity)), np.full(len(seeds), -1)])
        length = np.concatenate([walks.states.steps[joined.shown], 0 * seeds])
        is_explained = np.zeros(count, np.bool_)
        is_explained[question[total <= self.explained[length]]] = True
        enough, wanted = (
            np.array([getattr(one, name) for one in questions.given], np.int64)
            for name in ("enough", "wanted")
        )
        wanted = np.where(is_explained, enough, wanted)
        key = (total * SIZES + self.graph.size_of(entity)) * (limit + 1) + length
        order = up_to_wanted(question, key, wanted)
        order = order[np.lexsort((self.graph.name_rank[entity[order]], key[order], question[order]))]
        order = order[rank_of(question[order], count) < wanted[question[order]]]
        row = row[order]
        paths = np.full((len(row), limit), NO_STEP, np.int32)
        found = np.flatnonzero(row >= 0)
        self._write_paths(paths, found, walks, joined.shown[row[found]])
        return RankedPaths(
            question[order], entity[order].astype(np.int32), total[order], length[order].astype(np.int32),
            paths, row, questions, walks, joined,
        )  # fmt: skip

    def _write_paths(self, paths: NDArray[np.int32], rows: Ints, walks: Walks, state: Ints) -> None:
        """Write to these rows the relations on the paths of the states, a state a row."""
        states = walks.states
        for step in range(paths.shape[1] - 1, -1, -1):
            now = states.steps[state] > step
            paths[rows[now], step] = self.graph.relations[states.slot[state[now]]]
            state = np.where(now, states.before[state], state)

    def _seeds(self, questions: Questions) -> Ints:
        """Rows of the seeds that may be answers, each once a question."""
        rows = np.zeros(0, np.int64)
        if not self.exclude_seeds:
            _, rows = distinct(questions.seed_question * self._size[0] + questions.seed)
        if len(self.graph.returned):
            rows = rows[self.graph.returned[questions.seed[rows]]]
        return rows

    # ---- the questions

    def _questions(self, given: Sequence[ToRank], hops: int) -> Questions:
        asked, starts = self._stacked(given, hops), []
        for number, one in enumerate(given):
            parts = _packed(one.mentions)
            every = np.array([seed for seeds in parts for seed in seeds], np.int64)
            others, enough, slack = len(parts) - 1, one.enough, 0
            if others > 0:  # another mention may fill everything that one leaves empty
                enough = one.wanted
                slack = others * self.prices.other_seed + int(asked.end[number, 0]) + self.prices.off_head
            starts += [Start(number, np.array(seeds), every, one.wanted, enough, slack) for seeds in parts]
        question = np.array([start.question for start in starts], np.int64)
        seed = np.concatenate([np.zeros(0, np.int64), *(start.seeds for start in starts)])
        seed_question = np.repeat(question, [len(start.seeds) for start in starts])
        mentions = np.bincount(question, minlength=len(given))
        own = 0 * seed
        if asked.has_words.any():
            own = np.where(asked.has_words[seed_question], asked.entities[seed_question, seed], 0)
        cost = self._cost_of_seeds(given, asked, mentions, seed_question, own.astype(np.int64))
        return Questions(given, asked, starts, seed_question, seed, own.astype(np.int64), cost)

    def _cost_of_seeds(
        self, given: Sequence[ToRank], asked: Asked, mentions: Ints, question: Ints, own: Ints
    ) -> Ints:
        """What each seed costs as an answer. mentions: of each question; question, own: of each seed."""
        asks = np.array([one.reading.asks for one in given], np.int64)[question]
        head, others = asked.head[question], np.maximum(0, mentions[question] - 1)
        cost = asked.weight[question, -1] - asked.weight[question, own] + others * self.prices.other_seed
        off = (own == 0) | ((head > 0) & (own & head == 0))
        cost += np.where((asks == OTHERS) & off, self.prices.off_focus, 0)
        return np.where(asks == ONE_OF_SEEDS, 0, cost)

    def _stacked(self, given: Sequence[ToRank], hops: int) -> Asked:
        """What the questions ask for; slots that some lack weigh nothing."""
        several = [self._asked(one.reading, hops) for one in given]
        masks, count = max(len(one.end) for one in several), len(several)
        weight, end = np.zeros((count, masks), np.int64), np.zeros((count, masks), np.int64)
        least = np.full((count, hops + 1, masks), FAR)
        for number, one in enumerate(several):
            size = len(one.end)
            weight[number], weight[number, :size], end[number, :size] = one.weight[-1], one.weight, one.end
            least[number, :, :size] = one.least
        columns = (np.array([one[place] for one in several]) for place in range(3, 8))
        has_words = any(one.has_words for one in several)
        entities, relations = (np.zeros((count, size * has_words), np.uint8) for size in self._size)
        for number, question in enumerate(given):
            if several[number].has_words:
                self._mark(question.reading, relations[number], entities[number])
        return Asked._make([weight, end, least, *columns, relations, entities])

    def _asked_of(self, reading: Reading, hops: int) -> Asked:
        """Of one question, without the relations and entities."""
        weight, types = np.zeros(1, np.int64), np.zeros(self._types, np.uint8)
        for place, slot in enumerate(reading.slots):
            weight = np.concatenate([weight, weight + slot.weight])
            types[list(slot.types)] |= 1 << place
        bits = [1 << place for place in range(len(reading.slots))]
        typed = [bit for bit, slot in zip(bits, reading.slots, strict=True) if slot.types]
        words = sum(bits) - sum(typed)
        back = sum(bit for bit, slot in zip(bits, reading.slots, strict=True) if slot.way_back)
        off_focus = (reading.focus > 0) & (np.arange(len(weight)) & reading.focus == 0)
        end = weight[-1] - weight + np.where(off_focus, self.prices.off_focus, 0)
        least = least_of(end, self.prices.step, typed, words, hops)
        none = np.zeros(0, np.uint8)
        one = map(np.array, (reading.head, back, reading.unexplained, types, words > 0))
        return Asked._make([weight, end, least, *one, none, none])

    def _mark(self, reading: Reading, relations: NDArray[np.uint8], entities: NDArray[np.uint8]) -> None:
        """Mark the relations and entities whose texts hold the question's words."""
        kinds = np.zeros(len(self._kinds.names) + 1, np.uint8)
        for place, slot in enumerate(reading.slots):
            kinds[list(slot.found.entity_types)] |= 1 << place
            relations[slot.found.relations] |= 1 << place
            entities[slot.found.entities] |= 1 << place
        if kinds.any():
            entities |= kinds[self._kinds.codes]

    # ---- several mentions

    def _joined(self, questions: Questions, walks: Walks, limit: int) -> Joined:
        """Each entity's cheapest explanation over the mentions that reach it: one that is left out costs
        other_seed, one that is taken in costs its own path and fills its slots. To what others explain, a
        mention adds its path of the least total or its cheapest one."""
        states, returned = walks.states, self.graph.returned
        state = walks.within(limit, returned)
        walk, entity, total = states.walk[state], states.entity[state], states.total[state]
        of_walk = np.array([start.question for start in questions.starts], np.int64)
        mentions, question = np.bincount(of_walk, minlength=len(questions.given)), of_walk[walk]
        count = int(mentions.max(initial=0))
        if count <= 1:
            return Joined(question, entity, total, state, state[:, None])
        pair = question * self._size[0] + entity
        pairs = unique(pair)
        offered = np.full((len(pairs), 2 * count), -1)
        row, mention = np.searchsorted(pairs, pair), rank_of(of_walk, len(mentions))[walk]
        offered[row, mention] = state
        offered[row, mention + count] = walks.within(limit, returned, by_cost=True)
        question, entity = np.divmod(pairs, self._size[0])

        def table(column: Ints, missing: int) -> Ints:
            found: Ints = np.append(column, missing)[offered]
            return found

        end, other = questions.asked.end, self.prices.other_seed
        mentions, rows = mentions[question], np.arange(len(entity))
        totals, costs, masks = table(states.total, FAR), table(states.cost, FAR), table(states.mask, 0)
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


def up_to_wanted(question: Ints, keys: Ints, wanted: Ints) -> Ints:
    """Rows up to the last one wanted of each question, and those that are equal to it, ordered by question.

    wanted: (questions,)."""
    order = np.argsort(question.astype(np.int16), kind="stable")
    ends = np.cumsum(np.bincount(question, minlength=len(wanted)))
    worst, keys_in_order = np.full(len(wanted), np.iinfo(np.int64).max), keys[order]
    for number in np.flatnonzero(np.diff(ends, prepend=0) > wanted).tolist():
        its, last = keys_in_order[ends[number - 1] if number else 0 : ends[number]], int(wanted[number]) - 1
        worst[number] = np.partition(its, last)[last]
    best: Ints = order[keys_in_order <= worst[question[order]]]
    return best


def rank_of(question: Ints, count: int) -> Ints:
    """The place of each row among its question's, from 0; the questions ascend."""
    counts = np.bincount(question, minlength=count)
    ranks: Ints = np.arange(len(question)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


def _packed(mentions: Sequence[WeighedMention]) -> list[list[int]]:
    """Seeds of each mention. The last of too many mentions are one."""
    parts: list[list[int]] = []
    for place, mention in enumerate(mentions):
        if place < MENTIONS:
            parts.append([])
        parts[-1].extend(mention.seeds)
    return parts
