"""KGTK: tab-separated edges with `node1`, `label` and `node2`, in which names are edges, too.

A value that is no node (a text, a number, a date, a place on earth) is no entity: of `label`, `alias` and
`description` it names and describes the node, of other edges it is kept as a detail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import decode_utf8, lines_of, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

HALF = "edges without one of their nodes (left out)"
COLUMNS = {
    "node1": ("node1", "from", "subject"),
    "label": ("label", "predicate", "relation", "relationship"),
    "node2": ("node2", "to", "object"),
}
NAMES = ("label", "name", "P_label", "rdfs:label")
ALTERNATIVES = ("alias", "skos:altLabel")
DESCRIPTIONS = ("description", "schema:description")
TYPES = ("P31", "isa", "instance_of", "rdf:type")
_TEXT = re.compile(r"""'(?P<said>(?:[^'\\]|\\.)*)'@(?P<language>[\w-]+)|"(?P<text>(?:[^"\\]|\\.)*)\"""")
_NO_NODE = re.compile(r"""["'^@!]|[+-]?[0-9.]+($|[^\w.])|True$|False$""")
ROLES = {
    "node1": Role.SOURCE,
    "node2": Role.TARGET,
    "label": Role.TYPE,
    "id": Role.ID,
    "label, alias, description (of texts)": f"{Role.NAME}, {Role.ALIASES}, {Role.DESCRIPTION}",
    "node1;label, node2;label": Role.NAME,
    "values that are no nodes": Role.DETAIL,
}


def _is_kgtk(head: Head) -> bool:
    line = head.text.partition("\n")[0].strip("\r").split("\t")
    return {"node1", "label", "node2"} <= set(line)


@graph_format("KGTK", "KGTK's edges: node1, label and node2, tab-separated", _is_kgtk, suffixes=(".kgtk",))
def read_kgtk(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "KGTK")
    lines = lines_of(decode_utf8(read_bytes(path), path).replace("\r\n", "\n"))
    header = next(lines, "").split("\t")
    places = {}
    for column, spellings in COLUMNS.items():
        place = next((header.index(name) for name in spellings if name in header), None)
        if place is None:
            raise GraphError.at(
                f"{path}:1",
                "wanted the columns node1, label and node2, got {names}",
                names=", ".join(header)[:80],
            )
        places[column] = place
    id_place = header.index("id") if "id" in header else None
    names: dict[str, str] = {}
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != len(header):
            rows.problem(number, "wanted {n} fields, got {n_2}", n=len(header), n_2=len(cells))
            continue
        source, label, value = (cells[places[column]] for column in COLUMNS)
        if not source or not value:
            rows.flaw(HALF, f"line {number}")
            continue
        rows.end(source)
        if _NO_NODE.match(value):
            _note(rows, source, label, value)
            continue
        rows.end(value)
        rows.relation(source, value, label, id=cells[id_place] if id_place is not None else f"line {number}")
        for end, column in ((source, "node1;label"), (label, "label;label"), (value, "node2;label")):
            if column in header and (name := _text_of(cells[header.index(column)].split("|")[0])):
                names.setdefault(end, name)
    for id, name in names.items():
        if id in rows.known:
            rows.names[rows.known[id]] = rows.names[rows.known[id]] or name
    _name_types(rows, names)
    rows.took("file", ROLES)
    return rows.graph()


def _note(rows: Rows, node: str, label: str, value: str) -> None:
    """What a value that is no node says of one."""
    row = rows.known[node]
    text = _text_of(value)
    english = value.endswith("@en") or not rows.names[row]
    if label in NAMES:
        if rows.names[row]:
            rows.aliases[row] = list(
                dict.fromkeys([*rows.aliases[row], rows.names[row] if english else text])
            )
        rows.names[row] = text if english else rows.names[row]
    elif label in ALTERNATIVES:
        rows.aliases[row] = list(dict.fromkeys([*rows.aliases[row], text]))
    elif label in DESCRIPTIONS:
        rows.descriptions[row] = rows.descriptions[row] or text
    else:
        details: dict[str, Any] = rows.details[row] or {}
        details.setdefault(label, []).append(text)
        rows.details[row] = details


def _name_types(rows: Rows, names: dict[str, str]) -> None:
    """Relation types by their names, and entities' types by what they are instances of."""
    called = {id: names.get(id) or rows.names[row] for id, row in rows.known.items()}
    for (source, target), type in zip(rows.ends, rows.relation_types, strict=True):
        if type in TYPES and not rows.types[rows.known[source]]:
            rows.types[rows.known[source]] = called.get(target) or target
    rows.relation_types = [names.get(type) or called.get(type) or type for type in rows.relation_types]


def _text_of(value: str) -> str:
    """`'Anna'@en`, `"Anna"` → Anna; other values as they are."""
    match = _TEXT.match(value)
    if match is None:
        return value
    text = match["said"] if match["said"] is not None else match["text"]
    return re.sub(r"\\(.)", r"\1", text)
