"""JSON in which entities and relations are lists, as scripts and model outputs have them.

`{"entities": […], "relations": […]}` with names or objects, node-link JSON of any program, Cytoscape's
`elements`, a list of graph documents; `[[source, relation, target], …]`; objects with `subject`, `predicate`,
`object` or the like, in a list or one a line. What their keys are called: keys.py.
"""

from __future__ import annotations

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
from tiny_graph_rag.formats.graphs.keys import key_of
from tiny_graph_rag.formats.graphs.listed import Columns, fill, lists_of
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.words import ENTITY_LISTS, RELATION_LISTS
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

LINES = (".jsonl", ".ndjson")
_INNER = re.compile(rf'"(?:{"|".join(RELATION_LISTS)})"\s*:\s*\[')
WRAPPERS = ("elements", "graph", "graphdict")
WANTED = (
    'wanted {"entities": […], "relations": […]}, or a list of [source, relation, target] or of objects with '
    "'source', 'relation', 'target'"
)


def _is_lists(head: Head) -> bool:
    text = head.text
    if text[:1] == "[":
        return text[1:].lstrip()[:1] in ("[", "{")
    signs = {key_of(key): sign for key, sign in head.keys.items() if sign in "[{"}
    if signs.get("nodes") == "[":
        return False  # node-link JSON
    listed = any(signs.get(key) == "[" for key in ENTITY_LISTS) or bool(
        signs.keys() & {*RELATION_LISTS, *WRAPPERS}
    )
    return text[:1] == "{" and (listed or _is_lines(head) or _INNER.search(head.text) is not None)


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
    return rows.graph()


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
