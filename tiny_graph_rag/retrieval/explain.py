"""Why an entity stands where it does: the trail of its search in words, each part with its price."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.retrieval.query import ONE_OF_SEEDS, Reading
from tiny_graph_rag.retrieval.search import Step, Trail

# The parts that are not a step of a path, as they are shown.
OFFERED = "one of the options in the question"
OTHER_RELATION = "the last relation isn't the one asked for"
NAMED = "named in the question, which asks for something else"
OTHER_KIND = "not of the kind asked for"
UNEXPLAINED = "left unexplained"
WITHOUT_PATH = "no path from other names in the question"


def reasons(graph: KnowledgeGraph, reading: Reading, trail: Trail) -> list[Reason]:
    """The parts of one ranked entity's cost; they add up to it."""
    if not trail.walks and reading.asks == ONE_OF_SEEDS:
        return [Reason(OFFERED, (), 0.0)]
    parts = [_step(graph, reading, step) for walk in trail.walks for step in walk]
    if trail.off_focus and trail.walks:
        parts.append(_part(OTHER_RELATION, _words(reading, reading.focus), trail.off_focus))
    elif trail.off_focus:
        parts.append(_part(NAMED, (), trail.off_focus))
    if trail.off_head:
        parts.append(_part(OTHER_KIND, _words(reading, reading.head), trail.off_head))
    for slot, weight in trail.left:
        parts.append(_part(UNEXPLAINED, reading.slots[slot].words, weight))
    if trail.left_out:
        parts.append(_part(WITHOUT_PATH, (), trail.left_out))
    return parts


def _step(graph: KnowledgeGraph, reading: Reading, step: Step) -> Reason:
    forward = int(graph.relations.targets[step.relation]) == step.entity
    arrow = "—{}→ {}" if forward else "←{}— {}"
    what = arrow.format(graph.relations.types[step.relation], graph.entities.names[step.entity])
    return _part(what, _words(reading, step.filled), step.cost)


def _part(what: str, words: Sequence[str], price: int) -> Reason:
    return Reason(what, tuple(words), price / 1000)


def _words(reading: Reading, mask: int) -> tuple[str, ...]:
    filled = [slot.words for place, slot in enumerate(reading.slots) if mask >> place & 1]
    return tuple(dict.fromkeys(word for words in filled for word in words))
