"""The names in a text: every stretch is looked up, the best evidence counts, the longest goes first.

A film called `The`, a tag `films`: such names stand in many questions that do not mean them. What tells
them apart is in the question and in the graph: capitals in an otherwise lower-case question, digits,
several content words, words that the graph's relations are named with, function words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

from msgspec import Struct

from tiny_graph_rag.columns.arrays import distinct, key_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import ALIAS, BEGINNING, NAME, VARIANT, NameIndex
from tiny_graph_rag.language.folding import HAS_HANGUL, Text, fold, nfc, spaced, without_accents
from tiny_graph_rag.language.function_words import FUNCTION_WORDS, NAMELESS, are_particles
from tiny_graph_rag.language.words import likeness, stem, words_of_name

RULES = {ALIAS: "alias", VARIANT: "variant"}
SPELLINGS_KEPT = 1 << 14  # taken apart once, before they are forgotten
DIGIT = re.compile(r"\d")


class Grade(IntEnum):
    """How strongly a text speaks for a name, best first.

    NAMED: a capital or a number; several content words; a script without case.
    WORD: one content word. COMMON: only function words, and words that relations are named with.
    """

    NAMED = 0
    WORD = 1
    COMMON = 2


class Mention(Struct, frozen=True):
    """A place in a text that names entities. start, end: its characters. entities: in tie-break order.

    rule: exact, folded, particle, alias, variant or accent. grade: how strong the evidence is.
    """

    start: int
    end: int
    entities: tuple[int, ...]
    rule: str
    grade: Grade

    @property
    def is_telling(self) -> bool:
        """Whether it outweighs the context: not where the name is but a relation's or a function word."""
        return self.grade < Grade.COMMON


class NameReading(NamedTuple):
    """A stretch of `Text.kept` that is a spelling of the graph, accents aside. first, last: the words where
    it begins and ends. inside: whether particles stand behind it in the last. rows: of the index."""

    start: int
    end: int
    first: int
    last: int
    inside: bool
    rows: list[int]


