"""Relations and passages of a run, judged as entities are: each becomes a number for every rank measure.

A returned relation is a reference where it has its id, or the same ends and type; a passage where it has its
id, or its text. One returned item fills one reference, and a later duplicate is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import DatasetError
from tiny_graph_rag.formats.runs.items import relation_of
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments, Reference
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.measures.facts import RelationReference
from tiny_graph_rag.measures.judged import PASSAGES, RELATIONS, Judged, JudgedKind, judge
from tiny_graph_rag.measures.textual import CONTAINS, TextMatch, filled_by_text
from tiny_graph_rag.run import NO_HOP, Passage, Relation, Run

TEXT = TextMatch("text")

Ends = Callable[[str], frozenset[int]]


def reference_relations(question: Example) -> tuple[Relation, ...]:
    """The relations that a gold set expects of a question, each once."""
    given = question.reference_relations
    pairs = [Relation(pair.source, pair.target, pair.type) for pair in question.reference_relationships]
    return tuple(dict.fromkeys([_relation(question, item) for item in given or ()] or pairs))


def reference_chunks(question: Example) -> tuple[str, ...]:
    """The ids of the passages that a gold set expects of a question, each once."""
    return tuple(dict.fromkeys(filter(None, question.reference_chunks)))


def reference_texts(question: Example) -> tuple[str, ...]:
    """The texts that a gold set expects of a question, each once."""
    return tuple(dict.fromkeys(filter(None, question.reference_texts)))


def _relation(question: Example, item: Any) -> Relation:
    """Of [source, type, target], an object with two ends, or an id."""
    try:
        return relation_of(item)
    except ValueError as error:
        if isinstance(item, str) and item:
            return Relation("", "", "", item)
        raise DatasetError(
            "question {id}: 'reference_relations' must be a list of {wanted}",
            id=repr(question.id),
            wanted='[source, type, target] or {"source", "target", "type"}',
        ) from error


def folded_ends() -> Ends:
    """Ends without a graph: two spellings of one name are one, and nothing else is known of them."""
    known: dict[str, int] = {}
    return lambda name: frozenset((known.setdefault(fold(name), len(known)),))


def judged_kinds(
    questions: Sequence[Example],
    relations: Sequence[Sequence[Relation]] | None,
    passages: Sequence[Sequence[Passage]] | None,
    of_entities: Judged,
    ends: tuple[Ends, Ends],
    match: TextMatch | None,
) -> dict[str, JudgedKind]:
    """relations, passages: of every question, None where they are not judged. of_entities: the same
    questions, judged; it knows which were answered. ends: what the ends of relations mean, of returned ones
    and of references. match: of passages, as `judged_passages` has it."""
    judged = {}
    if relations is not None:
        judged[RELATIONS] = judged_relations(questions, relations, of_entities, *ends)
    if passages is not None:
        judged[PASSAGES] = judged_passages(questions, passages, of_entities, match)
    return judged


def judged_relations(
    questions: Sequence[Example],
    returned: Sequence[Sequence[Relation]],
    of_entities: Judged,
    ends_of_returned: Ends,
    ends_of_reference: Ends,
) -> JudgedKind:
    """The relations of every question; ends_…: what the ends mean, on a graph or as folded names."""
    references = [reference_relations(question) for question in questions]
    keys: list[list[Hashable]] = []
    candidates = []
    for wanted, items in zip(references, returned, strict=True):
        mine = [_met(ends_of_returned, item) for item in items]
        keys.append([met or item.id or item[:3] for met, item in zip(mine, items, strict=True)])
        filled = []
        for reference in wanted:
            expected = _met(ends_of_reference, reference)
            filled.append(
                [
                    at
                    for at, (met, item) in enumerate(zip(mine, items, strict=True))
                    if (item.id and item.id == reference.id) or (expected and met and expected.is_met_by(met))
                ]
            )
        candidates.append(filled)
    return _judged(returned, keys, references, candidates, of_entities, "relation")


def _met(ends: Ends, relation: Relation) -> RelationReference | None:
    """What a relation with two ends means; None for one that is an id alone."""
    if not (relation.source and relation.target):
        return None
    return RelationReference(ends(relation.source), ends(relation.target), fold(relation.type))


def judged_passages(
    questions: Sequence[Example],
    returned: Sequence[Sequence[Passage]],
    of_entities: Judged,
    match: TextMatch | None = None,
) -> JudgedKind:
    """The passages of every question. match: None takes ids where the question has `reference_chunks`."""
    references: list[tuple[str, ...]] = []
    candidates: list[list[list[int]]] = []
    rule = match or TEXT
    for question, items in zip(questions, returned, strict=True):
        chunks, texts = reference_chunks(question), reference_texts(question)
        by_id = bool(chunks) if match is None else not match.by_text
        if by_id:
            references.append(chunks)
            candidates.append([[at for at, item in enumerate(items) if item.id == id] for id in chunks])
            continue
        by = filled_by_text([item.text or item.id for item in items], texts, rule)
        references.append(texts)
        candidates.append([[] if place is None else [place] for place in by])
    keys = [[item.id or fold(item.text) for item in items] for items in returned]
    judged = _judged(returned, keys, references, candidates, of_entities, "passage")
    return _finding_several(judged, keys, candidates) if rule.kind == CONTAINS else judged


def _finding_several(
    kind: JudgedKind, keys: Sequence[Sequence[Hashable]], candidates: Sequence[Sequence[Sequence[int]]]
) -> JudgedKind:
    """The same where one passage finds every reference text that it contains."""
    ranks: list[list[int | None]] = []
    for its_keys, places in zip(keys, candidates, strict=True):
        rank_of = {key: rank for rank, key in enumerate(dict.fromkeys(its_keys), start=1)}
        ranks.append([rank_of[its_keys[at[0]]] if at else None for at in places])
    judged = replace(kind.judged, found=found_at(kind.judged, ranks))
    return replace(kind, judged=judged, ranks=ranks)


def found_at(judged: Judged, ranks: Sequence[Sequence[int | None]]) -> NDArray[np.int64]:
    """`Judged.found`. ranks: of each question's references, from 1, None where none has it."""
    found = np.zeros(judged.grades.shape, dtype=np.int64)
    for row, its_ranks in enumerate(ranks):
        for rank in its_ranks:
            if rank is not None:
                found[row, rank - 1] += 1
    return found


