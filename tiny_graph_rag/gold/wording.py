"""From a formula to a question in words: what English and Korean have in common.

A language says three things: a relation seen from one end as a noun phrase, how phrases join, and how a seed
is called when it stands in an earlier turn. Words for a relation come from the graph's vocabulary where it
has one, else from the type's own words; the wording is plain, so that `generate --rewrite` has something to
improve and nobody has to guess what is asked.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.gold.formulas import RelationStep, Rows, StepIndex, type_name
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind, kind_of_type, kinds_of_entities
from tiny_graph_rag.language.words import words_of_name

LOOKED_AT = 200  # ends of a relation whose types tell what it leads to
NO_ENDS: Rows = np.zeros(0, dtype=np.int32)
MOSTLY = 0.9  # share of them that must be of one kind, or of one type
LONGEST_PATH = 3  # steps that a person follows in one sentence
# Words of types that say no more than `thing`, or that nobody says.
_NO_NOUNS = table("""
    thing object item artifact artefact concept idea topic theory number time date year material substance
    loc gpe org per role human individual facility body 사물 물건 개념 시간 날짜 연도 위치 등장인물
    """)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DATE = re.compile(
    rf"(?:(?:{_MONTHS.replace(' ', '|')})[a-z]*\.?,?\s+|\d{{1,2}},?\s+)*\d{{3,4}}(?:s|년|-\d\d(?:-\d\d)?)?"
    r"(?:\s+\d{1,2}월)?(?:\s+\d{1,2}일)?",
    re.I,
)


def is_date(name: str) -> bool:
    """Whether a name is a year, a month of a year or a day: 1936, 1990s, May 2001, 2001-05-13, 1936년 5월."""
    return _DATE.fullmatch(name.strip()) is not None


@dataclass(eq=False)
class Wording(ABC):
    """called: a seed → what it is called in the question, its name where nothing is reported. is_long:
    whether questions may be longer than a person would ask them, in several sentences."""

    index: StepIndex
    vocabulary: Mapping[str, tuple[str, ...]]
    is_long: bool = False

    language: ClassVar[str]

    def __post_init__(self) -> None:
        self.kind_of = kinds_of_entities(self.index.graph.entities.types)

    @abstractmethod
    def says(self, step: RelationStep) -> bool:
        """Whether there are words for the step's relation type, so that a question of it can be natural."""

    @abstractmethod
    def kind_in_words(self, step: RelationStep) -> Kind:
        """What the step leads to by its words alone, in a graph whose entities have no known types."""

    def reads(self, drawn: DrawnQuestion) -> bool:
        """Whether the question can be said so that a person would ask it, and could follow it.

        Answers of which some are dates and others aren't have no question word.
        """
        longest = max(len(path.steps) for path in drawn.formula.paths)
        return len(self._are_dates(drawn)) < 2 and (self.is_long or longest <= LONGEST_PATH)

    def asks_when(self, drawn: DrawnQuestion) -> bool:
        """Whether the answers are dates."""
        return self._are_dates(drawn) == {True}

    def _are_dates(self, drawn: DrawnQuestion) -> set[bool]:
        names = self.index.graph.entities.names
        return {is_date(names[answer]) for answer in drawn.found.answers.tolist()}

    @abstractmethod
    def question(self, drawn: DrawnQuestion, called: Mapping[int, str], *, other: bool = False) -> str:
        """The question; other: in other words."""

    @abstractmethod
    def introduced(self, name: str) -> str:
        """An earlier turn that speaks of the seed."""

    @abstractmethod
    def pronoun(self, kind: Kind) -> str:
        """What a seed of this kind is called once it was spoken of."""

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        return called.get(entity) or str(self.index.graph.entities.names[entity])

    def kind(self, step: RelationStep, ends: Rows = NO_ENDS) -> Kind:
        """The one kind of what the step leads to here; where it leads to nothing, of nearly all that it leads
        to anywhere. UNKNOWN where they differ. Of entities without types only the relation's words tell."""
        kinds = np.bincount(self.kind_of[self._ends(step, ends)], minlength=len(Kind))
        if kinds[Kind.UNKNOWN] == kinds.sum():
            return self.kind_in_words(step)
        return Kind(int(kinds.argmax())) if self._is_one(kinds, ends) else Kind.UNKNOWN

    def type_word(self, step: RelationStep, ends: Rows = NO_ENDS) -> str:
        """The last word of the one entity type of what the step leads to, as `kind` has it; "" where types
        differ, or where it is no noun for a kind of thing."""
        types = self.index.graph.entities.types
        codes = np.bincount(types.codes[self._ends(step, ends)], minlength=max(len(types.names), 1))
        if not types.names or not self._is_one(codes, ends):
            return ""
        word = words_of_name(types.names[int(codes.argmax())])[-1:]
        is_noun = bool(word) and kind_of_type(word[0]) != Kind.UNKNOWN and word[0] not in _NO_NOUNS
        return word[0] if is_noun else ""

    @staticmethod
    def _is_one(counts: NDArray[np.int64], ends: Rows) -> bool:
        return int(counts.max()) >= (1 if len(ends) else MOSTLY) * max(int(counts.sum()), 1)

    def _ends(self, step: RelationStep, ends: Rows) -> Rows:
        if len(ends):
            return ends
        groups = self.index.groups_of_code(step.code)[:LOOKED_AT]
        return self.index.neighbours[self.index.starts[groups]]

    def words_for(self, step: RelationStep) -> tuple[str, ...]:
        """The vocabulary's words for the step's relation type."""
        return tuple(self.vocabulary.get(type_name(self.index, step), ()))
