"""The cheapest explanation of every entity: one source that runs interpreted and compiled.

Written in the part of Python that numba compiles, over lists or arrays alike, and with whole numbers only:
sums of whole numbers don't depend on their order, so a ranking is the same for any order of entities and
relations in the file, any number of threads, compiled or not.

A walk's state is (entity, slots filled). A layer holds the states that one more step reaches; for each state
the cheapest cost is kept with the damped mass of all walks of that cost, and beside it the cheapest among
walks that came by another relation, so that no walk goes straight back over the relation it came by.

Nothing is searched that cannot be among the best: a search has a bound, theta, and does only what may lead
to an explanation of at most that energy. Where too few entities have one, theta is raised and the search goes
on from what was put off: each entity of a layer keeps the bound from which on it is due again, and of what it
did before, only what lies above the last theta is new. Costs only grow along a walk, so a later pass adds
dearer walks and changes none that was found.

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
WIDER, FINER = 500, 100  # thousandths by which theta is raised at least: few passes, none much too wide
FEW_SLOTS = 1 << 12  # of seeds: quicker to mark what lies at their ends than to look for it from many rows
MANTISSA = 24  # of those: the leading bits of the damped mass, after 6 bits of its length
NOT_RETURNED, NOT_CROSSED = 1, 2  # bits of an entity's flags
OVERFLOW = -1
OTHERS, ONE_OF_SEEDS = 1, 2  # what a question asks for, where it doesn't ask for just anything

# States, records and an entity's marks are rows of one block each, as short as a line of the processor's
# memory: what belongs to one is read at once, and a compiled call hands over one array. Masses stand beside
# them, for they alone are longer than an int32. A state or record is named by its row's number, a walk into
# a state by twice that, plus one for the second cheapest.
S_ROW = 16  # a state: entity, slots filled, the entity's next state of this layer, its first of an older one,
# mention and layer as one number; and at the first of an entity's states: the layer's next entity, and the
# bound from which on the entity is due
S_ENT, S_MASK, S_CHAIN, S_OLDER, S_PLACE, S_NEXT, S_DUE = range(7)
S_WAY, S_COST, S_FROM, S_EDGE, S_KIND = 4, 8, 9, 10, 11  # the cheapest walk: cost, walk before, relation, its
# kind; the cheapest by another relation S_WAY behind
R_ROW = 8  # a record: an entity's cheapest explanation from one mention; place: of the state it came from;
# filled: the slots, twice, and whether the last step is on the focus
R_ENT, R_ENERGY, R_FROM, R_EDGE, R_COST, R_FILLED, R_PLACE, R_NEXT = range(R_ROW)
M_ROW = 4  # marks of an entity, of the question whose number it bears: its newest state and record, and how
# far from a seed it lies
MARKED, STATE, RECORD, LEVEL = range(M_ROW)
SEED = 0  # that level

# The clock. BASE: questions so far. Of this one: how many states and records there are, the smallest bound
# that the last pass put off (CUT), the relations looked at (STEPS), of which there may be MOST_STEPS; and on
# OVERFLOW the step (LENGTH) that room or steps did not suffice for.
BASE, STATES, RECORDS, CUT, STEPS, MOST_STEPS, LENGTH = range(7)
# Evidence: slots that a type fills; whether a relation and an entity are marked for this question (BASE) and
# the slots that their texts fill; entities' types and the slots that these fill.
TYPE_SLOTS, RELATION_MARK, RELATION_SLOTS, ENTITY_MARK, ENTITY_SLOTS = range(5)
ENTITY_TYPE, ENTITY_TYPE_SLOTS = 5, 6
STEP, AGAINST, UNEXPLAINED, AGAIN, EARLY, OFF_FOCUS, OFF_HEAD, OTHER_SEED = range(8)  # places in `price`
MET_ON_THE_WAY = 8  # thousandths of a word's weight that are owed where the end's own texts don't hold it


def rank(graph, flags, question, evidence, price, scratch, out, hops, depth, theta):
    """Rank the entities within `hops` of a question's seeds; -> rows written to `out`, or OVERFLOW.

    OVERFLOW: states or records need more room than there is, or more relations would be looked at than may
    be (clock[STEPS] > clock[MOST_STEPS]); clock[LENGTH] tells at which step.

    theta: the energy up to which explanations are looked for first. It is raised until `depth` entities have
    one, so far hubs are only searched where nearer things don't suffice; the result is the same for any
    theta.
    """
    (pointers, seeds, masses, slots) = question
    (left, least_left, word_weight, focus, head, back, words, exclude_seeds, asks, owed) = slots
    (states, ways, records, arrived, marks, layers, temp, queue, clock) = scratch
    (keys, chosen, rest) = out[5:]
    strength = graph[5]
    groups = len(pointers) - 1
    base = clock[BASE]
    clock[STATES] = 0
    clock[RECORDS] = 0
    clock[LENGTH] = 0
    for place in range(groups * (hops + 1)):
        layers[place] = -1
    for group in range(groups):
        for i in range(pointers[group], pointers[group + 1]):
            at = marked(seeds[i], base, marks)
            marks[at + LEVEL] = SEED
            if start(seeds[i], group * (hops + 1), masses[i], states, ways, marks, layers, clock) == OVERFLOW:
                return OVERFLOW
    slack = 0
    if groups > 1:
        slack = left[0] + price[OFF_FOCUS] + price[OFF_HEAD]
    wider = WIDER if groups > 1 or words else FINER  # where it takes longer to see what is new
    last = -4 * FAR
    while True:
        clock[CUT] = FAR
        for group in range(groups):
            if (
                spread(graph, flags, evidence, slots, price, scratch, group, hops, last, theta, slack)
                == OVERFLOW
            ):
                return OVERFLOW
        count = 0
        if groups == 1:
            count = clock[RECORDS]
        else:
            for z in range(clock[RECORDS]):
                if marks[records[z * R_ROW + R_ENT] * M_ROW + RECORD] != z:
                    continue  # a record of an entity that a later mention reached too
                own = own_words(records[z * R_ROW + R_ENT], evidence, words, base)
                energy, mass, best = settle(z, groups, hops, left, owed, own, price, records, arrived)
                if energy <= theta:
                    strong = strength[records[z * R_ROW + R_ENT]]
                    keys[count] = (energy << TIE_BITS) + ((1 << TIE_BITS) - 1 - damped(mass, strong))
                    chosen[count] = best
                    count += 1
                else:
                    clock[CUT] = min(clock[CUT], energy)
        if count >= depth or clock[CUT] >= FAR:
            break
        last = theta
        theta = max(theta + wider, clock[CUT])
    if groups == 1:
        for z in range(count):
            strong = strength[records[z * R_ROW + R_ENT]]
            energy = records[z * R_ROW + R_ENERGY]
            keys[z] = (energy << TIE_BITS) + ((1 << TIE_BITS) - 1 - damped(arrived[z], strong))
            chosen[z] = z
    if not exclude_seeds:
        for i in range(len(seeds)):
            v = seeds[i]
            if flags[v] & NOT_RETURNED or marks[v * M_ROW + RECORD] >= 0:
                continue
            marks[v * M_ROW + RECORD] = 0  # a seed that two mentions name stands once
            mine = own_words(v, evidence, words, base)
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
            z = chosen[i]
            chosen[rows] = z
            if z >= 0:
                longest = max(longest, records[z * R_ROW + R_PLACE] % (hops + 1) + 1)
            rows += 1
    near = marked_to(graph, seeds, longest)
    if levels(graph, flags, seeds, near, marks, queue, clock) == OVERFLOW:
        clock[LENGTH] = longest
        return OVERFLOW
    name_rank = graph[7]
    for i in range(rows):
        z = chosen[i]
        v = -1 - z
        hop = 0
        if z >= 0:
            v = records[z * R_ROW + R_ENT]
            length = records[z * R_ROW + R_PLACE] % (hops + 1) + 1
            hop = hop_of(graph, flags, v, length, near, marks, clock)
        rest[i] = hop * len(name_rank) + name_rank[v]
    sort(keys, rest, chosen, rows)
    rows = min(rows, depth)
    write(rows, hops, len(name_rank), states, records, keys, chosen, rest, out)
    return rows


def spread(graph, flags, evidence, slots, price, scratch, group, hops, last, theta, slack):
    """Walk on from one mention's seeds, from what bounds above `last` and up to `theta` let do; record each
    entity's cheapest explanation from there. -> 0 or OVERFLOW; clock[CUT] tells what was put off."""
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric, alike) = graph
    (type_slots, relation_mark, relation_slots, entity_mark, entity_slots, entity_type, entity_type_slots) = (
        evidence
    )
    (left, least_left, word_weight, focus, head, back, words, exclude_seeds, asks, owed) = slots
    (states, ways, records, arrived, marks, layers, temp, queue, clock) = scratch
    (w_walk, w_mask, w_cost, w_kind, t_mask, t_cost, t_walk, a_mask, a_cost, a_mass, a_walk) = temp
    base = clock[BASE]
    cut = clock[CUT]
    steps = clock[STEPS]
    most_steps = clock[MOST_STEPS]
    width = len(left)
    off_focus = price[OFF_FOCUS]
    off_head = price[OFF_HEAD]
    unexplained = price[UNEXPLAINED]
    step = price[STEP]
    for length in range(1, hops + 1):
        place = group * (hops + 1) + length - 1  # of the states that the step leaves
        more = hops - length
        first = layers[place]
        while first >= 0:
            lead = first
            first = states[lead * S_ROW + S_NEXT]
            if states[lead * S_ROW + S_DUE] > theta:
                cut = min(cut, states[lead * S_ROW + S_DUE])
                continue
            clock[LENGTH] = max(clock[LENGTH], length)
            u = states[lead * S_ROW + S_ENT]
            due = FAR
            n_ways = 0
            if length == 1 or not flags[u] & NOT_CROSSED:
                n_ways = live(lead, place - length + 1, states, w_walk, w_mask, w_cost, w_kind)
            silent = FAR  # the least bound of a step that nothing speaks for
            for i in range(n_ways):
                mask = w_mask[i]
                bound = w_cost[i] + step + unexplained - slack
                if words:
                    bound -= min(word_weight[words & ~mask], unexplained)
                    mask |= words
                ends = bound + left[mask]
                if focus:
                    ends += off_focus
                if more:
                    ends = min(ends, bound + step + least_left[more * width + mask])
                silent = min(silent, ends)
            if silent > theta:
                due = silent
            low_run = run_ptr[u]
            high_run = run_ptr[u + 1] if n_ways else low_run
            for run in range(low_run, high_run):
                kind = run_kind[run]
                speaks = type_slots[kind >> 1]
                if speaks == 0 and silent > theta:
                    continue
                on_focus = focus == 0 or (speaks & focus) != 0
                k = 0
                news = False
                for i in range(n_ways):
                    mask = w_mask[i]
                    low = filled_by(kind, speaks, mask, w_kind[i], back)
                    cost = w_cost[i] + step_price(kind, speaks, mask, low, price)
                    mask |= low
                    bound = cost - slack
                    most = mask
                    if words:
                        most |= words
                        if speaks == 0:
                            bound -= min(word_weight[words & ~mask], unexplained)
                    ends = bound + left[most]
                    if not on_focus:
                        ends += off_focus
                    goes = FAR
                    if more:
                        goes = bound + step + least_left[more * width + mask]
                    if ends > theta:
                        due = min(due, ends)
                    if goes > theta:
                        due = min(due, goes)
                    if ends <= theta or goes <= theta:
                        t_mask[k] = mask
                        t_cost[k] = cost
                        t_walk[k] = w_walk[i]
                        k += 1
                        news = news or words or last < ends <= theta or last < goes <= theta
                if not news:
                    continue  # nothing on this run can be cheap enough: a hub is passed over at once
                low_slot = run_start[run]
                high_slot = run_start[run + 1]
                steps += k * (high_slot - low_slot)
                if steps > most_steps:
                    clock[STEPS] = steps
                    return OVERFLOW
                strong = strength[u]
                for j in range(low_slot, high_slot):
                    v = neighbours[j]
                    at = v * M_ROW
                    if marks[at + MARKED] == base and marks[at + LEVEL] == SEED:
                        continue
                    e = edges[j]
                    found = 0
                    own = 0
                    if words:
                        if entity_mark[v] == base:
                            own = entity_slots[v]
                        own |= entity_type_slots[entity_type[v]]
                        found = own
                        if relation_mark[e] == base:
                            found |= relation_slots[e]
                    arrivals = 0
                    for i in range(k):
                        walk = t_walk[i]
                        s = (walk >> 1) * S_ROW
                        if (states[s + S_EDGE] == e) != (walk & 1):
                            continue  # straight back go only walks that came by another relation
                        mass = ways[walk]
                        mask = t_mask[i]
                        cost = t_cost[i]
                        new = found & ~mask
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
                            a_walk[p] = walk
                        elif cost < a_cost[p]:
                            a_cost[p] = cost
                            a_mass[p] = mass
                            a_walk[p] = walk
                        elif cost == a_cost[p]:
                            a_mass[p] += mass
                            if states[s + S_MASK] < states[(a_walk[p] >> 1) * S_ROW + S_MASK]:
                                a_walk[p] = walk
                    lands = on_focus or (found & focus) != 0
                    for p in range(arrivals):
                        cost = a_cost[p]
                        mask = a_mask[p]
                        walk = a_walk[p]
                        # as an answer
                        energy = cost + left[mask] + owed[mask & ~own]
                        if not lands:
                            energy += off_focus
                        if head and not found & head:
                            energy += off_head
                        answers = last < energy - slack <= theta
                        if energy - slack > theta:
                            due = min(due, energy - slack)
                        if answers and flags[v] & NOT_RETURNED:
                            answers = False
                        # as a place to go on from
                        goes_on = False
                        if more:
                            bound = cost + step + least_left[more * width + mask] - slack
                            goes_on = last < bound <= theta
                            if bound > theta:
                                due = min(due, bound)
                        if not (answers or goes_on):
                            continue
                        mass = a_mass[p] * (alike or units[e]) // strong
                        marked(v, base, marks)
                        if answers:
                            z = record_of(v, place, hops, energy, records, arrived, marks, clock)
                            if z == OVERFLOW:
                                return OVERFLOW
                            if improves(z, energy, mass, place, u, mask, states, records, arrived, name_rank):
                                r = z * R_ROW
                                records[r + R_ENERGY] = energy
                                records[r + R_FROM] = walk
                                records[r + R_EDGE] = e
                                records[r + R_COST] = cost
                                records[r + R_FILLED] = 2 * mask + lands
                                records[r + R_PLACE] = place
                        if goes_on:
                            z = state_of(v, mask, place + 1, states, marks, layers, clock)
                            if z == OVERFLOW:
                                clock[LENGTH] = max(clock[LENGTH], length + 1)
                                return OVERFLOW
                            merge(z, cost, walk, e, kind, mass, u, states, ways, name_rank)
            states[lead * S_ROW + S_DUE] = due
            cut = min(cut, due)
    clock[CUT] = cut
    clock[STEPS] = steps
    return 0


