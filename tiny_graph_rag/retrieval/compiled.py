"""The layers of a walk as one compiled loop (extra `fast`): the same states and answers as walk.Layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import compiled, zeros_as_touched
from tiny_graph_rag.retrieval.walk import (
    FAR,
    NO_KIND,
    NO_PATH,
    NO_SLOT,
    Answers,
    Asked,
    Bounds,
    Columns,
    Ints,
    Prices,
    Start,
    States,
    Walks,
)

ROOM = 1 << 12  # rows at first; doubled where they are full
NEXT = 2  # column of a state's row: one more than the state before it at the same entity
STATE, ANSWER, OPENED, END = 13, len(Answers._fields), 2, 5  # columns of a row
TOTALS = 1 << 15  # thousandths: among totals below it, it is counted how many there are of each
WORST, HIGHEST, CHEAP, WANTED = range(4)  # of a walk's bound


class Tables(NamedTuple):
    """is_seed, state, answer: (entities,); of the last two, one more than the row of its newest state and of
    its cheapest answer. totals: (TOTALS,), how many entities have it so far.

    bound: totals above WORST are left out; so many as CHEAP have one up to HIGHEST; WANTED are wanted."""

    is_seed: NDArray[np.bool_]
    state: NDArray[np.int32]
    answer: NDArray[np.int32]
    totals: NDArray[np.int32]
    bound: Ints


class Rows(NamedTuple):
    """Memory of the walks so far. What is read of a state or an answer together stands in one row. opened:
    states, and the least total that they may lead to; ends: the steps of a layer that paths go on with."""

    states: Ints
    answers: Ints
    opened: Ints
    ends: Ints


class CompiledLayers:
    """Walks one graph, one mention after the other, in memory that it keeps: the next walks overwrite it."""

    def __init__(self, graph: Columns, prices: Prices) -> None:
        self.graph, self.prices = Columns(*map(_read_only, graph)), prices
        entities = len(graph.indptr) - 1
        self._tables = Tables(
            zeros_as_touched(entities, np.bool_),
            zeros_as_touched(entities, np.int32),
            zeros_as_touched(entities, np.int32),
            np.zeros(TOTALS, np.int32),
            np.zeros(4, np.int64),
        )
        self._rows = Rows(*(np.empty((ROOM, width), np.int64) for width in (STATE, ANSWER, OPENED, END)))

    def walk(self, asked: Asked, starts: Sequence[Start], bounds: Bounds) -> Walks:
        states = answers = looked = 0
        worst = np.zeros(len(starts), np.int64)
        for number, start in enumerate(starts):
            self._rows, states, answers, slots, worst[number] = walk_layers(
                self.graph, self.prices, asked.of(start.question), start, bounds, self._tables, self._rows,
                number, states, answers,
            )  # fmt: skip
            looked += slots
        return Walks(
            States(*(column[:states] for column in states_of(self._rows.states))),
            Answers(*self._rows.answers[:answers].T),
            bounds.hops,
            looked,
            worst,
        )


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    """Columns from a file can't be written to; if all are so, one compiled form serves."""
    view = column.view()
    view.flags.writeable = False
    return view


@compiled
def with_room(rows: Ints, used: int, more: int) -> Ints:
    """The used rows with room for so many more; the same memory where it has it."""
    if used + more <= len(rows):
        return rows
    longer = np.empty((2 * (used + more), rows.shape[1]), np.int64)
    longer[:used] = rows[:used]
    return longer


@compiled
def states_of(rows: Ints) -> States:
    return States(
        rows[:, 0], rows[:, 1], rows[:, 3:5], rows[:, 5:7], rows[:, 7:9], rows[:, 9:11], rows[:, 11:13]
    )


@compiled
def answers_of(rows: Ints) -> Answers:
    return Answers(
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4], rows[:, 5], rows[:, 6], rows[:, 7],
        rows[:, 8], rows[:, 9], rows[:, 10], rows[:, 11],
    )  # fmt: skip


