"""What texts say of an entity, in bits, beside what its cheapest explanation costs.

Three sources, in thousandths of bits, so that threads and compilation change nothing:
told, the words of the question outside its mentions that no relation type claims, by BM25F; named, each
mention as one unit, by the rarity of the entities whose texts hold all its words; visited, walkers from the
seeds, who prefer relations that the question speaks of and step over between entities of nearly one name.
The more of the question the best explanation leaves unexplained, the more bits count:
E' = E + price × U × (most bits − bits).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import found_in
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.retrieval.reading import Reading, tokens, without_seeds
from tiny_graph_rag.retrieval.text_index import MILLI, Bits, TextIndex, content_stem, content_stems
from tiny_graph_rag.retrieval.walkers import Guide, Walkers

STEPS = 4  # of the walkers, whatever --hops: what they visit orders, it decides nothing
WALKERS = 1 << 30  # in all, whole numbers; a step divides them by whole weights
PLAIN = 1000  # weight of a relation that the question doesn't speak of
GUIDE = 3, 10  # of the bits that speak for a relation, so much is added to its weight, in thousandths
UNSEEN = 0.01  # of the walkers an entity's share: what the ones never visited count as

Column = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """One question's. told, named, visited: int64 (entities,), thousandths of bits. words: each one's."""

    told: Column
    named: Column
    visited: Column
    words: dict[str, Bits]
    asked: int  # bits of all words of content, those that no text knows too

    @property
    def total(self) -> Column:
        return self.told + self.named + self.visited


class TextEvidence:
    """Weighs texts for the questions of one graph. adjacency: the relations that may be walked."""

    def __init__(self, index: TextIndex, adjacency: Adjacency) -> None:
        self.index, self.graph = index, index.graph
        self.walkers = Walkers(adjacency, index.joins)
        self.fast = False  # whether walkers are compiled

    def of(self, question: LinkedQuestion, reading: Reading) -> Evidence:
        size = len(self.graph)
        claimed = {content_stem(word) for slot in reading.slots if slot.types for word in slot.words}
        written = {stem: word for stem, word in _outside(question).items() if stem not in claimed}
        words = {written[stem]: self.index.bits(stem) for stem in sorted(written)}
        told = np.zeros(size, dtype=np.int64)
        for each in words.values():
            told[each.entities] += each.bits
        named = np.zeros(size, dtype=np.int64)
        for mention in _mentions(question):
            bearers = self._bearers(mention)
            named[bearers] += round(self.index.rarity(len(bearers)) * MILLI)
        asked = sum(int(each.bits.max(initial=0)) or self._unknown for each in words.values())
        return Evidence(told, named, self._visited(question, sorted(written)), words, asked)

    @cached_property
    def _unknown(self) -> int:
        """Bits of a word that no text knows: it is as rare as can be."""
        return round(self.index.rarity(1) * MILLI)

    def _bearers(self, stems: Sequence[str]) -> NDArray[np.int32]:
        """The entities whose texts hold all the stems."""
        found: NDArray[np.int32] | None = None
        for stem in stems:
            entities = self.index.bits(stem).entities
            found = entities if found is None else found[found_in(entities, found)]
        return np.zeros(0, dtype=np.int32) if found is None else found

    def _visited(self, question: LinkedQuestion, stems: Sequence[str]) -> Column:
        """log2 of the share of walkers that come by, relative to none at all; seeds as the most visited."""
        size = len(self.graph)
        visits = np.zeros(size, dtype=np.int64)
        starts: dict[int, float] = {}
        for seed in question.seeds:
            starts[seed.entity] = starts.get(seed.entity, 0.0) + seed.weight
        if not starts:
            return visits
        seeds = np.array(sorted(starts), dtype=np.int32)
        total = sum(starts[each] for each in sorted(starts))
        at, mass = seeds, np.array([int(WALKERS * starts[each] / total) for each in seeds.tolist()])
        guide = self._guide(stems)
        visits = self.walkers.visits(at, mass, guide, STEPS, fast=self.fast)
        visits[seeds] = visits.max()
        least = UNSEEN / size
        seen = np.flatnonzero(visits > 0)
        share = np.log2(visits[seen] / WALKERS + least) - math.log2(least)
        visits[seen] = np.rint(MILLI * share).astype(np.int64)
        return visits

    def _guide(self, stems: Sequence[str]) -> Guide:
        codes = self.graph.relations.types.codes
        of_type = np.full(len(self.graph.relations.types.names) + 1, PLAIN)
        told: list[NDArray[np.int32]] = []
        more: list[Column] = []
        for stem in stems:
            types, rows = list(self.index.types(stem)), self.index.relations(stem)
            if not types and not len(rows):
                continue
            rows = rows[~found_in(np.array(types, dtype=np.int32), codes[rows])] if types else rows
            bearers = len(rows) + int(self._of_type[types].sum())
            rest = len(codes) - bearers
            added = round(math.log2(1 + (rest + 0.5) / (bearers + 0.5)) * MILLI) * GUIDE[0] // GUIDE[1]
            of_type[types] += added
            told.append(rows)
            more.append(np.full(len(rows), added))
        return Guide(codes, of_type, *_summed(told, more))

    @cached_property
    def _of_type(self) -> Column:
        types = self.graph.relations.types
        return np.bincount(types.codes, minlength=len(types.names) + 1)


def _summed(rows: list[NDArray[np.int32]], values: list[Column]) -> tuple[NDArray[np.int32], Column]:
    """Each row once, ascending, with the sum of its values."""
    if not any(map(len, rows)):
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
    every = np.concatenate(rows)
    order = np.argsort(every, kind="stable")
    every = every[order]
    first = np.flatnonzero(np.append(True, every[1:] != every[:-1]))
    return every[first], np.add.reduceat(np.concatenate(values)[order], first)


def _outside(question: LinkedQuestion) -> dict[str, str]:
    """The stems of the question's words of content outside its mentions, each with a word that has it."""
    words, _ = tokens(without_seeds(question))
    return {stem: word for word in words.values() if (stem := content_stem(word)) is not None}


