"""How far entities lie from seeds: breadth-first search for 64 questions in one machine word.

Every entity holds one bit a question ("reached"). One step ORs the words of an entity's neighbours into its
own, for all questions at once, and stops when every wanted entity that can be reached has been.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.arrays import distinct, found_in
from tiny_graph_rag.graph.model import Adjacency

NOT_REACHED = -1
WORD_BITS = 64
BLOCK_BYTES = 1 << 21  # of reached-bits at once: what stays in a cache while neighbours are read (measured)


def twins(adjacency: Adjacency) -> NDArray[np.int64]:
    """(slots,): the slot of the same relation seen from its other end."""
    pairs = np.argsort(adjacency.relations, kind="stable").reshape(-1, 2)
    twin = np.empty(len(adjacency.relations), dtype=np.int64)
    twin[pairs] = pairs[:, ::-1]
    return twin


def hops_between(
    adjacency: Adjacency,
    seeds: tuple[NDArray[np.int64], NDArray[np.int64]],
    wanted: tuple[NDArray[np.int64], NDArray[np.int64]],
    passable: NDArray[np.bool_] | None = None,
) -> NDArray[np.int32]:
    """Fewest relations from the nearest seed of the same question, for each wanted entity.

    seeds, wanted: (question, entity) columns, questions ascending. passable: (slots,), False where a walk
    may not leave an entity by that slot. Returns (wanted,), 0 for a seed, NOT_REACHED where no walk leads.
    """
    hops = np.full(len(wanted[0]), NOT_REACHED, dtype=np.int32)
    if not len(hops):
        return hops
    indptr, neighbours = _incoming(adjacency, passable)
    questions, _ = distinct(wanted[0])
    block = WORD_BITS * max(1, BLOCK_BYTES // max(8 * (len(indptr) - 1), 1))
    for start in range(0, len(questions), block):
        chosen = questions[start : start + block]
        rows = slice(*np.searchsorted(wanted[0], [chosen[0], chosen[-1] + 1]).tolist())
        held = found_in(chosen, seeds[0])
        hops[rows] = _search(
            indptr,
            neighbours,
            (np.searchsorted(chosen, seeds[0][held]), seeds[1][held]),
            (np.searchsorted(chosen, wanted[0][rows]), wanted[1][rows]),
            -(-len(chosen) // WORD_BITS),
        )
    return hops


def _incoming(
    adjacency: Adjacency, passable: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Rows of the entities from which one step leads to an entity."""
    if passable is None:
        return adjacency.indptr, adjacency.neighbours
    kept = passable[twins(adjacency)]
    before = np.concatenate([[0], np.cumsum(kept)])
    return before[adjacency.indptr], adjacency.neighbours[kept]


def _search(
    indptr: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    seeds: tuple[NDArray[np.int64], NDArray[np.int64]],
    wanted: tuple[NDArray[np.int64], NDArray[np.int64]],
    words: int,
) -> NDArray[np.int32]:
    """One block; questions count from 0 here."""
    reached = np.zeros((len(indptr) - 1, words), dtype=np.uint64)
    np.bitwise_or.at(reached, (seeds[1], seeds[0] // WORD_BITS), _bit(seeds[0]))
    linked = np.flatnonzero(indptr[1:] > indptr[:-1])  # reduceat has no empty rows
    hops = np.full(len(wanted[0]), NOT_REACHED, dtype=np.int32)
    open_rows = np.arange(len(hops))
    hop = 0
    while True:
        question, entity = wanted[0][open_rows], wanted[1][open_rows]
        found = (reached[entity, question // WORD_BITS] & _bit(question)) > 0
        hops[open_rows[found]] = hop
        open_rows = open_rows[~found]
        if not len(open_rows) or not len(linked):
            return hops
        stepped = np.bitwise_or.reduceat(reached[neighbours], indptr[linked], axis=0)
        grown = reached[linked] | stepped
        if np.array_equal(grown, reached[linked]):
            return hops
        reached[linked] = grown
        hop += 1


def _bit(question: NDArray[np.int64]) -> NDArray[np.uint64]:
    return np.uint64(1) << (question % WORD_BITS).astype(np.uint64)
