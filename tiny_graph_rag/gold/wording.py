"""From a formula to a question in words: what English and Korean have in common.

Words for a relation come from the graph's vocabulary, else from a table of common relation types
(phrases/*.txt), else from the type's own words where they read as a verb or a noun. What can't be said so
that a person would say it is not asked.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import ClassVar

import numpy as np

from tiny_graph_rag.gold.formulas import RelationStep, Rows, StepIndex
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind, kind_of_type, kinds_of_entities
from tiny_graph_rag.language.words import words_of_name

LOOKED_AT = 200  # ends of a relation whose types tell what it leads to
# Words of types that say no more than `thing`, or that nobody says.
_NO_NOUNS = table("""
    thing object item artifact artefact concept idea topic theory number time date year material substance
    loc gpe org per role human individual facility body other 사물 물건 개념 시간 날짜 연도 위치 등장인물 인물
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


def phrase_lines(language: str) -> Iterator[tuple[list[str], str]]:
    """The table of a language: (names of relation types, phrase)."""
    for line in (
        resources.files(__package__).joinpath(f"phrases/{language}.txt").read_text("utf-8").splitlines()
    ):
        if line and not line.startswith("#"):
            types, _, phrase = line.partition(": ")
            yield types.split(", "), phrase


@dataclass(eq=False)
class Wording(ABC):
    """Words for questions on one graph. is_typed: whether its entities have types that differ."""

    index: StepIndex
    vocabulary: Mapping[str, tuple[str, ...]]
    is_typed: bool = field(init=False)

    language: ClassVar[str]

    def __post_init__(self) -> None:
        types = self.index.graph.entities.types
        self.kind_of = kinds_of_entities(types)
        self.is_typed = len({kind_of_type(name) for name in types.names} - {Kind.UNKNOWN}) > 0
        self._ends: dict[int, Rows] = {}

    @abstractmethod
    def says(self, step: RelationStep) -> bool:
        """Whether there are words for the step's relation type."""

    @abstractmethod
    def question(self, drawn: DrawnQuestion, called: Mapping[int, str]) -> str | None:
        """The question in words; None where a person would not ask it so. called: a seed → what it is called
        here, where not by its name."""

    @abstractmethod
    def introduced(self, name: str) -> str:
        """An earlier turn that speaks of the seed."""

    @abstractmethod
    def pronoun(self, kind: Kind) -> str:
        """What a seed of this kind is called once it was spoken of."""

    @abstractmethod
    def kind_in_words(self, step: RelationStep) -> Kind:
        """What the step leads to by its phrase alone."""

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        """What the question calls a seed."""
        return called.get(entity) or str(self.index.graph.entities.names[entity])

    def kind_of_seed(self, drawn: DrawnQuestion) -> Kind:
        """The kind of the first path's seed, by its type or as its relation sees it."""
        path = drawn.formula.paths[0]
        kind = Kind(int(self.kind_of[path.seed]))
        return kind if kind != Kind.UNKNOWN else self.kind_in_words(RelationStep(path.steps[0].code ^ 1))

    def are_dates(self, ends: Rows) -> set[bool]:
        """Whether entities are dates: {True}, {False} or both."""
        names = self.index.graph.entities.names
        return {is_date(names[end]) for end in ends.tolist()}

    def kind(self, step: RelationStep, ends: Rows) -> Kind | None:
        """The kind of what the step leads to; None where people are mixed with anything else."""
        kinds = set(self.kind_of[self._ends_of(step, ends)].tolist())
        if kinds <= {Kind.UNKNOWN}:
            return self.kind_in_words(step)
        if Kind.PERSON in kinds and len(kinds) > 1:
            return None
        return Kind(kinds.pop()) if len(kinds) == 1 else Kind.UNKNOWN

    def type_word(self, step: RelationStep, ends: Rows) -> str:
        """The last word of the one entity type of what the step leads to; "" where types differ, or where it
        is no noun for a kind of thing."""
        types = self.index.graph.entities.types
        codes = set(types.codes[self._ends_of(step, ends)].tolist())
        word = words_of_name(types.names[codes.pop()])[-1:] if len(codes) == 1 else []
        is_noun = bool(word) and kind_of_type(word[0]) != Kind.UNKNOWN and word[0] not in _NO_NOUNS
        return word[0] if is_noun else ""

    def _ends_of(self, step: RelationStep, ends: Rows) -> Rows:
        """The ends; of none, those that the step has anywhere."""
        if not len(ends) and step.code not in self._ends:
            relations = self.index.graph.relations
            rows = np.flatnonzero(relations.types.codes == step.type)[:LOOKED_AT]
            self._ends[step.code] = (relations.sources if step.backward else relations.targets)[rows]
        return ends if len(ends) else self._ends[step.code]

    def words_for(self, step: RelationStep) -> tuple[str, ...]:
        """The vocabulary's words for the step's relation type, then the type itself."""
        name = self.index.type_name(step)
        return (*self.vocabulary.get(name, ()), name)
