"""The single checks that `validate` runs over a gold set: each yields what it finds, in file order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import product
from typing import Any, Literal

from tiny_graph_rag.gold.examples import GRADED, Example
from tiny_graph_rag.gold.resolve import Reference
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.nearest import Near, joined_names
from tiny_graph_rag.language.folding import fold, nfc
from tiny_graph_rag.messages import listed, t

COMPARED_LETTERS = 400  # time grows with their square, of one letter repeated with their cube
ALIKE = 0.9  # likeness of two questions' words from which they are near-duplicates
LISTED = 5  # questions named in a finding about many
NEIGHBOURS = 3  # questions compared to each side in alphabetical order: near-duplicates stand close

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """kind: such as "not in graph". said: what is wrong, with names of `values` in braces. id: of the
    question, "" for a finding about many."""

    severity: Severity
    kind: str
    line: int
    id: str
    said: str
    values: dict[str, str] = field(default_factory=dict)

    @classmethod
    def about(cls, example: Example, severity: Severity, kind: str, text: str, /, **values: str) -> Finding:
        return cls(severity, kind, example.line, example.id, text, values)

    @property
    def message(self) -> str:
        """In English: where (line, id), what, and what to do."""
        place = f"line {self.line} ({self.id}): " if self.id else ""
        return place + self.said.format(**self.values)

    @property
    def shown(self) -> str:
        """The same in the language spoken."""
        place = t("line {line} ({id}): ", line=self.line, id=self.id) if self.id else ""
        return place + t(self.said, **self.values)


# What findings say, by their kind.
NOT_IN_GRAPH = "reference {name}: no entity has this name; nearest: {nearest}"
JOINED = (
    "reference {name}: no entity has this name, but its parts are entities; put ';' between names in a "
    "table, or list them one by one in JSON"
)
LIKE_NOTHING = "reference {name}: no entity has this name or a similar one"
AMBIGUOUS = "reference {name}: ambiguous name, {n} entities have it: {bearers}"
BY_ALIAS = "reference {name}: matches {entity} only by an alias"
BY_FORM = "reference {name}: matches {entity} only as another form of its name"
BY_FOLDED = "reference {name}: matches {entity} only if case, spaces and punctuation are ignored"
BY_LEVEL = {"alias": BY_ALIAS, "folded": BY_FOLDED, "form": BY_FORM}
SAME_ENTITY = "{names}: the same entity, counted once"
OTHER_NAME = "{field}: no entity has the name {name}"
NO_END = "reference_relationships: {relation}: no entity has the name {names}"
NO_RELATION = "reference_relationships: {relation}: the graph has no such relation"
SAME_QUESTION = "the same question as line {line} ({id})"
OTHER_REFERENCES = "the same question with other references as line {line} ({id})"
NEAR_DUPLICATE = "nearly the question of line {line} ({id}), with the same references"
SINGLE_TAG = "no other question has the tag {tag}"
NAMES_ALL = (
    "{n} of {all} questions ({share}) name all their references, so they test linking, not retrieval: {ids}"
)
IDS = ("id", "query_id", "question_id", "qid", "_id", "eval_id", "ID")
NO_REFERENCE = "{field} is empty: nothing should be retrieved for this question"
HIGHLY_OUTSIDE = "{names}: highly relevant but not among the relevant ones; add them to 'relevant_chunk_ids'"
OVERLAP = "{names}: relevant and irrelevant at once; keep one of the two"
NO_ID = "{n} of {all} questions have no id and are named by their line; add ids to keep results comparable"
SAME_ID = "the id is used {n} times; the later ones were renamed"
NO_ANSWER = "no answer, evidence or references: nothing can be scored"


def check_fields(examples: Sequence[Example]) -> Iterator[Finding]:
    """Every finding of one question, in file order; then the one about many."""
    counts = Counter(_given_id(example) for example in examples)
    for example in examples:
        relevant, irrelevant = example.relevant_entities, example.irrelevant_entities
        if example.judges_chunks:
            row = _row(example)
            relevant, irrelevant = _chunks(row, "relevant"), _chunks(row, "irrelevant")
            yield from _rag(example, row, relevant)
            relevant += _chunks(row, "highly_relevant")
        if both := [name for name in dict.fromkeys(irrelevant) if name in relevant]:
            yield Finding.about(example, "error", "relevant and irrelevant", OVERLAP, names=_names(both))
        given = _given_id(example)
        if given is not None and given != example.id and counts[given] > 1:
            yield Finding.about(example, "error", "duplicate id", SAME_ID, n=str(counts[given]))
        if not (
            example.judged or example.ground_truth or example.reference_texts or example.reference_chunks
        ):
            yield Finding.about(example, "warning", "nothing to judge", NO_ANSWER)
    without = [example for example in examples if example.id == f"line-{example.line}"]
    is_odd = len(without) < len(examples) or not any(example.judged for example in examples)
    if without and is_odd:
        values = {"n": f"{len(without):,}", "all": f"{len(examples):,}"}
        yield Finding("warning", "no id", without[0].line, "", NO_ID, values)


def _row(example: Example) -> Mapping[str, Any]:
    source = example.source
    is_record = source is not None and source.format not in GRADED and isinstance(source.row, dict)
    return source.row if source is not None and is_record else example.unknown


def _given_id(example: Example) -> str | None:
    row = _row(example)
    return next((str(row[key]) for key in IDS if row.get(key) not in (None, "")), None)


def _chunks(row: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    return tuple(map(str, row.get(f"{kind}_chunk_ids") or ()))


def _rag(example: Example, row: Mapping[str, Any], relevant: Sequence[str]) -> Iterator[Finding]:
    if outside := [id for id in _chunks(row, "highly_relevant") if id not in relevant]:
        names = _names(outside)
        yield Finding.about(example, "error", "highly relevant outside", HIGHLY_OUTSIDE, names=names)
    if "relevant_chunk_ids" in row and not relevant:
        yield Finding.about(example, "warning", "no reference", NO_REFERENCE, field="'relevant_chunk_ids'")


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:LISTED])) + (", …" if len(names) > LISTED else "")


def check_missing(
    examples: Sequence[Example], rows: Sequence[tuple[Reference, ...]], nearest: dict[str, tuple[Near, ...]]
) -> Iterator[Finding]:
    for example, row in zip(examples, rows, strict=True):
        for item in row:
            if not item.entities:
                near = ", ".join(f"{one.name} ({one.likeness:.2f})" for one in nearest[item.name])
                joined = joined_names(item.name, [one.name for one in nearest[item.name]])
                text = JOINED if joined else NOT_IN_GRAPH if near else LIKE_NOTHING
                values = {"name": repr(item.name), **({"nearest": near} if text is NOT_IN_GRAPH else {})}
                yield Finding.about(example, "error", "not in graph", text, **values)


def check_doubtful(
    examples: Sequence[Example], rows: Sequence[tuple[Reference, ...]], graph: KnowledgeGraph
) -> Iterator[Finding]:
    """References that resolve, but not as one would think."""
    ids, known = graph.entities.ids, graph.entities.names
    for example, row in zip(examples, rows, strict=True):
        for reference in row:
            name, level = repr(reference.name), reference.resolved_by
            values = {"name": name}
            if reference.is_ambiguous:
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
        for name, entities in (
            ("seed_entities", example.seed_entities or ()),
            ("irrelevant_entities", example.irrelevant_entities),
        ):
            for item in entities:
                if not names.resolve(item)[0]:
                    yield Finding.about(example, "warning", name, OTHER_NAME, field=name, name=repr(item))


def check_relationships(
    examples: Sequence[Example], graph: KnowledgeGraph, names: NameIndex
) -> Iterator[Finding]:
    wanted = [(example, relation) for example in examples for relation in example.reference_relationships]
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
        yield Finding.about(example, "warning", "reference_relationships", text, **values)


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
    counts = Counter(tag for example in examples for tag in dict.fromkeys(example.tags))
    for example in examples:
        for tag in dict.fromkeys(example.tags):
            if counts[tag] == 1:
                yield Finding.about(example, "warning", "single tag", SINGLE_TAG, tag=repr(tag))


def check_naming(examples: Sequence[Example], names_all: Sequence[bool]) -> Iterator[Finding]:
    """One finding for all of them: which questions, and their share."""
    named = [example for example, missing in zip(examples, names_all, strict=True) if missing]
    if named:
        ids = listed([example.id for example in named], LISTED)
        share = f"{len(named) / len(examples):.0%}"
        values = {"n": f"{len(named):,}", "all": f"{len(examples):,}", "share": share, "ids": ids}
        yield Finding("warning", "names its references", named[0].line, "", NAMES_ALL, values)


def is_named(query: str, reference: Reference, graph: KnowledgeGraph) -> bool:
    """Whether a word of the question starts with the reference's name or another spelling of its entity."""
    spellings = [reference.name]
    for entity in reference.entities:
        spellings += [graph.entities.names[entity], *graph.entities.aliases[entity]]
    text = nfc(query).casefold()
    return any(_stands_in(text, nfc(spelling).casefold()) for spelling in spellings)


def _stands_in(text: str, name: str) -> bool:
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        begins = start == 0 or not text[start - 1].isalnum()
        # Letters may follow in Korean only, where particles do.
        ends = end == len(text) or not text[end].isalnum() or "가" <= text[end] <= "힣"
        if begins and ends:
            return True
        start = text.find(name, start + 1)
    return False
