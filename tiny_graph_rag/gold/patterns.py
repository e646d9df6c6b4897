"""Gold that follows the graph: a question holds a pattern under `asks`, and the graph in use answers it.

A pattern is what generated questions hold (gold/formulas.py), or a line in the manner of Cypher:

    (Stoke Moran Manor)<-[:LIVES_AT]-(?)                            who lives at Stoke Moran Manor
    (Anna)-[:KNOWS]->()-[:OWNS]->(?)                                what those own whom Anna knows
    (Anna)-[:KNOWS]->(?) AND NOT (Ben)-[:KNOWS]->(?)                 whom Anna knows and Ben does not

A path begins at a named entity (its name, an alias, or its id; in quotes where it holds a bracket) and ends
at (?). `-[:TYPE]->` goes along the relation, `<-[:TYPE]-` against it, `-[:TYPE]-` is for types that say
nothing of a direction (RELATED_TO). Paths are joined by AND, by OR, or by AND NOT, one kind a pattern. The
seeds of all paths are never answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import msgspec

from tiny_graph_rag.errors import DatasetError, at, nearest, wrong_value
from tiny_graph_rag.gold.examples import PATTERN, EvalSet, Example
from tiny_graph_rag.gold.formulas import Formula, Path, RelationStep, StepIndex
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.messages import Said, said

GRAMMAR = "(Name)-[:TYPE]->(?) or (Name)<-[:TYPE]-(?), several joined by AND, OR or AND NOT"
_NODE = r"\(\s*(?P<name>\"[^\"]*\"|`[^`]*`|[^()\"`]*?)\s*\)"
_FIRST = re.compile(rf"\s*{_NODE}\s*")
_STEP = re.compile(rf"(?P<back><)?-\[\s*:\s*(?P<type>`[^`]+`|[^\]\"`]+?)\s*\]-(?P<on>>)?\s*{_NODE}\s*")
_JOINED = re.compile(r"(?<=\))\s+(AND\s+NOT|AND|OR|NOT)\s+(?=\()", re.I)
Operation = Literal["path", "and", "or", "not"]
_OPERATIONS: dict[str, Operation] = {"AND": "and", "OR": "or", "NOT": "not", "ANDNOT": "not"}


class Step(msgspec.Struct, frozen=True):
    type: str
    direction: Literal["in", "out", "both"] = "out"


class PatternPath(msgspec.Struct, frozen=True):
    seed: str
    steps: list[Step]


class Pattern(msgspec.Struct, frozen=True):
    """A formula with ids or names of entities and names of relation types."""

    operation: Operation = "path"
    paths: Annotated[list[PatternPath], msgspec.Meta(min_length=1)] = []


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a pattern means now. added, removed: names, against what the file says."""

    id: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


def with_patterns(graph: KnowledgeGraph | None, examples: EvalSet) -> EvalSet:
    """The set, references of questions that hold a pattern and no names computed on this graph.

    Raises DatasetError for a pattern that can't be read, or names what the graph lacks, and where there is no
    graph to compute it on.
    """
    following = [example for example in examples if example.follows_graph]
    if not following:
        return examples
    if graph is None:
        raise DatasetError(
            "{name}: question {id} has a pattern, which needs a graph; add -g",
            name=examples.name,
            id=following[0].id,
        )
    computed, problems = _computed(graph, examples, following)
    if problems:
        raise DatasetError(*problems)
    return computed


def refreshed(graph: KnowledgeGraph, examples: EvalSet) -> tuple[EvalSet, list[Refreshed], list[Said]]:
    """Every pattern of the set computed on this graph; what changed; and what is wrong with patterns, whose
    questions stay as they are."""
    following = [example for example in examples if PATTERN in example.unknown]
    computed, problems = _computed(graph, examples, following)
    changes = []
    for before, after in zip(examples, computed, strict=True):
        names, others = before.reference_entities, after.reference_entities
        added = tuple(name for name in others if name not in names)
        removed = tuple(name for name in names if name not in others)
        if added or removed:
            changes.append(Refreshed(before.id, added, removed))
    return computed, changes, problems


