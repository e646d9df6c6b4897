"""The cheapest explanation of every entity: one source that runs interpreted and compiled.

Written in the part of Python that numba compiles, over lists or arrays alike, and with whole numbers only:
sums of whole numbers don't depend on their order, so a ranking is the same for any order of entities and
relations in the file, any number of threads, compiled or not.

A walk's state is (entity, slots filled). A layer holds the states that one more step reaches; for each state
the cheapest cost is kept with the damped mass of all walks of that cost, and beside it the cheapest among
walks that came by another relation, so that no walk goes straight back over the relation it came by.

It is one long file because numba's cache on disk only notices changes in the file of the function that it
compiled.
"""

from __future__ import annotations

# mypy: ignore-errors
# ruff: noqa: RUF059
# Lists in one mode, arrays in the other: types here would say less than the names do.

FAR = 1 << 29  # more than any energy, and still an int32
MASS = 1 << 40  # one mention's walkers: fine enough for hubs, and 64 sums of it stay below 2^46
TIE_BITS = 30  # of a key: the part below the energy
WIDER = 500  # thousandths by which the bound is raised at least: fewer passes, none much too wide
FEW_SLOTS = (
    1 << 12
)  # of seeds: quicker to mark what lies at their ends than to look for it from a hundred rows
MANTISSA = 24  # of those: the leading bits of the damped mass, after 6 bits of its length
NOT_RETURNED, NOT_CROSSED = 1, 2  # bits of an entity's flags
OVERFLOW = -1
OTHERS, ONE_OF_SEEDS = 1, 2  # what a question asks for, where it doesn't ask for just anything

# States, records and an entity's marks lie in one block each, a row after another: what belongs to one lies
# together in memory, and a compiled call hands over one array. A state or record is named by where its row
# starts; a walk into a state by twice that, plus one for the second cheapest.
S_ROW = 16  # a state: entity, slots filled, the entity's next state, is its first, an older one, is dead
S_ENT, S_MASK, S_CHAIN, S_LEAD, S_OLDER, S_DEAD = range(6)
S_C1, S_P1, S_E1, S_K1, S_M1 = range(6, 11)  # the cheapest walk: cost, walk before, relation, its kind, mass
S_C2, S_P2, S_E2, S_K2, S_M2 = range(11, 16)  # the cheapest by another relation
R_ROW = 11  # a record: an entity's cheapest explanation from one mention
R_ENT, R_ENERGY, R_MASS, R_FROM, R_EDGE, R_COST, R_MASK, R_FOC, R_LEN, R_GROUP, R_NEXT = range(R_ROW)
M_ROW = 8  # marks of an entity; what a tick marks is of the search that has this tick
SEEN_TICK, SEEN_HEAD, BEST_TICK, BEST_HEAD, SEED_MARK, LEVEL_TICK, LEVEL, QUEUE = range(M_ROW)

# The clock counts across calls. BASE: questions; SEARCH: passes with one bound; TICK: layers. Of the pass at
# hand: where states and records end, the smallest bound that was cut (CUT), and where theta ended. Of it
# also the relations looked at (STEPS), of which there may be MOST_STEPS; and on OVERFLOW the step (LENGTH)
# that room or steps did not suffice for.
BASE, SEARCH, STATES_END, RECORDS_END, CUT, TICK, THETA, STEPS, MOST_STEPS, LENGTH = range(10)
# Evidence: slots that a type fills; whether a relation and an entity are marked for this question (BASE) and
# the slots that their texts fill; entities' types and the slots that these fill.
TYPE_SLOTS, RELATION_MARK, RELATION_SLOTS, ENTITY_MARK, ENTITY_SLOTS = range(5)
ENTITY_TYPE, ENTITY_TYPE_SLOTS = 5, 6
STEP, AGAINST, UNEXPLAINED, AGAIN, EARLY, OFF_FOCUS, OFF_HEAD, OTHER_SEED = range(8)  # places in `price`


