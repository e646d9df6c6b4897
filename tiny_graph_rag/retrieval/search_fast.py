"""The search of search.py, compiled: the same ways in the same order, so the same ranking to the last bit.

States, walks and answers are rows of arrays with named fields. A walk's number is twice its state's, plus one
for the state's second walk. An item of the agenda is a walk's number, its key the bound, steps and whether
its state was left before: then again by the ways that have this bound, which are not kept but looked up.

What both searches must agree on, the prices of a step and of an end, stands here once and is called by both:
numba's cache on disk notices changes in the file of the function that it compiled, and in no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

# mypy: disable-error-code="no-untyped-def, no-untyped-call, arg-type"

FAR = 1 << 29  # more than any cost, and still an int32
MASS = 1 << 40  # the random walk from one mention: fine enough for hubs, and 64 sums of it stay below 2^46
TIE_BITS = 30  # of a key: the part below the cost
MANTISSA = 24  # of those: the leading bits of the damped mass, after 6 bits of its length
NOT_RETURNED, NOT_CROSSED = 1, 2  # bits of an entity's flags
OTHERS, ONE_OF_SEEDS = 1, 2  # what a question asks for, where it doesn't ask for just anything
OVERFLOW = -1
NO_ITEM, NO_ROW, TOO_LONG = 1, 2, 3  # why: no room on the agenda, for states or answers; too much looked at
MOST_SLOTS = 8
LOOK_AGAIN = 100  # thousandths by which the bound grows before settled answers are counted again

EITHER, WITHOUT, WITH = range(3)  # ends whose texts fill further slots: all, those that don't, those that do
STEP_BITS = 10  # of a key


class Prices(NamedTuple):
    """In thousandths."""

    step: int
    against: int
    unexplained: int
    again: int
    early: int
    off_focus: int
    off_head: int
    other_seed: int


class RunColumns(NamedTuple):
    """The graph as both searches read it: typed_adjacency.Runs, and flags of entities. uniform: the units of
    all relations, where they are the same, else 0."""

    run_ptr: Any
    run_start: Any
    kind: Any
    neighbours: Any
    relations: Any
    strength: Any
    units: Any
    name_rank: Any
    flags: Any
    uniform: int


class Evidence(NamedTuple):
    """Bits of the slots that each relation type, relation, entity and entity type fills."""

    types: Any
    relations: Any
    entities: Any
    entity_type: Any
    entity_types: Any


class Query(NamedTuple):
    """What a question asks for, by mask of slots filled. left: what stays unexplained; weight: of the slots;
    least: what must stay unexplained, by (steps to go, mask). focus, head, back, words: bits of slots."""

    left: Any
    weight: Any
    least: Any
    focus: int
    head: int
    back: int
    words: int
    exclude_seeds: bool
    asks: int


class Mentions(NamedTuple):
    """pointers: of each mention into seeds and their masses."""

    pointers: Any
    seeds: Any
    masses: Any


MARK = np.dtype([(name, np.int32) for name in ("question", "state", "answer", "is_seed")])
STATE = np.dtype([(name, np.int32) for name in ("entity", "mention", "steps", "mask", "older")])
WALK = np.dtype(
    [("cost", np.int32), ("before", np.int32), ("kind", np.int32), ("rank", np.int32),
     ("slot", np.int64), ("mass", np.int64)], align=True,
)  # fmt: skip
ANSWERED = np.dtype(
    [("entity", np.int32), ("mention", np.int32), ("energy", np.int32), ("cost", np.int32),
     ("mask", np.int32), ("lands", np.int32), ("steps", np.int32), ("rank", np.int32),
     ("before", np.int32), ("older", np.int32), ("slot", np.int64), ("mass", np.int64)], align=True,
)  # fmt: skip
ITEM = np.dtype([("walk", np.int32), ("next", np.int32)])
MOST_BUCKETS = 1 << 13
CLOCK = np.dtype(
    [(name, np.int64) for name in
     ("question", "states", "answers", "items", "buckets", "looked", "most", "deepest", "full")]
    + [("key", np.int64, MOST_BUCKETS), ("first", np.int64, MOST_BUCKETS)]
)  # fmt: skip


# A Query and Prices as one row, which is handed over by one address. With as many steps to go as there may be
# slots, or more, nothing need stay unexplained.
ASKED = np.dtype(
    [
        *((name, np.int32, 1 << MOST_SLOTS) for name in ("left", "weight")),
        ("least", np.int32, (MOST_SLOTS + 1, 1 << MOST_SLOTS)),
        *((name, np.int64) for name in ("focus", "head", "back", "words", "exclude_seeds", "asks")),
        *((name, np.int64) for name in Prices._fields),
    ]
)


class Memory(NamedTuple):
    """items: of the agenda. marks: of each entity, what the question of that number found there. clock: one
    row; looked: relations looked at, of which there may be `most`; deepest: steps of the longest walk begun;
    full: whether there was no room for something; key, first: of the agenda's buckets, each of the items
    with one key, the least key last. keys, shown: of each settled entity its
    key, its mass and the answer shown, or -1 - a seed."""

    states: Any
    walks: Any
    answers: Any
    items: Any
    marks: Any
    keys: Any
    masses: Any
    shown: Any
    clock: Any


def filled_by(kind: int, speaks: int, mask: int, came: int, back: int) -> int:
    """The slot that a step of this kind fills: of those it speaks for, the first empty one; 0 where none is.

    came: the kind of the step before; slots of `back` are only filled by its return.
    """
    free = speaks & ~mask
    if came != kind ^ 1:
        free &= ~back
    return free & -free


def step_price(kind: int, speaks: int, mask: int, low: int, price: Prices) -> int:
    """What a step costs that fills `low`, before what texts explain of it."""
    if speaks == 0:
        return price.step + price.unexplained
    cost = price.step
    if kind & 1:
        cost += price.against
    if low == 0:
        cost += price.again
    elif (mask & (low - 1)) != low - 1:
        cost += price.early
    return cost


def told(new: int, speaks: int, weight: Sequence[int], unexplained: int) -> int:
    """What texts that fill `new` take off the price of a step."""
    if speaks or new == 0:
        return 0
    return min(weight[new], unexplained)


def damped(mass: int, strength: int) -> int:
    """Mass by the strength of where it arrives, as a number of TIE_BITS bits that keeps its order."""
    share = (mass << 16) // max(strength, 1)
    length = 0
    for half in (32, 16, 8, 4, 2, 1):
        if share >> (length + half):
            length += half
    if share:
        length += 1
    if length > MANTISSA + 1:
        part = (share >> (length - MANTISSA - 1)) & ((1 << MANTISSA) - 1)
    elif length > 0:
        part = (share << (MANTISSA + 1 - length)) & ((1 << MANTISSA) - 1)
    else:
        part = 0
    return (length << MANTISSA) | part


def key_of(energy: int, mass: int, strength: int) -> int:
    """By which answers are ordered: less cost first, then more damped mass."""
    return (energy << TIE_BITS) + ((1 << TIE_BITS) - 1 - damped(mass, strength))


def off_seed(own: int, query: Query, price: Prices) -> int:
    """What a seed pays as an answer where the question asks for something else. own: slots that its texts
    fill."""
    if query.asks == OTHERS and (own == 0 or (query.head and not own & query.head)):
        return price.off_focus
    return 0


# --- compiled only --------------------------------------------------------------------------------------


def rank(graph, queries, evidence, mentions, memory, hops, depth):
    """-> how many rows are written to memory.keys and .shown, `depth` or more where there are so many; or
    OVERFLOW: something needs more room than there is, or more relations would be looked at than may be."""
    (states, walks, answers, items, marks, keys, masses, shown, clocks) = memory
    clock, query = clocks[0], queries[0]
    clock.states, clock.answers, clock.items, clock.buckets = 0, 0, 0, 0
    clock.looked, clock.deepest, clock.full = 0, 0, 0
    count = len(mentions.pointers) - 1
    for mention in range(count):
        for place in range(mentions.pointers[mention], mentions.pointers[mention + 1]):
            seed = mentions.seeds[place]
            row = mark(seed, clock.question, marks)
            row.is_seed = 1
            z = state_of(seed, row, mention, 0, 0, states, walks, clock)
            if z == OVERFLOW:
                return OVERFLOW
            if walks[2 * z].cost == FAR:
                set_walk(walks[2 * z], 0, -1, -2, 0, -1, mentions.masses[place])
                if hops:
                    put(0, 0, False, 2 * z, items, clock)
    slack = query.left[0] + query.off_focus + query.off_head if count > 1 else 0
    next_look = 0
    upto = FAR
    while clock.buckets:
        clock.buckets -= 1
        key, place = clock.key[clock.buckets], clock.first[clock.buckets]
        bound = key >> (STEP_BITS + 1)
        if bound - slack > next_look:
            next_look = bound - slack + LOOK_AGAIN
            if (
                clock.answers >= depth
                and settled(bound - slack, query, count, answers, marks, keys, masses, shown, clock) >= depth
            ):
                upto = bound - slack
                break
        while place >= 0:
            number = items[place].walk
            place = items[place].next
            if key & 1 == 0 and not is_to_leave(bound, number, query, states, walks, marks, clock, hops):
                continue
            leave(bound, number, graph, query, evidence, states, walks, answers, items, marks, clock, hops)
            if clock.full:
                return OVERFLOW
    rows = settled(upto, query, count, answers, marks, keys, masses, shown, clock)
    for row in range(rows):
        keys[row] = key_of(keys[row], masses[row], graph.strength[answers[shown[row]].entity])
    if not query.exclude_seeds:
        for place in range(len(mentions.seeds)):
            seed = mentions.seeds[place]
            row = marks[seed]
            if graph.flags[seed] & NOT_RETURNED or row.answer >= 0:
                continue
            row.answer = 0  # a seed that two mentions name stands once
            own = own_words(seed, evidence)
            energy = np.int64(0)
            if query.asks != ONE_OF_SEEDS:
                energy = query.left[own] + (count - 1) * query.other_seed + off_seed(own, query, query)
            keys[rows] = key_of(energy, mentions.masses[place], np.int64(1 << 16))
            shown[rows] = -1 - seed
            rows += 1
    return rows


def put(bound, steps, again, number, items, clock):
    """Put an item on the agenda, first in its bucket."""
    key = (((np.int64(bound) << STEP_BITS) + steps) << 1) | again
    low, high = 0, clock.buckets
    while low < high:
        middle = (low + high) >> 1
        if clock.key[middle] > key:
            low = middle + 1
        else:
            high = middle
    if clock.items >= len(items) or clock.buckets >= MOST_BUCKETS:
        clock.full = NO_ITEM
        return
    if low == clock.buckets or clock.key[low] != key:
        for place in range(clock.buckets, low, -1):
            clock.key[place], clock.first[place] = clock.key[place - 1], clock.first[place - 1]
        clock.key[low], clock.first[low] = key, -1
        clock.buckets += 1
    new = items[clock.items]
    new.walk, new.next = number, clock.first[low]
    clock.first[low] = clock.items
    clock.items += 1


def mark(entity, question, marks):
    """The entity's mark, wiped if it is of an earlier question."""
    row = marks[entity]
    if row.question != question:
        row.question = question
        row.state, row.answer, row.is_seed = -1, -1, 0
    return row


