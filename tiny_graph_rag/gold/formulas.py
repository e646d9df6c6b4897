"""What a generated question asks of the graph, as sets of entities that nobody has to be asked about.

A path starts at one entity and takes steps; a step goes along one relation type, with it ("out"), against it
("in") or, where the type says nothing of a direction, either way ("both"). Its image is found set by set:

    image of no step   = {seed}
    image of one more  = everything one such relation away from the image before, less the seed

A self-loop is no relation. On images of paths the operations are

    path   the image                           or     the union of all images
    and    what lies in all images             not    the first image less the others

always less the seeds of all paths. The field `asks` of a question holds this as a pattern (gold/patterns.py),
so that whoever doubts a reference list, or has changed the graph, computes it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import stretches, unique
from tiny_graph_rag.graph.model import KnowledgeGraph

# Types that only say that two things have to do with each other, folded.
_SAYS_NOTHING = frozenset(
    ["", "relatedto", "relatesto", "related", "relates", "relation", "relationship", "directed", "edge"]
) | {"link", "links", "linkedto", "rel"}
_WORD = re.compile(r"[^\W_]+")
LOOKED_AT = 200  # ends of a relation type that tell what it leads to

Rows = NDArray[np.int32]
Operation = Literal["path", "and", "or", "not"]
Direction = Literal["out", "in", "both"]
_REVERSED: dict[Direction, Direction] = {"out": "in", "in": "out", "both": "both"}


class RelationStep(NamedTuple):
    """type: the relation type's code. direction: along the relation, against it, or either way."""

    type: int
    direction: Direction = "out"

    @property
    def reversed(self) -> RelationStep:
        return RelationStep(self.type, _REVERSED[self.direction])


@dataclass(frozen=True, slots=True)
class Path:
    seed: int
    steps: tuple[RelationStep, ...]


@dataclass(frozen=True, slots=True)
class Formula:
    paths: tuple[Path, ...]
    operation: Operation = "path"

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(path.seed for path in self.paths))

    @property
    def steps(self) -> tuple[RelationStep, ...]:
        return tuple(step for path in self.paths for step in path.steps)


@dataclass(frozen=True, eq=False)
class StepIndex:
    """Follows relations of one type from many entities at once. undirected: (types,), whether relations of
    a type are followed either way."""

    graph: KnowledgeGraph
    undirected: NDArray[np.bool_]

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> StepIndex:
        names = graph.relations.types.names
        return cls(graph, np.array([says_nothing(name) for name in names] or [False], dtype=bool))

    def type_name(self, step: RelationStep) -> str:
        return str(self.graph.relations.types.names[step.type])

    def steps_from(self, entity: int) -> list[RelationStep]:
        """The steps that the entity's relations allow, in order, each once."""
        adjacency, types = self.graph.adjacency, self.graph.relations.types.codes
        slots = adjacency.slots(entity)
        type, forward = types[adjacency.relations[slots]], adjacency.forward[slots]
        direction = np.where(self.undirected[type], "both", np.where(forward, "out", "in"))
        return sorted(set(map(RelationStep, type.tolist(), direction.tolist())))

    def around(self, entities: Rows) -> Rows:
        """The entities and everything one relation away."""
        adjacency = self.graph.adjacency
        counts = adjacency.indptr[entities + 1] - adjacency.indptr[entities]
        near = adjacency.neighbours[stretches(adjacency.indptr[entities], counts)]
        return unique(np.concatenate([entities, near]))

    def ends_of(self, step: RelationStep) -> Rows:
        """What the first relations of the step's type lead to."""
        relations = self.graph.relations
        rows = np.flatnonzero(relations.types.codes == step.type)[:LOOKED_AT]
        return (relations.sources if step.direction == "in" else relations.targets)[rows]

    def step_rows(self, entities: Rows, step: RelationStep) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Slots of the adjacency that the step may take from any of `entities`, and for each the place of its
        entity."""
        adjacency, types = self.graph.adjacency, self.graph.relations.types.codes
        counts = adjacency.indptr[entities + 1] - adjacency.indptr[entities]
        slots = stretches(adjacency.indptr[entities], counts)
        owners = np.repeat(np.arange(len(entities)), counts)
        fits = types[adjacency.relations[slots]] == step.type
        if step.direction != "both":
            fits &= adjacency.forward[slots] == (step.direction == "out")
        return slots[fits], owners[fits]

    def follow(self, entities: Rows, step: RelationStep) -> Rows:
        """Everything one step away, ascending, each once."""
        rows, _ = self.step_rows(entities, step)
        return unique(self.graph.adjacency.neighbours[rows])

    def images(self, path: Path) -> list[Rows]:
        """The image after no step, after one, …"""
        images = [np.array([path.seed], dtype=np.int32)]
        for step in path.steps:
            image = self.follow(images[-1], step)
            images.append(image[image != path.seed])
        return images

    def find(self, formula: Formula) -> tuple[Rows, tuple[int, ...]]:
        """The answers, ascending rows of entities; and the rows of all relations on the ways to them."""
        images = [self.images(path) for path in formula.paths]
        answers = images[0][-1]
        for image in images[1:]:
            if formula.operation == "or":
                answers = unique(np.concatenate([answers, image[-1]]))
            else:
                answers = answers[np.isin(answers, image[-1], invert=formula.operation == "not")]
        answers = answers[~np.isin(answers, np.array(formula.seeds, dtype=np.int32))]
        used = formula.paths[:1] if formula.operation == "not" else formula.paths
        ways = [self._relations_on(path, image, answers) for path, image in zip(used, images, strict=False)]
        return answers, tuple(unique(np.concatenate(ways)).tolist())

    def _relations_on(self, path: Path, images: Sequence[Rows], answers: Rows) -> Rows:
        """The relations on the ways from the seed to answers, found backwards."""
        adjacency = self.graph.adjacency
        ends = images[-1][np.isin(images[-1], answers)]
        relations = [np.zeros(0, dtype=adjacency.relations.dtype)]
        for step, before in zip(reversed(path.steps), reversed(images[:-1]), strict=True):
            rows, owners = self.step_rows(before, step)
            leads_on = np.isin(adjacency.neighbours[rows], ends)
            relations.append(adjacency.relations[rows[leads_on]])
            ends = unique(before[owners[leads_on]])
        return np.concatenate(relations)


def says_nothing(type_name: str) -> bool:
    """Whether a relation type says neither what relates nor in which direction."""
    return "".join(_WORD.findall(type_name)).casefold() in _SAYS_NOTHING