def rank(graph, flags, question, evidence, price, scratch, out, hops, depth, theta):
    """Rank the entities within `hops` of a question's seeds; -> rows written to `out`, or OVERFLOW.

    OVERFLOW: states or records need more room than there is, or more relations would be looked at than may
    be (clock[STEPS] > clock[MOST_STEPS]); clock[LENGTH] tells at which step.

    theta: the energy up to which explanations are looked for first. It is raised until `depth` entities have
    one, so far hubs are only searched where nearer things don't suffice; the result is the same for any
    theta. Where it ended stands in clock[THETA].
    """
    (pointers, seeds, masses, slots) = question
    (left, least_left, word_weight, focus, head, back, has_words, exclude_seeds, asks) = slots
    (states, records, marks, temp, clock) = scratch
    (keys, chosen, rest) = out[5:]
    strength = graph[5]
    groups = len(pointers) - 1
    base = clock[BASE]
    for i in range(len(seeds)):
        marks[seeds[i] * M_ROW + SEED_MARK] = base
    wanted = depth
    slack = 0
    if groups > 1:
        slack = left[0] + price[OFF_FOCUS] + price[OFF_HEAD]
    while True:
        clock[SEARCH] += 1
        clock[STATES_END] = 0
        clock[RECORDS_END] = 0
        clock[STEPS] = 0
        clock[CUT] = FAR
        for group in range(groups):
            spread(graph, flags, evidence, slots, price, scratch, group, pointers, seeds, masses, hops,
                   theta, slack)  # fmt: skip
            if clock[CUT] == OVERFLOW:
                return OVERFLOW
        count = 0
        for z in range(0, clock[RECORDS_END], R_ROW):
            if marks[records[z + R_ENT] * M_ROW + BEST_HEAD] != z:
                continue  # a record of an entity that a later mention reached too
            energy, mass, best = settle(z, groups, left, focus, price, records)
            if energy <= theta:
                keys[count] = (energy << TIE_BITS) + (
                    (1 << TIE_BITS) - 1 - damped(mass, strength[records[z + R_ENT]])
                )
                chosen[count] = best
                count += 1
            else:
                clock[CUT] = min(clock[CUT], energy)
        if count >= wanted or clock[CUT] >= FAR:
            break
        theta = max(theta + WIDER, clock[CUT])
    clock[THETA] = theta
    if not exclude_seeds:
        for i in range(len(seeds)):
            v = seeds[i]
            if flags[v] & NOT_RETURNED or marks[v * M_ROW + SEED_MARK] != base:
                continue
            marks[v * M_ROW + SEED_MARK] = 0  # a seed that two mentions name stands once
            mine = 0
            if has_words:
                mine = evidence[ENTITY_TYPE_SLOTS][evidence[ENTITY_TYPE][v]]
                if evidence[ENTITY_MARK][v] == base:
                    mine |= evidence[ENTITY_SLOTS][v]
            energy = 0
            if asks != ONE_OF_SEEDS:
                energy = left[mine] + (groups - 1) * price[OTHER_SEED]
                if asks == OTHERS and (mine == 0 or (head and not mine & head)):
                    energy += price[OFF_FOCUS]
            keys[count] = (energy << TIE_BITS) + ((1 << TIE_BITS) - 1 - damped(masses[i], 1 << 16))
            chosen[count] = -1 - v
            count += 1
    limit = border(keys, count, depth, rest)
    rows = 0
    longest = 0
    for i in range(count):
        if keys[i] <= limit:
            keys[rows] = keys[i]
            chosen[rows] = chosen[i]
            if chosen[rows] >= 0 and records[chosen[rows] + R_LEN] > longest:
                longest = records[chosen[rows] + R_LEN]
            rows += 1
    near = marked_to(graph, seeds, longest)
    if levels(graph, flags, seeds, near, marks, clock) == OVERFLOW:
        clock[LENGTH] = longest
        return OVERFLOW
    name_rank = graph[7]
    for i in range(rows):
        z = chosen[i]
        v = -1 - z
        hop = 0
        if z >= 0:
            v = records[z + R_ENT]
            hop = hop_of(graph, flags, v, records[z + R_LEN], near, marks, clock)
        rest[i] = hop * len(name_rank) + name_rank[v]
    sort(keys, rest, chosen, rows)
    rows = min(rows, depth)
    write(rows, hops, len(name_rank), states, records, keys, chosen, rest, out)
    return rows


