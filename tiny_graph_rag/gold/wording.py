"""From a formula to a question in words: what English and Korean have in common.

A language says three things: a relation seen from one end as a noun phrase, how phrases join, and how a seed
is called when it stands in an earlier turn. Words for a relation come from the graph's vocabulary where it
has one, else from the type's own words; the wording is plain, so that `generate --rewrite` has something to
improve and nobody has to guess what is asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tiny_graph_rag.gold.formulas import RelationStep, StepIndex, type_name
from tiny_graph_rag.gold.shapes import Drawn
from tiny_graph_rag.language.kinds import Kind, kinds_of_entities

LOOKED_AT = 200  # ends of a relation whose kinds tell what it leads to
MOSTLY = 0.9  # share of them that must be of one kind


@dataclass(eq=False)
class Wording(ABC):
    """called: a seed → what it is called in the question, its name where nothing is reported."""

    index: StepIndex
    vocabulary: Mapping[str, tuple[str, ...]]
    _kinds: dict[int, Kind] = field(default_factory=dict)

    language: ClassVar[str]

    def __post_init__(self) -> None:
        self.kind_of = kinds_of_entities(self.index.graph.entities.types)

    @abstractmethod
    def says(self, step: RelationStep) -> bool:
        """Whether there are words for the step's relation type, so that a question of it can be natural."""

    @abstractmethod
    def kind_in_words(self, step: RelationStep) -> Kind:
        """What the step leads to by its words alone, in a graph whose entities have no known types."""

    def reads(self, drawn: Drawn) -> bool:
        """Whether the question can be said so that it can be followed."""
        return True

    @abstractmethod
    def question(self, drawn: Drawn, called: Mapping[int, str], *, other: bool = False) -> str:
        """The question; other: in other words."""

    @abstractmethod
    def introduced(self, name: str) -> str:
        """An earlier turn that speaks of the seed."""

    @abstractmethod
    def pronoun(self, kind: Kind) -> str:
        """What a seed of this kind is called once it was spoken of."""

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        return called.get(entity) or str(self.index.graph.entities.names[entity])

    def kind(self, step: RelationStep, drawn: Drawn | None = None) -> Kind:
        """What the step leads to, where nearly all its ends, and all answers of `drawn`, are of one kind."""
        found = self._kinds.get(step.code)
        if found is None:
            groups = self.index.groups_of_code(step.code)[:LOOKED_AT]
            ends = [self.index.neighbours[int(self.index.starts[group])] for group in groups.tolist()]
            counts = np.bincount(self.kind_of[ends], minlength=len(Kind)) if ends else np.zeros(len(Kind))
            found = Kind(int(counts.argmax()))
            found = found if counts.max() >= MOSTLY * max(counts.sum(), 1) else Kind.UNKNOWN
            if counts[Kind.UNKNOWN] == counts.sum():
                found = self.kind_in_words(step)
            self._kinds[step.code] = found
        others = set() if drawn is None else {*self.kind_of[drawn.found.answers].tolist()} - {found}
        if others and (others != {Kind.UNKNOWN} or found != self.kind_in_words(step)):
            return Kind.UNKNOWN
        return found

    def words_for(self, step: RelationStep) -> tuple[str, ...]:
        """The vocabulary's words for the step's relation type."""
        return tuple(self.vocabulary.get(type_name(self.index, step), ()))
