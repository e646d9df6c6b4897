"""MS GraphRAG: `entities` and `relationships`, as Parquet (0.x to 3.x) or as CSV (3.x), next to each other.

Ends are titles; in old versions names or ids. Where a title stands in several rows (of different types), its
relations go to the first. A parquet pair that `convert` wrote is read by the same names and keeps its ids.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.documents import read_yaml
from tiny_graph_rag.errors import GraphError, InputError
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.pairs import read_tables
from tiny_graph_rag.formats.graphs.rows import BAD_WEIGHTS, NAMELESS, Rows, column_roles
from tiny_graph_rag.formats.graphs.tables import Table, read_columns
from tiny_graph_rag.formats.tables import one_of
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.building import UNKNOWN_RELATION, UNKNOWN_TYPE, GraphColumns
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT

SHARED = "titles that several rows have (relations go to the first of them)"
FOLLOWS = f"{Role.UNUSED}: follows from the graph or places it on paper"
ENTITY_ROLES = {
    "title": Role.NAME,
    "name": Role.NAME,
    "id": Role.ID,
    "type": Role.TYPE,
    "description": Role.DESCRIPTION,
    "aliases": Role.ALIASES,
    "text_unit_ids": Role.CHUNKS,
    **dict.fromkeys(("human_readable_id", "frequency", "degree", "x", "y"), FOLLOWS),
    **dict.fromkeys(("description_embedding", "name_embedding", "graph_embedding"), Role.UNUSED),
}
RELATION_ROLES = {
    "source": Role.SOURCE,
    "target": Role.TARGET,
    "id": Role.ID,
    "relationship_type": Role.TYPE,
    "type": Role.TYPE,
    "description": Role.DESCRIPTION,
    "weight": Role.WEIGHT,
    "text_unit_ids": Role.CHUNKS,
    "source_id": f"{Role.SOURCE}, by its id",
    "target_id": f"{Role.TARGET}, by its id",
    **dict.fromkeys(
        ("human_readable_id", "combined_degree", "source_degree", "target_degree", "rank"), FOLLOWS
    ),
    "description_embedding": Role.UNUSED,
}
SETTINGS = ("settings.yaml", "settings.yml")
CSV_MARKS = ("title", "human_readable_id")
PAIRS = (
    ("entities.parquet", "relationships.parquet"),
    ("create_final_entities.parquet", "create_final_relationships.parquet"),
    ("entities.csv", "relationships.csv"),
)


def _is_pair(head: Head) -> bool:
    """By its names; CSV, which anyone may call so, also by what GraphRAG's entities have."""
    if not any({path.name for path in head.paths} == set(pair) for pair in PAIRS):
        return False
    return head.path.suffix != ".csv" or all(mark in head.text.partition("\n")[0] for mark in CSV_MARKS)


def _base_dirs(folder: Path) -> list[str]:
    """Where a workspace's settings.yaml puts its output; what it takes from elsewhere may be anything."""
    for name in SETTINGS:
        if (folder / name).is_file():
            try:
                settings = read_yaml(folder / name, GraphError)
            except InputError:
                return []
            sections = (
                [settings.get(key) for key in ("output", "storage")] if isinstance(settings, dict) else []
            )
            dirs = [section.get("base_dir") for section in sections if isinstance(section, dict)]
            patterns = [
                re.sub(r"\$\{[^}]*\}", "*", name).strip("/") for name in dirs if isinstance(name, str)
            ]
            return [pattern for pattern in patterns if pattern and ".." not in pattern.split("/")]
    return []


