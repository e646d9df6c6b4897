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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tiny_graph_rag.errors import DatasetError, at, nearest, wrong_value
from tiny_graph_rag.gold.examples import PATTERN, EvalSet, Example
from tiny_graph_rag.gold.formulas import OPERATIONS, Formula, Path, RelationStep, StepIndex
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.messages import Said, said

GRAMMAR = "(Name)-[:TYPE]->(?) or (Name)<-[:TYPE]-(?), several joined by AND, OR or AND NOT"
_NODE = r"\(\s*(?P<name>\"[^\"]*\"|`[^`]*`|[^()\"`]*?)\s*\)"
_FIRST = re.compile(rf"\s*{_NODE}\s*")
_STEP = re.compile(rf"(?P<back><)?-\[\s*:\s*(?P<type>`[^`]+`|[^\]\"`]+?)\s*\]-(?P<on>>)?\s*{_NODE}\s*")
_JOINED = re.compile(r"(?<=\))\s+(AND\s+NOT|AND|OR|NOT)\s+(?=\()", re.I)
_OPERATIONS = {"AND": "and", "OR": "or", "NOT": "not", "ANDNOT": "not"}


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
    index, names = StepIndex.of(graph), NameIndex.of(graph)
    problems: list[Said] = []
    made = [
        _computed(example, index, names, problems) if example.follows_graph else example
        for example in examples
    ]
    if problems:
        raise DatasetError(*problems)
    return replace(examples, examples=tuple(made))


def refreshed(graph: KnowledgeGraph, examples: EvalSet) -> tuple[EvalSet, list[Refreshed], list[Said]]:
    """Every pattern of the set computed on this graph; what changed; and what is wrong with patterns, whose
    questions stay as they are."""
    index, names = StepIndex.of(graph), NameIndex.of(graph)
    problems: list[Said] = []
    changes: list[Refreshed] = []
    made: list[Example] = []
    for example in examples:
        if PATTERN not in example.unknown:
            made.append(example)
            continue
        found = _computed(example, index, names, problems)
        before, after = set(example.reference_entities), set(found.reference_entities)
        if before != after or not example.reference_entities:
            added = tuple(name for name in found.reference_entities if name not in before)
            gone = tuple(name for name in example.reference_entities if name not in after)
            if added or gone:
                changes.append(Refreshed(example.id, added, gone))
        made.append(found if before != after else example)
    return replace(examples, examples=tuple(made)), changes, problems


def _computed(example: Example, index: StepIndex, names: NameIndex, problems: list[Said]) -> Example:
    try:
        formula = formula_of(example.unknown[PATTERN], index, names)
    except ValueError as error:
        problems.append(at(said("question {id}", id=example.id), error))
        return example
    found, entities = index.find(formula), index.graph.entities.names
    answers = sorted(found.answers.tolist(), key=index.graph.name_rank.__getitem__)
    seeds = tuple(str(entities[seed]) for seed in formula.seeds)
    return replace(
        example,
        reference_entities=tuple(dict.fromkeys(str(entities[row]) for row in answers)),
        irrelevant_entities=example.irrelevant_entities
        or tuple(str(entities[row]) for row in found.left_out.tolist()),
        seed_entities=example.seed_entities if example.seed_entities is not None else seeds,
        judged=True,
    )


def formula_of(asks: Any, index: StepIndex, names: NameIndex) -> Formula:
    """The formula that a pattern spells, as a line or as JSON. Raises ValueError in words."""
    if isinstance(asks, str):
        return _from_text(asks, index, names)
    if not isinstance(asks, Mapping) or not isinstance(asks.get("paths"), list) or not asks["paths"]:
        raise wrong_value("{key}: wanted a pattern such as {grammar}", key=repr(PATTERN), grammar=GRAMMAR)
    operation = asks.get("operation", "path")
    if operation not in OPERATIONS:
        raise wrong_value(
            "{key}: unknown operation {operation}; choices: {choices}",
            key=repr(PATTERN),
            operation=repr(operation),
            choices=", ".join(OPERATIONS),
        )
    try:
        paths = tuple(
            Path(
                _seed(str(path["seed"]), index, names),
                tuple(_step_of(step, index) for step in path["steps"]),
            )
            for path in asks["paths"]
        )
    except (KeyError, TypeError) as error:
        raise wrong_value("{key}: {error} is missing", key=repr(PATTERN), error=error) from None
    return Formula(operation, paths)


def _from_text(text: str, index: StepIndex, names: NameIndex) -> Formula:
    parts = _JOINED.split(text.strip())
    joins = {_OPERATIONS["".join(join.upper().split())] for join in parts[1::2]}
    if len(joins) > 1:
        raise wrong_value(
            "{key}: a pattern joins its paths by AND, by OR or by AND NOT, one of the three",
            key=repr(PATTERN),
        )
    paths = tuple(_path(part, index, names) for part in parts[::2])
    return Formula(joins.pop() if joins else "path", paths)


def _path(text: str, index: StepIndex, names: NameIndex) -> Path:
    first = _FIRST.match(text)
    wrong = said(
        "{key}: can't read {text}; wanted {grammar}", key=repr(PATTERN), text=repr(text[:60]), grammar=GRAMMAR
    )
    if first is None or not first["name"].strip('"` '):
        raise ValueError(wrong)
    steps, place, last = [], first.end(), ""
    while place < len(text):
        step = _STEP.match(text, place)
        if step is None or (step["back"] and step["on"]):
            raise ValueError(wrong)
        direction = "in" if step["back"] else "out" if step["on"] else "both"
        steps.append(_step(step["type"].strip("`"), direction, index))
        place, last = step.end(), step["name"]
    if not steps or last != "?":
        raise ValueError(wrong)
    return Path(_seed(first["name"].strip('"`'), index, names), tuple(steps))


def _seed(name: str, index: StepIndex, names: NameIndex) -> int:
    row = index.graph.row_of_id.get(name)
    if row is not None:
        return row
    found = names.resolve(name)[0]
    if len(found) == 1:
        return int(found[0])
    why = said(
        "{n} entities have the name {name}; give the id of one" if found else "no entity has the name {name}",
        n=len(found),
        name=repr(name),
    )
    raise wrong_value("{key}: {why}", key=repr(PATTERN), why=why)


def _step_of(asked: Any, index: StepIndex) -> RelationStep:
    """Raises KeyError or TypeError for what is no step."""
    return _step(str(asked["type"]), str(asked.get("direction", "out")), index)


def _step(type: str, direction: str, index: StepIndex) -> RelationStep:
    known = list(index.graph.relations.types.names)
    if type not in known:
        same = [name for name in known if name.casefold() == type.casefold()]
        if len(same) != 1:
            near = nearest(type, known) or said("; there are: {names}", names=", ".join(known[:8]))
            raise wrong_value(
                "{key}: no relation has the type {type}{near}", key=repr(PATTERN), type=repr(type), near=near
            )
        type = same[0]
    code = known.index(type)
    if index.undirected[code]:
        return RelationStep(2 * code)
    if direction not in ("in", "out"):
        raise wrong_value(
            "{key}: {type} has a direction; write -[:{type}]-> or <-[:{type}]-", key=repr(PATTERN), type=type
        )
    return RelationStep(2 * code + (direction == "in"))
