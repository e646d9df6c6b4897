"""Does a gold set fit its graph, and does it measure what it means to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain, product
from typing import Literal

import numpy as np
from msgspec import Struct

from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.resolve import Judgments, Reference, resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.nearest import Near, NearestNames, joined_names
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.language.function_words import stands_in
from tiny_graph_rag.messages import Said, listed, said

COMPARED_LETTERS = 400  # time grows with their square, of one letter repeated with their cube
ALIKE = 0.9  # likeness of two questions' words from which they are near-duplicates
LISTED = 5  # questions named in a finding about many
NEIGHBOURS = 3  # questions compared to each side in alphabetical order: near-duplicates stand close

Severity = Literal["error", "warning"]


class Finding(Struct, frozen=True):
    """kind: such as "not in graph". said: what is wrong and what to do. id: of the question, "" for one about
    many."""

    severity: Severity
    kind: str
    line: int
    id: str
    said: Said

    @classmethod
    def about(cls, example: Example, severity: Severity, kind: str, text: str, /, **values: str) -> Finding:
        return cls(severity, kind, example.line, example.id, Said(text, values))

    @property
    def message(self) -> Said:
        """Where (line, id), and what."""
        place = said("line {line} ({id}): {text}", line=self.line, id=self.id, text=self.said)
        return place if self.id else self.said


# What findings say, by their kind.
NOT_IN_GRAPH = "reference {name}: no entity has this name; nearest: {nearest}"
JOINED = (
    "reference {name}: no entity has this name, but its parts are entities; put ';' between names in a "
    "table, or list them one by one in JSON"
)
BY_ID = "reference {name}: no entity has this name, but it is the id of {entity}; write the name"
LIKE_NOTHING = "reference {name}: no entity has this name or a similar one"
AMBIGUOUS = "reference {name}: ambiguous name, {n} entities have it: {bearers}"
BY_ALIAS = "reference {name}: matches {entity} only by an alias"
BY_FORM = "reference {name}: matches {entity} only as another form of its name"
BY_FOLDED = "reference {name}: matches {entity} only if case, spaces and punctuation are ignored"
BY_LEVEL = {"alias": BY_ALIAS, "folded": BY_FOLDED, "form": BY_FORM}
SAME_ENTITY = "{names}: the same entity, counted once"
OTHER_NAME = "{field}: no entity has the name {name}"
NO_PASSAGE = "reference passage {name}: the graph has no passage with this id"
NO_END = "reference_relations: {relation}: no entity has the name {names}"
NO_RELATION = "reference_relations: {relation}: the graph has no such relation"
SAME_QUESTION = "the same question as line {line} ({id})"
OTHER_REFERENCES = "the same question with other references as line {line} ({id})"
NEAR_DUPLICATE = "nearly the question of line {line} ({id}), with the same references"
SINGLE_TAG = "no other question has the tag or type {tag}"
NAMES_ALL = (
    "{n} of {all} questions ({share}) name all their references, so they test linking, not retrieval: {ids}"
)
IDS = ("id", "query_id", "question_id", "qid", "_id", "eval_id", "ID")
OVERLAP = "{names}: relevant and irrelevant at once; keep one of the two"
NO_ID = "{n} of {all} questions have no id and are named by their line; add ids to keep results comparable"
SAME_ID = "the id is used {n} times; the later ones were renamed"
NO_ANSWER = "no answer, evidence or references: nothing can be scored"


class Validation(Struct, frozen=True):
    """ceiling: mean share of references that the graph has, NaN without gold: no retrieval recalls more.
    All counts are of passages where a gold set names them by id and no entities.

    references: as written; of them missing: resolve to nothing; by_alias: by an alias only; by_form: by
    another form of the name only; ambiguous: names of more than one; shared: mean the entity of another of
    the question. names_all: questions that name all of their references. missing_names: different missing
    names → the nearest in the graph.
    """

    findings: tuple[Finding, ...]
    questions: int
    without_gold: int
    references: int
    missing: int
    by_alias: int
    by_form: int
    ambiguous: int
    shared: int
    names_all: int
    ceiling: float
    missing_names: dict[str, tuple[Near, ...]]
    judgments: Judgments

    def count(self, severity: Severity) -> int:
        return sum(finding.severity == severity for finding in self.findings)


def validate_alone(examples: EvalSet) -> tuple[Finding, ...]:
    """What can be checked without a graph: fields, duplicates, tags."""
    return _in_order([*check_fields(examples), *check_duplicates(examples), *check_tags(examples)])


def _in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.severity, finding.line)))


def validate(graph: KnowledgeGraph, examples: EvalSet, names: NameIndex) -> Validation:
    """Everything that can be measured from the gold set and the graph without linking or retrieving."""
    judgments = resolve(examples, names, len(graph))
    rows, relevant = judgments.references, judgments.relevant
    flat = [reference for row in rows for reference in row]
    levels = Counter(reference.resolved_by for reference in flat)
    missing_names = dict.fromkeys(reference.name for reference in flat if not reference.entities)
    nearest = NearestNames(graph).of_all(missing_names) if missing_names else {}
    names_all = [
        bool(row) and all(is_named(example.query, reference, graph) for reference in row)
        for example, row in zip(examples, rows, strict=True)
    ]
    lost_passages = list(check_passages(examples, graph))
    findings = [
        *check_references(examples, rows, graph, nearest),
        *check_other_names(examples, names),
        *check_relationships(examples, graph, names),
        *lost_passages,
        *check_naming(examples, names_all),
        *validate_alone(examples),
    ]
    found = np.array([len({reference.item for reference in row if reference.entities}) for row in rows])
    references, missing = len(flat), levels[None]
    if are_passages(examples):
        relevant = np.array([len(set(example.reference_chunks)) for example in examples])
        lost = Counter(finding.id for finding in lost_passages)
        found = relevant - [lost[example.id] for example in examples]
        references, missing = int(relevant.sum()), len(lost_passages)
    scored = relevant > 0
    return Validation(
        findings=_in_order(findings),
        questions=len(examples),
        without_gold=int((~scored).sum()),
        references=references,
        missing=missing,
        by_alias=levels["alias"],
        by_form=levels["form"],
        ambiguous=sum(len(reference.entities) > 1 for reference in flat),
        shared=sum(reference.shares_entity for reference in flat),
        names_all=sum(names_all),
        ceiling=float((found[scored] / relevant[scored]).mean()) if scored.any() else math.nan,
        missing_names=nearest,
        judgments=judgments,
    )


# Each check yields what it finds, in file order.


def check_fields(examples: Sequence[Example]) -> Iterator[Finding]:
    """Every finding of one question, in file order; then the one about many."""
    counts = Counter(_given_id(example) for example in examples)
    severity: Severity = "warning" if any(map(_can_be_judged, examples)) else "error"
    for example in examples:
        relevant, irrelevant = example.relevant_entities, dict.fromkeys(example.irrelevant_entities)
        if both := [name for name in irrelevant if name in relevant]:
            names = listed(list(map(repr, both)), LISTED)
            yield Finding.about(example, "error", "relevant and irrelevant", OVERLAP, names=names)
        given = _given_id(example)
        if given is not None and given != example.id and counts[given] > 1:
            yield Finding.about(example, "error", "duplicate id", SAME_ID, n=str(counts[given]))
        if not _can_be_judged(example):
            yield Finding.about(example, severity, "nothing to judge", NO_ANSWER)
    without = [example for example in examples if example.id == f"line-{example.line}"]
    is_odd = len(without) < len(examples) or not any(example.judged for example in examples)
    if without and is_odd:
        values = {"n": f"{len(without):,}", "all": f"{len(examples):,}"}
        yield Finding("warning", "no id", without[0].line, "", Said(NO_ID, values))


def _can_be_judged(example: Example) -> bool:
    return example.judged or bool(example.ground_truth or example.reference_texts or example.reference_chunks)


def _given_id(example: Example) -> str | None:
    row = example.record if isinstance(example.record, dict) else example.unknown
    return next((str(row[key]) for key in IDS if row.get(key) not in (None, "")), None)


def check_references(
    examples: Sequence[Example],
    rows: Sequence[tuple[Reference, ...]],
    graph: KnowledgeGraph,
    nearest: dict[str, tuple[Near, ...]],
) -> Iterator[Finding]:
    """References that resolve to nothing, and those that resolve, but not as one would think."""
    ids, known = graph.entities.ids, graph.entities.names
    for example, row in zip(examples, rows, strict=True):
        for reference in row:
            level, values = reference.resolved_by, {"name": repr(reference.name)}
            if not reference.entities:
                near = nearest[reference.name]
                joined = joined_names(reference.name, [one.name for one in near])
                text = JOINED if joined else NOT_IN_GRAPH if near else LIKE_NOTHING
                if near and ids[near[0].entity] == reference.name:
                    text, values["entity"] = BY_ID, repr(near[0].name)
                elif text is NOT_IN_GRAPH:
                    values["nearest"] = ", ".join(f"{one.name} ({one.likeness:.2f})" for one in near)
                yield Finding.about(example, "error", "not in graph", text, **values)
            elif len(reference.entities) > 1:
                values["n"] = str(len(reference.entities))
                values["bearers"] = ", ".join(ids[entity] for entity in reference.entities)
                yield Finding.about(example, "warning", "ambiguous", AMBIGUOUS, **values)
            elif level in BY_LEVEL:
                values["entity"] = repr(known[reference.entities[0]])
                yield Finding.about(example, "warning", f"by {level}", BY_LEVEL[level], **values)
        for item, count in Counter(reference.item for reference in row if reference.entities).items():
            if count > 1:
                same = ", ".join(repr(reference.name) for reference in row if reference.item == item)
                yield Finding.about(example, "warning", "same entity", SAME_ENTITY, names=same)


def check_other_names(examples: Sequence[Example], names: NameIndex) -> Iterator[Finding]:
    for example in examples:
        for name in ("seed_entities", "irrelevant_entities"):
            for item in getattr(example, name) or ():
                if not names.resolve(item)[0]:
                    yield Finding.about(example, "warning", name, OTHER_NAME, field=name, name=repr(item))


def check_relationships(
    examples: Sequence[Example], graph: KnowledgeGraph, names: NameIndex
) -> Iterator[Finding]:
    wanted = [(example, one) for example in examples for one in example.reference_relations if one.target]
    if not wanted:
        return
    relations = graph.relations
    known = set(zip(relations.sources.tolist(), relations.targets.tolist(), relations.types, strict=True))
    ends = {(source, target) for source, target, _ in known}
    for example, entry in wanted:
        relation = f"{entry.source} —{entry.type}→ {entry.target}"
        sources, targets = names.resolve(entry.source)[0], names.resolve(entry.target)[0]
        pairs = product(sources, targets)
        if any((*pair, entry.type) in known if entry.type else pair in ends for pair in pairs):
            continue
        lacking = [name for name, found in ((entry.source, sources), (entry.target, targets)) if not found]
        values = {"relation": relation, **({"names": ", ".join(map(repr, lacking))} if lacking else {})}
        text = NO_END if lacking else NO_RELATION
        yield Finding.about(example, "warning", "reference_relations", text, **values)


def are_passages(examples: Sequence[Example]) -> bool:
    """Whether a gold set names passages by id, and no entities."""
    return any(example.reference_chunks for example in examples) and not any(
        example.relevant_entities for example in examples
    )


def check_passages(examples: Sequence[Example], graph: KnowledgeGraph) -> Iterator[Finding]:
    """Passages that no entity was read from, each once a question; of a graph that names its passages, or a
    collection whose entries are passages."""
    named = set(chain.from_iterable(graph.entities.source_chunks))
    is_all = are_passages(examples)  # else another program may have the passages
    if not named and is_all:
        named = set(graph.entities.ids)
    severity: Severity = "error" if is_all else "warning"
    for example in examples if named else ():
        for chunk in dict.fromkeys(example.reference_chunks):
            if chunk not in named:
                yield Finding.about(example, severity, "not in graph", NO_PASSAGE, name=repr(chunk))


def check_duplicates(examples: Sequence[Example]) -> Iterator[Finding]:
    first: dict[tuple[str, tuple[str, ...]], Example] = {}
    same_references: dict[frozenset[str], list[tuple[str, Example]]] = {}
    for example in examples:
        folded = fold(example.query)
        earlier = first.setdefault((folded, example.context), example)
        references = frozenset(map(fold, example.reference_entities))
        if earlier is not example:
            other = references != frozenset(map(fold, earlier.reference_entities))
            yield _twice(example, earlier, "duplicate", OTHER_REFERENCES if other else SAME_QUESTION)
        elif references:
            same_references.setdefault(references, []).append((folded, example))
    for group in same_references.values():
        group.sort(key=lambda pair: (pair[0], pair[1].line))
        for place, (text, example) in enumerate(group):
            for before, earlier in group[max(0, place - NEIGHBOURS) : place]:
                if example.group is not None and example.group == earlier.group:
                    continue  # variants of one question are meant to be similar
                if are_alike(before, text):
                    yield _twice(example, earlier, "near-duplicate", NEAR_DUPLICATE)
                    break


def _twice(example: Example, earlier: Example, kind: str, text: str) -> Finding:
    return Finding.about(example, "warning", kind, text, line=str(earlier.line), id=earlier.id)


def are_alike(one: str, other: str) -> bool:
    """Whether two questions, folded, are nearly the same words; of a text pasted in, by how it begins."""
    one, other = one[:COMPARED_LETTERS], other[:COMPARED_LETTERS]
    if one == other:
        return True
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE <= matcher.ratio()


def check_tags(examples: Sequence[Example]) -> Iterator[Finding]:
    """Tags and expected types that one question alone has, which may be misspelt."""
    rows = [dict.fromkeys([*example.tags, *example.expected_types]) for example in examples]
    counts = Counter(chain.from_iterable(rows))
    for example, row in zip(examples, rows, strict=True):
        for tag in row:
            if counts[tag] == 1:
                yield Finding.about(example, "warning", "single tag", SINGLE_TAG, tag=repr(tag))


def check_naming(examples: Sequence[Example], names_all: Sequence[bool]) -> Iterator[Finding]:
    """One finding for all of them: which questions, and their share."""
    named = [example for example, missing in zip(examples, names_all, strict=True) if missing]
    if named:
        ids = listed([example.id for example in named], LISTED)
        share = f"{len(named) / len(examples):.0%}"
        values = {"n": f"{len(named):,}", "all": f"{len(examples):,}", "share": share, "ids": ids}
        yield Finding("warning", "names its references", named[0].line, "", Said(NAMES_ALL, values))


def is_named(query: str, reference: Reference, graph: KnowledgeGraph) -> bool:
    """Whether the question says the reference's name or another spelling of its entity."""
    spellings = [reference.name]
    for entity in reference.entities:
        spellings += [graph.entities.names[entity], *graph.entities.aliases[entity]]
    return any(stands_in(spelling, query) for spelling in spellings)
