"""A question's ranking by paths: the walks of its mentions, joined, and what each cost is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import unique, worth_compiling, zeros_as_touched
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
    States,
    Walk,
    least_of,
)
from tiny_graph_rag.run import NO_STEP

if TYPE_CHECKING:
    from tiny_graph_rag.retrieval.compiled import CompiledLayers

MASS = 1 << 40  # of the random walk from one mention
TIE_BITS, MANTISSA = 30, 24  # of a key: the part below the cost; of it the leading bits of the damped mass
MENTIONS = 8  # that count singly; more of them are taken as one
KNOWN = 1 << 9  # readings whose columns are kept
A_WALK = 8_000  # slots that the readable form looks at in the time that a walk takes besides


@dataclass(frozen=True, slots=True)
class WeighedMention:
    """Seeds that one mention names, each with its share of the mention."""

    seeds: tuple[int, ...]
    shares: tuple[float, ...]


Mentions = tuple[WeighedMention, ...]


class Most(NamedTuple):
    """How many of the best entities are wanted; and how many are enough where a path of the question's only
    mention explains it."""

    wanted: int
    enough: int


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """What the mentions explain together. entity, total, mass: (rows,). shown: of each row the mention whose
    path is shown; taken: (rows, mentions), those that explain it; place: (rows, mentions) into their answers,
    -1 for none."""

    answers: Sequence[Answers]
    entity: Ints
    total: Ints
    mass: Ints
    shown: Ints
    taken: NDArray[np.bool_]
    place: Ints

    def of_mention(self, mention: int, row: Ints) -> tuple[Ints, Ints]:
        """Which of these rows (-1: a seed) show this mention's path, and their places in its answers."""
        mine = np.flatnonzero(row >= 0)
        mine = mine[self.shown[row[mine]] == mention]
        return mine, self.place[row[mine], mention]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question as paths rank it. seeds, masses: of all mentions; own: slots that each seed fills itself."""

    asked: Asked
    reading: Reading
    parts: Sequence[tuple[Ints, Ints]]  # seeds and masses of each mention
    seeds: Ints
    masses: Ints
    own: Ints


@dataclass(frozen=True, slots=True, eq=False)
class RankedPaths:
    """One question's ranking within a hop limit, and what it came from; valid until the next question's.

    entities, best first; keys: cost in thousandths, then the tie part; hops: of the path shown; paths: (rows,
    hops) relations from a seed, filled up with NO_STEP; row: of each entity among the joined answers, -1 for
    a seed."""

    entities: NDArray[np.int32]
    keys: Ints
    hops: NDArray[np.int32]
    paths: NDArray[np.int32]
    row: Ints
    question: Question
    walks: Sequence[Walk]
    joined: Joined


class CheapestPaths:
    """Ranks entities of one graph, question by question, in memory of its own: not for two threads."""

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
        self._layers: Layers | CompiledLayers = Layers(self.graph)
        self._walks = self._looked = 0  # so far
        self._kinds = graph.entities.types
        self._types = len(graph.relations.types.names) + 1
        self._relations = zeros_as_touched(len(graph.relations), np.uint8)
        self._entities = zeros_as_touched(len(graph), np.uint8)
        self._asked = lru_cache(KNOWN)(self._asked_of)

    def rank(
        self, mentions: Mentions, reading: Reading, most: Most, limits: Sequence[int], *, more: int = 0
    ) -> list[RankedPaths]:
        """At each hop limit, the best of the entities within so many hops of the mentions' seeds.

        more: questions that are still to be ranked after this one.
        """
        self._compile_for(more + 1)
        relations, entities = self._marked(reading)
        question = self._question(mentions, reading, max(limits))
        walks = self._walk(question, most, max(limits))
        ranked = [self._ranked(question, walks, most.wanted, limit) for limit in limits]
        self._relations[relations], self._entities[entities] = 0, 0
        return ranked

    def _compile_for(self, questions: int) -> None:
        """Walk by machine code where numba is loaded in less time than it saves on so many questions, which
        are expected to be as large as those so far."""
        if not isinstance(self._layers, Layers) or not self._walks:
            return
        expected = questions * (A_WALK + self._looked // self._walks)
        if worth_compiling(expected, allowed=self.may_compile):
            from tiny_graph_rag.retrieval.compiled import CompiledLayers

            self._layers = CompiledLayers(self.graph)

    def _walk(self, question: Question, most: Most, hops: int) -> list[Walk]:
        """From each mention's seeds."""
        asked, price, others, slack = question.asked, self.prices, len(question.parts) - 1, 0
        if others > 0:  # another mention may fill everything that one leaves empty
            most = Most(most.wanted, most.wanted)
            slack = others * price.other_seed + int(asked.left[0]) + price.off_focus + price.off_head
        walks: list[Walk] = []
        for seeds, masses in question.parts:
            start = Start(seeds, masses, question.seeds)
            walk = self._layers.walk(asked, start, Bounds(hops, *most, self.explained, slack))
            if others > 0:  # the next one may be in the same memory
                walk = copied(walk)
            walks.append(walk)
            self._walks, self._looked = self._walks + 1, self._looked + walk.looked
        return walks

    def _ranked(
        self,
        question: Question,
        walks: Sequence[Walk],
        wanted: int,
        limit: int,
    ) -> RankedPaths:
        asked, seeds = question.asked, question.seeds
        joined = self._joined([walk.within(limit) for walk in walks], asked)
        own = asked.left[question.own] + max(0, len(walks) - 1) * self.prices.other_seed
        if question.reading.asks == OTHERS:
            off = (question.own == 0) | (question.own & asked.head == 0 if asked.head else False)
            own = own + np.where(off, self.prices.off_focus, 0)
        elif question.reading.asks == ONE_OF_SEEDS:
            own = np.zeros_like(own)
        is_first = np.zeros(len(seeds), dtype=bool)
        is_first[np.unique(seeds, return_index=True)[1]] = not self.exclude_seeds
        if len(self.graph.returned):
            is_first &= self.graph.returned[seeds]
        entity = np.concatenate([joined.entity, seeds[is_first]])
        total = np.concatenate([joined.total, own[is_first]])
        row = np.concatenate([np.arange(len(joined.entity)), np.full(int(is_first.sum()), -1)])
        mass = np.concatenate([joined.mass, question.masses[is_first]])
        if len(total) > wanted:
            best = np.flatnonzero(total <= np.partition(total, wanted - 1)[wanted - 1])
            entity, total, row, mass = entity[best], total[best], row[best], mass[best]
        # A seed's mass counts as it is.
        keys = keys_of(total, mass, np.where(row < 0, 1 << 16, self.graph.strength[entity]))
        length = np.zeros(len(row), np.int64)
        for mention, answers in enumerate(joined.answers):
            mine, place = joined.of_mention(mention, row)
            length[mine] = answers.steps[place]
        order = np.lexsort((self.graph.name_rank[entity], length, keys))[:wanted]
        entity, keys, row, length = entity[order], keys[order], row[order], length[order]
        paths = self._paths(joined, walks, row, limit)
        return RankedPaths(
            entity.astype(np.int32), keys, length.astype(np.int32), paths, row, question, walks, joined
        )

    # ---- the question

    def _question(self, mentions: Mentions, reading: Reading, hops: int) -> Question:
        asked = self._asked(reading, hops)
        parts = [(np.array(seeds), np.array(masses)) for seeds, masses in _packed(mentions)]
        none = [np.zeros(0, np.int64)]
        seeds = np.concatenate([*none, *(seeds for seeds, _ in parts)])
        masses = np.concatenate([*none, *(masses for _, masses in parts)])
        own = self._entities[seeds].astype(np.int64) if asked.has_words else 0 * seeds
        return Question(asked, reading, parts, seeds, masses, own)

    def _asked_of(self, reading: Reading, hops: int) -> Asked:
        weight, types = np.zeros(1, np.int64), np.zeros(self._types, np.int64)
        for place, slot in enumerate(reading.slots):
            weight = np.concatenate([weight, weight + slot.weight])
            types[list(slot.types)] |= 1 << place
        left = weight[-1] - weight
        bits = [1 << place for place in range(len(reading.slots))]
        typed = [bit for bit, slot in zip(bits, reading.slots, strict=True) if slot.types]
        words = sum(bits) - sum(typed)
        back = sum(bit for bit, slot in zip(bits, reading.slots, strict=True) if slot.way_back)
        return Asked(
            left, weight, least_of(left, self.prices.step, typed, words, hops), reading.focus,
            reading.head, back, self.prices._replace(unexplained=reading.unexplained), types, words > 0,
            self._relations, self._entities,
        )  # fmt: skip

    def _marked(self, reading: Reading) -> tuple[Ints, Ints]:
        """Mark the relations and entities whose texts hold the question's words; rows to be cleared again."""
        if all(slot.types for slot in reading.slots):
            none = np.zeros(0, np.int64)
            return none, none
        kinds = np.zeros(len(self._kinds.names) + 1, np.uint8)
        relations, entities = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for place, slot in enumerate(reading.slots):
            kinds[list(slot.found.entity_types)] |= 1 << place
            for rows, marks, marked in (
                (slot.found.relations, self._relations, relations),
                (slot.found.entities, self._entities, entities),
            ):
                marks[rows] |= 1 << place
                marked.append(rows.astype(np.int64))
        if kinds.any():
            of_kind = np.flatnonzero(kinds[self._kinds.codes])
            self._entities[of_kind] |= kinds[self._kinds.codes[of_kind]]
            entities.append(of_kind)
        return np.concatenate(relations), np.concatenate(entities)

    # ---- several mentions

    def _joined(self, answers: Sequence[Answers], asked: Asked) -> Joined:
        """Each entity's cheapest explanation over the mentions that reach it: one that is left out costs
        other_seed, one that is taken in costs its own path and fills its slots."""
        other, count = self.prices.other_seed, len(answers)
        if not count:
            none, empty = np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
            return Joined(answers, none, none, none, none, empty > 0, empty)
        if count == 1:
            (only,) = answers
            rows = np.arange(len(only.entity))
            taken = np.ones((len(rows), 1), np.bool_)
            return Joined(answers, only.entity, only.total, only.mass, 0 * rows, taken, rows[:, None])
        entity = unique(np.concatenate([one.entity for one in answers]))
        place = np.full((len(entity), count), -1)
        for mention, one in enumerate(answers):
            place[np.searchsorted(entity, one.entity), mention] = np.arange(len(one.entity))

        def table(name: str, missing: int) -> Ints:
            columns = [np.append(getattr(one, name), missing)[place[:, at]] for at, one in enumerate(answers)]
            return np.stack(columns, 1)

        totals, masses = table("total", FAR), table("mass", 0)
        shown, rows = totals.argmin(1), np.arange(len(entity))
        least = totals[rows, shown]
        costs, masks, lands = table("cost", FAR), table("mask", 0), table("lands", 0).astype(np.bool_)
        cost, mask, land = costs[rows, shown], masks[rows, shown], lands[rows, shown]
        off_head = least - cost - asked.left[mask] - np.where(land, 0, asked.price.off_focus)
        best = least + (count - 1) * other
        mass = np.where(totals == least[:, None], masses, 0).sum(1)
        together, taken = masses[rows, shown], place < 0  # a mention that doesn't reach it can't be taken
        taken[rows, shown] = True
        for number in range(1, count):
            off_focus = np.where(land[:, None] | lands, 0, asked.price.off_focus)
            trial = cost[:, None] + costs + off_head[:, None] + (count - number - 1) * other
            trial += asked.left[mask[:, None] | masks] + off_focus
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
        return Joined(answers, entity, best, mass, shown, taken & (place >= 0), place)

    # ---- paths

    def _paths(self, joined: Joined, walks: Sequence[Walk], row: Ints, hops: int) -> NDArray[np.int32]:
        paths = np.full((len(row), hops), NO_STEP, np.int32)
        for mention, (answers, its) in enumerate(zip(joined.answers, walks, strict=True)):
            mine, place = joined.of_mention(mention, row)
            steps, before, slot = answers.steps[place], answers.before[place], answers.slot[place]
            slots, befores = its.states.slot.reshape(-1), its.states.before.reshape(-1)
            for step in range(hops - 1, -1, -1):
                now = np.flatnonzero(steps > step)
                paths[mine[now], step] = self.graph.relations[slot[now]]
                if step and len(now):
                    slot[now], before[now] = slots[before[now]], befores[before[now]]
        return paths


def copied(walk: Walk) -> Walk:
    """In memory of its own, that the next walk leaves as it is."""
    return walk._replace(
        states=States(*(column.copy() for column in walk.states)),
        answers=Answers(*(column.copy() for column in walk.answers)),
    )


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
