"""The cheapest explanation of every entity near the seeds: best-first search over what a walk has explained.

A state is (entity, mention, steps, slots filled): where a walk from one of a mention's seeds stands, and
which slots of the question its steps have explained. A step costs more where nothing in the question speaks
for it (`step_price`), less where the texts of its relation or end hold words of the question (`told`). An
answer pays for its walk, for each slot left empty, and where it isn't what the question asks for.

The agenda holds what may be done next by the least cost that any explanation through it can have: leave a
state; look at the ends of a run (an entity's relations of one type and direction) as answers; go on from
them. So nothing is looked at that cannot be among the best, hubs least of all, and once the least bound is
beyond the costs of enough answers, these are final. Costs are whole numbers, masses too, and what has
equal bounds is done in an order that no file decides: the ranking is the same for any order of entities and
relations, any number of threads, compiled (search_fast.py) or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from msgspec import Struct

from tiny_graph_rag.retrieval.search_fast import (
    EITHER,
    FAR,
    LOOK_AGAIN,
    NOT_CROSSED,
    NOT_RETURNED,
    ONE_OF_SEEDS,
    WITH,
    WITHOUT,
    Evidence,
    Mentions,
    Prices,
    Query,
    RunColumns,
    filled_by,
    key_of,
    off_seed,
    step_price,
    told,
)  # fmt: skip

NO_KIND, NO_RELATION = -2, -1  # of a step before the first
FIRST, SECOND = 0, 1  # walk into a state
NO_ANSWERS: dict[int, Answer] = {}
# bound, (whether its ends are answers, which ends, slots that its kind speaks for, cost, slots filled)
Offer = tuple[int, tuple[bool, int, int, int, int]]
Way = tuple[int, int, bool, int, int, int, int]  # a run, its kind, and as an Offer has it


class TooMuchError(Exception):
    """A limit is reached. looked: whether it is that of relations looked at; deepest: steps of the longest
    walk begun."""

    def __init__(self, *, looked: bool, deepest: int) -> None:
        self.looked, self.deepest = looked, deepest


# None of these leads back to itself, so the garbage collector need not know them.


class Walk(Struct, eq=False, gc=False):
    """Into a state (the last four fields), over a relation of this kind (its type and direction).

    order: of equally cheap walks the first by it is shown. mass: of all that cost as much.
    """

    cost: int
    mass: int
    order: tuple[int, int]
    relation: int
    kind: int
    before: Walk | None
    entity: int
    mention: int
    steps: int
    mask: int


class State(Struct, eq=False, gc=False):
    """walks: the cheapest into it, and the cheapest by another relation, which alone may go straight back
    over the first one's."""

    entity: int
    mention: int
    steps: int
    mask: int
    walks: list[Walk]


class Answer(Struct, eq=False, gc=False):
    """An entity's cheapest explanation from one mention. cost, mask: of its walk, which goes on from `before`
    over `relation`; lands: whether that is on the question's focus; order: as a Walk's, fewer steps first."""

    energy: int
    mass: int
    order: tuple[int, int, int, int, int]
    cost: int
    mask: int
    lands: bool
    relation: int
    before: Walk

    @property
    def steps(self) -> int:
        return self.before.steps + 1

    @property
    def relations(self) -> list[int]:
        """Walked to the answer, from a seed on."""
        relations, walk = [self.relation], self.before
        while walk.before is not None:
            relations.append(walk.relation)
            walk = walk.before
        return relations[::-1]


class Row(NamedTuple):
    """A ranked entity. steps: of the path shown; shown: the answer that it is of, None of a seed."""

    key: int
    steps: int
    name_rank: int
    entity: int
    shown: Answer | None


class Step(NamedTuple):
    """Over `relation` to `entity`, for `cost`; filled: slots that it explains."""

    relation: int
    entity: int
    cost: int
    filled: int


