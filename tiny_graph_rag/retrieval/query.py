"""What a question asks for, as slots that a path fills.

1. Relation types claim words of the question; a word serves one type. One slot a mention of a type; a second
   where the question says so.
2. The rarest other words that the graph's texts know, one slot each.
3. Focus: the mention that is asked for, which a step should fill; head: the word that says what the
   answer is.

On a graph whose relation types say nothing (one of them holds nearly all relations) there are no slots.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import unique
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import NO_ROWS, TextIndex, content_stem
from tiny_graph_rag.language.folding import folded_letters
from tiny_graph_rag.language.function_words import (
    AUXILIARIES,
    ENGLISH_ADVERBS,
    KOREAN_ADVERBS,
    RELATIVE,
)
from tiny_graph_rag.language.kinds import asked_kind
from tiny_graph_rag.language.words import (
    is_function_word,
    is_in_listed_language,
    is_question_word,
    is_return_word,
    text_key,
    words_of_name,
)
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.linking.question_words import (
    EITHER,
    NO_WORD,
    RelationWords,
    extent,
    is_evidence,
    milli,
    noun_asked_for,
    question_word,
    tokens,
    without_seeds,
)

LETTERS_OF_A_STEP = 27  # that a question has at most for each step it asks for, in every script we know of
FEWEST_LETTERS = 6  # that ask for a step: *chi è* and *siapa* ask for what they name
ABROAD = 10  # one in so many relation types in another language makes a graph of several
OFFERED = -1  # price of a named entity where the question asks for one of them
READ_QUESTIONS = 1 << 14  # readings kept: questions that differ by their seeds alone are read once


class Texts(Struct, frozen=True, eq=False):
    """Where a word stands in the graph's texts. weight: in thousandths, higher where the word is rarer.

    relations, entities: rows of those whose text holds it, ascending; entity_types: whose name does.
    """

    weight: int
    relations: NDArray[np.signedinteger[Any]] = NO_ROWS
    entities: NDArray[np.signedinteger[Any]] = NO_ROWS
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
        self._types_by_key: dict[str, set[int]] = {}
        self._kinds = [frozenset(words_of_name(name)) for name in types.names]
        for code, name in enumerate(types.names):
            owners = [folded_letters(word) for word in vocabulary.get(name, ())]
            for word in (*self._kinds[code], *owners):
                if not is_function_word(word):
                    self._types_by_key.setdefault(text_key(word), set()).add(code)
        self._of_type = np.bincount(types.codes, minlength=len(types.names)).tolist()
        self.find = cache(self._find)

    @cached_property
    def is_bare(self) -> bool:
        """Whether nothing in the graph is described."""
        entities, relations = self.graph.entities.descriptions, self.graph.relations.descriptions
        return not int(entities.offsets[-1]) and not int(relations.offsets[-1])

    def of_types(self, types: Sequence[int]) -> Texts:
        """The relations of these types."""
        return Texts(0, np.flatnonzero(np.isin(self.graph.relations.types.codes, types)))

    def ends_of(self, types: Sequence[int]) -> Texts:
        """The targets of the relations of these types."""
        relations = self.graph.relations
        entities = unique(relations.targets[np.isin(relations.types.codes, types)])
        return Texts(self._weight(self._entity_weight, len(entities), len(self.graph)), entities=entities)

    def asked_for(self, word: str, ends: Sequence[int]) -> Texts:
        """The entities of the kind that a question word asks for, by their types: who → PERSON. Where none
        is of it, the targets of the relations of these types."""
        kinds = asked_kind(word)
        types = frozenset(code for code, words in enumerate(self._kinds) if words & kinds)
        weight = self._weight(self._entity_weight, self._count(types), len(self.graph))
        return Texts(weight, entity_types=types) if types else self.ends_of(ends)

    def _find(self, word: str) -> Texts:
        """Where a word stands: `find`, each word once."""
        types = self._types_by_key.get(text_key(word), set())
        relations = entities = NO_ROWS
        stem = content_stem(word)
        if stem is not None:
            relations, _ = self.index.holding(stem, self.index.told)
            entities, _ = self.index.holding(stem, self.index.own)
        offsets = self.graph.entities.descriptions.offsets
        entities = entities[offsets[entities + 1] > offsets[entities]]
        count = self._count(types) + len(entities)
        weight = max(
            self._weight(self._relation_weight, len(relations), len(self.graph.relations)),
            self._weight(self._entity_weight, count, len(self.graph)),
        )
        return Texts(weight, relations, entities, frozenset(types))

    def _count(self, types: Iterable[int]) -> int:
        return sum(self._of_type[code] for code in types)

    @staticmethod
    def _weight(weight: int, count: int, total: int) -> int:
        """The weight where one of many has the word, 0 where all do (or none)."""
        if not count:
            return 0
        return int(weight * (1 - math.log(1 + count) / math.log(1 + total)))


class Slot(Struct, frozen=True):
    """weight in thousandths: what an explanation pays that leaves it empty. types: relation types that fill
    it; found: relations and entities whose texts do."""

    words: tuple[str, ...]
    weight: int
    types: tuple[int, ...] = ()
    found: Texts = Texts(0)


class Reading(Struct, frozen=True, eq=False):
    """slots: in the order in which a walk from the seed should fill them. focus, head: bits of slots.

    unexplained: price of a step that nothing speaks for. named: of a named entity as the answer, of a text
    seed at most `off_focus`; OFFERED for `A or B?`.
    """

    slots: tuple[Slot, ...] = ()
    focus: int = 0
    head: int = 0
    unexplained: int = 0
    named: int = 0


class WeighedMention(NamedTuple):
    """Seeds that one mention names, each with its share of the mention."""

    seeds: tuple[int, ...]
    shares: tuple[float, ...]


Mentions = tuple[WeighedMention, ...]


def mentions_of(seeds: Sequence[Seed]) -> Mentions:
    """Seeds by the mention that names them, in the order of the text; all text seeds are one mention."""
    spans: dict[tuple[int | None, int | None, str], dict[int, float]] = {}
    for seed in seeds:
        span = (None, None, "") if seed.is_text else (seed.start, seed.end, seed.mention)
        shares = spans.setdefault(span, {})
        shares[seed.entity] = max(seed.weight, shares.get(seed.entity, 0.0))
    return tuple(
        WeighedMention(tuple(sorted(shares)), tuple(shares[entity] / total for entity in sorted(shares)))
        for shares, total in ((shares, sum(shares.values())) for shares in spans.values())
    )


class _Mention(Struct):
    types: list[int]
    places: list[int]  # of its own words
    weight: int
    repeated: bool  # two of them have others between: *directed* by the *director* of
    to_seed: int = 0
    others: Sequence[int] = ()  # types that may mean the same in another language, for less


class Reader:
    """Reads questions for one graph. Equal words around equal places of seeds are read once."""

    def __init__(
        self,
        types: RelationWords,
        texts: TextWords,
        ranking: RankingPrices,
        *,
        typed: bool = True,
    ) -> None:
        """typed: whether relation types say anything; without, a question has no slots."""
        self.types, self.texts, self.ranking, self.typed = types, texts, ranking, typed
        self._reading = lru_cache(READ_QUESTIONS)(self._reading_of)

    def read(self, question: LinkedQuestion) -> Reading:
        return self._reading(without_seeds(question)) if self.typed else Reading()

    def _reading_of(self, masked: str) -> Reading:
        words, seeds = tokens(masked)
        asking = question_word(words, seeds)
        listed = is_in_listed_language(masked)
        mentions = self._mentions(words, listed=listed)
        for mention in mentions:  # with the same relations in other languages
            more = [other for type_ in mention.types for other in self.types.translations[type_]]
            mention.types = list(dict.fromkeys((*mention.types, *more)))
        predicate = _predicate(mentions, words, asking, seeds)
        if predicate is not None:  # where it *works* asks for no place besides
            mentions = [mention for mention in mentions if mention.places != [asking]]
        foreign: list[int] = []
        if seeds:
            known = {type_ for mention in mentions for type_ in mention.types}
            if self.texts.is_bare:
                foreign = [code for code in self.types.foreign_to(masked, listed=listed) if code not in known]
            if not listed and self.types.is_vocabulary:
                unknown = [code for code in range(len(self.types.names)) if code not in known]
                mentions += self._unread(masked, words, mentions, foreign or unknown)
            for mention in mentions:
                mention.others = [type_ for type_ in foreign if type_ not in mention.types]
        heads = noun_asked_for(words, asking, seeds)
        for mention in mentions:
            mention.to_seed = min((abs(a - b) for a in mention.places for b in seeds), default=len(masked))
        most = 0 if listed else max((mention.weight for mention in mentions), default=0)
        told = [mention for mention in mentions if mention.weight >= most]
        focus = predicate or (None if foreign and not listed else _focus(told, asking, seeds))
        mentions.sort(key=lambda _mention: (_mention is focus, _mention.to_seed))
        slots, bits = self._slots(mentions, words, focus)
        claimed = {place for mention in mentions for place in mention.places}
        by_verb = predicate is not None and words.get(max(seeds) - 1) not in RELATIVE
        ends: Sequence[int] = ()
        if asking is not None and not by_verb and not self.types.claims(words[asking]):
            ends = self.types.kinds_named(words[asking])
        slots, head = self._word_slots(slots, words, claimed, asking, heads, ends)
        unexplained = self._unexplained(words) if listed else milli(self.ranking.unexplained)
        named = 0
        if slots and (focus is not None or asking is not None or foreign):
            is_abroad = not listed or ABROAD * len(foreign) > len(self.types.names)
            named = milli(self.ranking.off_focus + is_abroad * self.ranking.referred)
        if EITHER.search(masked):
            named = OFFERED
        return Reading(tuple(slots), bits, head, unexplained, named)

    def _unexplained(self, words: dict[int, str]) -> int:
        """The price of a step that no word speaks for: less in a question of many words of content."""
        content = {word for word in words.values() if not (is_function_word(word) or is_question_word(word))}
        beyond = max(0, len(content) - self.ranking.short_question)
        return max(0, milli(self.ranking.unexplained) - milli(self.ranking.long_question) * beyond)

    def _unread(
        self, masked: str, words: Mapping[int, str], mentions: Sequence[_Mention], types: list[int]
    ) -> list[_Mention]:
        """In a language without a list, as many more mentions as the question is long for. Its longest words
        that no type is like and no text holds stand for them."""
        claimed = {place for mention in mentions for place in mention.places}
        free = [place for place in words if place not in claimed and not self.texts.find(words[place]).weight]
        free.sort(key=lambda place: (-len(words[place]), place))
        letters = extent(masked)
        missing = (letters >= FEWEST_LETTERS) + letters // LETTERS_OF_A_STEP - len(mentions)
        weight = milli(self.ranking.unknown_word)
        return [_Mention(list(types), [place], weight, False) for place in free[: max(0, missing)]]

    def _mentions(self, words: dict[int, str], *, listed: bool) -> list[_Mention]:
        """Types claim words in the order of how much of their name is covered. In a language without a list
        any word may be a function word: there a mention weighs as much as its words cover of a name."""
        claims: dict[int, dict[int, tuple[int, int]]] = {}
        for place, word in words.items():
            for code, claim in self.types.claims(word).items():
                claims.setdefault(code, {})[place] = claim
        coverage = {code: self._coverage(code, its.values()) for code, its in claims.items()}
        taken: set[int] = set()
        mentions: list[_Mention] = []
        for first in sorted(claims, key=lambda code: (-coverage[code], self.types.names[code])):
            own = {place: claim for place, claim in claims[first].items() if place not in taken}
            if not own:
                continue
            taken.update(claims[first])
            # With it those for which the same words speak as much, or in another language: one mention.
            same = [
                code
                for code in sorted(claims)
                if claims[code].keys() == claims[first].keys()
                and (coverage[code] == coverage[first] or self.types.are_apart(code, first))
            ]
            named = [place for place, (_, part) in own.items() if part != NO_WORD]
            weight = max(weight for weight, _ in own.values())
            if not listed:
                weight = max(self._coverage(code, [claims[code][place] for place in own]) for code in same)
            apart = any(after - before > 1 for before, after in pairwise(named))
            mentions.append(_Mention(same, list(own), weight, apart))
        return mentions

    def _coverage(self, code: int, claims: Iterable[tuple[int, int]]) -> int:
        """How much of the type's name is covered, in thousandths; what its owner says covers all of it."""
        covered: dict[int, int] = {}
        for weight, part in claims:
            covered[part] = max(weight, covered.get(part, 0))
        by_owner = covered.pop(NO_WORD, 0)
        return max(by_owner, sum(covered.values()) // max(1, self.types.lengths[code]))

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
            second = milli(self.ranking.repeated) if mention.repeated else 0
            if mention is there_and_back:
                second = max(second, milli(self.ranking.there_and_back))
            types = (*mention.types, *mention.others)
            surer = milli(self.ranking.unknown_word) // 2 if mention.others else 0
            for weight in (mention.weight - surer, second):
                if weight > 0 and len(slots) < self.ranking.slots - 1:
                    bits |= (mention is focus) << len(slots)
                    slots.append(Slot(own, weight, types))
            if surer and len(slots) < self.ranking.slots - 1:  # filled along with the other
                slots.append(Slot(own, surer, found=self.texts.of_types(mention.types)))
        return slots, bits

    def _word_slots(
        self,
        slots: list[Slot],
        words: dict[int, str],
        claimed: set[int],
        asking: int | None,
        heads: Set[int],
        ends: Sequence[int],
    ) -> tuple[list[Slot], int]:
        found: list[tuple[int, int, tuple[str, ...], Texts]] = []
        seen: set[str] = set()
        for place, word in words.items():
            if word in seen or not is_evidence(word):
                continue
            if place in claimed and not (place in heads and (kinds := self.types.kinds_named(word))):
                continue
            seen.add(word)
            where = self.texts.ends_of(kinds) if place in claimed else self.texts.find(word)
            found.append((-where.weight, place, (word,), where))
        if asking is not None and is_evidence(words[asking], asks=True):
            where = self.texts.asked_for(words[asking], ends)
            found.append((-where.weight, asking, (words[asking],), where))
            heads = heads | {asking}
        head = 0
        for weight, place, own, where in sorted(found, key=lambda pair: pair[:2]):
            if -weight >= milli(self.ranking.rarest) and len(slots) < self.ranking.slots:
                head |= (place in heads) << len(slots)
                slots.append(Slot(own, -weight, found=where))
        return slots, head


def _predicate(
    mentions: Sequence[_Mention], words: Mapping[int, str], asking: int | None, seeds: Sequence[int]
) -> _Mention | None:
    """The mention that ends the question behind its seeds, where the question word asks by a verb: *where*
    was the founder of it *born*, whom *does* it *employ*; in Korean behind the question word, or just before
    it (창립자는 *어디에서 태어났나요*, 직장은 *어디*). Else None."""
    if asking is None or not seeds:
        return None
    is_korean = words[asking].startswith(KOREAN_ADVERBS)
    if not is_korean and words[asking] not in ENGLISH_ADVERBS and AUXILIARIES.isdisjoint(words.values()):
        return None
    first = asking - 1 if is_korean else max(seeds) + 1
    others = [mention for mention in mentions if mention.places != [asking]]
    behind = [mention for mention in others if max(mention.places) >= first]
    return max(behind, key=lambda mention: max(mention.places), default=None)


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
