"""A graph's tables: entities, relations and the CSR adjacency, one row each, and what was not sound in them.

Traversal is undirected; direction and type stay with each relation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, count, islice
from operator import eq

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, Numbered, StringLists, Strings
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import Said
from tiny_graph_rag.shown import short_repr

DEFAULT_WEIGHT = 1.0
SLOTS_AT_ONCE = 1 << 24  # of an adjacency that are sorted at a time: under 1 GB
DANGLING = "relations left out because an endpoint does not exist"  # a kind of LoadNotes
UNDIRECTED = "undirected: every relation is followed both ways, regardless of retrieval.direction"


@dataclass(frozen=True, slots=True, eq=False)
class Entities:
    """One row an entity. `details` holds attributes and unknown keys as JSON text, "" where none."""

    ids: Strings
    names: Strings
    types: Categories
    descriptions: Strings
    aliases: StringLists
    source_chunks: StringLists
    details: Strings

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class Relations:
    """One row a relation, in file order. sources, targets: int32 entity rows; weights: float64, >= 0."""

    ids: Strings | Numbered
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    types: Categories
    descriptions: Strings
    weights: NDArray[np.float64]
    source_chunks: StringLists
    details: Strings

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """Compressed sparse rows over both directions; a self-loop has no slot.

    indptr: int64 (entities + 1,). For the slots of one entity: neighbours int32 (the entity at the other
    end, ascending), relations int32 (the relation's row), forward bool (True where the slot runs from the
    relation's source to its target).
    """

    indptr: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    relations: NDArray[np.int32]
    forward: NDArray[np.bool_]

    __repr__ = short_repr

    @classmethod
    def of(cls, entities: int, sources: NDArray[np.int32], targets: NDArray[np.int32]) -> Adjacency:
        rows = np.flatnonzero(sources != targets).astype(np.int32)
        starts = np.concatenate([sources[rows], targets[rows]])
        ends = np.concatenate([targets[rows], sources[rows]])
        order = _order_by_pair(starts, ends, entities)
        indptr = np.zeros(entities + 1, dtype=np.int64)
        np.cumsum(np.bincount(starts, minlength=entities), out=indptr[1:])
        columns = (indptr, ends[order], np.concatenate([rows, rows])[order], order < len(rows))
        for column in columns:  # as those of a cached graph are
            column.setflags(write=False)
        return cls(*columns)

    @property
    def degrees(self) -> NDArray[np.int64]:
        return np.diff(self.indptr)

    def slots(self, entity: int) -> slice:
        """Where the slots of one entity stand."""
        return slice(int(self.indptr[entity]), int(self.indptr[entity + 1]))

    def are_joined(self, one: int, other: int) -> bool:
        """Whether a relation joins two entities."""
        return bool((self.neighbours[self.slots(one)] == other).any())

    def only(self, keep: NDArray[np.bool_]) -> Adjacency:
        """What is left of these slots. keep: (slots,)."""
        before = np.concatenate([[0], np.cumsum(keep)])
        neighbours, relations = self.neighbours[keep], self.relations[keep]
        return Adjacency(before[self.indptr], neighbours, relations, self.forward[keep])

    def reversed(self) -> Adjacency:
        """Each slot seen from its other end."""
        owner = np.repeat(np.arange(len(self.degrees), dtype=np.int32), self.degrees)
        order = np.argsort(self.neighbours, kind="stable")
        indptr = np.zeros_like(self.indptr)
        np.cumsum(np.bincount(self.neighbours, minlength=len(indptr) - 1), out=indptr[1:])
        return Adjacency(indptr, owner[order], self.relations[order], ~self.forward[order])


def entity_ranges(indptr: NDArray[np.int64], slots: int) -> Iterator[tuple[int, int]]:
    """Entities from low to high, one after the other, with at most `slots` slots together, or one of more."""
    low, entities = 0, len(indptr) - 1
    while low < entities:
        high = int(np.searchsorted(indptr, indptr[low] + slots, side="right")) - 1
        yield low, max(low + 1, min(high, entities))
        low = max(low + 1, min(high, entities))


@dataclass(frozen=True, slots=True)
class LoadNotes:
    """What was not sound in a file and how it was loaded all the same: (kind, count, examples)."""

    found: tuple[tuple[str, int, tuple[str, ...]], ...] = ()

    def count(self, kind: str) -> int:
        return next((count for name, count, _ in self.found if name == kind), 0)

    def lines(self) -> list[Said]:
        return [
            Said(
                f"{{n}} {_singular(kind) if count == 1 else kind} (such as {{examples}})",
                {"n": f"{count:,}", "examples": ", ".join(examples)},
            )
            for kind, count, examples in self.found
        ]


@dataclass(frozen=True, slots=True)
class Dropped:
    """What of a file is no entity and no relation by intent, such as chunks of text. examples: at most 3."""

    what: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Which program wrote a graph's file, and what became of everything in it.

    columns: (table, column, what it became), such as ("entities", "title", "name").
    """

    writer: str = ""
    columns: tuple[tuple[str, str, str], ...] = ()
    dropped: tuple[Dropped, ...] = ()

    @property
    def is_undirected(self) -> bool:
        """Whether the file says that its relations have no direction."""
        return any(role == UNDIRECTED for _, _, role in self.columns)


KG_JSON = Origin("KG JSON")  # its columns are the graph's own


def _singular(kind: str) -> str:
    """`relations left out …` → `relation left out …`."""
    return re.sub(
        "^(entit|relation|key|name|triple|line)(ies|s)\\b",
        lambda of: {"entit": "entity"}.get(of[1], of[1]),
        kind,
    )


def rank_by_name(names: Sequence[str], ids: Sequence[str]) -> tuple[NDArray[np.int32], list[list[int]]]:
    """Each row's place in the order (NFC name, id), and the rows of each NFC name that several have."""
    composed = [nfc(name) for name in names]
    order = sorted(range(len(composed)), key=composed.__getitem__)
    shared = []
    for start, stop in _equal_runs([composed[row] for row in order]):
        order[start:stop] = sorted(order[start:stop], key=ids.__getitem__)
        shared.append(order[start:stop])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank, shared


def _equal_runs(in_order: list[str]) -> list[tuple[int, int]]:
    """Where sorted values repeat: (start, stop) of each run of equals longer than one."""
    runs: list[tuple[int, int]] = []
    again = compress(count(1), map(eq, in_order, islice(in_order, 1, None)))
    for place in again:
        if runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place - 1, place + 1))
    return runs


def _order_by_pair(
    starts: NDArray[np.int32], ends: NDArray[np.int32], entities: int
) -> NDArray[np.int64] | NDArray[np.uint64]:
    """The stable order of slots by (start, end)."""
    entity_bits, slot_bits = max(entities - 1, 1).bit_length(), len(starts).bit_length()
    pairs = (starts.astype(np.uint64) << np.uint64(entity_bits)) | ends.astype(np.uint64)
    if 2 * entity_bits + slot_bits > 64:
        return np.argsort(pairs, kind="stable")
    # Numbers that carry their own place sort several times as fast as places that are sorted by a key.
    pairs <<= np.uint64(slot_bits)
    pairs |= np.arange(len(starts), dtype=np.uint64)
    pairs.sort()
    pairs &= np.uint64((1 << slot_bits) - 1)
    return pairs.view(np.int64)
