"""A graph and a question made ready for the search, and the search's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import zeros_as_touched
from tiny_graph_rag.columns.compiled import can_compile, compiled
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval import search_fast
from tiny_graph_rag.retrieval.filters import Filters
from tiny_graph_rag.retrieval.query import Reading
from tiny_graph_rag.retrieval.search import Search, TooMuchError, Trail
from tiny_graph_rag.retrieval.search_fast import Evidence, Memory, Mentions, Prices, Query, RunColumns
from tiny_graph_rag.retrieval.typed_adjacency import Runs
from tiny_graph_rag.run import NO_STEP, Cut

FIRST_STATES = 1 << 17  # room for states, of memory that costs nothing unused
ITEMS_A_STATE = 8
MENTIONS = 8  # that count singly; more of them are taken as one
NO_LIMIT = 1 << 60
COMPARED_UP_TO = 1 << 22  # relations whose weights are compared before the first question
MOST_STATES = (1 << 30) - 1  # walks into them are numbered by an int32
LAST_QUESTION = 1 << 30  # marks are int32; long before that they are wiped
KEPT_QUERIES = 1 << 10
PATIENCE = 100_000  # relations that one question may look at before machine code is worth its start
TABLES = "left", "weight"  # of a Query, by mask


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WeighedMention:
    """Seeds that one mention names, each with its share of the mention."""

    seeds: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """One question's ranking. keys: cost in thousandths, then the tie part; hops: of the walk shown; walks:
    (rows, hops) relations from a seed, filled up with NO_STEP. cut: where a limit ended the walks; it is then
    the ranking of so many hops."""

    entities: NDArray[np.int32]
    keys: NDArray[np.int64]
    hops: NDArray[np.int32]
    walks: NDArray[np.int32]
    cut: Cut | None = None


class CheapestWalks:
    """Ranks entities of one graph, question by question; one a thread, since it works in its own memory.

    prices: as search_fast.Prices has them. fast: compiled from the start; may_compile: where a question turns
    out to be long. most_steps, most_states: the settings of these
    names. A question that would go beyond one is ranked by fewer hops, as many as stay within. Which these
    are is the same for any order of questions: none learns from another.
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
        may_compile: bool = True,
        most_steps: int = 0,
        most_states: int = 0,
    ) -> None:
        self.hops, self.depth, self.exclude_seeds, self.fast = hops, depth, exclude_seeds, fast
        self.may_compile = may_compile and can_compile()
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
        if not self.fast and self.may_compile:
            return self._within_limits(mentions, reading, self._begun)
        return self._within_limits(mentions, reading, self._compiled if self.fast else self._interpreted)

    def trails(self, mentions: Sequence[WeighedMention], reading: Reading) -> dict[int, Trail]:
        """What the cost of each ranked entity is made of."""
        return self._within_limits(mentions, reading, self._trails)

    def _within_limits(
        self, mentions: Sequence[WeighedMention], reading: Reading, search: Callable[..., T]
    ) -> T:
        """What `search` finds within as many hops as stay within the limits."""
        packed = _packed(mentions)
        most, hops, cut = max(self.most_states, 4 * len(packed.seeds) + self.depth), self.hops, None
        while True:
            asked = self._asked(reading, hops)
            for column, rows, bit in asked.evidence:
                self._evidence[column][rows] |= bit
            try:
                return search(asked, packed, hops, most, cut)
            except TooMuchError as limit:
                hops = max(0, min(hops, limit.deepest) - 1)
                name = "steps" if limit.looked else "states"
                cut = Cut(hops, f"max_{name}", getattr(self, f"most_{name}"))
            finally:
                for column, rows, _ in asked.evidence:
                    self._evidence[column][rows] = 0

    def _begun(self, asked: _Asked, mentions: Mentions, hops: int, most: int, cut: Cut | None) -> Ranked:
        """Interpreted, and from the beginning by machine code where a hub makes that long."""
        patience = min(PATIENCE, self.most_steps)
        try:
            return self._interpreted(asked, mentions, hops, most, cut, patience)
        except TooMuchError as limit:
            if not limit.looked or patience == self.most_steps:
                raise
        return self._compiled(asked, mentions, hops, most, cut)

    def _interpreted(
        self, asked: _Asked, mentions: Mentions, hops: int, most: int, cut: Cut | None, looked: int = 0
    ) -> Ranked:
        """looked: relations to look at, at most; 0: as the limit has it."""
        search = self._search(asked, mentions, hops, most, looked)
        rows = search.rank()
        seed = [NO_STEP] * self.hops
        walked = [[] if row.shown is None else row.shown.relations for row in rows]
        walks = [[*walk, *seed[len(walk) :]] for walk in walked]
        return Ranked(
            np.array([row.entity for row in rows], dtype=np.int32),
            np.array([row.key for row in rows], dtype=np.int64),
            np.array([row.steps for row in rows], dtype=np.int32),
            np.array(walks, dtype=np.int32).reshape(len(rows), self.hops),
            cut,
        )

    def _trails(
        self, asked: _Asked, mentions: Mentions, hops: int, most: int, _: Cut | None
    ) -> dict[int, Trail]:
        search = self._search(asked, mentions, hops, most)
        return {row.entity: search.trail(row) for row in search.rank()}

    def _search(self, asked: _Asked, mentions: Mentions, hops: int, most: int, looked: int = 0) -> Search:
        return Search(
            self._graph_read, asked.query, asked.price, self._evidence_read, mentions, hops, self.depth,
            looked or self.most_steps, most,
        )  # fmt: skip

    def _compiled(self, asked: _Asked, mentions: Mentions, hops: int, most: int, cut: Cut | None) -> Ranked:
        columns = Mentions(*(np.array(column, dtype=np.int64) for column in mentions))
        least = 4 * len(mentions.seeds) + self.depth
        if self._capacity < least:
            self._room(max(least, FIRST_STATES), most)
        while True:
            memory, clock = self._memory, self._memory.clock[0]
            clock["question"] += 1
            if clock["question"] > LAST_QUESTION:
                memory.marks[:] = 0
                clock["question"] = 1
            clock["most"] = self.most_steps
            rank, describe = compiled_search()
            rows = rank(self._graph, asked.row, self._evidence, columns, memory, hops, self.depth)
            if rows != search_fast.OVERFLOW:
                break
            looked = bool(clock["full"] == search_fast.TOO_LONG)
            if looked or (clock["full"] == search_fast.NO_ROW and self._capacity >= most):
                raise TooMuchError(looked=looked, deepest=int(clock["deepest"]))
            self._room(4 * self._capacity, most)
        keys, shown = memory.keys[:rows], memory.shown[:rows]
        if rows > self.depth:
            best = np.flatnonzero(keys <= np.partition(keys, self.depth - 1)[self.depth - 1])
            keys, shown = keys[best], shown[best]
        entities, steps = np.zeros(len(shown), np.int32), np.zeros(len(shown), np.int32)
        walks = np.full((len(shown), self.hops), NO_STEP, np.int32)
        describe(self._graph, memory, shown, entities, steps, walks)
        order = np.lexsort((self._graph.name_rank[entities], steps, keys))[: self.depth]
        return Ranked(entities[order], keys[order], steps[order], walks[order], cut)

    def _asked(self, reading: Reading, hops: int) -> _Asked:
        """The reading as the search takes it, kept while questions repeat it."""
        asked = self._queries.get((id(reading), hops))
        if asked is None or asked.reading is not reading:
            if len(self._queries) >= KEPT_QUERIES:
                self._queries.clear()
            asked = _Asked.of(reading, self.prices, hops, exclude_seeds=self.exclude_seeds)
            self._queries[id(reading), hops] = asked
        return asked

    def _room(self, wanted: int, most: int) -> None:
        """Memory for so many states and answers, at most `most`, and for what is put on the agenda."""
        entities, states = len(self._graph.flags), min(wanted, most)
        if not self._capacity:
            self._marks = _rows(entities, search_fast.MARK)
            self._clock = _rows(1, search_fast.CLOCK)
        self._capacity = wanted
        self._memory = Memory(
            _rows(states, search_fast.STATE),
            _rows(2 * states, search_fast.WALK),
            _rows(states, search_fast.ANSWERED),
            _rows(ITEMS_A_STATE * wanted, search_fast.ITEM),
            self._marks,
            zeros_as_touched(2 * states, np.int64),
            zeros_as_touched(2 * states, np.int64),
            zeros_as_touched(2 * states, np.int64),
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
    return RunColumns(
        _read_only(runs.run_ptr),
        _read_only(runs.run_start),
        _read_only(runs.kind),
        _read_only(runs.neighbours),
        _read_only(runs.relations),
        _read_only(runs.strength),
        _read_only(runs.units),
        _read_only(graph.name_rank),
        _read_only(flags),
        int(runs.units[0]) if alike and relations else 0,
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Marked so, as mapped arrays are, that one compiled form serves both."""
    view = array.view()
    view.flags.writeable = False
    return view


def _readable(columns: Any) -> Any:
    return type(columns)(
        *(memoryview(column) if isinstance(column, np.ndarray) else column for column in columns)  # type: ignore[arg-type]
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
def compiled_search() -> tuple[Callable[..., int], Callable[..., int]]:
    """`search_fast.rank` and `describe` as machine code, and with them every function that they call."""
    made = (compiled(item, search_fast.CALLED) for item in (search_fast.rank, search_fast.describe))
    return next(made), next(made)


@dataclass
class _Asked:
    """A reading as the search takes it. evidence: (column of Evidence, rows, bit of the slot that they
    fill)."""

    reading: Reading
    hops: int
    query: Query
    price: Prices
    evidence: list[tuple[int, NDArray[np.int64], int]]

    @cached_property
    def row(self) -> NDArray[Any]:
        """Query and prices as one row of search_fast.ASKED."""
        rows = np.zeros(1, search_fast.ASKED)
        for name, value in (self.query._asdict() | self.price._asdict()).items():
            if name == "least":
                least = np.array(value, np.int32).reshape(self.hops, len(self.query.left))[
                    : search_fast.MOST_SLOTS + 1
                ]
                rows[0][name][: least.shape[0], : least.shape[1]] = least
            elif name in TABLES:
                rows[0][name][: len(value)] = value
            else:
                rows[0][name] = value
        return rows

    @classmethod
    def of(cls, reading: Reading, prices: Prices, hops: int, *, exclude_seeds: bool) -> _Asked:
        slots = reading.slots
        weights = tuple(slot.weight for slot in slots)
        words = sum(1 << place for place, slot in enumerate(slots) if not slot.types)
        query = Query(
            left=left_empty(weights),
            weight=filled(weights),
            least=least_left(weights, words, hops),
            focus=reading.focus,
            head=reading.head,
            back=sum(1 << place for place, slot in enumerate(slots) if slot.way_back),
            words=words,
            exclude_seeds=exclude_seeds,
            asks=reading.asks,
        )
        price = prices._replace(unexplained=reading.unexplained)
        evidence = []
        for place, slot in enumerate(slots):
            found = slot.found
            for column, rows in enumerate(
                (slot.types, found.relations, found.entities, (), found.entity_types)
            ):
                if len(rows):
                    evidence.append((column, np.fromiter(rows, np.int64, len(rows)), 1 << place))
        return cls(reading, hops, query, price, evidence)


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
