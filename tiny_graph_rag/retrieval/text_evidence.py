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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, expanded, found_in
from tiny_graph_rag.columns.sums import Sums, beyond
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.retrieval.cheapest import WeighedMention
from tiny_graph_rag.retrieval.reading import Reading, tokens, without_seeds
from tiny_graph_rag.retrieval.text_index import (
    MILLI,
    NOTHING,
    Bits,
    TextIndex,
    content_stem,
    content_stems,
)
from tiny_graph_rag.retrieval.walkers import MOST_SLOTS, Guide, Start, Visits, Walkers

if TYPE_CHECKING:
    from tiny_graph_rag.retrieval.dense import Nearness

STEPS = 4  # of the walkers from seeds, whatever --hops: what they visit orders, it decides nothing
DRAWN_STEPS = 2  # of those from the entities told most: their neighbours, and who shares those
TOLD_MOST = 50  # entities that they start from
WALKERS = 1 << 30  # in all, whole numbers; a step divides them by whole weights
PLAIN = 1000  # weight of a relation that the question doesn't speak of
GUIDE = 3, 10  # of the bits that speak for a relation, so much is added to its weight, in thousandths
KEPT_ROWS = 1 << 21  # of what words told, before it is forgotten
UNSEEN = 0.01  # of the walkers an entity's share: what the ones never visited count as

Column = NDArray[np.int64]
Key = tuple[frozenset[str], frozenset[str]]  # stems, and those of them that relation types claim
Kept = tuple[tuple[Bits, ...], Guide]  # bits told, beside and drawn, or their sum; and the guide


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """One question's, by source; the total's entities are those of all sources, ascending.

    words: each one's, of which what relation types claim counts half, for their walks explain it as well.
    """

    told: Bits
    beside: Bits
    drawn: Bits
    named: Bits
    visited: Bits
    alike: Bits
    total: Bits
    words: dict[str, Bits]
    asked: int  # bits of all words of content, those that no text knows too
    guide: Guide