def spread(graph, flags, evidence, slots, price, scratch, group, pointers, seeds, masses, hops, theta, slack):
    """Walk from one mention's seeds and record each entity's cheapest explanation from there."""
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric) = graph
    (type_slots, relation_mark, relation_slots, entity_mark, entity_slots, entity_type, entity_type_slots) = (
        evidence
    )
    (left, least_left, word_weight, focus, head, back, has_words, exclude_seeds, asks) = slots
    (states, records, marks, temp, clock) = scratch
    (t_mask, t_cost, t_from, a_mask, a_cost, a_mass, a_from) = temp  # ways to leave by a run; arrivals
    base = clock[BASE]
    search = clock[SEARCH]
    n_states = clock[STATES_END]
    n_records = clock[RECORDS_END]
    cut = clock[CUT]
    steps = clock[STEPS]
    most_steps = clock[MOST_STEPS]
    width = len(left)
    off_focus = price[OFF_FOCUS]
    off_head = price[OFF_HEAD]
    unexplained = price[UNEXPLAINED]
    clock[TICK] += 1
    first_tick = clock[TICK]
    tick = first_tick
    layer = n_states
    n_states = start(pointers[group], pointers[group + 1], seeds, masses, n_states, states, marks, tick)
    if n_states == OVERFLOW:
        clock[CUT] = OVERFLOW
        clock[LENGTH] = 0
        clock[TICK] = tick  # marks of this try must look old to the next
        return
    for length in range(1, hops + 1):
        layer_end = n_states
        tick += 1
        more = hops - length
        for first in range(layer, layer_end, S_ROW):
            u = states[first + S_ENT]
            if not states[first + S_LEAD] or (length > 1 and flags[u] & NOT_CROSSED):
                continue  # an entity's states are handled together, at the first of them
            if not live(first, states):
                continue
            for run in range(run_ptr[u], run_ptr[u + 1]):
                kind = run_kind[run]
                speaks = type_slots[kind >> 1]
                on_focus = focus == 0 or (speaks & focus) != 0
                k = 0
                s = first
                while s >= 0:
                    if states[s + S_DEAD]:
                        s = states[s + S_CHAIN]
                        continue
                    for second in range(2):
                        mask = states[s + S_MASK]
                        cost = states[s + S_C1]
                        last = states[s + S_K1]
                        if second:
                            cost = states[s + S_C2]
                            last = states[s + S_K2]
                            if cost >= FAR:
                                continue
                        low = filled_by(kind, speaks, mask, last, back)
                        cost += step_price(kind, speaks, mask, low, price)
                        mask |= low
                        bound = cost + least_left[more * width + mask] - slack
                        if more == 0 and not on_focus:
                            bound += off_focus
                        if has_words or bound <= theta:
                            t_mask[k] = mask
                            t_cost[k] = cost
                            t_from[k] = 2 * s + second
                            k += 1
                        elif bound < cut:
                            cut = bound
                    s = states[s + S_CHAIN]
                if k == 0:
                    continue  # nothing on this run can be cheap enough: a hub is passed over at once
                steps += k * (run_start[run + 1] - run_start[run])
                if steps > most_steps:
                    clock[STEPS] = steps
                    clock[CUT] = OVERFLOW
                    clock[LENGTH] = length
                    clock[TICK] = tick
                    return
                for j in range(run_start[run], run_start[run + 1]):
                    v = neighbours[j]
                    at = v * M_ROW
                    if marks[at + SEED_MARK] == base:
                        continue
                    e = edges[j]
                    words = 0
                    if has_words:
                        if relation_mark[e] == base:
                            words = relation_slots[e]
                        if entity_mark[v] == base:
                            words |= entity_slots[v]
                        words |= entity_type_slots[entity_type[v]]
                    lands = on_focus or (words & focus) != 0
                    arrivals = 0
                    for i in range(k):
                        source = t_from[i]
                        s = source >> 1
                        if (states[s + S_E1] == e) != (source & 1):
                            continue  # straight back go only walks that came by another relation
                        mass = states[s + S_M2] if source & 1 else states[s + S_M1]
                        mask = t_mask[i]
                        cost = t_cost[i]
                        new = words & ~mask
                        if new:
                            if speaks == 0:
                                cost -= min(word_weight[new], unexplained)
                            mask |= new
                        p = 0
                        while p < arrivals and a_mask[p] != mask:
                            p += 1
                        if p == arrivals:
                            arrivals += 1
                            a_mask[p] = mask
                            a_cost[p] = cost
                            a_mass[p] = mass
                            a_from[p] = source
                        elif cost < a_cost[p]:
                            a_cost[p] = cost
                            a_mass[p] = mass
                            a_from[p] = source
                        elif cost == a_cost[p]:
                            a_mass[p] += mass
                            if states[s + S_MASK] < states[(a_from[p] >> 1) + S_MASK]:
                                a_from[p] = source
                    for p in range(arrivals):
                        cost = a_cost[p]
                        mask = a_mask[p]
                        source = a_from[p]
                        # as an answer
                        energy = cost + left[mask]
                        if not lands:
                            energy += off_focus
                        if head and not words & head:
                            energy += off_head
                        answers = energy - slack <= theta
                        if not answers:
                            cut = min(cut, energy - slack)
                        elif flags[v] & NOT_RETURNED:
                            answers = False
                        # as a place to go on from
                        goes_on = more > 0
                        if goes_on:
                            bound = cost + price[STEP] + least_left[more * width + mask] - slack
                            goes_on = bound <= theta
                            if not goes_on:
                                cut = min(cut, bound)
                        if not (answers or goes_on):
                            continue
                        mass = a_mass[p] * units[e] // strength[u]
                        if answers:
                            z = record_of(v, group, search, n_records, mass, energy, records, marks)
                            if z == OVERFLOW:
                                clock[CUT] = OVERFLOW
                                clock[LENGTH] = length
                                clock[TICK] = tick
                                return
                            n_records = max(n_records, z + R_ROW)
                            if improves(z, energy, mass, length, u, mask, states, records, name_rank):
                                records[z + R_ENERGY] = energy
                                records[z + R_FROM] = source
                                records[z + R_EDGE] = e
                                records[z + R_COST] = cost
                                records[z + R_MASK] = mask
                                records[z + R_FOC] = lands
                                records[z + R_LEN] = length
                        if not goes_on:
                            continue
                        z = state_of(v, mask, tick, first_tick, n_states, states, marks)
                        if z == OVERFLOW:
                            clock[CUT] = OVERFLOW
                            clock[LENGTH] = length + 1
                            clock[TICK] = tick
                            return
                        if z < n_states:
                            merge(z, cost, source, e, kind, mass, u, states, name_rank)
                        else:
                            n_states += S_ROW
                            states[z + S_C1] = cost
                            states[z + S_P1] = source
                            states[z + S_E1] = e
                            states[z + S_K1] = kind
                            states[z + S_M1] = mass
                            states[z + S_C2] = FAR
        layer = layer_end
        if n_states == layer_end:
            break
    clock[STATES_END] = n_states
    clock[RECORDS_END] = n_records
    clock[CUT] = cut
    clock[TICK] = tick
    clock[STEPS] = steps


