"""Drawing questions of each shape from a graph, so that no relation and no hub fills a set.

A draw is a proposal: it begins at a relation of the type that was used least so far and becomes a question
only if everything in `Sampler.accepted` holds. What a graph does not hold is not found after some hundred
draws, and then reported.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tiny_graph_rag.gold.patterns import Direction, Formula, Path, RelationStep, StepIndex, seeds_of
from tiny_graph_rag.graph.names import NameIndex

SHAPES = ("single", "chain", "intersection", "no-answer")
LONGEST_CHAIN = 3
MOST_ANSWERS = 20  # a longer list measures the cutoff, not the retriever
MOST_BETWEEN = 100  # entities of a step in the middle: beyond, nobody would ask
LONGEST_NAME = 60  # characters: what is longer is a sentence, not a name
DRAWS = 500  # for one question
FAILED = 0.25  # uses that a failed draw counts: relations that give nothing are tried less often
CHAIN = 50  # draws that a chain counts: a length that gives few chains is drawn less often
ENTITY_SHARE = 0.05  # of the questions that may name, or ask for, one entity
FAIR = 2  # times its fair share that a relation may be used


@dataclass(frozen=True, slots=True)
class DrawnQuestion:
    """A question without words. answers: ascending rows. relations: rows of those on the ways to answers.
    hops: of the farthest answer from the nearest seed, 0 without answers."""

    shape: str
    formula: Formula
    answers: Sequence[int]
    relations: tuple[int, ...] = ()
    hops: int = 0


@dataclass(eq=False)
class Sampler:
    """Draws the questions of one set. types: the relation types that there are words for. total: how many
    are requested; hops: the fewest and the most. by_entity, by_type: questions that use it so far."""

    index: StepIndex
    types: list[int]
    names: NameIndex
    chance: random.Random
    total: int
    hops: tuple[int, int]
    failures: Counter[int] = field(default_factory=Counter)
    by_entity: Counter[int] = field(default_factory=Counter)
    by_type: Counter[int] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    seen: set[frozenset[Path]] = field(default_factory=set)

    def __post_init__(self) -> None:
        adjacency, codes = self.index.graph.adjacency, self.index.graph.relations.types.codes
        walked = np.unique(adjacency.relations)
        self.rows_of = {type: walked[codes[walked] == type].tolist() for type in self.types}
        self.types = [type for type in self.types if self.rows_of[type]]
        several = max(int((adjacency.degrees >= 2).sum()), 1)
        self.most_of_entity = max(2, math.ceil(max(ENTITY_SHARE, 3 / several) * self.total))

    def draw(self, shape: str, sayable: Callable[[DrawnQuestion], bool]) -> DrawnQuestion | None:
        """One more question of this shape, None where none is found. sayable: whether words can be found."""
        drawing = {"chain": self._chain, "intersection": self._intersection, "no-answer": self._no_answer}
        for _ in range(DRAWS if self.types else 0):
            type = min(self.types, key=self._cost)
            path = self._begin(type)
            formula = path and (drawing[shape](path) if shape in drawing else (path,))
            drawn = None if formula is None else self.accepted(shape, formula)
            if drawn is not None and sayable(drawn):
                self.seen.add(frozenset(drawn.formula))
                self.by_type.update({step.type for path in drawn.formula for step in path.steps})
                self.lengths[drawn.hops] += CHAIN
                self.by_entity.update([*seeds_of(drawn.formula), *drawn.answers])
                return drawn
            self.failures[type] += 1
        return None

    def accepted(self, shape: str, formula: Formula) -> DrawnQuestion | None:
        """The drawn question, or None where it is trivial, ambiguous, used up or beyond the hops."""
        most_uses = max(2, int(FAIR * self.by_type.total() / max(len(self.by_type), 1)))
        is_used_up = any(self.by_type[step.type] >= most_uses for path in formula for step in path.steps)
        seeds, hops = set(seeds_of(formula)), len(formula[0].steps)
        if frozenset(formula) in self.seen or is_used_up or not all(map(self._usable, seeds)):
            return None
        answers, relations = self.index.find(formula)
        last = [self.index.follow(self.index.images(path)[-2], path.steps[-1]) for path in formula]
        if not seeds.isdisjoint(set[int]().union(*last)):
            return None  # one of the names in the question would be an answer
        if shape == "no-answer":
            return None if answers else DrawnQuestion(shape, formula, answers)
        if not 0 < len(answers) <= MOST_ANSWERS or not all(map(self._usable, answers)):
            return None
        if shape == "single" and len(self._near(seeds)) <= len(answers) + 1:
            return None  # the answers are all that the seed stands next to
        near = seeds
        for _ in range(hops - 1):
            near = self._near(near)
        is_near = not near.isdisjoint(answers)  # a chain with a short cut to an answer
        is_far = not self.hops[0] <= hops <= self.hops[1]
        return None if is_near or is_far else DrawnQuestion(shape, formula, answers, relations, hops)

    def _near(self, entities: set[int]) -> set[int]:
        """The entities and everything one relation away."""
        return entities.union(*(ends for one in entities for ends in self.index.around(one).values()))

    def _usable(self, entity: int) -> bool:
        """Whether the name can stand in one more question: not too long, one line, and no other entity's."""
        if self.by_entity[entity] >= self.most_of_entity:
            return False
        name = str(self.index.graph.entities.names[entity])
        is_plain = name == name.strip() and name.isprintable() and any(map(str.isalnum, name))
        return is_plain and len(name) <= LONGEST_NAME and self.names.resolve(name) == ((entity,), "name")

    def _cost(self, type: int) -> float:
        """How much a relation type was used, with leeway for chance."""
        return self.by_type[type] + FAILED * self.failures[type] + 2 * self.chance.random()

    def _any(self, rows: Sequence[int]) -> int:
        return rows[int(self.chance.random() * len(rows))]

    def _begin(self, type: int) -> Path | None:
        """A path of one step along a relation of this type, from an entity with other relations too."""
        relations, row = self.index.graph.relations, self._any(self.rows_of[type])
        direction: Direction = "in" if self.chance.random() < 0.5 else "out"
        seed = int((relations.targets if direction == "in" else relations.sources)[row])
        step = RelationStep(type, "both" if type in self.index.undirected else direction)
        return None if self.index.graph.adjacency.degrees[seed] < 2 else Path(seed, (step,))

    def _chain(self, path: Path) -> Formula | None:
        """The path with two or three steps, each of another type: so none leads back the way it came."""
        lengths = range(max(self.hops[0], 2), min(self.hops[1], LONGEST_CHAIN) + 1)
        length = min(lengths, key=self.lengths.__getitem__, default=1)
        self.lengths[length] += 1
        while len(path.steps) < length:
            image = sorted(self.index.images(path)[-1])
            types = self.rows_of.keys() - {step.type for step in path.steps}
            around = self.index.around(self._any(image)) if 0 < len(image) <= MOST_BETWEEN else ()
            steps = [step for step in around if step.type in types]
            if not steps:
                return None
            path = Path(path.seed, (*path.steps, min(steps, key=lambda step: self._cost(step.type))))
        return (path,) if lengths else None

    def _intersection(self, path: Path) -> Formula | None:
        """The one thing that a relation leads to from two entities, and from each of them to others too."""
        image, (step,) = sorted(self.index.images(path)[-1]), path.steps
        before = sorted(self.index.follow([self._any(image)], step.reversed) - {path.seed}) if image else []
        if len(image) < 2 or not before:
            return None
        other = Path(self._any(before), path.steps)
        formula = (path, other)
        is_alone = len(self.index.images(other)[-1]) < 2
        return None if is_alone or len(self.index.find(formula)[0]) != 1 else formula

    def _no_answer(self, path: Path) -> Formula | None:
        """What an entity lacks and another of its type has."""
        like, types = self._begin(self._any(self.types)), self.index.graph.entities.types.codes
        if like is None or types[like.seed] != types[path.seed]:
            return None
        held = {step.type for step in self.index.around(like.seed)}
        return None if path.steps[0].type in held else (Path(like.seed, path.steps),)
