"""MS GraphRAG: `entities` and `relationships`, as Parquet (0.x to 3.x) or as CSV (3.x), next to each other.

Ends are titles; in old versions names or ids. Where a title stands in several rows (of different types), its
relations go to the first. A parquet pair that `convert` wrote is read by the same names and keeps its ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.tabular import of_tables, table_of
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

FOLLOWS = f"{Role.UNUSED}: follows from the graph or places it on paper"
FOLLOWING = (
    *("human_readable_id", "frequency", "degree", "x", "y"),
    *("combined_degree", "source_degree", "target_degree", "rank"),
)
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


@graph_format(
    "MS GraphRAG",
    "Microsoft GraphRAG's output: entities and relationships in Parquet",
    _is_pair,
    within=PAIRS,
    folders=("", "output", "output/*/artifacts", "output/artifacts", "artifacts"),
    besides=("communit*.parquet", "text_units.*", "documents.*", "covariates.*", "create_*.parquet"),
)
def read_ms_graphrag(paths: Sequence[Path]) -> KnowledgeGraph:
    """A pair of tables like any other, without what follows from the graph."""
    rows = Rows(paths[0].parent, "MS GraphRAG")
    tables = [table_of(path, rows) for path in sorted(paths)]
    is_own = bool({"title", "human_readable_id", "text_unit_ids"} & {*tables[0].names, *tables[0].unread})
    rows.writer = rows.writer if is_own else "tables"
    for table in tables if is_own else ():
        following = [name for name in table.names if name in FOLLOWING]
        table.names = [name for name in table.names if name not in following]
        table.unread |= dict.fromkeys(following, FOLLOWS)
    return of_tables(rows, tables)