class Trail(NamedTuple):
    """What a ranked entity's cost is made of. walks: one of each mention that explains it, the one shown
    first. Then what is paid at the end: where the last step isn't on the focus, or the entity not of the kind
    asked for, for mentions left out, and for each slot left empty (slot, weight)."""

    walks: tuple[tuple[Step, ...], ...]
    off_focus: int
    off_head: int
    left_out: int
    left: tuple[tuple[int, int], ...]

    @property
    def energy(self) -> int:
        """All parts together."""
        steps = sum(step.cost for walk in self.walks for step in walk)
        slots = sum(weight for _, weight in self.left)
        return steps + self.off_focus + self.off_head + self.left_out + slots


class Search:
    """One question's search. most_looked, most_states: limits of relations looked at, and of states or
    answers."""

    def __init__(
        self,
        graph: RunColumns,
        query: Query,
        price: Prices,
        evidence: Evidence,
        mentions: Mentions,
        hops: int,
        depth: int,
        most_looked: int,
        most_states: int,
    ) -> None:
        self.graph, self.query, self.price, self.evidence = graph, query, price, evidence
        self.mentions, self.hops, self.depth = mentions, hops, depth
        self.most_looked, self.most_states = most_looked, most_states
        self.looked = self.answer_count = self.deepest = 0
        self.count = len(mentions.pointers) - 1
        self.seeds = set(mentions.seeds)
        # What is paid for slots left empty and for being off the focus, by whether a walk lands on it.
        self.at_the_end = [left + price.off_focus for left in query.left], query.left
        self.agenda: dict[tuple[int, int, bool], list[tuple[State, int, Sequence[Way]]]] = {}
        self.keys: list[tuple[int, int, bool]] = []
        self.states: dict[tuple[int, int, int, int], State] = {}
        self.states_at: dict[tuple[int, int], list[State]] = defaultdict(list)
        self.answers: dict[int, dict[int, Answer]] = defaultdict(dict)

    def rank(self) -> list[Row]:
        """The best `depth` entities. Raises TooMuchError."""
        pointers, seeds, masses = self.mentions
        for mention in range(self.count):
            for place in range(pointers[mention], pointers[mention + 1]):
                seed = seeds[place], mention, 0, 0
                state = self._state(*seed)
                if not state.walks:
                    state.walks.append(Walk(0, masses[place], (0, -1), NO_RELATION, NO_KIND, None, *seed))
                    if self.hops:
                        self._put(0, state, FIRST)
        # Another mention may fill everything that this one leaves empty.
        slack = self.query.left[0] + self.price.off_focus + self.price.off_head if self.count > 1 else 0
        next_look, upto = 0, FAR
        while self.keys:
            bound, steps, goes = heappop(self.keys)
            if self.answer_count >= self.depth and bound - slack > next_look:
                next_look = bound - slack + LOOK_AGAIN
                if len(self._settled(bound - slack)) >= self.depth:
                    upto = bound - slack
                    break
            for state, which, ways in reversed(self.agenda.pop((bound, steps, goes))):
                if goes:
                    self._follow(bound, state, which, ways)
                else:
                    self._leave(bound, state, which)
        return self._rows(upto)

    def _state(self, entity: int, mention: int, steps: int, mask: int) -> State:
        key = entity, mention, steps, mask
        state = self.states.get(key)
        if state is None:
            if len(self.states) >= self.most_states:
                raise TooMuchError(looked=False, deepest=max(self.deepest, steps + 1))
            state = self.states[key] = State(entity, mention, steps, mask, [])
            self.states_at[entity, mention].append(state)
        return state

    def _put(self, bound: int, state: State, which: int, ways: Sequence[Way] = ()) -> None:
        """To be left, without ways; or left by these."""
        key, item = (bound, state.steps, len(ways) > 0), (state, which, ways)
        if key in self.agenda:
            self.agenda[key].append(item)
        else:
            self.agenda[key] = [item]
            heappush(self.keys, key)

    def _bound(self, state: State, walk: Walk) -> int:
        """The least cost of an explanation that goes on from a state."""
        left: int = self.query.least[(self.hops - state.steps) * len(self.query.left) + state.mask]
        return walk.cost + self.price.step + left

    def _leave(self, bound: int, state: State, which: int) -> None:
        """Put the ways out of a state on the agenda by what they cost at least, unless another state there
        explains as much for no more."""
        walks = state.walks
        if state.steps and bound != self._bound(state, walks[which]):
            return  # a cheaper walk came meanwhile
        for rival in self.states_at[state.entity, state.mention]:
            if (
                rival is not state
                and rival.steps <= state.steps
                and rival.mask | state.mask == rival.mask
                and rival.walks[FIRST].cost <= walks[FIRST].cost
            ):
                return
        self.deepest = max(self.deepest, state.steps + 1)
        graph, types = self.graph, self.evidence.types
        first, last = graph.run_ptr[state.entity], graph.run_ptr[state.entity + 1]
        ways: dict[int, list[Way]] = {}
        silent: list[Offer] = []  # the same of all kinds that nothing in the question speaks for
        for run, kind in enumerate(graph.kind[first:last].tolist(), first):
            if which == SECOND and kind != walks[FIRST].kind ^ 1:
                continue  # this walk only goes straight back
            offers = silent
            if types[kind >> 1]:
                offers = self._offers(state, walks[which], kind)
            elif not silent:
                offers = silent = self._offers(state, walks[which], kind)
            for least, offer in offers:
                ways.setdefault(least, []).append((run, kind, *offer))
        for least, together in ways.items():
            self._put(least, state, which, together)

    def _offers(self, state: State, walk: Walk, kind: int) -> list[Offer]:
        """What a step of this kind may do: to end with an answer, or to go on; apart from each other at ends
        whose texts fill slots and at those that don't."""
        query, price = self.query, self.price
        speaks = self.evidence.types[kind >> 1]
        low = filled_by(kind, speaks, state.mask, walk.kind, query.back)
        cost, mask = walk.cost + step_price(kind, speaks, state.mask, low, price), state.mask | low
        more, words = self.hops - state.steps - 1, query.words & ~mask
        on_focus = not query.focus or query.focus & (speaks | query.words)
        offers: list[Offer] = []
        for texts in (WITHOUT, WITH) if words else (EITHER,):
            fills = words if texts == WITH else 0
            bound = cost - told(fills, speaks, query.weight, price.unexplained)
            ends = bound + query.left[mask | fills] + (0 if on_focus else price.off_focus)
            offers.append((ends, (True, texts, speaks, cost, mask)))
            if more:
                goes = bound + price.step + query.least[more * len(query.left) + mask]
                offers.append((goes, (False, texts, speaks, cost, mask)))
        return offers

    def _follow(self, bound: int, state: State, which: int, ways: Sequence[Way]) -> None:
        """Take the ends of these runs as answers or as places to go on from."""
        graph, query, evidence, seeds = self.graph, self.query, self.evidence, self.seeds
        walk, came_by = state.walks[which], state.walks[FIRST].relation
        strength, rank = graph.strength[state.entity], graph.name_rank[state.entity]
        left = NO_RELATION if which == SECOND else came_by  # the relation that isn't walked
        met = 0
        for run, kind, answers, texts, speaks, cost, filled in ways:
            first, last = graph.run_start[run], graph.run_start[run + 1]
            if which == SECOND:
                relations = graph.relations[first:last].tolist()
                if came_by not in relations:
                    continue
                first += relations.index(came_by)
                last = first + 1
            self.looked += last - first
            if self.looked > self.most_looked:
                raise TooMuchError(looked=True, deepest=self.deepest)
            forbidden = NOT_RETURNED if answers else NOT_CROSSED
            for slot in range(first, last):
                entity, relation = graph.neighbours[slot], graph.relations[slot]
                if relation == left or entity in seeds or graph.flags[entity] & forbidden:
                    continue
                known = self.answers.get(entity, NO_ANSWERS).get(state.mention) if answers else None
                if known is not None and known.energy < bound:
                    continue  # nothing on the agenda is cheaper any more
                if query.words:
                    met = self._own_words(entity) | evidence.relations[relation]
                    if texts and (texts == WITH) != (met & query.words & ~filled > 0):
                        continue
                mask = filled | met
                pays = cost - told(met & ~filled, speaks, query.weight, self.price.unexplained)
                mass = walk.mass * (graph.uniform or graph.units[relation]) // strength
                if not answers:
                    goal = entity, state.mention, state.steps + 1, mask
                    self._merge(
                        self._state(*goal), Walk(pays, mass, (rank, slot), relation, kind, walk, *goal)
                    )
                    continue
                lands = not query.focus or (speaks | met) & query.focus > 0
                energy = pays + self.at_the_end[lands][mask]
                if query.head and not met & query.head:
                    energy += self.price.off_head
                if known is None or energy <= known.energy:
                    order = state.steps, rank, mask, state.mask, slot
                    answer = Answer(energy, mass, order, pays, mask, lands, relation, walk)
                    self._take(entity, answer, known)

    def _take(self, entity: int, answer: Answer, known: Answer | None) -> None:
        """An entity's answer from a mention that is as cheap as the known one, or cheaper."""
        if known is None:
            self.answer_count += 1
            if self.answer_count > self.most_states:
                raise TooMuchError(looked=False, deepest=self.deepest)
        elif answer.energy == known.energy:
            known.mass = answer.mass = known.mass + answer.mass
            if answer.order > known.order:
                return
        self.answers[entity][answer.before.mention] = answer

    def _merge(self, state: State, walk: Walk) -> None:
        """One more walk into a state."""
        walks, cost = state.walks, walk.cost
        if not walks:
            state.walks = [walk]
            self._put(self._bound(state, walk), state, FIRST)
            return
        first, second = walks[FIRST], walks[SECOND] if len(walks) > 1 else None
        second_cost = FAR if second is None else second.cost
        if walk.relation == first.relation:
            if cost < first.cost:
                walks[FIRST] = walk
                self._put(self._bound(state, walk), state, FIRST)
            elif cost == first.cost:
                first.mass += walk.mass
            return
        if cost < first.cost:
            state.walks = [walk, first]
            self._put(self._bound(state, walk), state, FIRST)
        elif cost == first.cost:
            first.mass = walk.mass = first.mass + walk.mass
            if walk.order < first.order:
                state.walks = [walk, first]
            elif second is None or second.cost > cost or walk.order < second.order:
                state.walks = [first, walk]
            else:
                second.mass = first.mass
        elif cost < second_cost:
            state.walks = [first, walk]
        elif second is not None and cost == second.cost:
            walk.mass = second.mass = second.mass + walk.mass
            if walk.order < second.order:
                walks[SECOND] = walk
        if state.walks[SECOND].cost < second_cost:
            self._put(self._bound(state, state.walks[SECOND]), state, SECOND)

    def _settled(self, upto: int) -> list[tuple[int, int, int, Answer]]:
        """(entity, cost, mass, answer shown) of the entities whose cost is below that: it is final."""
        settled = []
        for entity, mine in self.answers.items():
            energy, mass, answers, _ = self._joined(mine)
            if energy < upto:
                settled.append((entity, energy, mass, answers[0]))
        return settled

    def _joined(self, mine: dict[int, Answer]) -> tuple[int, int, list[Answer], int]:
        """An entity's cheapest explanation over the mentions that reach it: cost, mass, the answers taken
        together, what is paid for the kind asked for.

        A mention that is left out costs other_seed; one that is taken in costs its own walk and fills its
        slots.
        """
        price = self.price
        if len(mine) == 1:
            (shown,) = mine.values()
            off_head = shown.energy - shown.cost - self.at_the_end[shown.lands][shown.mask]
            return shown.energy + (self.count - 1) * price.other_seed, shown.mass, [shown], off_head
        best = min(mine, key=lambda mention: (mine[mention].energy, mention))
        shown = mine[best]
        cost, mask, lands = shown.cost, shown.mask, shown.lands
        energy = shown.energy + (self.count - 1) * price.other_seed
        mass = sum(answer.mass for answer in mine.values() if answer.energy == shown.energy)
        off_head = shown.energy - cost - self.at_the_end[lands][mask]
        taken, together = {best: shown}, shown.mass
        while True:
            pick = None
            for mention in sorted(mine.keys() - taken.keys()):
                other = mine[mention]
                trial = cost + other.cost + off_head + (self.count - len(taken) - 1) * price.other_seed
                trial += self.at_the_end[lands or other.lands][mask | other.mask]
                if trial < energy:
                    energy, pick = trial, mention
            if pick is None:
                return energy, mass, list(taken.values()), off_head
            other = taken[pick] = mine[pick]
            cost, mask, lands = cost + other.cost, mask | other.mask, lands or other.lands
            mass = together = together + other.mass

    def _own_words(self, entity: int) -> int:
        """The slots that an entity's own texts fill."""
        evidence = self.evidence
        own: int = evidence.entities[entity] | evidence.entity_types[evidence.entity_type[entity]]
        return own

    def _rows(self, upto: int) -> list[Row]:
        """The best `depth` of what is settled and the seeds."""
        graph = self.graph
        rows: list[tuple[int, int, Answer | None]] = [
            (key_of(energy, mass, graph.strength[entity]), entity, shown)
            for entity, energy, mass, shown in self._settled(upto)
        ]
        if not self.query.exclude_seeds:
            masses = dict(zip(self.mentions.seeds[::-1], self.mentions.masses[::-1], strict=True))
            for seed, mass in masses.items():  # of two mentions' seed, the first one's mass
                if not graph.flags[seed] & NOT_RETURNED:
                    energy = self._energy_of_seed(seed)
                    rows.append((key_of(energy, mass, 1 << 16), seed, None))
        if len(rows) > self.depth:
            last = sorted(key for key, _, _ in rows)[self.depth - 1]
            rows = [row for row in rows if row[0] <= last]
        ranked = [
            Row(key, 0 if shown is None else shown.steps, graph.name_rank[entity], entity, shown)
            for key, entity, shown in rows
        ]
        return sorted(ranked, key=lambda row: row[:3])[: self.depth]

    def _energy_of_seed(self, seed: int) -> int:
        """A seed is worth what it leaves unexplained."""
        query, own = self.query, self._own_words(seed)
        if query.asks == ONE_OF_SEEDS:
            return 0
        energy: int = query.left[own] + (self.count - 1) * self.price.other_seed
        return energy + off_seed(own, query, self.price)

    def trail(self, row: Row) -> Trail:
        """What a ranked entity's cost is made of."""
        query, price = self.query, self.price
        if row.shown is None:
            own = self._own_words(row.entity)
            if query.asks == ONE_OF_SEEDS:
                return Trail((), 0, 0, 0, ())
            left_out = (self.count - 1) * price.other_seed
            empty = _by_slot(query.weight, ~own)
            return Trail((), off_seed(own, query, price), 0, left_out, empty)
        _, _, answers, off_head = self._joined(self.answers[row.entity])
        mask, lands = 0, False
        for answer in answers:
            mask, lands = mask | answer.mask, lands or answer.lands
        return Trail(
            tuple(_steps(row.entity, answer) for answer in answers),
            0 if lands else price.off_focus,
            off_head,
            (self.count - len(answers)) * price.other_seed,
            _by_slot(query.weight, ~mask),
        )


def _by_slot(weights: Sequence[int], mask: int) -> tuple[tuple[int, int], ...]:
    """(slot, weight) of the slots of a mask that weigh something; weights: by mask."""
    slots = range((len(weights) - 1).bit_length())
    return tuple((slot, weights[1 << slot]) for slot in slots if mask >> slot & 1 and weights[1 << slot])


def _steps(entity: int, answer: Answer) -> tuple[Step, ...]:
    """The steps of an answer's walk."""
    steps = []
    relation, cost, mask, before = answer.relation, answer.cost, answer.mask, answer.before
    while True:
        steps.append(Step(relation, entity, cost - before.cost, mask & ~before.mask))
        entity, relation, cost, mask = before.entity, before.relation, before.cost, before.mask
        if before.before is None:
            return tuple(steps[::-1])
        before = before.before
