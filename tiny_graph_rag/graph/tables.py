"""A graph's tables: entities, relations and the CSR adjacency, one row each, and what was not sound in them.

Traversal is undirected; direction and type stay with each relation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, short_repr
from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import Said

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

    ids: Strings
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

    def only(self, keep: NDArray[np.bool_]) -> Relations:
        """The same without some rows. keep: (relations,)."""
        columns: dict[str, Any] = {}
        for field in fields(self):
            column = getattr(self, field.name)
            is_array = isinstance(column, np.ndarray)
            columns[field.name] = column[keep] if is_array else type(column).of(compress(column, keep))
        return Relations(**columns)

    def duplicates(self) -> NDArray[np.int64]:
        """Rows that repeat the ends and the type of an earlier one, ascending."""
        order = _order_by_pair(self.sources, self.targets)
        pairs = np.cumsum(begins(self.sources[order], self.targets[order]))
        triples = pairs * len(self.types.names) + self.types.codes[order]
        by_triple = np.argsort(triples, kind="stable")
        return np.sort(order[by_triple][~begins(triples[by_triple])])


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
        order = _order_by_pair(starts, ends)
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


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """All that is read of a graph's files. name_rank: as KnowledgeGraph has it."""

    entities: Entities
    relations: Relations
    adjacency: Adjacency
    name_rank: NDArray[np.int32]
    notes: LoadNotes
    origin: Origin


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
        "^(entit|relation|duplicate relation|self-loop|key|name|row|table|triple|line|id)(ies|s)\\b",
        lambda of: {"entit": "entity"}.get(of[1], of[1]),
        kind,
    )


def rank_by_name(names: Sequence[str], ids: Sequence[str]) -> NDArray[np.int32]:
    """Each row's place in the order (NFC name, id)."""
    order = sorted(range(len(names)), key=list(ids).__getitem__)
    order.sort(key=[nfc(name) for name in names].__getitem__)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank


def _order_by_pair(starts: NDArray[np.int32], ends: NDArray[np.int32]) -> NDArray[np.int64]:
    """The stable order of rows by (start, end)."""
    end_bits, row_bits = int(ends.max(initial=1)).bit_length(), len(starts).bit_length()
    pairs = (starts.astype(np.uint64) << np.uint64(end_bits)) | ends.astype(np.uint64)
    if int(starts.max(initial=1)).bit_length() + end_bits + row_bits > 64:
        return np.argsort(pairs, kind="stable")
    # Numbers that carry their own row sort several times as fast as rows that are sorted by a key.
    pairs <<= np.uint64(row_bits)
    pairs |= np.arange(len(starts), dtype=np.uint64)
    pairs.sort()
    pairs &= np.uint64((1 << row_bits) - 1)
    return pairs.view(np.int64)
