"""Which relations and entities the words of a question speak for.

A word speaks for a relation type by the type's name or the owner's vocabulary, for single relations and
entities by their descriptions, for entities also by their type, name and aliases.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.alike import Alike
from tiny_graph_rag.language.kinds import asked_kind, singular
from tiny_graph_rag.language.words import (
    POSSESSIVE,
    RELATED,
    SAME,
    SAME_STEM,
    WORD,
    folded_word,
    is_function_word,
    is_korean,
    keys,
    stem,
    words_of_name,
)

DESCRIPTIONS_READ = 200_000  # texts; an index over more would cost more memory than the graph
DESCRIBED = ("relations", "entities")
NO_PLACE = -1  # of a word that stands for a type by vocabulary or kind, not for a word of its name


def milli(value: float) -> int:
    """A price in thousandths: rankings add whole numbers only."""
    return round(value * 1000)


@dataclass(frozen=True, slots=True)
class Claim:
    """A word speaks for a type. weight: in thousandths; place: the word of its name that it stands for."""

    type: int
    weight: int
    place: int


class TypeNames:
    """Relation types by the words of their names."""

    def __init__(
        self, names: Sequence[str], vocabulary: Mapping[str, Sequence[str]], ranking: RankingPrices
    ) -> None:
        self.names = tuple(names)
        self.words = [[word for word in words_of_name(name) if not is_function_word(word)] for name in names]
        self._places: dict[str, list[tuple[int, int]]] = {}  # of each word: types, and where in their names
        for type_, words in enumerate(self.words):
            for place, word in enumerate(words):
                self._places.setdefault(word, []).append((type_, place))
        self._alike = Alike(self._places)
        self._weight = {
            SAME: 1000,
            SAME_STEM: milli(ranking.same_stem),
            RELATED: milli(ranking.related_word),
        }
        self._other_name = milli(ranking.vocabulary_word)
        self._owner: dict[str, set[int]] = {}
        self._owner_stems: dict[str, set[int]] | None = None
        for place, name in enumerate(names):
            for word in vocabulary.get(name, ()):
                self._owner.setdefault(folded_word(word), set()).add(place)
        self._known: dict[str, tuple[Claim, ...]] = {}

    def claims(self, word: str) -> tuple[Claim, ...]:
        """The types that a word speaks for, at most once each, in the order of their names."""
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = self._claims(word)
        return found

    def _claims(self, word: str) -> tuple[Claim, ...]:
        best: dict[int, Claim] = {}
        if not is_function_word(word):
            found = [
                (type_, place, self._weight[grade])
                for other, grade in self._alike.like(word)
                for type_, place in self._places[other]
            ]
            for type_, place, weight in sorted(found):
                _keep(best, Claim(type_, weight, place))
        kinds = asked_kind(word)
        for type_, place in sorted(self._of_kind(kinds)) if kinds else ():
            _keep(best, Claim(type_, self._other_name, place))
        for type_ in self._by_owner(word):
            _keep(best, Claim(type_, self._other_name, NO_PLACE))
        return tuple(best[type_] for type_ in sorted(best))

    def _of_kind(self, kinds: frozenset[str]) -> Iterator[tuple[int, int]]:
        for other, places in self._places.items():
            if other in kinds or singular(other) in kinds:
                yield from places

    def _by_owner(self, word: str) -> set[int]:
        if not self._owner:
            return set()
        stems = self._owner_stems
        if stems is None:
            stems = {}
            for other, types in self._owner.items():
                stems.setdefault(stem(other), set()).update(types)
            self._owner_stems = stems  # only now: other threads may ask meanwhile
        return self._owner.get(word, set()) | stems.get(stem(word), set())


def _keep(best: dict[int, Claim], claim: Claim) -> None:
    if claim.type not in best or claim.weight > best[claim.type].weight:
        best[claim.type] = claim


@dataclass(frozen=True, slots=True)
class Found:
    """Where a word stands in the graph's texts; weight in thousandths, higher where it is rarer."""

    weight: int
    relations: frozenset[int] = frozenset()
    entities: frozenset[int] = frozenset()
    entity_types: frozenset[int] = frozenset()


