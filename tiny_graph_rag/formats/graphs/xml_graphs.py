"""GraphML and GEXF as records.

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
    """nodes: (id, values by column); edges: (id or "", source, target, values), in file order.

    columns: of nodes and of edges, as the file declares them. directed: what the file says of all its edges;
    own_direction: how many edges say themselves that they have none, and that they have one.
    """

    nodes: list[tuple[str, Properties]] = field(default_factory=list)
    edges: list[tuple[str, str, str, Properties]] = field(default_factory=list)
    columns: dict[str, list[str]] = field(default_factory=lambda: {"node": [], "edge": []})
    directed: bool = True
    own_direction: list[int] = field(default_factory=lambda: [0, 0])
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def undirected(self) -> int:
        """How many edges have no direction."""
        undirected, directed = self.own_direction
        return undirected if self.directed else len(self.edges) - directed


# Attributes of nodes and edges that are columns, and what says of an edge whether it has a direction.
OWN_COLUMNS: dict[str, dict[str, tuple[str, ...]]] = {
    "graphml": {"node": ("labels",), "edge": ("label",)},  # as Neo4j exports them
    "gexf": {"node": ("label", "weight", "kind", "type"), "edge": ("label", "weight", "kind")},
}
DIRECTION = {
    "graphml": ("edgedefault", "directed", "directed"),
    "gexf": ("defaultedgetype", "undirected", "type"),
}


def read_xml(path: Path, root: str) -> XmlGraph:
    """Nodes and edges with their data under the columns' names; hyperedges and ports are counted only.

    root: graphml or gexf, whose elements differ but for nodes and edges.
    """
    graph = XmlGraph()
    names: dict[tuple[str, str], str] = {}
    defaults: dict[str, Properties] = {"node": {}, "edge": {}}
    open_records: list[tuple[str, Properties]] = []
    texts: list[str] = []
    about, key = "", ""  # what GEXF declares columns of; the column of an open <data>
    declared: tuple[tuple[str, ...], str] = ((), "")
    of_all, usual, of_one = DIRECTION[root]

    def put(column: str, value: str) -> None:
        if open_records:
            kind, record = open_records[-1]
            record[names.get((kind, column), column)] = value

    def start(tag: str, attributes: Attributes) -> None:
        nonlocal about, key, declared
        if tag == "node" or tag == "edge":
            own = {name: attributes[name] for name in OWN_COLUMNS[root][tag] if name in attributes}
            record: Properties = {**defaults[tag], **own}
            open_records.append((tag, record))
            if tag == "node":
                graph.nodes.append((_needed(attributes, "id", tag), record))
                return
            ends = _needed(attributes, "source", tag), _needed(attributes, "target", tag)
            graph.edges.append((attributes.get("id", ""), *ends, record))
            if of_one in attributes:
                graph.own_direction[attributes[of_one] in ("true", "directed")] += 1
        elif tag == "data" or tag == "default":
            texts.clear()
            key = attributes.get("key", "")
        elif tag == "attvalue":
            put(attributes.get("for", attributes.get("id", "")), attributes.get("value", ""))
        elif tag == "attributes":
            about = attributes.get("class", "node")
        elif tag == "key" or tag == "attribute":
            id = _needed(attributes, "id", tag)
            name = attributes.get("attr.name", attributes.get("title", id))
            kind = about if tag == "attribute" else attributes.get("for", "all")
            declared = tuple(other for other in ("node", "edge") if kind in (other, "all")), name
            for kind in declared[0]:
                names[kind, id] = name
                graph.columns[kind].append(name)
        elif tag == "graph" and not graph.nodes:
            graph.directed = attributes.get(of_all, usual) == "directed"
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

    _parse(path, root, start, end, texts)
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
