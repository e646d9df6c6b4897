"""What a question asks for, as slots that a path fills.

1. Relation types claim words of the question; a word serves one type. One slot a mention of a type; a second
   where the question says so.
2. The rarest other words that the graph's texts know, one slot each.
3. Focus: the mention that the last relation should fill; head: the word that says what the answer is.

On a graph whose relation types say nothing (one of them holds nearly all relations) there are no slots.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import NO_ROWS, TextIndex, content_stem
from tiny_graph_rag.language.kinds import KINDS_ASKED, asked_kind
from tiny_graph_rag.language.words import (
    folded_word,
    is_function_word,
    is_korean,
    is_question_word,
    is_return_word,
    keys,
    words_of_name,
)
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.question_words import (
    EITHER,
    NO_CLAIMS,
    NO_WORD,
    Claims,
    RelationWords,
    is_evidence,
    milli,
    noun_asked_for,
    question_word,
    tokens,
    without_seeds,
)

if TYPE_CHECKING:
    from tiny_graph_rag.retrieval.meaning import Meanings


ADJACENT = 1
ANYTHING, OTHERS, ONE_OF_SEEDS = range(3)  # what a question asks for
BITS = 62  # words of a question in one whole number
READ_QUESTIONS = 1 << 14  # readings kept: questions that differ by their seeds alone are read once


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Where a word stands in the graph's texts. weight: in thousandths, higher where the word is rarer.

    relations, entities: rows of those whose text holds it, ascending; entity_types: whose name does.
    """

    weight: int
    relations: NDArray[np.signedinteger[Any]] = field(default_factory=lambda: NO_ROWS)
    entities: NDArray[np.signedinteger[Any]] = field(default_factory=lambda: NO_ROWS)
    entity_types: frozenset[int] = frozenset()


class TextWords:
    """Words of descriptions, of described entities' names and aliases, and of entity types, by stem."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        index: TextIndex,
        vocabulary: Mapping[str, Sequence[str]],
        ranking: RankingPrices,
    ) -> None:
        self.graph, self.index = graph, index
        self._relation_weight = milli(ranking.description_word)
        self._entity_weight = milli(ranking.entity_word)
        types = graph.entities.types
        self._words_of_types: dict[str, set[int]] = {}
        self._kinds = [frozenset(words_of_name(name)) for name in types.names]
        for code, name in enumerate(types.names):
            owners = [folded_word(word) for word in vocabulary.get(name, ())]
            for word in (*self._kinds[code], *owners):
                if not is_function_word(word):
                    self._words_of_types.setdefault(word, set()).add(code)
        self._type_keys: dict[bool, dict[str, set[int]]] = {}
        self._of_type = [len(graph)]
        if len(types.names) != 1:
            self._of_type = np.bincount(types.codes, minlength=len(types.names)).tolist()
        self._known: dict[str, Texts] = {}

    def find(self, word: str) -> Texts:
        texts = self._known.get(word)
        if texts is None:
            texts = self._known[word] = self._find(word)
        return texts

    def asked_for(self, word: str) -> Texts:
        """The entities of the kind that a question word asks for, by their types: who → PERSON."""
        kinds = asked_kind(word)
        types = frozenset(code for code, words in enumerate(self._kinds) if words & kinds)
        weight = self._weight(self._entity_weight, self._count(types), len(self.graph))
        return Texts(weight if types else 0, entity_types=types)

    def _find(self, word: str) -> Texts:
        types: set[int] = set()
        for key in keys(word):
            types |= self._keys_of_types(korean=is_korean(word)).get(key, set())
        relations = entities = NO_ROWS
        stem = content_stem(word)
        if stem is not None:
            relations, entities = self.index.relations(stem), self.index.entities(stem)
        codes = self.graph.entities.types.codes
        offsets = self.graph.entities.descriptions.offsets
        entities = entities[offsets[entities + 1] > offsets[entities]]
        if types:
            entities = entities[[int(code) not in types for code in codes[entities]]]
        count = self._count(types) + len(entities)
        weight = max(
            self._weight(self._relation_weight, len(relations), len(self.graph.relations)),
            self._weight(self._entity_weight, count, len(self.graph)),
        )
        return Texts(weight, relations, entities, frozenset(types))

    def _keys_of_types(self, *, korean: bool) -> dict[str, set[int]]:
        """Each language's own when it is first asked for: English ones need the lemmatiser, a slow import."""
        known = self._type_keys.get(korean)
        if known is None:
            known = {}
            for word, types in self._words_of_types.items():
                for key in keys(word) if is_korean(word) == korean else ():
                    known.setdefault(key, set()).update(types)
            self._type_keys[korean] = known
        return known

    def _count(self, types: Iterable[int]) -> int:
        return sum(self._of_type[code] for code in types)

    @staticmethod
    def _weight(weight: int, count: int, total: int) -> int:
        """The weight where one of many has the word, 0 where all do (or none)."""
        if not count:
            return 0
        return int(weight * (1 - math.log(1 + count) / math.log(1 + total)))


