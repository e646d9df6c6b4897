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
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.gold.formulas import Formula, FormulaAnswers, Path, RelationStep, StepIndex
from tiny_graph_rag.graph.bfs import BreadthFirst, worth_searching
from tiny_graph_rag.graph.names import NameIndex

SHAPES = ("single", "chain", "intersection", "no-answer")
LONGEST_CHAIN = 3
MOST_ANSWERS = 20  # a longer list measures the cutoff, not the retriever
MOST_BETWEEN = 100  # entities of a step in the middle: beyond, nobody would ask
LONGEST_NAME = 60  # characters: what is longer is a sentence, not a name
DRAWS = 500  # for one question
FAILED = 0.25  # uses that a failed draw counts: relations that give nothing are tried less often
LONG_SHARE = 1 / 2  # of the chains drawn that have the most steps
GIVEN_UP = 60  # failed draws after which a relation type that gave nothing counts as giving nothing
SEED_SHARE, ANSWER_SHARE = 0.02, 0.05  # of the questions that may name, or ask for, one entity
FAIR = 2  # times its fair share that a relation may be used


@dataclass(frozen=True, slots=True)
class DrawnQuestion:
    """A question without words. hops: of the farthest answer from the nearest seed, 0 without answers."""

    shape: str
    formula: Formula
    found: FormulaAnswers
    hops: int


