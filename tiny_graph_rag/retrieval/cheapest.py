"""A graph and a question made ready for the search, and the search's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import zeros_as_touched
from tiny_graph_rag.columns.compiled import compiled
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval import search_fast
from tiny_graph_rag.retrieval.filters import Filters
from tiny_graph_rag.retrieval.reading import Reading
from tiny_graph_rag.retrieval.search import Row, Search, TooMuch, Trail
from tiny_graph_rag.retrieval.search_fast import Evidence, Memory, Mentions, Out, Prices, Query, RunColumns
from tiny_graph_rag.retrieval.typed_adjacency import Runs
from tiny_graph_rag.run import NO_STEP, Cut

FIRST_STATES = 1 << 17  # room for states, of memory that costs nothing unused
MOST_SLOTS = 8
MENTIONS = 8  # that count singly; more of them are taken as one
NO_LIMIT = 1 << 60
COMPARED_UP_TO = 1 << 22  # relations whose weights are compared before the first question
MOST_STATES = (1 << 30) - 1  # walks into them are numbered by an int32
LAST_QUESTION = 1 << 30  # marks are int32; long before that they are wiped
KEPT_QUERIES = 1 << 12


@dataclass(frozen=True, slots=True)
class WeighedMention:
    """Seeds that one mention names, each with its share of the mention."""

    seeds: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """One question's ranking. keys: energy in thousandths, then the tie part; masks: slots filled;
    walks: (rows, hops) relations from a seed, filled up with NO_STEP. cut: where a limit ended the walks; it
    is then the ranking of so many hops."""

    entities: NDArray[np.int32]
    hops: NDArray[np.int32]
    keys: NDArray[np.int64]
    masks: NDArray[np.int64]
    walks: NDArray[np.int32]
    cut: Cut | None = None


class CheapestWalks:
    """Ranks entities of one graph, question by question; one a thread, since it works in its own memory.

    prices: as search_fast.Prices has them. fast: compiled. most_steps, most_states: the settings of these
    names. A question that would go beyond one is ranked by fewer hops, as many as stay within. Which these are
    is the same for any order of questions: none learns from another.
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
        self.prices = Prices(*prices)
        self.most_steps = most_steps or NO_LIMIT
        self.most_states = min(most_states or MOST_STATES, MOST_STATES)
        self._graph = _columns(graph, runs, filters)
        types, kinds = graph.relations.types.names, graph.entities.types
        self._evidence = Evidence(
            np.zeros(len(types) + 1, np.int64),
            zeros_as_touched(len(graph.relations), np.uint8),
            zeros_as_touched(len(graph), np.uint8),
            _read_only(kinds.codes),
            np.zeros(len(kinds.names) + 1, np.int64),
        )
        # Read one by one, whole numbers of a memoryview are quicker than numpy's.
        self._graph_read, self._evidence_read = _readable(self._graph), _readable(self._evidence)
        self._queries: dict[tuple[int, int], _Asked] = {}
        self._capacity = 0

    def rank(self, mentions: Sequence[WeighedMention], reading: Reading) -> Ranked:
        """The entities within the hops of the mentions' seeds, best first, at most `depth`."""
        return self._within_limits(mentions, reading, self._compiled if self.fast else self._interpreted)

    def trails(self, mentions: Sequence[WeighedMention], reading: Reading) -> dict[int, Trail]:
        """What the energy of each ranked entity is made of."""
        return self._within_limits(mentions, reading, self._trails)

    def _within_limits(
        self, mentions: Sequence[WeighedMention], reading: Reading, search: Callable[..., Any]
    ) -> Any:
        """What `search` finds within as many hops as stay within the limits."""
        packed = _packed(mentions)
        most, hops, cut = max(self.most_states, 4 * len(packed.seeds) + self.depth), self.hops, None
        while True:
            with self._asked(reading, hops) as asked:
                try:
                    return search(asked, packed, hops, most, cut)
                except TooMuch as limit:
                    hops = max(0, min(hops, limit.deepest) - 1)
                    name = "steps" if limit.looked else "states"
                    cut = Cut(hops, f"max_{name}", getattr(self, f"most_{name}"))

    def _interpreted(self, asked: _Asked, mentions: Mentions, hops: int, most: int, cut: Cut | None) -> Ranked:
        search = self._search(asked, mentions, hops, most)
        rows = search.rank()
        walks = np.full((len(rows), self.hops), NO_STEP, dtype=np.int32)
        for place, row in enumerate(rows):
            if row.shown is not None:
                walks[place, : row.shown.steps] = search.relations(row.shown)
        return Ranked(
            np.array([row.entity for row in rows], dtype=np.int32),
            np.array([row.hop for row in rows], dtype=np.int32),
            np.array([row.key for row in rows], dtype=np.int64),
            np.array([0 if row.shown is None else row.shown.mask for row in rows], dtype=np.int64),
            walks,
            cut,
        )

    def _trails(
        self, asked: _Asked, mentions: Mentions, hops: int, most: int, _: Cut | None
    ) -> dict[int, Trail]:
        search = self._search(asked, mentions, hops, most)
        return {row.entity: search.trail(row) for row in search.rank()}

    def _search(self, asked: _Asked, mentions: Mentions, hops: int, most: int) -> Search:
        return Search(
            self._graph_read, asked.query, asked.price, self._evidence_read, mentions, hops, self.depth,
            self.most_steps, most,
        )  # fmt: skip

    def _compiled(self, asked: _Asked, mentions: Mentions, hops: int, most: int, cut: Cut | None) -> Ranked:
        columns = Mentions(*(np.array(column, dtype=np.int64) for column in mentions))
        least = 4 * len(mentions.seeds) + self.depth
        if self._capacity < least:
            self._room(max(least, min(FIRST_STATES, most)))
        query = asked.query._replace(**asked.tables)
        while True:
            clock = self._memory.clock[0]
            clock["question"] += 1
            if clock["question"] > LAST_QUESTION:
                self._memory.marks[:] = 0
                clock["question"] = 1
            clock["most"] = self.most_steps
            rows = compiled_rank()(
                self._graph, query, asked.price, self._evidence, columns, self._memory, self._out, hops, self.depth
            )
            if rows != search_fast.OVERFLOW:
                break
            looked = clock["looked"] > self.most_steps
            if looked or self._capacity >= most:
                raise TooMuch(looked=looked, deepest=int(clock["deepest"]))
            self._room(min(4 * self._capacity, most))
        self._out.walks[:rows, hops:] = NO_STEP
        return Ranked(*(column[:rows].copy() for column in self._out), cut)

    @contextmanager
    def _asked(self, reading: Reading, hops: int) -> Iterator[_Asked]:
        """The reading as the search takes it, kept while questions repeat it; meanwhile its evidence stands in
        the columns that the search reads."""
        asked = self._queries.get((id(reading), hops))
        if asked is None or asked.reading is not reading:
            if len(self._queries) >= KEPT_QUERIES:
                self._queries.clear()
            asked = _Asked.of(reading, self.prices, hops, exclude_seeds=self.exclude_seeds)
            self._queries[id(reading), hops] = asked
        for column, rows, bit in asked.evidence:
            self._evidence[column][rows] |= bit
        try:
            yield asked
        finally:
            for column, rows, _ in asked.evidence:
                self._evidence[column][rows] = 0

    def _room(self, states: int) -> None:
        entities = len(self._graph.flags)
        if not self._capacity:
            self._marks = _rows(entities, search_fast.MARK)
            self._queue, self._clock = zeros_as_touched(entities, np.int32), _rows(1, search_fast.CLOCK)
            self._out = Out(
                *(np.zeros(self.depth, kind) for kind in (np.int32, np.int32, np.int64, np.int64)),
                np.zeros((self.depth, self.hops), np.int32),
            )
        self._capacity = states
        self._memory = Memory(
            _rows(states, search_fast.STATE),
            _rows(2 * states, search_fast.WALK),
            _rows(states, search_fast.ANSWERED),
            self._marks,
            self._queue,
            self._clock,
        )