@compiled
def walk_layers(
    graph: Columns,
    price: Prices,
    asked: Asked,
    start: Start,
    bounds: Bounds,
    tables: Tables,
    rows: Rows,
    number: int,
    old_states: int,
    old_answers: int,
) -> tuple[Rows, int, int, int, int]:
    """One walk, behind the rows of those before it. (Memory, its rows of states and of answers; slots looked
    at; the highest total of interest.)"""
    count, answered, looked, first = old_states, old_answers, 0, old_states
    answer_rows, opened, ends = rows.answers, rows.opened, rows.ends
    state_rows = with_room(rows.states, count, len(start.seeds))
    states = states_of(state_rows)
    for seed in start.every_seed:
        tables.is_seed[seed] = True
    for place, seed in enumerate(start.seeds):
        states.entity[count], states.mask[count], state_rows[count, NEXT] = seed, 0, tables.state[seed]
        for path in range(2):
            states.cost[count, path] = FAR if path else 0
            states.mass[count, path], states.kind[count, path] = start.masses[place], NO_KIND
            states.slot[count, path], states.before[count, path] = NO_SLOT, NO_PATH
        count += 1
        tables.state[seed] = count
    tables.totals[:] = 0
    tables.bound[WORST], tables.bound[HIGHEST], tables.bound[CHEAP] = FAR, TOTALS - 1, 0
    tables.bound[WANTED] = start.wanted
    for steps in range(1, bounds.hops + 1):
        left = bounds.hops - steps
        opened = with_room(opened, 0, count - first)
        chosen, slots = open_states(graph, state_rows, tables, first, count, asked.least[left + 1], opened)
        looked += slots
        state_rows = with_room(state_rows, count, slots)
        answer_rows, ends = with_room(answer_rows, answered, slots), with_room(ends, 0, slots)
        first, layer = count, answered
        count, answered, end_count = expand(
            graph, price, asked, asked.least[left], bounds, start, steps, state_rows, answer_rows, ends,
            tables, opened[:chosen], count, answered,
        )  # fmt: skip
        answer_rows[layer:answered, 0] = number
        keep_second_paths(graph, states_of(state_rows), ends[:end_count], first, count)
    for row in range(old_states, count):
        tables.state[state_rows[row, 0]] = 0
    for row in range(old_answers, answered):
        tables.answer[answer_rows[row, 1]] = 0
    for seed in start.every_seed:
        tables.is_seed[seed] = False
    worst = lowered(tables, start.slack)
    return Rows(state_rows, answer_rows, opened, ends), count, answered, looked, worst


@compiled
def open_states(
    graph: Columns,
    rows: Ints,
    tables: Tables,
    first: int,
    count: int,
    least: Ints,
    opened: Ints,
) -> tuple[int, int]:
    """(How many states from `first` on are left next, their slots). Written to `opened`; least: by mask, what
    a path still pays."""
    states, chosen, slots, worst = states_of(rows), 0, 0, tables.bound[WORST]
    for state in range(first, count):
        entity, mask, cost = states.entity[state], states.mask[state], states.cost[state, 0]
        if cost + least[mask] > worst:
            continue
        rival = tables.state[entity] - 1
        while rival >= 0:
            if (
                states.mask[rival] | mask == states.mask[rival]
                and states.cost[rival, 0] <= cost
                and (states.mask[rival] != mask or rival < first)
            ):
                break
            rival = rows[rival, NEXT] - 1
        if rival < 0:
            opened[chosen, 0], opened[chosen, 1] = state, cost + least[mask]
            chosen += 1
            slots += graph.indptr[entity + 1] - graph.indptr[entity]
    return chosen, slots


@compiled
def expand(
    graph: Columns,
    price: Prices,
    asked: Asked,
    least: Ints,
    bounds: Bounds,
    start: Start,
    steps: int,
    rows: Ints,
    answer_rows: Ints,
    ends: Ints,
    tables: Tables,
    opened: Ints,
    count: int,
    answered: int,
) -> tuple[int, int, int]:
    """One step from the states `opened`, the most hopeful first: what they reach tells which of the others to
    leave out. (States, answers, ends) then; count, answered: how many states and answers are before."""
    states, answers, first = states_of(rows), answers_of(answer_rows), count
    end_count, is_answer, goes_on, layer = 0, False, False, answered
    for index in np.argsort(opened[:, 1]):
        state, worst = opened[index, 0], lowered(tables, start.slack)
        if opened[index, 1] > worst:
            break
        at, mask = states.entity[state], states.mask[state]
        rank, strength = np.int64(graph.name_rank[at]), graph.strength[at]
        came_by = -1 if states.slot[state, 0] == NO_SLOT else graph.relations[states.slot[state, 0]]
        known_kind = np.int64(NO_KIND)
        for slot in range(graph.indptr[at], graph.indptr[at + 1]):
            kind, relation = np.int64(graph.kind[slot]), graph.relations[slot]
            which = 1 if relation == came_by else 0
            if kind == known_kind and which == 0 and not (is_answer or goes_on):
                continue  # costs as much as the last one
            known_kind = kind if which == 0 and not asked.has_words else np.int64(NO_KIND)
            entity = graph.neighbours[slot]
            if states.cost[state, which] >= FAR:
                known_kind = np.int64(NO_KIND)
                continue
            # What the step explains and costs.
            speaks = np.int64(asked.types[kind >> 1])
            free = speaks & ~mask
            if asked.back and states.kind[state, which] != kind ^ 1:
                free &= ~asked.back
            fills = free & -free
            met = np.int64(0)
            if asked.has_words:
                met = np.int64(asked.entities[entity] | asked.relations[relation])
            cost = states.cost[state, which] + price.step
            if speaks == 0:
                cost += asked.unexplained - min(asked.weight[met & ~mask], asked.unexplained)
            else:
                cost += (kind & 1) * price.against
                if fills == 0:
                    cost += price.again
                elif mask & (fills - 1) != fills - 1:
                    cost += price.early
            filled = mask | fills | met
            # What an answer pays that ends here.
            lands = asked.focus == 0 or (speaks | met) & asked.focus > 0
            total = cost + asked.left[filled]
            if not lands:
                total += price.off_focus
            if asked.head and met & asked.head == 0:
                total += price.off_head
            is_answer, goes_on = total <= worst, cost + least[filled] <= worst
            if not (is_answer or goes_on) or tables.is_seed[entity]:
                continue
            mass = states.mass[state, which] * np.int64(graph.units[relation]) // strength
            before = 2 * state + which
            if is_answer and (len(graph.returned) == 0 or graph.returned[entity]):
                row = tables.answer[entity] - 1
                known = FAR if row < 0 else answers.total[row]
                is_better = total < known
                if is_better:
                    count_total(tables, known, total)
                    if total <= bounds.explained[steps]:
                        tables.bound[WANTED] = start.enough
                if row < layer and total <= known:
                    row, answered, is_better = answered, answered + 1, True
                    tables.answer[entity] = answered
                    answers.entity[row], answers.steps[row], answers.mass[row] = entity, steps, 0
                elif is_better:
                    answers.mass[row] = 0
                elif total == known:
                    is_better = (rank, filled, mask, np.int64(slot)) < (
                        answers.rank[row],
                        answers.mask[row],
                        answers.mask_before[row],
                        answers.slot[row],
                    )
                if is_better:
                    answers.total[row], answers.cost[row], answers.mask[row] = total, cost, filled
                    answers.lands[row], answers.before[row], answers.slot[row] = lands, before, slot
                    answers.rank[row], answers.mask_before[row] = rank, mask
                if total <= known:
                    answers.mass[row] += mass
            if goes_on:
                goal = tables.state[entity] - 1
                while goal >= first and states.mask[goal] != filled:
                    goal = rows[goal, NEXT] - 1
                is_better = goal < first
                if is_better:
                    goal, count = count, count + 1
                    states.entity[goal], states.mask[goal] = entity, filled
                    rows[goal, NEXT] = tables.state[entity]
                    tables.state[entity] = count
                elif cost == states.cost[goal, 0]:
                    rival = states.before[goal, 0] // 2
                    other = graph.name_rank[states.entity[rival]]
                    is_better = (rank, slot, mask) < (other, states.slot[goal, 0], states.mask[rival])
                if is_better or cost < states.cost[goal, 0]:
                    states.cost[goal, 0], states.kind[goal, 0] = cost, kind
                    states.slot[goal, 0], states.before[goal, 0] = slot, before
                ends[end_count, 0], ends[end_count, 1], ends[end_count, 2] = goal, cost, mass
                ends[end_count, 3], ends[end_count, 4] = slot, before
                end_count += 1
    return count, answered, end_count


