"""Which relation types the words of a question speak for: by the types' names, the owner's vocabulary,
synonyms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import expanded
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.alike import Alike
from tiny_graph_rag.language.kinds import KINDS_ASKED, asked_kind, singular
from tiny_graph_rag.language.synonyms import synonyms
from tiny_graph_rag.language.words import (
    RELATED,
    SAME,
    SAME_STEM,
    folded_word,
    is_function_word,
    stem,
    words_of_name,
)

OF_TYPES = 3  # that share a word of their names, at most, for it to have synonyms
UNTYPED = 0.9  # of the relations have one type: types say nothing
FEW_RELATIONS = 20  # fewer may well be of one type that questions speak of
ROWS_AT_ONCE = 1 << 22
NO_WORD = -1  # of a word that stands for a type by vocabulary or kind, not for a word of its name


def milli(value: float) -> int:
    """A cost in thousandths: rankings add whole numbers only."""
    return round(value * 1000)


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """A word speaks for relation types. types: ascending, each once; weights: in thousandths; places: of the
    words of their names that it stands for, NO_WORD where for none."""

    types: NDArray[np.int64]
    weights: NDArray[np.int64]
    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.types)


NO_CLAIMS = Claims(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
BY_NAME, BY_KIND, BY_OWNER = range(3)  # of equal weights, the first decides
WAYS = 3


class RelationWords:
    """Relation types by the words of their names. lengths: how many words of content each name has; rank: the
    names' order."""

    def __init__(
        self, names: Sequence[str], vocabulary: Mapping[str, Sequence[str]], ranking: RankingPrices
    ) -> None:
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
        self._alike = Alike(rows)
        self._weight = {
            SAME: 1000,
            SAME_STEM: milli(ranking.same_stem),
            RELATED: milli(ranking.related_word),
        }
        self._other_name = milli(ranking.vocabulary_word)
        self._owner: dict[str, set[int]] = {}
        for place, name in enumerate(names):
            for item in vocabulary.get(name, ()):
                self._owner.setdefault(folded_word(item), set()).add(place)
        self._known: dict[str, Claims] = {}

    @classmethod
    def of(cls, graph: KnowledgeGraph, ranking: RankingPrices) -> RelationWords:
        """Of a graph's relation types and its vocabulary, made once."""
        key = (cls, ranking, *((name, *words) for name, words in graph.vocabulary.items()))
        return graph.shared(
            key,
            lambda: cls(graph.relations.types.names, graph.vocabulary, ranking),
        )

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
            ways.append((BY_OWNER, types, np.full(len(types), NO_WORD), weights))
        if not sum(len(types) for _, types, _, _ in ways):
            return NO_CLAIMS
        most = max(self._other_name, *self._weight.values())
        width = int(self.lengths.max()) + 1
        best = np.full(len(self.names), np.iinfo(np.int64).max)
        for way, types, places, weights in ways:
            order = ((most - weights) * WAYS + way) * width + places - NO_WORD
            np.minimum.at(best, types, order)
        types = np.flatnonzero(best < np.iinfo(np.int64).max)
        order = best[types]
        return Claims(types, most - order // (WAYS * width), order % width + NO_WORD)

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
        return self._owner.get(word, set()) | self._owner_stems.get(stem(word), set())

    @cached_property
    def _owner_stems(self) -> dict[str, set[int]]:
        stems: dict[str, set[int]] = {}
        for other, types in self._owner.items():
            stems.setdefault(stem(other), set()).update(types)
        return stems

    def has_synonym(self, word: str) -> bool:
        return word in self._synonyms or stem(word) in self._synonyms

    def by_synonym(self, word: str) -> Claims:
        """The types that a word means by the common words for relations."""
        types = self._synonyms.get(word) or self._synonyms.get(stem(word)) or ()
        rows = np.array(sorted(types), dtype=np.int64)
        return Claims(rows, np.full(len(rows), self._other_name), np.full(len(rows), NO_WORD))

    @cached_property
    def _synonyms(self) -> dict[str, set[int]]:
        """Words that no type's name holds → the types whose last word is a common word for the same relation.

        The last word must stand in few types' names: `of spouse` may be one relation, `name` is none.
        """
        known: dict[str, set[int]] = {}
        stems = {stem(word) for word in self._rows}
        for word, row in self._rows.items():
            types = self._types[self._offsets[row] : self._offsets[row + 1]].tolist()
            others = synonyms(word) if len(types) <= OF_TYPES else ()
            new = [synonym for synonym in others if synonym not in self._rows and stem(synonym) not in stems]
            if not new or not (codes := {code for code in types if self._last_word(code) == word}):
                continue
            for synonym in new:
                known.setdefault(synonym, set()).update(codes)
                known.setdefault(stem(synonym), set()).update(codes)
        return known

    def _last_word(self, code: int) -> str | None:
        """The last word of content of a type's name; of `film__actor__name`, the last part's."""
        words = words_of_name(self.names[code].split("__")[-1])
        return next((word for word in reversed(words) if not is_function_word(word)), None)


def types_say_something(graph: KnowledgeGraph) -> bool:
    """Whether relation types distinguishes relations: no type holds UNTYPED of them, or they are but a
    few."""
    relations = len(graph.relations)
    if relations < FEW_RELATIONS:
        return True
    counts = graph.derived("relation-types", lambda: _relations_by_type(graph))["counts"]
    return int(counts.max()) < UNTYPED * relations


def _relations_by_type(graph: KnowledgeGraph) -> dict[str, NDArray[np.int64]]:
    """counts: (relation types,), a part of the column at a time, since counting takes a wide copy of it."""
    types = graph.relations.types
    counts = np.zeros(len(types.names), dtype=np.int64)
    for start in range(0, len(types.codes), ROWS_AT_ONCE):
        counts += np.bincount(types.codes[start : start + ROWS_AT_ONCE], minlength=len(counts))
    return {"counts": counts}