def _columns(graph: KnowledgeGraph, runs: Runs, filters: Filters) -> RunColumns:
    flags = np.zeros(len(graph), dtype=np.int8)
    if filters.returned is not None:
        flags[~filters.returned] |= search_fast.NOT_RETURNED
    if filters.crossed is not None:
        flags[~filters.crossed] |= search_fast.NOT_CROSSED
    relations, weights = len(graph.relations), graph.relations.weights
    # The units of all relations, where they are the same: one random look less at each relation.
    alike = weights.strides == (0,) or (0 < relations <= COMPARED_UP_TO and int(np.ptp(runs.units)) == 0)
    arrays = (
        runs.run_ptr, runs.run_start, runs.kind, runs.neighbours, runs.relations, runs.strength, runs.units,
        graph.name_rank, flags,
    )  # fmt: skip
    return RunColumns(
        *map(_read_only, arrays), runs.symmetric, int(runs.units[0]) if alike and relations else 0
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Marked so, as mapped arrays are, that one compiled form serves both."""
    view = array.view()
    view.flags.writeable = False
    return view


def _readable(columns: Any) -> Any:
    return type(columns)(
        *(memoryview(column) if isinstance(column, np.ndarray) else column for column in columns)
    )


def _rows(length: int, kind: np.dtype[Any]) -> NDArray[Any]:
    return zeros_as_touched(length * kind.itemsize, np.uint8).view(kind)


def _packed(mentions: Sequence[WeighedMention]) -> Mentions:
    """Pointers into seeds, one a mention; seeds; their masses. The last of too many mentions are one."""
    pointers, seeds, masses = [0], list[int](), list[int]()
    for place, mention in enumerate(mentions):
        seeds += mention.seeds
        masses += [int(search_fast.MASS * share) for share in mention.shares]
        if place < MENTIONS - 1 or place == len(mentions) - 1:
            pointers.append(len(seeds))
    return Mentions(pointers, seeds, masses)


@cache
def compiled_rank() -> Callable[..., int]:
    """`search_fast.rank` as machine code, and with it every function that it calls."""
    return compiled(search_fast.rank, search_fast.CALLED)


@dataclass(slots=True)
class _Asked:
    """A reading as the search takes it. tables: those of `query` as arrays; evidence: (column of Evidence,
    rows, bit of the slot that they fill)."""

    reading: Reading
    query: Query
    price: Prices
    tables: dict[str, NDArray[np.int64]]
    evidence: list[tuple[int, NDArray[np.int64], int]]

    @classmethod
    def of(cls, reading: Reading, prices: Prices, hops: int, *, exclude_seeds: bool) -> _Asked:
        slots = reading.slots
        weights = tuple(slot.weight for slot in slots)
        words = sum(1 << place for place, slot in enumerate(slots) if not slot.types)
        back = sum(1 << place for place, slot in enumerate(slots) if slot.way_back)
        share = prices.met_on_the_way
        tables = {
            "left": left_empty(weights),
            "weight": filled(weights),
            "owed": filled(tuple(0 if slot.types else slot.weight * share // 1000 for slot in slots)),
            "least": least_left(weights, words, hops),
        }
        evidence = []
        for place, slot in enumerate(slots):
            found = slot.found
            for column, rows in enumerate((slot.types, found.relations, found.entities, (), found.entity_types)):
                if len(rows):
                    evidence.append((column, np.fromiter(rows, np.int64, len(rows)), 1 << place))
        return cls(
            reading,
            Query(
                **tables, focus=reading.focus, head=reading.head, back=back, words=words,
                exclude_seeds=exclude_seeds, asks=reading.asks,
            ),
            prices._replace(unexplained=reading.unexplained),
            {name: np.array(table, dtype=np.int64) for name, table in tables.items()},
            evidence,
        )  # fmt: skip


@lru_cache(KEPT_QUERIES)
def left_empty(weights: tuple[int, ...]) -> tuple[int, ...]:
    """What stays unexplained, by mask of slots filled."""
    total = sum(weights)
    return tuple(total - weight for weight in filled(weights))


@lru_cache(KEPT_QUERIES)
def filled(weights: tuple[int, ...]) -> tuple[int, ...]:
    """The weight of a mask's slots, by mask."""
    sums = [0]
    for weight in weights:
        sums += [weight + before for before in sums]
    return tuple(sums)


@lru_cache(KEPT_QUERIES)
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