def start(first, last, seeds, masses, n_states, states, marks, tick):
    """A state for each seed from `first` to `last`, nothing filled; -> where the states end, or OVERFLOW."""
    for i in range(first, last):
        v = seeds[i]
        if marks[v * M_ROW + SEEN_TICK] == tick:
            continue
        z = state_of(v, 0, tick, tick, n_states, states, marks)
        if z == OVERFLOW:
            return OVERFLOW
        n_states += S_ROW
        states[z + S_C1] = 0
        states[z + S_P1] = -1
        states[z + S_E1] = -1
        states[z + S_K1] = -2
        states[z + S_M1] = masses[i]
        states[z + S_C2] = FAR
    return n_states


def filled_by(kind, speaks, mask, last, back):
    """The slot that a step of this kind fills: of those it speaks for, the first empty one; 0 where none is.

    last: the kind of the step before; slots of `back` are only filled by its return.
    """
    free = speaks & ~mask
    if last != kind ^ 1:
        free &= ~back
    return free & -free


def step_price(kind, speaks, mask, low, price):
    """What a step costs that fills `low`, before what texts explain of it."""
    if speaks == 0:
        return price[STEP] + price[UNEXPLAINED]
    cost = price[STEP]
    if kind & 1:
        cost += price[AGAINST]
    if low == 0:
        cost += price[AGAIN]
    elif (mask & (low - 1)) != low - 1:
        cost += price[EARLY]
    return cost


