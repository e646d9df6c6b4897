"""The names in a text: each stretch is looked up, the best evidence counts, the longest goes first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import ALIAS, BEGINNING, NAME, PLAIN, VARIANT, NameIndex
from tiny_graph_rag.language.folding import HAS_HANGUL, Cut, Text, fold, is_dropped, nfc, without_accents
from tiny_graph_rag.language.function_words import ParticleFit, particles
from tiny_graph_rag.language.kinds import kinds_of_entities
from tiny_graph_rag.language.words import is_function_word, likeness, words_of_name
from tiny_graph_rag.linking.grades import COMMON, Evidence, Grade, KnownWords, Reading, Spelling, letters_of

RULES = {ALIAS: "alias", VARIANT: "variant", PLAIN: "accent"}
SPELLINGS_KEPT = 1 << 14  # taken apart once, before they are forgotten


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text that names entities. start, end: its characters. entities: in tie-break order.

    rule: exact, folded, particle, misfit-particle, alias, variant or accent. grade: how strong the
    evidence is.
    """

    start: int
    end: int
    entities: tuple[int, ...]
    rule: str
    grade: Grade

    @property
    def is_telling(self) -> bool:
        """Whether it outweighs the context: not where the name is but a relation's or a function word."""
        return self.grade < Grade.RELATION


