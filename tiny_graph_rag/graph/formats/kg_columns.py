"""Records → columns, piece by piece, so that a large file's records never exist all at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.graph.formats.kg_records import Entity, Extras, Relation
from tiny_graph_rag.graph.model import (
    DANGLING,
    DEFAULT_WEIGHT,
    Entities,
    KnowledgeGraph,
    LoadNotes,
    Relations,
)
from tiny_graph_rag.graph.strings import CategoriesBuilder, StringListsBuilder, StringsBuilder

UNKNOWN_TYPE = "OTHER"
UNKNOWN_RELATION = "RELATED_TO"
SHOWN_EXAMPLES = 3

KEYS = "entities whose 'entity_id' differs from their key (the key counts)"
SHARED = "names borne by several entities"
WEIGHTS = f"relations with a negative or non-finite weight (taken as {DEFAULT_WEIGHT})"
LOOPS = "self-loops (kept, never walked)"
DUPLICATES = "duplicate relations (same ends and type; kept)"
RELATION_NOTES = (DANGLING, WEIGHTS, LOOPS, DUPLICATES)


class RepeatedKeyError(Exception):
    """An id came in two pieces; the file has to be read as a whole, where the last of them counts."""


class Notes:
    """Counts flaws and keeps the first examples of each kind, and the number of the first."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, list[str]] = {}
        self.first: dict[str, int] = {}

    def add(self, kind: str, numbers: Sequence[int], labels: Sequence[str]) -> None:
        """numbers, labels: of the records with this flaw, in file order; labels at least as many as shown."""
        if len(numbers):
            self.counts[kind] = self.counts.get(kind, 0) + len(numbers)
            kept = self.examples.setdefault(kind, [])
            kept.extend(labels[: SHOWN_EXAMPLES - len(kept)])
            self.first.setdefault(kind, int(numbers[0]))

    def done(self, kinds: Sequence[str]) -> list[tuple[str, int, tuple[str, ...]]]:
        """Those of `kinds` that were found, in the order in which the file shows them first."""
        found = sorted((self.first[kind], kinds.index(kind), kind) for kind in kinds if kind in self.counts)
        return [(kind, self.counts[kind], tuple(self.examples[kind])) for _, _, kind in found]


