"""The cheapest explanation of every entity: one source that runs interpreted and compiled.

Written in the part of Python that numba compiles, over lists or arrays alike, and with whole numbers only:
sums of whole numbers don't depend on their order, so a ranking is the same for any order of entities and
relations in the file, any number of threads, compiled or not.

A walk's state is (entity, slots filled). A layer holds the states that one more step reaches; for each state
the cheapest cost is kept with the damped mass of all walks of that cost, and beside it the cheapest among
walks that came by another relation, so that no walk goes straight back over the relation it came by.
"""

from __future__ import annotations

# mypy: ignore-errors
# ruff: noqa: RUF059
# Lists in one mode, arrays in the other: types here would say less than the names do.

FAR = 1 << 29  # more than any energy, and still an int32
MASS = 1 << 40  # one mention's walkers: fine enough for hubs, and 64 sums of it stay below 2^46
TIE_BITS = 30  # of a key: the part below the energy
WIDER = 500  # thousandths by which the bound is raised at least: fewer passes, none much too wide
MANTISSA = 24  # of those: the leading bits of the damped mass, after 6 bits of its length
NOT_RETURNED, NOT_CROSSED = 1, 2  # bits of an entity's flags
OVERFLOW = -1

STEP, AGAINST, UNEXPLAINED, AGAIN, EARLY, OFF_FOCUS, OFF_HEAD, OTHER_SEED = range(8)  # places in `price`