def marked(v, base, marks):
    """Where an entity's marks stand, which are wiped if they are of an earlier question."""
    at = v * M_ROW
    if marks[at + MARKED] != base:
        marks[at + MARKED] = base
        marks[at + STATE] = -1
        marks[at + RECORD] = -1
        marks[at + LEVEL] = -1
    return at


def start(v, place, mass, states, ways, marks, layers, clock):
    """A state for a seed with nothing filled, unless there is one; -> OVERFLOW where there is no room."""
    z = state_of(v, 0, place, states, marks, layers, clock)
    if z == OVERFLOW:
        return OVERFLOW
    row = z * S_ROW
    if states[row + S_COST] == FAR:
        states[row + S_COST] = 0
        states[row + S_FROM] = -1
        states[row + S_EDGE] = -1
        states[row + S_KIND] = -2
        ways[2 * z] = mass
    return z


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


def own_words(v, evidence, words, base):
    """The slots that an entity's own texts fill."""
    if words == 0:
        return 0
    own = evidence[ENTITY_TYPE_SLOTS][evidence[ENTITY_TYPE][v]]
    if evidence[ENTITY_MARK][v] == base:
        own |= evidence[ENTITY_SLOTS][v]
    return own


def record_of(v, place, hops, energy, records, arrived, marks, clock):
    """The record of v from a place's mention, a new one where there is none yet; or OVERFLOW.

    A new one has an energy above `energy`, which `improves` then replaces.
    """
    newest = marks[v * M_ROW + RECORD]
    z = newest
    while z >= 0 and records[z * R_ROW + R_PLACE] // (hops + 1) != place // (hops + 1):
        z = records[z * R_ROW + R_NEXT]
    if z >= 0:
        return z
    z = clock[RECORDS]
    if z >= len(arrived):
        return OVERFLOW
    clock[RECORDS] = z + 1
    marks[v * M_ROW + RECORD] = z
    r = z * R_ROW
    records[r + R_ENT] = v
    records[r + R_ENERGY] = energy + 1
    records[r + R_PLACE] = place
    records[r + R_NEXT] = newest
    return z