def record_of(v, group, search, n_records, mass, energy, records, marks):
    """The record of v from this mention, a new one behind the last where there is none yet; or OVERFLOW.

    A new one has an energy above `energy`, which `improves` then replaces.
    """
    at = v * M_ROW
    z = -1
    if marks[at + BEST_TICK] == search:
        z = marks[at + BEST_HEAD]
    if z >= 0 and records[z + R_GROUP] == group:
        return z
    if n_records >= len(records):
        return OVERFLOW
    records[n_records + R_NEXT] = z
    z = n_records
    marks[at + BEST_HEAD] = z
    marks[at + BEST_TICK] = search
    records[z + R_ENT] = v
    records[z + R_GROUP] = group
    records[z + R_MASS] = mass
    records[z + R_ENERGY] = energy + 1
    return z


def improves(z, energy, mass, length, u, mask, states, records, name_rank):
    """Count a walk's mass in record z; -> whether the walk is to be shown: it is cheaper, or as cheap and
    shorter, or comes by the entity first in the house order, or fills the smaller mask."""
    if energy < records[z + R_ENERGY]:
        records[z + R_MASS] = mass
        return True
    if energy > records[z + R_ENERGY]:
        return False
    records[z + R_MASS] += mass
    if length != records[z + R_LEN]:
        return length < records[z + R_LEN]
    a = name_rank[u]
    b = name_rank[states[(records[z + R_FROM] >> 1) + S_ENT]]
    return a < b or (a == b and mask < records[z + R_MASK])


def state_of(v, mask, tick, first_tick, n_states, states, marks):
    """The state (v, mask) of this layer, a new one at `n_states` where there is none yet; or OVERFLOW."""
    at = v * M_ROW
    last = -1
    z = -1
    if marks[at + SEEN_TICK] == tick:
        z = marks[at + SEEN_HEAD]
    while z >= 0 and states[z + S_MASK] != mask:
        last = z
        z = states[z + S_CHAIN]
    if z >= 0:
        return z
    if n_states >= len(states):
        return OVERFLOW
    z = n_states
    states[z + S_ENT] = v
    states[z + S_MASK] = mask
    states[z + S_CHAIN] = -1
    states[z + S_LEAD] = last < 0
    if last < 0:
        states[z + S_OLDER] = marks[at + SEEN_HEAD] if marks[at + SEEN_TICK] >= first_tick else -1
        marks[at + SEEN_HEAD] = z
        marks[at + SEEN_TICK] = tick
    else:
        states[last + S_CHAIN] = z
    return z


def live(first, states):
    """Mark the states of an entity that go on: not those that explain no more than another and cost no less.

    Compared are the states of this layer and of earlier ones; -> whether any goes on.
    """
    any_live = False
    s = first
    while s >= 0:
        dead = False
        lead = first
        while lead >= 0 and not dead:
            z = lead
            while z >= 0:
                if (
                    z != s
                    and states[z + S_C1] <= states[s + S_C1]
                    and (states[z + S_MASK] | states[s + S_MASK]) == states[z + S_MASK]
                ):
                    dead = True
                    break
                z = states[z + S_CHAIN]
            lead = states[lead + S_OLDER]
        states[s + S_DEAD] = dead
        if not dead:
            any_live = True
        s = states[s + S_CHAIN]
    return any_live


def merge(z, cost, source, e, kind, mass, u, states, name_rank):
    """One more walk into state z, by a relation that it was not reached by before.

    Of walks that cost the same, the one shown comes by the entity first in the house order; of one entity's
    relations, by the first in the order of slots, which is that of types and directions.
    """
    if cost < states[z + S_C1]:
        states[z + S_C2] = states[z + S_C1]
        states[z + S_P2] = states[z + S_P1]
        states[z + S_E2] = states[z + S_E1]
        states[z + S_K2] = states[z + S_K1]
        states[z + S_M2] = states[z + S_M1]
        states[z + S_C1] = cost
        states[z + S_P1] = source
        states[z + S_E1] = e
        states[z + S_K1] = kind
        states[z + S_M1] = mass
    elif cost == states[z + S_C1]:
        states[z + S_M1] += mass
        if name_rank[u] < name_rank[states[(states[z + S_P1] >> 1) + S_ENT]]:
            states[z + S_P2] = states[z + S_P1]
            states[z + S_E2] = states[z + S_E1]
            states[z + S_K2] = states[z + S_K1]
            states[z + S_P1] = source
            states[z + S_E1] = e
            states[z + S_K1] = kind
        elif states[z + S_C2] > cost or name_rank[u] < name_rank[states[(states[z + S_P2] >> 1) + S_ENT]]:
            states[z + S_P2] = source
            states[z + S_E2] = e
            states[z + S_K2] = kind
        states[z + S_C2] = cost
        states[z + S_M2] = states[z + S_M1]
    elif cost < states[z + S_C2]:
        states[z + S_C2] = cost
        states[z + S_P2] = source
        states[z + S_E2] = e
        states[z + S_K2] = kind
        states[z + S_M2] = mass
    elif cost == states[z + S_C2] and cost > states[z + S_C1]:
        states[z + S_M2] += mass
        if name_rank[u] < name_rank[states[(states[z + S_P2] >> 1) + S_ENT]]:
            states[z + S_P2] = source
            states[z + S_E2] = e
            states[z + S_K2] = kind


