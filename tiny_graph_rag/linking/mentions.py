"""The names in a text: every stretch is looked up, the best evidence counts, the longest goes first.

A film called `The`, a tag `films`: such names stand in many questions that do not mean them. What tells
them apart is in the question and in the graph: capitals, several content words, words that the graph's
relations are named with, function words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache

from msgspec import Struct

from tiny_graph_rag.columns.arrays import distinct, key_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import ALIAS, BEGINNING, NAME, VARIANT, NameIndex
from tiny_graph_rag.language.folding import HAS_HANGUL, Stretch, Text, fold, nfc, spaced, without_accents
from tiny_graph_rag.language.function_words import FUNCTION_WORDS, NAMELESS, ends_a_name
from tiny_graph_rag.language.words import likeness, stem, words_of_name
from tiny_graph_rag.linking.base import Seed

RULES = {ALIAS: "alias", VARIANT: "variant"}
SPELLINGS_KEPT = 1 << 14  # taken apart once, before they are forgotten


class Grade(IntEnum):
    """How strongly a text speaks for a name, best first.

    NAMED: a capital; several content words; a script without case. WORD: one content word. COMMON: only
    function words, and words that relations are named with.
    """

    NAMED = 0
    WORD = 1
    COMMON = 2


class Mention(Struct, frozen=True):
    """A place in a text that names entities. start, end: its characters. entities: in tie-break order.

    rule: exact, folded, particle, alias, variant, accent, form or fuzzy. grade: how strong the evidence is.
    """

    start: int
    end: int
    entities: tuple[int, ...]
    rule: str
    grade: Grade = Grade.NAMED

    @property
    def is_telling(self) -> bool:
        """Whether it outweighs the context: not where the name is but a relation's or a function word."""
        return self.grade < Grade.COMMON

    def seeds(self, text: str) -> list[Seed]:
        """Of the entities that it names. text: the one in which it stands."""
        return Seed.sharing(self.entities, text[self.start : self.end], self.start, self.end, self.rule)