@dataclass(eq=False)
class Sampler:
    """Draws the questions of one set. says: (2 * types,), the steps that there are words for. total: how many
    are requested; hops: the fewest and the most."""

    index: StepIndex
    says: NDArray[np.bool_]
    names: NameIndex
    chance: random.Random
    total: int
    hops: tuple[int, int]
    failures: Counter[int] = field(default_factory=Counter)
    seeds: Counter[int] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)
    by_type: Counter[int] = field(default_factory=Counter)
    seen: set[tuple[object, ...]] = field(default_factory=set)
    _usable: dict[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.index.graph
        adjacency, types = graph.adjacency, graph.relations.types
        rows = np.unique(adjacency.relations)
        order = np.argsort(types.codes[rows], kind="stable")
        bounds = np.searchsorted(types.codes[rows[order]], np.arange(len(types.names) + 1))
        self.rows_of = [rows[order[low:high]] for low, high in pairwise(bounds)]
        self.types = [type for type, rows in enumerate(self.rows_of) if len(rows) and self.says[2 * type]]
        self.degrees = adjacency.degrees
        several = max(int((self.degrees >= 2).sum()), 1)
        self.most_seed = max(2, math.ceil(max(SEED_SHARE, 3 / several) * self.total))
        self.most_answer = max(2, math.ceil(max(ANSWER_SHARE, 3 / several) * self.total))
        compile = worth_searching(adjacency, self.total * 4)
        self.search = BreadthFirst(adjacency, compile=compile)

    def draw(self, shape: str, sayable: Callable[[DrawnQuestion], bool]) -> DrawnQuestion | None:
        """One more question of this shape, None where none is found. sayable: whether words can be found."""
        for _ in range(DRAWS if self.types else 0):
            type = min(self.types, key=self._cost)
            formula = self._formula(shape, type)
            drawn = None if formula is None else self.accepted(shape, formula)
            if drawn is not None and sayable(drawn):
                self._count(drawn)
                return drawn
            self.failures[type] += 1
        return None

    def accepted(self, shape: str, formula: Formula) -> DrawnQuestion | None:
        """The drawn question, or None where it is trivial, ambiguous, used up or beyond the hops."""
        if formula.asks in self.seen or any(self.seeds[seed] >= self.most_seed for seed in formula.seeds):
            return None
        if any(self.by_type[step.type] >= self._most_uses() for step in formula.steps):
            return None
        if not all(map(self.usable, formula.seeds)) or self._names_what_satisfies(formula):
            return None
        found = self.index.find(formula)
        if shape == "no-answer":
            return DrawnQuestion(shape, formula, found, 0) if not len(found.answers) else None
        answers = found.answers.tolist()
        if not 0 < len(answers) <= MOST_ANSWERS or not all(map(self.usable, answers)):
            return None
        if any(self.answers[answer] >= self.most_answer for answer in answers):
            return None
        hops = self._hops(formula, answers)
        if hops is None or not self.hops[0] <= hops <= self.hops[1]:
            return None
        if shape == "single":
            adjacency = self.index.graph.adjacency
            around = adjacency.neighbours[adjacency.slots(formula.seeds[0])]
            if len(np.unique(around)) <= len(answers):
                return None  # the answers are all that the seed stands next to
        return DrawnQuestion(shape, formula, found, hops)

    def _names_what_satisfies(self, formula: Formula) -> bool:
        """Whether an entity that the question names would be an answer too: it is left out of the gold."""
        return any(
            other in self.index.images(path)[-1]
            for path in formula.paths
            for other in formula.seeds
            if other != path.seed
        )

    def usable(self, entity: int) -> bool:
        """Whether the name can stand in a question: not too long, one line, and no other entity's."""
        if entity not in self._usable:
            name = str(self.index.graph.entities.names[entity])
            is_plain = name == name.strip() and name.isprintable() and any(map(str.isalnum, name))
            is_own = is_plain and self.names.resolve(name) == ((entity,), "name")
            self._usable[entity] = is_own and len(name) <= LONGEST_NAME
        return self._usable[entity]

    def _count(self, drawn: DrawnQuestion) -> None:
        self.seen.add(drawn.formula.asks)
        self.by_type.update({step.type for step in drawn.formula.steps})
        self.seeds.update(drawn.formula.seeds)
        self.answers.update(drawn.found.answers.tolist())

    def _cost(self, type: int) -> float:
        """How much a relation type was used, with leeway for chance."""
        return self.by_type[type] + FAILED * self.failures[type] + 2 * self.chance.random()

    def _most_uses(self) -> int:
        """Uses that a relation may have now: twice its fair share of those so far, and two to begin with."""
        giving = [type for type in self.types if self.by_type[type] or self.failures[type] < GIVEN_UP]
        return max(2, int(FAIR * self.by_type.total() / max(len(giving), 1)))

    def _hops(self, formula: Formula, answers: list[int]) -> int | None:
        """Hops of all answers from their nearest seed; None for a chain with a short cut to one of them."""
        longest = max(len(path.steps) for path in formula.paths)
        if longest == 1:
            return 1
        reached = self.search.reach(list(formula.seeds), longest)
        places = np.flatnonzero(np.isin(reached.entities, answers))
        hops = np.searchsorted(reached.levels, places, side="right") - 1
        return longest if (hops == longest).all() else None

    # What is drawn. All choices are of equal chance but for what was used before.

    def _formula(self, shape: str, type: int) -> Formula | None:
        """A formula of this shape whose first relation is of this type, None where this draw gives none."""
        path = self._begin(type)
        if path is not None and shape == "intersection":
            return self._intersection(path)
        if path is not None and shape == "no-answer":
            return self._no_answer(path)
        if path is not None and shape == "chain":
            path = self._longer(path)
        return None if path is None else Formula((path,))

    def _begin(self, type: int) -> Path | None:
        """A path of one step along a relation of this type, from an entity with other relations too."""
        relations, row = self.index.graph.relations, self._any(self.rows_of[type])
        backward = self.chance.random() < 0.5
        seed = int((relations.targets if backward else relations.sources)[row])
        if self.degrees[seed] < 2 or not self.usable(seed):
            return None
        return Path(seed, (RelationStep(2 * type + backward),))

    def _any(self, rows: NDArray[np.int32]) -> int:
        return int(rows[int(self.chance.random() * len(rows))])

    def _step_from(self, entity: int, but: frozenset[int]) -> RelationStep | None:
        """A step from the entity that there are words for, along none of the relation types `but`."""
        codes = [code for code in self.index.codes_of(entity).tolist() if self.says[code]]
        codes = [code for code in codes if code >> 1 not in but]
        return RelationStep(min(codes, key=lambda code: self._cost(code >> 1))) if codes else None

    def _longer(self, path: Path) -> Path | None:
        """The path with two or three steps, each of another type: so none leads back the way it came."""
        low, high = max(self.hops[0], 2), min(self.hops[1], LONGEST_CHAIN)
        length = high if self.chance.random() < LONG_SHARE else low
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
        before = self.index.follow(np.array([self._any(image)], dtype=np.int32), RelationStep(step.code ^ 1))
        before = before[before != path.seed]
        if not len(before):
            return None
        other = Path(self._any(before), path.steps)
        formula = Formula((path, other), "and")
        is_alone = len(self.index.images(other)[-1]) < 2
        return None if is_alone or len(self.index.find(formula).answers) != 1 else formula

    def _no_answer(self, path: Path) -> Formula | None:
        """What an entity lacks and another of its type, with which it shares a relation type, has."""
        step = self._step_from(path.seed, frozenset())
        like = self._begin(step.type) if step else None
        types = self.index.graph.entities.types.codes
        if like is None or types[like.seed] != types[path.seed] or like.steps[0] != step:
            return None
        return Formula((Path(like.seed, path.steps),))
