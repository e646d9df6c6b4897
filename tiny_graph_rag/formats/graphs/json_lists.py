"""JSON in which entities and relations are lists, as scripts and model outputs have them.

`{"entities": […], "relations": […]}` with names or objects; `[[source, relation, target], …]`; objects with
`subject`, `predicate`, `object` or the like, in a list or one a line. Ends are ids or names. Where no list of
entities is given, an entity is what stands at an end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.graphs.heads import Head, graph_format, json_of
from tiny_graph_rag.formats.graphs.node_link import EDGE_ROLES, NODE_ROLES
from tiny_graph_rag.formats.graphs.rows import (
    ALIASES,
    CHUNKS,
    DESCRIPTION,
    ID,
    NAME,
    SOURCE,
    TARGET,
    TYPE,
    WEIGHT,
    Rows,
    column_roles,
    split_roles,
    strings_of,
    text_of,
)
from tiny_graph_rag.formats.graphs.triples import RELATIONS, SOURCES, TARGETS
from tiny_graph_rag.graph.model import KnowledgeGraph

ENTITY_KEYS = ("entities", "nodes")
RELATION_KEYS = ("relationships", "relations", "triples", "edges", "links", "rels", "triplets")
ENTITY_ROLES = {"entity_id": ID, "entity_name": NAME, **NODE_ROLES}
RELATION_ROLES = {
    **EDGE_ROLES,
    "relationship_id": ID,
    **dict.fromkeys((*SOURCES, "src", "source_id", "src_id", "node_1", "entity1"), SOURCE),
    **dict.fromkeys((*TARGETS, "tgt", "target_id", "tgt_id", "node_2", "entity2"), TARGET),
    **dict.fromkeys(RELATIONS, TYPE),
}
TRIPLE = 3
WANTED = (
    'wanted {"entities": […], "relations": […]}, or a list of [source, relation, target] or of objects with '
    "'source', 'relation', 'target'"
)


def _is_lists(head: Head) -> bool:
    text = head.text.lstrip()
    if text[:1] == "[":
        inner = text[1:].lstrip()
        return inner[:1] == "[" or (inner[:1] == "{" and _names_ends(head.text))
    lists = {key for key, sign in head.keys.items() if sign == "["}
    if lists & {"entities"} or (lists & {"triples", "triplets"} and not lists & {"nodes"}):
        return True
    return _names_ends(head.text) and _ends(head.keys.keys())


def _names_ends(text: str) -> bool:
    first = text[: text.find("}") + 1]
    return any(f'"{each}"' in first for each in RELATION_ROLES if RELATION_ROLES[each] == SOURCE) and any(
        f'"{each}"' in first for each in RELATION_ROLES if RELATION_ROLES[each] == TARGET
    )


def _ends(keys: Any) -> bool:
    return {SOURCE, TARGET} <= {RELATION_ROLES.get(key) for key in keys}


@graph_format(
    "JSON lists",
    "lists of entities and relations, or of triples, as scripts and models write them",
    _is_lists,
    suffixes=(".jsonl", ".ndjson"),
    general=True,
)
def read_lists(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "JSON lists")
    entities, relations = _parts(path, rows)
    ids: dict[str, str] = {}  # by name, of the first that bears it
    seen: dict[str, None] = {}
    for number, each in enumerate(entities or ()):
        record = {"name": each} if isinstance(each, str) else each
        if not isinstance(record, dict):
            rows.problem(f"entities[{number}]", f"wanted a name or an object, got {json_kind(each)}")
            continue
        seen.update(dict.fromkeys(record))
        found, rest = split_roles(record, ENTITY_ROLES)
        id = text_of(found.get(ID)) or text_of(found.get(NAME))
        if not id.strip():
            rows.problem(f"entities[{number}]", f"wanted 'id' or 'name', got the keys {_keys(record)}")
            continue
        rows.entity(
            id,
            text_of(found.get(NAME)) or id,
            text_of(found.get(TYPE)),
            text_of(found.get(DESCRIPTION)),
            strings_of(found.get(ALIASES)),
            strings_of(found.get(CHUNKS)),
            rest,
        )
        ids.setdefault(rows.names[rows.known[id]], id)
    rows.took("entities", column_roles(seen, ENTITY_ROLES))
    seen = {}
    for number, each in enumerate(relations):
        if isinstance(each, list) and len(each) == TRIPLE:
            each = dict(zip(("source", "relation", "target"), each, strict=True))
        found, rest = split_roles(each, RELATION_ROLES) if isinstance(each, dict) else ({}, None)
        ends = [_end(found.get(end)) for end in (SOURCE, TARGET)]
        if not all(ends):
            came = f"the keys {_keys(each)}" if isinstance(each, dict) else f"{json_kind(each)} {each!r:.60}"
            rows.problem(f"relations[{number}]", f"wanted a source and a target, got {came}")
            continue
        seen.update(dict.fromkeys(each))
        for end in ends if entities is None else ():
            if end not in rows.known:
                rows.entity(end, end)
        source, target = (end if end in rows.known else ids.get(end, end) for end in ends)
        rows.relation(
            source,
            target,
            text_of(found.get(TYPE)),
            text_of(found.get(DESCRIPTION)),
            found.get(WEIGHT),
            strings_of(found.get(CHUNKS)),
            rest,
            text_of(found.get(ID)),
        )
    rows.took("relations", column_roles(seen, RELATION_ROLES))
    return rows.graph()


def _parts(path: Path, rows: Rows) -> tuple[list[Any] | None, list[Any]]:
    """Entities (None where none are listed) and relations."""
    if path.name.removesuffix(".gz").endswith((".jsonl", ".ndjson")):
        return None, _lines(path, rows)
    document = json_of(path)
    if isinstance(document, list):
        return None, document
    if not isinstance(document, dict):
        raise GraphError(f"{path}: {WANTED}, got {json_kind(document)}")
    listed = {key: value for key, value in document.items() if isinstance(value, list)}
    entities = next((listed[key] for key in ENTITY_KEYS if key in listed), None)
    relations = [key for key in RELATION_KEYS if key in listed and _are_relations(listed[key])]
    if not relations:
        raise GraphError(f"{path}: {WANTED}; its lists are {_keys(listed)}")
    return entities, listed[relations[0]]


def _are_relations(values: list[Any]) -> bool:
    """Not the names of relation types, which some list beside them."""
    return not values or not isinstance(values[0], str)


def _lines(path: Path, rows: Rows) -> list[Any]:
    found = []
    for number, line in enumerate(decode_utf8(read_bytes(path), path).split("\n"), start=1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                rows.problem(number, f"not JSON: {error}")
    return found


def _end(value: Any) -> str:
    """An end's id or name, of an object its `id` or `name`."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("id", "name", "entity_id") if value.get(key)), None)
    return "" if isinstance(value, list | dict) else text_of(value).strip()


def _keys(record: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, list(record)[:8])) or "none"
