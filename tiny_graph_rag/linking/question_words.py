"""The words of a question around its seeds: what asks, what is asked for, which relation types are meant.

A relation type is spoken for by its name, by the vocabulary of the graph's owner and by synonyms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain, count, islice, takewhile

import numpy as np

from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import content_stem
from tiny_graph_rag.language.folding import folded_letters, scripts_of
from tiny_graph_rag.language.function_words import VERBS, without_requests
from tiny_graph_rag.language.kinds import (
    KINDS_ASKED,
    KINDS_OF_PLACE,
    NO_RELATIONS,
    Kind,
    asked_kind,
    kind_of_type,
    synonyms,
)
from tiny_graph_rag.language.words import (
    LONGEST_COMPOUND,
    NOUN_FOLLOWS,
    SHARED_PREFIX,
    SHORT,
    TIES,
    asks_about_the_named,
    beginning,
    dictionary_form,
    ends_of,
    is_function_word,
    is_in_listed_language,
    is_korean,
    is_question_word,
    likeness,
    singular,
    stem,
    words_of,
    words_of_name,
)
from tiny_graph_rag.linking.base import LinkedQuestion

SEED = "\x00"  # stands for a seed's words while the rest of the question is read
# `A or B?` asks for one of the seeds.
_GAP = rf"[^\w{SEED}]"
EITHER = re.compile(
    rf"{SEED}{_GAP}*+\b(?:or|혹은|또는|아니면)\b{_GAP}*+(?:(?:the|an?){_GAP}++)?{SEED}", re.IGNORECASE
)
NOUN_WORDS = 3  # words of an English noun phrase after which/what: "which frightened young woman"


def without_seeds(question: LinkedQuestion) -> str:
    """The question with each seed's words as one SEED, Korean particles after it too; seeds of earlier turns
    have no place in it."""
    text = question.text.replace(SEED, " ")
    spans = {(seed.start, seed.end or 0) for seed in question.seeds if seed.start is not None}
    parts, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            parts += [text[at:start], SEED]
            at = end
            while at < len(text) and is_korean(text[at]):
                at += 1
    return " ".join("".join((*parts, text[at:])).split())


@lru_cache(1 << 12)  # linker, reader and text scores ask of the same questions; nobody changes what they get
def tokens(masked: str) -> tuple[dict[int, str], list[int]]:
    """Words by place, in order, and the places of seeds; a place is a count of words and seeds.

    What asks for the answer at either end is left out: `List …`, `… 알려 줘` ask the same as without.
    """
    parts = [[SEED, *(word for word, _, _ in words_of(part))] for part in masked.split(SEED)]
    texts = without_requests(list(chain(*parts))[1:])
    words = {place: text for place, text in enumerate(texts) if text != SEED}
    return words, [place for place, text in enumerate(texts) if text == SEED]


def question_word(words: dict[int, str], seeds: list[int]) -> int | None:
    """The question word that asks: the one that leads the question, else the last; others are relative.
    Without any, a Korean noun that asks by ending the question: …을 쓴 *사람은*?"""
    asking = [place for place, word in words.items() if is_question_word(word)]
    for place in asking:
        before = [word for other, word in words.items() if other < place]
        if all(map(is_function_word, before)) and not any(seed < place for seed in seeds):
            return place
    last = max(words, default=None)
    return asking[-1] if asking else last if last is not None and asked_kind(words[last]) else None


def noun_asked_for(words: dict[int, str], asking: int | None, seeds: list[int]) -> frozenset[int]:
    """Places of the words that name the kind of thing asked for: which *animal*, 무슨 *짐승*. What leads to a
    seed that ends the question is its verb: which *painter* painted it, what flows through it."""
    if asking is None or not words[asking].startswith(NOUN_FOLLOWS):
        return frozenset()
    behind = takewhile(lambda place: place in words and not is_function_word(words[place]), count(asking + 1))
    if is_korean(words[asking]):
        return frozenset(islice(behind, 1))
    nouns = list(behind)
    rest = [word for place, word in words.items() if place > asking + len(nouns)]
    leads_on = max(seeds, default=0) > asking and VERBS.isdisjoint(rest) and all(map(is_function_word, rest))
    return frozenset(nouns[: len(nouns) - leads_on][:NOUN_WORDS])


def is_evidence(word: str, *, asks: bool = False) -> bool:
    """Whether a word says something of what is looked for: no function word, no question word (but where it
    `asks`), and none that asks about the named thing itself (관계, 인물, relationship)."""
    if asks_about_the_named(word):
        return False
    return asks or not (is_function_word(word) or is_question_word(word))


def content_stems_of(words: Iterable[str]) -> list[str]:
    """The stems under which the text index knows a question's words of evidence, each once, in order."""
    stems = (content_stem(word) for word in words if not asks_about_the_named(word))
    return list(dict.fromkeys(stem for stem in stems if stem is not None))


