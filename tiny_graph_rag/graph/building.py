"""Records → columns.

The records are those of KG JSON; `check_records` says what is wrong with them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError, at, json_kind
from tiny_graph_rag.graph.tables import (
    DANGLING,
    DEFAULT_WEIGHT,
    Adjacency,
    Entities,
    LoadNotes,
    Origin,
    Relations,
    Tables,
    rank_by_name,
)
from tiny_graph_rag.messages import Said, said

UNKNOWN_TYPE = "OTHER"
UNKNOWN_RELATION = "RELATED_TO"
SHOWN_EXAMPLES = 3

TWICE = "keys written twice in one object (the last counts)"
KEYS = "entities whose 'entity_id' differs from their key (the key counts)"
SHARED = "names of more than one entity"
ID_NAMES = "entities (most of them) have names that look like ids: is there a table of names?"
ID_TYPES = "names of relation types (all of them) look like ids: is there a table of names?"
WEIGHTS = f"relations with a negative or non-finite weight (taken as {DEFAULT_WEIGHT})"
LOOPS = "self-loops (kept, never walked)"
DUPLICATES = "duplicate relations (same ends and type; kept)"
# 17, -3, 17.0; E1, Q42, C0442805, GO:0008150, person_1; /m/0d3k14; a hash, a UUID; PER_ROM_A1; an IRI
_ID = re.compile(
    r"[+-]?[0-9]+(\.0)?|[a-z]{1,4}-?[0-9]+|[a-z]{1,10}[:_][0-9]+|/[mg]/\w+|[0-9a-f]{24,}|"
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?-i:[A-Z]+(_[A-Z0-9]+)*_[A-Z]?[0-9]+)|"
    r"https?://\S+",
    re.I,
)
Record = Mapping[str, Any]


def looks_like_id(text: str) -> bool:
    """Whether a text names nothing that people know."""
    return _ID.fullmatch(text) is not None


class Notes:
    """Counts flaws and keeps the first examples of each kind."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, list[str]] = {}

    def add(self, kind: str, count: int, examples: Sequence[str]) -> None:
        """examples: labels of such records, in file order; at least as many as are shown."""
        if count:
            self.counts[kind] = self.counts.get(kind, 0) + count
            kept = self.examples.setdefault(kind, [])
            kept.extend(examples[: SHOWN_EXAMPLES - len(kept)])

    def found(self) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
        """(kind, count, examples), in the order in which kinds were added first."""
        return tuple((kind, count, tuple(self.examples[kind])) for kind, count in self.counts.items())


def entities_of(columns: Mapping[str, Sequence[Any]]) -> Entities:
    """columns: by field of Entities, (entities,) each."""
    return Entities(
        ids=Strings.of(columns["ids"]),
        names=Strings.of(columns["names"]),
        types=Categories.of(columns["types"]),
        descriptions=Strings.of(columns["descriptions"]),
        aliases=StringLists.of(columns["aliases"]),
        source_chunks=StringLists.of(columns["source_chunks"]),
        details=Strings.of(columns["details"]),
    )


def relations_of(blocks: Sequence[Mapping[str, Sequence[Any]]]) -> Relations:
    """One table of several. blocks: by field of Relations, (relations,) each."""

    def texts(name: str) -> Sequence[Any]:
        columns = [block[name] for block in blocks]
        return columns[0] if len(columns) == 1 else list(chain.from_iterable(columns))

    def numbers(name: str, kind: type[np.generic]) -> NDArray[Any]:
        return np.concatenate([np.zeros(0, kind), *(np.asarray(block[name], kind) for block in blocks)])

    return Relations(
        ids=Strings.of(texts("ids")),
        sources=numbers("sources", np.int32),
        targets=numbers("targets", np.int32),
        types=Categories.of(texts("types")),
        descriptions=Strings.of(texts("descriptions")),
        weights=numbers("weights", np.float64),
        source_chunks=StringLists.of(texts("source_chunks")),
        details=Strings.of(texts("details")),
    )


