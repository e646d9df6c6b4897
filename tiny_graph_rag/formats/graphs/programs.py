"""Graphs of one program each: what its keys mean that the vocabulary (words.py) can't know.

What a program keeps as nodes and is no entity (documents, chunks, communities) is dropped and counted; see
rows.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import read_start
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.graphml import read_xml
from tiny_graph_rag.formats.graphs.json_lists import document_of, fill, graph_of, lists_of
from tiny_graph_rag.formats.graphs.roles import Columns
from tiny_graph_rag.formats.graphs.rows import LEXICAL, Rows, fill_records
from tiny_graph_rag.formats.graphs.table import text_of
from tiny_graph_rag.formats.tables import literal
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

Record = dict[str, Any]

# --- property graphs: nodes with labels and properties, of which a part is the lexical layer

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


def from_property_graph(
    rows: Rows, nodes: Sequence[Record], edges: Sequence[Record], *, lexical: Collection[str] = LEXICAL
) -> KnowledgeGraph:
    """nodes: with `<id>`, `<type>`, labels as written, and their properties. edges: with `<source>`,
    `<target>` and `<type>`. lexical: labels of nodes that are no entities, in lower case without underscores.
    """
    rows.problems.check()
    rows.means("entities", {"labels": Role.TYPE})
    rows.means("relations", {"type": Role.TYPE})
    fill_records(rows, nodes, edges, NODE_ROLES, EDGE_ROLES, lexical)
    return rows.graph()


def own_records(values: Any, keys: Mapping[str, str]) -> list[Record]:
    """Nodes or edges, with a maker's keys under those of `OWN`, and with their properties.

    values: a list, or a dictionary whose keys are ids where nothing else is. keys: the maker's, of which the
    first that holds something counts → ours.
    """
    if isinstance(values, dict):
        values = [{"id": key, **value} for key, value in values.items() if isinstance(value, dict)]
    records = []
    for value in values if isinstance(values, list) else ():
        record = value if isinstance(value, dict) else {}
        rest = {name: value for name, value in record.items() if name not in keys and name != "properties"}
        properties = record.get("properties")
        properties = literal(properties) if isinstance(properties, str) else properties
        own: Record = {}
        for name, key in keys.items():
            if record.get(name) not in (None, ""):
                own.setdefault(key, record[name])
        records.append({**rest, **(properties if isinstance(properties, dict) else {}), **own})
    return records


# --- Neo4j: APOC's JSON

_APOC = re.compile(r'"type"\s*:\s*"(node|relationship)"')


@graph_format(
    "Neo4j (APOC JSON lines)",
    "what Neo4j's apoc.export.json writes",
    lambda head: bool(_APOC.search(head.text)) and ('"labels"' in head.text or '"start"' in head.text),
)
def read_apoc(paths: Sequence[Path]) -> KnowledgeGraph:
    """`{"type": "node", "labels", …}` and `{"type": "relationship", "label", "start", "end", …}` a line, in a
    list, or in two lists."""
    rows = Rows(paths[0], "Neo4j (APOC)")
    found = document_of(paths[0], rows)
    if isinstance(found, dict):
        parts = [found] if "type" in found else [found.get("nodes"), found.get("rels")]
        found = [value for part in parts for value in (part if isinstance(part, list) else [part])]
    of_kind: dict[str, list[Record]] = {"node": [], "relationship": []}
    for number, value in enumerate(found, start=1):
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in of_kind:
            got = json_kind(value)
            rows.problem(number, "wanted a 'type' of node or relationship, got {got}", got=got)
        else:
            of_kind[kind].append({name: inner for name, inner in value.items() if name != "type"})
    edges = {"id": "<id>", "start": "<source>", "end": "<target>", "label": "<type>"}
    return from_property_graph(
        rows,
        own_records(of_kind["node"], {"id": "<id>", "labels": "<type>"}),
        own_records(of_kind["relationship"], edges),
    )


# --- LlamaIndex


def _is_llama_index(head: Head) -> bool:
    others = {"edges", "links", "relationships", "adjacency"} & head.keys.keys()
    is_store = head.keys.get("nodes") == "{" and head.keys.get("relations") in ("{", None)
    return (is_store and not others) or "graph_dict" in head.keys


@graph_format(
    "LlamaIndex",
    "LlamaIndex's property_graph_store.json",
    _is_llama_index,
    within=(
        *("property_graph_store.json", "*/property_graph_store.json"),
        *("graph_store.json", "*/graph_store.json"),
    ),
)
def read_llama_index(paths: Sequence[Path]) -> KnowledgeGraph:
    """A node without a name that has a text is a chunk of it. The older `graph_store.json` is a dictionary
    from entity to neighbours."""
    rows = Rows(paths[0], "LlamaIndex")
    document = json_of(paths[0])
    if not isinstance(document, dict) or not isinstance(document.get("relations"), dict):
        if not isinstance(document, dict) or "graph_dict" not in document:
            rows.writer = "JSON lists"  # of somebody who has a dictionary of nodes as well
        return graph_of(rows, document)
    nodes = own_records(document.get("nodes"), {"id": "<id>", "label": "<type>"})
    for node in nodes:
        if "name" not in node and "text" in node:
            node["<type>"] = "text_chunk"
    edges = {"id": "<id>", "source_id": "<source>", "target_id": "<target>", "label": "<type>"}
    return from_property_graph(rows, nodes, own_records(document["relations"], edges))


# --- Cognee

COGNEE_MARKS = ("topological_rank", "ontology_valid")
COGNEE_LEXICAL = LEXICAL | {
    *("entitytype", "textsummary", "nodeset", "pdfdocument", "audiodocument", "imagedocument")
}


def _is_cognee(head: Head) -> bool:
    if "<graphml" in head.text:
        return all(f'attr.name="{mark}"' in head.text for mark in COGNEE_MARKS)
    is_export = "nodes" in head.keys and "directed" not in head.keys
    return is_export and all(f'"{mark}"' in head.text for mark in COGNEE_MARKS)


COGNEE_NODES = {"<id>": "<id>", "id": "<id>", "type": "<type>"}
COGNEE_EDGES = {
    **{"<source>": "<source>", "source": "<source>", "<target>": "<target>", "target": "<target>"},
    **{"<directed>": "<directed>", "relationship": "<type>", "relationship_name": "<type>"},
    **{"label": "<type>", "type": "<type>"},
}


@graph_format("Cognee", "what Cognee exports, GraphML or JSON", _is_cognee)
def read_cognee(paths: Sequence[Path]) -> KnowledgeGraph:
    """A node's `type` is the class of its data point; an `EntityType` says what entities are (`is_a`)."""
    rows = Rows(paths[0], "Cognee")
    if b"<graphml" in read_start(paths[0], 4096):
        graph = read_xml(paths[0])
        document: Any = {"nodes": graph.nodes, "edges": graph.edges}
    else:
        document = json_of(paths[0])
    nodes = own_records(document.get("nodes"), COGNEE_NODES)
    edges = own_records(document.get("edges"), COGNEE_EDGES)
    of_kind = {text_of(node.get("<id>")): node.get("name") for node in nodes if _is_kind(node)}
    kinds = {
        text_of(edge.get("<source>")): of_kind.get(text_of(edge.get("<target>")))
        for edge in edges
        if edge.get("<type>") == "is_a"
    }
    for node in nodes:
        node["<type>"] = text_of(kinds.get(text_of(node.get("<id>")))) or node.get("<type>")
    return from_property_graph(rows, nodes, edges, lexical=COGNEE_LEXICAL)


