"""Graphs of one program each: what its keys mean that the vocabulary (words.py) can't know.

What a program keeps as nodes and is no entity (documents, chunks, communities) is dropped and counted; see
rows.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import json_kind
from tiny_graph_rag.files import text_in
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.json_lists import document_of, graph_of
from tiny_graph_rag.formats.graphs.named import Columns
from tiny_graph_rag.formats.graphs.rows import LEXICAL, Rows, fill_entities, fill_relations
from tiny_graph_rag.formats.graphs.table import Table
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

Record = dict[str, Any]

# --- property graphs: nodes with labels and properties, of which a part is the lexical layer

GIVEN = Columns(
    {"id": "<id>", "type": "<type>", "source": "<source>", "target": "<target>"} | {"relation": "<type>"}
)


def from_property_graph(rows: Rows, nodes: Sequence[Record], edges: Sequence[Record]) -> KnowledgeGraph:
    """nodes: with `<id>`, `<type>`, labels as written, and their properties. edges: with `<source>`,
    `<target>` and `<type>`."""
    rows.problems.check()
    rows.means("entities", {"labels": Role.TYPE})
    rows.means("relations", {"type": Role.TYPE})
    fill_entities(rows, Table.of_records(nodes, "entities"), GIVEN, lexical=LEXICAL)
    fill_relations(rows, Table.of_records(edges, "relations"), GIVEN)
    return rows.graph()


def own_records(values: Iterable[Record], keys: dict[str, str]) -> list[Record]:
    """Nodes or edges, with a maker's keys under ours, such as `<id>`, and with their properties. keys: the
    maker's, of which the first that holds something counts → ours."""
    records = []
    for record in values:
        rest = {name: value for name, value in record.items() if name not in keys}
        own = {keys[name]: record[name] for name in reversed(keys) if record.get(name) not in (None, "")}
        records.append({**rest, **own})
    return records


# --- Neo4j: APOC's JSON, and results of queries

_APOC = re.compile(r'"type"\s*:\s*"(node|relationship)"|"(identity|elementId)"\s*:')


@graph_format(
    "Neo4j (APOC JSON lines)",
    "what Neo4j's apoc.export.json writes, and Neo4j Browser for the result of a query",
    lambda head: bool(_APOC.search(head.text)) and ('"labels"' in head.text or '"start"' in head.text),
)
def read_apoc(paths: Sequence[Path]) -> KnowledgeGraph:
    """`{"type": "node", "labels", …}` and `{"type": "relationship", "label", "start", "end", …}` a line, in a
    list, or in two lists; or rows whose cells are nodes, relations and paths, which may stand in several."""
    rows = Rows(paths[0], "Neo4j (APOC)")
    found = document_of(paths[0], rows)
    of_kind: dict[str, dict[str, Record]] = {"node": {}, "relationship": {}}
    for number, value in enumerate(found if isinstance(found, list) else [found], start=1):
        parts = list(_parts(value))
        if not parts:
            got = json_kind(value)
            rows.problem(number, "wanted a 'type' of node or relationship, got {got}", got=got)
        for kind, record in parts:
            of_kind[kind].setdefault(repr(record), record)
    ids = {"id": "<id>", "identity": "<id>", "elementId": "<id>"}
    ends = {"start": "<source>", "startNodeElementId": "<source>", "end": "<target>"}
    edges = {**ids, **ends, "endNodeElementId": "<target>", "label": "<type>", "type": "<type>"}
    return from_property_graph(
        rows,
        own_records(of_kind["node"].values(), {**ids, "labels": "<type>"}),
        own_records(of_kind["relationship"].values(), edges),
    )


def _parts(value: Any) -> Iterator[tuple[str, Record]]:
    """The nodes and relations that a value holds, however deep."""
    kind = ""
    if isinstance(value, dict):
        has_ends = {"start", "end"} <= value.keys() or "startNodeElementId" in value
        is_edge = has_ends and ("type" in value or "label" in value)  # not a path, nor a step of one
        kind = "node" if "labels" in value else "relationship" if is_edge else ""
        kind = value["type"] if value.get("type") in ("node", "relationship") else kind
    if kind:
        yield kind, {name: inner for name, inner in value.items() if (name, inner) != ("type", kind)}
        return
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _parts(inner)


# --- GEDCOM, in which genealogy programs save family trees

_GEDCOM = re.compile(r"^[ \t]*([0-9]+)[ \t]+(?:(@[^@\n]+@)[ \t]+)?(\w+)[ \t]?(.*?)\r?$", re.M)
FAMILY = (("spouse", "HUSB", "WIFE"), ("child", "HUSB", "CHIL"), ("child", "WIFE", "CHIL"))


@graph_format("GEDCOM", "family trees", lambda head: head.text.startswith("0 HEAD"), suffixes=(".ged",))
def read_gedcom(paths: Sequence[Path]) -> KnowledgeGraph:
    """People with their spouses and children; when and where something happened to one is a detail."""
    kinds: dict[str, list[dict[str, list[str]]]] = {}
    record, event = {}, ""
    for level, id, tag, value in _GEDCOM.findall(text_in(paths[0], others=True) or ""):
        if level == "0":
            record = {"id": [id]}
            kinds.setdefault(tag, []).append(record)
        elif value:
            key = f"{event} {tag}" if level != "1" else tag
            record.setdefault(key, []).append(value.replace("/", "").strip() if tag == "NAME" else value)
        event = tag if level == "1" else event
    people = [
        {**{key: values[0] for key, values in one.items()}, "aliases": one.get("NAME", [])[1:]}
        for one in kinds.get("INDI", ())
    ]
    relations = [
        {"source": source, "relation": relation, "target": target}
        for family in kinds.get("FAM", ())
        for relation, one, other in FAMILY
        for source in family.get(one, ())
        for target in family.get(other, ())
    ]
    return graph_of(Rows(paths[0], "GEDCOM"), {"nodes": people, "edges": relations})