def own_words(entity, evidence):
    """The slots that an entity's own texts fill."""
    return evidence.entities[entity] | evidence.entity_types[evidence.entity_type[entity]]


def set_walk(walk, cost, before, kind, rank, slot, mass):
    walk.cost, walk.before, walk.kind, walk.rank, walk.slot, walk.mass = cost, before, kind, rank, slot, mass


def copy_walk(walk, other):
    set_walk(walk, other.cost, other.before, other.kind, other.rank, other.slot, other.mass)


def state_of(entity, row, mention, steps, mask, states, walks, clock):
    """The row of a state, a new one where there is none yet; or OVERFLOW. row: the entity's mark."""
    z = row.state
    while z >= 0:
        other = states[z]
        if other.steps == steps and other.mask == mask and other.mention == mention:
            return z
        z = other.older
    z = clock.states
    if z >= len(states):
        clock.full = NO_ROW
        return OVERFLOW
    clock.states += 1
    new = states[z]
    new.entity, new.mention, new.steps, new.mask, new.older = entity, mention, steps, mask, row.state
    row.state = z
    walks[2 * z].cost = FAR
    walks[2 * z + 1].cost = FAR
    return z


def is_to_leave(bound, number, query, states, walks, marks, clock, hops):
    """Whether no other state at the entity explains as much for no more, and no cheaper walk came
    meanwhile."""
    z = number >> 1
    state, cost = states[z], walks[2 * z].cost
    left = query.least[min(hops - state.steps, MOST_SLOTS), state.mask]
    if state.steps and bound != walks[number].cost + query.step + left:
        return False
    other = marks[state.entity].state
    while other >= 0:
        rival = states[other]
        if (
            other != z
            and rival.mention == state.mention
            and rival.steps <= state.steps
            and rival.mask | state.mask == rival.mask
            and walks[2 * other].cost <= cost
        ):
            return False
        other = rival.older
    clock.deepest = max(clock.deepest, state.steps + 1)
    return True


