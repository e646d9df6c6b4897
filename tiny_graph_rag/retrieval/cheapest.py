"""A graph made ready for the kernel, and the kernel's memory.

Small graphs are walked interpreted over lists, large ones over the arrays' memory; compiled where that is
worth the start-up. The result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import zeros_as_touched
from tiny_graph_rag.columns.compiled import compiled
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval import kernel
from tiny_graph_rag.retrieval.filters import Filters
from tiny_graph_rag.retrieval.hubs import Asked, Hubs, Ranked
from tiny_graph_rag.retrieval.query import Reading
from tiny_graph_rag.retrieval.typed_adjacency import Runs
from tiny_graph_rag.run import NO_STEP, Cut

LISTS_UP_TO = 50_000  # slots and entities; below, lists are read three times as fast as arrays
FIRST_STATES = 1 << 13, 1 << 17  # room for states in lists and in arrays, whose pages cost nothing unused
MOST_SLOTS = 8
MENTIONS = 8  # that count singly; more of them are taken as one
NO_LIMIT = 1 << 60
COMPARED_UP_TO = 1 << 22  # relations whose weights are compared before the first question
MOST_STATES = (1 << 30) - 1  # walks into them are numbered by an int32
LAST_QUESTION = 1 << 30  # marks are int32; long before that they are wiped


@dataclass(frozen=True, slots=True)
class WeighedMention:
    """Seeds that one mention names, each with its share of the mention."""

    seeds: tuple[int, ...]
    shares: tuple[float, ...]


class CheapestWalks:
    """Ranks entities of one graph, question by question; one a thread, since it works in its own memory.

    most_steps, most_states: the settings of these names. A question that would go beyond one is ranked by
    fewer hops, as many as stay within. Which these are is the same for any order of questions: none learns
    from another.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        runs: Runs,
        filters: Filters,
        prices: Sequence[int],
        *,
        hops: int,
        depth: int,
        exclude_seeds: bool,
        fast: bool,
        most_steps: int = 0,
        most_states: int = 0,
    ) -> None:
        self.hops, self.depth, self.exclude_seeds, self.fast = hops, depth, exclude_seeds, fast
        self.prices = tuple(prices)  # the last, the share met on the way, may be left out
        self.most_steps = most_steps or NO_LIMIT
        self.most_states = min(most_states or MOST_STATES, MOST_STATES)
        entities, relations = len(graph), len(graph.relations)
        self._types = len(graph.relations.types.names)
        self.lists = not fast and len(runs.neighbours) + entities <= LISTS_UP_TO
        self.near_first = entities > 2 * depth  # else everything is looked at anyhow
        alike = graph.relations.weights.strides == (0,)
        self._hubs = Hubs(runs, filters, graph.name_rank, alike=alike)
        flags = np.zeros(entities, dtype=np.int8)
        if filters.returned is not None:
            flags[~filters.returned] |= kernel.NOT_RETURNED
        if filters.crossed is not None:
            flags[~filters.crossed] |= kernel.NOT_CROSSED
        arrays = (
            runs.run_ptr, runs.run_start, runs.kind, runs.neighbours, runs.relations, runs.strength,
            runs.units, graph.name_rank,
        )  # fmt: skip
        # The units of all relations, where they are the same: one random look less at each relation.
        alike = alike or (0 < relations <= COMPARED_UP_TO and int(np.ptp(runs.units)) == 0)
        even = int(runs.units[0]) if alike and relations else 0
        self._graph = (*map(self._given, arrays), runs.symmetric, even)
        self._flags = self._given(flags)
        self._evidence = (
            self._zeros(len(graph.relations.types.names) + 1, np.int64),
            self._zeros(relations, np.int32),
            self._zeros(relations, np.int32),
            self._zeros(entities, np.int32),
            self._zeros(entities, np.int32),
            self._given(graph.entities.types.codes),
            self._zeros(len(graph.entities.types.names) + 1, np.int64),
        )
        self._marks = self._zeros(kernel.M_ROW * entities, np.int32)
        self._queue = self._zeros(entities, np.int32)
        self._layers = self._zeros(MENTIONS * (hops + 1), np.int32)
        self._temp = tuple(self._zeros(2 << MOST_SLOTS, np.int64) for _ in range(11))
        self._clock = self._zeros(kernel.LENGTH + 1, np.int64)
        self._found = (
            *(self._zeros(depth, np.int64) for _ in range(4)),
            self._zeros(depth * hops, np.int32),
        )
        self._tables: dict[tuple[int, int], Prepared] = {}
        self._room(min(FIRST_STATES[not self.lists], self.most_states))

    def rank(self, mentions: Sequence[WeighedMention], reading: Reading) -> Ranked:
        """The entities within the hops of the mentions' seeds, best first, at most `depth`."""
        pointers, seeds, masses = _packed(mentions)
        if len(mentions) == 1 and self._hubs.is_wide(seeds):
            found = self._by_columns(seeds, masses, reading)
            if found is not None:
                return found
        least = 4 * len(seeds) + self.depth
        if 2 * len(seeds) + self.depth > self._capacity:
            self._room(least)
        question = (self._row(pointers), self._row(seeds), self._row(masses))
        most, hops, limit = max(self.most_states, least), self.hops, ""
        while True:
            rows = self._rows(question, reading, hops)
            if rows != kernel.OVERFLOW:
                break
            if self._clock[kernel.STEPS] <= self.most_steps and self._capacity < most:
                self._room(min(4 * self._capacity, most))
                continue
            limit = "max_states" if self._clock[kernel.STEPS] <= self.most_steps else "max_steps"
            hops = max(0, min(hops, int(self._clock[kernel.LENGTH])) - 1)
        entities, reached, keys, masks, walks = self._found
        walked = np.array(walks[: rows * hops], dtype=np.int32).reshape(rows, hops)
        if limit:
            walked = np.pad(walked, ((0, 0), (0, self.hops - hops)), constant_values=NO_STEP)
        return Ranked(
            np.array(entities[:rows], dtype=np.int32),
            np.array(reached[:rows], dtype=np.int32),
            np.array(keys[:rows], dtype=np.int64),
            np.array(masks[:rows], dtype=np.int64),
            walked,
            Cut(hops, limit, getattr(self, f"most{limit.removeprefix('max')}")) if limit else None,
        )

    def _by_columns(self, seeds: Sequence[int], masses: Sequence[int], reading: Reading) -> Ranked | None:
        """The ranking around seeds with many relations, where it can be found without the kernel."""
        prepared, types = self._prepared(reading, self.hops), [0] * self._types
        for place, slot in enumerate(reading.slots):
            for each in slot.types:
                types[each] |= 1 << place
        return self._hubs.rank(
            Asked(
                seeds, masses, types, prepared.slots, prepared.price, self.hops, self.depth, prepared.near,
                self.most_steps,
            )
        )  # fmt: skip

    def _rows(self, question: tuple[Any, Any, Any], reading: Reading, hops: int) -> int:
        """How many rows the kernel finds within so many hops, or OVERFLOW."""
        prepared = self._prepared(reading, hops)
        others = (len(question[0]) - 2) * self.prices[kernel.OTHER_SEED]
        theta = min(kernel.FAR, prepared.near + others)
        rank = compiled_rank() if self.fast else kernel.rank
        self._mark(reading)
        self._clock[kernel.STEPS], self._clock[kernel.MOST_STEPS] = 0, self.most_steps
        scratch = (
            *self._rows_of, self._marks, self._layers, self._temp, self._queue, self._clock,
        )  # fmt: skip
        out = (*self._found, *self._candidates)
        rows = rank(
            self._graph, self._flags, (*question, prepared.slots), self._evidence, prepared.price, scratch,
            out, hops, self.depth, theta,
        )  # fmt: skip
        self._unmark(reading)
        return int(rows)

    def _prepared(self, reading: Reading, hops: int) -> Prepared:
        """The reading as the kernel takes it, kept while questions repeat it."""
        kept = self._tables.get((id(reading), hops))
        if kept is None or kept.reading is not reading:
            if len(self._tables) >= KEPT_TABLES:
                self._tables.clear()
            kept = self._tables[id(reading), hops] = Prepared.of(
                reading,
                self.prices,
                self._row,
                hops,
                exclude_seeds=self.exclude_seeds,
                near_first=self.near_first,
            )
        return kept

    def _mark(self, reading: Reading) -> None:
        """Write the slots that types, relations and entities fill where the kernel reads them."""
        clock = self._clock
        if clock[kernel.BASE] > LAST_QUESTION:
            first, last = kernel.RELATION_MARK, kernel.ENTITY_SLOTS
            for marks in (self._marks, *self._evidence[first : last + 1]):
                marks[:] = self._zeros(len(marks), np.int32)
            clock[kernel.BASE] = 0
        clock[kernel.BASE] += 1
        base = clock[kernel.BASE]
        types, relation_mark, relation_slots, entity_mark, entity_slots, _, entity_types = self._evidence
        for place, slot in enumerate(reading.slots):
            bit = 1 << place
            for each in slot.types:
                types[each] |= bit
            for each in slot.found.entity_types:
                entity_types[each] |= bit
            _add(slot.found.relations, bit, base, relation_mark, relation_slots)
            _add(slot.found.entities, bit, base, entity_mark, entity_slots)

    def _unmark(self, reading: Reading) -> None:
        for slot in reading.slots:
            for each in slot.types:
                self._evidence[kernel.TYPE_SLOTS][each] = 0
            for each in slot.found.entity_types:
                self._evidence[kernel.ENTITY_TYPE_SLOTS][each] = 0

    def _room(self, states: int) -> None:
        self._capacity = states
        self._rows_of = (
            self._zeros(kernel.S_ROW * states, np.int32),
            self._zeros(2 * states, np.int64),
            self._zeros(kernel.R_ROW * states, np.int32),
            self._zeros(states, np.int64),
        )
        self._candidates = tuple(self._zeros(2 * states, np.int64) for _ in range(3))

    def _given(self, array: Any) -> Any:
        """What the kernel only reads: marked so, as mapped arrays are, that one compiled form serves both."""
        given = array.view()
        given.flags.writeable = False
        return array.tolist() if self.lists else self._readable(given)

    def _zeros(self, length: int, kind: type) -> Any:
        return [0] * length if self.lists else self._readable(zeros_as_touched(length, kind))

    def _row(self, values: Sequence[int]) -> Any:
        return np.array(values, dtype=np.int64) if self.fast else list(values)

    def _readable(self, array: NDArray[Any]) -> Any:
        """An array's memory as the kernel reads it best: interpreted, whole numbers instead of numpy's."""
        return array if self.fast else memoryview(array)  # type: ignore[arg-type]


