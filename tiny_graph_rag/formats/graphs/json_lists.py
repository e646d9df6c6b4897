"""JSON in which entities and relations are lists, as scripts and model outputs have them.

`{"entities": […], "relations": […]}` with names or objects, node-link JSON of any program, Cytoscape's
`elements`, a list of graph documents; `[[source, relation, target], …]`; objects with `subject`, `predicate`,
`object` or the like, in a list or one a line. What their keys are called: keys.py.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import decoded_json, json_lines
from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import decode_utf8, mapped, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.given import Columns
from tiny_graph_rag.formats.graphs.listed import Lists, fill, lists_of
from tiny_graph_rag.formats.graphs.rows import Rows, text_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

LINES = (".jsonl", ".ndjson")
WANTED = (
    'wanted {"entities": […], "relations": […]}, or a list of [source, relation, target] or of objects with '
    "'source', 'relation', 'target'"
)


def _is_lists(head: Head) -> bool:
    """Any JSON that holds objects or lists: its reader says what it lacks."""
    text = head.text
    return text[:1] == "{" or (text[:1] == "[" and text[1:].lstrip()[:1] in ("[", "{"))


def _is_lines(head: Head) -> bool:
    """Whether there is an object a line."""
    if head.path.name.removesuffix(".gz").endswith(LINES):
        return True
    text = head.text
    if head.is_cut and "\n" not in text:  # of a long line the end is looked for
        text = bytes(_around_line_end(mapped(head.path))).decode("utf-8", "replace")
    line, _, rest = text.partition("\n")
    return line.rstrip().endswith("}") and rest.lstrip()[:1] == "{"


def _around_line_end(buffer: bytes | mmap.mmap) -> bytes:
    end = buffer.find(b"\n")
    return buffer[max(0, end - 8) : end + 80] if end >= 0 else b""


@graph_format(
    "JSON lists",
    "lists of entities and relations, or of triples, as scripts and models write them",
    _is_lists,
    suffixes=LINES,
    general=True,
    takes_columns=True,
)
def read_lists(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    return of_document(paths[0], "JSON lists", columns)


def of_document(path: Path, writer: str, columns: Columns | None = None) -> KnowledgeGraph:
    """The graph of a JSON file's lists, whoever wrote it."""
    rows = Rows(path, writer)
    document = _document(path, rows)
    if not isinstance(document, dict | list):
        raise GraphError.at(path, "{wanted}, got {got}", wanted=said(WANTED), got=json_kind(document))
    lists = lists_of(document)
    rows.problems.check()
    if lists is None:
        held = document if isinstance(document, dict) else {}
        names = [repr(key) for key, value in held.items() if isinstance(value, list | dict)]
        raise GraphError.at(
            path, "{wanted}; its lists are {names}", wanted=said(WANTED), names=", ".join(names[:8]) or "none"
        )
    fill(rows, lists, columns)
    count_hyperedges(rows, document)
    used = {place.partition("[")[0] for place in lists.places}
    for key, value in document.items() if isinstance(document, dict) else ():
        if (
            isinstance(value, list)
            and value
            and isinstance(value[0], dict)
            and key not in {*used, "hyperedges"}
        ):
            rows.dropped("lists that hold neither entities nor relations", key)
    return rows.graph()


def count_hyperedges(rows: Rows, document: Any) -> None:
    about = document.get("graph") if isinstance(document, dict) else None
    hyperedges = isinstance(document, dict) and (
        document.get("hyperedges") or (about.get("hyperedges") if isinstance(about, dict) else None)
    )
    if isinstance(hyperedges, list) and hyperedges:
        first = hyperedges[0]
        example = (
            text_of(first.get("label") or first.get("id")) if isinstance(first, dict) else text_of(first)
        )
        rows.dropped("hyperedges (they join more than two nodes)", example, len(hyperedges))


def records_in(path: Path) -> list[Any]:
    """The values of a JSON list, or one a line. Raises GraphError."""
    rows = Rows(path, "")
    values = _document(path, rows)
    rows.problems.check()
    if not isinstance(values, list):
        raise GraphError.at(path, "wanted a list of objects, got {got}", got=json_kind(values))
    return values


def _document(path: Path, rows: Rows) -> Any:
    if not _is_lines(Head.of(path)):
        return json_of(path)
    text = decode_utf8(read_bytes(path), path)
    return [record.row for record in json_lines(path, text, rows.problems, decoded_json)]


_DATA_SET = re.compile(r"(?<![\w.])(nodes|edges)\s*=\s*new\s+vis\.DataSet\(\s*(?=\[)")


@graph_format(
    "pyvis",
    "the page of a pyvis network (HTML)",
    lambda head: "vis-network" in head.text or "vis.DataSet" in head.text,
    suffixes=(".html", ".htm"),
)
def read_pyvis(paths: Sequence[Path]) -> KnowledgeGraph:
    """The nodes and edges that the page's script holds as JSON."""
    path = paths[0]
    text = decode_utf8(read_bytes(path), path)
    parts: dict[str, list[Any]] = {}
    for match in _DATA_SET.finditer(text):
        try:
            parts[match[1]], _ = json.JSONDecoder().raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
    if not {"nodes", "edges"} <= parts.keys():
        raise GraphError.at(
            path,
            "the page holds no nodes and edges as JSON. Save the graph itself, in pyvis with "
            "networkx.write_graphml(graph, 'graph.graphml')",
        )
    rows = Rows(path, "pyvis")
    look = {"color", "shape", "size", "font", "x", "y", "physics", "hidden", "arrows", "width", "borderWidth"}
    nodes, edges = (
        [{key: value for key, value in record.items() if key not in look} for record in parts[name]]
        for name in ("nodes", "edges")
    )
    is_directed = any("arrows" in edge for edge in parts["edges"])
    fill(rows, Lists(nodes, edges, is_directed, ("nodes[{}]", "edges[{}]")))
    return rows.graph()
