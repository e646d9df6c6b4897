"""Names that are misspelt or spelt another way, by rapidfuzz.

Spellings are compared letter by letter, Hangul by its jamo (`박녹주`, `박록주`: one letter of eight). Never
instead of an exact name, and only where a text speaks of something by name: words with a capital, several
content words, Hangul; one word in lower case only where nothing else is named.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiny_graph_rag.graph.nearest import NearestNames, letters_of, similar
from tiny_graph_rag.language.folding import Text
from tiny_graph_rag.language.function_words import NAMELESS, ends_a_name
from tiny_graph_rag.linking.mentions import Grade, Mention, MentionFinder, apart

FEWEST_LETTERS = 5  # in shorter names one letter is too much of a difference
MOST_WORDS = 6  # of a stretch


class NearNames:
    """Links stretches of a question that no name covers to spellings with a similarity of at least
    `threshold`."""

    def __init__(self, finder: MentionFinder, threshold: float) -> None:
        self.finder, self.threshold, self.known = finder, threshold, NearestNames(finder.graph)

    def mentions(self, whole: str, telling: Sequence[Mention]) -> list[Mention]:
        """The most similar and longest ones, apart from each other and from those that are `telling`."""
        text, found = Text.of(whole), []
        last = len(text.words) - 1
        for stretch in text.stretches(lambda cut: text.ends[min(cut.word + MOST_WORDS - 1, last)]):
            ends = {text.words[cut.word] for cut in stretch}
            start, end = text.span(stretch[0].start, stretch[1].end)
            is_taken = any(start < mention.end and end > mention.start for mention in telling)
            if is_taken or not ends.isdisjoint(NAMELESS) or not ends_a_name(text, stretch):
                continue
            letters, grade = letters_of(whole[start:end]), self.finder.grade(text, stretch)
            if len(letters) < FEWEST_LETTERS or grade > (Grade.NAMED if telling else Grade.WORD):
                continue
            ranked = similar(letters, self.known.letters, self.threshold, None)
            owners = {self.known.owners[row] for row, likeness in ranked if likeness == ranked[0][1]}
            if owners:
                entities = tuple(sorted(owners, key=self.finder.graph.name_rank.__getitem__))
                found.append((ranked[0][1], Mention(start, end, entities, "fuzzy")))
        found.sort(key=lambda pair: (-pair[0], pair[1].start - pair[1].end, pair[1].start))
        return apart([mention for _, mention in found])
