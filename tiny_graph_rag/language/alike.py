"""Which words of a long list a word is like, without comparing it with each of them.

An index proposes by what makes two words similar (lemma, stem, beginning, part of a compound), `likeness`
decides: the answer is that of comparing with every word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from tiny_graph_rag.language.lemmas import BEGINNING
from tiny_graph_rag.language.words import (
    KOREAN_STEM,
    SHARED_PREFIX,
    ends_of,
    is_korean,
    lemma,
    likeness,
    stem,
    strays,
)

START = BEGINNING  # letters that a word and its stem share, strays aside


class Alike:
    """Words of one list, found by any word of its script that they are like."""

    def __init__(self, words: Iterable[str]) -> None:
        self._of_script: dict[bool, list[str]] = {True: [], False: []}
        for word in sorted(set(words)):
            self._of_script[is_korean(word)].append(word)

    def like(self, word: str) -> Iterator[tuple[str, int]]:
        """The words of the list that `word` is like, in order, each with its grade of likeness."""
        korean = is_korean(word)
        if not self._of_script[korean]:
            return
        for other in sorted(self._by_start.get(_start(word), ()) if korean else self._english.proposed(word)):
            grade = likeness(word, other)
            if grade:
                yield other, grade

    @cached_property
    def _by_start(self) -> dict[str, list[str]]:
        words: dict[str, list[str]] = {}
        for word in self._of_script[True]:
            words.setdefault(_start(word), []).append(word)
        return words

    @cached_property
    def _english(self) -> _English:
        return _English(self._of_script[False])


def _start(word: str) -> str:
    return stem(word)[:KOREAN_STEM]


class _English:
    """Any script that is not Hangul. Each rule of `likeness` has its own way in, so that of a long list only
    words are proposed that are like the word, or nearly so."""

    def __init__(self, words: Sequence[str]) -> None:
        self._by_stem: dict[str, list[str]] = {}  # the same word and the same lemma have the same stem
        # By as much of the lemma's beginning as a word must share to be related: (lemma, word).
        self._by_beginning: dict[str, list[tuple[str, str]]] = {}
        self._ends: dict[str, dict[str, list[str]]] = {}  # what words may end in, by its start
        self._ends_by_stem: dict[str, dict[str, list[str]]] = {}  # the same by stem, where a word asked
        self._sizes: set[int] = set()  # letters of those beginnings
        irregular = strays()
        for word in words:
            form = lemma(word)
            self._by_stem.setdefault(stem(word), []).append(word)
            if len(form) >= SHARED_PREFIX:
                least = _least_shared(form)
                self._sizes.add(least)
                self._by_beginning.setdefault(form[:least], []).append((form, word))
            for end in ends_of(word):
                start = (stem(end) if end in irregular else end)[:START]
                self._ends.setdefault(start, {}).setdefault(end, []).append(word)

    def proposed(self, word: str) -> set[str]:
        base, form = stem(word), lemma(word)
        found = set(self._by_stem.get(base, ()))
        least = form[: _least_shared(form)]
        for size in self._sizes:
            related = self._by_beginning.get(form[:size], ())
            found.update(other for its_form, other in related if its_form.startswith(least))
        for end in ends_of(word):
            found.update(self._by_stem.get(stem(end), ()))
        if len(base) >= SHARED_PREFIX:
            found.update(self._ending_in(base))
        return found

    def _ending_in(self, base: str) -> Sequence[str]:
        """The words that end in one of this stem."""
        start = base[:START]
        known = self._ends_by_stem.get(start)
        if known is None:  # filled, then shown: other threads may ask meanwhile
            known = {}
            for end, words in self._ends.get(start, {}).items():
                known.setdefault(stem(end), []).extend(words)
            self._ends_by_stem[start] = known
        return known.get(base, ())


def _least_shared(form: str) -> int:
    """Letters of its beginning that a lemma must share with another to be related: four, and half of it."""
    return max(SHARED_PREFIX, (len(form) + 1) // 2)