@graph_format(
    "MS GraphRAG",
    "Microsoft GraphRAG's output: entities and relationships in Parquet",
    _is_pair,
    within=PAIRS,
    elsewhere=_base_dirs,
    folders=("", "output", "output/*/artifacts", "output/artifacts", "artifacts"),
    besides=("communit*.parquet", "text_units.*", "documents.*", "covariates.*", "create_*.parquet"),
)
def read_ms_graphrag(paths: Sequence[Path]) -> KnowledgeGraph:
    entities, relations = sorted(paths)
    rows = Rows(entities.parent, "MS GraphRAG")
    table = read_columns(entities)
    is_own = bool({"title", "human_readable_id", "text_unit_ids"} & set(table.names))
    if not is_own or not {"source", "target"} <= set(read_columns(relations).names):
        return read_tables(paths)  # of somebody who calls tables as GraphRAG does
    name = one_of(("title", "name"), table.names, entities, GraphError)
    rows.took("entities", column_roles(table.names, ENTITY_ROLES))
    titles = table.strings(name)
    ids = table.strings("id") if "id" in table.names else titles
    names: Sequence[str] = titles
    nameless = _blank(titles)
    if nameless:
        names = [title if title.strip() else id for title, id in zip(titles, ids, strict=True)]
        rows.flaw(NAMELESS, ids[nameless[0]], len(nameless))
    row_of_id = _Keys(ids)
    if row_of_id.repeated:
        raise GraphError.at(
            entities,
            "the id {twice} is in several rows; give each entity its own id",
            twice=repr(row_of_id.twice),
        )
    row_of_title = _Keys(titles)
    if row_of_title.repeated:
        rows.flaw(SHARED, row_of_title.twice, row_of_title.repeated)
    columns = GraphColumns()
    columns.add_entity_columns(
        ids,
        names,
        table.filled("type", UNKNOWN_TYPE),
        table.strings("description"),
        table.lists("aliases"),
        table.lists("text_unit_ids"),
        table.details(ENTITY_ROLES),
    )
    _add_relations(columns, rows, read_columns(relations), relations, row_of_title, row_of_id)
    return rows.finished(columns)


def _add_relations(
    columns: GraphColumns,
    rows: Rows,
    table: Table,
    path: Path,
    row_of_title: _Keys,
    row_of_id: _Keys,
) -> None:
    for end in ("source", "target"):
        one_of((end,), table.names, path, GraphError)
    rows.took("relations", column_roles(table.names, RELATION_ROLES))
    type = next((text for text in ("relationship_type", "type") if text in table.names), "relationship_type")
    weights = table.numbers("weight")
    if "weight" in table.names:
        wrong = np.flatnonzero(np.isnan(weights))
        if len(wrong):
            rows.flaw(BAD_WEIGHTS, f"row {wrong[0] + 1}", len(wrong))
    ids = table.strings("id")
    labelled = bool(len(ids)) and bool(np.diff(ids.offsets).all())
    columns.add_relation_columns(
        ids if labelled else [f"relationships[{row}]" for row in range(len(table))],
        _ends(table, "source", row_of_title, row_of_id),
        _ends(table, "target", row_of_title, row_of_id),
        table.filled(type, UNKNOWN_RELATION),
        table.strings("description"),
        np.where(np.isnan(weights), DEFAULT_WEIGHT, weights),
        table.lists("text_unit_ids"),
        table.details(RELATION_ROLES),
    )


def _ends(table: Table, end: str, row_of_title: _Keys, row_of_id: _Keys) -> NDArray[np.int32]:
    """Entity rows, -1 where none: by `source_id` where the file has it, else by title, else by id."""
    exact = f"{end}_id"
    codes, keys = table.coded(exact if exact in table.names else end)
    first, second = (row_of_id, row_of_title) if exact in table.names else (row_of_title, row_of_id)
    found = first.rows(keys)
    missing = np.flatnonzero(found < 0)
    if len(missing):
        found[missing] = second.rows([keys[row] for row in missing.tolist()])
    return found[codes]


def _blank(texts: Strings) -> list[int]:
    """Rows of white space alone. Few begin with a byte that may begin some, and only those are looked at."""
    starts = np.append(texts.data, 0)[texts.offsets[:-1]]
    may_be = (np.diff(texts.offsets) == 0) | (starts <= ord(" ")) | (starts >= 0xC2)
    return [row for row in np.flatnonzero(may_be).tolist() if not texts[row].strip()]


class _Keys:
    """The first row of each key. repeated: how many rows have a key that an earlier one has; twice: the first
    such key."""

    def __init__(self, keys: Strings) -> None:
        written = list(keys)
        self._row_of = dict(zip(reversed(written), range(len(written) - 1, -1, -1), strict=True))
        self.repeated = len(written) - len(self._row_of)
        again = (key for row, key in enumerate(written) if self._row_of[key] < row)
        self.twice = next(again, "") if self.repeated else ""

    def rows(self, keys: Sequence[str]) -> NDArray[np.int32]:
        """-1 where there is none."""
        return np.fromiter((self._row_of.get(key, -1) for key in keys), np.int32, len(keys))