def _is_kind(node: Record) -> bool:
    return node.get("<type>") == "EntityType"


# --- Graphify


def _is_graphify(head: Head) -> bool:
    is_node_link = head.keys.get("nodes") == "[" or {"multigraph", "directed"} <= head.keys.keys()
    marks = ('"file_type"', '"source_file"', '"community"')
    return is_node_link and all(mark in head.text for mark in marks)


@graph_format(
    "Graphify", "Graphify's graph.json", _is_graphify, within=("graph.json", "graphify-out/graph.json")
)
def read_graphify(paths: Sequence[Path]) -> KnowledgeGraph:
    """Node-link JSON. Where several nodes have one label, each can also be named by its id. Older files are
    undirected and keep an edge's direction in `_src` and `_tgt`."""
    rows = Rows(paths[0], "Graphify")
    document = json_of(paths[0])
    lists = lists_of(document)
    if lists is None:
        return graph_of(rows, document)  # says what it lacks
    links = [link for link in lists.relations if isinstance(link, dict)]
    lists.is_directed = lists.is_directed or any("_src" in link for link in links)
    for link in links:
        link["source"], link["target"] = (
            link.pop(own, link.get(name)) for own, name in (("_src", "source"), ("_tgt", "target"))
        )
    fill(rows, lists, Columns({"name": "label", "type": "file_type"}))
    has_name = Counter(rows.names)
    for id, row in rows.known.items():
        if rows.names[row] and has_name[rows.names[row]] > 1:
            rows.aliases[row] = [id]
    return rows.graph()