def settle(z, groups, left, focus, price, records):
    """An entity's cheapest explanation over the mentions that reach it: -> energy, mass, its best record.

    A mention that is left out costs OTHER_SEED; one that is taken in costs its own walk and fills its slots.
    """
    best = z
    y = records[z + R_NEXT]
    while y >= 0:
        if (records[y + R_ENERGY], records[y + R_GROUP]) < (
            records[best + R_ENERGY],
            records[best + R_GROUP],
        ):
            best = y
        y = records[y + R_NEXT]
    mass = 0
    y = z
    while y >= 0:
        if records[y + R_ENERGY] == records[best + R_ENERGY]:
            mass += records[y + R_MASS]
        y = records[y + R_NEXT]
    energy = records[best + R_ENERGY] + (groups - 1) * price[OTHER_SEED]
    if records[z + R_NEXT] < 0:
        return energy, mass, best
    head_price = records[best + R_ENERGY] - records[best + R_COST] - left[records[best + R_MASK]]
    if not records[best + R_FOC]:
        head_price -= price[OFF_FOCUS]
    cost = records[best + R_COST]
    mask = records[best + R_MASK]
    lands = records[best + R_FOC]
    taken = 1 << records[best + R_GROUP]
    joined = 1
    joined_mass = records[best + R_MASS]
    while True:
        pick = -1
        y = z
        while y >= 0:
            if not taken & (1 << records[y + R_GROUP]):
                trial = cost + records[y + R_COST] + left[mask | records[y + R_MASK]] + head_price
                trial += (groups - joined - 1) * price[OTHER_SEED]
                if not (lands or records[y + R_FOC]):
                    trial += price[OFF_FOCUS]
                if trial < energy or (
                    trial == energy and pick >= 0 and records[y + R_GROUP] < records[pick + R_GROUP]
                ):
                    pick = y
                    energy = trial
            y = records[y + R_NEXT]
        if pick < 0:
            return energy, mass, best
        cost += records[pick + R_COST]
        mask |= records[pick + R_MASK]
        lands = lands or records[pick + R_FOC]
        taken |= 1 << records[pick + R_GROUP]
        joined += 1
        joined_mass += records[pick + R_MASS]
        mass = joined_mass


def damped(mass, strength):
    """Mass by the strength of where it arrives, as a number of TIE_BITS bits that keeps its order."""
    share = (mass << 16) // max(strength, 1)
    length = 0
    top = share
    while top:
        top >>= 1
        length += 1
    if length > MANTISSA + 1:
        part = (share >> (length - MANTISSA - 1)) & ((1 << MANTISSA) - 1)
    elif length > 0:
        part = (share << (MANTISSA + 1 - length)) & ((1 << MANTISSA) - 1)
    else:
        part = 0
    return (length << MANTISSA) | part


def border(keys, count, depth, heap):
    """The depth-th smallest key; FAR beyond all keys where there are fewer."""
    if count <= depth:
        return FAR << TIE_BITS
    size = 0
    for i in range(count):
        key = keys[i]
        if size < depth:
            at = size
            size += 1
            while at > 0 and heap[(at - 1) >> 1] < key:
                heap[at] = heap[(at - 1) >> 1]
                at = (at - 1) >> 1
            heap[at] = key
        elif key < heap[0]:
            at = 0
            while True:
                child = 2 * at + 1
                if child >= size:
                    break
                if child + 1 < size and heap[child + 1] > heap[child]:
                    child += 1
                if heap[child] <= key:
                    break
                heap[at] = heap[child]
                at = child
            heap[at] = key
    return heap[0]


