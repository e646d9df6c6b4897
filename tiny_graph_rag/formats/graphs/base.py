"""What a graph format is.

It is a reader registered with `@graph_format(name, line, recognises)`: `recognises` sees a Head and
says whether the file is its own, `within` names the files that its writer leaves in a folder. To add one,
write it in a module of this folder, or in another package with an entry point in the group
`tiny_graph_rag.graph_formats`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tiny_graph_rag.formats.detection import Format, registering
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
        "GEDCOM": "programs:read_gedcom",
        "GEXF": "graphml:read_gexf",
        "GML": "graphml:read_gml",
        "Pajek": "graphml:read_pajek",
        "RDF": "rdf:read_rdf",
        "SQLite": "sql:read_sqlite",
        "DuckDB": "sql:read_duckdb",
        "tables": "tabular:read_tables",
        "worksheets": "tabular:read_worksheets",
        "GraphML": "graphml:read_graphml",
        "JSON lists": "json_lists:read_lists",
        "triples": "tabular:read_triples",
    },
)


graph_format = registering(GRAPH_FORMATS, GraphFormat)