def improves(z, energy, mass, place, u, mask, states, records, arrived, name_rank):
    """Count a walk's mass in record z; -> whether the walk is to be shown: it is cheaper, or as cheap and
    shorter, or comes by the entity first in the house order, or fills the smaller mask."""
    r = z * R_ROW
    if energy < records[r + R_ENERGY]:
        arrived[z] = mass
        return True
    if energy > records[r + R_ENERGY]:
        return False
    arrived[z] += mass
    if place != records[r + R_PLACE]:
        return place < records[r + R_PLACE]
    other = states[(records[r + R_FROM] >> 1) * S_ROW + S_ENT]
    if u == other:
        return mask < records[r + R_FILLED] >> 1
    return name_rank[u] < name_rank[other]


def state_of(v, mask, place, states, marks, layers, clock):
    """The state (v, mask) of the layer at `place`, a new one where there is none yet; or OVERFLOW.

    An entity's states hang together: the first of the newest layer, behind it the layer's others (S_CHAIN)
    and the first of the next older (S_OLDER). The entity is due again at once.
    """
    newer = -1
    lead = marks[v * M_ROW + STATE]
    while lead >= 0 and states[lead * S_ROW + S_PLACE] > place:
        newer = lead
        lead = states[lead * S_ROW + S_OLDER]
    behind = -1
    if lead >= 0 and states[lead * S_ROW + S_PLACE] == place:
        states[lead * S_ROW + S_DUE] = -2 * FAR
        z = lead
        while z >= 0 and states[z * S_ROW + S_MASK] != mask:
            behind = z
            z = states[z * S_ROW + S_CHAIN]
        if z >= 0:
            return z
    z = clock[STATES]
    if z * S_ROW >= len(states):
        return OVERFLOW
    clock[STATES] = z + 1
    row = z * S_ROW
    states[row + S_ENT] = v
    states[row + S_MASK] = mask
    states[row + S_PLACE] = place
    states[row + S_CHAIN] = -1
    states[row + S_COST] = FAR
    states[row + S_COST + S_WAY] = FAR
    if behind >= 0:
        states[behind * S_ROW + S_CHAIN] = z
        return z
    states[row + S_DUE] = -2 * FAR
    states[row + S_OLDER] = lead
    states[row + S_NEXT] = layers[place]
    layers[place] = z
    if newer >= 0:
        states[newer * S_ROW + S_OLDER] = z
    else:
        marks[v * M_ROW + STATE] = z
    return z