UNTYPED = 0.9  # of the relations have one type: types say nothing
FEW_RELATIONS = 20  # fewer may well be of one type that questions speak of
MOST_COUNTED = 1 << 24  # relations; more would take a gigabyte
MOST_OF_A_VOCABULARY = 1000  # relation types; more of them are free text
NO_WORD = -1  # of a word that stands for a type by vocabulary or kind, not for a word of its name


def milli(value: float) -> int:
    """A cost in thousandths: rankings add whole numbers only."""
    return round(value * 1000)


# What a word speaks for: relation type → (weight in thousandths, place of the word of its name that it stands
# for, NO_WORD where for none).
Claims = Mapping[int, tuple[int, int]]


class RelationWords:
    """Relation types by the words of their names. lengths: how many words of content each name has."""

    def __init__(
        self,
        names: Sequence[str],
        vocabulary: Mapping[str, Sequence[str]],
        ranking: RankingPrices,
        to_places: Sequence[int] = (),
    ) -> None:
        """to_places: the types that *where* asks for, besides those whose names say so."""
        self.names, self._to_places = tuple(names), to_places
        self._holders: dict[str, list[tuple[int, int]]] = {}  # a word → types, and its place in their names
        content = list(map(_content_of_name, names))
        self.lengths, self._heads = [len(words) for words in content], list(map(_heads, content))
        for type_, words in enumerate(content):
            for place, word in enumerate(words):
                self._holders.setdefault(word, []).append((type_, place))
        self._sharing: dict[str, set[str]] = {}  # what similar words share → words
        for word in self._holders:
            for key in _likely_shared(word):
                self._sharing.setdefault(key, set()).add(word)
        # By grade of likeness, from UNRELATED to SAME.
        self._weight = 0, milli(ranking.related_word), milli(ranking.same_stem), 1000
        self._other_name = milli(ranking.vocabulary_word)
        self._vocabulary = vocabulary
        self.claims = cache(self._claims_of)

    @classmethod
    def of(cls, graph: KnowledgeGraph, ranking: RankingPrices) -> RelationWords:
        """Of a graph's relation types and its vocabulary, made once."""
        key = (cls, ranking, *((name, *words) for name, words in graph.vocabulary.items()))
        return graph.shared(
            key,
            lambda: cls(graph.relations.types.names, graph.vocabulary, ranking, _to_places(graph)),
        )

    def _claims_of(self, word: str) -> Claims:
        """`claims`: the types that a word speaks for, each with its greatest weight and the first word. A
        *connection* may be any relation."""
        best: dict[int, tuple[int, int]] = {}
        if word.startswith(TIES):
            return best
        for weight, place, type_ in sorted(self._ways(word), key=lambda way: (-way[0], *way[1:])):
            best.setdefault(type_, (weight, place))
        return best

    def _ways(self, word: str) -> Iterator[tuple[int, int, int]]:
        """(weight, place in its name, type) of all that a word may stand for."""
        if word == "own" or not is_function_word(word):  # that one is a verb as well
            for other in {other for key in _likely_shared(word) for other in self._sharing.get(key, ())}:
                weight = self._weight[likeness(word, other)]
                yield from ((weight, place, type_) for type_, place in self._holders[other] if weight)
        kinds = asked_kind(word) - NO_RELATIONS
        for kind in kinds:
            yield from ((self._other_name, place, type_) for type_, place in self._holders.get(kind, ()))
        known = next((form for form in _forms(word) if form in self._others or form in self._holders), "")
        for type_ in (*(self._to_places if "place" in kinds else ()), *self._others.get(known, ())):
            yield self._other_name, NO_WORD, type_

    def kinds_named(self, word: str) -> list[int]:
        """The types whose targets a word names the kind of, as their last word or one that means the same:
        `plays_for_country` for *nation* and *where*; none where types are free text."""
        its = [(type_, place) for type_, (_, place) in self.claims(word).items()]
        if not is_korean(word):  # what is PAINTED is no *painter*
            forms = (word, singular(word), f"{word}s")
            its = [held for form in forms for held in self._holders.get(form, ())]
        for other in synonyms(word) if kind_of_type(word) else asked_kind(word) & KINDS_OF_PLACE:
            its += self._holders.get(other, [])
        ends = {type_ for type_, place in its if place == self.lengths[type_] - 1}
        return sorted(ends) if self.is_vocabulary else []

    @property
    def is_vocabulary(self) -> bool:
        """Whether the types are few enough for each to be more than one extractor's phrase."""
        return len(self.names) <= MOST_OF_A_VOCABULARY

    @cached_property
    def _languages(self) -> list[tuple[frozenset[str], bool]]:
        """Of each type's name its scripts, and whether its language's function words are listed; empty where
        types are free text."""
        spelled = (" ".join(words_of_name(name)) for name in (self.names if self.is_vocabulary else ()))
        return [(scripts_of(name), is_in_listed_language(name)) for name in spelled]

    def are_apart(self, one: int, other: int) -> bool:
        """Whether two types are in different languages."""
        if not self._languages:
            return False
        (scripts, listed), (others, other_listed) = self._languages[one], self._languages[other]
        return listed != other_listed or scripts.isdisjoint(others)

    def foreign_to(self, question: str, *, listed: bool) -> list[int]:
        """The types in another language than the question, whose words can't be compared with theirs."""
        own = scripts_of(question)
        return [
            type_
            for type_, (its, is_listed) in enumerate(self._languages)
            if is_listed != listed or (not listed and own.isdisjoint(its))
        ]

    @cached_property
    def translations(self) -> list[list[int]]:
        """Of each type those in another language that a common word means as well."""
        if len({*self._languages}) < 2:
            return [[] for _ in self.names]

        heads = [set(its) - KINDS_ASKED for its in self._heads]
        means = list(enumerate(its.union(*map(synonyms, its)) for its in heads))
        return [
            [other for other, its in means if its & own and self.are_apart(one, other)] for one, own in means
        ]

    @cached_property
    def _others(self) -> dict[str, set[int]]:
        """Words of the vocabulary, and common words for relations that no type's name holds and that ask for
        no kind of thing, in their forms → types."""
        known: dict[str, set[int]] = {}
        held = {stem(word) for word in self._holders}
        for code, name in enumerate(self.names):
            common = {word for head in self._heads[code] for word in synonyms(head)} - KINDS_ASKED
            words = [word for word in common if stem(word) not in held]
            for word in (*words, *map(folded_letters, self._vocabulary.get(name, ()))):
                for form in {word, stem(word), dictionary_form(word), word.removesuffix("하다")}:
                    known.setdefault(form, set()).add(code)
        return known