def _judged(
    returned: Sequence[Sequence[Any]],
    keys: Sequence[Sequence[Hashable]],
    references: Sequence[Sequence[Any]],
    candidates: Sequence[Sequence[Sequence[int]]],
    of_entities: Judged,
    resolved_by: str,
) -> JudgedKind:
    """candidates: for each reference the places of the list that can fill it."""
    codes: list[int] = []
    rows: list[tuple[Reference, ...]] = []
    universe = 0
    for its_keys, wanted, places in zip(keys, references, candidates, strict=True):
        known: dict[Hashable, int] = {}
        mine = [known.setdefault(key, universe + len(known)) for key in its_keys]
        rows.append(
            tuple(
                Reference(
                    str(reference), 1, tuple(dict.fromkeys(mine[at] for at in fills)), resolved_by, item
                )
                for item, (reference, fills) in enumerate(zip(wanted, places, strict=True))
            )
        )
        codes.extend(mine)
        universe += len(known)
    judgments = Judgments.of(rows, max(universe, 1))
    entities = np.array(codes, dtype=np.int32)
    offsets = np.cumsum([0, *map(len, returned)]).astype(np.int64)
    run = Run(offsets, entities, np.zeros(len(codes)), np.full(len(codes), NO_HOP, dtype=np.int32))
    judged = replace(judge(run, judgments), answered=of_entities.answered, absent=of_entities.absent)
    flat = [item for items in returned for item in items]
    rankings, ranks = [], []
    for question, (first, last) in enumerate(pairwise(judgments.item_offsets.tolist())):
        length = int(judged.retrieved[question])
        rankings.append([flat[row] for row in judged.rows[question, :length].tolist()])
        rank_of = {item: rank for rank, item in enumerate(judged.items[question].tolist(), start=1)}
        ranks.append([rank_of.get(item) for item in range(first, last)])
    return JudgedKind(judged, rankings, references, ranks)