def live(lead, first_place, states, w_walk, w_mask, w_cost, w_kind):
    """Write the walks by which an entity's states of one layer go on; -> how many.

    A state goes on unless another, of this layer or an earlier one of the mention, explains as much and
    costs no more.
    """
    count = 0
    z = lead
    while z >= 0:
        row = z * S_ROW
        if not outdone(z, lead, first_place, states):
            w_walk[count] = 2 * z
            w_mask[count] = states[row + S_MASK]
            w_cost[count] = states[row + S_COST]
            w_kind[count] = states[row + S_KIND]
            count += 1
            if states[row + S_WAY + S_COST] < FAR:
                w_walk[count] = 2 * z + 1
                w_mask[count] = states[row + S_MASK]
                w_cost[count] = states[row + S_WAY + S_COST]
                w_kind[count] = states[row + S_WAY + S_KIND]
                count += 1
        z = states[row + S_CHAIN]
    return count


def outdone(state, lead, first_place, states):
    row = state * S_ROW
    while lead >= 0 and states[lead * S_ROW + S_PLACE] >= first_place:
        z = lead
        while z >= 0:
            other = z * S_ROW
            if (
                z != state
                and states[other + S_COST] <= states[row + S_COST]
                and (states[other + S_MASK] | states[row + S_MASK]) == states[other + S_MASK]
            ):
                return True
            z = states[other + S_CHAIN]
        lead = states[lead * S_ROW + S_OLDER]
    return False


