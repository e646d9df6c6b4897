"""GraphML as records.

Read by Python's own parser, a piece at a time: no tree is built. A document type declaration is refused
whatever it holds, and so no entity is ever expanded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import mapped
from tiny_graph_rag.messages import said

DOCTYPE_REFUSED = (
    "a document type declaration (<!DOCTYPE>) is not allowed, because it can expand to any size; remove it"
)
FED_BYTES = 1 << 20

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
NEEDED = {"node": ("id",), "edge": ("source", "target"), "key": ("id",)}


def read_xml(path: Path) -> XmlGraph:
    """Nodes and edges with their data under the columns' names; hyperedges and ports are counted only.

    Raises GraphError, with line and column for what is no XML.
    """
    target = _GraphML(path)
    parser = ElementTree.XMLParser(target=target)
    buffer = mapped(path)
    try:
        for place in range(0, len(buffer), FED_BYTES):
            parser.feed(buffer[place : place + FED_BYTES])
        parser.close()
    except ElementTree.ParseError as error:
        line, column = error.position
        what = expat.ErrorString(error.code)
        raise GraphError.at(f"{path}:{line}:{column + 1}", "not XML: {what}", what=what) from error
    except (LookupError, ValueError) as error:  # an encoding that Python lacks, or one of several bytes
        raise GraphError.at(
            path, "the encoding that the first line names can't be read; save it as UTF-8"
        ) from error
    return target.graph


class _GraphML:
    """What the parser calls with each element of a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.graph = path, XmlGraph()
        self.tags = 0
        self._names: dict[tuple[str, str], str] = {}  # (node or edge, id of a key) → its column
        self._defaults: dict[str, Properties] = {"node": {}, "edge": {}}
        self._open: list[tuple[str, Properties]] = []
        self._texts: list[str] = []
        self._key = ""  # of an open <data>
        self._declared: tuple[list[str], str] = ([], "")  # what an open <key> is for, and its column

    def doctype(self, *_: object) -> None:
        raise GraphError.at(self.path, said(DOCTYPE_REFUSED))

    def start(self, tag: str, attributes: Attributes) -> None:
        tag = tag.rpartition("}")[2]
        self.tags += 1
        if self.tags == 1 and tag != "graphml":
            raise GraphError.at(self.path, "wanted <{root}>, got <{tag}>", root="graphml", tag=f"{tag:.40}")
        for name in NEEDED.get(tag, ()):
            if name not in attributes:
                raise GraphError.at(
                    self.path,
                    "element {n}: a <{tag}> without the attribute {name}",
                    n=f"{self.tags:,}",
                    tag=tag,
                    name=repr(name),
                )
        if tag in OWN_COLUMNS:
            self._add(tag, attributes)
        elif tag in ("data", "default"):
            self._texts.clear()
            self._key = attributes.get("key", "")
        elif tag == "key":
            kind, name = attributes.get("for", "all"), attributes.get("attr.name", attributes["id"])
            self._declared = [other for other in OWN_COLUMNS if kind in (other, "all")], name
            for kind in self._declared[0]:
                self._names[kind, attributes["id"]] = name
                self.graph.columns[kind].append(name)
        elif tag == "graph" and not self.graph.nodes:
            self.graph.directed = attributes.get("edgedefault", "directed") == "directed"
        elif tag in ("hyperedge", "port"):
            self.graph.left_out[tag] = self.graph.left_out.get(tag, 0) + 1

    def _add(self, kind: str, attributes: Attributes) -> None:
        """Add a node or an edge."""
        own = {name: attributes[name] for name in OWN_COLUMNS[kind] if name in attributes}
        record = {**self._defaults[kind], **own, **{f"<{name}>": attributes[name] for name in NEEDED[kind]}}
        if kind == "edge":
            directed = attributes.get("directed", "true" if self.graph.directed else "false")
            record |= {"<id>": attributes.get("id", ""), "<directed>": str(directed in ("true", "directed"))}
        (self.graph.nodes if kind == "node" else self.graph.edges).append(record)
        self._open.append((kind, record))

    def data(self, text: str) -> None:
        self._texts.append(text)

    def end(self, tag: str) -> None:
        tag = tag.rpartition("}")[2]
        if tag in OWN_COLUMNS:
            self._open.pop()
        elif tag == "data" and self._open:
            kind, record = self._open[-1]
            record[self._names.get((kind, self._key), self._key)] = "".join(self._texts)
        elif tag == "default":
            kinds, column = self._declared
            for kind in kinds:
                self._defaults[kind][column] = "".join(self._texts)
