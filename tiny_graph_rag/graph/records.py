"""The records of KG JSON, and what may be wrong with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar

from tiny_graph_rag.errors import at, json_kind
from tiny_graph_rag.messages import Said, said

Extras = dict[int, dict[str, Any]]  # number of a record → its unknown keys

SHAPE = 'wanted {"entities": {id: {"name": …}}, "relationships": [{…}]}'


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