def sort(keys, rest, chosen, count):
    """Order three columns by (key, rest), in place: shell sort, for a hundred rows or so."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            key = keys[i]
            other = rest[i]
            record = chosen[i]
            j = i
            while j >= gap and (keys[j - gap] > key or (keys[j - gap] == key and rest[j - gap] > other)):
                keys[j] = keys[j - gap]
                rest[j] = rest[j - gap]
                chosen[j] = chosen[j - gap]
                j -= gap
            keys[j] = key
            rest[j] = other
            chosen[j] = record
        gap //= 3


def marked_to(graph, seeds, longest):
    """The hop up to which `levels` marks entities, so that `hop_of` knows the others' or finds it by a look
    at their slots. Those two hops from seeds of few relations are not looked at: some of them may be hubs."""
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric) = graph
    if longest == 2 and symmetric:
        looked = 0
        for i in range(len(seeds)):
            looked += run_start[run_ptr[seeds[i] + 1]] - run_start[run_ptr[seeds[i]]]
        return 1 if looked <= FEW_SLOTS else 0
    return max(0, longest - (2 if symmetric else 1))


def levels(graph, flags, seeds, near, marks, clock):
    """Mark the entities up to that hop; -> how many, or OVERFLOW where that takes too many steps."""
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric) = graph
    base = clock[BASE]
    count = 0
    for i in range(len(seeds)):
        v = seeds[i]
        if marks[v * M_ROW + LEVEL_TICK] != base:
            marks[v * M_ROW + LEVEL_TICK] = base
            marks[v * M_ROW + LEVEL] = 0
            marks[count * M_ROW + QUEUE] = v
            count += 1
    done = 0
    while done < count:
        u = marks[done * M_ROW + QUEUE]
        done += 1
        if marks[u * M_ROW + LEVEL] + 1 > near:
            break
        if marks[u * M_ROW + LEVEL] > 0 and flags[u] & NOT_CROSSED:
            continue
        clock[STEPS] += run_start[run_ptr[u + 1]] - run_start[run_ptr[u]]
        if clock[STEPS] > clock[MOST_STEPS]:
            return OVERFLOW
        for j in range(run_start[run_ptr[u]], run_start[run_ptr[u + 1]]):
            v = neighbours[j]
            if marks[v * M_ROW + LEVEL_TICK] != base:
                marks[v * M_ROW + LEVEL_TICK] = base
                marks[v * M_ROW + LEVEL] = marks[u * M_ROW + LEVEL] + 1
                marks[count * M_ROW + QUEUE] = v
                count += 1
    return count


def hop_of(graph, flags, v, length, near, marks, clock):
    """Fewest steps from a seed to v, which a walk of `length` steps reaches."""
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric) = graph
    base = clock[BASE]
    if marks[v * M_ROW + LEVEL_TICK] == base:
        return marks[v * M_ROW + LEVEL]
    if length <= near + 1:
        return length
    for j in range(run_start[run_ptr[v]], run_start[run_ptr[v + 1]]):
        w = neighbours[j]
        if marks[w * M_ROW + LEVEL_TICK] == base and (
            marks[w * M_ROW + LEVEL] == 0 or not flags[w] & NOT_CROSSED
        ):
            return near + 1
    return length


def write(rows, hops, entities, states, records, keys, chosen, rest, out):
    """The chosen rows as columns: entity, hop, key, slots filled, and the walk from its seed."""
    (o_entity, o_hop, o_key, o_mask, o_walk) = out[:5]
    for i in range(rows):
        z = chosen[i]
        o_key[i] = keys[i]
        o_hop[i] = rest[i] // entities
        for place in range(hops):
            o_walk[i * hops + place] = -1
        if z < 0:
            o_entity[i] = -1 - z
            o_mask[i] = 0
            continue
        o_entity[i] = records[z + R_ENT]
        o_mask[i] = records[z + R_MASK]
        place = records[z + R_LEN] - 1
        o_walk[i * hops + place] = records[z + R_EDGE]
        source = records[z + R_FROM]
        while place > 0:
            place -= 1
            s = source >> 1
            if source & 1:
                o_walk[i * hops + place] = states[s + S_E2]
                source = states[s + S_P2]
            else:
                o_walk[i * hops + place] = states[s + S_E1]
                source = states[s + S_P1]


CALLED = (
    state_of, start, filled_by, step_price, record_of, improves, spread, live, merge, settle, damped, border,
    sort, marked_to, levels, hop_of, write,
)  # fmt: skip
