"""The names of a graph that are most like a name which it lacks: what to look at where a gold set's name
found nothing.

Names are compared letter by letter by rapidfuzz, Hangul taken apart, so that 점숭 is nearer to 점순 than to
점례.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import fold, nfd

SHORTLIST = 40  # spellings looked at for the nearest entities
LEAST = 0.5  # likeness below which a name is no help
MOST = 3  # entities named as near
LIKE_ENOUGH = 0.7  # likeness below which a guess would only cost the reader's time
SEPARATORS = re.compile("[,/&+、，·]")  # what people write between names, besides the `;` that a table wants


class Near(Struct, frozen=True):
    """likeness: in (0, 1], twice the letters in common, in order, over all letters."""

    name: str
    entity: int
    likeness: float


def joined_names(name: str, nearest: Iterable[str]) -> list[str]:
    """The names that a missing name was put together of, such as "Anna, Ben"; empty where at most one of its
    parts is among the names `nearest` to it."""
    parts = [part.strip() for part in SEPARATORS.split(name)]
    return parts if len(set(parts) & set(nearest)) > 1 else []


def letters_of(name: str) -> str:
    """What is compared: without case and punctuation, Hangul taken apart."""
    return nfd(fold(name))


def similar(letters: str, spelled: Sequence[str], least: float, most: int | None) -> list[tuple[int, float]]:
    """(place in `spelled`, likeness), best first; of equal ones the first. most: None for all."""
    from rapidfuzz import fuzz, process

    ranked = process.extract(letters, spelled, scorer=fuzz.ratio, score_cutoff=100 * least, limit=most)
    return [(place, likeness / 100) for _, likeness, place in ranked]


def entity_of_id(graph: KnowledgeGraph, text: str) -> int | None:
    """The entity whose id a text is; None of a number, which may be an answer itself."""
    return None if text.isdecimal() else graph.row_of_id.get(text)


class NearestNames:
    """The names and aliases of a graph, built once. owners: the entity of each spelling; letters: of each."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        names, aliases, rows = graph.entities.names, graph.entities.aliases, np.arange(len(graph))
        self.graph, self.spellings = graph, [*names, *aliases.items]
        self.owners = [*rows.tolist(), *np.repeat(rows, np.diff(aliases.offsets)).tolist()]
        self.letters = [letters_of(spelling) for spelling in self.spellings]

    def of_all(self, names: Iterable[str]) -> dict[str, tuple[Near, ...]]:
        """Each name's nearest entities, at most MOST, best first; none below LEAST. Of an entity's id, unless
        it is a number, that entity alone."""
        return {name: self._nearest(name) for name in dict.fromkeys(names)}

    def _nearest(self, name: str) -> tuple[Near, ...]:
        entity = entity_of_id(self.graph, name)
        if entity is not None:
            return (Near(self.spellings[entity], entity, 1.0),)
        found: dict[int, Near] = {}
        for row, likeness in similar(letters_of(name), self.letters, LEAST, SHORTLIST):
            near = Near(self.spellings[row], self.owners[row], likeness)
            found.setdefault(near.entity, near)
        best = sorted(found.values(), key=lambda near: (-near.likeness, near.name, near.entity))
        return tuple(best[:MOST])
