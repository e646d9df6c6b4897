"""Records → columns.

The records are those of KG JSON; `check_records` says what is wrong with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, compress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError, at, json_kind
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
Record = Mapping[str, Any]
T = TypeVar("T")
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


class RelationBlock(NamedTuple):
    """Columns of relations, (relations,) each. sources, targets: rows of entities, -1 where there is none."""

    ids: Sequence[str]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    types: Sequence[str]
    descriptions: Sequence[str]
    weights: NDArray[np.float64]
    chunks: Sequence[Sequence[str]]
    details: Sequence[str]


class GraphColumns:
    """Add all entities, then all relations, in one block or in several, then ask for the graph.

    known: id → row. flaws: what else was not sound, as in LoadNotes.
    """

    def __init__(self, known: Mapping[str, int]) -> None:
        self.known = known
        self.entities: Entities | None = None
        self.notes = Notes()
        self.flaws: list[tuple[str, int, tuple[str, ...]]] = []
        self.written = 0
        self.blocks: list[RelationBlock] = []
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

    def add_entities(self, ids: Sequence[str], rows: Sequence[Record]) -> None:
        """rows: records with KG JSON's fields, which are sound (`check_records`)."""
        written = _column(rows, "entity_id")
        other = [key for key, own in zip(ids, written, strict=True) if own is not None and own != key]
        self.notes.add(KEYS, [0] * len(other), other)
        self.add_entity_columns(
            ids,
            _column(rows, "name"),
            _filled(_column(rows, "entity_type"), UNKNOWN_TYPE),
            _filled(_column(rows, "description"), ""),
            _filled(_column(rows, "aliases"), ()),
            _filled(_column(rows, "source_chunks"), ()),
            _details(rows, ENTITY_FIELDS),
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
        self.entities = Entities(
            ids=Strings.of(ids),
            names=Strings.of(names),
            types=Categories.of(types),
            descriptions=Strings.of(descriptions),
            aliases=StringLists.of(aliases),
            source_chunks=StringLists.of(chunks),
            details=Strings.of(details),
        )

    def add_relations(self, rows: Sequence[Record]) -> None:
        """rows: as `add_entities` has them."""
        labels = _column(rows, "relationship_id")
        if not all(labels):
            first = self.written
            labels = [label or f"relationships[{number}]" for number, label in enumerate(labels, start=first)]
        ends = self._entities(_column(rows, "source_entity_id") + _column(rows, "target_entity_id"))
        block = RelationBlock(
            labels,
            ends[: len(rows)],
            ends[len(rows) :],
            _filled(_column(rows, "relationship_type"), UNKNOWN_RELATION),
            _filled(_column(rows, "description"), ""),
            np.array(list(map(_float, _column(rows, "weight"))), dtype=np.float64),
            _filled(_column(rows, "source_chunks"), ()),
            _details(rows, RELATION_FIELDS),
        )
        self.add_relation_block(block)

    def add_relation_block(self, block: RelationBlock) -> None:
        """A relation without one of its ends is left out and counted; a wrong weight becomes the default."""
        numbers = np.arange(self.written, self.written + len(block.ids))
        self.written += len(block.ids)
        kept = (block.sources >= 0) & (block.targets >= 0)
        if not kept.all():
            self._note(DANGLING, ~kept, numbers, block.ids)
            block, numbers = RelationBlock(*(_only(kept, column) for column in block)), numbers[kept]
        weights = np.array(block.weights)
        wrong = ~(np.isfinite(weights) & (weights >= 0))
        self._note(WEIGHTS, wrong, numbers, block.ids)
        weights[wrong] = DEFAULT_WEIGHT
        self._note(LOOPS, block.sources == block.targets, numbers, block.ids)
        self.blocks.append(block._replace(weights=weights))

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
        """The graph's tables."""
        entities = self.entities
        assert entities is not None  # a reader adds them first
        columns = list(zip(*self.blocks, strict=True)) or [()] * len(RelationBlock._fields)
        ids, sources, targets, types, descriptions, weights, chunks, details = columns
        none = np.zeros(0, dtype=np.int32)
        relations = Relations(
            ids=Strings.of(_joined(ids)),
            sources=np.concatenate([none, *sources]),
            targets=np.concatenate([none, *targets]),
            types=Categories.of(_joined(types)),
            descriptions=Strings.of(_joined(descriptions)),
            weights=np.concatenate([np.zeros(0), *weights]),
            source_chunks=StringLists.of(_joined(chunks)),
            details=Strings.of(_joined(details)),
        )
        adjacency = Adjacency.of(len(entities), relations.sources, relations.targets)
        names = list(entities.names)
        rank, shared = rank_by_name(names, entities.ids)
        has_name = _borne_by_several(names, shared)
        self.notes.add(SHARED, [len(entities)] * len(has_name), has_name)
        if all(map(_LIKE_ID.fullmatch, names)):
            self.notes.add(ID_NAMES, [len(entities)] * len(names), names)
        again = _duplicates(relations, adjacency).tolist()
        self.notes.add(DUPLICATES, again, [relations.ids[row] for row in again[:SHOWN_EXAMPLES]])
        notes = [
            *self.flaws,
            *self.notes.done((TWICE, KEYS, SHARED, ID_NAMES)),
            *self.notes.done(RELATION_NOTES),
        ]
        return Tables(entities, relations, adjacency, rank, LoadNotes(tuple(notes)))


def _only(kept: NDArray[np.bool_], column: Any) -> Any:
    return column[kept] if isinstance(column, np.ndarray) else list(compress(column, kept))


def _joined(blocks: Sequence[Sequence[T]]) -> Sequence[T]:
    """One column of several blocks; a single block stays as it is."""
    return blocks[0] if len(blocks) == 1 else list(chain.from_iterable(blocks))


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


def _column(rows: Sequence[Record], field: str) -> list[Any]:
    return [row.get(field) for row in rows]


def _filled(column: list[Any], missing: str | tuple[str, ...]) -> list[Any]:
    """The column with `missing` where a value is null or empty."""
    return column if all(column) else [value or missing for value in column]


def _details(rows: Sequence[Record], known: Collection[str]) -> list[str]:
    """JSON of each record's attributes and of its keys that are no field; "" where there is nothing."""
    unknown = [key for key in dict.fromkeys(chain.from_iterable(rows)) if key not in known]
    if not unknown and not any(_column(rows, "attributes")):
        return [""] * len(rows)
    found = []
    for row in rows:
        kept = {"attributes": row["attributes"]} if row.get("attributes") else {}
        kept |= {key: row[key] for key in unknown if key in row}
        found.append(json.dumps(kept, ensure_ascii=False) if kept else "")
    return found


SHAPE = 'wanted {"entities": {id: {"name": …}}, "relationships": [{…}]}'
TEXT, TEXTS, NUMBER, OBJECT = "a string", "a list of strings", "a number", "an object"
TYPES: dict[str, set[type]] = {TEXT: {str}, TEXTS: {list}, NUMBER: {int, float}, OBJECT: {dict}}
# The fields of KG JSON's records and what they hold; all but those that are needed may be null.
ENTITY_FIELDS = {
    "name": TEXT,
    "entity_id": TEXT,
    "entity_type": TEXT,
    "description": TEXT,
    "attributes": OBJECT,
    "source_chunks": TEXTS,
    "aliases": TEXTS,
}
RELATION_FIELDS = {
    "source_entity_id": TEXT,
    "target_entity_id": TEXT,
    "relationship_id": TEXT,
    "relationship_type": TEXT,
    "description": TEXT,
    "weight": NUMBER,
    "source_chunks": TEXTS,
    "attributes": OBJECT,
}
NEEDED = ("name", "source_entity_id", "target_entity_id")


def columns_of(
    entities: Mapping[Any, Any],
    relationships: Sequence[Any],
    path: Path | None = None,
    problems: Sequence[Said] = (),
) -> GraphColumns:
    """The columns of KG JSON's records. path: the file that holds them. problems: of the same records.

    Raises GraphError with every record that can't be used, and for no entity at all.
    """
    keys, records, wrong = list(entities), list(entities.values()), list(problems)
    place = f"{path}: " if path else ""
    check_records(ENTITY_FIELDS, records, lambda row: f"{place}entities[{keys[row]!r}]", wrong)
    check_records(RELATION_FIELDS, relationships, lambda row: f"{place}relationships[{row}]", wrong)
    if wrong:
        raise GraphError(*wrong)
    if not records:
        none = said("the graph has no entities; it needs one at least")
        raise GraphError(at(path, none) if path else none)
    columns = GraphColumns({str(id): row for row, id in enumerate(keys)})
    columns.add_entities(list(map(str, keys)), records)
    columns.add_relations(relationships)
    return columns


def check_records(
    fields: Mapping[str, str], rows: Sequence[Any], place: Callable[[int], str], problems: list[Said]
) -> None:
    """Add what is wrong with records to `problems`, field by field. place: what a message calls a record, by
    its number."""
    wrong = [number for number, row in enumerate(rows) if not isinstance(row, dict)]
    for number in wrong:
        got = json_kind(rows[number])
        problems.append(said("{place}: must be an object, got {got}", place=place(number), got=got))
    if wrong:
        return
    for field, wanted in fields.items():
        column = _column(rows, field)
        fitting = TYPES[wanted] if field in NEEDED else {*TYPES[wanted], type(None)}
        is_sound = set(map(type, column)) <= fitting
        if is_sound and wanted == TEXTS:
            is_sound = set(map(type, chain.from_iterable(filter(None, column)))) <= {str}
        if not is_sound or (field == "name" and not all(map(str.strip, column))):
            for number, value in enumerate(column):
                told = _wrong(field, wanted, value, rows[number])
                if told is not None:
                    problems.append(at(place(number), told))


def _wrong(field: str, wanted: str, value: Any, row: Record) -> Said | None:
    if value is None and field not in NEEDED:
        return None
    if field not in row:
        return said("{field} is missing", field=repr(field))
    if type(value) not in TYPES[wanted] or not all(isinstance(part, str) for part in _parts(value)):
        return said(
            "{place} must be {wanted}, got {got}",
            place=repr(field),
            wanted=said(wanted),
            got=json_kind(value),
        )
    return said("'name' must not be empty") if field == "name" and not value.strip() else None


def _parts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _float(number: float | None) -> float:
    try:
        return DEFAULT_WEIGHT if number is None else float(number)
    except OverflowError:  # a whole number beyond all floats
        return float("inf")
