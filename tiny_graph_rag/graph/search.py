"""Entities found as somebody types: any part of a name or alias, Hangul letter by letter.

Spellings are case-folded and taken apart (NFD): 저 begins 점 (ㅈㅓ, ㅈㅓㅁ), and the ㅅ of a half-typed 점ㅅ
begins 순, so that a list grows while a syllable is still being composed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import nfc, nfd

# Consonants as a keyboard sends them before their vowel, and as they begin a syllable.
_LEADING = str.maketrans(
    {chr(0x3131 + place): chr(0x1100 + leading) for place, leading in
     zip((0, 1, 3, 6, 7, 8, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29), range(19), strict=True)}
)  # fmt: skip
WORST_KIND = 4


class EntitySearch(Struct, frozen=True, eq=False):
    """spellings: (the name or alias as it is compared, its entity). degrees: relations of each entity."""

    spellings: Sequence[tuple[str, int]]
    degrees: Sequence[int]

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> EntitySearch:
        names = ((name, row) for row, name in enumerate(graph.entities.names))
        aliases = ((alias, row) for row, its in enumerate(graph.entities.aliases) for alias in its)
        spellings = [(_apart(spelling), row) for spelling, row in chain(names, aliases)]
        return cls(spellings, graph.adjacency.degrees.tolist())

    def find(self, typed: str, most: int = 20) -> list[int]:
        """Entities of which a spelling holds every word typed: whole names first, then beginnings, then by
        length of the spelling and by how many relations the entity has."""
        whole = _apart(typed)
        words = whole.split()
        if not words:
            return []
        longest = max(words, key=len)
        best: dict[int, tuple[int, int, int]] = {}
        for spelling, entity in self.spellings:
            if not all(word in spelling for word in words):
                continue
            if spelling.startswith(whole):
                kind = 0 if spelling == whole else 1
            else:
                kind = 2 if f" {longest}" in f" {spelling}" else 3
            rank = (kind, len(spelling), -self.degrees[entity])
            if rank < best.get(entity, (WORST_KIND, 0, 0)):
                best[entity] = rank
        return sorted(best, key=lambda entity: (best[entity], entity))[:most]


def _apart(text: str) -> str:
    return " ".join(nfd(nfc(text).casefold().translate(_LEADING)).split())
