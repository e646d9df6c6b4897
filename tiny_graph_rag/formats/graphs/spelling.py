"""How columns and their values are spelled: words of a column's name, ids, numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_ID = re.compile(r"[A-Za-z]{0,4}[-_:]?[0-9]+|[0-9a-f]{24,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_ADMIN = re.compile(
    r"(?P<name>[^:]*):(?P<kind>ID|START_ID|END_ID|TYPE|LABEL|IGNORE|[a-z]+(?:\[\])?)"
    r"(?:\((?P<space>[^()]*)\))?(?:\{.*\})?",
)

INNER = frozenset(
    {"__Entity__", "__KGBuilder__", "__Node__", "__tempEntity__", "Entity"}
)  # tools' own labels


class AdminColumn(NamedTuple):
    """A column as neo4j-admin's import names it: `personId:ID(Person)`, `since:int`, `:TYPE`."""

    name: str
    kind: str
    space: str


def admin_column(column: str) -> AdminColumn | None:
    """None for a plain name."""
    match = _ADMIN.fullmatch(column.strip())
    return AdminColumn(match["name"], match["kind"], match["space"] or "") if match else None


@lru_cache(maxsize=1 << 12)
def words_of(column: str) -> tuple[str, ...]:
    """`sourceEntityID`, `source_entity_id` → source, entity, id."""
    admin = admin_column(column)
    if admin is not None and admin.kind.isupper():
        column = admin.kind
    elif admin is not None:
        column = admin.name
    return tuple(word.casefold() for word in _WORD.findall(column))


def key_of(column: str) -> str:
    """`Entity Type`, `entityType` → `entitytype`."""
    return "".join(words_of(column))


def looks_like_id(text: str) -> bool:
    """17, Q42, E1, a UUID, a hash."""
    return _ID.fullmatch(text) is not None


def bare(label: str) -> str:
    """`__Chunk__`, `text_chunk` → `chunk`, `textchunk`."""
    return label.replace("_", "").casefold()


def labels_of(value: Any) -> tuple[str, ...]:
    """`["Person", "__Entity__"]`, `"Person"`, `":Person:Actor"` → labels."""
    if isinstance(value, str):
        return tuple(part for part in value.split(":") if part)
    return tuple(map(str, value)) if isinstance(value, Sequence) else ()


def are_numbers(values: Sequence[str]) -> bool:
    """Whether all of some cells are numbers."""
    return bool(values) and all(map(is_number, values))


def is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
