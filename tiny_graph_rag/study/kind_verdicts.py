"""Why each reference relation or passage was found or missed, as far as the graph says.

The verdicts and the waterfall are those of entities. A relation is in the graph where it has one with these
ends and this type; a passage where an entity was read from it (`source_chunks`), in a graph that knows what
its entities were read from. Both are within the hops where all ends, or one entity of the passage, are; only
a built-in retriever that walks can lose them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.bfs import NOT_REACHED, hops_between
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.measures.facts import RelationReference
from tiny_graph_rag.measures.judged import RELATIONS, JudgedKind
from tiny_graph_rag.run import Relation
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.verdicts import seed_columns
from tiny_graph_rag.study.waterfall import (
    WITHIN_HOPS,
    Limits,
    Verdict,
    WaterfallStep,
    by_verdict,
    verdict_table,
    waterfalls,
)

Held = tuple[
    frozenset[int], ...
]  # of each needed end, the entities that it can be; () where the graph lacks it


# What each step takes; without a walk there are none of its own.
_STEPS = {
    "in graph": Verdict.NOT_IN_GRAPH,
    "a seed linked": Verdict.NO_SEED,
    "reachable": Verdict.UNREACHABLE,
    WITHIN_HOPS: Verdict.BEYOND_HOPS,
    "in run": Verdict.NOT_IN_RUN,
    "recall@k": Verdict.RANKED_BELOW_K,
}
_WALKED = ("a seed linked", "reachable", WITHIN_HOPS)


@dataclass(frozen=True, slots=True, eq=False)
class KindVerdicts:
    """verdicts: of each question's references. waterfall: over all questions, by_tag: of each tag."""

    kind: str
    judged: JudgedKind
    verdicts: Sequence[Sequence[Verdict]]
    waterfall: tuple[WaterfallStep, ...]
    by_tag: dict[str, tuple[WaterfallStep, ...]]

    __repr__ = short_repr

    def counts(self) -> dict[str, int]:
        """References by verdict, found first, then in the order of loss."""
        return by_verdict(_table(self.verdicts).sum(axis=0))


def kind_verdicts(
    kind: str,
    judged: JudgedKind,
    graph: KnowledgeGraph,
    names: NameIndex,
    examples: Sequence[Example],
    linked: Sequence[LinkedQuestion],
    limits: Limits,
    cutoff: int,
) -> KindVerdicts:
    """limits: of the retriever; walks is False for anyone else's."""
    if kind == RELATIONS:
        held = [[_of_relation(graph, names, reference) for reference in row] for row in judged.references]
    else:
        held = _of_passages(graph, judged)
    hops = _hops(graph, linked, held, limits) if limits.walks else {}
    verdicts = [
        tuple(
            _verdict(rank, held[row][place], linked[row], hops.get((row, place), 0), limits, cutoff)
            for place, rank in enumerate(ranks)
        )
        for row, ranks in enumerate(judged.ranks)
    ]
    table = _table(verdicts)
    lost = {
        name: table[:, verdict] for name, verdict in _STEPS.items() if limits.walks or name not in _WALKED
    }
    steps = waterfalls(lost, table.sum(axis=1), [example.tags for example in examples])
    return KindVerdicts(kind, judged, verdicts, *steps)


def _table(verdicts: Sequence[Sequence[Verdict]]) -> NDArray[np.int64]:
    every = np.array([verdict for row in verdicts for verdict in row], dtype=np.int8)
    return verdict_table(every, np.array([len(row) for row in verdicts], dtype=np.int64))


def _verdict(
    rank: int | None, held: Held | None, linked: LinkedQuestion, hops: int, limits: Limits, cutoff: int
) -> Verdict:
    """held: None where the graph can't say whether it has the reference."""
    if rank is not None:
        return Verdict.HIT if rank <= cutoff else Verdict.RANKED_BELOW_K
    if held == ():
        return Verdict.NOT_IN_GRAPH
    if limits.walks and held is not None:
        if not linked.seeds:
            return Verdict.NO_SEED
        if hops == NOT_REACHED:
            return Verdict.UNREACHABLE
        if limits.hops is not None and hops > limits.hops:
            return Verdict.BEYOND_HOPS
    return Verdict.NOT_IN_RUN


def _of_relation(graph: KnowledgeGraph, names: NameIndex, reference: Relation) -> Held | None:
    if not (reference.source and reference.target):
        return None  # known by its id alone, which graphs do not keep
    wanted = RelationReference.of(reference.source, reference.target, reference.type, names)
    adjacency, known = graph.adjacency, graph.relations
    for entity in sorted(wanted.sources):
        slots = adjacency.slots(entity)
        for relation in adjacency.relations[slots].tolist():
            ends = frozenset({int(known.sources[relation])}), frozenset({int(known.targets[relation])})
            if wanted.is_met_by(RelationReference(*ends, fold(known.types[relation]))):
                return ends
    return ()


def _of_passages(graph: KnowledgeGraph, judged: JudgedKind) -> list[list[Held | None]]:
    """Nothing is known of a text, nor of a graph that does not say what its entities were read from."""
    wanted = {reference for row in judged.references for reference in row}
    entities: dict[str, set[int]] = {}
    for entity, chunks in enumerate(graph.entities.source_chunks):
        for chunk in chunks:
            if chunk in wanted:
                entities.setdefault(chunk, set()).add(entity)
    if not entities:
        return [[None] * len(row) for row in judged.references]
    return [
        [(frozenset(entities[reference]),) if reference in entities else () for reference in row]
        for row in judged.references
    ]


def _hops(
    graph: KnowledgeGraph,
    linked: Sequence[LinkedQuestion],
    held: Sequence[Sequence[Held | None]],
    limits: Limits,
) -> dict[tuple[int, int], int]:
    """(question, reference) → relations from the nearest seed to the farther end, or NOT_REACHED."""
    pairs = sorted(
        {(row, entity) for row, ends in enumerate(held) for end in _entities(ends) for entity in end}
    )
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    reached = hops_between(
        graph.adjacency,
        seed_columns(linked),
        (table[:, 0], table[:, 1]),
        limits.passable,
        limits.onward,
    )
    of = dict(zip(pairs, reached.tolist(), strict=True))
    found = {}
    for row, references in enumerate(held):
        for place, ends in enumerate(references):
            if ends:
                nearest = [_nearest([of[row, entity] for entity in end]) for end in ends]
                found[row, place] = NOT_REACHED if NOT_REACHED in nearest else max(nearest)
    return found


def _entities(references: Iterable[Held | None]) -> Iterable[frozenset[int]]:
    return (end for ends in references for end in ends or ())


def _nearest(hops: Sequence[int]) -> int:
    return min((hop for hop in hops if hop != NOT_REACHED), default=NOT_REACHED)
