"""What the user calls columns: `--columns source=who,target=whom`, or `NAME-columns.yaml` next to a graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiny_graph_rag.errors import GraphError, UsageError, unknown
from tiny_graph_rag.formats.graphs.keys import edge_roles
from tiny_graph_rag.formats.tables import columns_in
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.messages import Said, said

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
            role, equals, column = part.partition("=")
            if not equals or not column.strip():
                raise UsageError(
                    "--columns: wanted ROLE=COLUMN, such as source=head_entity; got {part}",
                    part=repr(part.strip()),
                )
            named[role.strip().replace("-", "_")] = column.strip()
        return cls.checked(named, "--columns")

    @classmethod
    def checked(cls, named: Mapping[str, str], place: str) -> Columns:
        for role in named:
            if role not in {**NODE_NAMES, **EDGE_NAMES} and role not in TABLE_NAMES:
                raise unknown(place, role, [*NODE_NAMES, *EDGE_NAMES, *TABLE_NAMES])
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
        return self._among(columns, NODE_NAMES)

    def of_edges(self, columns: Iterable[str]) -> dict[str, str]:
        return self._among(columns, EDGE_NAMES)

    def _among(self, columns: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
        there = set(columns)
        return {
            column: names[role] for role, column in self.named.items() if role in names and column in there
        }

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


def names_ends(columns: Sequence[str], given: Columns | None = None, *, strict: bool = False) -> bool:
    """Whether columns of these names hold relations. strict: as `edge_roles` has it."""
    own = given.of_edges(columns) if given is not None else None
    return {Role.SOURCE, Role.TARGET} <= set(edge_roles(columns, given=own, strict=strict).values())


def no_ends(path: object, columns: Iterable[str]) -> Said:
    return said(
        "{path}: no columns for a relation's source and target; the file has: {columns}. Set them: "
        "--columns source=COLUMN,target=COLUMN,relation=COLUMN",
        path=path,
        columns=listed(columns),
    )


def listed(columns: Iterable[str]) -> str:
    names = list(columns)
    return (", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")) or "none"
