"""KG JSON, the upstream tool's own format: `{"entities": {id: {…}}, "relationships": [{…}]}`.

Two ways lead to the same graph: msgspec decodes a sound file straight into records; anything it can't take
(unknown keys, NaN, a mistake) is read again with the standard library, which either loads it or says
everything that is wrong with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import decode_utf8, read_bytes, sha256_of
from tiny_graph_rag.graph.formats import graph_format
from tiny_graph_rag.graph.model import DEFAULT_WEIGHT, Entities, KnowledgeGraph, LoadNotes, Relations
from tiny_graph_rag.graph.strings import Categories, StringLists, Strings
from tiny_graph_rag.text import nfc

UNKNOWN_TYPE = "OTHER"
UNKNOWN_RELATION = "RELATED_TO"
SHOWN_EXAMPLES = 3
Unknown = dict[tuple[str, int], dict[str, Any]]  # ("entity" or "relation", its number) → its unknown keys


class Entity(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    entity_id: str | None = None
    entity_type: str | None = None
    description: str | None = None
    attributes: dict[str, Any] | None = None
    source_chunks: list[str] | None = None
    aliases: list[str] | None = None


class Relation(msgspec.Struct, forbid_unknown_fields=True):
    source_entity_id: str
    target_entity_id: str
    relationship_id: str | None = None
    relationship_type: str | None = None
    description: str | None = None
    weight: float | None = None
    source_chunks: list[str] | None = None
    attributes: dict[str, Any] | None = None


Row = TypeVar("Row", Entity, Relation)


class File(msgspec.Struct, forbid_unknown_fields=True):
    entities: dict[str, Entity]
    relationships: list[Relation]


@graph_format(".json", ".json.gz")
def read_kg_json(path: Path) -> KnowledgeGraph:
    """Load KG JSON. Raises GraphError listing all that is wrong (file, line or field, what came)."""
    raw = read_bytes(path)
    try:
        file = msgspec.json.decode(raw, type=File)
        unknown: Unknown = {}
        if any(not entity.name.strip() for entity in file.entities.values()):
            raise msgspec.ValidationError("an empty name")
    except (msgspec.DecodeError, UnicodeDecodeError):
        file, unknown = _read_with_care(raw, path)
    if not file.entities:
        raise GraphError(f"{path}: the graph has no entities; there is nothing to retrieve")
    name = nfc(path.name).removesuffix(".gz").removesuffix(".json").removesuffix("-KG")
    return _graph(file, unknown, name=name, sha256=sha256_of(path))


def _graph(file: File, unknown: Unknown, *, name: str, sha256: str) -> KnowledgeGraph:
    found: dict[str, list[str]] = {}
    ids = list(file.entities)
    rows = list(file.entities.values())
    for entity_id, entity in file.entities.items():
        if entity.entity_id is not None and entity.entity_id != entity_id:
            found.setdefault("entities whose 'entity_id' differs from their key (the key counts)", []).append(
                entity_id
            )
    _note_shared_names(ids, rows, found)
    entities = Entities(
        ids=Strings.of(ids),
        names=Strings.of(row.name for row in rows),
        types=Categories.of(row.entity_type or UNKNOWN_TYPE for row in rows),
        descriptions=Strings.of(row.description or "" for row in rows),
        aliases=StringLists.of(row.aliases or () for row in rows),
        source_chunks=StringLists.of(row.source_chunks or () for row in rows),
        details=Strings.of(_details(row, unknown.get(("entity", number))) for number, row in enumerate(rows)),
    )
    row_of = {entity_id: row for row, entity_id in enumerate(ids)}
    relations = _relations(file.relationships, row_of, unknown, found)
    notes = LoadNotes(tuple((kind, len(all_), tuple(all_[:SHOWN_EXAMPLES])) for kind, all_ in found.items()))
    return KnowledgeGraph.of(entities, relations, name=name, sha256=sha256, notes=notes)


def _note_shared_names(ids: Sequence[str], rows: Sequence[Entity], found: dict[str, list[str]]) -> None:
    bearers: dict[str, int] = {}
    for row in rows:
        bearers[row.name] = bearers.get(row.name, 0) + 1
    shared = [repr(name) for name, count in bearers.items() if count > 1]
    if shared:
        found["names borne by several entities"] = shared


def _relations(
    written: Sequence[Relation],
    row_of: dict[str, int],
    unknown: Unknown,
    found: dict[str, list[str]],
) -> Relations:
    kept: list[tuple[int, Relation]] = []
    weights: list[float] = []
    triples: set[tuple[str, str, str | None]] = set()
    for number, each in enumerate(written):
        label = each.relationship_id or f"relationships[{number}]"
        if each.source_entity_id not in row_of or each.target_entity_id not in row_of:
            found.setdefault("relations left out because an endpoint does not exist", []).append(label)
            continue
        weight = DEFAULT_WEIGHT if each.weight is None else float(each.weight)
        if not math.isfinite(weight) or weight < 0:
            found.setdefault(
                f"relations with a negative or non-finite weight (taken as {DEFAULT_WEIGHT})", []
            ).append(label)
            weight = DEFAULT_WEIGHT
        if each.source_entity_id == each.target_entity_id:
            found.setdefault("self-loops (kept, never walked)", []).append(label)
        triple = (each.source_entity_id, each.target_entity_id, each.relationship_type)
        if triple in triples:
            found.setdefault("duplicate relations (same ends and type; kept)", []).append(label)
        triples.add(triple)
        kept.append((number, each))
        weights.append(weight)
    return Relations(
        ids=Strings.of(each.relationship_id or f"relationships[{number}]" for number, each in kept),
        sources=np.array([row_of[each.source_entity_id] for _, each in kept], dtype=np.int32),
        targets=np.array([row_of[each.target_entity_id] for _, each in kept], dtype=np.int32),
        types=Categories.of(each.relationship_type or UNKNOWN_RELATION for _, each in kept),
        descriptions=Strings.of(each.description or "" for _, each in kept),
        weights=np.array(weights, dtype=np.float64),
        source_chunks=StringLists.of(each.source_chunks or () for _, each in kept),
        details=Strings.of(_details(each, unknown.get(("relation", number))) for number, each in kept),
    )


def _details(row: Entity | Relation, unknown: dict[str, Any] | None) -> str:
    kept = {**({"attributes": row.attributes} if row.attributes else {}), **(unknown or {})}
    return json.dumps(kept, ensure_ascii=False) if kept else ""


def _read_with_care(raw: bytes, path: Path) -> tuple[File, Unknown]:
    text = decode_utf8(raw, path)
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise GraphError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise GraphError(f"{path}: not a knowledge graph: nested too deeply") from error
    shape = 'wanted {"entities": {id: {"name": …}}, "relationships": [{…}]}'
    if not isinstance(document, dict):
        raise GraphError(f"{path}: {shape}, got {json_kind(document)}")
    missing = [key for key in ("entities", "relationships") if key not in document]
    if missing:
        keys = ", ".join(map(repr, list(document)[:5])) or "no keys"
        raise GraphError(f"{path}: {shape}; missing: {' and '.join(map(repr, missing))} (it has {keys})")
    entities, relationships = document["entities"], document["relationships"]
    problems: list[str] = []
    if not isinstance(entities, dict):
        problems.append(f"{path}: 'entities' must be an object from id to entity, got {json_kind(entities)}")
    if not isinstance(relationships, list):
        problems.append(f"{path}: 'relationships' must be a list, got {json_kind(relationships)}")
    if problems:
        raise GraphError(*problems)
    unknown: Unknown = {}
    made_entities: dict[str, Entity] = {}
    for number, (entity_id, row) in enumerate(entities.items()):
        place = f"{path}: entities[{entity_id!r}]"
        made = _made(Entity, row, place, problems, unknown, ("entity", number))
        if made is not None:
            made_entities[entity_id] = made
    made_relations = []
    for number, row in enumerate(relationships):
        place = f"{path}: relationships[{number}]"
        relation = _made(Relation, row, place, problems, unknown, ("relation", number))
        if relation is not None:
            made_relations.append(relation)
    if problems:
        raise GraphError(*problems)
    return File(made_entities, made_relations), unknown


def _made(
    kind: type[Row],
    row: object,
    place: str,
    problems: list[str],
    unknown: Unknown,
    key: tuple[str, int],
) -> Row | None:
    if not isinstance(row, dict):
        problems.append(f"{place}: must be an object, got {json_kind(row)}")
        return None
    before = len(problems)
    problems.extend(f"{place}: {wrong}" for wrong in _wrong_fields(kind, row))
    if len(problems) > before:
        return None
    extra = {name: value for name, value in row.items() if name not in kind.__struct_fields__}
    if extra:
        unknown[key] = extra
    return kind(**{name: value for name, value in row.items() if name in kind.__struct_fields__})


_STRINGS = "a list of strings"
_FIELD_KINDS = {
    "source_chunks": _STRINGS,
    "aliases": _STRINGS,
    "attributes": "an object",
    "weight": "a number",
}


def _wrong_fields(kind: type[Entity | Relation], row: dict[str, Any]) -> Iterator[str]:
    for field in msgspec.structs.fields(kind):
        value = row.get(field.name)
        if field.required and field.name not in row:
            yield f"{field.name!r} is missing"
        elif value is None:
            if field.required:
                yield f"{field.name!r} must be a string, got null"
        else:
            wanted = _FIELD_KINDS.get(field.name, "a string")
            if not _is(wanted, value):
                yield f"{field.name!r} must be {wanted}, got {json_kind(value)}"
            elif field.name == "name" and not value.strip():
                yield "'name' must not be empty"


def _is(wanted: str, value: object) -> bool:
    if wanted == "a string":
        return isinstance(value, str)
    if wanted == "a number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted == "an object":
        return isinstance(value, dict)
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
