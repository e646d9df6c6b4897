"""GraphML as records.

Read by expat, which comes with Python, a piece at a time: no tree is built. A document type declaration is
refused whatever it holds, and so no entity is ever expanded; so is a value beyond LONGEST_VALUE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import mapped
from tiny_graph_rag.messages import said

DOCTYPE_REFUSED = (
    "a document type declaration (<!DOCTYPE>) is not allowed, because it can expand to any size; remove it"
)
LONGEST_VALUE = 1 << 24  # characters of one attribute or value; no description is longer
FED_BYTES = 1 << 20
TOO_LONG = f"a value of more than {LONGEST_VALUE:,} characters; no graph's text is so long"

Attributes = dict[str, str]
Properties = dict[str, Any]


@dataclass(slots=True)
class XmlGraph:
    """nodes, edges: values by column, in file order; what XML's attributes say stands under keys of `OWN`.

    columns: of nodes and of edges, as the file declares them. directed: what the file says of all its edges.
    """

    nodes: list[Properties] = field(default_factory=list)
    edges: list[Properties] = field(default_factory=list)
    columns: dict[str, list[str]] = field(default_factory=lambda: {"node": [], "edge": []})
    directed: bool = True
    left_out: dict[str, int] = field(default_factory=dict)


# Attributes of nodes and edges that are columns, as Neo4j exports them.
OWN_COLUMNS: dict[str, tuple[str, ...]] = {"node": ("labels",), "edge": ("label",)}


def read_xml(path: Path) -> XmlGraph:
    """Nodes and edges with their data under the columns' names; hyperedges and ports are counted only."""
    graph = XmlGraph()
    names: dict[tuple[str, str], str] = {}
    defaults: dict[str, Properties] = {"node": {}, "edge": {}}
    open_records: list[tuple[str, Properties]] = []
    texts: list[str] = []
    key = ""  # the column of an open <data>
    declared: tuple[tuple[str, ...], str] = ((), "")

    def put(column: str, value: str) -> None:
        if open_records:
            kind, record = open_records[-1]
            record[names.get((kind, column), column)] = value

    def start(tag: str, attributes: Attributes) -> None:
        nonlocal key, declared
        if tag == "node" or tag == "edge":
            own = {name: attributes[name] for name in OWN_COLUMNS[tag] if name in attributes}
            record: Properties = {**defaults[tag], **own}
            open_records.append((tag, record))
            needed = ("id",) if tag == "node" else ("source", "target")
            record |= {f"<{name}>": _needed(attributes, name, tag) for name in needed}
            if tag == "node":
                graph.nodes.append(record)
                return
            directed = attributes.get("directed", "true" if graph.directed else "false")
            record |= {"<id>": attributes.get("id", ""), "<directed>": str(directed in ("true", "directed"))}
            graph.edges.append(record)
        elif tag == "data" or tag == "default":
            texts.clear()
            key = attributes.get("key", "")
        elif tag == "key":
            id = _needed(attributes, "id", tag)
            name = attributes.get("attr.name", id)
            kind = attributes.get("for", "all")
            declared = tuple(other for other in ("node", "edge") if kind in (other, "all")), name
            for kind in declared[0]:
                names[kind, id] = name
                graph.columns[kind].append(name)
        elif tag == "graph" and not graph.nodes:
            graph.directed = attributes.get("edgedefault", "directed") == "directed"
        elif tag in ("hyperedge", "port"):
            graph.left_out[tag] = graph.left_out.get(tag, 0) + 1

    def end(tag: str) -> None:
        if tag == "node" or tag == "edge":
            open_records.pop()
        elif tag == "data":
            put(key, "".join(texts))
        elif tag == "default":
            for kind in declared[0]:
                defaults[kind][declared[1]] = "".join(texts)

    _parse(path, start, end, texts)
    return graph


class _UnusableError(Exception):
    """Raised by a handler; `_parse` adds the place."""


def _needed(attributes: Attributes, name: str, tag: str) -> str:
    if name not in attributes:
        raise _UnusableError(said("a <{tag}> without the attribute {name}", tag=tag, name=repr(name)))
    return attributes[name]


def _parse(
    path: Path,
    start: Callable[[str, Attributes], None],
    end: Callable[[str], None],
    texts: list[str],
) -> None:
    """Raises GraphError with line and column for what is no sound GraphML."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.buffer_size = 1 << 16
    seen = 0
    length = 0

    def start_element(tag: str, attributes: Attributes) -> None:
        nonlocal seen, length
        tag = tag.rpartition(" ")[2]
        seen += 1
        length = 0
        if seen == 1 and tag != "graphml":
            raise _UnusableError(said("wanted <{root}>, got <{tag}>", root="graphml", tag=f"{tag:.40}"))
        if attributes and max(map(len, attributes.values())) > LONGEST_VALUE:
            raise _UnusableError(TOO_LONG)
        start(tag, attributes)

    def end_element(tag: str) -> None:
        end(tag.rpartition(" ")[2])

    def characters(text: str) -> None:
        nonlocal length
        length += len(text)
        if length > LONGEST_VALUE:
            raise _UnusableError(TOO_LONG)
        texts.append(text)

    def doctype(*_: object) -> None:
        raise _UnusableError(DOCTYPE_REFUSED)

    parser.StartElementHandler = start_element
    parser.EndElementHandler = end_element
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    buffer = mapped(path)
    try:
        for place in range(0, len(buffer), FED_BYTES):
            parser.Parse(buffer[place : place + FED_BYTES], False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        cut = said("; the file seems cut off") if error.code in _CUT else ""
        raise GraphError.at(
            f"{path}:{error.lineno}:{error.offset + 1}", "not XML: {what}{cut}", what=what, cut=cut
        ) from error
    except _UnusableError as error:
        where = f"{path}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}"
        raise GraphError.at(where, error) from error
    except (LookupError, ValueError) as error:  # an encoding that Python lacks, or one of several bytes
        raise GraphError.at(
            path, "the encoding that the first line names can't be read; save it as UTF-8"
        ) from error


_CUT = {
    expat.errors.codes[item]
    for item in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
}
