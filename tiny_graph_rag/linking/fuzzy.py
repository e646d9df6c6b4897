"""Names that are misspelt or spelt another way, by rapidfuzz.

Spellings are compared letter by letter, Hangul by its jamo (`박녹주`, `박록주`: one letter of eight). Never
instead of an exact name, and only where a text speaks of something by name: words with a capital inside the
sentence, several content words, Hangul; one word in lower case only where nothing else is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.nearest import letters_of, similar
from tiny_graph_rag.language.folding import HAS_HANGUL, Text
from tiny_graph_rag.language.function_words import LONGEST_REST, NAMELESS, ParticleFit, particles
from tiny_graph_rag.linking.base import Seed
from tiny_graph_rag.linking.mentions import Mention, stem_of, stems_of_types

FEWEST_LETTERS = 5  # in shorter names one letter is too much of a difference
MOST_WORDS = 6  # of a stretch


class _Stretch(NamedTuple):
    """start, end: characters of the question. is_name_like: whether it is written as names are."""

    start: int
    end: int
    is_name_like: bool


class NearNames:
    """Links stretches of a question that no name covers to spellings with a similarity of at least
    `threshold`."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex, threshold: float) -> None:
        self.graph, self.names, self.threshold = graph, names, threshold
        self.stems = stems_of_types(graph)

    def seeds(self, text: str, mentions: Sequence[Mention]) -> list[Seed]:
        """The best stretches first; no two of them, and no stretch and mention, share a place."""
        taken = [(mention.start, mention.end) for mention in mentions if mention.is_telling]
        free = [stretch for stretch in _stretches(text, self.stems) if not _overlaps(stretch, taken)]
        matches = self._matches(text, [stretch for stretch in free if stretch.is_name_like])
        if not matches and not taken:
            matches = self._matches(text, [stretch for stretch in free if not stretch.is_name_like])
        seeds: list[Seed] = []
        for score, stretch, entities in matches:
            if not _overlaps(stretch, taken):
                start, end, _ = stretch
                taken.append((start, end))
                seeds += Seed.sharing(entities, text[start:end], start, end, "fuzzy", score)
        return seeds

    def _matches(
        self, text: str, stretches: Sequence[_Stretch]
    ) -> list[tuple[float, _Stretch, tuple[int, ...]]]:
        """(similarity in (0, 1], stretch, entities of the most similar spellings), best and longest first."""
        matches = []
        for stretch in stretches:
            letters = letters_of(text[stretch.start : stretch.end])
            ranked = similar(letters, self._spelled, self.threshold, None)
            if ranked and len(letters) >= FEWEST_LETTERS:
                best = ranked[0][1]
                entities = {self.names.entity(row) for row, likeness in ranked if likeness == best}
                in_order = tuple(sorted(entities, key=self.graph.name_rank.__getitem__))
                matches.append((best, stretch, in_order))
        return sorted(matches, key=lambda match: (-match[0], match[1].start - match[1].end, match[1].start))

    @cached_property
    def _spelled(self) -> list[str]:
        """The letters of every spelling."""
        return [letters_of(spelling) for spelling in chain(self.names.names, self.names.others)]


def _overlaps(stretch: _Stretch, taken: Sequence[tuple[int, int]]) -> bool:
    return any(stretch.start < stop and stretch.end > begin for begin, stop in taken)


def _stretches(whole: str, stems: frozenset[str]) -> Iterator[_Stretch]:
    """Runs of words that may be a name, no function word at either end; also with particles cut off.

    stems: of words that relations are named with, which are no names.
    """
    text = Text.of(whole)
    kept, words = text.kept, text.words
    is_upper = [whole[text.firsts[start]].isupper() for start in text.starts]
    is_content = [word not in NAMELESS and stem_of(word) not in stems for word in words]
    for first, word in enumerate(words):
        for last in range(first, min(first + MOST_WORDS, len(words))):
            content = sum(is_content[first : last + 1])
            if not content or word in NAMELESS or words[last] in NAMELESS:
                continue
            start, begin, end = text.starts[first], text.starts[last], text.ends[last]
            named = True in is_upper[max(first, 1) : last + 1] if True in is_upper else content > 1
            yield _Stretch(*text.span(start, end), named or HAS_HANGUL.match(kept, end - 1) is not None)
            for cut in range(end - 1, max(begin + 1, end - 1 - LONGEST_REST), -1):
                if not HAS_HANGUL.fullmatch(kept, cut, cut + 1):
                    break
                if particles(kept[begin:cut], kept[cut:end]) is ParticleFit.FITS:
                    yield _Stretch(*text.span(start, cut), True)