def merge(z, cost, walk, e, kind, mass, u, states, ways, name_rank):
    """One more walk into state z, by a relation that it was not reached by before.

    Of walks that cost the same, the one shown comes by the entity first in the house order; of one entity's
    relations, by the first in the order of slots, which is that of types and directions.
    """
    one = z * S_ROW
    two = one + S_WAY
    if cost < states[one + S_COST]:
        for place in range(S_COST, S_COST + S_WAY):
            states[two + place] = states[one + place]
        ways[2 * z + 1] = ways[2 * z]
        shown(one, cost, walk, e, kind, states)
        ways[2 * z] = mass
    elif cost == states[one + S_COST]:
        ways[2 * z] += mass
        ways[2 * z + 1] = ways[2 * z]
        if precedes(u, one, states, name_rank):
            for place in range(S_COST, S_COST + S_WAY):
                states[two + place] = states[one + place]
            shown(one, cost, walk, e, kind, states)
        elif states[two + S_COST] > cost or precedes(u, two, states, name_rank):
            shown(two, cost, walk, e, kind, states)
        states[two + S_COST] = cost
    elif cost < states[two + S_COST]:
        shown(two, cost, walk, e, kind, states)
        ways[2 * z + 1] = mass
    elif cost == states[two + S_COST]:
        ways[2 * z + 1] += mass
        if precedes(u, two, states, name_rank):
            shown(two, cost, walk, e, kind, states)


