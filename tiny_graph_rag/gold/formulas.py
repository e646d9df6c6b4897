"""What a generated question asks of the graph, as sets of entities that nobody has to be asked about.

A path starts at one entity and takes steps; a step goes along one relation type, with it ("out"), against it
("in") or, where the type says nothing of a direction, either way ("both"). Its image is found set by set:

    image of no step   = {seed}
    image of one more  = everything one such relation away from the image before, less the seed

A self-loop is no relation. The answers are what lies in the images of all paths, less the seeds of all. The
field `asks` of a question holds this as a pattern (gold/patterns.py), so that whoever doubts the answers, or
has changed the graph, computes them again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from tiny_graph_rag.graph.model import KnowledgeGraph

# Types that only say that two things have to do with each other, folded.
_SAYS_NOTHING = frozenset(
    ["", "relatedto", "relatesto", "related", "relates", "relation", "relationship", "edge"]
) | {"link", "links", "linkedto", "rel"}
_WORD = re.compile(r"[^\W_]+")
LOOKED_AT = 200  # ends of a relation type that tell what it leads to

Direction = Literal["out", "in", "both"]
_REVERSED: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}


class RelationStep(NamedTuple):
    """type: the relation type's code. direction: along the relation, against it, or either way."""

    type: int
    direction: Direction = "out"

    @property
    def reversed(self) -> RelationStep:
        return RelationStep(self.type, _REVERSED[self.direction])


class Path(NamedTuple):
    seed: int
    steps: tuple[RelationStep, ...]


Formula = tuple[Path, ...]


def seeds_of(formula: Formula) -> tuple[int, ...]:
    return tuple(dict.fromkeys(path.seed for path in formula))


@dataclass(eq=False)
class StepIndex:
    """Follows relations of one type from many entities at once. undirected: types that are followed either
    way; none is added once a relation was followed."""

    graph: KnowledgeGraph
    undirected: set[int]
    _around: dict[int, Mapping[RelationStep, Mapping[int, list[int]]]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> StepIndex:
        names = graph.relations.types.names
        return cls(graph, {code for code, name in enumerate(names) if says_nothing(name)})

    def around(self, entity: int) -> Mapping[RelationStep, Mapping[int, list[int]]]:
        """Every step from the entity → what it leads to → the rows of the relations that do."""
        if entity not in self._around:
            adjacency, types = self.graph.adjacency, self.graph.relations.types.codes
            slots = adjacency.slots(entity)
            columns = adjacency.neighbours[slots], adjacency.relations[slots], adjacency.forward[slots]
            found: dict[RelationStep, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
            for neighbour, row, forward in zip(*(column.tolist() for column in columns), strict=True):
                direction: Direction = "out" if forward else "in"
                type = int(types[row])
                step = RelationStep(type, "both" if type in self.undirected else direction)
                found[step][neighbour].append(row)
            self._around[entity] = {step: found[step] for step in sorted(found)}
        return self._around[entity]

    def _leads(self, entity: int, step: RelationStep) -> Iterable[tuple[int, list[int]]]:
        """What the step leads to from the entity, and by which relations."""
        way = self.around(entity)
        for direction in ("out", "in", "both") if step.direction == "both" else (step.direction,):
            yield from way.get(RelationStep(step.type, direction), {}).items()

    def ends_of(self, step: RelationStep) -> set[int]:
        """What the first relations of the step's type lead to."""
        relations = self.graph.relations
        rows = np.flatnonzero(relations.types.codes == step.type)[:LOOKED_AT]
        sources, targets = relations.sources[rows].tolist(), relations.targets[rows].tolist()
        return {*(sources if step.direction != "out" else ()), *(targets if step.direction != "in" else ())}

    def follow(self, entities: Iterable[int], step: RelationStep) -> set[int]:
        """Everything one step away."""
        return {end for entity in entities for end, _ in self._leads(entity, step)}

    def images(self, path: Path) -> list[set[int]]:
        """The image after no step, after one, …"""
        images = [{path.seed}]
        for step in path.steps:
            images.append(self.follow(images[-1], step) - {path.seed})
        return images

    def find(self, formula: Formula) -> tuple[list[int], tuple[int, ...]]:
        """The answers, ascending rows of entities; and the rows of all relations on the ways to them."""
        images = [self.images(path) for path in formula]
        answers = set.intersection(*(image[-1] for image in images)) - set(seeds_of(formula))
        ways = [self._relations_on(*pair, answers) for pair in zip(formula, images, strict=True)]
        return sorted(answers), tuple(sorted(set().union(*ways)))

    def _relations_on(self, path: Path, images: list[set[int]], answers: Collection[int]) -> set[int]:
        """The relations on the ways from the seed to answers, found backwards."""
        relations: set[int] = set()
        ends = images[-1].intersection(answers)
        for step, image in zip(reversed(path.steps), reversed(images[:-1]), strict=True):
            ways = [(one, rows) for one in image for end, rows in self._leads(one, step) if end in ends]
            relations.update(row for _, rows in ways for row in rows)
            ends = {one for one, _ in ways}
        return relations


def says_nothing(type_name: str) -> bool:
    """Whether a relation type says neither what relates nor in which direction."""
    return "".join(_WORD.findall(type_name)).casefold() in _SAYS_NOTHING