class Texts:
    """Words of descriptions, entity names, aliases and types by stem; read at the first question."""

    def __init__(
        self, graph: KnowledgeGraph, vocabulary: Mapping[str, Sequence[str]], ranking: RankingPrices
    ) -> None:
        self.graph = graph
        self._price_relation = milli(ranking.description_word)
        self._price_entity = milli(ranking.entity_word)
        types = graph.entities.types
        self._types: dict[str, set[int]] = {}
        self._kinds = [frozenset(words_of_name(name)) for name in types.names]
        for place, name in enumerate(types.names):
            owners = [folded_word(word) for word in vocabulary.get(name, ())]
            for word in (*self._kinds[place], *owners):
                if not is_function_word(word):
                    self._types.setdefault(word, set()).add(place)
        self._type_keys: dict[bool, dict[str, set[int]]] = {}
        self._bearers = [len(graph)]
        if len(types.names) != 1:
            self._bearers = np.bincount(types.codes, minlength=len(types.names)).tolist()
        self._postings: _Postings | None = None
        self._known: dict[str, Found] = {}

    def find(self, word: str) -> Found:
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = self._find(word)
        return found

    def asked_for(self, word: str) -> Found:
        """The entities of the kind that a question word asks for, by their types: who → PERSON."""
        kinds = asked_kind(word)
        types = frozenset(place for place, words in enumerate(self._kinds) if words & kinds)
        weight = self._weight(self._price_entity, self._count(types), len(self.graph))
        return Found(weight if types else 0, entity_types=types)

    def _find(self, word: str) -> Found:
        if self._postings is None:  # filled, then shown: other threads may ask meanwhile
            self._postings = _Postings(self.graph.derived("described-words", lambda: _described(self.graph)))
        relations: set[int] = set()
        entities: set[int] = set()
        types: set[int] = set()
        for key in keys(word):
            for rows, found in zip((relations, entities), self._postings.of(key), strict=True):
                rows.update(found)
            types |= self._keys_of_types(korean=is_korean(word)).get(key, set())
        codes = self.graph.entities.types.codes
        bearers = self._count(types) + sum(int(codes[row]) not in types for row in entities)
        weight = max(
            self._weight(self._price_relation, len(relations), len(self.graph.relations)),
            self._weight(self._price_entity, bearers, len(self.graph)),
        )
        return Found(weight, frozenset(relations), frozenset(entities), frozenset(types))

    def _keys_of_types(self, *, korean: bool) -> dict[str, set[int]]:
        """Each language's own when it is first asked for: English ones need the lemmatiser, a slow import."""
        found = self._type_keys.get(korean)
        if found is None:
            found = {}
            for word, types in self._types.items():
                for key in keys(word) if is_korean(word) == korean else ():
                    found.setdefault(key, set()).update(types)
            self._type_keys[korean] = found
        return found

    def _count(self, types: Iterable[int]) -> int:
        return sum(self._bearers[place] for place in types)

    @staticmethod
    def _weight(price: int, bearers: int, total: int) -> int:
        """price where one of many bears the word, 0 where all do (or none)."""
        if not bearers:
            return 0
        return int(price * (1 - math.log(1 + bearers) / math.log(1 + total)))


class _Postings:
    """Rows of relations and of entities by key of a word that their texts hold."""

    def __init__(self, kept: Mapping[str, NDArray[Any]]) -> None:
        self._kept, self._keys = kept, Strings(kept["keys.data"], kept["keys.offsets"])

    def of(self, key: str) -> tuple[list[int], list[int]]:
        place = bisect_left(self._keys, key)
        if place == len(self._keys) or self._keys[place] != key:
            return [], []
        offsets = (self._kept[f"{name}.offsets"] for name in DESCRIBED)
        relations, entities = (slice(int(each[place]), int(each[place + 1])) for each in offsets)
        return self._kept["relations.rows"][relations].tolist(), self._kept["entities.rows"][
            entities
        ].tolist()


def _described(graph: KnowledgeGraph) -> dict[str, NDArray[Any]]:
    """What `_Postings` keeps; nothing where the relations and entities with a description are too many."""
    rows = {name: np.flatnonzero(np.diff(getattr(graph, name).descriptions.offsets)) for name in DESCRIBED}
    if sum(map(len, rows.values())) > DESCRIPTIONS_READ:
        rows = dict.fromkeys(rows, np.zeros(0, dtype=np.int64))
    numbers: dict[str, int] = {}
    known: dict[str, tuple[int, ...]] = {}
    found: dict[str, tuple[list[int], list[int]]] = {name: ([], []) for name in DESCRIBED}  # keys, and rows
    entities = graph.entities
    for name in DESCRIBED:
        texts, (places, bearers) = getattr(graph, name).descriptions, found[name]
        for row in rows[name].tolist():
            text = texts[row]
            if name == "entities":
                text = " ".join((text, entities.names[row], *entities.aliases[row]))
            mine = _numbers(text, numbers, known)
            places += mine
            bearers += [row] * len(mine)
    keys = sorted(numbers)
    order = np.zeros(len(keys), dtype=np.int64)  # from the order of appearance to that of the keys
    order[[numbers[key] for key in keys]] = np.arange(len(keys))
    words = Strings.of(keys)
    columns: dict[str, NDArray[Any]] = {"keys.data": words.data, "keys.offsets": words.offsets}
    for name, (places, bearers) in found.items():
        at = order[np.array(places, dtype=np.int64)]
        by_key = np.argsort(at, kind="stable")
        columns[f"{name}.offsets"] = np.searchsorted(at[by_key], np.arange(len(keys) + 1)).astype(np.int32)
        columns[f"{name}.rows"] = np.array(bearers, dtype=np.int32)[by_key]
    return columns


def _numbers(text: str, numbers: dict[str, int], known: dict[str, tuple[int, ...]]) -> set[int]:
    """Of the keys of a text's words; numbers: of each key; known: of each word as it is written."""
    mine: set[int] = set()
    for written in WORD.findall(text):
        if written not in known:
            word = POSSESSIVE.sub("", folded_word(written))
            of_word = () if is_function_word(word) else keys(word)
            known[written] = tuple(numbers.setdefault(key, len(numbers)) for key in of_word)
        mine.update(known[written])
    return mine
