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
from operator import and_, eq
from typing import ClassVar

from tiny_graph_rag.gold.formulas import Formula, RelationStep, Rows, StepIndex
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import Kind, kind_of_type, kinds_of_entities
from tiny_graph_rag.language.words import words_of_name

# Words of types that say no more than `thing`, or that nobody says.
_NO_NOUNS = table("""
    thing object item artifact artefact concept idea topic theory number time date year material substance
    loc gpe org per role human individual facility body other 사물 물건 개념 시간 날짜 연도 위치 등장인물 인물
    """)
_WORD = re.compile(r"\w+")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_DATE = re.compile(
    rf"(?:(?:{_MONTHS.replace(' ', '|')})[a-z]*\.?,?\s+|\d{{1,2}},?\s+)*\d{{3,4}}(?:s|년|-\d\d(?:-\d\d)?)?"
    r"(?:\s+\d{1,2}월)?(?:\s+\d{1,2}일)?",
    re.I,
)
# What a phrase's noun admits besides its own kind: a family lives somewhere as a person does.
_ADMITS = {
    Kind.PERSON: {Kind.GROUP, Kind.THING},
    Kind.THING: {Kind.PLACE, Kind.GROUP, Kind.WORK},
    Kind.GROUP: {Kind.WORK},
}


def is_date(name: str) -> bool:
    """Whether a name is a year, a month of a year or a day: 1936, 1990s, May 2001, 2001-05-13, 1936년 5월."""
    return _DATE.fullmatch(name.strip()) is not None


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
    """What a step leads to. word: the entity type that they share, or the phrase's noun; "" for any thing."""

    kind: Kind
    word: str
    many: bool
    is_date: bool


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """many: whether it stands for several. clauses: how many it holds. is_role: whether it begins with a noun
    of relation: the parent of Bea."""

    text: str
    many: bool = False
    clauses: int = 0
    is_role: bool = False


@dataclass(eq=False)
class Wording(ABC):
    """Words for questions on one graph. is_typed: whether its entities have types that differ."""

    index: StepIndex
    vocabulary: Mapping[str, tuple[str, ...]]
    is_typed: bool = field(init=False)

    language: ClassVar[str]
    follows_no_other: ClassVar[frozenset[str]]  # words of steps that in a row lead back: a wife's child

    def __post_init__(self) -> None:
        types = self.index.graph.entities.types
        self.kind_of = kinds_of_entities(types)
        self.is_typed = len({kind_of_type(name) for name in types.names} - {Kind.UNKNOWN}) > 0

    @abstractmethod
    def said(self, step: RelationStep) -> str:
        """The words of the step, the same for steps that mean the same; "" for none."""

    @abstractmethod
    def nouns(self, step: RelationStep) -> tuple[str, str]:
        """What the phrase calls the beginning of the step and what it leads to; "" for any thing."""

    @abstractmethod
    def named(self, seeds: list[int], called: Mapping[int, str]) -> NounPhrase:
        """The beginning of a question: one seed, or two of which the same is asked."""

    @abstractmethod
    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        """What one step leads to from `of`, as a phrase to go on from; None where nobody says so."""

    @abstractmethod
    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        """The question of what one step leads to from `of`; None where nobody asks so."""

    @abstractmethod
    def introduced(self, seed: int) -> str:
        """An earlier turn that speaks of the seed."""

    @abstractmethod
    def pronoun(self, kind: Kind) -> str:
        """What a seed of this kind is called once it was spoken of."""

    def question(self, formula: Formula, answers: Rows, called: Mapping[int, str]) -> str | None:
        """The question in words; None where a person would not ask it so. called: a seed → what it is called
        here, where not by its name."""
        steps, images = formula.paths[0].steps, self.index.images(formula.paths[0])
        said, back = ([self.said(step) for step in way] for way in (steps, [step.reversed for step in steps]))
        leads_back = [not self.follows_no_other.isdisjoint(_WORD.findall(words)) for words in said]
        is_loop = any(map(eq, said, back[1:])) or any(map(and_, leads_back, leads_back[1:]))
        is_loop |= len({*said, ""}) <= len(said)
        names = [*formula.seeds, *answers.tolist()]
        if is_loop or not all(map(self.is_name, names)) or not all(map(self._is_all, steps, images)):
            return None
        of: NounPhrase | None = self.named(list(formula.seeds), called)
        kind = self.kind_of_seed(formula)
        for step, image in zip(steps[:-1], images[1:], strict=False):
            ends = self._ends(step, image, kind)
            of = None if of is None or ends is None or ends.is_date else self.lead(step, of, ends)
            kind = Kind.UNKNOWN if ends is None else ends.kind
        if len(steps) > 1 and kind == Kind.UNKNOWN and not self.is_typed:
            wanted = kind_of_type(self.nouns(steps[-1])[0])
            of = of if wanted == kind else None  # a genre may have the name of a film that has a director
        ends = self._ends(steps[-1], answers, kind)
        asked = None if of is None or ends is None else self.ask(steps[-1], of, ends)
        return None if asked is None else asked.replace("??", "?")  # a name may end in one

    def is_name(self, entity: int) -> bool:
        """Whether it can be asked about, or for, by its name."""
        return True

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        """What the question calls a seed."""
        return called.get(entity) or str(self.index.graph.entities.names[entity])

    def kind_of_seed(self, formula: Formula) -> Kind:
        """The kind of the first path's seed, by its type or as its relation sees it."""
        path = formula.paths[0]
        kind = Kind(int(self.kind_of[path.seed]))
        return kind if kind != Kind.UNKNOWN else kind_of_type(self.nouns(path.steps[0])[0])

    def _is_all(self, step: RelationStep, begins: Rows) -> bool:
        """Whether no other relation type gives answers to the same words."""
        others = {other for entity in begins.tolist() for other in self.index.steps_from(entity)} - {step}
        return self.said(step) not in map(self.said, others)

    def _ends(self, step: RelationStep, rows: Rows, before: Kind) -> Ends | None:
        """What the step leads to; None where people are mixed with anything else, or dates with other names,
        and where one of the step's ends is of another kind than its phrase says. rows: none for what does not
        exist, which is then like what the step leads to elsewhere. before: the kind that it leads from."""
        graph, (begins, leads) = self.index.graph, self.nouns(step)
        many = len(rows) > 1
        rows = rows if len(rows) else self.index.ends_of(step)
        kinds, wanted = set(self.kind_of[rows].tolist()), kind_of_type(leads)
        dates = {is_date(graph.entities.names[row]) for row in rows.tolist()}
        is_mixed = Kind.PERSON in kinds and len(kinds) > 1
        if is_mixed or len(dates) > 1 or not fits(before, kind_of_type(begins)):
            return None
        if True not in dates and not all(fits(Kind(kind), wanted) for kind in kinds):
            return None
        kind = Kind(kinds.pop()) if len(kinds) == 1 else Kind.UNKNOWN
        types = set(graph.entities.types.codes[rows].tolist())
        word = words_of_name(graph.entities.types.names[types.pop()])[-1:] if len(types) == 1 else []
        is_noun = bool(word) and kind_of_type(word[0]) != Kind.UNKNOWN and word[0] not in _NO_NOUNS
        if kinds <= {Kind.UNKNOWN} and kind == Kind.UNKNOWN:
            kind = wanted
        return Ends(kind, word[0] if is_noun else "", many, True in dates)

    def words_for(self, step: RelationStep) -> tuple[str, ...]:
        """The vocabulary's words for the step's relation type, then the type itself."""
        name = self.index.type_name(step)
        return (*self.vocabulary.get(name, ()), name)
