"""HippoRAG: `openie_results_*.json`, passages with the triples that a model extracted from them.

Entities are the ends of triples, as written. A passage describes the entity that is its title (its first
line); every entity and relation keeps the numbers of its passages as source chunks. What is no triple of
three texts is left out and counted; named entities without a triple are no nodes in HippoRAG either.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.filling import fill_records
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

WANTED = "wanted {'docs': [{'passage', 'extracted_triples'}]}"
BROKEN = "triples that are not three texts (left out)"
UNTOLD = "named entities without a triple"
ROLES = {
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
    path = paths[0]
    rows = Rows(path, "HippoRAG")
    document = json_of(path)
    docs = document.get("docs") if isinstance(document, dict) else None
    if not isinstance(docs, list):
        raise GraphError.at(path, "{wanted}, got {got}", wanted=said(WANTED), got=json_kind(docs))
    passages: dict[str, str] = {}
    chunks_of: dict[str, list[str]] = {}
    triples: list[dict[str, Any]] = []
    named: dict[str, None] = {}
    for number, doc in enumerate(docs):
        if not isinstance(doc, dict) or not isinstance(doc.get("extracted_triples", []), list):
            rows.problem(
                f"docs[{number}]",
                "wanted an object with a list 'extracted_triples', got {got}",
                got=json_kind(doc),
            )
            continue
        chunk = str(doc.get("idx", number))
        title, _, text = str(doc.get("passage") or "").partition("\n")
        passages.setdefault(title.strip(), text.strip())
        entities = doc.get("extracted_entities")
        if isinstance(entities, list):
            named.update(dict.fromkeys(entity for entity in entities if isinstance(entity, str)))
        for triple in doc.get("extracted_triples", []):
            texts = _triple(triple)
            if texts is None:
                rows.flaw(BROKEN, f"{triple!r:.60}")
                continue
            source, relation, target = texts
            for end in (source, target):
                chunks = chunks_of.setdefault(end, [])
                if not chunks or chunks[-1] != chunk:
                    chunks.append(chunk)
            ends = {"<source>": source, "<target>": target}
            triples.append({**ends, "<type>": relation, "<chunks>": [chunk]})
    entities = [
        {"<id>": name, "<name>": name, "<description>": passages.get(name), "<chunks>": chunks}
        for name, chunks in chunks_of.items()
    ]
    fill_records(rows, entities, triples)
    untold = [name for name in named if name not in chunks_of]
    if untold:
        rows.dropped(UNTOLD, untold[0], len(untold))
    rows.took("file", ROLES)
    return rows.graph()


def _triple(value: Any) -> tuple[str, str, str] | None:
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(part, str) for part in value):
        return None
    source, relation, target = (part.strip() for part in value)
    return (source, relation, target) if source and relation and target else None
