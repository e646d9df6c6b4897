"""Property graphs: nodes with labels and properties, of which a part is the lexical layer.

Graph-RAG tools keep documents and chunks of text as nodes next to the entities. Those are no answers to a
question: they are dropped and counted, by label; an edge between a chunk and an entity says which chunks the
entity stands in, and becomes its source chunks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiny_graph_rag.errors import json_kind
from tiny_graph_rag.formats.graphs.filling import end_text, fill_records
from tiny_graph_rag.formats.graphs.rows import Rows, strings_of, text_of
from tiny_graph_rag.formats.graphs.spelling import INNER, bare, labels_of
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

Record = dict[str, Any]
LEXICAL = frozenset(
    {"document", "chunk", "textchunk", "documentchunk", "textnode", "textdocument", "community"}
)
ENTITY_MARK = "__Entity__"
CHUNK_KEY = "triplet_source_id"
EMBEDDINGS = ("embedding", "embeddings", "embedding_vector", "vector")
NODE_ROLES = {
    "name": Role.NAME,
    "title": Role.NAME,
    "label": Role.NAME,
    "id": Role.NAME,
    "description": Role.DESCRIPTION,
    "entity_description": Role.DESCRIPTION,
    "summary": Role.DESCRIPTION,
    "aliases": Role.ALIASES,
    CHUNK_KEY: Role.CHUNKS,
    **dict.fromkeys(EMBEDDINGS, Role.UNUSED),
}
EDGE_ROLES = {
    "description": Role.DESCRIPTION,
    "relationship_description": Role.DESCRIPTION,
    "weight": Role.WEIGHT,
    CHUNK_KEY: Role.CHUNKS,
    **dict.fromkeys(EMBEDDINGS, Role.UNUSED),
}


@dataclass(frozen=True, slots=True)
class Keys:
    """What a maker calls an id, labels and ends: key of `OWN` → its keys, of which the first that holds
    something counts. unused: its other keys that say nothing."""

    nodes: Mapping[str, Sequence[str]]
    edges: Mapping[str, Sequence[str]]
    unused: Sequence[str] = ()

    def node_records(self, rows: Rows, values: Any, place: str) -> list[Record]:
        """Nodes as records with `<id>` and `<labels>`; what has no id is a problem."""
        return self._records(rows, values, place, self.nodes, ("<id>",))

    def edge_records(self, rows: Rows, values: Any, place: str) -> list[Record]:
        """Edges as records with `<source>`, `<target>` and `<type>`."""
        return self._records(rows, values, place, self.edges, ("<source>", "<target>"))

    def _records(
        self, rows: Rows, values: Any, place: str, keys: Mapping[str, Sequence[str]], needed: Sequence[str]
    ) -> list[Record]:
        """values: a list, or a dictionary whose keys say in a problem which it is."""
        if not isinstance(values, list | dict):
            rows.problem(place, "wanted a list or an object, got {got}", got=json_kind(values))
            return []
        records: list[Record] = []
        taken = {*self.unused, "properties", *(name for names in keys.values() for name in names)}
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            told = value if isinstance(value, dict) else {}
            found = {own: _first(told, names) for own, names in keys.items()}
            missing = ", ".join(repr(keys[own][-1]) for own in needed if not end_text(found[own]))
            if missing:
                got = json_kind(value)
                rows.problem(f"{place}[{key!r}]", "wanted {wanted}, got {got}", wanted=missing, got=got)
                continue
            found |= {own: end_text(found[own]) for own in needed}
            rest = {name: value for name, value in told.items() if name not in taken}
            records.append({**rest, **object_of(told.get("properties")), **found})
        return records


def _first(record: Record, names: Sequence[str]) -> Any:
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def from_property_graph(
    rows: Rows, nodes: Sequence[Record], edges: Sequence[Record], *, lexical: Collection[str] = LEXICAL
) -> KnowledgeGraph:
    """nodes: with `<id>`, `<labels>` as written, and their properties; the first label that is not the tool's
    own is the type where `<type>` says none. edges: with `<source>`, `<target>` and `<type>`. lexical: labels
    of nodes that are no entities, in lower case without underscores.

    Where nodes carry `__Entity__`, only those are entities.
    """
    labels_by_id = {node["<id>"]: labels_of(node.get("<labels>")) for node in nodes}
    marked = any(ENTITY_MARK in labels for labels in labels_by_id.values())
    left_out: dict[str, str] = {}
    for id, labels in labels_by_id.items():
        label = next((label for label in labels if bare(label) in lexical), "")
        if marked:
            label = "" if ENTITY_MARK in labels else label or next(iter(labels), "unlabelled")
        if label:
            left_out[id] = label
            rows.dropped(f"{label} nodes (no entities)", id)
    related = []
    chunks: dict[str, list[str]] = {}
    for edge in edges:
        ends = edge["<source>"], edge["<target>"]
        for here, there in (ends, ends[::-1]):
            if here in left_out and there not in left_out and "chunk" in bare(left_out[here]):
                chunks.setdefault(there, []).append(here)
        if left_out.keys() & ends:
            rows.dropped(f"{text_of(edge['<type>'])} edges (of nodes that are no entities)", " → ".join(ends))
        else:
            related.append(edge)
    entities = [
        _entity(node, labels_by_id[node["<id>"]], chunks.get(node["<id>"], []))
        for node in nodes
        if node["<id>"] not in left_out
    ]
    rows.took("entities", {"labels": Role.TYPE})
    rows.took("relations", {"type": Role.TYPE})
    fill_records(rows, entities, related, NODE_ROLES, EDGE_ROLES)
    return rows.graph()


def _entity(node: Record, labels: Sequence[str], chunks: Sequence[str]) -> Record:
    """chunks: that have an edge to the node."""
    own = [label for label in labels if label not in INNER]
    record = {"<type>": next(iter(own), ""), **node}
    record.pop("<labels>", None)
    if chunks:
        record["<chunks>"] = list(dict.fromkeys([*strings_of(record.pop(CHUNK_KEY, None)), *chunks]))
    if len(own) > 1:
        record["labels"] = list(labels)
    return record


def object_of(value: Any) -> Record:
    """A record's properties; JSON text that holds an object is read."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}
