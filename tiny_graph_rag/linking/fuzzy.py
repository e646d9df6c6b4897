"""Names that are misspelt or spelt another way, by rapidfuzz.

Spellings are compared letter by letter, Hangul by its jamo (`박녹주`, `박록주`: one letter of eight). Never
instead of an exact name, and only where a text speaks of something by name: words with a capital inside the
sentence, several content words, Hangul; one word in lower case only where nothing else is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.nearest import NearestNames, letters_of, similar
from tiny_graph_rag.language.folding import HAS_HANGUL, Text
from tiny_graph_rag.language.function_words import NAMELESS, particle_cuts
from tiny_graph_rag.language.words import stem
from tiny_graph_rag.linking.base import Seed
from tiny_graph_rag.linking.mentions import Mention, stems_of_types

FEWEST_LETTERS = 5  # in shorter names one letter is too much of a difference
MOST_WORDS = 6  # of a stretch


class NearNames:
    """Links stretches of a question that no name covers to spellings with a similarity of at least
    `threshold`."""

    def __init__(self, graph: KnowledgeGraph, threshold: float) -> None:
        self.graph, self.threshold, self.known = graph, threshold, NearestNames(graph)
        self.stems = stems_of_types(graph)

    def seeds(self, text: str, mentions: Sequence[Mention]) -> list[Seed]:
        """The best and longest stretches first; no two of them, and no stretch and mention, share a place."""
        taken = [(mention.start, mention.end) for mention in mentions if mention.is_telling]
        words_too, matches = not taken, []
        for start, end, is_name_like in _stretches(text, self.stems):
            letters = letters_of(text[start:end])
            if len(letters) < FEWEST_LETTERS or _meets(start, end, taken) or not (is_name_like or words_too):
                continue
            ranked = similar(letters, self.known.letters, self.threshold, None)
            best = {self.known.owners[row] for row, likeness in ranked if likeness == ranked[0][1]}
            if best:
                in_order = sorted(best, key=self.graph.name_rank.__getitem__)
                matches.append((is_name_like, -ranked[0][1], start - end, start, in_order))
        seeds: list[Seed] = []
        named = [match for match in matches if match[0]]
        for _, unlikeness, length, start, entities in sorted(named or matches):
            end = start - length
            if not _meets(start, end, taken):
                taken.append((start, end))
                seeds += Seed.sharing(entities, text[start:end], start, end, "fuzzy", -unlikeness)
        return seeds


def _meets(start: int, end: int, taken: Sequence[tuple[int, int]]) -> bool:
    return any(start < stop and end > begin for begin, stop in taken)


def _stretches(whole: str, stems: frozenset[str]) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether it is written as names are) of runs of words that may be a name, no function word
    at either end; also with particles cut off. stems: of words that relations are named with, no names.
    """
    text = Text.of(whole)
    kept, words = text.kept, text.words
    is_content = [word not in NAMELESS and stem(word) not in stems for word in words]
    for first, word in enumerate(words):
        for last in range(first, min(first + MOST_WORDS, len(words))):
            content = sum(is_content[first : last + 1])
            if not content or word in NAMELESS or words[last] in NAMELESS:
                continue
            start, begin, end = text.starts[first], text.starts[last], text.ends[last]
            named = True in text.capitals[max(first, 1) : last + 1] if True in text.capitals else content > 1
            yield *text.span(start, end), named or HAS_HANGUL.match(kept, end - 1) is not None
            for cut in particle_cuts(kept[begin:end]):
                yield *text.span(start, begin + cut), True
