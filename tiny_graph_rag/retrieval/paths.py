"""The ranking of questions by paths: the walks of their mentions, joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, unique, worth_compiling
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.query import ONE_OF_SEEDS, OTHERS, Reading
from tiny_graph_rag.retrieval.walk import (
    FAR,
    Answers,
    Asked,
    Bounds,
    Columns,
    Ints,
    Layers,
    Prices,
    Start,
    Walks,
    least_of,
)
from tiny_graph_rag.run import NO_STEP

if TYPE_CHECKING:
    from tiny_graph_rag.retrieval.compiled import CompiledLayers

MASS = 1 << 40  # of the random walk from one mention
TIE_BITS, MANTISSA = 30, 24  # of a key: the part below the cost; of it the leading bits of the damped mass
MENTIONS = 8  # that count singly; more of them are taken as one
KNOWN = 1 << 9  # readings whose columns are kept
FIRST, AT_ONCE = 4, 64  # questions that are walked together, at most
CELLS = 1 << 23  # of them times the entities or relations of the graph


@dataclass(frozen=True, slots=True)
class WeighedMention:
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


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Those that are ranked together. asked: a row a question; starts: their mentions, a walk each;
    mention: (walks,), the number of each in its question; mentions: (questions,), how many.

    Of their seeds, one after the other: seed_question, seed, mass; own: slots that the seed fills itself."""

    asked: Asked
    given: Sequence[ToRank]
    starts: Sequence[Start]
    walk_question: Ints
    mention: Ints
    mentions: Ints
    seed_question: Ints
    seed: Ints
    mass: Ints
    own: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """What the mentions of each question explain together. question, entity, total, mass: (rows,), ascending
    by question. shown: of each row the mention whose path is shown; taken: (rows, mentions), those that
    explain it; place: (rows, mentions) into the answers, -1 for none."""

    answers: Answers
    question: Ints
    entity: Ints
    total: Ints
    mass: Ints
    shown: Ints
    taken: NDArray[np.bool_]
    place: Ints

    def place_shown(self, row: Ints) -> Ints:
        return self.place[row, self.shown[row]]