def shown(at, cost, walk, e, kind, states):
    states[at + S_COST] = cost
    states[at + S_FROM] = walk
    states[at + S_EDGE] = e
    states[at + S_KIND] = kind


def precedes(u, at, states, name_rank):
    """Whether u stands before the entity that the walk at `at` comes by, in the house order."""
    return name_rank[u] < name_rank[states[(states[at + S_FROM] >> 1) * S_ROW + S_ENT]]


def settle(z, groups, hops, left, owed, own, price, records, arrived):
    """An entity's cheapest explanation over the mentions that reach it: -> energy, mass, its best record.

    A mention that is left out costs OTHER_SEED; one that is taken in costs its own walk and fills its slots.
    """
    width = hops + 1
    best = z
    y = records[z * R_ROW + R_NEXT]
    while y >= 0:
        if (records[y * R_ROW + R_ENERGY], records[y * R_ROW + R_PLACE] // width) < (
            records[best * R_ROW + R_ENERGY],
            records[best * R_ROW + R_PLACE] // width,
        ):
            best = y
        y = records[y * R_ROW + R_NEXT]
    mass = 0
    y = z
    while y >= 0:
        if records[y * R_ROW + R_ENERGY] == records[best * R_ROW + R_ENERGY]:
            mass += arrived[y]
        y = records[y * R_ROW + R_NEXT]
    row = best * R_ROW
    energy = records[row + R_ENERGY] + (groups - 1) * price[OTHER_SEED]
    if records[z * R_ROW + R_NEXT] < 0:
        return energy, mass, best
    cost = records[row + R_COST]
    mask = records[row + R_FILLED] >> 1
    lands = records[row + R_FILLED] & 1
    head_price = records[row + R_ENERGY] - cost - left[mask] - owed[mask & ~own]
    if not lands:
        head_price -= price[OFF_FOCUS]
    taken = 1 << (records[row + R_PLACE] // width)
    joined = 1
    joined_mass = arrived[best]
    while True:
        pick = -1
        y = z
        while y >= 0:
            row = y * R_ROW
            group = records[row + R_PLACE] // width
            if not taken & (1 << group):
                joint = mask | (records[row + R_FILLED] >> 1)
                trial = cost + records[row + R_COST] + left[joint] + owed[joint & ~own] + head_price
                trial += (groups - joined - 1) * price[OTHER_SEED]
                if not (lands or records[row + R_FILLED] & 1):
                    trial += price[OFF_FOCUS]
                if trial < energy or (
                    trial == energy and pick >= 0 and group < records[pick * R_ROW + R_PLACE] // width
                ):
                    pick = y
                    energy = trial
            y = records[row + R_NEXT]
        if pick < 0:
            return energy, mass, best
        row = pick * R_ROW
        cost += records[row + R_COST]
        mask |= records[row + R_FILLED] >> 1
        lands |= records[row + R_FILLED] & 1
        taken |= 1 << (records[row + R_PLACE] // width)
        joined += 1
        joined_mass += arrived[pick]
        mass = joined_mass


def damped(mass, strength):
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
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric, alike) = graph
    if longest == 2 and symmetric:
        looked = 0
        for i in range(len(seeds)):
            looked += run_start[run_ptr[seeds[i] + 1]] - run_start[run_ptr[seeds[i]]]
        return 1 if looked <= FEW_SLOTS else 0
    return max(0, longest - (2 if symmetric else 1))


def levels(graph, flags, seeds, near, marks, queue, clock):
    """Mark the entities up to that hop; -> how many, or OVERFLOW where that takes too many steps."""
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric, alike) = graph
    base = clock[BASE]
    count = 0
    for i in range(len(seeds)):
        if marks[seeds[i] * M_ROW + LEVEL] == SEED:
            queue[count] = seeds[i]
            count += 1
            marks[seeds[i] * M_ROW + LEVEL] = -1
    for i in range(count):
        marks[queue[i] * M_ROW + LEVEL] = SEED
    done = 0
    while done < count:
        u = queue[done]
        done += 1
        level = marks[u * M_ROW + LEVEL]
        if level >= near:
            break
        if level > SEED and flags[u] & NOT_CROSSED:
            continue
        low_slot = run_start[run_ptr[u]]
        high_slot = run_start[run_ptr[u + 1]]
        clock[STEPS] += high_slot - low_slot
        if clock[STEPS] > clock[MOST_STEPS]:
            return OVERFLOW
        for j in range(low_slot, high_slot):
            v = neighbours[j]
            at = marked(v, base, marks)
            if marks[at + LEVEL] < 0:
                marks[at + LEVEL] = level + 1
                queue[count] = v
                count += 1
    return count