class MentionFinder:
    """Finds the names of a graph in texts."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex) -> None:
        self.graph, self.names = graph, names
        self.known = KnownWords(names, [*graph.relations.types.names, *graph.entities.types.names])
        self._spelling = lru_cache(SPELLINGS_KEPT)(self._spelling_of)

    def _spelling_of(self, row: int) -> Spelling:
        text = self.names.spelling(row)
        return Spelling(text, self.names.entity(row), self.names.kind(row), fold(text))

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """(entities,): only a question with turns before it asks for all of them."""
        return kinds_of_entities(self.graph.entities.types)

    def find(self, texts: Sequence[str]) -> list[tuple[Mention, ...]]:
        """The mentions of each text, in the order in which they stand there."""
        return [self._mentions(text) for text in texts]

    def _mentions(self, whole: str) -> tuple[Mention, ...]:
        text = Text.of(whole)
        readings = list(self._readings(text))
        evidence = Evidence(text, readings, self.known)
        graded = [(reading, evidence.grade(reading)) for reading in readings]
        return tuple(
            self._mention(evidence, reading, grade) for reading, grade in self._chosen(evidence, graded)
        )

    def places_of(
        self, whole: str, entities: Collection[int], taken: Sequence[tuple[int, int]] = ()
    ) -> list[Mention]:
        """Where a text names these entities, whatever else it may mean there: the longest first, no two on
        the same place. taken: places (start, end) that are something else."""
        text = Text.of(whole)
        readings = []
        evidence = Evidence(text, list(self._readings(text)), self.known)
        for reading in evidence.readings:
            start, end = text.span(reading.start, reading.end)
            meant = [spelling for spelling in reading.spellings if spelling.entity in entities]
            if meant and all(end <= begin or start >= stop for begin, stop in taken):
                readings.append(replace(reading, spellings=meant))
        apart = _apart(evidence, [(reading, evidence.grade(reading)) for reading in readings])
        return [self._mention(evidence, reading, grade) for reading, grade in apart]

    def _readings(self, text: Text) -> Iterator[Reading]:
        """Every stretch of the text that is a spelling of the graph, overlapping ones too, by start and end.

        What stands there with accents and is no spelling is looked up without them.
        """
        cuts = text.cuts()
        stretches = [(*stretch, "") for stretch in self._looked_up(text.kept, cuts)]
        plain = without_accents(text.kept)
        if plain != text.kept and len(plain) == len(text.kept):
            known = {stretch[:2] for stretch in stretches}
            without = [(*stretch, "accent") for stretch in self._looked_up(plain, cuts)]
            stretches = sorted(stretches + [stretch for stretch in without if stretch[:2] not in known])
        for start, end, inside, rows, change in stretches:
            fit = ParticleFit.FITS
            if inside:
                fit = particles(text.kept[start:end], text.rest_of_word(end))
            elif text.is_one_of_a_run(start, end):
                continue
            spellings = self._spelt((plain if change else text.kept)[start:end], rows) if fit else []
            if spellings:
                yield Reading(start, end, fit, inside, spellings, change)

    def _looked_up(self, kept: str, cuts: Sequence[Cut]) -> Iterator[tuple[int, int, bool, list[int]]]:
        """What the index may hold: start, end, whether the end lies within a word, rows with its key."""
        table, last = self.names.table, len(cuts)
        slots, shift = table.slots, table.shift
        parts = [kept[cut.start : cut.end].encode("utf-8", "surrogatepass") for cut in cuts]
        ends = [cut.end for cut in cuts]
        for first, cut in enumerate(cuts):
            if not cut.opens:
                continue
            start = cut.start
            limit = start + table.longest(kept[start : start + BEGINNING])
            key = 0
            for place in range(first, last):
                end = ends[place]
                if end > limit:
                    break
                key = crc32(parts[place], key)  # goes on where the last part ended
                slot = key >> shift
                if slots[slot] != slots[slot + 1]:
                    rows = table.rows_of(key)
                    if rows:
                        yield start, end, cuts[place].inside, rows

    def _spelt(self, folded: str, rows: Sequence[int]) -> list[Spelling]:
        return [spelling for spelling in map(self._spelling, rows) if spelling.folded == folded]

    def _chosen(
        self, evidence: Evidence, graded: Sequence[tuple[Reading, Grade]]
    ) -> list[tuple[Reading, Grade]]:
        """The readings with the best evidence, no two of them on the same place, in the text's order."""
        best = min((grade for _, grade in graded), default=Grade.FUNCTION)
        chosen = [(reading, grade) for reading, grade in graded if grade == best]
        if best == Grade.WORD:
            rarest = min(evidence.rarity(reading) for reading, _ in chosen)
            chosen = [pair for pair in chosen if evidence.rarity(pair[0]) <= COMMON * rarest]
        return _apart(evidence, chosen)

    def _mention(self, evidence: Evidence, reading: Reading, grade: Grade) -> Mention:
        text, spellings = evidence.text, reading.spellings
        start, end = text.span(reading.start, reading.end)
        if len(spellings) > 1:
            spellings = self._meant(evidence, reading, start, end)
        entities = {spelling.entity for spelling in spellings}
        in_order = tuple(sorted(entities, key=self.graph.name_rank.__getitem__))
        first, kind = spellings[0].text, min(spelling.kind for spelling in spellings)
        if text.whole[start:end] != first and _stands_at(first, text.whole, start):
            start -= _lead(first)
            end = start + len(first)
        if reading.change:
            rule = reading.change
        elif kind != NAME:
            rule = RULES[kind]
        elif reading.inside:
            rule = "particle" if reading.fit == ParticleFit.FITS else "misfit-particle"
        else:
            here = nfc(text.whole[start:end])
            rule = "exact" if any(nfc(spelling.text) == here for spelling in spellings) else "folded"
        return Mention(start, end, in_order, rule, grade)

    def _meant(self, evidence: Evidence, reading: Reading, start: int, end: int) -> list[Spelling]:
        """Of several spellings that fold to the same text, those that the text means."""
        kept, whole = evidence.text.kept[reading.start : reading.end], evidence.text.whole
        letters = letters_of(whole[start:end])
        if evidence.case_counts or not (kept.islower() or kept.isupper()):
            return _as_written(reading.spellings, whole, start, letters)
        return self._in_any_case(reading.spellings, whole, start, end, letters)

    def _in_any_case(
        self, spellings: Sequence[Spelling], whole: str, start: int, end: int, letters: str
    ) -> list[Spelling]:
        """The same where case tells nothing: names that differ in case only are distinguished by the
        relations that the text speaks of, and where it speaks of none of them, by case after all."""
        folded = whole.casefold()
        if len(folded) != len(whole):
            folded = whole

        def level(spelling: Spelling) -> tuple[bool, int]:
            stands = _stands_at(spelling.text.casefold(), folded, start)
            return spelling.kind >= VARIANT, -len(spelling.text) if stands else 0

        best_level = min(map(level, spellings))
        best = [spelling for spelling in spellings if level(spelling) == best_level]
        if len({spelling.text for spelling in best}) == 1:
            return best
        around = set(words_of_name(whole[:start])) | set(words_of_name(whole[end:]))
        related = [spelling for spelling in best if self._is_related(spelling.entity, around)]
        if 0 < len(related) < len(best):
            return related
        return [spelling for spelling in best if letters_of(spelling.text) == letters] or best

    def _is_related(self, entity: int, words: set[str]) -> bool:
        """Whether a word is like one in the name of a relation at the entity, `by` and the like aside."""
        adjacency, types = self.graph.adjacency, self.graph.relations.types
        slots = adjacency.slots(entity)
        codes = distinct(types.codes[adjacency.relations[slots]])[0].tolist()
        of_types = {word for code in codes for word in words_of_name(types.names[code])}
        return any(
            likeness(word, other) for other in of_types if not is_function_word(other) for word in words
        )


