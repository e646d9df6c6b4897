"""Records → columns, piece by piece, so that a large file's records never exist all at once.

The records are those of KG JSON; `made` says what is wrong with one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.columns.strings import CategoriesBuilder, StringListsBuilder, StringsBuilder
from tiny_graph_rag.errors import GraphError, Problems, at, json_kind
from tiny_graph_rag.graph.tables import (
    DANGLING,
    DEFAULT_WEIGHT,
    Adjacency,
    Entities,
    LoadNotes,
    Relations,
    rank_by_name,
)
from tiny_graph_rag.messages import Said, said

UNKNOWN_TYPE = "OTHER"
UNKNOWN_RELATION = "RELATED_TO"
SHOWN_EXAMPLES = 3

TWICE = "keys written twice in one object (the last counts)"
KEYS = "entities whose 'entity_id' differs from their key (the key counts)"
SHARED = "names of more than one entity"
ID_NAMES = "entities (all of them) have names that look like ids: is there a table of names?"
WEIGHTS = f"relations with a negative or non-finite weight (taken as {DEFAULT_WEIGHT})"
LOOPS = "self-loops (kept, never walked)"
DUPLICATES = "duplicate relations (same ends and type; kept)"
# 17, -3, 17.0, Q42, /m/0d3k14, a UUID, a hash
_LIKE_ID = re.compile(
    r"[+-]?[0-9]+(\.0)?|[QP][0-9]+|/[mg]/\w+|[0-9a-f]{32,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I
)
RELATION_NOTES = (DANGLING, WEIGHTS, LOOPS, DUPLICATES)


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


class Tables(NamedTuple):
    """name_rank: as KnowledgeGraph has it."""

    entities: Entities
    relations: Relations
    adjacency: Adjacency
    name_rank: NDArray[np.int32]
    notes: LoadNotes


class GraphColumns:
    """Add all entities, then all relations, then ask for the graph.

    rows: of ids. flaws: what else was not sound, as in LoadNotes.
    """

    def __init__(self, rows: Mapping[str, int]) -> None:
        self.known = rows
        self.entities = 0
        self.notes = Notes()
        self.flaws: list[tuple[str, int, tuple[str, ...]]] = []
        self.ids, self.names, self.descriptions = StringsBuilder(), StringsBuilder(), StringsBuilder()
        self.types, self.details = CategoriesBuilder(), StringsBuilder()
        self.aliases, self.chunks = StringListsBuilder(), StringListsBuilder()
        self.written = 0
        self.relation_ids, self.relation_descriptions = StringsBuilder(), StringsBuilder()
        self.relation_types, self.relation_details = CategoriesBuilder(), StringsBuilder()
        self.relation_chunks = StringListsBuilder()
        self.ends: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        self.weights: list[NDArray[np.float64]] = []
        self.missing: list[str] = []  # ends that no entity has, as far as a reader knows them: some examples

    def check_ends(self, path: Path) -> None:
        """Raises GraphError where more than half of the relations had to be left out."""
        lost = self.notes.counts.get(DANGLING, 0)
        if 2 * lost > self.written:
            examples = self.missing[:SHOWN_EXAMPLES] or self.notes.examples[DANGLING]
            raise GraphError(
                "{path}: {lost} of {written} relations have an end that is neither the id nor the name "
                "of an entity (such as {examples}); the list of entities may belong to another file",
                path=path,
                lost=f"{lost:,}",
                written=f"{self.written:,}",
                examples=", ".join(examples),
            )

    def add_entities(self, ids: Sequence[str], rows: Sequence[Entity], extras: Extras) -> None:
        """extras: by place in this piece."""
        before = self.entities
        written = _column(rows, "entity_id")
        other = [
            key for key, column in zip(ids, written, strict=True) if column is not None and column != key
        ]
        self.notes.add(KEYS, [before] * len(other), other)
        self.add_entity_columns(
            ids,
            _column(rows, "name"),
            _filled(_column(rows, "entity_type"), UNKNOWN_TYPE),
            _filled(_column(rows, "description"), ""),
            _filled(_column(rows, "aliases"), ()),
            _filled(_column(rows, "source_chunks"), ()),
            _details(rows, extras),
        )

    def add_entity_columns(
        self,
        ids: Sequence[str],
        names: Sequence[str],
        types: Sequence[str],
        descriptions: Sequence[str],
        aliases: Sequence[Sequence[str]],
        chunks: Sequence[Sequence[str]],
        details: Sequence[str],
    ) -> None:
        """(entities,) each. details: JSON text, "" where none."""
        self.entities += len(ids)
        self.ids.add(ids)
        self.names.add(names)
        self.types.add(types)
        self.descriptions.add(descriptions)
        self.aliases.add(aliases)
        self.chunks.add(chunks)
        self.details.add(details)

    def add_relations(self, rows: Sequence[Relation], extras: Extras) -> None:
        """extras: by place in this piece."""
        labels = _column(rows, "relationship_id")
        if not all(labels):
            first = self.written
            labels = [label or f"relationships[{number}]" for number, label in enumerate(labels, start=first)]
        ends = self._entities(_column(rows, "source_entity_id") + _column(rows, "target_entity_id"))
        sources, targets = ends[: len(rows)], ends[len(rows) :]
        written = _column(rows, "weight")
        if None in written:
            written = [DEFAULT_WEIGHT if column is None else column for column in written]
        self.add_relation_columns(
            labels,
            sources,
            targets,
            _filled(_column(rows, "relationship_type"), UNKNOWN_RELATION),
            _filled(_column(rows, "description"), ""),
            np.array(written, dtype=np.float64),
            _filled(_column(rows, "source_chunks"), ()),
            _details(rows, extras),
        )

    def add_relation_columns(
        self,
        ids: Sequence[str],
        sources: NDArray[np.int32],
        targets: NDArray[np.int32],
        types: Sequence[str],
        descriptions: Sequence[str],
        weights: NDArray[np.float64],
        chunks: Sequence[Sequence[str]],
        details: Sequence[str],
    ) -> None:
        """(relations,) each. sources, targets: rows of entities, -1 where there is none."""
        first = self.written
        self.written += len(ids)
        kept = (sources >= 0) & (targets >= 0)
        numbers = np.arange(first, self.written)
        if not kept.all():
            self._note(DANGLING, ~kept, numbers, ids)
            ids, types = list(compress(ids, kept)), list(compress(types, kept))
            descriptions, details = list(compress(descriptions, kept)), list(compress(details, kept))
            chunks, weights = list(compress(chunks, kept)), weights[kept]
            sources, targets, numbers = sources[kept], targets[kept], numbers[kept]
        weights = np.array(weights)
        wrong = ~(np.isfinite(weights) & (weights >= 0))
        self._note(WEIGHTS, wrong, numbers, ids)
        weights[wrong] = DEFAULT_WEIGHT
        self._note(LOOPS, sources == targets, numbers, ids)
        self.ends.append((sources, targets))
        self.weights.append(weights)
        self.relation_ids.add(ids)
        self.relation_types.add(types)
        self.relation_descriptions.add(descriptions)
        self.relation_chunks.add(chunks)
        self.relation_details.add(details)

    def _entities(self, ids: list[str]) -> NDArray[np.int32]:
        """Rows of entities, -1 where an id is unknown."""
        return np.fromiter((self.known.get(id_, -1) for id_ in ids), np.int32, len(ids))

    def _note(
        self, kind: str, flawed: NDArray[np.bool_], numbers: NDArray[np.int64], labels: Sequence[str]
    ) -> None:
        places = np.flatnonzero(flawed)
        shown = [labels[place] for place in places[:SHOWN_EXAMPLES].tolist()]
        self.notes.add(kind, numbers[places].tolist(), shown)

    def tables(self) -> Tables:
        """The graph's tables; the builder is used up."""
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
        adjacency = Adjacency.of(len(entities), relations.sources, relations.targets)
        names = list(entities.names)
        rank, shared = rank_by_name(names, entities.ids)
        has_name = _borne_by_several(names, shared)
        self.notes.add(SHARED, [self.entities] * len(has_name), has_name)
        if all(map(_LIKE_ID.fullmatch, names)):
            self.notes.add(ID_NAMES, [self.entities] * len(names), names)
        again = _duplicates(relations, adjacency).tolist()
        self.notes.add(DUPLICATES, again, [relations.ids[row] for row in again[:SHOWN_EXAMPLES]])
        notes = [
            *self.flaws,
            *self.notes.done((TWICE, KEYS, SHARED, ID_NAMES)),
            *self.notes.done(RELATION_NOTES),
        ]
        return Tables(entities, relations, adjacency, rank, LoadNotes(tuple(notes)))