def _mentions(question: LinkedQuestion) -> list[list[str]]:
    """The stems of each mention, once a mention."""
    spans = {(seed.start, seed.end) for seed in question.seeds}
    texts = [
        question.text[a:b] for a, b in sorted((a, b) for a, b in spans if a is not None and b is not None)
    ]
    return [stems for text in texts if (stems := content_stems(text))]


@dataclass(frozen=True, slots=True)
class Prices:
    """In thousandths. bit: of energy for each bit less than the best has, where nothing is explained; kept:
    up to so much left unexplained, the order of explanations stands; step: what a hop is bound to cost;
    least: share of the question's bits that texts must tell where nothing is linked."""

    bit: int
    kept: int
    step: int
    least: int

    @classmethod
    def of(cls, ranking: RankingPrices) -> Prices:
        return cls(
            bit=round(ranking.text_bit * MILLI),
            kept=round(ranking.explained * MILLI),
            step=2 * round(ranking.step * MILLI),
            least=round(ranking.told_least * MILLI),
        )

    def unexplained(self, energies: Column, hops: NDArray[np.int32]) -> int:
        """U: what the best explanation leaves unexplained, in thousandths, at most 1; 0 for little."""
        if not len(energies):
            return MILLI
        best = int((energies - self.step * np.maximum(hops, 0)).min())
        return 0 if best <= self.kept else min(best, MILLI)

    def added(self, unexplained: int, missing: Column) -> Column:
        """Energy, in thousandths, for so many thousandths of bits less than the best has."""
        added: Column = self.bit * unexplained * missing // (MILLI * MILLI)
        return added


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Candidates with what texts make of their energies, in thousandths, in no order.

    rows: of the ranking by explanations, -1 for those that texts alone bring. before: energy as explained, or
    that of the last one ranked. most: bits of the best. unexplained: U.
    """

    entities: NDArray[np.int32]
    rows: NDArray[np.int64]
    before: Column
    energies: Column
    most: int
    unexplained: int
    evidence: Evidence

    def reasons(self, entity: int, prices: Prices) -> tuple[int, int, list[Reason]]:
        """(row, energy before, the parts that texts add); what they tell of it is taken from the most."""
        place = int(np.flatnonzero(self.entities == entity)[0])
        told = {stem: found.of(entity) for stem, found in self.evidence.words.items() if found.of(entity)}
        parts = []
        for what, words, bits in (
            ("told of it", tuple(told), int(self.evidence.told[entity])),
            ("named with it", (), int(self.evidence.named[entity])),
            ("walkers come by", (), int(self.evidence.visited[entity])),
        ):
            if bits:
                price = int(prices.added(self.unexplained, np.array(bits)))
                parts.append(Reason(f"{what}: {bits / MILLI:.1f} bits", words, -price / MILLI))
        before, energy = int(self.before[place]), int(self.energies[place])
        rest = energy - before - sum(round(part.price * MILLI) for part in parts)
        most = Reason(f"the most that texts tell of any: {self.most / MILLI:.1f} bits", (), rest / MILLI)
        return int(self.rows[place]), before, [most, *parts]


def weighed(
    entities: NDArray[np.int32],
    hops: NDArray[np.int32],
    energies: Column,
    evidence: Evidence,
    prices: Prices,
    may_return: NDArray[np.bool_],
    depth: int,
) -> Weighed | None:
    """The candidates of a question with seeds: those ranked by explanations and the best by texts.

    None where the explanations need no texts.
    """
    unexplained = prices.unexplained(energies, hops)
    if not unexplained:
        return None
    total = evidence.total
    open_ = may_return & (total > 0)
    open_[entities] = False
    more = _best(np.where(open_, total, 0), depth)
    worst = int(energies.max(initial=0)) if len(energies) else MILLI
    every = np.concatenate([entities, more])
    before = np.concatenate([energies, np.full(len(more), worst)])
    most = int(total[every].max(initial=0))
    return Weighed(
        every,
        np.concatenate([np.arange(len(entities)), np.full(len(more), -1)]),
        before,
        before + prices.added(unexplained, most - total[every]),
        most,
        unexplained,
        evidence,
    )


def told_alone(
    evidence: Evidence, prices: Prices, may_return: NDArray[np.bool_], depth: int
) -> Weighed | None:
    """The candidates where nothing is linked: those told most of; None where that is too little."""
    told = np.where(may_return, evidence.told, 0)
    most = int(told.max(initial=0))
    if most * MILLI < prices.least * evidence.asked or not most:
        return None
    entities = _best(told, depth)
    before = np.full(len(entities), MILLI)
    energies = before + prices.added(MILLI, evidence.asked - told[entities])
    return Weighed(entities, np.full(len(entities), -1), before, energies, evidence.asked, MILLI, evidence)


def _best(bits: Column, depth: int) -> NDArray[np.int32]:
    """The `depth` entities with the most bits, with all that tie with the last; none without any."""
    some = np.flatnonzero(bits > 0)
    if len(some) > depth:
        values = bits[some]
        some = some[values >= np.partition(values, len(values) - depth)[len(values) - depth]]
    return some.astype(np.int32)
