"""What the user calls columns: `--columns source=who,target=whom`, or `NAME-columns.yaml` next to a graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tiny_graph_rag.errors import GraphError, UsageError, unknown
from tiny_graph_rag.formats.tables import columns_in
from tiny_graph_rag.formats.words import Role

# What `--columns ROLE=COLUMN` may name.
NODE_NAMES = {
    "id": Role.ID,
    "name": Role.NAME,
    "type": Role.TYPE,
    "description": Role.DESCRIPTION,
    "aliases": Role.ALIASES,
    "chunks": Role.CHUNKS,
}
EDGE_NAMES = {
    "source": Role.SOURCE,
    "target": Role.TARGET,
    "relation": Role.TYPE,
    "weight": Role.WEIGHT,
    "relation_description": Role.DESCRIPTION,
    "source_name": Role.SOURCE_NAME,
    "target_name": Role.TARGET_NAME,
    "source_type": Role.SOURCE_TYPE,
    "target_type": Role.TARGET_TYPE,
}
TABLE_NAMES = ("nodes", "edges")


@dataclass(frozen=True, slots=True)
class Columns:
    """What the user calls columns: role → column, and `nodes` and `edges` → a table of several."""

    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Columns:
        """`source=head_entity,name=label`. Raises UsageError."""
        named: dict[str, str] = {}
        for part in text.split(","):
            role, _, column = part.partition("=")
            if not column.strip():
                raise UsageError(
                    "--columns: wanted ROLE=COLUMN, such as source=head_entity; got {part}",
                    part=repr(part.strip()),
                )
            named[role.strip().replace("-", "_")] = column.strip()
        return cls.checked(named, "--columns")

    @classmethod
    def checked(cls, named: Mapping[str, str], place: str) -> Columns:
        known = [*NODE_NAMES, *EDGE_NAMES, *TABLE_NAMES]
        for role in named:
            if role not in known:
                raise unknown(place, role, known)
        return cls(named)

    @classmethod
    def read(cls, path: Path) -> Columns:
        """Of a YAML file `role: column`. Raises GraphError, UsageError."""
        return cls.checked(columns_in(path, GraphError), str(path))

    @property
    def sha256(self) -> str:
        text = "\n".join(f"{role}={column}" for role, column in sorted(self.named.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    def of_nodes(self, columns: Iterable[str]) -> dict[str, str]:
        """Column → role, of the columns that a table of entities has."""
        there = set(columns)
        return {self.named[role]: NODE_NAMES[role] for role in NODE_NAMES if self.named.get(role) in there}

    def of_edges(self, columns: Iterable[str]) -> dict[str, str]:
        """The same of a table of relations."""
        there = set(columns)
        return {self.named[role]: EDGE_NAMES[role] for role in EDGE_NAMES if self.named.get(role) in there}

    def tables(self, role: str) -> list[str]:
        """The tables that the user names: `edges=knows+likes`."""
        return self.named[role].split("+") if role in self.named else []

    def check(self, columns: Iterable[str], place: object) -> None:
        """Raises GraphError for a column that no table of the file has."""
        there = dict.fromkeys(columns)
        for role, column in self.named.items():
            if column not in there and role not in TABLE_NAMES:
                raise GraphError.at(
                    place,
                    "no column {column} for {role}; the file has: {columns}",
                    column=repr(column),
                    role=role,
                    columns=listed(there),
                )


def listed(columns: Iterable[str]) -> str:
    names = list(columns)
    return (", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")) or "none"
