"""MS GraphRAG: `entities` and `relationships`, as Parquet (0.x to 3.x) or as CSV (3.x), next to each other.

Ends are titles; in old versions names or ids. Where a title stands in several rows (of different types), its
relations go to the first. A parquet pair that `convert` wrote is read by the same names and keeps its ids.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.documents import read_yaml
from tiny_graph_rag.errors import GraphError, InputError
from tiny_graph_rag.files import PARQUET_MAGIC, read_start
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.csv_tables import csv_table
from tiny_graph_rag.formats.graphs.filling import fill_entities, fill_relations
from tiny_graph_rag.formats.graphs.given import Columns
from tiny_graph_rag.formats.graphs.pairs import read_tables
from tiny_graph_rag.formats.graphs.rows import Rows, text_of
from tiny_graph_rag.formats.graphs.table import Table, parquet_table
from tiny_graph_rag.formats.tables import one_of
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

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
    nodes, edges = _table(entities, rows), _table(relations, rows)
    is_own = bool({"title", "human_readable_id", "text_unit_ids"} & {*nodes.names, *nodes.unread})
    if not is_own or not {"source", "target"} <= set(edges.names):
        return read_tables(paths)  # of somebody who calls tables as GraphRAG does
    title = one_of(("title", "name"), nodes.names, entities, GraphError)
    ids = nodes.cells("id") if "id" in nodes.names else nodes.cells(title)
    nodes.put("id", ids)
    twice = next((id for id, count in Counter(map(text_of, ids)).items() if count > 1), None)
    if twice is not None:
        raise GraphError.at(
            entities,
            "the id {twice} is in several rows; give each entity its own id",
            twice=repr(twice),
        )
    shared = [name for name, count in Counter(nodes.cells(title)).items() if count > 1]
    if shared:
        rows.flaw(SHARED, text_of(shared[0]), nodes.rows - len(set(nodes.cells(title))))
    fill_entities(rows, nodes, Columns(), {**ENTITY_ROLES, title: Role.NAME})
    own = dict(RELATION_ROLES)
    if {"source_id", "target_id"} <= set(edges.names):  # of titles that several rows have
        own |= {
            "source": Role.UNUSED,
            "target": Role.UNUSED,
            "source_id": Role.SOURCE,
            "target_id": Role.TARGET,
        }
    edges.row_label = ""
    fill_relations(rows, edges, Columns(), own, alone=False, place="relationships[{}]")
    return rows.graph()


def _table(path: Path, rows: Rows) -> Table:
    """Parquet or CSV, by content."""
    is_parquet = path.suffix == ".parquet" or read_start(path, 4) == PARQUET_MAGIC
    return parquet_table(path) if is_parquet else csv_table(path, rows, padded=True)[1]