def rank(graph, flags, question, evidence, price, scratch, out, hops, depth, theta):
    """Rank the entities within `hops` of a question's seeds; -> rows written to `out`, or OVERFLOW.

    theta: the energy up to which explanations are looked for first. It is raised until `depth` entities have
    one, so far hubs are only searched where nearer things don't suffice; the result is the same for any
    theta.
    """
    (pointers, seeds, masses, slots) = question
    (left, least_left, word_weight, focus, head, back, has_words, exclude_seeds, asks) = slots
    (states, records, marks, temp, clock) = scratch
    (r_ent, r_energy, r_mass, r_from, r_edge, r_cost, r_mask, r_foc, r_len, r_group, r_next) = records
    (seen_tick, seen_head, best_tick, best_head, seed_mark, level_tick, level, queue) = marks
    (keys, chosen, rest) = out[6:]
    strength = graph[5]
    groups = len(pointers) - 1
    base = clock[0]
    for i in range(len(seeds)):
        seed_mark[seeds[i]] = base
    wanted = depth
    slack = 0
    if groups > 1:
        slack = left[0] + price[OFF_FOCUS] + price[OFF_HEAD]
    while True:
        clock[1] += 1
        clock[2] = 0  # states
        clock[3] = 0  # records
        clock[4] = FAR  # the smallest bound that was cut
        for group in range(groups):
            spread(graph, flags, evidence, slots, price, scratch, group, pointers, seeds, masses, hops,
                   theta, slack)  # fmt: skip
            if clock[4] == OVERFLOW:
                return OVERFLOW
        count = 0
        for z in range(clock[3]):
            if best_head[r_ent[z]] != z:
                continue  # a record of an entity that a later mention reached too
            energy, mass, best = settle(z, groups, left, focus, price, records)
            if energy <= theta:
                keys[count] = (energy << TIE_BITS) + ((1 << TIE_BITS) - 1 - damped(mass, strength[r_ent[z]]))
                chosen[count] = best
                count += 1
            else:
                clock[4] = min(clock[4], energy)
        if count >= wanted or clock[4] >= FAR:
            break
        theta = max(theta + WIDER, clock[4])
    if not exclude_seeds:
        for i in range(len(seeds)):
            v = seeds[i]
            if flags[v] & NOT_RETURNED:
                continue
            first = True  # a seed that two mentions name stands once
            for j in range(i):
                if seeds[j] == v:
                    first = False
            if not first:
                continue
            mine = 0
            if has_words:
                mine = evidence[6][evidence[5][v]]
                if evidence[3][v] == base:
                    mine |= evidence[4][v]
            energy = left[mine] + (groups - 1) * price[OTHER_SEED]
            if asks and (mine == 0 or (head and not mine & head)):
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
            if chosen[rows] >= 0 and r_len[chosen[rows]] > longest:
                longest = r_len[chosen[rows]]
            rows += 1
    levels(graph, flags, seeds, longest, marks, clock)
    name_rank = graph[7]
    for i in range(rows):
        z = chosen[i]
        v = -1 - z
        hop = 0
        if z >= 0:
            v = r_ent[z]
            hop = hop_of(graph, flags, v, r_len[z], longest, marks, clock)
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
    (s_ent, s_mask, s_chain, s_lead, s_older, s_dead, s_c1, s_p1, s_e1, s_k1, s_m1, s_c2, s_p2, s_e2, s_k2,
     s_m2) = states  # fmt: skip
    (r_ent, r_energy, r_mass, r_from, r_edge, r_cost, r_mask, r_foc, r_len, r_group, r_next) = records
    (seen_tick, seen_head, best_tick, best_head, seed_mark, level_tick, level, queue) = marks
    (t_mask, t_cost, t_from, a_mask, a_cost, a_mass, a_from) = temp
    base = clock[0]
    search = clock[1]
    n_states = clock[2]
    n_records = clock[3]
    cut = clock[4]
    width = len(left)
    off_focus = price[OFF_FOCUS]
    off_head = price[OFF_HEAD]
    unexplained = price[UNEXPLAINED]
    clock[5] += 1
    first_tick = clock[5]
    tick = first_tick
    layer = n_states
    for i in range(pointers[group], pointers[group + 1]):
        v = seeds[i]
        if seen_tick[v] == tick:
            continue
        if n_states >= len(s_ent):
            clock[4] = OVERFLOW
            clock[5] = tick  # marks of this try must look old to the next
            return
        z = n_states
        n_states += 1
        s_ent[z] = v
        s_mask[z] = 0
        s_c1[z] = 0
        s_p1[z] = -1
        s_e1[z] = -1
        s_k1[z] = -2
        s_m1[z] = masses[i]
        s_c2[z] = FAR
        s_chain[z] = -1
        s_lead[z] = 1
        s_older[z] = -1
        seen_tick[v] = tick
        seen_head[v] = z
    for length in range(1, hops + 1):
        layer_end = n_states
        tick += 1
        more = hops - length
        for first in range(layer, layer_end):
            u = s_ent[first]
            if not s_lead[first] or (length > 1 and flags[u] & NOT_CROSSED):
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
                    if s_dead[s]:
                        s = s_chain[s]
                        continue
                    for second in range(2):
                        mask = s_mask[s]
                        cost = s_c1[s]
                        last = s_k1[s]
                        if second:
                            cost = s_c2[s]
                            last = s_k2[s]
                            if cost >= FAR:
                                continue
                        free = speaks & ~mask
                        if last != kind ^ 1:
                            free &= ~back
                        low = free & -free
                        cost += price[STEP]
                        if speaks == 0:
                            cost += unexplained
                        else:
                            if kind & 1:
                                cost += price[AGAINST]
                            if free == 0:
                                cost += price[AGAIN]
                            elif (mask & (low - 1)) != low - 1:
                                cost += price[EARLY]
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
                    s = s_chain[s]
                if k == 0:
                    continue  # nothing on this run can be cheap enough: a hub is passed over at once
                for j in range(run_start[run], run_start[run + 1]):
                    v = neighbours[j]
                    if seed_mark[v] == base:
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
                        if (s_e1[s] == e) != (source & 1):
                            continue  # straight back go only walks that came by another relation
                        mass = s_m2[s] if source & 1 else s_m1[s]
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
                            if s_mask[s] < s_mask[a_from[p] >> 1]:
                                a_from[p] = source
                    for p in range(arrivals):
                        cost = a_cost[p]
                        mask = a_mask[p]
                        source = a_from[p]
                        mass = a_mass[p] * units[e] // strength[u]
                        # as an answer
                        energy = cost + left[mask]
                        if not lands:
                            energy += off_focus
                        if head and not words & head:
                            energy += off_head
                        if energy - slack > theta:
                            cut = min(cut, energy - slack)
                        elif not flags[v] & NOT_RETURNED:
                            z = -1
                            if best_tick[v] == search:
                                z = best_head[v]
                            fresh = z < 0 or r_group[z] != group
                            better = fresh
                            if fresh:
                                if n_records >= len(r_ent):
                                    clock[4] = OVERFLOW
                                    clock[5] = tick  # marks of this try must look old to the next
                                    return
                                r_next[n_records] = z
                                z = n_records
                                n_records += 1
                                best_head[v] = z
                                best_tick[v] = search
                                r_ent[z] = v
                                r_group[z] = group
                                r_mass[z] = mass
                            elif energy < r_energy[z]:
                                better = True
                                r_mass[z] = mass
                            elif energy == r_energy[z]:
                                r_mass[z] += mass
                                better = length < r_len[z]
                                if length == r_len[z]:
                                    a = name_rank[u]
                                    b = name_rank[s_ent[r_from[z] >> 1]]
                                    better = a < b or (a == b and mask < r_mask[z])
                            if better:
                                r_energy[z] = energy
                                r_from[z] = source
                                r_edge[z] = e
                                r_cost[z] = cost
                                r_mask[z] = mask
                                r_foc[z] = lands
                                r_len[z] = length
                        # as a place to go on from
                        if more == 0:
                            continue
                        bound = cost + price[STEP] + least_left[(more - 1) * width + mask] - slack
                        if bound > theta:
                            cut = min(cut, bound)
                            continue
                        last = -1
                        z = -1
                        if seen_tick[v] == tick:
                            z = seen_head[v]
                        while z >= 0 and s_mask[z] != mask:
                            last = z
                            z = s_chain[z]
                        if z < 0:
                            if n_states >= len(s_ent):
                                clock[4] = OVERFLOW
                                clock[5] = tick  # marks of this try must look old to the next
                                return
                            z = n_states
                            n_states += 1
                            s_ent[z] = v
                            s_mask[z] = mask
                            s_c1[z] = cost
                            s_p1[z] = source
                            s_e1[z] = e
                            s_k1[z] = kind
                            s_m1[z] = mass
                            s_c2[z] = FAR
                            s_chain[z] = -1
                            s_lead[z] = last < 0
                            if last < 0:
                                s_older[z] = seen_head[v] if seen_tick[v] >= first_tick else -1
                                seen_head[v] = z
                                seen_tick[v] = tick
                            else:
                                s_chain[last] = z
                        else:
                            merge(z, cost, source, e, kind, mass, u, states, name_rank)
        layer = layer_end
        if n_states == layer_end:
            break
    clock[2] = n_states
    clock[3] = n_records
    clock[4] = cut
    clock[5] = tick


