"""Why an entity stands where it does: its walk, the words each step explains, and each part of its price."""

from __future__ import annotations

from collections.abc import Sequence

from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.retrieval.query import ONE_OF_SEEDS, OTHERS, Reading, Slot
from tiny_graph_rag.linking.relation_words import milli
from tiny_graph_rag.run import NO_STEP

ENDPOINT = -1


def reasons(
    graph: KnowledgeGraph,
    reading: Reading,
    ranking: RankingPrices,
    entity: int,
    walk: Sequence[int],
    energy: int,
) -> list[Reason]:
    """The parts of one ranked entity's energy (in thousandths, as the ranking has it).

    walk: relations from a seed, NO_STEP where it is shorter. What several mentions share is one part.
    """
    steps = [each for each in walk if each != NO_STEP]
    parts: list[Reason] = []
    mask = 0
    on_focus = reading.focus == 0
    on_head = reading.head == 0
    last = ENDPOINT
    for relation, after in zip(steps, _ends(graph, steps, entity), strict=True):
        forward = int(graph.relations.targets[relation]) == after
        kind = 2 * int(graph.relations.types.codes[relation]) + (not forward)
        speaks = sum(1 << each for each, slot in enumerate(reading.slots) if kind >> 1 in slot.types)
        told = sum(
            1 << each for each, slot in enumerate(reading.slots) if _tells(graph, slot, relation, after)
        )
        free = speaks & ~mask
        if last != kind ^ 1:
            free &= ~sum(1 << each for each, slot in enumerate(reading.slots) if slot.way_back)
        low = free & -free
        price = milli(ranking.step)
        new = told & ~(mask | low)
        if not speaks:
            price += reading.unexplained - min(_weight(reading, new), reading.unexplained)
        else:
            price += milli(ranking.against) if kind & 1 else 0
            if not free:
                price += milli(ranking.again)
            elif (mask & (low - 1)) != low - 1:
                price += milli(ranking.early)
        arrow = ("—{}→ {}" if forward else "←{}— {}").format(
            graph.relations.types[relation], graph.entities.names[after]
        )
        parts.append(Reason(arrow, _words(reading, low | new), price / 1000))
        on_focus = reading.focus == 0 or bool((speaks | told) & reading.focus)
        on_head = reading.head == 0 or bool(told & reading.head)
        mask |= low | new
        last = kind
    if not steps and reading.asks == ONE_OF_SEEDS:
        return [Reason("one of those that the question offers", (), 0.0)]
    if not steps:
        mask = sum(1 << each for each, slot in enumerate(reading.slots) if _tells(graph, slot, None, entity))
        if reading.asks == OTHERS and not (mask & reading.head if reading.head else mask):
            parts.append(
                Reason("named in the question, which asks for something else", (), ranking.off_focus)
            )
    elif not on_focus:
        asked = _words(reading, reading.focus)
        parts.append(Reason("the last relation isn't the one asked for", asked, ranking.off_focus))
    if steps and not on_head:
        parts.append(Reason("not of the kind asked for", _words(reading, reading.head), ranking.off_head))
    for place, slot in enumerate(reading.slots):
        if not mask >> place & 1:
            parts.append(Reason("left unexplained", slot.words, slot.weight / 1000))
    rest = energy - sum(round(part.price * 1000) for part in parts)
    if rest:
        parts.append(Reason("other mentions: walks from them, or leaving them out", (), rest / 1000))
    return parts


def _ends(graph: KnowledgeGraph, steps: Sequence[int], entity: int) -> list[int]:
    """The entity after each step of a walk that ends at `entity`."""
    ends = [entity]
    for relation in reversed(steps):
        source, target = int(graph.relations.sources[relation]), int(graph.relations.targets[relation])
        ends.append(source if ends[-1] == target else target)
    return ends[-2::-1]


def _tells(graph: KnowledgeGraph, slot: Slot, relation: int | None, entity: int) -> bool:
    found = slot.found
    return (
        relation in found.relations
        or entity in found.entities
        or int(graph.entities.types.codes[entity]) in found.entity_types
    )


def _weight(reading: Reading, mask: int) -> int:
    return sum(slot.weight for place, slot in enumerate(reading.slots) if mask >> place & 1)


def _words(reading: Reading, mask: int) -> tuple[str, ...]:
    found = [slot.words for place, slot in enumerate(reading.slots) if mask >> place & 1]
    return tuple(dict.fromkeys(word for words in found for word in words))