def tables_of(
    entities: Entities,
    relations: Relations,
    notes: Notes,
    origin: Origin | None = None,
    path: Path | None = None,
    missing: Sequence[str] = (),
) -> Tables:
    """The graph's tables. relations: -1 at an end that no entity is; notes: gets what is not sound.

    A relation without one of its ends is left out; a wrong weight becomes the default. path: the file, of
    which GraphError is raised where more than half of the relations had to be left out; missing: examples of
    their ends.
    """
    names = list(entities.names)
    several = [repr(name) for name, count in Counter(names).items() if count > 1]
    notes.add(SHARED, len(several), several)
    types = relations.types.names
    ids = list(filter(looks_like_id, names)) if len(relations) else []  # else a collection of passages
    if 3 * len(ids) > 2 * len(names):
        notes.add(ID_NAMES, len(ids), ids)
    if all(map(looks_like_id, types)):
        notes.add(ID_TYPES, len(types), types)

    def note(kind: str, rows: NDArray[np.integer[Any]]) -> None:
        notes.add(kind, len(rows), relations.ids.take(rows[:SHOWN_EXAMPLES]))

    lost = (relations.sources < 0) | (relations.targets < 0)
    note(DANGLING, np.flatnonzero(lost))
    if path is not None and 2 * int(lost.sum()) > len(lost):
        raise GraphError(
            "{path}: {lost} of {written} relations have an end that is neither the id nor the name "
            "of an entity (such as {examples}); the list of entities may belong to another file: "
            "--columns nodes=none leaves it out, id=COLUMN names its ids",
            path=path,
            lost=f"{int(lost.sum()):,}",
            written=f"{len(lost):,}",
            examples=", ".join(missing or notes.examples[DANGLING]),
        )
    relations = relations.only(~lost) if lost.any() else relations
    wrong = ~(np.isfinite(relations.weights) & (relations.weights >= 0))
    note(WEIGHTS, np.flatnonzero(wrong))
    if wrong.any():
        relations = replace(relations, weights=np.where(wrong, DEFAULT_WEIGHT, relations.weights))
    note(LOOPS, np.flatnonzero(relations.sources == relations.targets))
    note(DUPLICATES, relations.duplicates())
    adjacency = Adjacency.of(len(entities), relations.sources, relations.targets)
    rank = rank_by_name(names, entities.ids)
    return Tables(entities, relations, adjacency, rank, LoadNotes(notes.found()), origin or Origin())


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


def tables_of_records(
    entities: Mapping[Any, Any],
    relationships: Sequence[Any],
    origin: Origin | None = None,
    path: Path | None = None,
    problems: Sequence[Said] = (),
    twice: Sequence[str] = (),
) -> Tables:
    """The tables of KG JSON's records. path: the file that holds them. problems: of the same records. twice:
    keys that stand there twice.

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
    notes, ids = Notes(), list(map(str, keys))
    notes.add(TWICE, len(twice), list(map(repr, twice)))
    written = zip(ids, _column(records, "entity_id"), strict=True)
    other = [id for id, own in written if own is not None and own != id]
    notes.add(KEYS, len(other), other)
    known = entities_of(
        {
            "ids": ids,
            "names": _column(records, "name"),
            "types": _filled(_column(records, "entity_type"), UNKNOWN_TYPE),
            "descriptions": _filled(_column(records, "description"), ""),
            "aliases": _filled(_column(records, "aliases"), ()),
            "source_chunks": _filled(_column(records, "source_chunks"), ()),
            "details": _details(records, ENTITY_FIELDS),
        }
    )
    row_of = {id: row for row, id in enumerate(ids)}
    labels = [
        label or f"relationships[{number}]"
        for number, label in enumerate(_column(relationships, "relationship_id"))
    ]
    block: dict[str, Sequence[Any]] = {
        "ids": labels,
        "sources": [row_of.get(id, -1) for id in _column(relationships, "source_entity_id")],
        "targets": [row_of.get(id, -1) for id in _column(relationships, "target_entity_id")],
        "types": _filled(_column(relationships, "relationship_type"), UNKNOWN_RELATION),
        "descriptions": _filled(_column(relationships, "description"), ""),
        "weights": list(map(_float, _column(relationships, "weight"))),
        "source_chunks": _filled(_column(relationships, "source_chunks"), ()),
        "details": _details(relationships, RELATION_FIELDS),
    }
    return tables_of(known, relations_of([block]), notes, origin, path)


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