def leave(bound, number, graph, query, evidence, states, walks, answers, items, marks, clock, hops):
    """Follow the ways out of a state that cost `bound` at least, and put it back for the next ones."""
    state, walk = states[number >> 1], walks[number]
    back = walks[number & -2].kind ^ 1
    more = hops - state.steps - 1
    next_bound = FAR
    pass_silent = False  # nothing that a silent kind may do has this bound: all of them may do the same
    for run in range(graph.run_ptr[state.entity], graph.run_ptr[state.entity + 1]):
        kind = graph.kind[run]
        if number & 1 and kind != back:
            continue
        speaks = evidence.types[kind >> 1]
        if speaks == 0:
            if pass_silent:
                continue
            pass_silent = True
        low = filled_by(kind, speaks, state.mask, walk.kind, query.back)
        cost = walk.cost + step_price(kind, speaks, state.mask, low, query)
        mask = state.mask | low
        words = query.words & ~mask
        kinds_of_ends = 2 if words else 1
        for way in range(2 * kinds_of_ends if more else kinds_of_ends):
            texts = EITHER if words == 0 else WITHOUT + (way & 1)
            fills = words if texts == WITH else 0
            ends_there = way < kinds_of_ends
            least = cost - told(fills, speaks, query.weight, query.unexplained)
            if ends_there:
                least += query.left[mask | fills]
                if query.focus and not (speaks | query.words) & query.focus:
                    least += query.off_focus
            else:
                least += query.step + query.least[min(more, MOST_SLOTS), mask]
            if least == bound:
                follow(
                    ends_there, texts, number, run, speaks, cost, mask, graph, query, evidence, states, walks,
                    answers, items, marks, clock, hops,
                )  # fmt: skip
                if clock.full:
                    return
                pass_silent = pass_silent and speaks != 0
            elif least > bound:
                next_bound = min(next_bound, least)
    if next_bound < FAR:
        put(next_bound, state.steps, True, number, items, clock)


