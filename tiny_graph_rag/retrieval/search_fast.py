"""The search of search.py, compiled: the same ways in the same order, so the same ranking to the last bit.

It ranks one question after the other, so that nothing waits for Python between them. States, walks and
answers are rows of arrays with named fields. A walk's number is twice its state's, plus one for the state's
second walk. An item of the agenda is a walk's number, its key the bound, steps and whether
its state was left before: then again by the ways that have this bound, which are not kept but looked up.

What both searches must agree on, the prices of a step and of an end, stands here once and is called by both:
numba's cache on disk notices changes in the file of the function that it compiled, and in no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tiny_graph_rag.run import NO_STEP

# mypy: disable-error-code="no-untyped-def, no-untyped-call, arg-type"

FAR = 1 << 29  # more than any cost, and still an int32
MASS = 1 << 40  # the random walk from one mention: fine enough for hubs, and 64 sums of it stay below 2^46
TIE_BITS = 30  # of a key: the part below the cost
MANTISSA = 24  # of those: the leading bits of the damped mass, after 6 bits of its length
NOT_RETURNED, NOT_CROSSED = 1, 2  # bits of an entity's flags
OTHERS, ONE_OF_SEEDS = 1, 2  # what a question asks for, where it doesn't ask for just anything
OVERFLOW = -1
NO_ROOM, TOO_MANY, TOO_LONG = 1, 2, 3  # why: of memory; of states or answers that may be; of looks
MOST_SLOTS = 8
LOOK_AGAIN = 100  # thousandths by which the bound grows before settled answers are counted again

LAST_QUESTION = 1 << 30  # marks are int32; then they are wiped

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
    """The graph as both searches read it: candidates.Runs, and flags of entities. uniform: the units of
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
    least: what is still paid at least, by (steps to go, mask). focus, head, back, words: bits of slots."""

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
BUCKET = np.dtype([("key", np.int64), ("first", np.int64)])
CLOCK = np.dtype(
    [(name, np.int64) for name in
     ("question", "states", "answers", "items", "buckets", "looked", "most_looked", "most_states",
      "deepest", "full")]
)  # fmt: skip

# A Query and Prices as one row, which is handed over by one address. More steps to go than there may be slots
# make nothing cheaper.
ASKED = np.dtype(
    [
        *((name, np.int32, 1 << MOST_SLOTS) for name in ("left", "weight")),
        ("least", np.int32, (MOST_SLOTS + 1, 1 << MOST_SLOTS)),
        *((name, np.int64) for name in ("focus", "head", "back", "words", "exclude_seeds", "asks")),
        *((name, np.int64) for name in Prices._fields),
    ]
)


class Questions(NamedTuple):
    """A batch. asked: rows of ASKED, each with what it fills, (column of Evidence, row, bit), from one
    pointer of `filled` to the next. which: of each question its row among these; first: its mentions, which
    are stretches of `seeds` from one of `pointers` to the next, with their masses. most_states: of each."""

    asked: Any
    filled: Any
    fills: Any
    which: Any
    first: Any
    pointers: Any
    seeds: Any
    masses: Any
    most_states: Any


class Rows(NamedTuple):
    """What is ranked: of each question the rows from one offset to the next. walks: (rows, hops), relations
    from a seed."""

    offsets: Any
    entities: Any
    keys: Any
    steps: Any
    walks: Any


class Memory(NamedTuple):
    """items: of the agenda; buckets: the items of one key each, the least key last. marks: of each entity,
    what the question of that number found there. keys, masses, shown: of each settled entity its key, its
    mass and the answer shown, or -1 - a seed. clock: one row; looked: relations looked at; deepest: steps of
    the longest walk begun; full: why a search could not go on."""

    states: Any
    walks: Any
    answers: Any
    items: Any
    buckets: Any
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


def rank(graph, evidence, questions, memory, rows, done, hops, depth):
    """Rank the questions from `done` on. -> how many are done then: all, or those before one that needs more
    room than there is, or more of something than may be."""
    while done < len(questions.which):
        asked = questions.which[done]
        first, last = questions.filled[asked], questions.filled[asked + 1]
        for place in range(first, last):
            column, row, bit = questions.fills[place]
            fill(column, row, bit, evidence)
        count = rank_one(graph, questions.asked[asked], evidence, questions, memory, done, hops, depth)
        for place in range(first, last):
            column, row, _ = questions.fills[place]
            fill(column, row, 0, evidence)
        if count == OVERFLOW:
            break
        describe(graph, memory, rows, rows.offsets[done], count)
        done += 1
        rows.offsets[done] = rows.offsets[done - 1] + count
    return done


def fill(column, row, bit, evidence):
    """Set a bit of Evidence; 0: clear all of the row."""
    if column == 0:
        evidence.types[row] = evidence.types[row] | bit if bit else 0
    elif column == 1:
        evidence.relations[row] = evidence.relations[row] | bit if bit else 0
    elif column == 2:
        evidence.entities[row] = evidence.entities[row] | bit if bit else 0
    else:
        evidence.entity_types[row] = evidence.entity_types[row] | bit if bit else 0


def rank_one(graph, query, evidence, questions, memory, place, hops, depth):
    """-> how many rows, best first, are written to memory.keys and .shown; or OVERFLOW."""
    states, walks, answers, items, buckets, marks, keys, masses, shown, clocks = memory
    clock = clocks[0]
    clock.states, clock.answers, clock.items, clock.buckets = 0, 0, 0, 0
    clock.looked, clock.deepest, clock.full = 0, 0, 0
    clock.most_states = questions.most_states[place]
    if clock.question == LAST_QUESTION:
        for entity in range(len(marks)):
            marks[entity].question = 0
        clock.question = 0
    clock.question += 1
    first, last = questions.first[place], questions.first[place + 1]
    count = last - first
    for mention in range(count):
        for seed in range(questions.pointers[first + mention], questions.pointers[first + mention + 1]):
            entity = questions.seeds[seed]
            row = mark(entity, clock.question, marks)
            row.is_seed = 1
            z = state_of(entity, row, mention, 0, 0, states, walks, clock)
            if z == OVERFLOW:
                return OVERFLOW
            if walks[2 * z].cost == FAR:
                set_walk(walks[2 * z], 0, -1, -2, 0, -1, questions.masses[seed])
                if hops:
                    put(0, 0, False, 2 * z, items, buckets, clock)
    slack = query.left[0] + query.off_focus + query.off_head if count > 1 else 0
    next_look = 0
    upto = FAR
    while clock.buckets:
        clock.buckets -= 1
        key, item = buckets[clock.buckets].key, buckets[clock.buckets].first
        bound = key >> (STEP_BITS + 1)
        if clock.answers >= depth and bound - slack > next_look:
            next_look = bound - slack + LOOK_AGAIN
            if settled(bound - slack, query, count, answers, marks, keys, masses, shown, clock) >= depth:
                upto = bound - slack
                break
        while item >= 0:
            number = items[item].walk
            item = items[item].next
            if key & 1 == 0 and not is_to_leave(bound, number, query, states, walks, marks, clock, hops):
                continue
            leave(
                bound, number, graph, query, evidence, states, walks, answers, items, buckets, marks, clock,
                hops,
            )  # fmt: skip
            if clock.full:
                return OVERFLOW
    found = settled(upto, query, count, answers, marks, keys, masses, shown, clock)
    for row in range(found):
        keys[row] = key_of(keys[row], masses[row], graph.strength[answers[shown[row]].entity])
    if not query.exclude_seeds:
        for seed in range(questions.pointers[first], questions.pointers[last]):
            entity = questions.seeds[seed]
            row = marks[entity]
            if graph.flags[entity] & NOT_RETURNED or row.answer >= 0:
                continue
            row.answer = 0  # a seed that two mentions name stands once
            own = own_words(entity, evidence)
            energy = np.int64(0)
            if query.asks != ONE_OF_SEEDS:
                energy = query.left[own] + (count - 1) * query.other_seed + off_seed(own, query, query)
            keys[found] = key_of(energy, questions.masses[seed], np.int64(1 << 16))
            shown[found] = -1 - entity
            found += 1
    return best_first(found, depth, graph, memory)


def best_first(count, depth, graph, memory):
    """Bring the best `depth` of the rows in memory.keys and .shown to the front, in order, by a heap of them
    with the worst on top. -> how many."""
    size = min(count, depth)
    for place in range(size // 2 - 1, -1, -1):
        sink(place, size, graph, memory)
    for row in range(size, count):
        if stands_before(row, 0, graph, memory):
            memory.keys[0], memory.shown[0] = memory.keys[row], memory.shown[row]
            sink(0, size, graph, memory)
    for end in range(size - 1, 0, -1):
        swap(0, end, memory)
        sink(0, end, graph, memory)
    return size


def sink(place, size, graph, memory):
    """Let a row sink below those of the heap that stand behind it."""
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and stands_before(child, child + 1, graph, memory):
            child += 1
        if not stands_before(place, child, graph, memory):
            return
        swap(place, child, memory)
        place = child


def swap(one, other, memory):
    keys, shown = memory.keys, memory.shown
    keys[one], keys[other] = keys[other], keys[one]
    shown[one], shown[other] = shown[other], shown[one]


def stands_before(one, other, graph, memory):
    """By key, then by fewer steps, then in the order of names."""
    if memory.keys[one] != memory.keys[other]:
        return memory.keys[one] < memory.keys[other]
    return place_of(memory.shown[one], graph, memory) < place_of(memory.shown[other], graph, memory)


def place_of(shown, graph, memory):
    """(steps, rank by name) of an answer or a seed."""
    if shown < 0:
        return 0, np.int64(graph.name_rank[-1 - shown])
    answer = memory.answers[shown]
    return answer.steps + 1, np.int64(graph.name_rank[answer.entity])


def put(bound, steps, again, number, items, buckets, clock):
    """Put an item on the agenda, first in its bucket."""
    key = (((np.int64(bound) << STEP_BITS) + steps) << 1) | again
    low, high = 0, clock.buckets
    while low < high:
        middle = (low + high) >> 1
        if buckets[middle].key > key:
            low = middle + 1
        else:
            high = middle
    if clock.items >= len(items) or clock.buckets >= len(buckets):
        clock.full = NO_ROOM
        return
    if low == clock.buckets or buckets[low].key != key:
        for place in range(clock.buckets, low, -1):
            before, behind = buckets[place - 1], buckets[place]
            behind.key, behind.first = before.key, before.first
        bucket = buckets[low]
        bucket.key, bucket.first = key, -1
        clock.buckets += 1
    item, bucket = items[clock.items], buckets[low]
    item.walk, item.next = number, bucket.first
    bucket.first = clock.items
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
    if z >= clock.most_states or z >= len(states):
        clock.full = TOO_MANY if z >= clock.most_states else NO_ROOM
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


def leave(bound, number, graph, query, evidence, states, walks, answers, items, buckets, marks, clock, hops):
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
                    answers, items, buckets, marks, clock, hops,
                )  # fmt: skip
                if clock.full:
                    return
                pass_silent = pass_silent and speaks != 0
            elif least > bound:
                next_bound = min(next_bound, least)
    if next_bound < FAR:
        put(next_bound, state.steps, True, number, items, buckets, clock)


def follow(
    ends_there, texts, number, run, speaks, cost, mask, graph, query, evidence, states, walks, answers,
    items, buckets, marks, clock, hops,
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
    if clock.looked > clock.most_looked:
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
                items, buckets, clock, hops,
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
    if y >= clock.most_states or y >= len(answers):
        clock.full = TOO_MANY if y >= clock.most_states else NO_ROOM
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
    z, cost, before, kind, rank_here, slot, mass, relations, query, states, walks, items, buckets,
    clock, hops,
):  # fmt: skip
    """One more walk into a state, which keeps the cheapest, and the cheapest by another relation than
    that."""
    one = walks[2 * z]
    two = walks[2 * z + 1]
    relation = relations[slot]
    if one.cost == FAR or (relation == relations[one.slot] and cost < one.cost):
        set_walk(one, cost, before, kind, rank_here, slot, mass)
        turn(2 * z, one, query, states[z], items, buckets, clock, hops)
    elif relation == relations[one.slot]:
        if cost == one.cost:
            one.mass += mass
    elif cost < one.cost:
        is_new = one.cost < two.cost
        copy_walk(two, one)
        set_walk(one, cost, before, kind, rank_here, slot, mass)
        turn(2 * z, one, query, states[z], items, buckets, clock, hops)
        if is_new:
            turn(2 * z + 1, two, query, states[z], items, buckets, clock, hops)
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
            turn(2 * z + 1, two, query, states[z], items, buckets, clock, hops)
    elif cost < two.cost:
        set_walk(two, cost, before, kind, rank_here, slot, mass)
        turn(2 * z + 1, two, query, states[z], items, buckets, clock, hops)
    elif cost == two.cost:
        two.mass += mass
        if (rank_here, slot) < (two.rank, two.slot):
            set_walk(two, cost, before, kind, rank_here, slot, two.mass)


def turn(number, walk, query, state, items, buckets, clock, hops):
    """Put on the agenda that a state is to be left by this walk."""
    bound = walk.cost + query.step + query.least[min(hops - state.steps, MOST_SLOTS), state.mask]
    put(bound, state.steps, False, number, items, buckets, clock)


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


def describe(graph, memory, rows, first, count):
    """Write entities, keys, steps and walks of the first rows of memory.keys and .shown."""
    for row in range(first, first + count):
        shown = memory.shown[row - first]
        rows.keys[row] = memory.keys[row - first]
        rows.walks[row] = NO_STEP
        if shown < 0:
            rows.entities[row], rows.steps[row] = -1 - shown, 0
            continue
        answer = memory.answers[shown]
        rows.entities[row], rows.steps[row] = answer.entity, answer.steps + 1
        rows.walks[row, answer.steps] = graph.relations[answer.slot]
        number = answer.before
        for step in range(answer.steps - 1, -1, -1):
            rows.walks[row, step] = graph.relations[memory.walks[number].slot]
            number = memory.walks[number].before


CALLED = (
    filled_by, step_price, told, damped, key_of, off_seed, put, mark, own_words, set_walk, copy_walk,
    state_of, is_to_leave, answer_of, comes_first, turn, merge, follow, leave, joined, settled, place_of,
    stands_before, swap, sink, best_first, fill, rank_one, describe,
)  # fmt: skip
