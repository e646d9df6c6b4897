"""What lies within some hops: one pass that gives each reached entity its hop.

The pass is compiled where numba is there and the work is worth it, and done by numpy level by level
elsewhere. Both find entities in the same order: by hop, then in the order in which the entities of the hop
before list their neighbours.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiny_graph_rag.columns.arrays import stretches
from tiny_graph_rag.columns.compiled import compiled, worth_compiling
from tiny_graph_rag.graph.tables import Adjacency

# numpy looks at this many neighbours in the time of one innermost step of plain Python.
NEIGHBOURS_A_STEP = 30
ROOM = 1 << 22  # entities that a block of neighbourhoods holds, at least four whole graphs
NOT_CUT = -1
AHEAD = 32  # entities whose neighbours are asked for before the first of them is needed


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """entities: int32, nearest first, each once. levels: int64 (hops + 2,), where each hop's entities start
    and the last one's end. walked: hops after which a limit ended the search, NOT_CUT where none did."""

    entities: NDArray[np.int32]
    levels: NDArray[np.int64]
    walked: int = NOT_CUT

    def __len__(self) -> int:
        return len(self.entities)

    @property
    def hops(self) -> NDArray[np.int32]:
        """(entities,): fewest relations from a start."""
        hops: NDArray[np.int32] = np.repeat(
            np.arange(len(self.levels) - 1, dtype=np.int32), np.diff(self.levels)
        )
        return hops

    def within(self, hops: int) -> Reached:
        """What lies within fewer hops."""
        levels = self.levels[: hops + 2]
        return Reached(self.entities[: levels[-1]], levels, self.walked if self.walked < hops else NOT_CUT)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhoods(Sequence[Reached]):
    """What each of many questions reaches; a question's part is looked out when it is asked for.

    levels: int64 (questions, hops + 2), as in Reached. blocks: int32, the entities of several questions one
    after the other; firsts: the first question of each block, ascending; places: int64 (questions,), where
    in its block a question's entities start. walked: int64 (questions,), as in Reached.
    """

    levels: NDArray[np.int64]
    blocks: tuple[NDArray[np.int32], ...]
    firsts: tuple[int, ...]
    places: NDArray[np.int64]
    walked: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[Neighbourhoods]) -> Neighbourhoods:
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        return cls(
            np.concatenate([part.levels for part in parts]),
            tuple(block for part in parts for block in part.blocks),
            tuple(first + start for part, start in zip(parts, starts, strict=False) for first in part.firsts),
            np.concatenate([part.places for part in parts]),
            np.concatenate([part.walked for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.levels)

    def __getitem__(self, question):  # type: ignore[no-untyped-def]
        if isinstance(question, slice):
            return [self[each] for each in range(*question.indices(len(self)))]
        question = range(len(self))[question]
        block = self.blocks[bisect_right(self.firsts, question) - 1]
        start, levels = self.places.item(question), self.levels[question]
        return Reached(block[start : start + levels.item(-1)], levels, self.walked.item(question))

    def __iter__(self) -> Iterator[Reached]:
        return map(self.__getitem__, range(len(self)))


class Walker:
    """Asks one graph for many neighbourhoods; keeps its working memory between them (not for two threads).

    compile: use the compiled pass; `worth_walking` tells whether to. first: what is walked from the starts,
    where that differs from the rest; it is not compiled. most: relations that one search may look at, 0 for
    any; it ends before the hop that would take more. enough: entities behind whose hop it ends, 0 for none.
    """

    def __init__(
        self,
        adjacency: Adjacency,
        *,
        compile: bool = False,
        first: Adjacency | None = None,
        most: int = 0,
        enough: int = 0,
    ) -> None:
        entities = len(adjacency.indptr) - 1
        self.first = adjacency if first is None else first
        self.adjacency, self.compile = adjacency, compile
        # Each entity is left once: a graph with no more slots needs no counting.
        self._most = most if 0 < most < len(self.first.neighbours) else 0
        self._enough = enough
        self._seen = np.zeros(entities, dtype=np.uint8)
        self._found = np.zeros(entities + 1, dtype=np.int32)
        self._place = np.zeros(0 if compile else entities, dtype=np.int64)
        self._indptr = adjacency.indptr
        if compile and len(adjacency.neighbours) <= np.iinfo(np.int32).max:
            self._indptr = adjacency.indptr.astype(np.int32)  # half the memory to wait for
        self._ahead = np.zeros((2, AHEAD), dtype=np.int64)

    def reach(self, starts: ArrayLike, hops: int) -> Reached:
        """Everything within `hops` relations of any of `starts` (entity rows, repeated ones count once)."""
        seeds = np.asarray(starts, dtype=np.int32)
        levels, walked = np.zeros(hops + 2, dtype=np.int64), np.full(1, NOT_CUT)
        if self.compile:
            self._compiled(seeds, np.array([0, len(seeds)]), levels[None], walked, 0, self._found)
        else:
            walked[0] = self._by_levels(seeds, hops, levels)
        return Reached(self._found[: levels[-1]].copy(), levels, walked.item())

    def reach_all(
        self, starts: Sequence[ArrayLike] | NDArray[np.integer[Any]], hops: int
    ) -> Sequence[Reached]:
        """`reach` for many questions in one go. starts: of each question, or an array with one start each."""
        if not self.compile:
            return [self.reach(np.atleast_1d(np.asarray(each)), hops) for each in starts]
        if isinstance(starts, np.ndarray):
            seeds, bounds = starts.astype(np.int32), np.arange(len(starts) + 1)
        else:
            parts = [np.asarray(each, dtype=np.int32) for each in starts]
            bounds = np.cumsum([0, *map(len, parts)])
            seeds = np.concatenate([np.zeros(0, dtype=np.int32), *parts])
        levels = np.zeros((len(starts), hops + 2), dtype=np.int64)
        places, walked = np.zeros(len(starts), dtype=np.int64), np.full(len(starts), NOT_CUT)
        blocks: list[NDArray[np.int32]] = []
        firsts: list[int] = []
        room, done = max(4 * len(self._found), ROOM), 0
        while done < len(starts):
            firsts.append(done)
            blocks.append(np.empty(room, dtype=np.int32))
            done = self._compiled(seeds, bounds, levels, walked, firsts[-1], blocks[-1])
            ends = np.cumsum(levels[firsts[-1] : done, -1])
            places[firsts[-1] + 1 : done] = ends[:-1]
        return Neighbourhoods(levels, tuple(blocks), tuple(firsts), places, walked)

    def _compiled(
        self,
        seeds: NDArray[np.int32],
        bounds: NDArray[np.int64],
        levels: NDArray[np.int64],
        walked: NDArray[np.int64],
        first: int,
        out: NDArray[np.int32],
    ) -> int:
        neighbours, spread = self.adjacency.neighbours, compiled(_spread)
        return int(
            spread(
                self._indptr, neighbours, seeds, bounds, first, self._most, self._enough, self._seen,
                self._ahead, out, levels, walked,
            )
        )  # fmt: skip

    def _by_levels(self, seeds: NDArray[np.int32], hops: int, levels: NDArray[np.int64]) -> int:
        """-> hops after which the search had to end, or NOT_CUT."""
        frontier = self._take(seeds, 0)
        levels[1] = len(frontier)
        walked, looked = NOT_CUT, 0
        for hop in range(hops):
            graph = self.adjacency if hop else self.first
            if 0 < self._enough <= levels[hop + 1]:
                levels[hop + 2 :] = levels[hop + 1]
                break
            if self._most:
                looked += int((graph.indptr[frontier + 1] - graph.indptr[frontier]).sum())
                if looked > self._most:
                    levels[hop + 2 :] = levels[hop + 1]
                    walked = hop
                    break
            found = graph.neighbours[slots_of(graph, frontier)]
            frontier = self._take(found, int(levels[hop + 1]))
            levels[hop + 2] = levels[hop + 1] + len(frontier)
        self._seen[self._found[: levels[-1]]] = 0
        return walked

    def _take(self, found: NDArray[np.int32], count: int) -> NDArray[np.int32]:
        """Those of `found` that were not seen, at their first place, put after the `count` known ones."""
        new = found[self._seen[found] == 0]
        order = np.arange(len(new))
        self._place[new[::-1]] = order[::-1]  # of repeated entities the last write counts: the first place
        new = np.asarray(new[self._place[new] == order])
        self._seen[new] = 1
        self._found[count : count + len(new)] = new
        return new


@dataclass(frozen=True, slots=True, eq=False)
class Reaching(Sequence[Reached]):
    """What each of many questions reaches, searched when it is asked for and not kept."""

    walker: Walker
    starts: Sequence[ArrayLike]
    hops: int

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, question):  # type: ignore[no-untyped-def]
        if isinstance(question, slice):
            return Reaching(self.walker, self.starts[question], self.hops)
        return self.walker.reach(self.starts[question], self.hops)


def neighbourhoods(
    adjacency: Adjacency,
    starts: Sequence[ArrayLike] | NDArray[np.integer[Any]],
    hops: int,
    *,
    compile: bool,
    threads: int = 1,
    most: int = 0,
    enough: int = 0,
) -> Sequence[Reached]:
    """`Walker.reach_all` over several threads; their number changes nothing but the time."""
    walkers = [
        Walker(adjacency, compile=compile, most=most, enough=enough)
        for _ in range(min(threads, len(starts)) or 1)
    ]
    if len(walkers) == 1 or not compile:
        return walkers[0].reach_all(starts, hops)
    walkers[0].reach([], hops)  # compiles before the threads ask for it all at once
    bounds = [len(starts) * part // len(walkers) for part in range(len(walkers) + 1)]
    from concurrent.futures import ThreadPoolExecutor  # one thread needs none of it

    with ThreadPoolExecutor(len(walkers)) as pool:
        parts = pool.map(
            lambda walker, low, high: walker.reach_all(starts[low:high], hops), walkers, bounds, bounds[1:]
        )
        return Neighbourhoods.joined([part for part in parts if isinstance(part, Neighbourhoods)])


def worth_walking(adjacency: Adjacency, questions: int, *, allowed: bool = True) -> bool:
    """Whether to compile for so many neighbourhoods, each at worst the whole graph."""
    return worth_compiling(questions * len(adjacency.neighbours) // NEIGHBOURS_A_STEP, allowed=allowed)


class HasSlots(Protocol):
    """An adjacency of any kind: from indptr[i] to indptr[i + 1] the slots of entity i."""

    @property
    def indptr(self) -> NDArray[np.signedinteger[Any]]: ...


def slots_of(adjacency: HasSlots, entities: NDArray[np.int32]) -> NDArray[np.int64]:
    """The slots of several entities, one entity after the other."""
    starts = adjacency.indptr[entities]
    counts = adjacency.indptr[entities + 1] - starts
    return stretches(starts, counts)


def _spread(
    indptr: NDArray[np.signedinteger[Any]],
    neighbours: NDArray[np.int32],
    seeds: NDArray[np.int32],
    bounds: NDArray[np.int64],
    first: int,
    most: int,
    enough: int,
    seen: NDArray[np.uint8],
    ahead: NDArray[np.int64],
    out: NDArray[np.int32],
    levels: NDArray[np.int64],
    walked: NDArray[np.int64],
) -> int:
    """The compiled pass over the questions from `first` on, one after the other into `out`.

    Returns the first question that was not done because `out` might not hold it. Writes each neighbour
    without asking and counts it if it was new: a wrong guess of the processor costs more than a write. In a
    large graph nearly all time is waiting for memory, so that the neighbours of some entities are touched
    before the first of them are walked: the processor then waits for them together.
    """
    base, touched = 0, 0
    low_slots, high_slots = ahead[0], ahead[1]
    for question in range(first, len(levels)):
        if base + len(seen) >= len(out):
            ahead[0, 0] = touched
            return question
        count = base
        for place in range(bounds[question], bounds[question + 1]):
            seed = seeds[place]
            out[count] = seed
            count += 1 - seen[seed]
            seen[seed] = 1
        levels[question, 1] = count - base
        low, looked = base, 0
        for hop in range(levels.shape[1] - 2):
            high = count
            if 0 < enough <= count - base:
                for later in range(hop, levels.shape[1] - 2):
                    levels[question, later + 2] = count - base
                break
            if most:
                for place in range(low, high):
                    looked += indptr[out[place] + 1] - indptr[out[place]]
                if looked > most:
                    walked[question] = hop
                    for later in range(hop, levels.shape[1] - 2):
                        levels[question, later + 2] = count - base
                    break
            for start in range(low, high, len(low_slots)):
                some = min(len(low_slots), high - start)
                for place in range(some):
                    entity = out[start + place]
                    low_slots[place] = indptr[entity]
                    high_slots[place] = indptr[entity + 1]
                for place in range(some):
                    if low_slots[place] < high_slots[place]:
                        touched += neighbours[low_slots[place]] + neighbours[high_slots[place] - 1]
                for place in range(some):
                    for slot in range(low_slots[place], high_slots[place]):
                        neighbour = neighbours[slot]
                        out[count] = neighbour
                        count += 1 - seen[neighbour]
                        seen[neighbour] = 1
            low = high
            levels[question, hop + 2] = count - base
        if (count - base) * 8 > len(seen):
            seen[:] = 0
        else:
            for place in range(base, count):
                seen[out[place]] = 0
        base = count
    ahead[0, 0] = touched  # or the compiler would leave out the touching
    return len(levels)
