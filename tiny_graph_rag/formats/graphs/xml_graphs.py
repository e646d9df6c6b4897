"""GraphML and GEXF as records: what both dialects' readers share.

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
Record = dict[str, Any]


@dataclass(slots=True)
class XmlGraph:
    """nodes: (id, values by column); edges: (id or "", source, target, values), in file order.

    columns: of nodes and of edges, as the file declares them. directed: what the file says of all its edges;
    own_direction: how many edges say themselves that they have none, and that they have one.
    """

    nodes: list[tuple[str, Record]] = field(default_factory=list)
    edges: list[tuple[str, str, str, Record]] = field(default_factory=list)
    columns: dict[str, list[str]] = field(default_factory=lambda: {"node": [], "edge": []})
    directed: bool = True
    own_direction: list[int] = field(default_factory=lambda: [0, 0])
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def undirected(self) -> int:
        """How many edges have no direction."""
        undirected, directed = self.own_direction
        return undirected if self.directed else len(self.edges) - directed


def read_graphml(path: Path) -> XmlGraph:
    """Nodes and edges with their data under the columns' names; hyperedges and ports are counted only."""
    graph = XmlGraph()
    names: dict[tuple[str, str], str] = {}
    defaults: dict[str, Record] = {"node": {}, "edge": {}}
    open_records: list[tuple[str, Record]] = []
    column = ""
    default_of = ("", "")
    texts: list[str] = []

    def start(tag: str, attributes: Attributes) -> None:
        nonlocal column, default_of
        if tag == "data":
            texts.clear()
            about = open_records[-1][0] if open_records else ""
            key = attributes.get("key", "")
            column = names.get((about, key), key) if about else ""
        elif tag == "node" or tag == "edge":
            record: Record = dict(defaults[tag])
            open_records.append((tag, record))
            if tag == "node":
                if "labels" in attributes:  # Neo4j's export
                    record["labels"] = attributes["labels"]
                graph.nodes.append((_needed(attributes, "id", tag), record))
            else:
                ends = _needed(attributes, "source", tag), _needed(attributes, "target", tag)
                if "label" in attributes:
                    record["label"] = attributes["label"]
                if "directed" in attributes:
                    graph.own_direction[attributes["directed"] == "true"] += 1
                graph.edges.append((attributes.get("id", ""), *ends, record))
        elif tag == "key":
            key, name = _needed(attributes, "id", tag), attributes.get("attr.name", attributes.get("id", ""))
            for about in ("node", "edge"):
                if attributes.get("for", "all") in (about, "all"):
                    names[about, key] = name
                    graph.columns[about].append(name)
            default_of = (attributes.get("for", "all"), name)
        elif tag == "default":
            texts.clear()
        elif tag == "graph" and not graph.nodes:
            graph.directed = attributes.get("edgedefault", "directed") != "undirected"
        elif tag in ("hyperedge", "port"):
            graph.left_out[tag] = graph.left_out.get(tag, 0) + 1

    def end(tag: str) -> None:
        nonlocal column
        if tag == "data" and column:
            open_records[-1][1][column] = "".join(texts)
            column = ""
        elif tag == "node" or tag == "edge":
            open_records.pop()
        elif tag == "default":
            for about in ("node", "edge"):
                if default_of[0] in (about, "all"):
                    defaults[about][default_of[1]] = "".join(texts)

    _parse(path, "graphml", start, end, texts)
    return graph


def read_gexf(path: Path) -> XmlGraph:
    """The same of GEXF; `label`, `weight` and an edge's `kind` stand under these names."""
    graph = XmlGraph()
    names: dict[tuple[str, str], str] = {}
    defaults: dict[str, Record] = {"node": {}, "edge": {}}
    open_records: list[tuple[str, Record]] = []
    about, declared = "", ""
    texts: list[str] = []

    def start(tag: str, attributes: Attributes) -> None:
        nonlocal about, declared
        if tag == "node" or tag == "edge":
            record: Record = dict(defaults[tag])
            open_records.append((tag, record))
            for name in ("label", "weight", "kind", "type"):
                if name in attributes and (name != "type" or tag == "node"):
                    record[name] = attributes[name]
            if tag == "edge" and "type" in attributes:
                graph.own_direction[attributes["type"] == "directed"] += 1
            if tag == "node":
                graph.nodes.append((_needed(attributes, "id", tag), record))
            else:
                ends = _needed(attributes, "source", tag), _needed(attributes, "target", tag)
                graph.edges.append((attributes.get("id", ""), *ends, record))
        elif tag == "attvalue" and open_records:
            kind, record = open_records[-1]
            key = attributes.get("for", attributes.get("id", ""))
            record[names.get((kind, key), key)] = attributes.get("value", "")
        elif tag == "attributes":
            about = attributes.get("class", "node")
        elif tag == "attribute":
            declared = attributes.get("title", attributes.get("id", ""))
            names[about, attributes.get("id", "")] = declared
            if about in graph.columns:
                graph.columns[about].append(declared)
        elif tag == "default":
            texts.clear()
        elif tag == "graph":
            graph.directed = attributes.get("defaultedgetype", "undirected") == "directed"

    def end(tag: str) -> None:
        if tag == "node" or tag == "edge":
            open_records.pop()
        elif tag == "default" and about in defaults:
            defaults[about][declared] = "".join(texts)

    _parse(path, "gexf", start, end, texts)
    return graph


class _UnusableError(Exception):
    """Raised by a handler; `_parse` adds the place."""


def _needed(attributes: Attributes, name: str, tag: str) -> str:
    if name not in attributes:
        raise _UnusableError(said("a <{tag}> without the attribute {name}", tag=tag, name=repr(name)))
    return attributes[name]


def _parse(
    path: Path,
    root: str,
    start: Callable[[str, Attributes], None],
    end: Callable[[str], None],
    texts: list[str],
) -> None:
    """Raises GraphError with line and column for what is no sound XML of this root."""
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
        if seen == 1 and tag != root:
            raise _UnusableError(said("wanted <{root}>, got <{tag}>", root=root, tag=f"{tag:.40}"))
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
        raise GraphError(
            said(
                "{path}:{lineno}:{offset}: not XML: {what}{cut}",
                path=path,
                lineno=error.lineno,
                offset=error.offset + 1,
                what=what,
                cut=cut,
            )
        ) from error
    except _UnusableError as error:
        where = f"{path}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}"
        raise GraphError(said("{where}: {error}", where=where, error=error)) from error


_CUT = {
    expat.errors.codes[item]
    for item in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
}
