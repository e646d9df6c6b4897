"""The single checks that `validate` runs over a gold set: each yields what it finds, in file order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.nearest import Near
from tiny_graph_rag.gold.resolve import Reference
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold, nfc

ALIKE = 0.9  # likeness from which two questions with the same references are near-duplicates
LISTED = 5  # questions named in a finding about many
NEIGHBOURS = 3  # questions compared to each side in alphabetical order: near-duplicates stand close

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """kind: such as "not in graph". message: where (line, id), what, and what to do."""

    severity: Severity
    kind: str
    line: int
    message: str


def said_nearest(near: Sequence[Near]) -> str:
    """`; nearest: 점순이 (.93 alike)`, or that nothing is like it."""
    if not near:
        return "; no name in the graph is like it"
    return "; nearest: " + ", ".join(f"{each.name} ({each.likeness:.2f} alike)" for each in near)


def _place(example: Example) -> str:
    return f"line {example.line} ({example.id})"


def check_missing(
    examples: Sequence[Example], rows: Sequence[tuple[Reference, ...]], nearest: dict[str, tuple[Near, ...]]
) -> Iterator[Finding]:
    for example, row in zip(examples, rows, strict=True):
        for each in row:
            if not each.entities:
                hint = said_nearest(nearest[each.name])
                yield Finding(
                    "error",
                    "not in graph",
                    example.line,
                    f"{_place(example)}: no entity bears the reference {each.name!r}{hint}",
                )


def check_doubtful(
    examples: Sequence[Example], rows: Sequence[tuple[Reference, ...]], graph: KnowledgeGraph
) -> Iterator[Finding]:
    """References that resolve, but not as one would think."""
    ids, known = graph.entities.ids, graph.entities.names
    for example, row in zip(examples, rows, strict=True):
        for each in row:
            place = f"{_place(example)}: the reference {each.name!r}"
            if each.is_ambiguous:
                bearers = ", ".join(ids[entity] for entity in each.entities)
                yield Finding(
                    "warning",
                    "ambiguous",
                    example.line,
                    f"{place} is borne by {len(each.entities)}: {bearers}",
                )
            elif each.resolved_by in ("alias", "folded"):
                how = (
                    "only by an alias"
                    if each.resolved_by == "alias"
                    else "only without spaces, case and marks"
                )
                yield Finding(
                    "warning",
                    f"by {each.resolved_by}",
                    example.line,
                    f"{place} means {known[each.entities[0]]!r} {how}",
                )
        for item, count in Counter(each.item for each in row if each.entities).items():
            if count > 1:
                same = ", ".join(repr(each.name) for each in row if each.item == item)
                yield Finding(
                    "warning",
                    "same entity",
                    example.line,
                    f"{_place(example)}: {same} mean one entity and count once",
                )


def check_other_names(examples: Sequence[Example], names: NameIndex) -> Iterator[Finding]:
    for example in examples:
        for field, listed in (
            ("seed_entities", example.seed_entities or ()),
            ("irrelevant_entities", example.irrelevant_entities),
        ):
            for each in listed:
                if not names.resolve(each)[0]:
                    yield Finding(
                        "warning",
                        field,
                        example.line,
                        f"{_place(example)}: {field}: no entity bears {each!r}",
                    )


def check_relationships(
    examples: Sequence[Example], graph: KnowledgeGraph, names: NameIndex
) -> Iterator[Finding]:
    wanted = [(example, each) for example in examples for each in example.reference_relationships]
    if not wanted:
        return
    relations = graph.relations
    known = set(zip(relations.sources.tolist(), relations.targets.tolist(), relations.types, strict=True))
    ends = {(source, target) for source, target, _ in known}
    for example, each in wanted:
        said = f"{each.source} —{each.type}→ {each.target}"
        sources, targets = names.resolve(each.source)[0], names.resolve(each.target)[0]
        if any(
            ((one, two, each.type) in known) if each.type else ((one, two) in ends)
            for one in sources
            for two in targets
        ):
            continue
        lacking = [name for name, found in ((each.source, sources), (each.target, targets)) if not found]
        why = (
            f"no entity bears {', '.join(map(repr, lacking))}"
            if lacking
            else "the graph has no such relation"
        )
        yield Finding(
            "warning",
            "reference_relationships",
            example.line,
            f"{_place(example)}: reference_relationships: {said}: {why}",
        )


def check_duplicates(examples: Sequence[Example]) -> Iterator[Finding]:
    first: dict[tuple[str, tuple[str, ...]], Example] = {}
    same_references: dict[frozenset[str], list[tuple[str, Example]]] = {}
    for example in examples:
        folded = fold(example.query)
        earlier = first.setdefault((folded, example.context), example)
        references = frozenset(map(fold, example.reference_entities))
        if earlier is not example:
            other = references != frozenset(map(fold, earlier.reference_entities))
            what = "the same question with other references as" if other else "the same question as"
            yield Finding(
                "warning",
                "duplicate",
                example.line,
                f"{_place(example)}: {what} line {earlier.line} ({earlier.id})",
            )
        elif references:
            same_references.setdefault(references, []).append((folded, example))
    for group in same_references.values():
        group.sort(key=lambda each: (each[0], each[1].line))
        for place, (text, example) in enumerate(group):
            for before, earlier in group[max(0, place - NEIGHBOURS) : place]:
                matcher = SequenceMatcher(None, before, text, autojunk=False)
                if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE <= matcher.ratio():
                    yield Finding(
                        "warning",
                        "near-duplicate",
                        example.line,
                        f"{_place(example)}: nearly the question of line {earlier.line} ({earlier.id}), "
                        "with the same references",
                    )
                    break


def check_tags(examples: Sequence[Example]) -> Iterator[Finding]:
    counts = Counter(tag for example in examples for tag in dict.fromkeys(example.tags))
    for example in examples:
        for tag in dict.fromkeys(example.tags):
            if counts[tag] == 1:
                yield Finding(
                    "warning",
                    "single tag",
                    example.line,
                    f"{_place(example)}: no other question has the tag {tag!r}",
                )


def check_naming(examples: Sequence[Example], names_all: Sequence[bool]) -> Iterator[Finding]:
    """One finding for all of them: which questions, and their share."""
    named = [example for example, each in zip(examples, names_all, strict=True) if each]
    if named:
        more = ", …" if len(named) > LISTED else ""
        listed = ", ".join(each.id for each in named[:LISTED]) + more
        share = len(named) / len(examples)
        yield Finding(
            "warning",
            "names its references",
            named[0].line,
            f"{len(named):,} of {len(examples):,} questions ({share:.0%}) name all their "
            f"references and so test linking, not retrieval: {listed}",
        )


def is_named(query: str, reference: Reference, graph: KnowledgeGraph) -> bool:
    """Whether a word of the question starts with the reference's name or another spelling of its entity."""
    spellings = [reference.name]
    for entity in reference.entities:
        spellings += [graph.entities.names[entity], *graph.entities.aliases[entity]]
    text = nfc(query).casefold()
    return any(_stands_in(text, nfc(each).casefold()) for each in spellings)


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