def _apart(evidence: Evidence, graded: list[tuple[Reading, Grade]]) -> list[tuple[Reading, Grade]]:
    """Of readings on the same place one, in the text's order."""
    if len(graded) < 2:
        return graded
    graded = sorted(graded, key=lambda pair: _preference(evidence, pair[0]))
    taken = bytearray(len(evidence.text.kept))
    apart = []
    for reading, grade in graded:
        if taken.find(1, reading.start, reading.end) < 0:
            taken[reading.start : reading.end] = b"\1" * (reading.end - reading.start)
            apart.append((reading, grade))
    return sorted(apart, key=lambda pair: pair[0].start)


def _preference(evidence: Evidence, reading: Reading) -> tuple[bool, int, bool, int]:
    """First the same division into words (in Hangul any will do), the longest, particles that fit."""
    hangul = HAS_HANGUL.search(evidence.text.kept, reading.start, reading.end) is not None
    respaced = not hangul and not evidence.is_as_spaced(reading)
    return respaced, reading.start - reading.end, reading.fit != ParticleFit.FITS, reading.start


def _as_written(spellings: Sequence[Spelling], whole: str, start: int, letters: str) -> list[Spelling]:
    """Spelt exactly so, punctuation included (the longest: `Up!` before `Up`); else the same letters."""

    def level(spelling: Spelling) -> tuple[int, int, int]:
        if spelling.kind >= VARIANT:
            return 3, 0, 0
        if _stands_at(spelling.text, whole, start):
            return 0, -len(spelling.text), spelling.kind
        return (1 if letters_of(spelling.text) == letters else 2), 0, 0

    best = min(map(level, spellings))
    return [spelling for spelling in spellings if level(spelling) == best]


def _stands_at(name: str, whole: str, start: int) -> bool:
    """Whether `name`, punctuation included, stands in the text with its first kept character at `start`."""
    lead = _lead(name)
    return start >= lead and whole.startswith(name, start - lead)


def _lead(name: str) -> int:
    """How many characters of a name folding drops before the first that it keeps."""
    return next((place for place, letter in enumerate(name) if not is_dropped(letter)), 0)


def occurrences(whole: str, phrase: str) -> list[tuple[int, int]]:
    """Where a phrase stands in a text as a name would, folded, from a word's start to a word's end."""
    text, folded = Text.of(whole), fold(phrase)
    if not folded:
        return []
    cuts = text.cuts()
    opens = {cut.start for cut in cuts if cut.opens}
    inside = {cut.end: cut.inside for cut in cuts}
    spans, start = [], text.kept.find(folded)
    while start >= 0:
        end = start + len(folded)
        if (
            start in opens
            and end in inside
            and (not inside[end] or particles(folded, text.rest_of_word(end)))
        ):
            spans.append(text.span(start, end))
        start = text.kept.find(folded, start + 1)
    return spans