def live(first, states):
    """Mark the states of an entity that go on: not those that explain no more than another and cost no less.

    Compared are the states of this layer and of earlier ones; -> whether any goes on.
    """
    (s_ent, s_mask, s_chain, s_lead, s_older, s_dead, s_c1, s_p1, s_e1, s_k1, s_m1, s_c2, s_p2, s_e2, s_k2,
     s_m2) = states  # fmt: skip
    any_live = False
    s = first
    while s >= 0:
        dead = False
        lead = first
        while lead >= 0 and not dead:
            z = lead
            while z >= 0:
                if z != s and s_c1[z] <= s_c1[s] and (s_mask[z] | s_mask[s]) == s_mask[z]:
                    dead = True
                    break
                z = s_chain[z]
            lead = s_older[lead]
        s_dead[s] = dead
        if not dead:
            any_live = True
        s = s_chain[s]
    return any_live


def merge(z, cost, source, e, kind, mass, u, states, name_rank):
    """One more walk into state z, by a relation that it was not reached by before.

    Of walks that cost the same, the one shown comes by the entity first in the house order; of one entity's
    relations, by the first in the order of slots, which is that of types and directions.
    """
    (s_ent, s_mask, s_chain, s_lead, s_older, s_dead, s_c1, s_p1, s_e1, s_k1, s_m1, s_c2, s_p2, s_e2, s_k2,
     s_m2) = states  # fmt: skip
    if cost < s_c1[z]:
        s_c2[z] = s_c1[z]
        s_p2[z] = s_p1[z]
        s_e2[z] = s_e1[z]
        s_k2[z] = s_k1[z]
        s_m2[z] = s_m1[z]
        s_c1[z] = cost
        s_p1[z] = source
        s_e1[z] = e
        s_k1[z] = kind
        s_m1[z] = mass
    elif cost == s_c1[z]:
        s_m1[z] += mass
        if name_rank[u] < name_rank[s_ent[s_p1[z] >> 1]]:
            s_p2[z] = s_p1[z]
            s_e2[z] = s_e1[z]
            s_k2[z] = s_k1[z]
            s_p1[z] = source
            s_e1[z] = e
            s_k1[z] = kind
        elif s_c2[z] > cost or name_rank[u] < name_rank[s_ent[s_p2[z] >> 1]]:
            s_p2[z] = source
            s_e2[z] = e
            s_k2[z] = kind
        s_c2[z] = cost
        s_m2[z] = s_m1[z]
    elif cost < s_c2[z]:
        s_c2[z] = cost
        s_p2[z] = source
        s_e2[z] = e
        s_k2[z] = kind
        s_m2[z] = mass
    elif cost == s_c2[z] and cost > s_c1[z]:
        s_m2[z] += mass
        if name_rank[u] < name_rank[s_ent[s_p2[z] >> 1]]:
            s_p2[z] = source
            s_e2[z] = e
            s_k2[z] = kind


