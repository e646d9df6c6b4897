"""A graph's spellings, gathered for its index of names: those that are written, and those that people use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, counted
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.language.characters import (
    CASED,
    UPPER,
    Characters,
    Keys,
    among,
    characters,
    keys,
    keys_of,
    keys_of_rows,
    running,
)
from tiny_graph_rag.language.folding import fold, without_accents

CHUNK = 1 << 16  # names folded at once: 60 MB of columns, whatever the size of the graph
COUNTED_FROM = 1 << 20  # words that came
FEWEST = 5  # names in which a word must stand in lower case before it can count as a function word
TITLE_CASE = 1 / 3  # share of lower-case words up to which a graph's names count as written in title case
AND = re.compile(r"\band\b", re.IGNORECASE)
ARTICLE = re.compile(r"(?:[Tt]he|[Aa]n?)\s+(?=[A-Z]\w)")  # of a name: `the Nautilus` may lack it


class WordCounts:
    """Keys → how often each came; counted whenever many have come, so that only different ones are held."""

    def __init__(self) -> None:
        self.total = 0
        self._known = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32)
        self._new: list[Keys] = []
        self._waiting = 0

    def add(self, words: Keys) -> None:
        self._new.append(words)
        self.total += len(words)
        self._waiting += len(words)
        if self._waiting > max(COUNTED_FROM, len(self._known[0])):
            self.counted()

    def counted(self) -> tuple[Keys, NDArray[np.int32]]:
        """The different keys, ascending, and the times."""
        if self._new:
            words, times = counted(np.concatenate(self._new))
            self._new, self._waiting = [], 0
            if not len(self._known[0]):
                self._known = words, times.astype(np.int32)
            else:
                every = np.concatenate([self._known[0], words])
                order = np.argsort(every, kind="stable")  # two ascending runs: merged
                every = every[order]
                times = np.concatenate([self._known[1], times.astype(np.int32)])[order]
                first = np.flatnonzero(begins(every))
                self._known = every[first], np.add.reduceat(times, first).astype(np.int32)
        return self._known


class Spellings:
    """Collects the keys of spellings, and of the words in names with how they are written."""

    def __init__(self, honorifics: Keys, is_person: NDArray[np.bool_]) -> None:
        self.honorifics, self.is_person, self.joining = honorifics, is_person, keys_of(["and"])
        self.keys: list[Keys] = [np.zeros(0, dtype=np.uint64)]
        self.lengths: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
        self.words = WordCounts()
        self.inner = WordCounts()  # words behind the first one of a capitalised name
        self.lower = WordCounts()  # those of them in lower case
        self.variants: list[tuple[int, str]] = []

    def add(self, spellings: Strings, *, are_names: bool = False) -> None:
        rows, done = iter(spellings), 0
        while chunk := list(islice(rows, CHUNK)):
            column = characters(chunk)
            bounds, key = keys_of_rows(column, len(chunk))
            self.keys.append(key)
            self.lengths.append(np.diff(bounds).astype(np.int32))
            if are_names:
                self._add_words(column, chunk, done)
            done += len(chunk)

    def _add_words(self, column: Characters, chunk: Sequence[str], offset: int) -> None:
        starts = np.flatnonzero(column.gaps[:-1])
        ends = np.append(starts[1:], len(column))
        if not len(starts):
            return
        word = keys(running(column.codes), starts, ends)
        text = column.text[starts]
        is_first = begins(text)
        upper = (column.flags[starts] & UPPER) > 0
        capitalised = np.zeros(len(chunk), dtype=bool)
        capitalised[text[is_first & upper]] = True
        inner = ~is_first & capitalised[text] & ((column.flags[starts] & CASED) > 0)
        self.words.add(word)
        self.inner.add(word[inner])
        self.lower.add(word[inner & ~upper])
        is_last = np.append(is_first[1:], True)
        titled = among(word, self.honorifics) & (is_first != is_last) & self.is_person[text + offset]
        for row, start, end, leads in zip(
            text[titled].tolist(),
            column.starts[starts[titled]].tolist(),
            column.ends[ends[titled] - 1].tolist(),
            is_first[titled].tolist(),
            strict=True,
        ):
            rest = chunk[row][end:] if leads else chunk[row][:start]
            if len(fold(rest)) > 1:
                self.variants.append((row + offset, rest.strip(" .,")))
        for row in text[among(word, self.joining) & ~is_first & ~is_last].tolist():
            self.variants.append((row + offset, AND.sub(" ", chunk[row])))
        for row, name in enumerate(chunk):
            if "&" in name:
                self.variants.append((row + offset, name.replace("&", " and ")))
            if ARTICLE.match(name):
                self.variants.append((row + offset, ARTICLE.sub("", name)))
            if not name.isascii() and (bare := without_accents(name)) != name:
                self.variants.append((row + offset, bare))

    def word_counts(self) -> tuple[Keys, NDArray[np.int32]]:
        return self.words.counted()

    def function_words(self) -> Keys:
        """Words that title-case names mostly write in lower case; none where names aren't so written."""
        if not self.words.total or self.lower.total > TITLE_CASE * self.inner.total:
            return np.zeros(0, dtype=np.uint64)
        inner, everywhere = self.inner.counted()
        lower, times = self.lower.counted()
        return lower[(times >= FEWEST) & (2 * times > everywhere[np.searchsorted(inner, lower)])]
