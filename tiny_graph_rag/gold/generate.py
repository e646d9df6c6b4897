"""A gold set from a graph alone: questions whose answers the graph itself decides.

The same graph, options and seed give the same bytes on every machine: all chance comes from one
`random.Random`, whose numbers Python keeps from version to version.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiny_graph_rag.errors import GraphError, UsageError, amount, nearest
from tiny_graph_rag.gold.english import English
from tiny_graph_rag.gold.examples import PATTERN, Example
from tiny_graph_rag.gold.korean import Korean
from tiny_graph_rag.gold.patterns import RelationStep, StepIndex, pattern_of, says_nothing, seeds_of
from tiny_graph_rag.gold.shapes import LONGEST_CHAIN, SHAPES, DrawnQuestion, Sampler
from tiny_graph_rag.gold.variants import VARIANTS, QuestionVariant, variant
from tiny_graph_rag.gold.wording import Wording
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.language.function_words import stands_in
from tiny_graph_rag.run import Relation

SHARES = {  # of a hundred questions
    "single": 30, "chain": 32, "intersection": 16, "no-answer": 6, "alias-noise": 9, "coreference": 7,
}  # fmt: skip
LANGUAGES: Mapping[str, type[Wording]] = {"en": English, "ko": Korean}
GIVEN_UP = 8  # rounds in which nothing was found for a shape, before it counts as used up
NO_ANSWER = "no-answer"  # makes up for no other shape: a set of them would measure abstaining alone


@dataclass(frozen=True, slots=True)
class Wanted:
    """n: questions. shapes: and variants. hops: fewest and most. language: "" for the graph's."""

    n: int
    shapes: tuple[str, ...] = tuple(SHARES)
    hops: tuple[int, int] = (1, LONGEST_CHAIN)
    language: str = ""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """asked, found: shape → questions. unsaid: relation types that no question asks about, for there are no
    words for them."""

    questions: tuple[Example, ...]
    language: str
    asked: Mapping[str, int]
    found: Mapping[str, int]
    unsaid: tuple[str, ...] = ()


def parse_shapes(text: str) -> tuple[str, ...]:
    """`chain,alias-noise` → these shapes and variants. Raises UsageError."""
    shapes = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    for name in shapes or ("",):
        if name not in SHARES:
            raise UsageError(
                "--shapes: unknown shape {name}{near} Choices: {names}",
                name=repr(name),
                near=nearest(name, list(SHARES)) or ".",
                names=", ".join(SHARES),
            )
    return shapes


def parse_hops(text: str) -> tuple[int, int]:
    """`1-3`, `2` → fewest and most. Raises UsageError."""
    low, _, high = text.partition("-")
    try:
        hops = int(low), int(high or low)
    except ValueError:
        hops = 0, 0
    if not 1 <= hops[0] <= hops[1] <= LONGEST_CHAIN:
        raise UsageError(
            "--hops: wanted a number or range from 1 to {longest_chain}, such as 2 or "
            "1-{longest_chain}, got {text}",
            longest_chain=LONGEST_CHAIN,
            text=repr(text),
        )
    return hops