def _borne_by_several(names: Sequence[str], shared: Sequence[Sequence[int]]) -> list[str]:
    """Quoted, in the order in which they first stand. shared: rows whose names are equal once composed."""
    found = []
    for rows in shared:
        written: dict[str, list[int]] = {}
        for row in sorted(rows):
            written.setdefault(names[row], []).append(row)
        found += [(places[0], name) for name, places in written.items() if len(places) > 1]
    return [repr(name) for _, name in sorted(found)]


def _duplicates(relations: Relations, adjacency: Adjacency) -> NDArray[np.int64]:
    """Relations that repeat the ends and the type of an earlier one, ascending."""
    again = adjacency.neighbours[1:] == adjacency.neighbours[:-1]
    again &= adjacency.forward[1:]  # of one pair's slots the forward ones stand first
    bounds = adjacency.indptr[1:-1]
    again[bounds[(bounds > 0) & (bounds < len(adjacency.neighbours))] - 1] = False
    later = np.flatnonzero(again)
    sharing = np.concatenate([adjacency.relations[later], adjacency.relations[later + 1]])
    loops = np.flatnonzero(relations.sources == relations.targets).astype(np.int32)
    rows, _ = distinct(np.append(sharing, loops))
    keys = (relations.sources[rows], relations.targets[rows], relations.types.codes[rows])
    order = np.lexsort((rows, *keys))
    same = np.ones(max(len(rows) - 1, 0), dtype=bool)
    for key in keys:
        same &= key[order[1:]] == key[order[:-1]]
    found: NDArray[np.int64] = np.sort(rows[order[1:][same]]).astype(np.int64)
    return found


