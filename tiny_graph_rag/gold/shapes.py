"""Drawing questions of each shape from a graph, so that no relation and no hub fills a set.

A draw is a proposal: it begins at a relation of the type that was used least so far and becomes a question
only if everything in `Sampler.accepted` holds. What a graph does not hold is not found after some hundred
draws, and then reported.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tiny_graph_rag.gold.formulas import Direction, Formula, Path, RelationStep, Rows, StepIndex
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
    """A question without words. relations: rows of those on the ways to answers. hops: of the farthest answer
    from the nearest seed, 0 without answers."""

    shape: str
    formula: Formula
    answers: Rows
    relations: tuple[int, ...]
    hops: int


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
        self.rows_of = {type: walked[codes[walked] == type] for type in self.types}
        self.types = [type for type in self.types if len(self.rows_of[type])]
        several = max(int((adjacency.degrees >= 2).sum()), 1)
        self.most_of_entity = max(2, math.ceil(max(ENTITY_SHARE, 3 / several) * self.total))

    def draw(self, shape: str, sayable: Callable[[DrawnQuestion], bool]) -> DrawnQuestion | None:
        """One more question of this shape, None where none is found. sayable: whether words can be found."""
        for _ in range(DRAWS if self.types else 0):
            type = min(self.types, key=self._cost)
            formula = self._formula(shape, type)
            drawn = None if formula is None else self.accepted(shape, formula)
            if drawn is not None and sayable(drawn):
                self.seen.add(frozenset(drawn.formula.paths))
                self.by_type.update({step.type for step in drawn.formula.steps})
                self.lengths[drawn.hops] += CHAIN
                self.by_entity.update([*drawn.formula.seeds, *drawn.answers.tolist()])
                return drawn
            self.failures[type] += 1
        return None

    def accepted(self, shape: str, formula: Formula) -> DrawnQuestion | None:
        """The drawn question, or None where it is trivial, ambiguous, used up or beyond the hops."""
        most_uses = max(2, int(FAIR * self.by_type.total() / max(len(self.by_type), 1)))
        if (
            frozenset(formula.paths) in self.seen
            or any(self.by_type[step.type] >= most_uses for step in formula.steps)
            or not all(map(self._usable, formula.seeds))
        ):
            return None
        (rows, relations), seeds = self.index.find(formula), np.array(formula.seeds, dtype=np.int32)
        if any(np.isin(self.index.images(path)[-1], seeds).any() for path in formula.paths):
            return None  # one of the names in the question would be an answer
        answers = rows.tolist()
        if shape == "no-answer":
            return None if answers else DrawnQuestion(shape, formula, rows, (), 0)
        if not 0 < len(answers) <= MOST_ANSWERS or not all(map(self._usable, answers)):
            return None
        hops, near = len(formula.paths[0].steps), seeds
        if shape == "single" and len(self.index.around(seeds)) <= len(answers) + 1:
            return None  # the answers are all that the seed stands next to
        for _ in range(hops - 1):
            near = self.index.around(near)
        if not self.hops[0] <= hops <= self.hops[1] or np.isin(rows, near).any():
            return None  # a chain with a short cut to an answer
        return DrawnQuestion(shape, formula, rows, relations, hops)

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

    # What is drawn. All choices are of equal chance but for what was used before.

    def _formula(self, shape: str, type: int) -> Formula | None:
        """A formula of this shape whose first relation is of this type, None where this draw gives none."""
        path = self._begin(type)
        if path is None:
            return None
        if shape == "intersection":
            return self._intersection(path)
        if shape == "no-answer":
            return self._no_answer(path)
        path = self._longer(path) if shape == "chain" else path
        return None if path is None else Formula((path,))

    def _begin(self, type: int) -> Path | None:
        """A path of one step along a relation of this type, from an entity with other relations too."""
        relations, row = self.index.graph.relations, self._any(self.rows_of[type])
        direction: Direction = "in" if self.chance.random() < 0.5 else "out"
        seed = int((relations.targets if direction == "in" else relations.sources)[row])
        step = RelationStep(type, "both" if self.index.undirected[type] else direction)
        return None if self.index.graph.adjacency.degrees[seed] < 2 else Path(seed, (step,))

    def _any(self, rows: Rows) -> int:
        return int(rows[int(self.chance.random() * len(rows))])

    def _step_from(self, entity: int, but: frozenset[int] = frozenset()) -> RelationStep | None:
        """A step from the entity that there are words for, along none of the relation types `but`."""
        steps = self.index.steps_from(entity)
        steps = [step for step in steps if step.type in self.rows_of and step.type not in but]
        return min(steps, key=lambda step: self._cost(step.type)) if steps else None

    def _longer(self, path: Path) -> Path | None:
        """The path with two or three steps, each of another type: so none leads back the way it came."""
        low, high = max(self.hops[0], 2), min(self.hops[1], LONGEST_CHAIN)
        length = min(range(low, high + 1), key=self.lengths.__getitem__)
        self.lengths[length] += 1
        while len(path.steps) < length <= high:
            image = self.index.images(path)[-1]
            if not 0 < len(image) <= MOST_BETWEEN:
                return None
            step = self._step_from(self._any(image), frozenset(step.type for step in path.steps))
            if step is None:
                return None
            path = Path(path.seed, (*path.steps, step))
        return path if len(path.steps) > 1 else None

    def _intersection(self, path: Path) -> Formula | None:
        """The one thing that a relation leads to from two entities, and from each of them to others too."""
        image, step = self.index.images(path)[-1], path.steps[0]
        if len(image) < 2:
            return None
        before = self.index.follow(np.array([self._any(image)], dtype=np.int32), step.reversed)
        before = before[before != path.seed]
        if not len(before):
            return None
        other = Path(self._any(before), path.steps)
        formula = Formula((path, other), "and")
        is_alone = len(self.index.images(other)[-1]) < 2
        return None if is_alone or len(self.index.find(formula)[0]) != 1 else formula

    def _no_answer(self, path: Path) -> Formula | None:
        """What an entity lacks and another of its type, with which it shares two kinds of relations, has."""
        step, types = self._step_from(path.seed), self.index.graph.entities.types.codes
        like = self._begin(step.type) if step else None
        if like is None or types[like.seed] != types[path.seed]:
            return None
        theirs, held = self.index.steps_from(like.seed), set(self.index.steps_from(path.seed))
        is_like = len(held & set(theirs)) > 1 and path.steps[0].type not in {step.type for step in theirs}
        return Formula((Path(like.seed, path.steps),)) if is_like else None
