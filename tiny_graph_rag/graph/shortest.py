"""Shortest walks: the relations that lead from a question's seeds to entities that retrieval missed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tiny_graph_rag.arrays import distinct
from tiny_graph_rag.graph.model import Adjacency

UNSEEN = -1


def shortest_walks(
    adjacency: Adjacency, seeds: Sequence[int], targets: Collection[int]
) -> dict[int, list[int]]:
    """Target → the relations (rows) of a shortest walk to it, from its nearest seed on.

    Targets that no walk reaches are left out; a seed has the empty walk. Among equally short walks the one
    through the lowest entity row, then the lowest slot, is taken, so the answer is always the same.
    """
    before = np.full(len(adjacency.indptr) - 1, UNSEEN, dtype=np.int64)
    by = np.full(len(before), UNSEEN, dtype=np.int64)
    frontier = distinct(np.asarray(seeds, dtype=np.int64))[0]
    before[frontier] = frontier
    open_targets = set(targets) - set(frontier.tolist())
    while len(frontier) and open_targets:
        starts, counts = adjacency.indptr[frontier], np.diff(adjacency.indptr)[frontier]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        slots = np.repeat(starts, counts) + within
        found = adjacency.neighbours[slots].astype(np.int64)
        fresh = before[found] == UNSEEN
        # Written backwards: of several slots that lead to an entity the first is written last, and stays.
        before[found[fresh][::-1]] = np.repeat(frontier, counts)[fresh][::-1]
        by[found[fresh][::-1]] = adjacency.relations[slots][fresh][::-1]
        is_new = np.zeros(len(before), dtype=bool)
        is_new[found[fresh]] = True
        frontier = np.flatnonzero(is_new)
        open_targets = {each for each in open_targets if before[each] == UNSEEN}
    walks = {}
    for target in targets:
        if before[target] == UNSEEN:
            continue
        walk, at = [], target
        while by[at] != UNSEEN:
            walk.append(int(by[at]))
            at = int(before[at])
        walks[target] = walk[::-1]
    return walks