@dataclass(frozen=True, slots=True, eq=False)
class RankedPaths:
    """The rankings within a hop limit, and what they came from; valid until the next questions'.

    question, ascending; of each the entities, best first; keys: cost in thousandths, then the tie part; hops:
    of the path shown; paths: (rows, hops) relations from a seed, filled up with NO_STEP; row: of each entity
    among the joined answers, -1 for a seed."""

    question: Ints
    entities: NDArray[np.int32]
    keys: Ints
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
        columns: Columns,
        prices: Prices,
        *,
        explained: Ints,
        exclude_seeds: bool,
        may_compile: bool = True,
    ) -> None:
        """explained: as in Bounds."""
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
        walks = self._layers.walk(questions.asked, questions.starts, Bounds(max(limits), self.explained))
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
        joined, count = self._joined(walks.within(limit), questions), len(questions.given)
        seeds, own = self._seeds(questions)
        question = np.concatenate([joined.question, questions.seed_question[seeds]])
        entity = np.concatenate([joined.entity, questions.seed[seeds]])
        total = np.concatenate([joined.total, own])
        mass = np.concatenate([joined.mass, questions.mass[seeds]])
        row = np.concatenate([np.arange(len(joined.entity)), np.full(len(seeds), -1)])
        length = np.concatenate(
            [joined.answers.steps[joined.place_shown(row[: len(joined.entity)])], 0 * seeds]
        )
        # A seed's mass counts as it is.
        keys = keys_of(total, mass, np.where(row < 0, 1 << 16, self.graph.strength[entity]))
        is_explained = np.zeros(count, np.bool_)
        is_explained[question[total <= self.explained[length]]] = True
        wanted = np.array([one.wanted for one in questions.given], np.int64)
        wanted[is_explained] = np.array([one.enough for one in questions.given], np.int64)[is_explained]
        best = up_to_wanted(question, keys, wanted)
        question, entity, keys, length, row = (
            column[best] for column in (question, entity, keys, length, row)
        )
        order = np.lexsort((self.graph.name_rank[entity], length, keys, question))
        order = order[rank_of(question[order], count) < wanted[question[order]]]
        row = row[order]
        return RankedPaths(
            question[order], entity[order].astype(np.int32), keys[order], length[order].astype(np.int32),
            self._paths(joined, walks, row, limit), row, questions, walks, joined,
        )  # fmt: skip

    def _seeds(self, questions: Questions) -> tuple[Ints, Ints]:
        """Rows of the seeds that may be answers, each once a question, and the total of each."""
        rows = np.zeros(0, np.int64)
        if not self.exclude_seeds:
            _, rows = distinct(questions.seed_question * self._size[0] + questions.seed)
        if len(self.graph.returned):
            rows = rows[self.graph.returned[questions.seed[rows]]]
        asked, own, question = questions.asked, questions.own[rows], questions.seed_question[rows]
        asks = np.array([one.reading.asks for one in questions.given], np.int64)[question]
        head, others = asked.head[question], np.maximum(0, questions.mentions[question] - 1)
        total = asked.left[question, own] + others * self.prices.other_seed
        off = (own == 0) | ((head > 0) & (own & head == 0))
        total += np.where((asks == OTHERS) & off, self.prices.off_focus, 0)
        return rows, np.where(asks == ONE_OF_SEEDS, 0, total)

    # ---- the questions

    def _questions(self, given: Sequence[ToRank], hops: int) -> Questions:
        asked, starts = self._stacked(given, hops), []
        mention: list[int] = []
        for number, one in enumerate(given):
            parts = _packed(one.mentions)
            every = np.array([seed for seeds, _ in parts for seed in seeds], np.int64)
            enough, slack, others, price = one.enough, 0, len(parts) - 1, self.prices
            if others > 0:  # another mention may fill everything that one leaves empty
                enough = one.wanted
                slack = others * price.other_seed + price.off_focus + price.off_head
                slack += int(asked.left[number, 0])
            starts += [
                Start(number, np.array(seeds), np.array(masses), every, one.wanted, enough, slack)
                for seeds, masses in parts
            ]
            mention += range(len(parts))
        question = np.array([start.question for start in starts], np.int64)
        none = np.zeros(0, np.int64)
        seed = np.concatenate([none, *(start.seeds for start in starts)])
        mass = np.concatenate([none, *(start.masses for start in starts)])
        seed_question = np.repeat(question, [len(start.seeds) for start in starts])
        own = 0 * seed
        if asked.has_words.any():
            own = np.where(asked.has_words[seed_question], asked.entities[seed_question, seed], 0)
        return Questions(
            asked, given, starts, question, np.array(mention, np.int64),
            np.bincount(question, minlength=len(given)), seed_question, seed, mass, own.astype(np.int64),
        )  # fmt: skip

    def _stacked(self, given: Sequence[ToRank], hops: int) -> Asked:
        """What the questions ask for; slots that some lack weigh nothing."""
        several = [self._asked(one.reading, hops) for one in given]
        masks, count = max(len(one.left) for one in several), len(several)
        left, weight = np.zeros((count, masks), np.int64), np.zeros((count, masks), np.int64)
        least = np.full((count, hops + 1, masks), FAR)
        for number, one in enumerate(several):
            size = len(one.left)
            left[number, :size], weight[number, :size], least[number, :, :size] = (
                one.left, one.weight, one.least,
            )  # fmt: skip
        columns = (np.array([one[place] for one in several]) for place in range(3, 9))
        has_words = any(one.has_words for one in several)
        entities, relations = (np.zeros((count, size * has_words), np.uint8) for size in self._size)
        asked = Asked._make([left, weight, least, *columns, relations, entities])
        for number, question in enumerate(given):
            if several[number].has_words:
                self._mark(question.reading, relations[number], entities[number])
        return asked

    def _asked_of(self, reading: Reading, hops: int) -> Asked:
        """Of one question, without the relations and entities."""
        weight, types = np.zeros(1, np.int64), np.zeros(self._types, np.uint8)
        for place, slot in enumerate(reading.slots):
            weight = np.concatenate([weight, weight + slot.weight])
            types[list(slot.types)] |= 1 << place
        left = weight[-1] - weight
        bits = [1 << place for place in range(len(reading.slots))]
        typed = [bit for bit, slot in zip(bits, reading.slots, strict=True) if slot.types]
        words = sum(bits) - sum(typed)
        back = sum(bit for bit, slot in zip(bits, reading.slots, strict=True) if slot.way_back)
        least = least_of(left, self.prices.step, typed, words, hops)
        none = np.zeros(0, np.uint8)
        one = map(np.array, (reading.focus, reading.head, back, reading.unexplained, types, words > 0))
        return Asked._make([left, weight, least, *one, none, none])

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

    def _joined(self, answers: Answers, questions: Questions) -> Joined:
        """Each entity's cheapest explanation over the mentions that reach it: one that is left out costs
        other_seed, one that is taken in costs its own path and fills its slots."""
        other, count = self.prices.other_seed, int(questions.mentions.max(initial=0))
        question, rows = questions.walk_question[answers.walk], np.arange(len(answers.walk))
        if count <= 1:
            taken = np.ones((len(rows), 1), np.bool_)
            return Joined(
                answers, question, answers.entity, answers.total, answers.mass, 0 * rows, taken, rows[:, None]
            )
        pair = question * self._size[0] + answers.entity
        pairs = unique(pair)
        place = np.full((len(pairs), count), -1)
        place[np.searchsorted(pairs, pair), questions.mention[answers.walk]] = rows
        question, entity = np.divmod(pairs, self._size[0])
        asked, focus = questions.asked, self.prices.off_focus

        def table(column: Ints, missing: int) -> Ints:
            found: Ints = np.append(column, missing)[place]
            return found

        totals, masses = table(answers.total, FAR), table(answers.mass, 0)
        shown, rows = totals.argmin(1), np.arange(len(entity))
        least = totals[rows, shown]
        costs, masks = table(answers.cost, FAR), table(answers.mask, 0)
        lands = table(answers.lands, 0).astype(np.bool_)
        cost, mask, land = costs[rows, shown], masks[rows, shown], lands[rows, shown]
        off_head = least - cost - asked.left[question, mask] - np.where(land, 0, focus)
        mentions = questions.mentions[question]
        best = least + (mentions - 1) * other
        mass = np.where(totals == least[:, None], masses, 0).sum(1)
        together, taken = masses[rows, shown], place < 0  # a mention that doesn't reach it can't be taken
        taken[rows, shown] = True
        for number in range(1, count):
            trial = cost[:, None] + costs + (off_head + (mentions - number - 1) * other)[:, None]
            trial += asked.left[question[:, None], mask[:, None] | masks]
            trial += np.where(land[:, None] | lands, 0, focus)
            trial[taken] = FAR
            pick = trial.argmin(1)
            better = np.flatnonzero(trial[rows, pick] < best)
            if not len(better):
                break
            at = better, pick[better]
            best[better], taken[at] = trial[at], True
            cost[better] += costs[at]
            mask[better] |= masks[at]
            land[better] |= lands[at]
            together[better] += masses[at]
            mass[better] = together[better]
            blocked = np.ones(len(entity), dtype=bool)
            blocked[better] = False
            costs[blocked] = FAR  # what found none finds none later
        return Joined(answers, question, entity, best, mass, shown, taken & (place >= 0), place)

    # ---- paths

    def _paths(self, joined: Joined, walks: Walks, row: Ints, hops: int) -> NDArray[np.int32]:
        paths = np.full((len(row), hops), NO_STEP, np.int32)
        mine = np.flatnonzero(row >= 0)
        place = joined.place_shown(row[mine])
        steps, before, slot = (
            column[place] for column in (joined.answers.steps, joined.answers.before, joined.answers.slot)
        )
        states = walks.states
        for step in range(hops - 1, -1, -1):
            now = np.flatnonzero(steps > step)
            paths[mine[now], step] = self.graph.relations[slot[now]]
            if step and len(now):
                at = np.divmod(before[now], 2)
                slot[now], before[now] = states.slot[at], states.before[at]
        return paths


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


