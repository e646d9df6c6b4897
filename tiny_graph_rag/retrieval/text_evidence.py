"""What texts say of an entity, in bits, beside what its cheapest explanation costs.

Five sources of equal weight, in thousandths of bits, so that threads and compilation change nothing:
told, the words of the question outside its mentions, by BM25F; beside, the most that a neighbour is told;
drawn, walkers from those told most; named, each mention as one unit, by the rarity of the entities whose
texts hold all its words; visited, walkers from each mention's seeds. Walkers prefer relations that the
question speaks of, and step over between entities of nearly one name or of which one's description names the
other.
The more of the question the best explanation leaves unexplained, the more bits count:
E' = E + price × U × (most bits − bits).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import found_in
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.graph.traversal import slots_of
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.retrieval.cheapest import WeighedMention
from tiny_graph_rag.retrieval.reading import Reading, tokens, without_seeds
from tiny_graph_rag.retrieval.text_index import MILLI, Bits, TextIndex, content_stem, content_stems
from tiny_graph_rag.retrieval.walkers import MOST_SLOTS, Guide, Walkers

if TYPE_CHECKING:
    from tiny_graph_rag.retrieval.dense import Nearness

STEPS = 4  # of the walkers from seeds, whatever --hops: what they visit orders, it decides nothing
DRAWN_STEPS = 2  # of those from the entities told most: their neighbours, and who shares those
TOLD_MOST = 50  # entities that they start from
WALKERS = 1 << 30  # in all, whole numbers; a step divides them by whole weights
PLAIN = 1000  # weight of a relation that the question doesn't speak of
GUIDE = 3, 10  # of the bits that speak for a relation, so much is added to its weight, in thousandths
UNSEEN = 0.01  # of the walkers an entity's share: what the ones never visited count as

Column = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """One question's, each source int64 (entities,), thousandths of bits. words: each one's, of which what
    relation types claim counts half, for their walks explain it as well."""

    told: Column
    beside: Column
    drawn: Column
    named: Column
    visited: Column
    alike: Column
    words: dict[str, Bits]
    asked: int  # bits of all words of content, those that no text knows too

    @property
    def total(self) -> Column:
        return self.told + self.beside + self.drawn + self.named + self.visited + self.alike


class TextEvidence:
    """Weighs texts for the questions of one graph. adjacency: the relations that may be walked."""

    def __init__(self, index: TextIndex, adjacency: Adjacency, near: Nearness | None = None) -> None:
        """near: entities and questions by meaning; without, texts are compared by words alone."""
        self.index, self.graph, self.near = index, index.graph, near
        self.walkers = Walkers(adjacency, index.joins)
        self.fast = False  # whether walkers are compiled

    def of(self, question: LinkedQuestion, reading: Reading, mentions: Sequence[WeighedMention]) -> Evidence:
        size = len(self.graph)
        claimed = {content_stem(word) for slot in reading.slots if slot.types for word in slot.words}
        written = _outside(question)
        # With nothing to walk from, a relation's word alone says no more than its type does.
        stems = sorted(written) if mentions else sorted(written.keys() - claimed)
        found = {stem: self.index.bits(stem) for stem in stems}
        words = {written[stem]: found[stem].halved() if stem in claimed else found[stem] for stem in stems}
        told = np.zeros(size, dtype=np.int64)
        for each in words.values():
            told[each.entities] += each.bits
        named = np.zeros(size, dtype=np.int64)
        for unit in _mentioned(question):
            bearers = self._bearers(unit)
            named[bearers] += round(self.index.rarity(len(bearers)) * MILLI)
        guide = self._guide(stems)
        visited = np.zeros(size, dtype=np.int64)
        # A name that stands in the question a thousand times sends out the same walkers each time.
        alike_ones = {(tuple(each.seeds), tuple(each.shares)): each for each in mentions}
        times = Counter((tuple(each.seeds), tuple(each.shares)) for each in mentions)
        for key, mention in alike_ones.items():
            visited += times[key] * self._visited(mention, guide)
        asked = sum(int(each.bits.max(initial=0)) or self._unknown for each in words.values())
        alike = np.zeros(size, dtype=np.int64) if self.near is None else self.near.bits(question)
        drawn = self._drawn(told + alike, guide, seedless=not mentions)
        return Evidence(told, self._beside(told), drawn, named, visited, alike, words, asked)

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

    def _beside(self, told: Column) -> Column:
        """The most that a neighbour is told, of neighbours told so much that looking at them is cheap."""
        beside, adjacency = np.zeros(len(told), dtype=np.int64), self.walkers.adjacency
        rows = np.flatnonzero(told > 0).astype(np.int32)
        rows = rows[np.argsort(-told[rows], kind="stable")]
        seen = int(np.searchsorted(np.cumsum(adjacency.degrees[rows]), MOST_SLOTS, side="right"))
        if seen < len(rows):  # a tie is looked at as a whole or not at all
            rows = rows[told[rows] > told[rows[seen]]]
        neighbours = adjacency.neighbours[slots_of(adjacency, rows)]
        np.maximum.at(beside, neighbours, np.repeat(told[rows], adjacency.degrees[rows]))
        return beside

    def _drawn(self, told: Column, guide: Guide, *, seedless: bool) -> Column:
        """Bits of walkers from the entities told most, by what they are told, squared.

        These stand for seeds where there are none: then the start counts as well.
        """
        rows = np.flatnonzero(told > 0)
        if len(rows) > TOLD_MOST:  # ties with the next are left out
            rows = rows[told[rows] > np.partition(told[rows], -TOLD_MOST - 1)[-TOLD_MOST - 1]]
        weights = [each * each for each in told[rows].tolist()]  # Python's: they outgrow 64 bits
        mass = np.array([WALKERS * each // sum(weights) for each in weights], dtype=np.int64)
        visits = self.walkers.visits(rows.astype(np.int32), mass, guide, DRAWN_STEPS, fast=self.fast)
        if seedless:
            visits[rows] += mass
        return self._in_bits(visits)

    def _visited(self, mention: WeighedMention, guide: Guide) -> Column:
        """Bits of walkers from a mention's seeds; seeds as the most visited."""
        seeds = np.array(mention.seeds, dtype=np.int32)
        mass = np.array([int(WALKERS * each) for each in mention.shares])
        visits = self.walkers.visits(seeds, mass, guide, STEPS, fast=self.fast)
        visits[seeds] = max(1, int(visits.max(initial=0)))
        return self._in_bits(visits)

    def _in_bits(self, visits: Column) -> Column:
        """log2 of the share of walkers, relative to none at all."""
        least = UNSEEN / max(1, len(visits))
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


