"""What a graph format is, and what a user calls the columns of its files.

It is a reader registered with `@graph_format(name, line, recognises)`: `recognises` sees a Head and
says whether the file is its own, `within` names the files that its writer leaves in a folder. To add one,
write it in a module of this folder, or in another package with an entry point in the group
`tiny_graph_rag.graph_formats`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tiny_graph_rag.errors import GraphError, UsageError, unknown
from tiny_graph_rag.formats.detection import Format, registering
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.registry import Registry

GraphReader = Callable[..., KnowledgeGraph]  # of the files' paths


@dataclass(frozen=True)
class GraphFormat(Format[GraphReader]):
    """within: glob patterns, of the first of which a folder has a file. takes_columns: whether `read` takes
    what the user calls columns (`--columns`) after the paths. tables: the tables that belong together of a
    folder, or with a file.
    """

    within: tuple[str, ...] = ()
    takes_columns: bool = False
    tables: Callable[[Path], list[tuple[Path, ...]]] | None = None


# Of a file that several formats would take, the first of these counts.
GRAPH_FORMATS: Registry[GraphFormat] = Registry(
    "graph format",
    "tiny_graph_rag.formats.graphs",
    {
        "KG JSON": "kg_json:read_kg_json",
        "refused": "refused:refuse",
        "HTML": "json_lists:read_page",
        "Neo4j (APOC JSON lines)": "programs:read_apoc",
        "GEXF": "graphml:read_gexf",
        "GML": "graphml:read_gml",
        "Pajek": "graphml:read_pajek",
        "RDF": "rdf:read_rdf",
        "SQLite": "programs:read_sqlite",
        "DuckDB": "programs:read_duckdb",
        "tables": "tabular:read_tables",
        "GraphML": "graphml:read_graphml",
        "JSON lists": "json_lists:read_lists",
        "triples": "tabular:read_triples",
    },
)


graph_format = registering(GRAPH_FORMATS, GraphFormat)


# --- columns: `--columns source=who,target=whom`, or `NAME-columns.yaml` next to the graph; and what the
# reader of one program's files knows of its keys. It counts before what the columns' names and values say.

# What `--columns ROLE=COLUMN` may name, of a table of entities and of one of relations.
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
KNOWN = [*NODE_NAMES, *EDGE_NAMES, *TABLE_NAMES]


@dataclass(frozen=True, slots=True)
class Columns:
    """named: role → column, and `nodes` and `edges` → a table of several."""

    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Columns:
        """`source=head_entity,name=label`. Raises UsageError."""
        parts = [part.partition("=") for part in text.split(",")]
        for role, _, column in parts:
            if not column.strip():
                raise UsageError(
                    "--columns: wanted ROLE=COLUMN, such as source=head_entity; got {part}",
                    part=repr(role.strip()),
                )
        named = {role.strip().replace("-", "_"): column.strip() for role, _, column in parts}
        for role in named:
            if role not in KNOWN:
                raise unknown("--columns", role, KNOWN)
        return cls(named)

    @property
    def sha256(self) -> str:
        text = "\n".join(f"{role}={column}" for role, column in sorted(self.named.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    def roles(self, names: Mapping[str, str], columns: Iterable[str]) -> dict[str, str]:
        """Column → role, of the columns that a table has. names: `NODE_NAMES` or `EDGE_NAMES`."""
        there = set(columns)
        return {self.named[name]: role for name, role in names.items() if self.named.get(name) in there}

    def tables(self, role: str) -> list[str]:
        """The tables that the user names: `edges=knows+likes`, `nodes=none`."""
        return [name for name in self.named.get(role, "none").split("+") if name != "none"]

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


NONE = Columns()