def generate(graph: KnowledgeGraph, names: NameIndex, wanted: Wanted) -> Generated:
    """Raises GraphError where a graph has no relation between two entities, UsageError for n below 1."""
    if wanted.n < 1:
        raise UsageError("--n must be 1 or more, got {n}", n=wanted.n)
    if not len(graph.adjacency.neighbours):
        raise GraphError(
            "{name}: {n} and no relation between two of them; questions are made of relations",
            name=graph.name,
            n=amount(len(graph), "entity", "entities"),
        )
    types = sorted(set(graph.relations.types))
    if all(map(says_nothing, types)):
        raise GraphError(
            "{graph}: the relation types have no meaning ({types}), so no natural question can be "
            "made. Write questions into a text file, one per line, or let a model write them; "
            "`recommend --dataset questions.txt` proposes references for them, `dataset from` finds "
            "those that their answers name",
            graph=graph.name,
            types=", ".join(repr(name) for name in types[:3]),
        )
    maker = _Maker.of(graph, names, wanted)
    unsaid = maker.unsaid()
    if not maker.sampler.types:
        raise GraphError(
            "{graph}: there are no words for its relation types ({types}) in the language of the questions "
            "({language}). Add words in {vocabulary}, or choose another language with --lang",
            graph=graph.name,
            language=maker.wording.language,
            types=", ".join(map(repr, unsaid[:3])),
            vocabulary=f"{graph.name}-vocabulary.yaml",
        )
    quotas = apportioned(wanted.n, {shape: SHARES[shape] for shape in wanted.shapes})
    maker.draw({shape: quotas[shape] for shape in SHAPES if quotas.get(shape)})
    made = [maker.example(place) for place in range(len(maker.drawn))]
    for kind in VARIANTS:
        made += maker.variants(kind, quotas.get(kind, 0))
    found = Counter(str(candidate.unknown["variant"] or candidate.unknown["shape"]) for candidate in made)
    return Generated(tuple(made), maker.wording.language, quotas, dict(found), unsaid)


_TOWN = re.compile("(?<=[가-힣]{2})(특별자치시|특별자치도|특별시|광역시|시|군|구)$")


def apportioned(n: int, shares: Mapping[str, float]) -> dict[str, int]:
    """n in these shares, by largest remainder."""
    total = sum(shares.values())
    exact = {name: n * share / total for name, share in shares.items()}
    quotas = {name: int(value) for name, value in exact.items()}
    by_rest = sorted(exact, key=lambda name: quotas[name] - exact[name])
    for name in by_rest[: n - sum(quotas.values())]:
        quotas[name] += 1
    return quotas


def language_of(graph: KnowledgeGraph) -> str:
    """ko where most of the first thousand names hold Hangul."""
    names = graph.entities.names[:1000]
    korean = sum(any("가" <= letter <= "힣" for letter in name) for name in names)
    return "ko" if korean * 2 > len(names) else "en"


def names_an_answer(graph: KnowledgeGraph, text: str, answers: Sequence[int]) -> bool:
    """Whether a question says the name or an alias of one of its answers, or holds the name within a word, of
    a Korean town without what it is (서울 for 서울특별시)."""
    entities, folded = graph.entities, fold(text)
    names = [_TOWN.sub("", str(entities.names[answer])) for answer in answers]
    aliases = [alias for answer in answers for alias in entities.aliases[answer]]
    is_within = any(len(fold(name)) > 1 and fold(name) in folded for name in names)
    return is_within or any(stands_in(spelling, text) for spelling in (*names, *aliases))