def apart(best_first: Sequence[Mention], taken: Iterable[tuple[int, int]] = ()) -> list[Mention]:
    """Those that share no place with a better one or with a stretch that is `taken`, in the text's order."""
    used = bytearray(max((mention.end for mention in best_first), default=0))
    for start, end in taken:
        used[start:end] = b"\1" * (end - start)
    kept = []
    for mention in best_first:
        if used.find(1, mention.start, mention.end) < 0:
            used[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            kept.append(mention)
    return sorted(kept, key=lambda mention: mention.start)


class MentionFinder:
    """Finds the names of a graph in texts."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex) -> None:
        self.graph, self.names = graph, names
        known = lru_cache(SPELLINGS_KEPT)
        self._folded = known(lambda row: fold(names.spelling(row)))
        self._rows = known(self._rows_of)
        self._stems = stems_of_types(graph)

    def _rows_of(self, stretch: str) -> list[int]:
        """`_rows`: of the index, those that a folded stretch of a text without accents spells."""
        rows = self.names.table.rows_of(key_of(stretch))
        return [row for row in rows if without_accents(self._folded(row)) == stretch]

    def find(self, whole: str) -> tuple[Mention, ...]:
        """The mentions of a text, in the order in which they stand there: those with the best evidence, of
        those on the same place one of as many words as the name has, the longest, the last: of the Crown Inn
        not *the Crown*."""
        text = Text.of(whole)
        graded: dict[Grade, list[tuple[Stretch, list[int]]]] = {}
        for stretch, rows in self._readings(text):
            graded.setdefault(self.grade(text, stretch), []).append((stretch, rows))
        best = min(graded, default=Grade.COMMON)
        readings = sorted(graded.get(best, ()), key=lambda reading: self._unlikeliness(text, *reading))
        has_case = True in text.capitals
        return tuple(apart([self._mention(text, *reading, best, has_case) for reading in readings]))

    def _unlikeliness(self, text: Text, stretch: Stretch, rows: list[int]) -> tuple[bool, int, int]:
        """Least of the best one on its place. In Hangul a name may be divided into any words."""
        (start, _, first, *_), (_, end, last, *_) = stretch
        words = [len(spaced(self.names.spelling(row)).split()) for row in rows]
        is_respaced = last - first + 1 not in words and HAS_HANGUL.search(text.kept, start, end) is None
        return is_respaced, start - end, -start

    def _readings(self, text: Text) -> Iterator[tuple[Stretch, list[int]]]:
        """Every stretch that is a spelling of the graph, accents aside, and its rows of the index."""
        plain, longest = without_accents(text.kept), self.names.table.longest
        for stretch in text.stretches(
            lambda cut: cut.start + longest(plain[cut.start : cut.start + BEGINNING])
        ):
            rows = self._rows(plain[stretch[0].start : stretch[1].end])
            if rows and ends_a_name(text, stretch):
                yield stretch, rows

    def grade(self, text: Text, stretch: Stretch) -> Grade:
        (start, _, first, *_), (_, end, last, *_) = stretch
        part = text.kept[max(text.starts[last], start) : end]
        content = [word for word in (*text.words[first:last], part) if word not in NAMELESS]
        is_clear = any(stem(word) not in self._stems for word in content)
        if True in text.capitals[first if is_clear else max(first, 1) : last + 1]:
            return Grade.NAMED
        if not is_clear:
            return Grade.COMMON
        return Grade.WORD if len(content) < 2 and part.islower() else Grade.NAMED

    def _mention(
        self, text: Text, stretch: Stretch, rows: list[int], grade: Grade, has_case: bool
    ) -> Mention:
        """has_case: whether the text has capitals."""
        first, last = stretch
        start, end = text.span(first.start, last.end)
        folded, whole = text.kept[first.start : last.end], text.whole

        def stands(name: str) -> int:
            """Where `name`, punctuation included, stands around the stretch in the text; -1 for nowhere."""
            at = whole.rfind(name, max(0, end - len(name)), start + len(name))
            return at if at <= start and at + len(name) >= end else -1

        def unlike(row: int) -> tuple[bool, int, bool, bool, int]:
            """Of several spellings that are the same text those are meant with the same accents, then spelt
            exactly so (the longest: `Up!` before `Up`), in a text without capitals those of an entity with
            a relation that the text speaks of, then with its case; a name before an alias."""
            name, entity = self.names.spelling(row), self.names.entity(row)
            exact = len(name) * (stands(name if has_case else name.lower()) >= 0)
            is_related = not has_case and self._is_related(entity, whole[:start] + whole[end:])
            is_other_case = stands(name) < 0
            return self._folded(row) != folded, -exact, not is_related, is_other_case, self.names.kind(row)

        if len(rows) > 1:
            best = min(map(unlike, rows))
            rows = [row for row in rows if unlike(row) == best]
        spellings = [self.names.spelling(row) for row in rows]
        if stands(spellings[0]) >= 0:  # punctuation at its ends belongs to it
            start = stands(spellings[0])
            end = start + len(spellings[0])
        kind = self.names.kind(rows[0])
        if self._folded(rows[0]) != folded:
            rule = "accent"
        elif kind != NAME:
            rule = RULES[kind]
        elif last.inside:
            rule = "particle"
        else:
            rule = "exact" if nfc(whole[start:end]) in map(nfc, spellings) else "folded"
        entities = {self.names.entity(row) for row in rows}
        return Mention(start, end, tuple(sorted(entities, key=self.graph.name_rank.__getitem__)), rule, grade)

    def _is_related(self, entity: int, text: str) -> bool:
        """Whether a word of a text is like one in the name of a relation at the entity, `by` and the like
        aside."""
        adjacency, types = self.graph.adjacency, self.graph.relations.types
        codes = distinct(types.codes[adjacency.relations[adjacency.slots(entity)]])[0].tolist()
        of_types = {word for code in codes for word in words_of_name(types.names[code])} - FUNCTION_WORDS
        return any(likeness(word, other) for word in words_of_name(text) for other in of_types)


def stems_of_types(graph: KnowledgeGraph) -> frozenset[str]:
    """The stems of the content words in the names of relation and entity types."""
    types = (*graph.relations.types.names, *graph.entities.types.names)
    return frozenset(stem(word) for name in types for word in words_of_name(name) if word not in NAMELESS)
