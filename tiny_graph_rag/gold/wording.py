"""From a formula to a question in words: what English and Korean have in common.

Words for a relation come from a table of common relation types (phrases/*.txt), else from the
type's own words where they read as nothing else, else from the graph's vocabulary. What can't be said so that
a person would say it is not asked.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import ClassVar

from tiny_graph_rag.gold.patterns import Formula, RelationStep, StepIndex, seeds_of
from tiny_graph_rag.language.folding import HAS_HANGUL
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.kinds import NAMED_KINDS, Kind, is_date, is_occasion, kind_of_type
from tiny_graph_rag.language.words import words_of_name

# Words of types that say no more than `thing`, or that nobody says of what has them.
_NO_NOUNS = table("""
    thing object item artifact artefact concept idea topic theory number time date year material substance
    loc gpe org per role human individual facility body other event place location work who player
    사물 물건 개념 시간 날짜 연도 위치 개체 기타 대상 항목
    """)
_THINGS = frozenset((Kind.THING, Kind.WORK, Kind.OTHER, Kind.DATE))
_FITTING = {  # kinds that can stand where a phrase speaks of this one; of all others, any of _THINGS
    Kind.UNKNOWN: frozenset(Kind), Kind.PERSON: {Kind.PERSON}, Kind.PLACE: {Kind.PLACE},
    Kind.GROUP: {Kind.GROUP, Kind.WORK}, Kind.THING: frozenset(Kind) - {Kind.PERSON},
}  # fmt: skip


def fits(kind: Kind, noun: str, names: Iterable[str]) -> bool:
    """Whether things of a kind, with these names, can stand where a phrase speaks of what the noun says."""
    if noun in ("occasion", "행사"):
        return all(map(is_occasion, names))
    if noun == "who":
        return kind in (Kind.PERSON, Kind.GROUP, Kind.UNKNOWN)
    return kind in _FITTING.get(kind_of_type(noun), _THINGS)


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
    def named(self, seeds: Sequence[int], called: Mapping[int, str]) -> NounPhrase | None:
        """The beginning of a question: one seed, or two of which the same is asked. called: a seed → what it
        is called here, where not by its name."""

    @abstractmethod
    def lead(self, step: RelationStep, of: NounPhrase, ends: Ends) -> NounPhrase | None:
        """What one step leads to from `of`, as a phrase to go on from; None where nobody says so."""

    @abstractmethod
    def ask(self, step: RelationStep, of: NounPhrase, ends: Ends) -> str | None:
        """The question of what one step leads to from `of`; None where nobody asks so."""

    def name(self, entity: int, called: Mapping[int, str]) -> str:
        """What the question calls a seed, without article or particle; `Red_Cross` has a space."""
        return called.get(entity) or str(self.index.graph.entities.names[entity]).replace("_", " ")

    def is_name(self, entity: int) -> bool:
        """Whether it is called by a name, and not by a noun."""
        return True

    def question(self, formula: Formula, answers: Sequence[int], called: Mapping[int, str]) -> str | None:
        """The question in words; None where a person would not ask it so."""
        seeds, steps, images = seeds_of(formula), formula[0].steps, self.index.images(formula[0])
        images[0], images[-1] = set(seeds), set(answers)
        names = seeds if self.is_typed else (*seeds, *answers)
        is_sayable = all(map(self.is_name, names)) and all(map(self._is_all, steps, images))
        is_torn = len(seeds) > 1 and self.kind_of[seeds[0]] == Kind.PLACE  # Who lives in both Rome and Bonn?
        if not is_sayable or is_torn or self._leads_back(steps):
            return None
        of = self.named(seeds, called)
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
    def kind_of(self) -> list[Kind]:
        """The kind of each entity, UNKNOWN where its words disagree."""
        kinds = []
        for name, words in zip(self.index.graph.entities.names, self.words, strict=True):
            found = {Kind.DATE} if is_date(name) else set(map(kind_of_type, words))
            kinds.append(max(found) if len(found) == 1 else Kind.UNKNOWN)
        return kinds

    def usual_kind(self, step: RelationStep) -> Kind:
        """The kind of most that relations of the step's type lead to."""
        return Counter(self.kind_of[row] for row in sorted(self.index.ends_of(step))).most_common(1)[0][0]

    def _leads_back(self, steps: Sequence[RelationStep]) -> bool:
        """Whether a step has no words, comes twice, is the one before turned round, or says kin of kin."""
        said, back = ([self.said(step) for step in way] for way in (steps, [step.reversed for step in steps]))
        kin = list(map(self._is_of_kin, steps))
        pairs = zip(said, back[1:], kin, kin[1:], strict=False)
        return len({*said, ""}) <= len(said) or any(one == two or (a and b) for one, two, a, b in pairs)

    def _is_all(self, step: RelationStep, begins: Iterable[int]) -> bool:
        """Whether no other relation type gives answers to the same words."""
        others = {other for entity in begins for other in self.index.around(entity)} - {step}
        return self.said(step) not in map(self.said, others)

    def _ends(self, step: RelationStep, begins: Collection[int], ends: Collection[int]) -> Ends | None:
        """What the step leads to; None where something at either end is of another kind than is usual there.
        ends: none for what does not exist, which is then like what the step leads to elsewhere."""
        kind, before, kind_of = self.usual_kind(step), self.usual_kind(step.reversed), self.kind_of
        rows = sorted(ends or [row for row in self.index.ends_of(step) if kind_of[row] == kind])
        is_usual = {kind_of[row] for row in rows} == {kind} and {kind_of[row] for row in begins} == {before}
        name, (begin, end) = self.index.graph.entities.names.__getitem__, self.nouns(step)
        is_vague = kind == Kind.UNKNOWN and end in ("", "것") and not self.is_typed  # what may be who
        is_said = fits(before, begin, map(name, begins)) and fits(kind, end, map(name, rows))
        is_optional = before == Kind.PERSON and kind in (Kind.PERSON, Kind.GROUP, Kind.WORK)
        is_there = bool(ends) or (is_optional and not self._is_of_kin(step))  # everybody has a mother
        if before == Kind.DATE or is_vague or not (is_usual and is_said and is_there):
            return None
        shared = frozenset.intersection(*(self.words[row] for row in rows)) - _NO_NOUNS
        nouns = [word for word in shared if kind_of_type(word) != Kind.UNKNOWN or HAS_HANGUL.search(word)]
        return Ends(kind, nouns[0] if len(nouns) == 1 else "", len(ends) > 1)

    def _is_of_kin(self, step: RelationStep) -> bool:
        return not self.follows_no_other.isdisjoint(re.findall(r"\w+", self.said(step)))