@dataclass(eq=False)
class _Maker:
    """Draws questions and writes them as examples. texts: folded questions so far."""

    graph: KnowledgeGraph
    names: NameIndex
    sampler: Sampler
    wording: Wording
    chance: random.Random
    drawn: list[DrawnQuestion] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, graph: KnowledgeGraph, names: NameIndex, wanted: Wanted) -> _Maker:
        index, chance = StepIndex.of(graph), random.Random(wanted.seed)
        language = wanted.language or language_of(graph)
        wording = LANGUAGES[language](index, graph.vocabulary)
        types = set(range(len(graph.relations.types.names))) - index.undirected
        said = [type for type in sorted(types) if wording.said(RelationStep(type))]
        for step in map(RelationStep, said):  # a friend's friend is one whoever says so
            if wording.said(step) == wording.said(step.reversed):
                index.undirected.add(step.type)
        sampler = Sampler(index, said, names, chance, wanted.n, wanted.hops)
        return cls(graph, names, sampler, wording, chance)

    def unsaid(self) -> tuple[str, ...]:
        """The relation types of the graph that there are no words for."""
        types = self.graph.relations.types
        held = np.bincount(types.codes, minlength=len(types.names))
        said = self.sampler.types
        return tuple(name for code, name in enumerate(types.names) if held[code] and code not in said)

    def draw(self, quotas: Mapping[str, int]) -> None:
        """Shape by shape in turn, so that none has used up the graph before the others come; what a shape
        lacks is drawn of the others."""
        left, giving = dict(quotas), list(quotas)
        numbers, failed, missing = Counter[str](), Counter[str](), 0
        while left:
            for shape in list(left):
                drawn = self.sampler.draw(shape, self._sayable)
                if drawn is not None:
                    numbers[shape] += 1
                    self.drawn.append(drawn)
                    self.ids.append(f"{self.graph.name}-{shape}-{numbers[shape]:03d}")
                    left[shape] -= 1
                elif failed[shape] < GIVEN_UP:
                    failed[shape] += 1
                else:
                    giving.remove(shape)
                    missing += left.pop(shape)
            left = {shape: quota for shape, quota in left.items() if quota}
            if not left:
                left = dict.fromkeys([shape for shape in giving if shape != NO_ANSWER][:missing], 1)
                missing -= len(left)

    def _sayable(self, drawn: DrawnQuestion) -> bool:
        text = self.wording.question(drawn.formula, drawn.answers, {})
        if text is None or fold(text) in self.texts:
            return False
        if names_an_answer(self.graph, text, drawn.answers):
            return False
        self.texts.add(fold(text))
        return True

    def variants(self, kind: str, quota: int) -> list[Example]:
        """At most `quota` variants of a kind, of the questions in an order of chance, one of each."""
        made: list[Example] = []
        places = list(range(len(self.drawn)))
        self.chance.shuffle(places)
        for place in places:
            if len(made) == quota:
                break
            drawn = self.drawn[place]
            if drawn.shape == NO_ANSWER:
                continue
            found = variant(kind, drawn, self.wording, self.names, self.chance)
            if found is None or fold(found.query) in self.texts:
                continue
            if names_an_answer(self.graph, found.query, drawn.answers):
                continue
            if not found.context:  # with earlier turns the same words may ask something else
                self.texts.add(fold(found.query))
            made.append(self.example(place, found))
        return made

    def example(self, place: int, asked: QuestionVariant | None = None) -> Example:
        drawn, graph, index = self.drawn[place], self.graph, self.sampler.index
        name, relations = graph.entities.names, graph.relations
        answers = sorted(drawn.answers, key=graph.name_rank.__getitem__)
        tags = [drawn.shape]
        if drawn.hops:
            tags += [f"{drawn.hops}-hop"] + ["multi-hop"] * (drawn.hops > 1)
        own: dict[str, Any] = {
            "shape": drawn.shape,
            "variant": asked.kind if asked else None,
            "hops": drawn.hops,
            PATTERN: pattern_of(drawn.formula, index),
        }
        if asked and asked.noise:
            own["noise"] = asked.noise
        names = tuple(self.wording.name(seed, {}) for seed in seeds_of(drawn.formula))
        own["mentions"] = list(names if asked is None else asked.mentions)
        return Example(
            id=f"{self.ids[place]}-{asked.kind}" if asked else self.ids[place],
            query=asked.query if asked else self.wording.question(drawn.formula, drawn.answers, {}) or "",
            reference_entities=tuple(name[answer] for answer in answers),
            ground_truth=(", ".join(name[answer] for answer in answers),) if answers else (),
            tags=tuple([*tags, asked.kind] if asked else tags),
            reference_relations=tuple(
                Relation(
                    name[int(relations.sources[row])], name[int(relations.targets[row])], relations.types[row]
                )
                for row in drawn.relations
            ),
            seed_entities=tuple(name[seed] for seed in seeds_of(drawn.formula)),
            context=asked.context if asked else (),
            group=self.ids[place],
            unknown=own,
        )
