"""KG JSON, the upstream tool's own format: `{"entities": {id: {…}}, "relationships": [{…}]}`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import json_file, parse_json
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import KG_JSON

ENDS = {"source_entity_id", "target_entity_id"}

# The modules that make records are imported where they are used: a graph from the cache needs none of them.


_OWN = re.compile(r'\{\s*"(?:entities"\s*:\s*\{|relationships"\s*:)')


@graph_format(
    "KG JSON",
    "entities by id and a list of relationships, as the indexer of this project writes them",
    lambda head: _OWN.match(head.text) is not None,  # a list of entities is some script's; see json_lists
    within=("*-KG.json", "*-KG.json.gz"),
    suffixes=(".json",),
)
def read_kg_json(paths: Sequence[Path]) -> KnowledgeGraph:
    """Load KG JSON. Raises GraphError listing all that is wrong (file, line or field, what came)."""
    from tiny_graph_rag.graph.building import tables_of_records

    path = paths[0]
    twice: list[str] = []
    document = json_file(path, GraphError, partial(parse_json, twice=twice, halves=True))
    found: dict[str, Any] = document if isinstance(document, dict) else {}
    entities, relationships = found.get("entities"), found.get("relationships")
    listed = relationships if isinstance(relationships, list) else []
    ends = [ENDS & record.keys() for record in listed if isinstance(record, dict)]
    is_of_others = bool(ends) and not any(ends)  # whose ends are called otherwise than here
    if not isinstance(entities, dict) or not isinstance(relationships, list) or is_of_others:
        from tiny_graph_rag.formats.graphs.json_lists import graph_of
        from tiny_graph_rag.formats.graphs.rows import Rows

        return graph_of(Rows(path, "JSON lists"), document)
    tables = tables_of_records(entities, relationships, KG_JSON, path, twice=twice)
    return KnowledgeGraph.of_tables(tables)
