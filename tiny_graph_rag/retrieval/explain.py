"""Why an entity stands where it does: what its cost is made of, and in words, each part with its price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.retrieval.paths import CheapestPaths, Mentions, Most, RankedPaths
from tiny_graph_rag.retrieval.query import ONE_OF_SEEDS, OTHERS, Reading
from tiny_graph_rag.retrieval.walk import Answers, Ints, Walk

# The parts that are not a step of a path, as they are shown.
OFFERED = "one of the options in the question"
OTHER_RELATION = "the last relation isn't the one asked for"
NAMED = "named in the question, which asks for something else"
OTHER_KIND = "not of the kind asked for"
UNEXPLAINED = "left unexplained"
WITHOUT_PATH = "no path from other names in the question"


class Step(NamedTuple):
    """Over `relation` to `entity`, for `cost`; filled: slots that it explains."""

    relation: int
    entity: int
    cost: int
    filled: int


class Trail(NamedTuple):
    """What a ranked entity's cost is made of. paths: one of each mention that explains it, the one shown
    first. Then what is paid at the end: where the last step isn't on the focus, or the entity not of the kind
    asked for, for mentions left out, and for each slot left empty (slot, weight)."""

    paths: tuple[tuple[Step, ...], ...]
    off_focus: int
    off_head: int
    left_out: int
    left: tuple[tuple[int, int], ...]


def trails_of(
    paths: CheapestPaths, mentions: Mentions, reading: Reading, most: Most, hops: int
) -> dict[int, Trail]:
    """What the cost of each ranked entity is made of."""
    (ranked,) = paths.rank(mentions, reading, most, [hops])
    return {
        entity: _seed_trail(paths, entity, ranked) if row < 0 else _trail(paths, row, ranked)
        for entity, row in zip(ranked.entities.tolist(), ranked.row.tolist(), strict=True)
    }


def _seed_trail(paths: CheapestPaths, entity: int, ranked: RankedPaths) -> Trail:
    question = ranked.question
    if question.asks == ONE_OF_SEEDS:
        return Trail((), 0, 0, 0, ())
    own, asked = int(question.own[question.seeds.tolist().index(entity)]), question.asked
    off = question.asks == OTHERS and (own == 0 or bool(asked.head and not own & asked.head))
    left_out = (len(ranked.walks) - 1) * paths.prices.other_seed
    return Trail((), paths.prices.off_focus if off else 0, 0, left_out, _by_slot(asked.weight, ~own))


def _trail(paths: CheapestPaths, row: int, ranked: RankedPaths) -> Trail:
    joined, asked = ranked.joined, ranked.question.asked
    order = sorted(np.flatnonzero(joined.taken[row]).tolist(), key=lambda one: one != joined.shown[row])
    mask, lands, taken = 0, False, []
    for mention in order:
        answers, place = joined.answers[mention], int(joined.place[row, mention])
        mask, lands = mask | int(answers.mask[place]), lands or bool(answers.lands[place])
        taken.append(_steps(answers, place, ranked.walks[mention], paths.graph.relations))
    left_out = (len(ranked.walks) - len(order)) * paths.prices.other_seed
    off_focus = 0 if lands else paths.prices.off_focus
    left = _by_slot(asked.weight, ~mask)
    return Trail(tuple(taken), off_focus, int(joined.off_head[row]), left_out, left)


def _steps(answers: Answers, place: int, its: Walk, relations: NDArray[Any]) -> tuple[Step, ...]:
    entity, slot = int(answers.entity[place]), int(answers.slot[place])
    cost, mask, before = (int(column[place]) for column in (answers.cost, answers.mask, answers.before))
    steps = []
    for _ in range(int(answers.steps[place])):
        state, which = divmod(before, 2)
        paid, filled = int(its.states.cost[state, which]), int(its.states.mask[state])
        steps.append(Step(int(relations[slot]), entity, cost - paid, mask & ~filled))
        entity, cost, mask = int(its.states.entity[state]), paid, filled
        slot, before = int(its.states.slot[state, which]), int(its.states.before[state, which])
    return tuple(steps[::-1])


def _by_slot(weights: Ints, mask: int) -> tuple[tuple[int, int], ...]:
    """(slot, weight) of the slots of a mask that weigh something; weights: by mask."""
    slots = range((len(weights) - 1).bit_length())
    return tuple((at, int(weights[1 << at])) for at in slots if mask >> at & 1 and weights[1 << at])


def reasons(graph: KnowledgeGraph, reading: Reading, trail: Trail) -> list[Reason]:
    """The parts of one ranked entity's cost; they add up to it."""
    if not trail.paths and reading.asks == ONE_OF_SEEDS:
        return [Reason(OFFERED, (), 0.0)]
    parts = [_step(graph, reading, step) for walk in trail.paths for step in walk]
    if trail.off_focus and trail.paths:
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
