"""Drawing questions of each shape from a graph, so that no relation, hub or band of degrees fills a set.

A draw is a proposal: it begins at a relation type that was used least so far, at a seed of the band of
degrees that is due, and becomes a question only if everything in `Sampler.accepted` holds. What a graph does
not hold is not found after some hundred draws, and then said.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.gold.formulas import Formula, FormulaAnswers, Path, RelationStep, StepIndex
from tiny_graph_rag.graph.bfs import BreadthFirst, worth_searching
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.language.words import words_of_name

SHAPES = (
    "single", "chain", "intersection", "union", "comparison", "count", "negation", "no-answer", "hub", "rare",
)  # fmt: skip

MOST_ANSWERS = 20  # a longer list measures the cutoff, not the retriever
WIDEST_IMAGE = 5_000  # entities of a step in the middle: beyond, nobody could follow the question
LONGEST_NAME = 80  # characters: what is longer is a sentence, not a name
DRAWS = 1000  # for one question, before a shape counts as used up
LEEWAY = 2  # uses by which a relation may be ahead of another and still be drawn
FAILED = 0.25  # uses that a failed draw counts: relations that give nothing are asked for more seldom
TRIED_SEEDS = 8  # seeds of one relation looked at for one of the band that is due
SAMPLED_CODES = 64  # relation types compared at once for the least used
LONGEST_CHAIN = 4
LONGER = 2  # times as many chains of two relations as of three, and of three as of four: so people ask
GIVEN_UP = 60  # failed draws after which a relation type that gave nothing counts as giving nothing
TRIED_STEPS = 4  # steps onward looked at, the least used of which is taken
HUB_SHARE, RARE_SHARE = 0.02, 0.25  # of the entities with two neighbours or more: most and fewest relations
SEED_SHARE, ANSWER_SHARE = 0.02, 0.05  # of the questions that may name, or want, one entity
# Numbers that only name things, or say where they stand: nobody asks for the highest.
_NO_QUANTITIES = table("""
    id ids index idx no nr number code key hash community cluster component partition group label class level
    line lineno row column page chunk token offset start end position x y z lat lon latitude longitude degree
    """)
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
    """Draws the questions of one set. says: (codes,), the steps that there are words for. total: how many are
    wanted; hops: the fewest and the most."""

    index: StepIndex
    says: NDArray[np.bool_]
    names: NameIndex
    chance: random.Random
    total: int
    hops: tuple[int, int]
    failed: Counter[tuple[str, int]] = field(default_factory=Counter)
    failures: Counter[int] = field(default_factory=Counter)
    seeds: Counter[int] = field(default_factory=Counter)
    wanted: Counter[int] = field(default_factory=Counter)
    by_type: Counter[int] = field(default_factory=Counter)
    lengths: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    gave_nothing: set[int] = field(default_factory=set)
    seen: set[tuple[object, ...]] = field(default_factory=set)
    shape: str = ""
    band: int = 0
    began: int = -1
    length: int = 0
    _usable: dict[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.index.graph
        degrees = graph.adjacency.degrees
        several = np.sort(degrees[degrees >= 2])
        self.degrees = degrees
        self.bands = [float(np.quantile(several, q)) if len(several) else 0.0 for q in (1 / 3, 2 / 3)]
        self.hub_from = float(np.quantile(several, 1 - HUB_SHARE)) if len(several) else math.inf
        self.rare_to = float(np.quantile(several, RARE_SHARE)) if len(several) else 0.0
        held = np.bincount(self.index.group_codes, minlength=self.index.codes)
        self.codes = np.flatnonzero((held > 0) & self.says).tolist()
        entities = max(len(several), 1)
        self.most_seed = max(2, math.ceil(SEED_SHARE * self.total), math.ceil(3 * self.total / entities))
        self.most_wanted = max(2, math.ceil(ANSWER_SHARE * self.total), math.ceil(3 * self.total / entities))
        compile = worth_searching(graph.adjacency, self.total * 4)
        self.search = BreadthFirst(graph.adjacency, compile=compile)
        self.draws: dict[str, Callable[[], Formula | None]] = {
            "single": self._single,
            "chain": self._chain,
            "intersection": self._intersection,
            "union": self._union,
            "comparison": self._comparison,
            "count": self._count,
            "negation": self._negation,
            "no-answer": self._no_answer,
            "hub": lambda: self._single(lambda seed: self.degrees[seed] >= self.hub_from),
            "rare": lambda: self._single(lambda seed: self.degrees[seed] <= self.rare_to),
        }

    def draw(self, shape: str, sayable: Callable[[DrawnQuestion], bool]) -> DrawnQuestion | None:
        """One more question of this shape, None where none is found. sayable: whether words can be found."""
        self.shape = shape
        for _ in range(DRAWS if self.codes else 0):
            self.band, self.began = (self.band + 1) % 3, -1
            formula = self.draws[shape]()
            drawn = None if formula is None else self.accepted(shape, formula)
            if drawn is not None and sayable(drawn):
                self._count_use(drawn)
                return drawn
            self._count_failure()
        return None

    def accepted(self, shape: str, formula: Formula) -> DrawnQuestion | None:
        """The drawn question, or None where it is trivial, ambiguous, used up or beyond the hops."""
        if formula.asks in self.seen or any(self.seeds[seed] >= self.most_seed for seed in formula.seeds):
            return None
        if any(self.by_type[step.type] >= self._most_uses() for step in formula.steps):
            return None
        if not all(map(self.usable, formula.seeds)):
            return None
        if any(len(self._image_sizes(path)) < len(path.steps) for path in formula.paths):
            return None
        if self._names_what_satisfies(formula):
            return None
        found = self.index.find(formula)
        if shape == "no-answer":
            return DrawnQuestion(shape, formula, found, 0) if not len(found.answers) else None
        answers = found.answers.tolist()
        if not 0 < len(answers) <= MOST_ANSWERS or not all(map(self.usable, answers)):
            return None
        if any(self.wanted[answer] >= self.most_wanted for answer in answers):
            return None
        hops = self._hops(formula, answers)
        if hops is None or not self.hops[0] <= hops <= self.hops[1]:
            return None
        if hops == 1 and formula.operation in ("path", "count") and self._is_all_there_is(formula, answers):
            return None
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
        known = self._usable.get(entity)
        if known is None:
            name = str(self.index.graph.entities.names[entity])
            known = (
                0 < len(name) <= LONGEST_NAME
                and name == name.strip()
                and name.isprintable()
                and any(map(str.isalnum, name))
                and self.names.resolve(name) == ((entity,), "name")
            )
            self._usable[entity] = known
        return known

    def _count_use(self, drawn: DrawnQuestion) -> None:
        formula = drawn.formula
        self.seen.add(formula.asks)
        self.by_type.update({step.type for step in formula.steps})
        self.gave_nothing -= {step.type for step in formula.steps}
        steps = len(formula.paths[0].steps)
        self.lengths[steps] += LONGER ** (steps - 2) * (drawn.shape == "chain")
        self.seeds.update(formula.seeds)
        self.wanted.update(drawn.found.answers.tolist())

    def _count_failure(self) -> None:
        self.failed[self.shape, self.began] += 1
        relation = self.began >> 1
        self.failures[relation] += 1
        if self.failures[relation] >= GIVEN_UP and not self.by_type[relation]:
            self.gave_nothing.add(relation)
        if self.shape == "chain":  # a length that the graph does not have must not stop the others
            self.lengths[self.length] += 1 / GIVEN_UP / 4

    def _most_uses(self) -> int:
        """Uses that a relation may have now: twice its fair share of those so far, and two to begin with."""
        typed = {code >> 1 for code in self.codes} - self.gave_nothing
        return max(2, int(FAIR * self.by_type.total() / max(len(typed), 1)))

    def _image_sizes(self, path: Path) -> list[int]:
        """Sizes of the images, cut off before one that is too wide or, but for the last, empty."""
        sizes: list[int] = []
        entities = np.array([path.seed], dtype=np.int32)
        for step in path.steps:
            rows, _ = self.index.step_rows(entities, step)
            if len(rows) > WIDEST_IMAGE or not len(entities):
                break
            entities = np.unique(self.index.neighbours[rows])
            entities = entities[entities != path.seed]
            sizes.append(len(entities))
        return sizes

    def _hops(self, formula: Formula, answers: list[int]) -> int | None:
        """Hops of all answers from their nearest seed; None for a chain with a short cut to one of them."""
        longest = max(len(path.steps) for path in formula.paths)
        if longest == 1 and formula.operation != "most":
            return 1
        reached = self.search.reach(list(formula.seeds), longest)
        places = [int(np.flatnonzero(reached.entities == answer)[0]) for answer in answers]
        hops = {int(np.searchsorted(reached.levels, place, side="right")) - 1 for place in places}
        if formula.operation == "path" and hops != {longest}:
            return None
        return max(hops)

    def _is_all_there_is(self, formula: Formula, answers: list[int]) -> bool:
        """Whether the answers are all that the seeds stand next to, so that no choice is left."""
        adjacency, around = self.index.graph.adjacency, set[int]()
        for seed in formula.seeds:
            if self.degrees[seed] > 4 * MOST_ANSWERS:
                return False
            around.update(adjacency.neighbours[adjacency.slots(seed)].tolist())
        return len(around - set(answers) - set(formula.seeds)) == 0

    # What is drawn, shape by shape. All choices are of equal chance but for what was used before.

    def _pick(self, size: int) -> int:
        return int(self.chance.random() * size)

    def _cost(self, code: int) -> float:
        """How much a code was used."""
        used = self.by_type[code >> 1] + FAILED * self.failed[self.shape, code]
        return used + self.chance.random() * LEEWAY

    def _least_used(self, codes: Sequence[int]) -> int:
        if len(codes) > SAMPLED_CODES:
            codes = [codes[self._pick(len(codes))] for _ in range(SAMPLED_CODES)]
        return min(codes, key=self._cost)

    def _group(self, code: int, fits: Callable[[int], bool] = lambda seed: True) -> int | None:
        """A group of this code, of the band of degrees that is due if a few looks find one."""
        groups = self.index.groups_of_code(code)
        found = None
        for _ in range(TRIED_SEEDS):
            group = int(groups[self._pick(len(groups))])
            seed = self.index.entity_of(group)
            if self.degrees[seed] < 2 or not fits(seed) or self.seeds[seed] >= self.most_seed:
                continue
            found = group
            if (self.degrees[seed] > self.bands[0]) + (self.degrees[seed] > self.bands[1]) == self.band:
                break
        return found

    def _step(self, group: int) -> RelationStep:
        return RelationStep(int(self.index.group_codes[group]))

    def _group_of(self, entity: int) -> int | None:
        """A group of the entity along a relation that there are words for."""
        around = self.index.groups_of_entity(entity)
        groups = np.flatnonzero(self.says[self.index.group_codes[around.start : around.stop]])
        return around.start + int(groups[self._pick(len(groups))]) if len(groups) else None

    def _begin(self, fits: Callable[[int], bool] = lambda seed: True) -> Path | None:
        """A path of one step along a relation that is due."""
        self.began = self._least_used(self.codes)
        group = self._group(self.began, fits)
        return None if group is None else Path(self.index.entity_of(group), (self._step(group),))

    def _onward(self, path: Path) -> Path | None:
        """The path and one step more, along the least used of some that lead on from an entity it reaches."""
        image = self.index.images(path)[-1]
        if not 0 < len(image) <= WIDEST_IMAGE:
            return None
        onward = int(image[self._pick(len(image))])
        some = [self._group_of(onward) for _ in range(TRIED_STEPS)]
        steps = [self._step(group) for group in some if group is not None]
        steps = [step for step in steps if not self._goes_to_and_fro(path, step)]
        if not steps:
            return None
        return Path(path.seed, (*path.steps, min(steps, key=lambda step: self._cost(step.code))))

    def _goes_to_and_fro(self, path: Path, step: RelationStep) -> bool:
        """There and back is a question (other films of a director); and there again asks the same twice."""
        return len(path.steps) > 1 and path.steps[-1].undoes(step) and path.steps[-2] == step

    def _single(self, fits: Callable[[int], bool] = lambda seed: True) -> Formula | None:
        path = self._begin(fits)
        return None if path is None else Formula("path", (path,))

    def _chain(self) -> Formula | None:
        low, high = max(self.hops[0], 2), min(self.hops[1], LONGEST_CHAIN)
        self.length = min(range(low, high + 1), key=lambda pair: (self.lengths[pair], pair), default=0)
        path = self._begin() if self.length else None
        while path is not None and len(path.steps) < self.length:
            path = self._onward(path)
        return None if path is None else Formula("path", (path,))

    def _to(self, answer: int, but: int) -> Path | None:
        """A path of one step that leads to the answer, from another entity than `but`."""
        group = self._group_of(answer)
        if group is None:
            return None
        step = self._step(group)
        before = self.index.follow(np.array([answer], dtype=np.int32), step)
        before = before[before != but]
        if not len(before):
            return None
        return Path(int(before[self._pick(len(before))]), (RelationStep(step.code ^ 1),))

    def _two(self) -> tuple[Path, Path, int] | None:
        """Two paths of different seeds that meet in an entity; the first of one step or two."""
        path = self._begin()
        if path is not None and self.hops[1] > 1 and self.chance.random() < 0.5:
            path = self._onward(path)
        image = self.index.images(path)[-1] if path is not None else ()
        if path is None or not 1 < len(image) <= WIDEST_IMAGE:
            return None
        meeting = int(image[self._pick(len(image))])
        other = self._to(meeting, path.seed)
        return None if other is None else (path, other, meeting)

    def _intersection(self) -> Formula | None:
        """One answer, and neither seed alone has it."""
        two = self._two()
        if two is None:
            return None
        formula = Formula("and", two[:2])
        images = [self.index.images(path)[-1] for path in formula.paths]
        if min(map(len, images)) < 2 or len(self.index.find(formula).answers) != 1:
            return None
        return formula

    def _negation(self) -> Formula | None:
        """Something is left, and something was taken away."""
        two = self._two()
        formula = two and Formula("not", two[:2])
        return formula if formula and len(self.index.find(formula).left_out) else None

    def _union(self) -> Formula | None:
        """Each seed brings what the other does not."""
        path = self._begin()
        group = None if path is None else self._group(path.steps[0].code, lambda seed: seed != path.seed)
        if path is None or group is None:
            return None
        other = Path(self.index.entity_of(group), path.steps)
        images = [self.index.images(walk)[-1] for walk in (path, other)]
        if not all(len(np.setdiff1d(one, two)) for one, two in (images, images[::-1])):
            return None
        return Formula("or", (path, other))

    def _count(self) -> Formula | None:
        path = self._begin()
        if path is None or len(self.index.images(path)[-1]) < 2:
            return None
        return Formula("count", (path,))

    def _comparison(self) -> Formula | None:
        """One stands out of two or more, by how many it is related to or by an attribute that all have."""
        path = self._begin()
        if path is None:
            return None
        image = self.index.images(path)[-1]
        if not 2 <= len(image) <= MOST_ANSWERS:
            return None
        shared = set.intersection(*(set(self.index.numbers(entity)) for entity in image.tolist()))
        shared = {name for name in shared if not _NO_QUANTITIES.intersection(words_of_name(name)[-1:])}
        if shared and self.chance.random() < 0.5:
            return Formula("most", (path,), None, sorted(shared)[self._pick(len(shared))])
        longer = self._onward(path)
        if longer is None or longer.steps[-1].undoes(path.steps[0]):
            return None
        formula = Formula("most", (path,), longer.steps[-1])
        values = sorted(self.index.values(image, formula), key=lambda value: value or 0)
        # One against none is no comparison.
        return formula if len(values) > 1 and values[-1] != values[-2] and values[-2] else None

    def _no_answer(self) -> Formula | None:
        """What an entity lacks and another of its type, with which it shares a relation type, has."""
        path = self._begin()
        if path is None:
            return None
        group = self._group_of(path.seed)
        types = self.index.graph.entities.types.codes
        if group is None:
            return None
        like = self._group(int(self.index.group_codes[group]), lambda pair: types[pair] == types[path.seed])
        return None if like is None else Formula("path", (Path(self.index.entity_of(like), path.steps),))