def _mentioned(question: LinkedQuestion) -> list[list[str]]:
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
        """U: what the best explanation leaves unexplained, in thousandths; 0 for little."""
        if not len(energies):
            return MILLI
        best = int((energies - self.step * np.maximum(hops, 0)).min())
        return 0 if best <= self.kept else best

    def added(self, unexplained: int, missing: Column) -> Column:
        """Energy, in thousandths, for so many thousandths of bits less than the best has."""
        added: Column = self.bit * unexplained * missing // (MILLI * MILLI)
        return added


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Candidates with what texts make of their energies, in thousandths, in no order.

    rows: of the ranking by explanations, -1 for those that texts alone bring. before: energy as explained, or
    that three quarters down the ranking. most: bits of the best. unexplained: U.
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
            ("told of a neighbour", (), int(self.evidence.beside[entity])),
            ("near what is told most", (), int(self.evidence.drawn[entity])),
            ("like the question in meaning", (), int(self.evidence.alike[entity])),
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
    usual = int(np.sort(energies)[3 * len(energies) // 4]) if len(energies) else MILLI
    every = np.concatenate([entities, more])
    before = np.concatenate([energies, np.full(len(more), usual)])
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
    """The candidates where nothing is linked: those that texts speak for most. None where too little is."""
    told = int(np.where(may_return, evidence.told, 0).max(initial=0))
    by_words = not evidence.alike.any()  # else words alone can't tell that nothing answers
    if by_words and (told * MILLI < prices.least * evidence.asked or not told):
        return None
    total = np.where(may_return, evidence.total, 0)
    entities = _best(total, depth)
    most = int(total.max()) + evidence.asked - told
    before = np.full(len(entities), MILLI)
    energies = before + prices.added(MILLI, most - total[entities])
    return Weighed(entities, np.full(len(entities), -1), before, energies, most, MILLI, evidence)


def _best(bits: Column, depth: int) -> NDArray[np.int32]:
    """The `depth` entities with the most bits, with all that tie with the last; none without any."""
    some = np.flatnonzero(bits > 0)
    if len(some) > depth:
        values = bits[some]
        some = some[values >= np.partition(values, len(values) - depth)[len(values) - depth]]
    return some.astype(np.int32)