def follow(
    ends_there, texts, number, run, speaks, cost, mask, graph, query, evidence, states, walks, answers,
    items, marks, clock, hops,
):  # fmt: skip
    """Take the ends of a run as answers, or as places to go on from."""
    z = number >> 1
    state, walk = states[z], walks[number]
    came_by = graph.relations[walks[2 * z].slot] if walks[2 * z].slot >= 0 else -1
    kind, strength, rank_here = graph.kind[run], graph.strength[state.entity], graph.name_rank[state.entity]
    low_slot, high_slot = graph.run_start[run], graph.run_start[run + 1]
    if number & 1:  # straight back: to one neighbour only
        came_from = states[walks[2 * z].before >> 1].entity
        low_slot += np.searchsorted(graph.neighbours[low_slot:high_slot], came_from)
    clock.looked += high_slot - low_slot if number & 1 == 0 else 1
    if clock.looked > clock.most:
        clock.full = TOO_LONG
        return
    missing = query.words & ~mask
    forbidden = NOT_RETURNED if ends_there else NOT_CROSSED
    mass = walk.mass * graph.uniform // strength
    for slot in range(low_slot, high_slot):
        entity = graph.neighbours[slot]
        relation = graph.relations[slot]
        if number & 1:
            if entity != came_from:
                break
            if relation != came_by:
                continue
        elif relation == came_by:
            continue
        if graph.flags[entity] & forbidden:
            continue
        row = mark(entity, clock.question, marks)
        if row.is_seed:
            continue
        new = 0
        if query.words:
            met = own_words(entity, evidence) | evidence.relations[relation]
            if texts and (met & missing != 0) != (texts == WITH):
                continue
            new = met & ~mask
        else:
            met = 0
        pays = cost - told(new, speaks, query.weight, query.unexplained)
        if graph.uniform == 0:
            mass = walk.mass * graph.units[relation] // strength
        if not ends_there:
            y = state_of(entity, row, state.mention, state.steps + 1, mask | new, states, walks, clock)
            if y == OVERFLOW:
                clock.deepest = max(clock.deepest, state.steps + 2)
                return
            merge(
                y, pays, number, kind, rank_here, slot, mass, graph.relations, query, states, walks,
                items, clock, hops,
            )  # fmt: skip
            continue
        energy = pays + query.left[mask | new]
        lands = query.focus == 0 or ((speaks | met) & query.focus) != 0
        if not lands:
            energy += query.off_focus
        if query.head and not met & query.head:
            energy += query.off_head
        y = answer_of(entity, row, state.mention, answers, clock)
        if y == OVERFLOW:
            return
        best = answers[y]
        if energy > best.energy:
            continue
        if energy == best.energy:
            best.mass += mass
            if not comes_first(state, mask | new, rank_here, slot, best, states):
                continue
        else:
            best.mass = mass
        best.energy, best.cost, best.mask, best.lands = energy, pays, mask | new, lands
        best.steps, best.rank, best.before, best.slot = state.steps, rank_here, number, slot


