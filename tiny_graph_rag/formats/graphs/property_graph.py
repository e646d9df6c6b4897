"""Property graphs: nodes with labels and properties, of which a part is the lexical layer (filling.py)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tiny_graph_rag.errors import json_kind
from tiny_graph_rag.formats.graphs.filling import end_text, fill_records
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

Record = dict[str, Any]
# What a maker calls an id, labels and ends: key of `OWN` → its keys, of which the first that holds something
# counts.
Keys = Mapping[str, Sequence[str]]
LEXICAL = frozenset(
    {"document", "chunk", "textchunk", "documentchunk", "textnode", "textdocument", "community"}
)
EMBEDDINGS = ("embedding", "embeddings", "embedding_vector", "vector")
EDGE_ROLES = {
    "description": Role.DESCRIPTION,
    "relationship_description": Role.DESCRIPTION,
    "weight": Role.WEIGHT,
    "triplet_source_id": Role.CHUNKS,
    **dict.fromkeys(EMBEDDINGS, Role.UNUSED),
}
NODE_ROLES = {
    "name": Role.NAME,
    "title": Role.NAME,
    "label": Role.NAME,
    "id": Role.NAME,
    "description": Role.DESCRIPTION,
    "entity_description": Role.DESCRIPTION,
    "summary": Role.DESCRIPTION,
    "aliases": Role.ALIASES,
    "triplet_source_id": Role.CHUNKS,
    **dict.fromkeys(EMBEDDINGS, Role.UNUSED),
}


def records_of(
    rows: Rows, values: Any, place: str, keys: Keys, needed: Sequence[str], unused: Sequence[str] = ()
) -> list[Record]:
    """Nodes or edges with a maker's keys under those of `OWN`, and with their properties; what lacks one that
    is needed is a problem.

    values: a list, or a dictionary whose keys are ids, where nothing else is. unused: keys that say nothing.
    """
    if not isinstance(values, list | dict):
        rows.problem(place, "wanted a list or an object, got {got}", got=json_kind(values))
        return []
    records: list[Record] = []
    taken = {*unused, "properties", *(name for names in keys.values() for name in names)}
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        told = value if isinstance(value, dict) else {}
        if isinstance(values, dict) and told:
            told = {"id": key, **told}
        found = {own: next((told[name] for name in names if told.get(name) not in (None, "")), None)
                 for own, names in keys.items()}  # fmt: skip
        found |= {own: end_text(found[own]) for own in needed}
        missing = ", ".join(repr(keys[own][-1]) for own in needed if not found[own])
        if missing:
            got = json_kind(value)
            rows.problem(f"{place}[{key!r}]", "wanted {wanted}, got {got}", wanted=missing, got=got)
            continue
        rest = {name: value for name, value in told.items() if name not in taken}
        records.append({**rest, **object_of(told.get("properties")), **found})
    return records


def object_of(value: Any) -> Record:
    """A record's properties; JSON text that holds an object is read."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def from_property_graph(
    rows: Rows, nodes: Sequence[Record], edges: Sequence[Record], *, lexical: Collection[str] = LEXICAL
) -> KnowledgeGraph:
    """nodes: with `<id>`, `<type>`, labels as written, and their properties. edges: with `<source>`,
    `<target>` and `<type>`. lexical: labels of nodes that are no entities, in lower case without underscores.
    """
    rows.problems.check()
    rows.took("entities", {"labels": Role.TYPE})
    rows.took("relations", {"type": Role.TYPE})
    fill_records(rows, nodes, edges, NODE_ROLES, EDGE_ROLES, lexical)
    return rows.graph()