def _packed(mentions: Sequence[WeighedMention]) -> list[tuple[list[int], list[int]]]:
    """Seeds and masses of each mention. The last of too many mentions are one."""
    parts: list[tuple[list[int], list[int]]] = []
    for place, mention in enumerate(mentions):
        if place < MENTIONS:
            parts.append(([], []))
        parts[-1][0].extend(mention.seeds)
        parts[-1][1].extend(int(MASS * share) for share in mention.shares)
    return parts


def damped(mass: Ints, strength: Ints) -> Ints:
    """Mass by the strength of where it arrives, as a number of TIE_BITS bits that keeps its order."""
    share = (mass << 16) // np.maximum(strength, 1)
    length = np.where(share > 0, np.frexp(share.astype(np.float64))[1], 0).astype(np.int64)
    length += share >> np.minimum(length, 62) > 0  # where rounding to a float came up short or long
    length -= (share > 0) & (share >> np.maximum(length - 1, 0) == 0)
    shift = length - MANTISSA - 1
    part = np.where(shift > 0, share >> np.maximum(shift, 0), share << np.maximum(-shift, 0))
    return (length << MANTISSA) | (part & ((1 << MANTISSA) - 1))


def keys_of(total: Ints, mass: Ints, strength: Ints) -> Ints:
    """By which answers are ordered: less cost first, then more damped mass."""
    return (total << TIE_BITS) + ((1 << TIE_BITS) - 1 - damped(mass, strength))