def answer_of(entity, row, mention, answers, clock):
    """The row of an entity's answer from a mention, a new one where there is none yet; or OVERFLOW.

    row: the entity's mark.
    """
    y = row.answer
    while y >= 0:
        if answers[y].mention == mention:
            return y
        y = answers[y].older
    y = clock.answers
    if y >= len(answers):
        clock.full = NO_ROW
        return OVERFLOW
    clock.answers += 1
    new = answers[y]
    new.entity, new.mention, new.energy, new.older = entity, mention, FAR, row.answer
    row.answer = y
    return y


def comes_first(state, mask, rank_here, slot, best, states):
    """Whether of two equally cheap answers this one is shown: by fewer steps, the entity first in the house
    order, fewer slots filled."""
    if state.steps != best.steps:
        return state.steps < best.steps
    if rank_here != best.rank:
        return rank_here < best.rank
    if mask != best.mask:
        return mask < best.mask
    mask_before = states[best.before >> 1].mask
    if state.mask != mask_before:
        return state.mask < mask_before
    return slot < best.slot


def merge(
    z, cost, before, kind, rank_here, slot, mass, relations, query, states, walks, items, clock,
    hops,
):  # fmt: skip
    """One more walk into a state, which keeps the cheapest, and the cheapest by another relation than
    that."""
    one = walks[2 * z]
    two = walks[2 * z + 1]
    relation = relations[slot]
    if one.cost == FAR or (relation == relations[one.slot] and cost < one.cost):
        set_walk(one, cost, before, kind, rank_here, slot, mass)
        turn(2 * z, one, query, states[z], items, clock, hops)
    elif relation == relations[one.slot]:
        if cost == one.cost:
            one.mass += mass
    elif cost < one.cost:
        is_new = one.cost < two.cost
        copy_walk(two, one)
        set_walk(one, cost, before, kind, rank_here, slot, mass)
        turn(2 * z, one, query, states[z], items, clock, hops)
        if is_new:
            turn(2 * z + 1, two, query, states[z], items, clock, hops)
    elif cost == one.cost:
        one.mass += mass
        is_new = two.cost > cost
        if (rank_here, slot) < (one.rank, one.slot):
            copy_walk(two, one)
            set_walk(one, cost, before, kind, rank_here, slot, one.mass)
        elif is_new or (rank_here, slot) < (two.rank, two.slot):
            set_walk(two, cost, before, kind, rank_here, slot, one.mass)
        two.mass = one.mass
        if is_new:
            turn(2 * z + 1, two, query, states[z], items, clock, hops)
    elif cost < two.cost:
        set_walk(two, cost, before, kind, rank_here, slot, mass)
        turn(2 * z + 1, two, query, states[z], items, clock, hops)
    elif cost == two.cost:
        two.mass += mass
        if (rank_here, slot) < (two.rank, two.slot):
            set_walk(two, cost, before, kind, rank_here, slot, two.mass)