@dataclass(frozen=True, slots=True)
class Slot:
    """weight in thousandths: what an explanation pays that leaves it empty. types: relation types that fill
    it; found: relations and entities whose texts do. way_back: only a step back through the relation that was
    walked last fills it."""

    words: tuple[str, ...]
    weight: int
    types: tuple[int, ...] = ()
    way_back: bool = False
    found: Texts = field(default_factory=lambda: Texts(0))


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """slots: in the order in which a walk from the seed should fill them. focus, head: bits of slots.

    unexplained: price of a step that nothing speaks for. asks: for what: ANYTHING, OTHERS than the seeds, or
    ONE_OF_SEEDS (`A or B?`).
    """

    slots: tuple[Slot, ...] = ()
    focus: int = 0
    head: int = 0
    unexplained: int = 0
    asks: int = ANYTHING


@dataclass(slots=True)
class _Mention:
    types: list[int]
    places: list[int]  # of its own words
    weight: int
    repeated: bool
    to_seed: int = 0


class Reader:
    """Reads questions for one graph. Equal words around equal places of seeds are read once."""

    def __init__(
        self,
        types: RelationWords,
        texts: TextWords,
        ranking: RankingPrices,
        meanings: Meanings | None = None,
        *,
        typed: bool = True,
    ) -> None:
        """typed: whether relation types say anything; without, a question has no slots."""
        self.types, self.texts, self.ranking, self.meanings = types, texts, ranking, meanings
        self.typed = typed
        self._read: dict[str, Reading] = {}

    def prepare(self, questions: Sequence[LinkedQuestion]) -> None:
        """Learn what the words mean that nothing in the graph is like. Only with meanings; once a word."""
        if self.meanings is None:
            return
        texts = {without_seeds(question) for question in questions if question.seeds} - self._read.keys()
        words = {word for text in texts for word in tokens(text)[0].values()}
        self.meanings.learn(sorted(word for word in words if self._is_unlike(word)))

    def _is_unlike(self, word: str) -> bool:
        """Whether a word of content is like none of the graph's; what texts hold is surer than a cosine."""
        if is_function_word(word) or is_question_word(word) or is_return_word(word):
            return False
        return not len(self.types.claims(word)) and self.texts.find(word).weight < milli(self.ranking.rarest)

    def read(self, question: LinkedQuestion) -> Reading:
        masked = without_seeds(question)
        reading = self._read.get(masked)
        if reading is None:
            if len(self._read) >= READ_QUESTIONS:
                self._read.clear()
            reading = self._read[masked] = self._reading(masked if self.typed else "")
        return reading

    def _reading(self, masked: str) -> Reading:
        words, seeds = tokens(masked)
        asking = question_word(words, seeds)
        mentions = self._mentions(words)
        for mention in mentions:
            mention.to_seed = min((abs(a - b) for a in mention.places for b in seeds), default=len(masked))
        focus = _focus(mentions, asking, seeds)
        mentions.sort(key=lambda _mention: (_mention is focus, _mention.to_seed))
        slots, bits = self._slots(mentions, words, focus)
        claimed = {place for mention in mentions for place in mention.places}
        slots, head = self._word_slots(slots, words, claimed, asking)
        content = {word for word in words.values() if not (is_function_word(word) or is_question_word(word))}
        price = milli(self.ranking.unexplained) - milli(self.ranking.long_question) * max(
            0, len(content) - self.ranking.short_question
        )
        unexplained = max(milli(self.ranking.unexplained_least), price)
        asks = OTHERS if slots and (focus is not None or asking is not None) else ANYTHING
        if EITHER.search(masked):
            asks = ONE_OF_SEEDS
        return Reading(tuple(slots), bits, head, unexplained, asks)

    def _mentions(self, words: dict[int, str]) -> list[_Mention]:
        """Types claim words in the order of how much of their name is covered, then of compactness."""
        claims = {place: found for place, word in words.items() if len(found := self._claims(word))}
        if not claims:
            return []
        every, weights, parts = (
            np.concatenate([getattr(claim, column) for claim in claims.values()])
            for column in ("types", "weights", "places")
        )
        bits, places = (
            np.repeat(column, [len(claim) for claim in claims.values()])
            for column in (np.arange(len(claims)), np.array(list(claims)))
        )
        seen = np.zeros(len(self.types.names), dtype=bool)
        seen[every] = True
        types = np.flatnonzero(seen)
        place_of = np.empty(len(seen), dtype=np.int64)
        place_of[types] = np.arange(len(types))
        row = place_of[every]  # of each claim, its type's among `types`
        coverage = self._coverage(types, row, weights, parts)
        span = _spans(row, places, len(types))
        order = (int(coverage.max()) - coverage) * (int(span.max()) + 1) + span
        order = order * len(seen) + self.types.rank[types]
        claimed = np.zeros((1 + len(claims) // BITS, len(types)), dtype=np.int64)  # words, a bit each
        np.add.at(claimed, (bits // BITS, row), 1 << bits % BITS)
        free = np.full((len(claimed), 1), (1 << BITS) - 1)
        mentions: list[_Mention] = []
        while (open_ := ((claimed & free) != 0).any(axis=0)).any():
            first = int(np.where(open_, order, np.iinfo(np.int64).max).argmin())
            mine = np.flatnonzero(row == first)
            own = mine[[bool(free[bit // BITS, 0] >> bit % BITS & 1) for bit in bits[mine].tolist()]]
            named = places[own[parts[own] != NO_WORD]].tolist()
            # With it those that the same words speak for as well: one mention of either.
            same = (claimed == claimed[:, first : first + 1]).all(axis=0) & (coverage == coverage[first])
            mentions.append(
                _Mention(
                    types[same].tolist(),
                    places[own].tolist(),
                    int(weights[own].max()),
                    _stand_apart(named),
                )
            )
            free &= ~claimed[:, first : first + 1]
        return mentions

    def _claims(self, word: str) -> Claims:
        """By embeddings where they are asked for, else by name and vocabulary, else by synonyms; but a word
        like `place`, which may also say what kind of thing is asked for, only where no text knows it."""
        by_meaning = NO_CLAIMS if self.meanings is None else self.meanings.claims(word)
        if len(by_meaning):
            return by_meaning
        claims = self.types.claims(word)
        if (
            len(claims)
            or not self.types.has_synonym(word)
            or (word in KINDS_ASKED and not self._is_unlike(word))
        ):
            return claims
        return self.types.by_synonym(word)

    def _coverage(
        self,
        types: NDArray[np.int64],
        row: NDArray[np.int64],
        weights: NDArray[np.int64],
        parts: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """How much of each type's name is covered, in thousandths; what its owner says covers all of it."""
        lengths = self.types.lengths[types]
        first = np.cumsum(lengths + 1) - lengths - 1  # a place for what stands for no word, then the words'
        cover = np.zeros(int(lengths.sum()) + len(types), dtype=np.int64)
        np.maximum.at(cover, first[row] + parts - NO_WORD, weights)
        by_owner = cover[first]
        of_words = np.add.reduceat(cover, first) - by_owner
        coverage: NDArray[np.int64] = np.maximum(by_owner, of_words // np.maximum(1, lengths))
        return coverage

    def _slots(
        self, mentions: list[_Mention], words: dict[int, str], focus: _Mention | None
    ) -> tuple[list[Slot], int]:
        returns = [place for place, word in words.items() if is_return_word(word)]
        there_and_back = min(
            mentions,
            key=lambda item: (min(abs(a - b) for a in item.places for b in returns), item is focus),
            default=None,
        ) if returns else None  # fmt: skip
        slots: list[Slot] = []
        bits = 0
        for mention in mentions:
            own = tuple(words[place] for place in mention.places)
            twice = any(
                own[i] == own[j] and mention.places[i] - mention.places[j] > ADJACENT
                for i in range(len(own))
                for j in range(i)
            )
            second = mention.weight if twice else milli(self.ranking.repeated) if mention.repeated else 0
            if mention is there_and_back:
                second = max(second, milli(self.ranking.there_and_back))
            for weight, way_back in ((mention.weight, False), (second, not twice)):
                if weight and len(slots) < self.ranking.slots - 1:
                    bits |= (mention is focus) << len(slots)
                    slots.append(Slot(own, weight, tuple(mention.types), way_back=way_back))
        return slots, bits

    def _word_slots(
        self, slots: list[Slot], words: dict[int, str], claimed: set[int], asking: int | None
    ) -> tuple[list[Slot], int]:
        heads = noun_asked_for(words, asking)
        found: list[tuple[int, int, tuple[str, ...], Texts]] = []
        seen: set[str] = set()
        for place, word in words.items():
            if place in claimed or word in seen or not is_evidence(word):
                continue
            seen.add(word)
            where = self.texts.find(word)
            found.append((-where.weight, place, (word,), where))
        if asking is not None and is_evidence(words[asking], asks=True):
            where = self.texts.asked_for(words[asking])
            found.append((-where.weight, asking, (words[asking],), where))
            heads = heads | {asking}
        head = 0
        slots = list(slots)
        for weight, place, own, where in sorted(found, key=lambda pair: pair[:2]):
            if -weight >= milli(self.ranking.rarest) and len(slots) < self.ranking.slots:
                head |= (place in heads) << len(slots)
                slots.append(Slot(own, -weight, found=where))
        return slots, head


def _focus(mentions: Sequence[_Mention], asking: int | None, seeds: Sequence[int]) -> _Mention | None:
    """The mention nearest to the question word, no seed between; without one, the farthest from a seed."""
    near: list[tuple[int, int, int]] = []
    if asking is not None:
        for index, mention in enumerate(mentions):
            for place in mention.places:
                low, high = min(place, asking), max(place, asking)
                if not any(low < seed < high for seed in seeds):
                    near.append((high - low, -mention.to_seed, index))
    if near:
        return mentions[min(near)[2]]
    return max(mentions, key=lambda _mention: _mention.to_seed, default=None)


def _spans(row: NDArray[np.int64], places: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """From the first to the last place of each row."""
    low, high = np.full(rows, int(places.max())), np.zeros(rows, dtype=np.int64)
    np.minimum.at(low, row, places)
    np.maximum.at(high, row, places)
    spans: NDArray[np.int64] = high - low
    return spans


def _stand_apart(places: Sequence[int]) -> bool:
    """Whether two words of one mention have others between: *directed* by the *director* of."""
    return any(after - before > ADJACENT for before, after in pairwise(places))
