"""Names that are misspelt or spelt another way: a shortlist by shared n-grams, then rapidfuzz.

Spellings are compared letter by letter, Hangul by its jamo (`박녹주`, `박록주`: one letter of eight). Never
instead of an exact name, and only where a text speaks of something by name: words with a capital inside the
sentence, several content words, Hangul; one word in lower case only where nothing else is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import MissingExtraError
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold, nfd
from tiny_graph_rag.language.function_words import NAMELESS
from tiny_graph_rag.language.particles import LONGEST_REST, ParticleFit, final_consonant, particles
from tiny_graph_rag.linking.base import Seed
from tiny_graph_rag.linking.grades import Grade, stem_of, stems_of_types
from tiny_graph_rag.linking.mentions import Mention

GRAM = 3  # letters
BUCKETS = 262_139  # of grams, a prime; those that fall together only lengthen the shortlist
SPREAD = 0x9E3779B1  # odd and large: grams of the same letters in another order fall apart
SHORTLIST = 50  # spellings that rapidfuzz compares with one stretch of text
FEWEST_LETTERS = 5  # in shorter names one letter is too much of a difference
MOST_WORDS = 6  # of a stretch
CROWDED = 20_000  # a gram that so many spellings hold tells nothing
CHUNK = 1 << 16  # spellings cut into grams at once

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class _Found:
    """score: alikeness, in (0, 1]. start, end: characters of the question. entities: in tie-break order."""

    score: float
    start: int
    end: int
    entities: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Stretch:
    """start, end: characters of the question. is_name_like: whether it is written as names are."""

    start: int
    end: int
    is_name_like: bool


class NearNames:
    """Links stretches of a question that no name covers to spellings with a similarity of at least
    `threshold`.

    Raises MissingExtraError where rapidfuzz is not installed.
    """

    def __init__(self, graph: KnowledgeGraph, names: NameIndex, threshold: float) -> None:
        try:
            from rapidfuzz import fuzz
        except ImportError:
            raise MissingExtraError("--fuzzy", "rapidfuzz", "fuzzy") from None
        self.graph, self.names, self.threshold = graph, names, threshold
        self.ratio = fuzz.ratio
        self.stems = stems_of_types([*graph.relations.types.names, *graph.entities.types.names])

    def seeds(self, text: str, mentions: Sequence[Mention]) -> list[Seed]:
        """The best stretches first; no two of them, and no stretch and mention, share a place."""
        named = [mention for mention in mentions if mention.grade < Grade.RELATION]
        taken = [(mention.start, mention.end) for mention in named]
        free = [
            stretch
            for stretch in _stretches(text, self.stems)
            if all(stretch.end <= begin or stretch.start >= stop for begin, stop in taken)
        ]
        matches = [near for stretch in free if stretch.is_name_like for near in self._near(text, stretch)]
        if not matches and not named:
            matches = [
                near for stretch in free if not stretch.is_name_like for near in self._near(text, stretch)
            ]
        matches.sort(key=lambda match: (-match.score, match.start - match.end, match.start))
        seeds: list[Seed] = []
        for match in matches:
            if any(match.start < stop and match.end > begin for begin, stop in taken):
                continue
            taken.append((match.start, match.end))
            mention = text[match.start : match.end]
            seeds += Seed.sharing(match.entities, mention, match.start, match.end, "fuzzy", match.score)
        return seeds

    def _near(self, text: str, stretch: _Stretch) -> Iterator[_Found]:
        """The spellings most like one stretch, where they are enough so."""
        written = text[stretch.start : stretch.end]
        wanted = _letters(written)
        if len(wanted) < FEWEST_LETTERS:
            return
        scored = []
        for row in self._shortlist(wanted):
            spelling = self.names.spelling(row)
            score = self.ratio(wanted, _letters(spelling), score_cutoff=100 * self.threshold)
            if score:
                # Of names that fold to the same text, the one in the same case.
                scored.append((score, self.ratio(written, spelling), row))
        if scored:
            best = max(scored)[:2]
            entities = {self.names.entity(row) for *scores, row in scored if tuple(scores) == best}
            ranked = sorted(entities, key=self.graph.name_rank.__getitem__)
            yield _Found(best[0] / 100, stretch.start, stretch.end, tuple(ranked))

    def _shortlist(self, wanted: str) -> list[int]:
        """The spellings that share most grams with the stretch."""
        offsets, rows, lengths = self._postings
        parts = []
        for bucket in np.unique(_buckets([wanted])[0]).tolist():
            low, high = int(offsets[bucket]), int(offsets[bucket + 1])
            if high - low <= CROWDED:
                parts.append(rows[low:high])
        if not parts:
            return []
        candidates, shared = np.unique(np.concatenate(parts), return_counts=True)
        # Alikeness counts common letters twice and divides by both lengths: it bounds the other's length.
        shortest = self.threshold / (2 - self.threshold)
        length = lengths[candidates]
        fits = (length >= shortest * len(wanted)) & (shortest * length <= len(wanted))
        candidates, shared = candidates[fits], shared[fits]
        best = np.lexsort((candidates, -shared))[:SHORTLIST]
        return [int(row) for row in candidates[best]]

    @cached_property
    def _postings(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Bucket of a gram → the spellings that hold it, as offsets and rows; and each spelling's letters."""
        spellings = len(self.names.names) + len(self.names.others)
        buckets, rows = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        lengths = [np.zeros(0, dtype=np.int32)]
        for start in range(0, spellings, CHUNK):
            chunk = range(start, min(start + CHUNK, spellings))
            letters = [_letters(self.names.spelling(row)) for row in chunk]
            lengths.append(np.fromiter(map(len, letters), dtype=np.int32, count=len(letters)))
            bucket, text = _buckets(letters)
            pair = np.unique(bucket * CHUNK + text)
            buckets.append(pair // CHUNK)
            rows.append((pair % CHUNK + start).astype(np.int32))
        bucket = np.concatenate(buckets)
        order = np.argsort(bucket, kind="stable")
        counts = np.bincount(bucket, minlength=BUCKETS)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        return offsets, np.concatenate(rows)[order], np.concatenate(lengths)


def _letters(text: str) -> str:
    return nfd(fold(text))


def _buckets(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The buckets of all grams, with the text each stands in. A text's ends are letters of their own."""
    padded = [f" {text} " for text in texts]
    lengths = np.fromiter(map(len, padded), dtype=np.int64, count=len(padded))
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    text = np.repeat(np.arange(len(lengths)), lengths)
    inside = text[: 1 - GRAM] == text[GRAM - 1 :]
    gram = np.zeros(len(inside), dtype=np.uint64)
    for letter in range(GRAM):
        gram = gram * np.uint64(SPREAD) + codes[letter : letter + len(gram)]
    return (gram % np.uint64(BUCKETS)).astype(np.int64)[inside], text[: 1 - GRAM][inside]


def _stretches(text: str, stems: frozenset[str]) -> Iterator[_Stretch]:
    """Runs of words that may be a name, no function word at either end; also with particles cut off.

    stems: of words that relations are named with, which are no names.
    """
    words = [(match.start(), match.end(), fold(match.group())) for match in _WORD.finditer(text)]
    capitals = any(text[start].isupper() for start, _, _ in words)
    for first, (start, _, word) in enumerate(words):
        content = 0
        for last in range(first, min(first + MOST_WORDS, len(words))):
            begin, end, ending = words[last]
            content += ending not in NAMELESS and stem_of(ending) not in stems
            if not content or word in NAMELESS or ending in NAMELESS:
                continue
            hangul = final_consonant(text[end - 1]) is not None
            if capitals:
                named = any(text[place].isupper() for place, _, _ in words[max(first, 1) : last + 1])
            else:
                named = content > 1
            yield _Stretch(start, end, hangul or named)
            for cut in range(end - 1, max(begin + 1, end - 1 - LONGEST_REST), -1):
                if final_consonant(text[cut]) is None or final_consonant(text[cut - 1]) is None:
                    break
                if particles(text[begin:cut], text[cut:end]) == ParticleFit.FITS:
                    yield _Stretch(start, cut, True)