def hop_of(graph, flags, v, length, near, marks, clock):
    """Fewest steps from a seed to v, which a walk of `length` steps reaches."""
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric, alike) = graph
    base = clock[BASE]
    if marks[v * M_ROW + LEVEL] >= 0:
        return marks[v * M_ROW + LEVEL]
    if length <= near + 1:
        return length
    for j in range(run_start[run_ptr[v]], run_start[run_ptr[v + 1]]):
        w = neighbours[j]
        at = w * M_ROW
        if (
            marks[at + MARKED] == base
            and marks[at + LEVEL] >= 0
            and (marks[at + LEVEL] == SEED or not flags[w] & NOT_CROSSED)
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
        row = z * R_ROW
        o_entity[i] = records[row + R_ENT]
        o_mask[i] = records[row + R_FILLED] >> 1
        place = records[row + R_PLACE] % (hops + 1)
        o_walk[i * hops + place] = records[row + R_EDGE]
        walk = records[row + R_FROM]
        while place > 0:
            place -= 1
            at = (walk >> 1) * S_ROW + S_WAY * (walk & 1)
            o_walk[i * hops + place] = states[at + S_EDGE]
            walk = states[at + S_FROM]


CALLED = (
    marked, state_of, start, filled_by, step_price, own_words, record_of, improves, outdone, live, shown,
    precedes, merge, spread, settle, damped, border, sort, marked_to, levels, hop_of, write,
)  # fmt: skip
