"""A graph and a question made ready for the search, and the search's memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import can_compile, compiled, zeros_as_touched
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval import search_fast
from tiny_graph_rag.retrieval.candidates import Filters, Runs
from tiny_graph_rag.retrieval.query import Reading
from tiny_graph_rag.retrieval.search import Search, TooMuchError, Trail
from tiny_graph_rag.retrieval.search_fast import (
    Evidence,
    Memory,
    Mentions,
    Prices,
    Query,
    Questions,
    Rows,
    RunColumns,
)
from tiny_graph_rag.run import NO_STEP, Cut

FIRST_STATES = 1 << 17  # room for states, of memory that costs nothing unused
ITEMS_A_STATE = 8
MENTIONS = 8  # that count singly; more of them are taken as one
NO_LIMIT = 1 << 60
COMPARED_UP_TO = 1 << 22  # relations whose weights are compared before the first question
MOST_STATES = (1 << 30) - 1  # walks into them are numbered by an int32
MOST_ROWS = 1 << 18  # that one batch ranks
KEPT_QUERIES = 1 << 10
PATIENCE = 100_000  # relations that one question may look at before machine code is worth its start
TABLES = "left", "weight"  # of a Query, by mask


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WeighedMention:
    """Seeds that one mention names, each with its share of the mention."""

    seeds: tuple[int, ...]
    shares: tuple[float, ...]


Asking = tuple[Sequence[WeighedMention], Reading]


@dataclass(frozen=True, slots=True, eq=False)
class RankedWalks:
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
        self._queries: dict[tuple[Reading, int], SearchQuery] = {}
        marks, clock = _rows(len(graph), search_fast.MARK), _rows(1, search_fast.CLOCK)
        none = np.zeros(0, np.int64)
        self._memory = Memory(none, none, none, none, none, marks, none, none, none, clock)

    def rank(self, questions: Sequence[Asking]) -> list[RankedWalks]:
        """Of each question the entities within the hops of its mentions' seeds, best first, at most
        `depth`."""
        if not self.fast:
            search = self._begun if self.may_compile else self._interpreted
            return [self._within_limits(question, search) for question in questions]
        ranked: list[RankedWalks] = []
        while len(ranked) < len(questions):
            batch = questions[len(ranked) : len(ranked) + max(1, MOST_ROWS // self.depth)]
            asked = [(self._asked(reading, self.hops), _packed(mentions)) for mentions, reading in batch]
            try:
                for one in self._compiled(asked, self.hops):
                    ranked.append(one)
            except TooMuchError as limit:
                ranked.append(self._within_limits(questions[len(ranked)], self._compiled_alone, limit))
        return ranked

    def trails(self, question: Asking) -> dict[int, Trail]:
        """What the cost of each ranked entity is made of."""
        return self._within_limits(question, self._trails)

    def _within_limits(
        self, question: Asking, search: Callable[..., T], limit: TooMuchError | None = None
    ) -> T:
        """What `search` finds within as many hops as stay within the limits. limit: which one all hops went
        beyond, where that is known."""
        mentions, reading = _packed(question[0]), question[1]
        hops, cut = self.hops, None
        while True:
            if limit is not None:
                hops = max(0, min(hops, limit.deepest) - 1)
                name = "steps" if limit.looked else "states"
                cut = Cut(hops, f"max_{name}", getattr(self, f"most_{name}"))
            asked = self._asked(reading, hops)
            for column, rows, bit in asked.evidence:
                self._evidence[column][rows] |= bit
            try:
                return search(asked, mentions, hops, cut)
            except TooMuchError as another:
                limit = another
            finally:
                for column, rows, _ in asked.evidence:
                    self._evidence[column][rows] = 0

    def _most_states_of(self, mentions: Mentions) -> int:
        return max(self.most_states, 4 * len(mentions.seeds) + self.depth)

    def _begun(self, asked: SearchQuery, mentions: Mentions, hops: int, cut: Cut | None) -> RankedWalks:
        """Interpreted, and from the beginning by machine code where a hub makes that long."""
        patience = min(PATIENCE, self.most_steps)
        try:
            return self._interpreted(asked, mentions, hops, cut, patience)
        except TooMuchError as limit:
            if not limit.looked or patience == self.most_steps:
                raise
        return self._compiled_alone(asked, mentions, hops, cut)

    def _interpreted(
        self, asked: SearchQuery, mentions: Mentions, hops: int, cut: Cut | None, looked: int = 0
    ) -> RankedWalks:
        """looked: relations to look at, at most; 0: as the limit has it."""
        search = self._search(asked, mentions, hops, looked)
        rows = search.rank()
        seed = [NO_STEP] * self.hops
        walked = [[] if row.shown is None else row.shown.relations for row in rows]
        walks = [[*walk, *seed[len(walk) :]] for walk in walked]
        return RankedWalks(
            np.array([row.entity for row in rows], dtype=np.int32),
            np.array([row.key for row in rows], dtype=np.int64),
            np.array([row.steps for row in rows], dtype=np.int32),
            np.array(walks, dtype=np.int32).reshape(len(rows), self.hops),
            cut,
        )

    def _trails(self, asked: SearchQuery, mentions: Mentions, hops: int, _: Cut | None) -> dict[int, Trail]:
        search = self._search(asked, mentions, hops)
        return {row.entity: search.trail(row) for row in search.rank()}

    def _search(self, asked: SearchQuery, mentions: Mentions, hops: int, looked: int = 0) -> Search:
        return Search(
            self._graph_read, asked.query, asked.price, self._evidence_read, mentions, hops, self.depth,
            looked or self.most_steps, self._most_states_of(mentions),
        )  # fmt: skip

    def _compiled_alone(
        self, asked: SearchQuery, mentions: Mentions, hops: int, cut: Cut | None
    ) -> RankedWalks:
        (ranked,) = self._compiled([(asked, mentions)], hops)
        return replace(ranked, cut=cut)

    def _compiled(self, batch: Sequence[tuple[SearchQuery, Mentions]], hops: int) -> Iterator[RankedWalks]:
        """Of one question after the other. Raises TooMuchError at one that goes beyond a limit."""
        questions = _batch(batch, [self._most_states_of(mentions) for _, mentions in batch])
        most = int(questions.most_states.max())
        if len(self._memory.states) < min(FIRST_STATES, most):
            self._room(FIRST_STATES, most)
        size = len(batch) * min(self.depth, len(self._graph.flags))
        rows = Rows(
            np.zeros(len(batch) + 1, np.int64), np.empty(size, np.int32), np.empty(size, np.int64),
            np.empty(size, np.int32), np.empty((size, self.hops), np.int32),
        )  # fmt: skip
        rank, done = compiled_search(), 0
        while done < len(batch):
            first, memory, clock = done, self._memory, self._memory.clock[0]
            clock["most_looked"] = self.most_steps
            done = rank(self._graph, self._evidence, questions, memory, rows, done, hops, self.depth)
            ends = rows.offsets[first : done + 1].tolist()
            for low, high in pairwise(ends):
                yield RankedWalks(*(column[low:high] for column in rows[1:]))
            if done < len(batch):
                full = clock["full"]
                if full != search_fast.NO_ROOM:
                    raise TooMuchError(looked=full == search_fast.TOO_LONG, deepest=int(clock["deepest"]))
                self._room(4 * len(memory.buckets), most)

    def _asked(self, reading: Reading, hops: int) -> SearchQuery:
        """The reading as the search takes it, kept while questions repeat it."""
        asked = self._queries.get((reading, hops))
        if asked is None:
            if len(self._queries) >= KEPT_QUERIES:
                self._queries.clear()
            asked = SearchQuery.of(reading, self.prices, hops, exclude_seeds=self.exclude_seeds)
            self._queries[reading, hops] = asked
        return asked

    def _room(self, wanted: int, most: int) -> None:
        """Memory for so many states and answers, at most `most`, and for what is put on the agenda."""
        states = min(wanted, most)
        self._memory = Memory(
            _rows(states, search_fast.STATE),
            _rows(2 * states, search_fast.WALK),
            _rows(states, search_fast.ANSWERED),
            _rows(ITEMS_A_STATE * wanted, search_fast.ITEM),
            _rows(wanted, search_fast.BUCKET),
            self._memory.marks,
            zeros_as_touched(2 * states, np.int64),
            zeros_as_touched(2 * states, np.int64),
            zeros_as_touched(2 * states, np.int64),
            self._memory.clock,
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


def _batch(batch: Sequence[tuple[SearchQuery, Mentions]], most_states: Sequence[int]) -> Questions:
    """Questions as the compiled search takes them; each reading once."""
    readings = list(dict.fromkeys(asked for asked, _ in batch))
    place = {asked: row for row, asked in enumerate(readings)}
    first, pointers, seeds, masses = [0], list[int](), list[int](), list[int]()
    for _, mentions in batch:
        pointers += [len(seeds) + pointer for pointer in mentions.pointers[:-1]]
        first.append(len(pointers))
        seeds += mentions.seeds
        masses += mentions.masses
    return Questions(
        np.frombuffer(b"".join(asked.row for asked in readings), search_fast.ASKED),
        np.cumsum([0, *(len(asked.fills) for asked in readings)]),
        np.concatenate([asked.fills for asked in readings]),
        *(
            np.array(column, np.int64)
            for column in (
                [place[asked] for asked, _ in batch], first, [*pointers, len(seeds)], seeds, masses,
                most_states,
            )
        ),
    )  # fmt: skip


@cache
def compiled_search() -> Callable[..., int]:
    """`search_fast.rank` as machine code, and with it every function that it calls."""
    return compiled(search_fast.rank, search_fast.CALLED)


@dataclass(eq=False)
class SearchQuery:
    """A reading as the search takes it. evidence: (column of Evidence, rows, bit of the slot that they
    fill)."""

    hops: int
    query: Query
    price: Prices
    evidence: list[tuple[int, NDArray[np.int64], int]]

    @cached_property
    def row(self) -> bytes:
        """Query and prices as a row of search_fast.ASKED."""
        rows = np.zeros(1, search_fast.ASKED)
        for name, value in (self.query._asdict() | self.price._asdict()).items():
            if name == "least":
                least = np.array(value, np.int32).reshape(-1, len(self.query.left))[
                    : search_fast.MOST_SLOTS + 1
                ]
                rows[0][name][: least.shape[0], : least.shape[1]] = least
            elif name in TABLES:
                rows[0][name][: len(value)] = value
            else:
                rows[0][name] = value
        return rows.tobytes()

    @cached_property
    def fills(self) -> NDArray[np.int64]:
        """`evidence` as search_fast.Questions has it."""
        parts = [
            np.stack([np.full(len(rows), column), rows, np.full(len(rows), bit)], axis=1)
            for column, rows, bit in self.evidence
        ]
        return np.concatenate([np.zeros((0, 3), np.int64), *parts])

    @classmethod
    def of(cls, reading: Reading, prices: Prices, hops: int, *, exclude_seeds: bool) -> SearchQuery:
        slots = reading.slots
        weights = tuple(slot.weight for slot in slots)
        words = sum(1 << place for place, slot in enumerate(slots) if not slot.types)
        query = Query(
            left=left_empty(weights),
            weight=filled(weights),
            least=(),
            focus=reading.focus,
            head=reading.head,
            back=sum(1 << place for place, slot in enumerate(slots) if slot.way_back),
            words=words,
            exclude_seeds=exclude_seeds,
            asks=reading.asks,
        )
        price = prices._replace(unexplained=reading.unexplained)
        spoken: dict[int, int] = defaultdict(int)
        for place, slot in enumerate(slots):
            for kind in slot.types:
                spoken[kind] |= 1 << place
        query = query._replace(least=least_left(query, set(spoken.values()), price, hops))
        evidence = [
            (column, np.fromiter(rows, np.int64, len(rows)), 1 << place)
            for place, slot in enumerate(slots)
            for column, rows in enumerate(
                (slot.types, slot.found.relations, slot.found.entities, (), slot.found.entity_types)
            )
            if len(rows)
        ]
        return cls(hops, query, price, evidence)


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


def least_left(query: Query, spoken: Iterable[int], price: Prices, steps: int) -> tuple[int, ...]:
    """What a path still pays at least, whatever comes, but for its next hop's `step`: by (steps to go, mask),
    fewer than `steps` to go.

    spoken: what the types speak for, each once (bits of slots). Any of them may come next, and texts may fill
    all slots of words at once.
    """
    left = np.array(query.left)
    masks = np.arange(len(left)) | query.words
    # Of each next step: the slots filled after it, its price, and what it may land on.
    nothing_speaks = 0 if query.words else price.unexplained
    next_steps: list[tuple[NDArray[np.int64], Any, int]] = [(masks, nothing_speaks, query.words)]
    for speaks in spoken:
        for closed in (0, query.back):
            free = speaks & ~masks & ~closed
            low = free & -free
            early = np.where((masks & (low - 1)) != low - 1, price.early, 0)
            next_steps.append((masks | low, np.where(low, early, price.again), speaks | query.words))
    table = [left]
    for _ in range(1, steps):
        costs = []
        for after, cost, lands in next_steps:
            is_off = query.focus and not lands & query.focus
            costs.append(cost + left[after] + (price.off_focus if is_off else 0))
            if len(table) > 1:
                costs.append(cost + price.step + table[-1][after])
        least = np.minimum.reduce(costs)
        # A state is not left where another explains more for no more, so that one must come no later.
        for place in range(len(left).bit_length() - 1):
            by_slot = least.reshape(-1, 2, 1 << place)  # without the slot, and with it
            np.minimum(by_slot[:, 0], by_slot[:, 1], out=by_slot[:, 1])
        table.append(least)
    return tuple(np.concatenate(table).tolist())
