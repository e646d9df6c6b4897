"""What a question asks of the graph: a pattern that the graph in use answers, so that gold follows it.

A question holds its pattern under `asks`, a line in the manner of Cypher:

    (Stoke Moran Manor)<-[:LIVES_AT]-(?)                            who lives at Stoke Moran Manor
    (Anna)-[:KNOWS]->()-[:OWNS]->(?)                                what those own whom Anna knows
    (Anna)-[:KNOWS]->(?) AND (Ben)-[:KNOWS]->(?)                    whom both Anna and Ben know

A path begins at a named entity (its name, an alias, or its id; in quotes where it holds a bracket) and ends
at (?). `-[:TYPE]->` goes along the relation, `<-[:TYPE]-` against it, `-[:TYPE]-` either way, as every arrow
does of a type that says nothing of a direction (RELATED_TO). AND joins paths.

A path is followed set by set:

    image of no step   = {seed}
    image of one more  = everything one such relation away from the image before, less the seed

A self-loop is no relation. The answers are what lies in the images of all paths, less the seeds of all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from tiny_graph_rag.errors import DatasetError, at, nearest, wrong_value
from tiny_graph_rag.gold.examples import PATTERN, EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.messages import Said, said

# Types that only say that two things have to do with each other, folded.
_SAYS_NOTHING = re.compile("(?:relate[sd](?:to)?|relation(?:ship)?|rel|edge|links?|linkedto)?")
LOOKED_AT = 200  # ends of a relation type that tell what it leads to

GRAMMAR = said("(Name)-[:TYPE]->(?) or (Name)<-[:TYPE]-(?), several joined by AND")
_QUOTED = r"\"[^\"]+\"|`[^`]+`"
_TYPE = r"\[\s*:\s*(?:`[^`]+`|[^\]\"`]+?)\s*\]"
_ARROW = rf"\s*(?:<-{_TYPE}-|-{_TYPE}->?)\s*"
_PATH = re.compile(
    rf"\s*\(\s*(?P<name>{_QUOTED}|[^()\"`]+?)\s*\)(?P<steps>(?:{_ARROW}\(\s*\))*{_ARROW}\(\s*\?\s*\))\s*"
)
_STEP = re.compile(r"(?P<back><)?-\[\s*:\s*(?P<type>`[^`]+`|[^\]\"`]+?)\s*\]-(?P<on>>)?")
_JOINED = re.compile(r"(?<=\))\s+AND\s+(?=\()", re.I)

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
        for direction in ("out", "in", "both") if step.direction == "both" else (step.direction,):
            yield from self.around(entity).get(RelationStep(step.type, direction), {}).items()

    def ends_of(self, step: RelationStep) -> set[int]:
        """What the first relations of the step's type lead to."""
        relations = self.graph.relations
        ends = relations.sources if step.direction == "in" else relations.targets
        return set(ends[relations.types.codes == step.type][:LOOKED_AT].tolist())

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
    return _SAYS_NOTHING.fullmatch(re.sub(r"[\W_]", "", type_name).casefold()) is not None


def with_patterns(graph: KnowledgeGraph | None, examples: EvalSet, *, refresh: bool = False) -> EvalSet:
    """The set, references of questions that hold a pattern and no names computed on this graph.

    refresh: also those of questions that hold both. Raises DatasetError for a pattern that can't be read, or
    names what the graph lacks, and where there is no graph to compute it on.
    """
    following = [row for row in examples if row.follows_graph or (refresh and PATTERN in row.unknown)]
    if not following:
        return examples
    if graph is None:
        raise DatasetError(
            "{name}: question {id} has a pattern, which needs a graph; add -g",
            name=examples.name,
            id=following[0].id,
        )
    index, names, entities = StepIndex.of(graph), NameIndex.of(graph), graph.entities.names
    problems: list[Said] = []
    made: dict[str, Example] = {}
    for example in following:
        try:
            formula = formula_of(example.unknown[PATTERN], index, names)
        except ValueError as error:
            problems.append(at(said("question {id}", id=example.id), error))
            continue
        rows = sorted(index.find(formula)[0], key=graph.name_rank.__getitem__)
        answers = tuple(entities[row] for row in rows)
        if example.follows_graph or set(answers) != set(example.reference_entities):
            seeds = example.seed_entities
            seeds = tuple(entities[row] for row in seeds_of(formula)) if seeds is None else seeds
            made[example.id] = replace(example, reference_entities=answers, seed_entities=seeds, judged=True)
    if problems:
        raise DatasetError(*problems)
    return replace(examples, examples=tuple(made.get(example.id, example) for example in examples))


def pattern_of(formula: Formula, index: StepIndex) -> str:
    """The line that spells a formula."""
    lines, entities, types = [], index.graph.entities, index.graph.relations.types.names
    for path in formula:
        name = entities.names[path.seed]
        if index.graph.row_of_id.get(name, path.seed) != path.seed:
            name = entities.ids[path.seed]
        quote = "`" if '"' in name else '"' if set("()`") & set(name) else ""
        line = f"({quote}{name}{quote})"
        for place, step in enumerate(path.steps, 1):
            back, on = "<" * (step.direction == "in"), ">" * (step.direction == "out")
            line += f"{back}-[:{types[step.type]}]-{on}({'?' if place == len(path.steps) else ''})"
        lines.append(line)
    return " AND ".join(lines)


def formula_of(text: object, index: StepIndex, names: NameIndex) -> Formula:
    """The formula that a pattern spells. Raises ValueError in words."""
    parts = _JOINED.split(text.strip()) if isinstance(text, str) else [repr(text)]
    return tuple(_path(part, index, names) for part in parts)


def _path(text: str, index: StepIndex, names: NameIndex) -> Path:
    path = _PATH.fullmatch(text)
    if path is None:
        raise wrong_value(
            "{key}: can't read {text}; wanted {grammar}",
            key=repr(PATTERN),
            text=repr(text[:60]),
            grammar=GRAMMAR,
        )
    steps = tuple(_step(step, index) for step in _STEP.finditer(path["steps"]))
    return Path(_seed(path["name"].strip('"`'), index, names), steps)


def _seed(name: str, index: StepIndex, names: NameIndex) -> int:
    row = index.graph.row_of_id.get(name)
    found = names.resolve(name)[0] if row is None else (row,)
    if len(found) == 1:
        return int(found[0])
    why = said(
        "{n} entities have the name {name}; give the id of one" if found else "no entity has the name {name}",
        n=len(found),
        name=repr(name),
    )
    raise wrong_value("{key}: {why}", key=repr(PATTERN), why=why)


def _step(step: re.Match[str], index: StepIndex) -> RelationStep:
    known, type = list(index.graph.relations.types.names), step["type"].strip("`")
    same = [type] if type in known else [name for name in known if name.casefold() == type.casefold()]
    if len(same) != 1:
        near = nearest(type, known) or said("; there are: {names}", names=", ".join(known[:8]))
        raise wrong_value(
            "{key}: no relation has the type {type}{near}", key=repr(PATTERN), type=repr(type), near=near
        )
    code = known.index(same[0])
    if code in index.undirected or not (step["back"] or step["on"]):
        return RelationStep(code, "both")
    return RelationStep(code, "in" if step["back"] else "out")