def turn(number, walk, query, state, items, clock, hops):
    """Put on the agenda that a state is to be left by this walk."""
    bound = walk.cost + query.step + query.least[min(hops - state.steps, MOST_SLOTS), state.mask]
    put(bound, state.steps, False, number, items, clock)


def settled(bound, query, mentions, answers, marks, energies, masses, shown, clock):
    """Write the entities with an cost below the bound, which nothing changes any more: cost, mass, the
    answer shown. -> how many."""
    count = 0
    for y in range(clock.answers):
        if mentions == 1:
            energies[count], masses[count], shown[count] = answers[y].energy, answers[y].mass, y
        elif marks[answers[y].entity].answer != y:
            continue  # of an entity that a later mention reached too
        else:
            energies[count], masses[count], shown[count] = joined(y, mentions, query, answers)
        count += energies[count] < bound
    return count


def joined(y, mentions, query, answers):
    """An entity's cheapest explanation over the mentions that reach it: -> cost, mass, the answer shown.

    A mention that is left out costs other_seed; one that is taken in costs its own walk and fills its slots.
    """
    shown = y
    other = answers[y].older
    while other >= 0:
        if (answers[other].energy, answers[other].mention) < (answers[shown].energy, answers[shown].mention):
            shown = other
        other = answers[other].older
    best = answers[shown]
    mass = 0
    other = y
    while other >= 0:
        if answers[other].energy == best.energy:
            mass += answers[other].mass
        other = answers[other].older
    energy = best.energy + (mentions - 1) * query.other_seed
    cost, mask, lands = best.cost, best.mask, best.lands
    head = best.energy - cost - query.left[mask]
    if not lands:
        head -= query.off_focus
    taken = 1 << best.mention
    count = 1
    joint_mass = best.mass
    while True:
        pick = -1
        other = y
        while other >= 0:
            row = answers[other]
            if not taken & (1 << row.mention):
                trial = cost + row.cost + query.left[mask | row.mask] + head
                trial += (mentions - count - 1) * query.other_seed
                if not (lands or row.lands):
                    trial += query.off_focus
                if trial < energy or (trial == energy and pick >= 0 and row.mention < answers[pick].mention):
                    pick = other
                    energy = trial
            other = row.older
        if pick < 0:
            return energy, mass, shown
        row = answers[pick]
        cost += row.cost
        mask |= row.mask
        lands |= row.lands
        taken |= 1 << row.mention
        count += 1
        joint_mass += row.mass
        mass = joint_mass


def describe(graph, memory, shown, entities, steps, paths):
    """Write entities, steps and paths of ranked entities, `shown` as memory.shown has them."""
    walks, answers = memory.walks, memory.answers
    for row in range(len(shown)):
        if shown[row] < 0:
            entities[row] = -1 - shown[row]
            continue
        answer = answers[shown[row]]
        entities[row], steps[row] = answer.entity, answer.steps + 1
        paths[row, answer.steps] = graph.relations[answer.slot]
        number = answer.before
        for step in range(answer.steps - 1, -1, -1):
            paths[row, step] = graph.relations[walks[number].slot]
            number = walks[number].before


CALLED = (
    filled_by, step_price, told, damped, key_of, off_seed, put, mark, own_words, set_walk,
    copy_walk, state_of, is_to_leave, answer_of, comes_first, turn, merge, follow, leave, joined, settled,
)  # fmt: skip