# --- HippoRAG

BROKEN = "triples that are not three texts (left out)"
HIPPORAG_ROLES = {
    "docs[].extracted_triples": f"{Role.NAME} of both ends, {Role.TYPE} of the relation",
    "docs[].passage": f"{Role.DESCRIPTION} of the entity that is its title",
    "docs[].idx": Role.CHUNKS,
    "docs[].extracted_entities": Role.UNUSED,
}


def _is_hipporag(head: Head) -> bool:
    return head.keys.get("docs") == "[" and ('"passage"' in head.text or '"extracted_triples"' in head.text)


@graph_format(
    "HippoRAG",
    "HippoRAG's openie_results: passages with their triples",
    _is_hipporag,
    within=("openie_results_*.json", "outputs/*/openie_results_*.json"),
)
def read_hipporag(paths: Sequence[Path]) -> KnowledgeGraph:
    """Entities are the ends of triples, as written; a passage describes the entity that is its title (its
    first line), and its number is a source chunk. Named entities without a triple are no nodes in HippoRAG
    either."""
    rows = Rows(paths[0], "HippoRAG")
    document = json_of(paths[0])
    docs = document.get("docs") if isinstance(document, dict) else None
    if not isinstance(docs, list):
        wanted = said("wanted {'docs': [{'passage', 'extracted_triples'}]}")
        raise GraphError.at(paths[0], "{wanted}, got {got}", wanted=wanted, got=json_kind(docs))
    passages: dict[str, str] = {}
    chunks_of: dict[str, dict[str, None]] = {}
    edges: list[Record] = []
    named: dict[str, None] = {}
    for number, doc in enumerate(docs):
        triples = doc.get("extracted_triples", []) if isinstance(doc, dict) else None
        if not isinstance(triples, list):
            rows.flaw(BROKEN, f"{doc!r:.60}")
            continue
        chunk = str(doc.get("idx", number))
        title, _, text = str(doc.get("passage") or "").partition("\n")
        passages.setdefault(title.strip(), text.strip())
        entities = doc.get("extracted_entities")
        named |= dict.fromkeys(map(text_of, entities if isinstance(entities, list) else ()))
        for triple in triples:
            parts = triple if isinstance(triple, list) else []
            if len(parts) != 3 or not all(isinstance(part, str) and part.strip() for part in parts):
                rows.flaw(BROKEN, f"{triple!r:.60}")
                continue
            source, relation, target = (part.strip() for part in parts)
            chunks_of.setdefault(source, {})[chunk] = chunks_of.setdefault(target, {})[chunk] = None
            edges.append({"<source>": source, "<target>": target, "<type>": relation, "<chunks>": [chunk]})
    nodes = [
        {"<id>": name, "<name>": name, "<description>": passages.get(name), "<chunks>": list(chunks)}
        for name, chunks in chunks_of.items()
    ]
    fill_records(rows, nodes, edges)
    untold = [name for name in named if name not in chunks_of]
    if untold:
        rows.dropped("named entities without a triple", untold[0], len(untold))
    rows.means("file", HIPPORAG_ROLES)
    return rows.graph()
