"""Names that are misspelt or spelt another way, by rapidfuzz.

Spellings are compared letter by letter, Hangul by its jamo (`박녹주`, `박록주`: one letter of eight). Never
instead of an exact name, and only where a text speaks of something by name: words with a capital inside the
sentence, several content words, Hangul; one word in lower case only where nothing else is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice

import numpy as np

from tiny_graph_rag.errors import MissingExtraError
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold, nfd
from tiny_graph_rag.language.function_words import (
    LONGEST_REST,
    NAMELESS,
    ParticleFit,
    final_consonant,
    particles,
)
from tiny_graph_rag.linking.base import Seed
from tiny_graph_rag.linking.grades import Grade, stem_of, stems_of_types
from tiny_graph_rag.linking.mentions import Mention

FEWEST_LETTERS = 5  # in shorter names one letter is too much of a difference
MOST_WORDS = 6  # of a stretch
AT_ONCE = 16  # stretches that are compared with every spelling together

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
            from rapidfuzz import fuzz, process
        except ImportError:
            raise MissingExtraError("--fuzzy", "rapidfuzz", "fuzzy") from None
        self.graph, self.names, self.threshold = graph, names, threshold
        self.ratio = fuzz.ratio
        self.ratios = partial(
            process.cdist, scorer=fuzz.ratio, score_cutoff=100 * threshold, dtype=np.float64
        )
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
        matches = list(self._near(text, [stretch for stretch in free if stretch.is_name_like]))
        if not matches and not named:
            matches = list(self._near(text, [stretch for stretch in free if not stretch.is_name_like]))
        matches.sort(key=lambda match: (-match.score, match.start - match.end, match.start))
        seeds: list[Seed] = []
        for match in matches:
            if any(match.start < stop and match.end > begin for begin, stop in taken):
                continue
            taken.append((match.start, match.end))
            mention = text[match.start : match.end]
            seeds += Seed.sharing(match.entities, mention, match.start, match.end, "fuzzy", match.score)
        return seeds

    def _near(self, text: str, stretches: Iterable[_Stretch]) -> Iterator[_Found]:
        """The spellings most like each stretch, where they are enough so."""
        letters = {stretch: _letters(text[stretch.start : stretch.end]) for stretch in stretches}
        wanted = iter([stretch for stretch, its in letters.items() if len(its) >= FEWEST_LETTERS])
        while part := list(islice(wanted, AT_ONCE)):
            scores = self.ratios([letters[stretch] for stretch in part], self._spelled)
            for stretch, row in zip(part, scores, strict=True):
                best = float(row.max(initial=0))
                if best:
                    written, rows = text[stretch.start : stretch.end], np.flatnonzero(row == best).tolist()
                    # Of names that fold to the same text, the one in the same case.
                    cased = [self.ratio(written, self.names.spelling(spelling)) for spelling in rows]
                    entities = {
                        self.names.entity(spelling)
                        for spelling, ratio in zip(rows, cased, strict=True)
                        if ratio == max(cased)
                    }
                    ranked = sorted(entities, key=self.graph.name_rank.__getitem__)
                    yield _Found(best / 100, stretch.start, stretch.end, tuple(ranked))

    @cached_property
    def _spelled(self) -> list[str]:
        """The letters of every spelling."""
        return [_letters(spelling) for spelling in chain(self.names.names, self.names.others)]


def _letters(text: str) -> str:
    return nfd(fold(text))


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
