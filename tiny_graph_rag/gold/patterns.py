"""Gold that follows the graph: a question holds a pattern under `asks`, and the graph in use answers it.

A pattern is a line in the manner of Cypher:

    (Stoke Moran Manor)<-[:LIVES_AT]-(?)                            who lives at Stoke Moran Manor
    (Anna)-[:KNOWS]->()-[:OWNS]->(?)                                what those own whom Anna knows
    (Anna)-[:KNOWS]->(?) AND (Ben)-[:KNOWS]->(?)                    whom both Anna and Ben know

A path begins at a named entity (its name, an alias, or its id; in quotes where it holds a bracket) and ends
at (?). `-[:TYPE]->` goes along the relation, `<-[:TYPE]-` against it, `-[:TYPE]-` either way, as every arrow
does of a type that says nothing of a direction (RELATED_TO). AND joins paths. The seeds of all paths are
never answers.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tiny_graph_rag.errors import DatasetError, at, nearest, wrong_value
from tiny_graph_rag.gold.examples import PATTERN, EvalSet, Example
from tiny_graph_rag.gold.formulas import Formula, Path, RelationStep, StepIndex, seeds_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.messages import Said, said

GRAMMAR = said("(Name)-[:TYPE]->(?) or (Name)<-[:TYPE]-(?), several joined by AND")
_QUOTED = r"\"[^\"]+\"|`[^`]+`"
_TYPE = r"\[\s*:\s*(?:`[^`]+`|[^\]\"`]+?)\s*\]"
_ARROW = rf"\s*(?:<-{_TYPE}-|-{_TYPE}->?)\s*"
_PATH = re.compile(
    rf"\s*\(\s*(?P<name>{_QUOTED}|[^()\"`]+?)\s*\)(?P<steps>(?:{_ARROW}\(\s*\))*{_ARROW}\(\s*\?\s*\))\s*"
)
_STEP = re.compile(r"(?P<back><)?-\[\s*:\s*(?P<type>`[^`]+`|[^\]\"`]+?)\s*\]-(?P<on>>)?")
_JOINED = re.compile(r"(?<=\))\s+AND\s+(?=\()", re.I)


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
