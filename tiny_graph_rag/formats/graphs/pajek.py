"""Pajek's .net: vertices by number, then arcs (directed) and edges (undirected), a line each or as lists.

`*Arcs :1 "KNOWS"` names the type of the lines below it, `l "knows"` at a line's end that of its own. Vertices
that the file only counts are named by their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.files import lines_of, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.keys import are_numbers
from tiny_graph_rag.formats.graphs.rows import SOME_UNDIRECTED, Rows
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

_FIELD = re.compile(r'"([^"]*)"|(\S+)')
_SECTION = re.compile(r"\s*\*(\w+)\s*(.*)")
LINES = ("arcs", "edges", "arcslist", "edgeslist")


def _is_pajek(head: Head) -> bool:
    lines = (line.strip().casefold() for line in head.text.split("\n")[:50])
    first = next((line for line in lines if line and not line.startswith("%")), "")
    return first.startswith(("*vertices", "*network"))


@graph_format("Pajek", "Pajek's .net: vertices, arcs and edges", _is_pajek, suffixes=(".net", ".paj"))
def read_pajek(paths: Sequence[Path]) -> KnowledgeGraph:
    path = paths[0]
    rows = Rows(path, "Pajek")
    section, type, undirected = "", "", 0
    for number, line in enumerate(lines_of(_text(path)), start=1):
        match = _SECTION.match(line)
        if match:
            section = match[1].casefold()
            fields = _fields(match[2])
            if section == "vertices" and fields and fields[0].isdecimal():
                _count(rows, int(fields[0]), number)
            type = fields[-1] if section in LINES and len(fields) > 1 else ""
            continue
        fields = _fields(line)
        if not fields or fields[0].startswith("%"):
            continue
        if section == "vertices":
            row = rows.known.get(fields[0])
            if row is None:
                rows.problem(number, "wanted the number of a vertex, got {fields}", fields=repr(fields[0]))
            elif len(fields) > 1:
                rows.names[row] = fields[1]
        elif section in LINES:
            targets = fields[1:] if section.endswith("list") else fields[1:2]
            if not targets:
                rows.problem(
                    number, "wanted the numbers of two vertices, got {line}", line=repr(line.strip()[:60])
                )
            has_weight = not section.endswith("list") and are_numbers(fields[2:3])
            weight = fields[2] if has_weight else None
            own = fields[fields.index("l") + 1] if "l" in fields[2:-1] else type
            for target in targets:
                rows.relation(fields[0], target, own, weight=weight, id=f"line {number}")
                undirected += section.startswith("edges")
    rows.took("entities", {"number": "id", "label": Role.NAME})
    rows.took("relations", {"value": Role.WEIGHT, "l": Role.TYPE})
    if undirected and undirected == len(rows.ends):
        rows.undirected("relations", "*Edges")
    elif undirected:
        rows.flaw(SOME_UNDIRECTED, "*Edges", undirected)
    return rows.graph()


MOST_VERTICES = 1 << 26


def _count(rows: Rows, count: int, line: int) -> None:
    if count > MOST_VERTICES:
        rows.problem(line, "{count} vertices are too many", count=f"{count:,}")
        return
    for number in range(1, count + 1):
        rows.entity(str(number))


def _text(path: Path) -> str:
    """Older files of Pajek are in the code page of their writer."""
    raw = read_bytes(path)
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace").replace("\r\n", "\n")


def _fields(line: str) -> list[str]:
    return [quoted or plain for quoted, plain in _FIELD.findall(line)]