def settle(z, groups, left, focus, price, records):
    """An entity's cheapest explanation over the mentions that reach it: -> energy, mass, its best record.

    A mention that is left out costs OTHER_SEED; one that is taken in costs its own walk and fills its slots.
    """
    (r_ent, r_energy, r_mass, r_from, r_edge, r_cost, r_mask, r_foc, r_len, r_group, r_next) = records
    best = z
    y = r_next[z]
    while y >= 0:
        if (r_energy[y], r_group[y]) < (r_energy[best], r_group[best]):
            best = y
        y = r_next[y]
    mass = 0
    y = z
    while y >= 0:
        if r_energy[y] == r_energy[best]:
            mass += r_mass[y]
        y = r_next[y]
    energy = r_energy[best] + (groups - 1) * price[OTHER_SEED]
    if r_next[z] < 0:
        return energy, mass, best
    head_price = r_energy[best] - r_cost[best] - left[r_mask[best]]
    if not r_foc[best]:
        head_price -= price[OFF_FOCUS]
    cost = r_cost[best]
    mask = r_mask[best]
    lands = r_foc[best]
    taken = 1 << r_group[best]
    joined = 1
    joined_mass = r_mass[best]
    while True:
        pick = -1
        y = z
        while y >= 0:
            if not taken & (1 << r_group[y]):
                trial = cost + r_cost[y] + left[mask | r_mask[y]] + head_price
                trial += (groups - joined - 1) * price[OTHER_SEED]
                if not (lands or r_foc[y]):
                    trial += price[OFF_FOCUS]
                if trial < energy or (trial == energy and pick >= 0 and r_group[y] < r_group[pick]):
                    pick = y
                    energy = trial
            y = r_next[y]
        if pick < 0:
            return energy, mass, best
        cost += r_cost[pick]
        mask |= r_mask[pick]
        lands = lands or r_foc[pick]
        taken |= 1 << r_group[pick]
        joined += 1
        joined_mass += r_mass[pick]
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


def levels(graph, flags, seeds, longest, marks, clock):
    """Mark the entities so near to a seed that `hop_of` finds every other's hop by a look at its slots."""
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric) = graph
    (seen_tick, seen_head, best_tick, best_head, seed_mark, level_tick, level, queue) = marks
    base = clock[0]
    count = 0
    for i in range(len(seeds)):
        v = seeds[i]
        if level_tick[v] != base:
            level_tick[v] = base
            level[v] = 0
            queue[count] = v
            count += 1
    done = 0
    while done < count:
        u = queue[done]
        done += 1
        if level[u] + 1 > longest - (2 if symmetric else 1):
            break
        if level[u] > 0 and flags[u] & NOT_CROSSED:
            continue
        for j in range(run_start[run_ptr[u]], run_start[run_ptr[u + 1]]):
            v = neighbours[j]
            if level_tick[v] != base:
                level_tick[v] = base
                level[v] = level[u] + 1
                queue[count] = v
                count += 1


def hop_of(graph, flags, v, length, longest, marks, clock):
    """Fewest steps from a seed to v, which a walk of `length` steps reaches."""
    (run_ptr, run_start, run_kind, neighbours, edges, strength, units, name_rank, symmetric) = graph
    (seen_tick, seen_head, best_tick, best_head, seed_mark, level_tick, level, queue) = marks
    base = clock[0]
    if level_tick[v] == base:
        return level[v]
    near = longest - 2 if longest > 2 else 0
    if length <= near + 1 or not symmetric:
        return length
    for j in range(run_start[run_ptr[v]], run_start[run_ptr[v + 1]]):
        w = neighbours[j]
        if level_tick[w] == base and (level[w] == 0 or not flags[w] & NOT_CROSSED):
            return near + 1
    return length


def write(rows, hops, entities, states, records, keys, chosen, rest, out):
    """The chosen rows as columns: entity, hop, key, slots filled, record, and the walk from its seed."""
    (s_ent, s_mask, s_chain, s_lead, s_older, s_dead, s_c1, s_p1, s_e1, s_k1, s_m1, s_c2, s_p2, s_e2, s_k2,
     s_m2) = states  # fmt: skip
    (r_ent, r_energy, r_mass, r_from, r_edge, r_cost, r_mask, r_foc, r_len, r_group, r_next) = records
    (o_entity, o_hop, o_key, o_mask, o_record, o_walk) = out[:6]
    for i in range(rows):
        z = chosen[i]
        o_key[i] = keys[i]
        o_hop[i] = rest[i] // entities
        o_record[i] = z
        for place in range(hops):
            o_walk[i * hops + place] = -1
        if z < 0:
            o_entity[i] = -1 - z
            o_mask[i] = 0
            continue
        o_entity[i] = r_ent[z]
        o_mask[i] = r_mask[z]
        place = r_len[z] - 1
        o_walk[i * hops + place] = r_edge[z]
        source = r_from[z]
        while place > 0:
            place -= 1
            s = source >> 1
            if source & 1:
                o_walk[i * hops + place] = s_e2[s]
                source = s_p2[s]
            else:
                o_walk[i * hops + place] = s_e1[s]
                source = s_p1[s]


CALLED = (spread, live, merge, settle, damped, border, sort, levels, hop_of, write)