class TextEvidence:
    """Weighs texts for the questions of one graph. adjacency: the relations that may be walked."""

    def __init__(self, index: TextIndex, adjacency: Adjacency, near: Nearness | None = None) -> None:
        """near: entities and questions by meaning; without, texts are compared by words alone."""
        self.index, self.graph, self.near = index, index.graph, near
        self.walkers = Walkers(adjacency, index.joins)
        self.fast = False  # whether walkers are compiled
        self._sums = Sums(len(self.graph))
        self._kept: dict[Key, Kept] = {}
        self._kept_rows = 0

    def of(self, question: LinkedQuestion, reading: Reading, mentions: Sequence[WeighedMention]) -> Evidence:
        written, claimed = _outside(question), _claimed(reading)
        # With nothing to walk from, a relation's word alone says no more than its type does.
        stems = sorted(written) if mentions else sorted(written.keys() - claimed)
        words = {
            written[stem]: self.index.halved(stem) if stem in claimed else self.index.bits(stem)
            for stem in stems
        }
        told = self._summed(words.values())
        named = self._named(question)
        asked = sum(each.most or self._unknown for each in words.values())
        alike = NOTHING
        if self.near is not None:
            alike = Bits(np.arange(len(self.graph)), self.near.bits(question))
        told_or_alike = told if self.near is None else self._summed([told, alike])
        guide = self._guide(stems)
        drawn, visited = self._walked(told_or_alike, mentions, guide)
        beside = self._beside(told)
        total = self._summed([told, beside, drawn, named, visited, alike])
        return Evidence(told, beside, drawn, named, visited, alike, total, words, asked, guide)

    def total(self, question: LinkedQuestion, reading: Reading, mentions: Sequence[WeighedMention]) -> Bits:
        """The total of `of` alone, for questions with mentions: what the same words tell is found once."""
        if self.near is not None:
            return self.of(question, reading, mentions).total
        stems, claimed = frozenset(_outside(question)), _claimed(reading)
        key = stems, stems & claimed
        kept = self._kept.get(key)
        if kept is None:
            found = self.of(question, reading, mentions)
            self._keep(key, (found.told, found.beside, found.drawn), found.guide)
            return found.total
        of_words, guide = kept
        if len(of_words) > 1:  # met a second time: others may follow
            once = self._summed(of_words)
            of_words = (Bits(once.entities.astype(np.int32), once.bits),)
            self._keep(key, of_words, guide)
        return self._summed([*of_words, self._named(question), self._visited(mentions, guide)])

    def _keep(self, key: Key, of_words: tuple[Bits, ...], guide: Guide) -> None:
        def rows(kept: Kept) -> int:
            return sum(len(each.entities) for each in kept[0]) + len(kept[1].rows)

        before = self._kept.pop(key, None)
        self._kept_rows += rows((of_words, guide)) - (rows(before) if before else 0)
        if self._kept_rows > KEPT_ROWS:
            self._kept, self._kept_rows = {}, rows((of_words, guide))
        self._kept[key] = of_words, guide

    def _named(self, question: LinkedQuestion) -> Bits:
        return self._summed(
            Bits(bearers, np.full(len(bearers), round(self.index.rarity(len(bearers)) * MILLI)))
            for bearers in map(self._bearers, _mentioned(question))
        )

    def _summed(self, parts: Iterable[Bits]) -> Bits:
        return Bits(*self._sums.of([(each.entities, each.bits) for each in parts]))

    @cached_property
    def _unknown(self) -> int:
        """Bits of a word that no text knows: it is as rare as can be."""
        return round(self.index.rarity(1) * MILLI)

    def _bearers(self, stems: Sequence[str]) -> NDArray[np.signedinteger[Any]]:
        """The entities whose texts hold all the stems."""
        found: NDArray[np.signedinteger[Any]] | None = None
        for stem in stems:
            entities = self.index.bits(stem).entities
            found = entities if found is None else found[found_in(entities, found)]
        return NOTHING.entities if found is None else found

    def _beside(self, told: Bits) -> Bits:
        """The most that a neighbour is told, of neighbours told so much that looking at them is cheap."""
        adjacency, rows = self.walkers.adjacency, told.entities
        first = adjacency.indptr[rows]
        degrees = adjacency.indptr[rows + 1] - first
        kept = told.bits > beyond(told.bits, degrees, MOST_SLOTS)
        owner, slots = expanded(first[kept], degrees[kept])
        neighbours, bits = adjacency.neighbours[slots], told.bits[kept][owner]
        return Bits(*self._sums.of([(neighbours, bits)], how=np.maximum))

    def _walked(self, told: Bits, mentions: Sequence[WeighedMention], guide: Guide) -> tuple[Bits, Bits]:
        """Bits of walkers (drawn, visited): from the entities told most, by what they are told, squared; and
        from each mention's seeds.

        The first stand for seeds where there are none: then the start counts as well.
        """
        kept = told.bits > beyond(told.bits, None, TOLD_MOST)  # ties with the next are left out
        rows = told.entities[kept]
        weights = [each * each for each in told.bits[kept].tolist()]  # Python's: they outgrow 64 bits
        whole = sum(weights)
        mass = np.array([WALKERS * each // whole for each in weights], dtype=np.int64)
        times, starts = _starts(mentions)
        first = Start(rows, mass, DRAWN_STEPS)
        drawn, *visits = self.walkers.visits([first, *starts], guide, fast=self.fast)
        if not mentions:
            drawn = self._sums.of([drawn, (rows, mass)])
        return Bits(drawn[0], self._in_bits(drawn[1])), self._came_by(times, starts, visits)

    def _visited(self, mentions: Sequence[WeighedMention], guide: Guide) -> Bits:
        """Bits of walkers from each mention's seeds alone."""
        times, starts = _starts(mentions)
        return self._came_by(times, starts, self.walkers.visits(starts, guide, fast=self.fast))

    def _came_by(self, times: Sequence[int], starts: Sequence[Start], visits: Sequence[Visits]) -> Bits:
        visited = []
        for often, start, (entities, counts) in zip(times, starts, visits, strict=True):
            others = ~found_in(start.at, entities)  # seeds are as the most visited
            most = np.full(len(start.at), max(1, int(counts.max(initial=0))))
            at = np.concatenate([start.at, entities[others]])
            bits = self._in_bits(np.concatenate([most, counts[others]]))
            visited.append(Bits(at, bits * often))
        return self._summed(visited)

    def _in_bits(self, visits: NDArray[Any]) -> Column:
        """log2 of the share of walkers, relative to none at all."""
        least = UNSEEN / max(1, len(self.graph))
        share = np.log2(visits / WALKERS + least) - math.log2(least)
        return np.rint(MILLI * share).astype(np.int64)

    def _guide(self, stems: Sequence[str]) -> Guide:
        codes = self.graph.relations.types.codes
        of_type = np.full(len(self.graph.relations.types.names) + 1, PLAIN)
        told: list[NDArray[np.int32]] = []
        more: list[Column] = []
        for stem in stems:
            types, rows = self.index.types(stem), self.index.relations(stem)
            if not len(types) and not len(rows):
                continue
            if len(types) and len(rows):
                rows = rows[~found_in(types, codes[rows])]
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
    first = np.flatnonzero(begins(every))
    return every[first], np.add.reduceat(np.concatenate(values)[order], first)


def _starts(mentions: Sequence[WeighedMention]) -> tuple[list[int], list[Start]]:
    """How often each different mention stands in the question, and its walkers: a name that stands there a
    thousand times sends out the same ones each time."""
    times = Counter((tuple(each.seeds), tuple(each.shares)) for each in mentions)
    starts = [
        Start(np.array(seeds, dtype=np.int64), np.array([int(WALKERS * each) for each in shares]), STEPS)
        for seeds, shares in times
    ]
    return list(times.values()), starts


def _claimed(reading: Reading) -> set[str | None]:
    """The stems of words that relation types claim."""
    return {content_stem(word) for slot in reading.slots if slot.types for word in slot.words}


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
    evidence: Evidence | None

    def reasons(self, entity: int, prices: Prices) -> tuple[int, int, list[Reason]]:
        """(row, energy before, the parts that texts add); what they tell of it is taken from the most."""
        place = int(np.flatnonzero(self.entities == entity)[0])
        evidence = self.evidence
        assert evidence is not None  # who asks for reasons had it kept
        told = {stem: found.of(entity) for stem, found in evidence.words.items() if found.of(entity)}
        parts = []
        for what, words, source in (
            ("told of it", tuple(told), evidence.told),
            ("told of a neighbour", (), evidence.beside),
            ("near what is told most", (), evidence.drawn),
            ("like the question in meaning", (), evidence.alike),
            ("named with it", (), evidence.named),
            ("walkers come by", (), evidence.visited),
        ):
            if bits := source.of(entity):
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
    total: Bits,
    prices: Prices,
    may_return: NDArray[np.bool_],
    depth: int,
    evidence: Evidence | None = None,
) -> Weighed:
    """The candidates of a question with seeds: those ranked by explanations and the best by texts.

    total: of all sources. may_return: (entities,), written to. evidence: kept for `reasons`.
    """
    unexplained = prices.unexplained(energies, hops)
    ranked = np.zeros(len(entities), dtype=np.int64)  # bits of each
    if len(total.entities):
        place = np.minimum(np.searchsorted(total.entities, entities), len(total.entities) - 1)
        ranked = np.where(total.entities[place] == entities, total.bits[place], 0)
    may_return[entities] = False
    more = _best(total, may_return, depth)
    usual = int(np.sort(energies)[3 * len(energies) // 4]) if len(energies) else MILLI
    before = np.concatenate([energies, np.full(len(more.entities), usual)])
    bits = np.concatenate([ranked, more.bits])
    most = int(bits.max(initial=0))
    return Weighed(
        np.concatenate([entities, more.entities]).astype(np.int32),
        np.concatenate([np.arange(len(entities)), np.full(len(more.entities), -1)]),
        before,
        before + prices.added(unexplained, most - bits),
        most,
        unexplained,
        evidence,
    )


def told_alone(
    evidence: Evidence, prices: Prices, may_return: NDArray[np.bool_], depth: int
) -> Weighed | None:
    """The candidates where nothing is linked: those that texts speak for most. None where too little is."""
    told = int(evidence.told.bits[may_return[evidence.told.entities]].max(initial=0))
    by_words = not evidence.alike.most  # else words alone can't tell that nothing answers
    if by_words and (told * MILLI < prices.least * evidence.asked or not told):
        return None
    best = _best(evidence.total, may_return, depth)
    entities = best.entities.astype(np.int32)
    most = best.most + evidence.asked - told
    before = np.full(len(entities), MILLI)
    energies = before + prices.added(MILLI, most - best.bits)
    return Weighed(entities, np.full(len(entities), -1), before, energies, most, MILLI, evidence)


def _best(of: Bits, may_return: NDArray[np.bool_], depth: int) -> Bits:
    """The `depth` entities with the most bits, with all that tie with the last."""
    open_ = may_return[of.entities]
    entities, bits = of.entities[open_], of.bits[open_]
    best = bits >= beyond(bits, None, depth - 1)
    return Bits(entities[best], bits[best])
