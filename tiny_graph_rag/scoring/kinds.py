"""What is returned and what is expected, as numbers: keys become codes, and every kind is judged one way.

Entities without a graph are ids or names; relations have an id, or two ends and a type; passages have an id,
or a text. One returned item fills one reference, and a later duplicate is dropped.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments, Reference
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.measures.judged import (
    PASSAGES,
    RELATIONS,
    Ends,
    Judged,
    JudgedKind,
    RelationReference,
    judge,
)
from tiny_graph_rag.measures.textual import CONTAINS, TextMatch, filled_by_text
from tiny_graph_rag.run import NO_HOP, Passage, Relation, Run

TEXT = TextMatch("text")

Wanted = tuple[str, int, Iterable[Hashable], str]
"""A reference: as written, its grade, the keys that can fill it, and what they are matched by."""


def folded_ends() -> Ends:
    """Ends without a graph: two spellings of one name are one, and nothing else is known of them."""
    known: dict[str, int] = {}
    return lambda name: frozenset((known.setdefault(fold(name), len(known)),))


def coded(
    rankings: Iterable[Iterable[Hashable]],
    references: Iterable[Iterable[Wanted]],
    irrelevant: Iterable[Iterable[Hashable]] = (),
) -> tuple[list[list[int]], Judgments, list[Any]]:
    """Rankings and judgments in codes, and the key of each code. All of each question, best first.

    irrelevant: keys judged 0.
    """
    codes: dict[Hashable, int] = {}

    def code(key: Hashable) -> int:
        return codes.setdefault(key, len(codes))

    wanted = [
        tuple(
            Reference(name, grade, tuple(dict.fromkeys(map(code, keys))), level, item)
            for item, (name, grade, keys, level) in enumerate(row)
        )
        for row in references
    ]
    bad = [list(map(code, row)) for row in irrelevant]
    lists = [list(map(code, row)) for row in rankings]
    return lists, Judgments.of(wanted, max(len(codes), 1), bad), list(codes)


def run_of(rankings: Sequence[Sequence[int]]) -> Run:
    """Rankings of codes, without scores and paths."""
    entities = np.fromiter(chain.from_iterable(rankings), dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rankings)]).astype(np.int64)
    return Run(offsets, entities, np.zeros(len(entities)), np.full(len(entities), NO_HOP, dtype=np.int32))


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
    and of references. match: of passages; None takes ids where the question has `reference_chunks`."""
    judged = {}
    if relations is not None:
        judged[RELATIONS] = _relations(questions, relations, of_entities, *ends)
    if passages is not None:
        judged[PASSAGES] = judged_passages(questions, passages, of_entities, match)
    return judged


def _relations(
    questions: Sequence[Example],
    returned: Sequence[Sequence[Relation]],
    of_entities: Judged,
    ends_of_returned: Ends,
    ends_of_reference: Ends,
) -> JudgedKind:
    references = [question.reference_relations for question in questions]
    keys: list[list[Hashable]] = []
    fills = []
    for wanted, items in zip(references, returned, strict=True):
        meanings = [_meaning(item, ends_of_returned) for item in items]
        keys.append([meant or item.id or item[:3] for meant, item in zip(meanings, items, strict=True)])
        fills.append(
            [
                [
                    at
                    for at, (meant, item) in enumerate(zip(meanings, items, strict=True))
                    if (item.id and item.id == reference.id)
                    or (expected and meant and expected.is_met_by(meant))
                ]
                for reference, expected in ((one, _meaning(one, ends_of_reference)) for one in wanted)
            ]
        )
    return _judged(returned, keys, references, fills, of_entities, "relation")


def _meaning(relation: Relation, ends: Ends) -> RelationReference | None:
    """What a relation with two ends means; None for one that is an id alone."""
    return RelationReference.of(relation, ends) if relation.source and relation.target else None


def judged_passages(
    questions: Sequence[Example],
    returned: Sequence[Sequence[Passage]],
    of_entities: Judged,
    match: TextMatch | None = None,
) -> JudgedKind:
    """The passages of every question, as `judged_kinds` has them."""
    references: list[tuple[str, ...]] = []
    fills: list[list[list[int]]] = []
    rule = match or TEXT
    for question, items in zip(questions, returned, strict=True):
        chunks, texts = (
            tuple(dict.fromkeys(given)) for given in (question.reference_chunks, question.reference_texts)
        )
        by_id = bool(chunks) if match is None else not match.by_text
        if by_id:
            references.append(chunks)
            fills.append([[at for at, item in enumerate(items) if item.id == id] for id in chunks])
        else:
            by = filled_by_text([item.text or item.id for item in items], texts, rule)
            references.append(texts)
            fills.append([[] if place is None else [place] for place in by])
    keys = [[item.id or fold(item.text) for item in items] for items in returned]
    kind = _judged(returned, keys, references, fills, of_entities, "passage")
    if rule.kind != CONTAINS:
        return kind
    ranks: list[list[int | None]] = []  # one passage finds every reference text that it contains
    for its_keys, places in zip(keys, fills, strict=True):
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
    fills: Sequence[Sequence[Sequence[int]]],
    of_entities: Judged,
    level: str,
) -> JudgedKind:
    """keys: of what was returned. fills: for each reference the places of the list that can fill it."""
    own = [[(row, key) for key in its_keys] for row, its_keys in enumerate(keys)]  # each question's are its
    wanted = [
        [(str(one), 1, [mine[at] for at in places], level) for one, places in zip(expected, by, strict=True)]
        for mine, expected, by in zip(own, references, fills, strict=True)
    ]
    rankings, judgments, _ = coded(own, wanted)
    judged = judge(run_of(rankings), judgments)
    flat = list(chain.from_iterable(returned))
    lists, ranks = [], []
    for row, (first, last) in enumerate(pairwise(judgments.item_offsets.tolist())):
        length = int(judged.retrieved[row])
        lists.append([flat[place] for place in judged.rows[row, :length].tolist()])
        rank_of = {item: rank for rank, item in enumerate(judged.items[row].tolist(), start=1)}
        ranks.append([rank_of.get(item) for item in range(first, last)])
    judged = replace(judged, answered=of_entities.answered, absent=of_entities.absent)
    return JudgedKind(judged, lists, references, ranks)
