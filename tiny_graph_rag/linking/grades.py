"""How strongly a text speaks for each reading: does it name the entity, or is it just a word like the name?

A film called `The`, a tag `films`: such names stand in many questions that do not mean them. What tells
them apart is in the question and in the graph: capitals in an otherwise lower-case question, digits,
several content words, words that the graph's relations are named with, function words.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache

from tiny_graph_rag.columns.arrays import key_of
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import Text, nfc, spaced
from tiny_graph_rag.language.function_words import NAMELESS, ParticleFit
from tiny_graph_rag.language.words import words_of_name

# A word that the graph's names hold so many times as often as another word of the question is rather a word.
COMMON = 4
ANY = 1 << 31  # the commonness of function words
STEM, HANGUL_STEM = 4, 2  # characters that two words share at their start when they have a stem in common
KNOWN_WORDS = 1 << 16  # looked up once, before they are forgotten
DIGIT = re.compile(r"\d")


class Grade(IntEnum):
    """Best first.

    NAMED: a capital inside the sentence, a digit, several content words, a script without case, Latin
    letters among such a script. OTHER_CASE: the same, but the graph writes the name in other case. WORD: one
    content word. RELATION: only words that relations are named with. FUNCTION: nothing but function words.
    """

    NAMED = 0
    OTHER_CASE = 1
    WORD = 2
    RELATION = 3
    FUNCTION = 4


@dataclass(frozen=True, slots=True)
class Spelling:
    """A row of the index, with its text, as it is and folded."""

    text: str
    entity: int
    kind: int
    folded: str

    @property
    def breaks(self) -> list[int]:
        """After how many of its letters a word ends, the last one's end left out."""
        return Text.of(self.text).ends[:-1]


@dataclass(slots=True)
class Reading:
    """A stretch of `Text.kept` that is a spelling of the graph.

    fit: how the rest of its last word reads, FITS where there is none; inside: whether there is one. change:
    what was changed to find the spellings, "accent" or "" for nothing.
    """

    start: int
    end: int
    fit: ParticleFit
    inside: bool
    spellings: list[Spelling]
    change: str = ""


def letters_of(text: str) -> str:
    """Without white space and punctuation, case and accents as they are."""
    return spaced(nfc(text)).replace(" ", "")


class KnownWords:
    """What each word is to the graph, looked up once."""

    def __init__(self, names: NameIndex, types: Iterable[str]) -> None:
        """types: names of relation and entity types."""
        self._names, self._stems = names, stems_of_types(types)
        self._function = frozenset(names.function_words.tolist())
        self.of = lru_cache(KNOWN_WORDS)(self._of)

    def _of(self, word: str) -> tuple[bool, bool, bool]:
        """Whether it is a function word, whether relations are named with a word of its stem, and whether its
        script has case."""
        is_function = word in NAMELESS or key_of(word) in self._function
        has_case = word[0].islower() or word[0].isupper()
        return is_function, stem_of(word) in self._stems, has_case

    def commonness(self, word: str) -> int:
        """In how many places of names it stands; of function words more than any."""
        return ANY if self.of(word)[0] else self._names.count_of(word)


class Evidence:
    """What a text says for the readings in it. readings: all of them, overlapping ones too."""

    def __init__(self, text: Text, readings: Sequence[Reading], known: KnownWords) -> None:
        self.text, self.readings, self.known = text, readings, known
        whole, count = text.whole, len(text.words)
        self.is_upper = [False] * count
        if not whole.islower():
            starts = text.places if text.moved is None else [text.bounds(word)[0] for word in range(count)]
            self.is_upper = [
                whole[start].isupper() and word != "i" for start, word in zip(starts, text.words, strict=True)
            ]

    @cached_property
    def case_counts(self) -> bool:
        """Whether capitals are evidence: not where nearly all words have one, or none.

        Judged by the words that belong to no reading and don't begin the text; where there are none, by all.
        """
        if True not in self.is_upper:
            return False
        covered = bytearray(len(self.text.kept))
        for reading in self.readings:
            covered[reading.start : reading.end] = b"\1" * (reading.end - reading.start)
        outside = [
            word
            for word, start in enumerate(self.text.starts)
            if word and not covered[start] and self._is_cased(word)
        ]
        if outside:
            return 2 * sum(not self.is_upper[word] for word in outside) >= len(outside)
        return any(self._is_cased(word) and not upper for word, upper in enumerate(self.is_upper))

    def _is_cased(self, word: int) -> bool:
        return self.known.of(self.text.words[word])[2]

    @cached_property
    def is_without_case(self) -> bool:
        return self.text.is_without_case

    def words_in(self, reading: Reading) -> tuple[int, int, str]:
        """Its first and last word, as places in the text's words, and what it holds of the last one."""
        starts = self.text.starts
        last = bisect_left(starts, reading.end) - 1
        first = min(bisect_left(starts, reading.start), last)  # it may begin within a word
        return first, last, self.text.kept[max(starts[last], reading.start) : reading.end]

    def grade(self, reading: Reading) -> Grade:
        first, last, part = self.words_in(reading)
        if first == last and not self.is_upper[last] and part.isalpha() and self.known.of(part)[0]:
            return Grade.FUNCTION  # what most readings are: `the`, `what`
        kept = self.text.kept[reading.start : reading.end]
        known = [self.known.of(word)[:2] for word in (*self.text.words[first:last], part)]
        content = sum(not function for function, _ in known)
        clear = sum(not function and not relation for function, relation in known)
        has_digit = DIGIT.search(kept) is not None
        capital = True in self.is_upper[max(first, 1) : last + 1] and self.case_counts
        marked = capital or (has_digit and len(kept) > 1)
        if marked and (not self.case_counts or self.is_as_written(reading)):
            return Grade.NAMED
        if clear:
            if content > 1 or self.is_without_case or not (has_digit or kept.islower() or kept.isupper()):
                return Grade.NAMED
            if first == 0 and self.is_upper[0] and self.case_counts and self.is_as_written(reading):
                return Grade.NAMED
        if marked:
            return Grade.OTHER_CASE
        if clear:
            return Grade.WORD
        return Grade.RELATION if content or last > first else Grade.FUNCTION

    def is_as_written(self, reading: Reading) -> bool:
        """Whether a spelling has the same letters in the same case."""
        start, end = self.text.span(reading.start, reading.end)
        written = self.text.whole[start:end]
        if any(spelling.text == written for spelling in reading.spellings):
            return True
        letters = letters_of(written)
        return any(letters_of(spelling.text) == letters for spelling in reading.spellings)

    def is_as_spaced(self, reading: Reading) -> bool:
        """Whether a spelling is divided into the same words."""
        start, end = self.text.span(reading.start, reading.end)
        if any(spelling.text == self.text.whole[start:end] for spelling in reading.spellings):
            return True
        breaks = self.text.breaks_in(reading.start, reading.end)
        return any(spelling.breaks == breaks for spelling in reading.spellings)

    def rarity(self, reading: Reading) -> int:
        """In how many places of names its only word stands; 1 for several words and for numbers."""
        first, last, part = self.words_in(reading)
        if last > first or DIGIT.search(self.text.kept, reading.start, reading.end):
            return 1
        return self.known.commonness(part)


def stems_of_types(types: Iterable[str]) -> frozenset[str]:
    """The stems of the content words in the names of relation and entity types."""
    return frozenset(stem_of(word) for name in types for word in words_of_name(name) if word not in NAMELESS)


def stem_of(word: str) -> str:
    return word[: HANGUL_STEM if "가" <= word[0] <= "힣" else STEM]
