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

from tiny_graph_rag.gold.formulas import Formula, RelationStep, StepIndex
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind, is_date, kind_of_type, kinds_of_entities
from tiny_graph_rag.language.words import words_of_name

# Words of types that say no more than `thing`, or that nobody says.
_NO_NOUNS = table("""
    thing object item artifact artefact concept idea topic theory number time date year material substance
    loc gpe org per role human individual facility body other 사물 물건 개념 시간 날짜 연도 위치 등장인물 인물
    """)
_WORD = re.compile(r"\w+")
# What a phrase's noun admits besides its own kind: a family lives somewhere as a person does.
_ADMITS = {
    Kind.PERSON: {Kind.GROUP, Kind.THING},
    Kind.THING: {Kind.PLACE, Kind.GROUP, Kind.WORK},
    Kind.GROUP: {Kind.WORK},
}


def fits(kind: Kind, wanted: Kind) -> bool:
    """Whether something of a kind can stand where a phrase wants another; what is unknown fits anywhere."""
    return kind == wanted or Kind.UNKNOWN in (kind, wanted) or kind in _ADMITS.get(wanted, ())


def phrase_lines(language: str) -> Iterator[tuple[list[str], str]]:
    """The table of a language: (names of relation types, phrase)."""
    path = resources.files(__package__).joinpath(f"phrases/{language}.txt")
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            types, _, phrase = line.partition(": ")
            yield types.split(", "), phrase


@dataclass(frozen=True, slots=True)
class Ends:
    """What a step leads to. word: the entity type that they share, "" where it is no noun."""

    kind: Kind
    word: str
    many: bool
    is_date: bool


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

    @abstractmethod
    def pronoun(self, seed: int, kind: Kind) -> str:
        """What a seed of this kind is called once it was spoken of."""

    def forms(self, pronoun: str) -> tuple[str, ...]:
        """The forms of a pronoun, of which a question has one."""
        return (pronoun,)

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        """What the question calls a seed, without article or particle."""
        return called.get(entity) or str(self.index.graph.entities.names[entity])

    def is_name(self, entity: int) -> bool:
        """Whether it can be asked about, or for, by its name."""
        return True

    def question(self, formula: Formula, answers: Sequence[int], called: Mapping[int, str]) -> str | None:
        """The question in words; None where a person would not ask it so."""
        steps, images = formula.paths[0].steps, self.index.images(formula.paths[0])
        names = [*formula.seeds, *answers]
        of_date = any(is_date(self.name(seed, {})) for seed in formula.seeds)
        if of_date and len(steps) + len(formula.seeds) > 2:  # what is of a year is many
            return None
        if (
            self._leads_back(steps)
            or not all(map(self.is_name, names))
            or not all(map(self._is_all, steps, images))
        ):
            return None
        of: NounPhrase | None = self.named(formula.seeds, called)
        kind = self.kind_of_seed(formula)
        for place, step in enumerate(steps, 1):
            is_last = place == len(steps)
            begins = kind_of_type(self.nouns(step)[0])
            if place > 1 and is_last and kind == Kind.UNKNOWN != begins and not self.is_typed:
                return None  # a genre may have the name of a film that has a director
            ends = self._ends(step, answers if is_last else images[place], kind)
            if of is None or ends is None or (ends.is_date and not is_last):
                return None
            if is_last:
                asked = self.ask(step, of, ends)
                return asked and asked.replace("??", "?")  # a name may end in one
            of, kind = self.lead(step, of, ends), ends.kind
        return None

    def kind_of_seed(self, formula: Formula) -> Kind:
        """The kind of the first path's seed, by its type or as its relation sees it."""
        path = formula.paths[0]
        return Kind(int(self.kind_of[path.seed])) or kind_of_type(self.nouns(path.steps[0])[0])

    @cached_property
    def is_typed(self) -> bool:
        """Whether the graph's entity types say what kinds of things there are."""
        return any(map(kind_of_type, self.index.graph.entities.types.names))

    @cached_property
    def kind_of(self) -> NDArray[np.uint8]:
        """(entities,): the kind of each: by its type, else the one of which the words of all its relations
        speak."""
        graph = self.index.graph
        if self.is_typed:
            return kinds_of_entities(graph.entities.types)
        relations, spoken_of = graph.relations, np.zeros((len(graph), len(Kind)), dtype=bool)
        steps = map(RelationStep, range(len(relations.types.names)))
        kinds = np.array([[*map(kind_of_type, self.nouns(step))] for step in steps], dtype=np.uint8)
        spoken_of[relations.sources, kinds[relations.types.codes, 0]] = True
        spoken_of[relations.targets, kinds[relations.types.codes, 1]] = True
        spoken_of[:, [Kind.UNKNOWN, Kind.THING]] = False  # a thing may be anything
        return np.where(spoken_of.sum(axis=1) == 1, spoken_of.argmax(axis=1), Kind.UNKNOWN).astype(np.uint8)

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

    def _ends(self, step: RelationStep, ends: Collection[int], before: Kind) -> Ends | None:
        """What the step leads to; None where people are mixed with anything else, or dates with other names,
        and where one of the step's ends is of another kind than its phrase says. ends: none for what does not
        exist, which is then like what the step leads to elsewhere. before: the kind that it leads from."""
        entities, (begins, wanted) = self.index.graph.entities, map(kind_of_type, self.nouns(step))
        rows = sorted(ends or self.index.ends_of(step))
        kinds, dates = set(self.kind_of[rows].tolist()), {is_date(entities.names[row]) for row in rows}
        is_mixed = len(dates) > 1 or (Kind.PERSON in kinds and len(kinds) > 1)
        is_other = True not in dates and not all(fits(Kind(kind), wanted) for kind in kinds)
        if is_mixed or is_other or not fits(before, begins):
            return None
        kind = Kind(*kinds) or wanted if len(kinds) == 1 else Kind.UNKNOWN
        types = set(entities.types.codes[rows].tolist())
        word = "".join(words_of_name(entities.types.names[types.pop()])[-1:]) if len(types) == 1 else ""
        is_noun = kind_of_type(word) != Kind.UNKNOWN and word not in _NO_NOUNS
        return Ends(kind, word if is_noun else "", len(ends) > 1, True in dates)
