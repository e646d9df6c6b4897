"""From a formula to a question in words: what English and Korean have in common.

Words for a relation come from a table of common relation types (phrases/*.txt), else from the graph's
vocabulary, else from the type's own words where they read as a verb or a noun. What can't be said so that a
person would say it is not asked.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.gold.formulas import Formula, RelationStep, StepIndex, seeds_of
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import NAMED_KINDS, Kind, is_date, kind_of_type
from tiny_graph_rag.language.words import words_of_name

# Words of types that say no more than `thing`, or that nobody says of what has them.
_NO_NOUNS = table("""
    thing object item artifact artefact concept idea topic theory number time date year material substance
    loc gpe org per role human individual facility body other event place location work who player
    사물 물건 개념 시간 날짜 연도 위치 등장인물 인물
    """)
_WORD = re.compile(r"\w+")


def fits(kind: Kind, wanted: Kind) -> bool:
    """Whether something of a kind can stand where a phrase speaks of another."""
    if wanted == Kind.THING:
        return kind != Kind.PERSON
    return wanted == Kind.UNKNOWN or kind != Kind.UNKNOWN


def phrase_lines(language: str) -> Iterator[tuple[list[str], str]]:
    """The table of a language: (names of relation types, phrase)."""
    path = resources.files(__package__).joinpath(f"phrases/{language}.txt")
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            types, _, phrase = line.partition(": ")
            yield types.split(", "), phrase


@dataclass(frozen=True, slots=True)
class Ends:
    """What a step leads to, all of one kind. noun: what all of them are called, "" for nothing in common."""

    kind: Kind
    noun: str
    many: bool


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """many: whether it stands for several. clauses: how many it holds. is_role: whether it begins with a noun
    of relation: the father of Bea."""

    text: str
    many: bool = False
    clauses: int = 0
    is_role: bool = False


@dataclass(eq=False)
class Wording(ABC):
    """Words for questions on one graph."""

    index: StepIndex
    vocabulary: Mapping[str, tuple[str, ...]]

    language: ClassVar[str]
    introduction: ClassVar[str]  # an earlier turn that speaks of a seed
    pronouns: ClassVar[Mapping[Kind, str]]  # what something is called once it was spoken of
    follows_no_other: ClassVar[frozenset[str]]  # words of steps that in a row lead back: a wife's child

    @abstractmethod
    def said(self, step: RelationStep) -> str:
        """The words of the step, the same for steps that mean the same; "" for none."""

    @abstractmethod
    def nouns(self, step: RelationStep) -> tuple[str, str]:
        """What the phrase calls the beginning of the step and what it leads to; "" for any thing."""

    @abstractmethod
    def named(self, seeds: Sequence[int], called: Mapping[int, str]) -> NounPhrase:
        """The beginning of a question: one seed, or two of which the same is asked. called: a seed → what it
        is called here, where not by its name."""

    @abstractmethod
    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        """What one step leads to from `of`, as a phrase to go on from; None where nobody says so."""

    @abstractmethod
    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        """The question of what one step leads to from `of`; None where nobody asks so."""

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        """What the question calls a seed, without article or particle."""
        return called.get(entity) or str(self.index.graph.entities.names[entity])

    def is_name(self, entity: int) -> bool:
        """Whether it is called by a name, and not by a noun."""
        return True

    def question(self, formula: Formula, answers: Sequence[int], called: Mapping[int, str]) -> str | None:
        """The question in words; None where a person would not ask it so."""
        seeds, steps, images = seeds_of(formula), formula[0].steps, self.index.images(formula[0])
        images[0], images[-1] = set(seeds), set(answers)
        names = seeds if self.is_typed else (*seeds, *answers)
        is_sayable = all(map(self.is_name, names)) and all(map(self._is_all, steps, images))
        if self._leads_back(steps) or not is_sayable or Kind.DATE in self.kind_of[[*seeds]]:
            return None
        of: NounPhrase | None = self.named(seeds, called)
        for place, step in enumerate(steps, 1):
            ends = self._ends(step, images[place - 1], images[place])
            if of is None or ends is None:
                return None
            if place == len(steps):
                asked = self.ask(step, of, ends)
                return asked and asked.replace("??", "?")  # a name may end in one
            of = self.lead(step, of, ends) if ends.kind in NAMED_KINDS else None
        return None

    @cached_property
    def is_typed(self) -> bool:
        """Whether the graph's entity types say what kinds of things there are."""
        return any(map(kind_of_type, self.index.graph.entities.types.names))

    @cached_property
    def words(self) -> list[frozenset[str]]:
        """What each entity is: the last word of its type, or, in a graph without types, what the words of all
        its relations call it (the film that somebody directed)."""
        graph, relations = self.index.graph, self.index.graph.relations
        if self.is_typed:
            heads = [frozenset(words_of_name(name)[-1:]) for name in graph.entities.types.names]
            return [heads[code] for code in graph.entities.types.codes.tolist()]
        found: list[set[str]] = [set() for _ in range(len(graph))]
        for step in map(RelationStep, range(len(relations.types.names))):
            for noun, ends in zip(self.nouns(step), (relations.sources, relations.targets), strict=True):
                says = kind_of_type(noun) not in (Kind.UNKNOWN, Kind.THING)  # a thing may be anything
                for entity in set(ends[relations.types.codes == step.type].tolist() if says else ()):
                    found[entity].add(noun)
        return [frozenset(words) for words in found]

    @cached_property
    def kind_of(self) -> NDArray[np.uint8]:
        """(entities,): the kind of each, UNKNOWN where its words disagree."""
        kinds = [{kind_of_type(word) for word in words} for words in self.words]
        dates = map(is_date, self.index.graph.entities.names)
        pairs = zip(kinds, dates, strict=True)
        return np.array([Kind.DATE if date else max(k) if len(k) == 1 else 0 for k, date in pairs], np.uint8)

    def usual_kind(self, step: RelationStep) -> Kind:
        """The kind of most that relations of the step's type lead to."""
        ends = self.kind_of[sorted(self.index.ends_of(step))]
        return Kind(int(np.bincount(ends).argmax()))

    def _leads_back(self, steps: Sequence[RelationStep]) -> bool:
        """Whether a step has no words, comes twice, is the one before turned round, or says kin of kin."""
        said, back = ([self.said(step) for step in way] for way in (steps, [step.reversed for step in steps]))
        kin = [not self.follows_no_other.isdisjoint(_WORD.findall(words)) for words in said]
        pairs = zip(said, back[1:], kin, kin[1:], strict=False)
        return len({*said, ""}) <= len(said) or any(one == two or (a and b) for one, two, a, b in pairs)

    def _is_all(self, step: RelationStep, begins: Iterable[int]) -> bool:
        """Whether no other relation type gives answers to the same words."""
        others = {other for entity in begins for other in self.index.around(entity)} - {step}
        return self.said(step) not in map(self.said, others)

    def _ends(self, step: RelationStep, begins: Collection[int], ends: Collection[int]) -> Ends | None:
        """What the step leads to; None where something at either end is of another kind than is usual there.
        ends: none for what does not exist, which is then like what the step leads to elsewhere."""
        kind, before = self.usual_kind(step), self.usual_kind(step.reversed)
        rows = sorted(ends or [row for row in self.index.ends_of(step) if self.kind_of[row] == kind])
        is_usual = np.all(self.kind_of[rows] == kind) and np.all(self.kind_of[sorted(begins)] == before)
        spoken_of = zip((before, kind), map(kind_of_type, self.nouns(step)), strict=True)
        is_lacking = bool(ends) or self._is_lacking(begins, kind)
        if not is_usual or not is_lacking or not all(fits(one, wanted) for one, wanted in spoken_of):
            return None
        shared = frozenset.intersection(*(self.words[row] for row in rows)) - _NO_NOUNS
        nouns = [word for word in shared if kind_of_type(word) != Kind.UNKNOWN]
        return Ends(kind, nouns[0] if len(nouns) == 1 else "", len(ends) > 1)

    def _is_lacking(self, entities: Collection[int], kind: Kind) -> bool:
        """Whether nothing next to the entities could be meant by a question for something of this kind: who
        is based somewhere is located there too."""
        near = {end for entity in entities for ends in self.index.around(entity).values() for end in ends}
        is_like = kind not in (Kind.PERSON, Kind.WORK) and kind in self.kind_of[sorted(near)]
        return not is_like and Kind.UNKNOWN not in self.kind_of[sorted(entities)]
