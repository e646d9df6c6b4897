"""Questions in which no entity was recognised by name: the first thing to mend, whatever texts find
instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion

SHOWN = 3  # questions whose nearest names are looked up


@dataclass(frozen=True, slots=True)
class LikelyName:
    """words: of the question of this id; name: the entity's that is most like them."""

    id: str
    words: str
    name: str


@dataclass(frozen=True, slots=True)
class Unlinked:
    """Of the questions with a reference, those that name something by the gold set or may do so.

    questions: without an entity recognised by name; of: all of them; by_text: of the former, those with
    seeds by text; nearest: for the first of them.
    """

    questions: int
    of: int
    by_text: int
    nearest: tuple[LikelyName, ...]


def unlinked_questions(
    graph: KnowledgeGraph,
    examples: Sequence[Example],
    linked: Sequence[LinkedQuestion],
    relevant: NDArray[np.int64],
) -> Unlinked | None:
    """None where every question was recognised. One whose gold `seed_entities` are empty names nothing, and
    one that failed was never linked: neither counts."""
    rows = [
        row
        for row in np.flatnonzero(relevant > 0).tolist()
        if examples[row].seed_entities != () and linked[row].error is None
    ]
    without = [row for row in rows if not linked[row].named]
    if not without:
        return None
    return Unlinked(
        len(without),
        len(rows),
        sum(bool(linked[row].by_text) for row in without),
        _nearest(graph, [examples[row] for row in without]),
    )


def _nearest(graph: KnowledgeGraph, examples: Sequence[Example]) -> tuple[LikelyName, ...]:
    """Of the first questions with a name that is like some of their words."""
    from tiny_graph_rag.linking.nearest import nearest_names

    names, found = NameIndex.of(graph), list[LikelyName]()
    for example in examples[: 4 * SHOWN]:
        found += [
            LikelyName(example.id, near.words, near.name) for near in nearest_names(example.query, names, 1)
        ]
        if len(found) == SHOWN:
            break
    return tuple(found)
