"""Which words of a long list a word is like, without comparing it with each of them.

An index proposes by what makes two words alike (lemma, stem, beginning, part of a compound), `likeness`
decides: the answer is that of comparing with every word.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Protocol

from tiny_graph_rag.language.lemmas import BEGINNING
from tiny_graph_rag.language.words import (
    KOREAN_STEM,
    SHARED_PREFIX,
    SHORTEST_STEM,
    is_korean,
    lemma,
    likeness,
    stem,
    stray_forms,
    strays,
)

START = BEGINNING  # letters that a word and its stem share, strays aside
GAP = "\n"  # stands in no word


class Alike:
    """Words of one list, found by any word of its script that they are like."""

    def __init__(self, words: Iterable[str]) -> None:
        self._of_script: dict[bool, list[str]] = {True: [], False: []}
        for word in sorted(set(words)):
            self._of_script[is_korean(word)].append(word)
        self._index: dict[bool, _Index] = {}

    def like(self, word: str) -> Iterator[tuple[str, int]]:
        """The words of the list that `word` is like, in order, each with its grade of likeness."""
        korean = is_korean(word)
        if not self._of_script[korean]:
            return
        index = self._index.get(korean)
        if index is None:  # filled, then shown: other threads may ask meanwhile
            made = _Korean if korean else _English
            index = self._index[korean] = made(self._of_script[korean])
        for other in sorted(index.proposed(word)):
            grade = likeness(word, other)
            if grade:
                yield other, grade


class _Index(Protocol):
    def proposed(self, word: str) -> set[str]:
        """Every word that `word` may be like, and some that it is not."""
        ...


class _Korean:
    def __init__(self, words: list[str]) -> None:
        self._by_start: dict[str, list[str]] = {}
        for word in words:
            self._by_start.setdefault(stem(word)[:KOREAN_STEM], []).append(word)

    def proposed(self, word: str) -> set[str]:
        return set(self._by_start.get(stem(word)[:KOREAN_STEM], ()))


class _English:
    """Any script that is not Hangul."""

    def __init__(self, words: list[str]) -> None:
        self._same: dict[str, list[str]] = {}  # by the word itself, its lemma and its stem
        self._by_start: dict[str, list[str]] = {}  # of the lemma
        self._by_stem_start: dict[str, list[str]] = {}
        for word in words:
            for key in {word, lemma(word), stem(word)}:
                self._same.setdefault(key, []).append(word)
            self._by_start.setdefault(lemma(word)[:SHARED_PREFIX], []).append(word)
            self._by_stem_start.setdefault(stem(word)[:START], []).append(word)
        self._text = GAP.join(words)
        self._words = words
        self._starts = [0]
        for word in words[:-1]:
            self._starts.append(self._starts[-1] + len(word) + len(GAP))

    def proposed(self, word: str) -> set[str]:
        found = set[str]()
        for key in (word, lemma(word), stem(word)):
            found.update(self._same.get(key, ()))
        found.update(self._by_start.get(lemma(word)[:SHARED_PREFIX], ()))
        for place in range(SHORTEST_STEM, len(word) - SHORTEST_STEM):  # what may end the word
            end = word[place:]
            found.update(self._by_stem_start.get(end[:START], ()))
            if end in strays():
                found.update(self._same.get(stem(end), ()))
        part = stem(word)
        if len(part) >= SHARED_PREFIX:  # and which words it may end
            found.update(self._holding(part[:START]))
            for form in stray_forms(part):
                found.update(self._holding(form))
        return found

    def _holding(self, part: str) -> Iterator[str]:
        """The words that hold `part` somewhere."""
        at = self._text.find(part)
        while at >= 0:
            row = bisect_right(self._starts, at) - 1
            yield self._words[row]
            at = self._text.find(part, self._starts[row] + len(self._words[row]))