def _add(rows: Iterable[int], bit: int, base: int, marks: Any, slots: Any) -> None:
    for row in rows:
        if marks[row] != base:
            marks[row] = base
            slots[row] = 0
        slots[row] |= bit


def _packed(mentions: Sequence[WeighedMention]) -> tuple[list[int], list[int], list[int]]:
    """Pointers into seeds, one a mention; seeds; their masses. The last of too many mentions are one."""
    pointers, seeds, masses = [0], list[int](), list[int]()
    for place, each in enumerate(mentions):
        seeds += each.seeds
        masses += [int(kernel.MASS * share) for share in each.shares]
        if place < MENTIONS - 1 or place == len(mentions) - 1:
            pointers.append(len(seeds))
    return pointers, seeds, masses


@cache
def compiled_rank() -> Callable[..., int]:
    """`kernel.rank` as machine code, and with it every kernel that it calls."""
    return compiled(kernel.rank, kernel.CALLED)


NEAR = 200  # thousandths added to the price of a straight way: the first bound of the search
KEPT_TABLES = 1 << 12


@dataclass(slots=True)
class Prepared:
    """A reading as the kernel takes it. near: the bound that the search begins with."""

    reading: Reading
    slots: tuple[Any, ...]
    price: Any
    near: int

    @classmethod
    def of(
        cls,
        reading: Reading,
        prices: Sequence[int],
        row: Callable[[Sequence[int]], Any],
        hops: int,
        *,
        exclude_seeds: bool,
        near_first: bool,
    ) -> Prepared:
        """row: makes a column of whole numbers as the kernel reads it best. near_first: raise the bound from
        near things on; without, everything is searched at once."""
        weights = tuple(slot.weight for slot in reading.slots)
        words = sum(1 << place for place, slot in enumerate(reading.slots) if not slot.types)
        near = hops * prices[kernel.STEP] + NEAR if near_first else kernel.FAR
        least = least_left(weights, words, hops) if near_first else (0,) * (hops << len(weights))
        price = list(prices)
        price[kernel.UNEXPLAINED] = reading.unexplained
        back = sum(1 << place for place, slot in enumerate(reading.slots) if slot.way_back)
        share = price[kernel.MET_ON_THE_WAY] if len(price) > kernel.MET_ON_THE_WAY else 0
        owed = filled(tuple(0 if slot.types else slot.weight * share // 1000 for slot in reading.slots))
        tables = tuple(map(row, (left_empty(weights), least, filled(weights))))
        flags = (reading.focus, reading.head, back, words, exclude_seeds, reading.asks)
        return cls(reading, (*tables, *flags, row(owed)), row(price), near)


@lru_cache(KEPT_TABLES)
def left_empty(weights: tuple[int, ...]) -> tuple[int, ...]:
    """What stays unexplained, by mask of slots filled."""
    total = sum(weights)
    return tuple(total - each for each in filled(weights))


@lru_cache(KEPT_TABLES)
def filled(weights: tuple[int, ...]) -> tuple[int, ...]:
    """The weight of a mask's slots, by mask."""
    sums = [0]
    for weight in weights:
        sums += [weight + each for each in sums]
    return tuple(sums)


@lru_cache(KEPT_TABLES)
def least_left(weights: tuple[int, ...], words: int, steps: int) -> tuple[int, ...]:
    """What must stay unexplained whatever comes, by (steps to go, mask), fewer than `steps` to go.

    A step fills one slot of a type at most; slots of words (bits of `words`) might all be filled by one.
    """
    table = []
    for more in range(steps):
        for mask in range(1 << len(weights)):
            empty = sorted(weight for place, weight in enumerate(weights) if not (mask | words) >> place & 1)
            table.append(sum(empty[: max(0, len(empty) - more)]))
    return tuple(table)
