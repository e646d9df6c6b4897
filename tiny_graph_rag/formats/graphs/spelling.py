"""How columns and their values are spelled: words of a column's name, ids, numbers."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_ID = re.compile(r"[A-Za-z]{0,4}[-_:]?[0-9]+|[0-9a-f]{24,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_ADMIN = re.compile(
    r"(?P<name>[^:]*):(?P<kind>ID|START_ID|END_ID|TYPE|LABEL|IGNORE|[a-z]+(?:\[\])?)"
    r"(?:\((?P<space>[^()]*)\))?(?:\{.*\})?",
)


class AdminColumn(NamedTuple):
    """A column as neo4j-admin's import names it: `personId:ID(Person)`, `since:int`, `:TYPE`."""

    name: str
    kind: str
    space: str


def admin_column(column: str) -> AdminColumn | None:
    """None for a plain name."""
    match = _ADMIN.fullmatch(column.strip())
    return AdminColumn(match["name"], match["kind"], match["space"] or "") if match else None


def admin_kind(column: str) -> str:
    """`ID`, `LABEL`, `START_ID` and so on; empty for a plain name or a property with its type."""
    admin = admin_column(column)
    return admin.kind if admin is not None and admin.kind.isupper() else ""


@lru_cache(maxsize=1 << 12)
def words_of(column: str) -> tuple[str, ...]:
    """`sourceEntityID`, `source_entity_id` → source, entity, id."""
    admin = admin_column(column)
    if admin is not None:
        column = admin.kind if admin.kind.isupper() else admin.name
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


def is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