def _heads(words: Sequence[str]) -> list[str]:
    """The last word of content of a type's name; of `birthPlace`, whose last word only says of what kind the
    answer is, the one before too."""
    telling = [word for word in words if word not in KINDS_ASKED and synonyms(word)]
    return [*words[-1:], *telling[-1:]]


def _forms(word: str) -> list[str]:
    """As what a word may be known, the surest first: as it stands, by its stem; in Korean by its beginning,
    or as the verb of which it is a form: 설립한 → 설립, 쓴 → 쓰다."""
    ends = range(min(len(word), LONGEST_COMPOUND), 1, -1)
    own = [word[:end] for end in ends] if is_korean(word) else [word, stem(word)]
    return [*own, dictionary_form(word)]


def extent(text: str) -> int:
    """How long a text is, in letters of an alphabet: a syllable of Hangul is two, an ideograph three."""
    return sum(
        3 if "\u3400" <= sign <= "\u9fff" else 2 if is_korean(sign) else 1
        for sign in text
        if unicodedata.category(sign)[0] in "LMN"
    )


def _content_of_name(name: str) -> list[str]:
    """The words of content of a type's name. In a language without a list, words of at most SHORT letters are
    none where others are longer: frontalier *de*, nằm *ở*, написан *на*; but in scripts without case."""
    words = [word for word in words_of_name(name) if not is_function_word(word)]
    longer = [word for word in words if len(word) > SHORT or not word.islower()]
    return words if not longer or is_in_listed_language(" ".join(words)) else longer


def types_say_something(graph: KnowledgeGraph) -> bool:
    """Whether relation types distinguish relations: no type holds UNTYPED of them, or they are but a
    few."""
    relations = len(graph.relations)
    if relations < FEW_RELATIONS:
        return True
    counts = np.bincount(graph.relations.types.codes)
    return int(counts.max()) < UNTYPED * relations


def _to_places(graph: KnowledgeGraph) -> list[int]:
    """The relation types of which most relations lead to a place, by its entity type; none where more than
    MOST_COUNTED would have to be looked at."""
    types, kinds = graph.relations.types, graph.entities.types
    if len(types.codes) > MOST_COUNTED:
        return []
    is_place = np.array([kind_of_type(name) == Kind.PLACE for name in kinds.names], dtype=bool)
    leads_there = is_place[kinds.codes[graph.relations.targets]]
    surplus = np.bincount(types.codes, np.where(leads_there, 1, -1))
    return np.flatnonzero(surplus > 0).tolist()


def _likely_shared(word: str) -> set[str]:
    """Two similar words share one of these: the stem, the first letters, or what a compound ends in."""
    return {word, stem(word), beginning(word)[:SHARED_PREFIX], *map(stem, ends_of(word))}