def _computed(
    graph: KnowledgeGraph, examples: EvalSet, following: Sequence[Example]
) -> tuple[EvalSet, list[Said]]:
    """The set with the references of these questions computed, and what is wrong with patterns."""
    index, names, entities = StepIndex.of(graph), NameIndex.of(graph), graph.entities.names
    problems: list[Said] = []
    made: dict[str, Example] = {}
    for example in following:
        try:
            formula = formula_of(example.unknown[PATTERN], index, names)
        except ValueError as error:
            problems.append(at(said("question {id}", id=example.id), error))
            continue
        rows = sorted(index.find(formula).answers.tolist(), key=graph.name_rank.__getitem__)
        answers, seeds = (
            tuple(entities[row] for row in entity_rows) for entity_rows in (rows, formula.seeds)
        )
        if example.follows_graph or set(answers) != set(example.reference_entities):
            given = seeds if example.seed_entities is None else example.seed_entities
            answered = replace(example, reference_entities=answers, seed_entities=given, judged=True)
            made[example.id] = answered
    return replace(examples, examples=tuple(made.get(example.id, example) for example in examples)), problems


def asks_of(formula: Formula, index: StepIndex) -> dict[str, Any]:
    """The field `asks` of a generated question. Entities are given by id, relation types by name."""
    ids = index.graph.entities.ids

    def step(taken: RelationStep) -> Step:
        return Step(index.type_name(taken), "in" if taken.backward else "out")

    paths = [PatternPath(ids[path.seed], [step(taken) for taken in path.steps]) for path in formula.paths]
    asks: dict[str, Any] = msgspec.to_builtins(Pattern(formula.operation, paths))
    return asks


def formula_of(asks: Any, index: StepIndex, names: NameIndex) -> Formula:
    """The formula that a pattern spells, as a line or as JSON. Raises ValueError in words."""
    if isinstance(asks, str):
        pattern = _read(asks)
    else:
        try:
            pattern = msgspec.convert(asks, Pattern)
        except msgspec.ValidationError as error:
            raise wrong_value(
                "{key}: {error}; wanted a pattern such as {grammar}",
                key=repr(PATTERN),
                error=error,
                grammar=GRAMMAR,
            ) from None
    paths = [
        Path(_seed(path.seed, index, names), tuple(_step(step, index) for step in path.steps))
        for path in pattern.paths
    ]
    return Formula(tuple(paths), pattern.operation)


def _read(text: str) -> Pattern:
    parts = _JOINED.split(text.strip())
    joins: set[Operation] = {_OPERATIONS["".join(join.upper().split())] for join in parts[1::2]}
    if len(joins) > 1:
        raise wrong_value(
            "{key}: a pattern joins its paths by AND, by OR or by AND NOT, one of the three",
            key=repr(PATTERN),
        )
    return Pattern(joins.pop() if joins else "path", [_read_path(part) for part in parts[::2]])


def _read_path(text: str) -> PatternPath:
    wrong = said(
        "{key}: can't read {text}; wanted {grammar}", key=repr(PATTERN), text=repr(text[:60]), grammar=GRAMMAR
    )
    first = _FIRST.match(text)
    if first is None or not first["name"].strip('"` '):
        raise ValueError(wrong)
    steps: list[Step] = []
    place, last = first.end(), ""
    while place < len(text):
        step = _STEP.match(text, place)
        if step is None or (step["back"] and step["on"]):
            raise ValueError(wrong)
        steps.append(Step(step["type"].strip("`"), "in" if step["back"] else "out" if step["on"] else "both"))
        place, last = step.end(), step["name"]
    if not steps or last != "?":
        raise ValueError(wrong)
    return PatternPath(first["name"].strip('"`'), steps)


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


def _step(step: Step, index: StepIndex) -> RelationStep:
    known, type = list(index.graph.relations.types.names), step.type
    same = [name for name in known if name == type] or [
        name for name in known if name.casefold() == type.casefold()
    ]
    if len(same) != 1:
        near = nearest(type, known) or said("; there are: {names}", names=", ".join(known[:8]))
        raise wrong_value(
            "{key}: no relation has the type {type}{near}", key=repr(PATTERN), type=repr(type), near=near
        )
    code = known.index(same[0])
    if index.undirected[code]:
        return RelationStep(2 * code)
    if step.direction == "both":
        raise wrong_value(
            "{key}: {type} has a direction; write -[:{type}]-> or <-[:{type}]-", key=repr(PATTERN), type=type
        )
    return RelationStep(2 * code + (step.direction == "in"))
