"""What a generated question asks of the graph, as sets of entities that nobody has to be asked about.

A path starts at one entity and takes steps; a step goes along one relation type, with it ("out"), against it
("in") or, where the type says nothing of a direction, either way ("both"). Its image is found set by set:

    image of no step   = {seed}
    image of one more  = everything one such relation away from the image before, less the seed

A self-loop is no relation. Of a type that says nothing (`RELATED_TO`, none at all) a step may be narrowed to
the relations whose description holds one word. On images of paths the operations are

    path   the image                           or     the union of all images
    and    what lies in all images             not    the first image less the others
    count  the image, and how many they are    most   of the image, what has the most `by`, alone at the top

always less the seeds of all paths. The field `asks` of a question holds this as JSON, so that whoever doubts
a reference list, or has changed the graph, computes it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, looked_up, stretches, unique
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import nfc

# Types that only say that two things have to do with each other, folded.
_SAYS_NOTHING = frozenset(
    ["", "relatedto", "relatesto", "related", "relates", "relation", "relationship", "directed", "edge"]
) | {"link", "links", "linkedto", "rel"}
_WORD = re.compile(r"[^\W_]+")
KEPT = 1 << 16  # texts whose words, or whose numbers, are not read again
OPERATIONS = ("path", "and", "or", "not", "count", "most")

Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True, order=True)
class RelationStep:
    """code: twice the relation type's code, 1 more against the relation. word: of the description, or ""."""

    code: int
    word: str = ""

    @property
    def type(self) -> int:
        return self.code >> 1

    @property
    def backward(self) -> bool:
        return bool(self.code & 1)

    def undoes(self, other: RelationStep) -> bool:
        return self.type == other.type and self.backward != other.backward and self.word == other.word


@dataclass(frozen=True, slots=True)
class Path:
    seed: int
    steps: tuple[RelationStep, ...]


@dataclass(frozen=True, slots=True)
class Formula:
    """by: of `most`, the step that is counted; attribute: of `most`, the number that is compared instead."""

    operation: str
    paths: tuple[Path, ...]
    by: RelationStep | None = None
    attribute: str = ""

    @property
    def asks(self) -> tuple[object, ...]:
        """The same for formulas that differ in the order of their paths alone."""
        return (self.operation, frozenset(self.paths), self.by, self.attribute)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(path.seed for path in self.paths))

    @property
    def steps(self) -> tuple[RelationStep, ...]:
        return tuple(step for path in self.paths for step in path.steps) + ((self.by,) if self.by else ())


@dataclass(frozen=True, slots=True, eq=False)
class FormulaAnswers:
    """answers, left_out: ascending entity rows; left_out is what `not` takes away. walks: how many different
    ways along the paths lead to answers. relations: the rows of all relations on these ways, ascending."""

    answers: Rows
    left_out: Rows
    walks: int
    relations: tuple[int, ...]