def _column(rows: Sequence[Entity | Relation], field: str) -> list[Any]:
    return list(map(attrgetter(field), rows))


def _filled(column: list[Any], missing: str | tuple[str, ...]) -> list[Any]:
    """The column with `missing` where a value is null or empty."""
    return column if all(column) else [value or missing for value in column]


def _details(rows: Sequence[Entity | Relation], extras: Extras) -> list[str]:
    attributes = _column(rows, "attributes")
    if not extras and not any(attributes):
        return [""] * len(rows)
    found = []
    for number, attribute in enumerate(attributes):
        kept = {**({"attributes": attribute} if attribute else {}), **extras.get(number, {})}
        found.append(json.dumps(kept, ensure_ascii=False) if kept else "")
    return found


Extras = dict[int, dict[str, Any]]  # number of a record → its unknown keys

SHAPE = 'wanted {"entities": {id: {"name": …}}, "relationships": [{…}]}'
PARTS = {"entities": "an object from id to entity", "relationships": "a list"}  # of KG JSON


@dataclass(slots=True)
class Entity:
    name: str
    entity_id: str | None = None
    entity_type: str | None = None
    description: str | None = None
    attributes: dict[str, Any] | None = None
    source_chunks: list[str] | None = None
    aliases: list[str] | None = None


@dataclass(slots=True)
class Relation:
    source_entity_id: str
    target_entity_id: str
    relationship_id: str | None = None
    relationship_type: str | None = None
    description: str | None = None
    weight: float | None = None
    source_chunks: list[str] | None = None
    attributes: dict[str, Any] | None = None


Row = TypeVar("Row", Entity, Relation)


def made(
    kind: type[Row], row: object, place: str, problems: list[Said], extras: Extras, number: int
) -> Row | None:
    """The record, its unknown keys put into `extras`; None with its problems where it can't be used."""
    if not isinstance(row, dict):
        problems.append(said("{place}: must be an object, got {got}", place=place, got=json_kind(row)))
        return None
    before = len(problems)
    problems.extend(at(place, wrong) for wrong in _wrong_fields(kind, row))
    if len(problems) > before:
        return None
    names = {field.name for field in fields(kind)}
    known = {name: value for name, value in row.items() if name in names}
    if len(known) < len(row):
        extras[number] = {name: value for name, value in row.items() if name not in known}
    if known.get("weight") is not None:
        known["weight"] = _float(known["weight"])
    return kind(**known)


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number beyond all floats
        return float("inf")


_STRINGS = "a list of strings"
_FIELD_KINDS = {
    "source_chunks": _STRINGS,
    "aliases": _STRINGS,
    "attributes": "an object",
    "weight": "a number",
}


def _wrong_fields(kind: type[Entity | Relation], row: dict[str, Any]) -> Iterator[Said]:
    for field in fields(kind):
        value, required = row.get(field.name), field.default is MISSING
        if required and field.name not in row:
            yield said("{field} is missing", field=repr(field.name))
        elif value is None:
            if required:
                yield said("{field} must be a string, got {got}", field=repr(field.name), got=json_kind(None))
        else:
            wanted = _FIELD_KINDS.get(field.name, "a string")
            if not _is(wanted, value):
                yield said(
                    "{place} must be {wanted}, got {got}",
                    place=repr(field.name),
                    wanted=said(wanted),
                    got=json_kind(value),
                )
            elif field.name == "name" and not value.strip():
                yield said("'name' must not be empty")


def _is(wanted: str, value: object) -> bool:
    if wanted == "a string":
        return isinstance(value, str)
    if wanted == "a number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted == "an object":
        return isinstance(value, dict)
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def check_parts(path: Path, keys: Sequence[str], others: Mapping[str, Said]) -> None:
    """Raises GraphError where one of KG JSON's two parts is not among an object's keys, or holds what it must
    not. others: a part → what it holds instead of an object or a list."""
    missing = [key for key in PARTS if key not in keys]
    if missing:
        raise GraphError.at(
            path,
            "{wanted}; missing: {names} (it has {keys})",
            wanted=SHAPE,
            names=" and ".join(map(repr, missing)),
            keys=", ".join(map(repr, keys[:5])) or "no keys",
        )
    problems = Problems(GraphError)
    for key, got in others.items():
        problems.add(
            path, "{part} must be {wanted}, got {got}", part=repr(key), wanted=said(PARTS[key]), got=got
        )
    problems.check()