@compiled
def lowered(tables: Tables, slack: int) -> int:
    """The bound, once it is as low as the wanted entities allow."""
    bound, totals = tables.bound, tables.totals
    while bound[HIGHEST] > 0 and bound[CHEAP] - totals[bound[HIGHEST]] >= bound[WANTED]:
        bound[CHEAP] -= totals[bound[HIGHEST]]
        bound[HIGHEST] -= 1
    if bound[CHEAP] >= bound[WANTED]:
        bound[WORST] = min(bound[WORST], bound[HIGHEST] + slack)
    return int(bound[WORST])


@compiled
def count_total(tables: Tables, before: int, total: int) -> None:
    """Count an entity's new total, lower than the one `before`."""
    if total <= tables.bound[HIGHEST]:
        if before <= tables.bound[HIGHEST]:
            tables.totals[before] -= 1
        else:
            tables.bound[CHEAP] += 1
        tables.totals[total] += 1


@compiled
def keep_second_paths(graph: Columns, states: States, ends: Ints, first: int, count: int) -> None:
    """Give the states from `first` on their masses and their cheapest path by another relation."""
    for goal in range(first, count):
        states.mass[goal, 0] = states.mass[goal, 1] = 0
        states.cost[goal, 1], states.kind[goal, 1] = FAR, NO_KIND
        states.slot[goal, 1] = states.before[goal, 1] = NO_SLOT
    for end in range(len(ends)):
        goal, cost, mass = ends[end, 0], ends[end, 1], ends[end, 2]
        slot, before = ends[end, 3], ends[end, 4]
        if cost == states.cost[goal, 0]:
            states.mass[goal, 0] += mass
        if graph.relations[slot] == graph.relations[states.slot[goal, 0]] or cost > states.cost[goal, 1]:
            continue
        is_better = cost < states.cost[goal, 1]
        if is_better:
            states.mass[goal, 1] = 0
        else:
            state, rival = before // 2, states.before[goal, 1] // 2
            rank, other = graph.name_rank[states.entity[state]], graph.name_rank[states.entity[rival]]
            is_better = (rank, slot, states.mask[state]) < (other, states.slot[goal, 1], states.mask[rival])
        states.mass[goal, 1] += mass
        if is_better:
            states.cost[goal, 1], states.kind[goal, 1] = cost, np.int64(graph.kind[slot])
            states.slot[goal, 1], states.before[goal, 1] = slot, before
    for goal in range(first, count):
        if states.cost[goal, 0] == states.cost[goal, 1]:
            states.mass[goal, 1] = states.mass[goal, 0]
