"""Entities found as somebody types: any part of a name or alias, Hangul letter by letter.

All spellings lie in one block of text, case-folded and taken apart (NFD), a line each, so that looking
through a million of them takes milliseconds. Taken apart, 저 begins 점 (ㅈㅓ, ㅈㅓㅁ), and the ㅅ of a
half-typed 점ㅅ begins 순, so that a list grows while a syllable is still being composed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import nfc, nfd

MOST_STARTS, MOST_INSIDE = 500, 2000  # hits looked at; of more, nobody reads the end
# Consonants as a keyboard sends them before their vowel, and as they begin a syllable.
_LEADING = str.maketrans(
    {chr(0x3131 + place): chr(0x1100 + leading) for place, leading in
     zip((0, 1, 3, 6, 7, 8, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29), range(19), strict=True)}
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class EntitySearch:
    """block: UTF-8, every spelling on a line of its own behind a line end. ends: int64, where each line
    ends. owners: int32, the entity of each."""

    block: bytes
    ends: NDArray[np.int64]
    owners: NDArray[np.int32]
    degrees: NDArray[np.int64]

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> EntitySearch:
        aliases = graph.entities.aliases
        spellings = [*graph.entities.names, *aliases.items]
        owners = np.concatenate(
            [
                np.arange(len(graph), dtype=np.int32),
                np.repeat(np.arange(len(graph), dtype=np.int32), np.diff(aliases.offsets)),
            ]
        )
        text = "\n".join(spellings)
        if text.count("\n") != len(spellings) - 1:
            text = "\n".join(" ".join(spelling.split("\n")) for spelling in spellings)
        block = ("\n" + _apart(text) + "\n").encode("utf-8", "replace")
        ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))[1:]
        return cls(block, ends, owners, graph.adjacency.degrees)

    def find(self, typed: str, most: int = 20) -> list[int]:
        """Entities of which a spelling holds every word typed: whole names first, then beginnings, then by
        length of the spelling and by how many relations the entity has."""
        words = [word.encode("utf-8", "replace") for word in _apart(typed.strip()).split()]
        if not words:
            return []
        longest = max(words, key=len)
        whole = b" ".join(words)
        best: dict[int, tuple[int, int, int]] = {}
        for lines in (self._lines(b"\n" + whole, MOST_STARTS), self._lines(longest, MOST_INSIDE)):
            for line in lines:
                start = int(self.ends[line - 1]) + 1 if line else 1
                spelling = self.block[start : int(self.ends[line])]
                if not all(word in spelling for word in words):
                    continue
                if spelling == whole:
                    kind = 0
                elif spelling.startswith(whole):
                    kind = 1
                else:
                    kind = 2 if b" " + longest in spelling or spelling.startswith(longest) else 3
                entity = int(self.owners[line])
                rank = (kind, len(spelling), -int(self.degrees[entity]))
                if entity not in best or rank < best[entity]:
                    best[entity] = rank
        return sorted(best, key=lambda entity: (best[entity], entity))[:most]

    def _lines(self, wanted: bytes, most: int) -> Iterator[int]:
        """The lines in which the bytes stand, at most so many, each once."""
        at = self.block.find(wanted)
        while at >= 0 and most:
            line = int(np.searchsorted(self.ends, at + (wanted[:1] == b"\n"), side="left"))
            if line >= len(self.ends):
                return
            yield line
            most -= 1
            at = self.block.find(wanted, int(self.ends[line]))


def _apart(text: str) -> str:
    folded = nfc(text).casefold().translate(_LEADING)
    return nfd(folded)
