"""Which relations and entities the words of a question speak for.

A word speaks for a relation type by the type's name or the owner's vocabulary, for single relations and
entities by their descriptions, for entities also by their type, name and aliases.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import expanded
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.alike import Alike, Keeper
from tiny_graph_rag.language.kinds import KINDS_ASKED, asked_kind, singular
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


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """A word speaks for relation types. types: ascending, each once; weights: in thousandths; places: of the
    words of their names that it stands for, NO_PLACE where for none."""

    types: NDArray[np.int64]
    weights: NDArray[np.int64]
    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.types)


NO_CLAIMS = Claims(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
BY_NAME, BY_KIND, BY_OWNER = range(3)  # of equal weights, the first decides
WAYS = 3


class TypeNames:
    """Relation types by the words of their names. lengths: how many words of content each name has; rank: the
    names' order."""

    def __init__(
        self,
        names: Sequence[str],
        vocabulary: Mapping[str, Sequence[str]],
        ranking: RankingPrices,
        keep: Keeper | None = None,
    ) -> None:
        """keep: what follows from the names alone, from one run to the next."""
        self.names = tuple(names)
        rows: dict[str, int] = {}
        found: list[tuple[int, int, int]] = []  # word, type, place in its name
        lengths = []
        for type_, name in enumerate(names):
            words = [word for word in words_of_name(name) if not is_function_word(word)]
            lengths.append(len(words))
            found += [(rows.setdefault(word, len(rows)), type_, place) for place, word in enumerate(words)]
        self.lengths = np.array(lengths, dtype=np.int64)
        word, self._types, self._places = np.array(sorted(found), dtype=np.int64).reshape(-1, 3).T
        self._offsets = np.searchsorted(word, np.arange(len(rows) + 1))
        self._rows = rows
        self._alike = Alike(rows, keep)
        self._weight = {
            SAME: 1000,
            SAME_STEM: milli(ranking.same_stem),
            RELATED: milli(ranking.related_word),
        }
        self._other_name = milli(ranking.vocabulary_word)
        self._owner: dict[str, set[int]] = {}
        self._owner_stems: dict[str, set[int]] | None = None
        for place, name in enumerate(names):
            for each in vocabulary.get(name, ()):
                self._owner.setdefault(folded_word(each), set()).add(place)
        self._known: dict[str, Claims] = {}

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        rank = np.empty(len(self.names), dtype=np.int64)
        rank[sorted(range(len(rank)), key=self.names.__getitem__)] = np.arange(len(rank))
        return rank

    def claims(self, word: str) -> Claims:
        """The types that a word speaks for."""
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = self._claims(word)
        return found

    def _claims(self, word: str) -> Claims:
        """Of each type the greatest weight; of equal ones the first way to it, and the first word."""
        ways: list[tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
        if not is_function_word(word):
            like = list(self._alike.like(word))
            owner, slots = self._slots_of([other for other, _ in like])
            weights = np.array([self._weight[grade] for _, grade in like], dtype=np.int64)[owner]
            ways.append((BY_NAME, self._types[slots], self._places[slots], weights))
        kinds = asked_kind(word)
        if kinds:
            _, slots = self._slots_of(
                [other for kind in sorted(kinds) for other in self._of_kind.get(kind, ())]
            )
            weights = np.full(len(slots), self._other_name)
            ways.append((BY_KIND, self._types[slots], self._places[slots], weights))
        by_owner = self._by_owner(word)
        if by_owner:
            types = np.array(sorted(by_owner))
            weights = np.full(len(types), self._other_name)
            ways.append((BY_OWNER, types, np.full(len(types), NO_PLACE), weights))
        if not sum(len(types) for _, types, _, _ in ways):
            return NO_CLAIMS
        most = max(self._other_name, *self._weight.values())
        width = int(self.lengths.max()) + 1
        best = np.full(len(self.names), np.iinfo(np.int64).max)
        for way, types, places, weights in ways:
            order = ((most - weights) * WAYS + way) * width + places - NO_PLACE
            np.minimum.at(best, types, order)
        types = np.flatnonzero(best < np.iinfo(np.int64).max)
        order = best[types]
        return Claims(types, most - order // (WAYS * width), order % width + NO_PLACE)

    def _slots_of(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where words of names stand: (which of the words, slot)."""
        rows = np.array([self._rows[word] for word in words], dtype=np.int64)
        return expanded(self._offsets[rows], self._offsets[rows + 1] - self._offsets[rows])

    @cached_property
    def _of_kind(self) -> dict[str, list[str]]:
        """The words of names that say what a question word asks for."""
        found: dict[str, list[str]] = {}
        for word in self._rows:
            for kind in {word, singular(word)} & KINDS_ASKED:
                found.setdefault(kind, []).append(word)
        return found

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
