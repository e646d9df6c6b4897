"""What lies within some hops: one pass that gives each reached entity its hop.

The pass is compiled where numba is there and the work is worth it, and done by numpy level by level
elsewhere. Both find entities in the same order: by hop, then in the order in which the entities of the hop
before list their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiny_graph_rag.compiled import compiled, worth_compiling
from tiny_graph_rag.graph.model import Adjacency

# numpy looks at this many neighbours in the time of one innermost step of plain Python.
NEIGHBOURS_A_STEP = 30
ROOM = 1 << 22  # entities that a block of neighbourhoods holds, at least four whole graphs


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """entities: int32, nearest first, each once. levels: int64 (hops + 2,), where each hop's entities start
    and the last one's end."""

    entities: NDArray[np.int32]
    levels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.entities)

    @property
    def hops(self) -> NDArray[np.int32]:
        """(entities,): fewest relations from a start."""
        hops: NDArray[np.int32] = np.repeat(
            np.arange(len(self.levels) - 1, dtype=np.int32), np.diff(self.levels)
        )
        return hops


class Walker:
    """Asks one graph for many neighbourhoods; keeps its working memory between them (not for two threads).

    compile: use the compiled pass; `worth_walking` tells whether to. first: what is walked from the starts,
    where that differs from the rest; it is not compiled.
    """

    def __init__(
        self, adjacency: Adjacency, *, compile: bool = False, first: Adjacency | None = None
    ) -> None:
        entities = len(adjacency.indptr) - 1
        self.first = adjacency if first is None else first
        self.adjacency, self.compile = adjacency, compile
        self._seen = np.zeros(entities, dtype=np.uint8)
        self._found = np.zeros(entities + 1, dtype=np.int32)
        self._place = np.zeros(0 if compile else entities, dtype=np.int64)

    def reach(self, starts: ArrayLike, hops: int) -> Reached:
        """Everything within `hops` relations of any of `starts` (entity rows, repeated ones count once)."""
        seeds = np.asarray(starts, dtype=np.int32)
        levels = np.zeros(hops + 2, dtype=np.int64)
        if self.compile:
            self._compiled(seeds, np.array([0, len(seeds)]), levels[None], 0, self._found)
        else:
            self._by_levels(seeds, hops, levels)
        return Reached(self._found[: levels[-1]].copy(), levels)

    def reach_all(self, starts: Sequence[ArrayLike], hops: int) -> list[Reached]:
        """`reach` for many questions in one go."""
        if not self.compile:
            return [self.reach(each, hops) for each in starts]
        parts = [np.asarray(each, dtype=np.int32) for each in starts]
        bounds = np.cumsum([0, *map(len, parts)])
        seeds = np.concatenate([np.zeros(0, dtype=np.int32), *parts])
        levels = np.zeros((len(parts), hops + 2), dtype=np.int64)
        found: list[Reached] = []
        room = max(4 * len(self._found), ROOM)
        while len(found) < len(parts):
            out = np.empty(room, dtype=np.int32)
            first = len(found)
            done = self._compiled(seeds, bounds, levels, first, out)
            ends = np.cumsum(levels[first:done, -1]).tolist()
            for question, start, end in zip(range(first, done), [0, *ends], ends, strict=False):
                found.append(Reached(out[start:end], levels[question]))
        return found

    def _compiled(
        self,
        seeds: NDArray[np.int32],
        bounds: NDArray[np.int64],
        levels: NDArray[np.int64],
        first: int,
        out: NDArray[np.int32],
    ) -> int:
        graph = self.adjacency
        spread = compiled(_spread)
        return int(spread(graph.indptr, graph.neighbours, seeds, bounds, first, self._seen, out, levels))

    def _by_levels(self, seeds: NDArray[np.int32], hops: int, levels: NDArray[np.int64]) -> None:
        frontier = self._take(seeds, 0)
        levels[1] = len(frontier)
        for hop in range(hops):
            graph = self.adjacency if hop else self.first
            found = graph.neighbours[slots_of(graph, frontier)]
            frontier = self._take(found, int(levels[hop + 1]))
            levels[hop + 2] = levels[hop + 1] + len(frontier)
        self._seen[self._found[: levels[-1]]] = 0

    def _take(self, found: NDArray[np.int32], count: int) -> NDArray[np.int32]:
        """Those of `found` that were not seen, at their first place, put after the `count` known ones."""
        new = found[self._seen[found] == 0]
        order = np.arange(len(new))
        self._place[new[::-1]] = order[::-1]  # of repeated entities the last write counts: the first place
        new = np.asarray(new[self._place[new] == order])
        self._seen[new] = 1
        self._found[count : count + len(new)] = new
        return new


def neighbourhoods(
    adjacency: Adjacency, starts: Sequence[ArrayLike], hops: int, *, compile: bool, threads: int = 1
) -> list[Reached]:
    """`Walker.reach_all` over several threads; their number changes nothing but the time."""
    walkers = [Walker(adjacency, compile=compile) for _ in range(min(threads, len(starts)) or 1)]
    if len(walkers) == 1:
        return walkers[0].reach_all(starts, hops)
    if compile:
        walkers[0].reach([], hops)  # compiles before the threads ask for it all at once
    bounds = [len(starts) * part // len(walkers) for part in range(len(walkers) + 1)]
    with ThreadPoolExecutor(len(walkers)) as pool:
        parts = pool.map(
            lambda walker, low, high: walker.reach_all(starts[low:high], hops), walkers, bounds, bounds[1:]
        )
        return [reached for part in parts for reached in part]


def worth_walking(adjacency: Adjacency, questions: int, *, allowed: bool = True) -> bool:
    """Whether to compile for so many neighbourhoods, each at worst the whole graph."""
    return worth_compiling(questions * len(adjacency.neighbours) // NEIGHBOURS_A_STEP, allowed=allowed)


def slots_of(adjacency: Adjacency, entities: NDArray[np.int32]) -> NDArray[np.int64]:
    """The slots of several entities, one entity after the other."""
    starts = adjacency.indptr[entities]
    counts = adjacency.indptr[entities + 1] - starts
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


def _spread(
    indptr: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    seeds: NDArray[np.int32],
    bounds: NDArray[np.int64],
    first: int,
    seen: NDArray[np.uint8],
    out: NDArray[np.int32],
    levels: NDArray[np.int64],
) -> int:
    """The compiled pass over the questions from `first` on, one after the other into `out`.

    Returns the first question that was not done because `out` might not hold it. Writes each neighbour
    without asking and counts it if it was new: a wrong guess of the processor costs more than a write.
    """
    base = 0
    for question in range(first, len(levels)):
        if base + len(seen) >= len(out):
            return question
        count = base
        for place in range(bounds[question], bounds[question + 1]):
            seed = seeds[place]
            out[count] = seed
            count += 1 - seen[seed]
            seen[seed] = 1
        levels[question, 1] = count - base
        low = base
        for hop in range(levels.shape[1] - 2):
            high = count
            for place in range(low, high):
                entity = out[place]
                for slot in range(indptr[entity], indptr[entity + 1]):
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
    return len(levels)