class GraphColumns:
    """Add all entities, then all relations, then ask for the graph."""

    def __init__(self) -> None:
        self.row_of: dict[str, int] = {}
        self.bearers: Counter[str] = Counter()
        self.notes = Notes()
        self.ids, self.names, self.descriptions = StringsBuilder(), StringsBuilder(), StringsBuilder()
        self.types, self.details = CategoriesBuilder(), StringsBuilder()
        self.aliases, self.chunks = StringListsBuilder(), StringListsBuilder()
        self.written = 0
        self.relation_ids, self.relation_descriptions = StringsBuilder(), StringsBuilder()
        self.relation_types, self.relation_details = CategoriesBuilder(), StringsBuilder()
        self.relation_chunks = StringListsBuilder()
        self.ends: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        self.weights: list[NDArray[np.float64]] = []

    def add_entities(self, ids: Sequence[str], rows: Sequence[Entity], extras: Extras) -> None:
        """extras: by place in this piece. Raises RepeatedKeyError for an id that came before."""
        before = len(self.row_of)
        self.row_of.update(zip(ids, range(before, before + len(ids)), strict=True))
        if len(self.row_of) != before + len(ids):
            raise RepeatedKeyError
        written = _column(rows, "entity_id")
        other = [key for key, each in zip(ids, written, strict=True) if each is not None and each != key]
        self.notes.add(KEYS, [before] * len(other), other)
        names = _column(rows, "name")
        self.bearers.update(names)
        self.ids.add(ids)
        self.names.add(names)
        self.types.add(_filled(_column(rows, "entity_type"), UNKNOWN_TYPE))
        self.descriptions.add(_filled(_column(rows, "description"), ""))
        self.aliases.add(_filled(_column(rows, "aliases"), ()))
        self.chunks.add(_filled(_column(rows, "source_chunks"), ()))
        self.details.add(_details(rows, extras))

    def add_relations(self, rows: Sequence[Relation], extras: Extras) -> None:
        """extras: by place in this piece."""
        first = self.written
        self.written += len(rows)
        labels = _column(rows, "relationship_id")
        if not all(labels):
            labels = [each or f"relationships[{number}]" for number, each in enumerate(labels, start=first)]
        sources = self._entities(_column(rows, "source_entity_id"))
        targets = self._entities(_column(rows, "target_entity_id"))
        details = _details(rows, extras)
        kept = (sources >= 0) & (targets >= 0)
        numbers = np.arange(first, self.written)
        if not kept.all():
            self._note(DANGLING, ~kept, numbers, labels)
            rows, labels = list(compress(rows, kept)), list(compress(labels, kept))
            details = list(compress(details, kept))
            sources, targets, numbers = sources[kept], targets[kept], numbers[kept]
        written = _column(rows, "weight")
        if None in written:
            written = [DEFAULT_WEIGHT if each is None else each for each in written]
        weights = np.array(written, dtype=np.float64)
        wrong = ~(np.isfinite(weights) & (weights >= 0))
        self._note(WEIGHTS, wrong, numbers, labels)
        weights[wrong] = DEFAULT_WEIGHT
        self._note(LOOPS, sources == targets, numbers, labels)
        self.ends.append((sources, targets))
        self.weights.append(weights)
        self.relation_ids.add(labels)
        self.relation_types.add(_filled(_column(rows, "relationship_type"), UNKNOWN_RELATION))
        self.relation_descriptions.add(_filled(_column(rows, "description"), ""))
        self.relation_chunks.add(_filled(_column(rows, "source_chunks"), ()))
        self.relation_details.add(details)

    def _entities(self, ids: list[str]) -> NDArray[np.int32]:
        """Rows of entities, -1 where an id is unknown."""
        try:
            return np.fromiter(map(self.row_of.__getitem__, ids), dtype=np.int32, count=len(ids))
        except KeyError:
            return np.array([self.row_of.get(each, -1) for each in ids], dtype=np.int32)

    def _note(
        self, kind: str, flawed: NDArray[np.bool_], numbers: NDArray[np.int64], labels: Sequence[str]
    ) -> None:
        places = np.flatnonzero(flawed)
        shown = [labels[place] for place in places[:SHOWN_EXAMPLES].tolist()]
        self.notes.add(kind, numbers[places].tolist(), shown)

    def graph(self) -> KnowledgeGraph:
        """The graph, without a name; the builder is used up."""
        shared = [repr(name) for name, count in self.bearers.items() if count > 1]
        self.notes.add(SHARED, [len(self.row_of)] * len(shared), shared)
        self.bearers.clear()
        self.row_of.clear()
        entities = Entities(
            ids=self.ids.done(),
            names=self.names.done(),
            types=self.types.done(),
            descriptions=self.descriptions.done(),
            aliases=self.aliases.done(),
            source_chunks=self.chunks.done(),
            details=self.details.done(),
        )
        none = np.zeros(0, dtype=np.int32)
        relations = Relations(
            ids=self.relation_ids.done(),
            sources=np.concatenate([none, *(sources for sources, _ in self.ends)]),
            targets=np.concatenate([none, *(targets for _, targets in self.ends)]),
            types=self.relation_types.done(),
            descriptions=self.relation_descriptions.done(),
            weights=np.concatenate([np.zeros(0), *self.weights]),
            source_chunks=self.relation_chunks.done(),
            details=self.relation_details.done(),
        )
        self._note_duplicates(relations, len(entities))
        found = [*self.notes.done((KEYS, SHARED)), *self.notes.done(RELATION_NOTES)]
        return KnowledgeGraph.of(entities, relations, notes=LoadNotes(tuple(found)))

    def _note_duplicates(self, relations: Relations, entities: int) -> None:
        kinds = max(len(relations.types.names), 1)
        pairs = relations.sources.astype(np.int64) * entities + relations.targets
        if entities * entities * kinds < 2**63:
            keys = pairs * kinds + relations.types.codes
        else:  # too many for one number: number the pairs that occur
            keys = np.unique(pairs, return_inverse=True)[1] * kinds + relations.types.codes
        in_order = np.sort(keys)
        if not (in_order[1:] == in_order[:-1]).any():
            return
        order = np.argsort(keys, kind="stable")
        again = np.sort(order[1:][keys[order[1:]] == keys[order[:-1]]]).tolist()
        self.notes.add(DUPLICATES, again, [relations.ids[row] for row in again[:SHOWN_EXAMPLES]])


def _column(rows: Sequence[Entity | Relation], field: str) -> list[Any]:
    return list(map(attrgetter(field), rows))


def _filled(column: list[Any], missing: str | tuple[str, ...]) -> list[Any]:
    """The column with `missing` where a value is null or empty."""
    return column if all(column) else [each or missing for each in column]


def _details(rows: Sequence[Entity | Relation], extras: Extras) -> list[str]:
    attributes = _column(rows, "attributes")
    if not extras and not any(attributes):
        return [""] * len(rows)
    found = []
    for number, each in enumerate(attributes):
        kept = {**({"attributes": each} if each else {}), **extras.get(number, {})}
        found.append(json.dumps(kept, ensure_ascii=False) if kept else "")
    return found