@dataclass(eq=False)
class StepIndex:
    """Every entity's relations by step code, for following many entities at once.

    Rows lie sorted by (entity, code); a group is the rows of one (entity, code). starts: int64 (groups + 1,)
    into the rows; keys: int64 (groups,), entity * codes + code, ascending.
    """

    graph: KnowledgeGraph
    undirected: NDArray[np.bool_]
    neighbours: Rows
    relations: Rows
    starts: NDArray[np.int64]
    keys: NDArray[np.int64]
    codes: int

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> StepIndex:
        adjacency, types = graph.adjacency, graph.relations.types
        undirected = np.array([says_nothing(name) for name in types.names] or [False], dtype=bool)
        codes = 2 * max(len(types.names), 1)
        owners = np.repeat(np.arange(len(graph), dtype=np.int64), adjacency.degrees)
        code = types.codes[adjacency.relations].astype(np.int64) * 2
        code += ~adjacency.forward & ~undirected[types.codes[adjacency.relations]]
        keys = owners * codes + code
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(begins(keys))
        return cls(
            graph,
            undirected,
            adjacency.neighbours[order],
            adjacency.relations[order],
            np.append(first, len(keys)),
            keys[first],
            codes,
        )

    @cached_property
    def group_codes(self) -> Rows:
        return np.asarray(self.keys % self.codes, dtype=np.int32)

    @cached_property
    def _by_code(self) -> tuple[Rows, NDArray[np.int64]]:
        order = np.argsort(self.group_codes, kind="stable").astype(np.int32)
        bounds = np.searchsorted(self.group_codes[order], np.arange(self.codes + 1))
        return order, bounds

    def groups_of_code(self, code: int) -> Rows:
        """The groups with this code, by entity."""
        order, bounds = self._by_code
        return order[bounds[code] : bounds[code + 1]]

    def groups_of_entity(self, entity: int) -> range:
        low, high = np.searchsorted(self.keys, [entity * self.codes, (entity + 1) * self.codes]).tolist()
        return range(low, high)

    def entity_of(self, group: int) -> int:
        return int(self.keys[group]) // self.codes

    def step_rows(self, entities: Rows, step: RelationStep) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows that the step may take from any of `entities`, and for each the place of its entity."""
        wanted = entities.astype(np.int64) * self.codes + step.code
        group, known = looked_up(self.keys, wanted)
        held = np.flatnonzero(known)
        low, high = self.starts[group[held]], self.starts[group[held] + 1]
        counts = high - low
        rows = stretches(low, counts)
        owners = np.repeat(held, counts)
        if step.word:
            texts = self.graph.relations.descriptions
            speaks = [step.word in words_of(texts[row]) for row in self.relations[rows].tolist()]
            rows, owners = rows[speaks], owners[speaks]
        return rows, owners

    def follow(self, entities: Rows, step: RelationStep) -> Rows:
        """Everything one step away, ascending, each once."""
        rows, _ = self.step_rows(entities, step)
        return unique(self.neighbours[rows])

    def numbers(self, entity: int) -> dict[str, float]:
        """The attributes of an entity that are numbers."""
        return _numbers(self.graph.entities.details[entity])

    def images(self, path: Path) -> list[Rows]:
        """The image after no step, after one, …"""
        images = [np.array([path.seed], dtype=np.int32)]
        for step in path.steps:
            image = self.follow(images[-1], step)
            images.append(image[image != path.seed])
        return images

    def find(self, formula: Formula) -> FormulaAnswers:
        """Answers with the evidence for them."""
        images = [self.images(path) for path in formula.paths]
        answers, left_out = images[0][-1], np.zeros(0, dtype=np.int32)
        for image in images[1:]:
            if formula.operation == "or":
                answers = unique(np.concatenate([answers, image[-1]]))
            elif formula.operation == "and":
                answers = answers[np.isin(answers, image[-1])]
            elif formula.operation == "not":
                gone = np.isin(answers, image[-1])
                left_out = unique(np.concatenate([left_out, answers[gone]]))
                answers = answers[~gone]
        seeds = np.array(formula.seeds, dtype=np.int32)
        answers, left_out = answers[~np.isin(answers, seeds)], left_out[~np.isin(left_out, seeds)]
        if formula.operation == "most":
            answers = answers[self._highest(self.values(answers, formula))]
        used = formula.paths[:1] if formula.operation == "not" else formula.paths
        walks, relations = 0, set[int]()
        for path, image in zip(used, images, strict=False):
            count, used_rows = self._ways(path, image, answers)
            walks += count
            relations |= used_rows
        if formula.operation == "most" and formula.by is not None:
            compared, _ = self.step_rows(answers, formula.by)
            relations |= set(self.relations[compared].tolist())
        return FormulaAnswers(answers, left_out, walks, tuple(sorted(relations)))

    def values(self, entities: Rows, formula: Formula) -> list[float | None]:
        """What `most` compares: how many lie one step `by` away, or the attribute; None where it is none."""
        if formula.by is None:
            return [self.numbers(entity).get(formula.attribute) for entity in entities.tolist()]
        return [float(len(self.follow(entities[row : row + 1], formula.by))) for row in range(len(entities))]

    def _highest(self, values: Sequence[float | None]) -> list[int]:
        """The one place of the highest value; none where two share it."""
        known = [value for value in values if value is not None]
        places = [row for row, value in enumerate(values) if known and value == max(known)]
        return places if len(places) == 1 else []

    def _ways(self, path: Path, images: Sequence[Rows], answers: Rows) -> tuple[int, set[int]]:
        """How many ways lead from the seed to answers, and the relations on them: counted backwards."""
        leading = np.isin(images[-1], answers).astype(np.int64)  # ways onward from each of an image
        relations: set[int] = set()
        for place in range(len(path.steps), 0, -1):
            before, after = images[place - 1], images[place]
            rows, owners = self.step_rows(before, path.steps[place - 1])
            ends = self.neighbours[rows]
            slot, kept = looked_up(after, ends)
            kept = kept & (np.append(leading, 0)[slot] > 0)
            relations |= set(self.relations[rows[kept]].tolist())
            pairs = unique(owners[kept] * max(len(after), 1) + slot[kept])  # parallel relations: one way
            leading = np.bincount(
                pairs // max(len(after), 1), leading[pairs % max(len(after), 1)], minlength=len(before)
            ).astype(np.int64)
        return int(leading.sum()), relations


def says_nothing(type_name: str) -> bool:
    """Whether a relation type says neither what relates nor in which direction."""
    return "".join(_WORD.findall(type_name)).casefold() in _SAYS_NOTHING


@lru_cache(KEPT)
def words_of(description: str) -> frozenset[str]:
    """The words of a text: runs of letters and digits, NFC, case-folded."""
    return frozenset(_WORD.findall(nfc(nfc(description).casefold())))


def asks_json(formula: Formula, index: StepIndex) -> dict[str, Any]:
    """The field `asks` of a question. Entities are given by id, relation types by name."""
    ids = index.graph.entities.ids

    def step(relation_step: RelationStep) -> dict[str, str]:
        found = {"type": type_name(index, relation_step), "direction": direction(index, relation_step)}
        return found | ({"word": relation_step.word} if relation_step.word else {})

    asks: dict[str, Any] = {
        "operation": formula.operation,
        "paths": [
            {"seed": ids[path.seed], "steps": [step(item) for item in path.steps]} for path in formula.paths
        ],
    }
    if formula.by is not None:
        asks["by"] = step(formula.by)
    if formula.attribute:
        asks["attribute"] = formula.attribute
    return asks


def type_name(index: StepIndex, step: RelationStep) -> str:
    names = index.graph.relations.types.names
    return names[step.type] if names else ""


def direction(index: StepIndex, step: RelationStep) -> str:
    return "both" if index.undirected[step.type] else "in" if step.backward else "out"


@lru_cache(KEPT)
def _numbers(details: str) -> dict[str, float]:
    try:
        row = json.loads(details or "{}")
    except (ValueError, RecursionError):
        return {}
    found = dict(row) if isinstance(row, dict) else {}
    attributes = found.get("attributes")
    found |= attributes if isinstance(attributes, dict) else {}
    return {
        name: float(value)
        for name, value in found.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    }


def relation_names(index: StepIndex, steps: Iterable[RelationStep]) -> tuple[str, ...]:
    """What the steps go along, each once: the type, of untyped relations the type with its word."""
    return tuple(
        dict.fromkeys(
            f"{type_name(index, step)}:{step.word}" if step.word else type_name(index, step) for step in steps
        )
    )