class MentionFinder:
    """Finds the names of a graph in texts."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex) -> None:
        self.graph, self.names = graph, names
        known = lru_cache(SPELLINGS_KEPT)
        self.folded = known(lambda row: fold(names.spelling(row)))
        self.plain = known(lambda row: without_accents(self.folded(row)))
        self.rows = known(self._rows_of)
        self.breaks = known(lambda row: Text.of(names.spelling(row)).ends[:-1])
        self.letters = known(lambda row: letters_of(names.spelling(row)))
        self._stems = stems_of_types(graph)

    def _rows_of(self, stretch: str) -> list[int]:
        """`rows`: of the index, those that a folded stretch of a text without accents spells."""
        return [row for row in self.names.table.rows_of(key_of(stretch)) if self.plain(row) == stretch]

    def find(self, texts: Sequence[str]) -> list[tuple[Mention, ...]]:
        """The mentions of each text, in the order in which they stand there."""
        return [Sentence(self, text).mentions() for text in texts]

    def is_of_relations(self, word: str) -> bool:
        """Whether relations or types are named with a word of the same stem."""
        return stem(word) in self._stems

    def is_related(self, entity: int, words: set[str]) -> bool:
        """Whether a word is like one in the name of a relation at the entity, `by` and the like aside."""
        adjacency, types = self.graph.adjacency, self.graph.relations.types
        codes = distinct(types.codes[adjacency.relations[adjacency.slots(entity)]])[0].tolist()
        of_types = {word for code in codes for word in words_of_name(types.names[code])}
        return any(likeness(word, other) for other in of_types - FUNCTION_WORDS for word in words)


class Sentence:
    """One text and all that it may mean. readings: every stretch that is a spelling of the graph,
    overlapping ones too, by start and end."""

    def __init__(self, finder: MentionFinder, whole: str) -> None:
        self.finder, self.names, self.text = finder, finder.names, Text.of(whole)
        self.readings = list(self._looked_up())

    def _looked_up(self) -> Iterator[NameReading]:
        """Those that end with a word, or before particles."""
        table, rows_of, text = self.names.table, self.finder.rows, self.text
        kept, plain, cuts = text.kept, without_accents(text.kept), text.cuts()
        for place, first in enumerate(cuts):
            start = first.start
            limit = start + table.longest(plain[start : start + BEGINNING]) if first.opens else 0
            while place < len(cuts) and cuts[place].end <= limit:
                last = cuts[place]
                stretch = slice(start, last.end)
                rows = rows_of(plain[stretch])
                if rows and (not last.inside or are_particles(kept[stretch], text.rest_of_word(last))):
                    yield NameReading(start, last.end, first.word, last.word, last.inside, rows)
                place += 1

    def mentions(self) -> tuple[Mention, ...]:
        """The readings with the best evidence, no two of them on the same place, in the text's order."""
        grades = [self._grade(reading) for reading in self.readings]
        best = min(grades, default=Grade.COMMON)
        chosen = [reading for reading, grade in zip(self.readings, grades, strict=True) if grade == best]
        return tuple(self._mention(reading, best) for reading in self._apart(chosen))

    @cached_property
    def case_counts(self) -> bool:
        """Whether capitals are evidence: not where most words outside names have one, the first left out."""
        named = {place for reading in self.readings for place in range(reading.start, reading.end)}
        words = zip(self.text.starts, self.text.capitals, strict=True)
        others = [capital for start, capital in words if start and start not in named]
        return 2 * sum(others) <= len(others)

    def _grade(self, reading: NameReading) -> Grade:
        first, last = reading.first, reading.last
        part = self.text.kept[max(self.text.starts[last], reading.start) : reading.end]
        stretch = self.text.kept[reading.start : reading.end]
        content = [word for word in (*self.text.words[first:last], part) if word not in NAMELESS]
        is_clear = not all(map(self.finder.is_of_relations, content))
        capitals = self.text.capitals[first if is_clear else max(first, 1) : last + 1]
        has_capital = True in capitals and self.case_counts
        has_digit = DIGIT.search(stretch) is not None
        if has_capital or (has_digit and len(stretch) > 1):
            return Grade.NAMED
        if not is_clear:
            return Grade.COMMON
        is_word = len(content) < 2 and (has_digit or stretch.islower())
        return Grade.WORD if is_word else Grade.NAMED

    def _is_respaced(self, reading: NameReading) -> bool:
        """Whether no spelling is divided into the same words; in Hangul any will do."""
        start, end = reading.start, reading.end
        breaks = [stop - start for stop in self.text.ends[reading.first : reading.last]]
        hangul = HAS_HANGUL.search(self.text.kept, start, end) is not None
        return not hangul and all(self.finder.breaks(row) != breaks for row in reading.rows)

    def _apart(self, readings: Sequence[NameReading]) -> list[NameReading]:
        """Of readings on the same place one, in the text's order: one that is divided into the same words,
        the longest, the last: of the Crown Inn not *the Crown*."""
        if len(readings) < 2:
            return list(readings)
        taken = bytearray(len(self.text.kept))
        apart = []
        for reading in sorted(
            readings,
            key=lambda one: (self._is_respaced(one), one.start - one.end, -one.start),
        ):
            if taken.find(1, reading.start, reading.end) < 0:
                taken[reading.start : reading.end] = b"\1" * (reading.end - reading.start)
                apart.append(reading)
        return sorted(apart, key=lambda reading: reading.start)

    def _mention(self, reading: NameReading, grade: Grade) -> Mention:
        start, end = self.text.span(reading.start, reading.end)
        rows = reading.rows if len(reading.rows) == 1 else self._meant(reading, start, end)
        spellings = [self.names.spelling(row) for row in rows]
        entities = {self.names.entity(row) for row in rows}
        in_order = tuple(sorted(entities, key=self.finder.graph.name_rank.__getitem__))
        kind = min(map(self.names.kind, rows))
        stands = self._stands(spellings[0], start, end)
        if stands is not None:  # punctuation at its ends belongs to it
            start, end = stands, stands + len(spellings[0])
        if self.finder.folded(rows[0]) != self.text.kept[reading.start : reading.end]:
            rule = "accent"
        elif kind != NAME:
            rule = RULES[kind]
        elif reading.inside:
            rule = "particle"
        else:
            here = nfc(self.text.whole[start:end])
            rule = "exact" if here in map(nfc, spellings) else "folded"
        return Mention(start, end, in_order, rule, grade)

    def _meant(self, reading: NameReading, start: int, end: int) -> list[int]:
        """Of several spellings that are the same text, those that are meant: with the same accents, then
        spelt exactly so, punctuation included (the longest: `Up!` before `Up`), then with the same letters; a
        name before an alias. In a text without capitals names of entities with a relation that it speaks of
        come before those that only have its case."""
        whole, has_case = self.text.whole, True in self.text.capitals
        around = set() if has_case else {*words_of_name(whole[:start]), *words_of_name(whole[end:])}
        folded, letters = self.text.kept[reading.start : reading.end], letters_of(whole[start:end])

        def unlike(row: int) -> tuple[bool, bool, int, bool, bool, int]:
            name, kind = self.names.spelling(row), self.names.kind(row)
            return (
                self.finder.folded(row) != folded,
                kind >= VARIANT,
                -len(name) * (self._stands(name if has_case else name.lower(), start, end) is not None),
                not self.finder.is_related(self.names.entity(row), around),
                self.finder.letters(row) != letters,
                kind,
            )

        least = min(map(unlike, reading.rows))
        return [row for row in reading.rows if unlike(row) == least]

    def _stands(self, name: str, start: int, end: int) -> int | None:
        """Where `name`, punctuation included, stands in the text around a stretch of it."""
        at = self.text.whole.rfind(name, max(0, end - len(name)), start + len(name))
        return at if 0 <= at <= start and at + len(name) >= end else None


def letters_of(text: str) -> str:
    """Without white space and punctuation, case and accents as they are."""
    return spaced(nfc(text)).replace(" ", "")


def stems_of_types(graph: KnowledgeGraph) -> frozenset[str]:
    """The stems of the content words in the names of relation and entity types."""
    types = (*graph.relations.types.names, *graph.entities.types.names)
    return frozenset(stem(word) for name in types for word in words_of_name(name) if word not in NAMELESS)
