"""GraphML of any writer, LightRAG's and nano-graphrag's among them.

Read by Python's own parser, a piece at a time: no tree is built. A document type declaration is refused
whatever it holds, and so no entity is ever expanded.

LightRAG's file is `graph_chunk_entity_relation.graphml` in its working folder. A node's id is the entity;
newer files repeat it as `entity_id`. Old versions left the model's quotes and back-ticks around ids, types
and descriptions; `<SEP>` joins what several chunks said. Edges are undirected and have no type: `keywords`
are kept as a detail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import mapped
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.roles import edge_roles, node_roles
from tiny_graph_rag.formats.graphs.rows import OWN, Roles, Rows, fill_records
from tiny_graph_rag.formats.graphs.table import SEPARATOR, Table
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

DOCTYPE_REFUSED = (
    "a document type declaration (<!DOCTYPE>) is not allowed, because it can expand to any size; remove it"
)
FED_BYTES = 1 << 20
LIGHTRAG_FILE = "graph_chunk_entity_relation.graphml"
QUOTED = {"<id>", "<source>", "<target>", "entity_id", "entity_type", "description"}  # by old versions
# What XML's own attributes say.
TAKEN = {Role.SOURCE, Role.SOURCE_NAME, Role.SOURCE_TYPE}
TAKEN |= {Role.TARGET, Role.TARGET_NAME, Role.TARGET_TYPE}

Properties = dict[str, Any]


def _is_lightrag(head: Head) -> bool:
    wanted = ('attr.name="entity_type"', 'attr.name="source_id"', 'attr.name="weight"')
    return "<graphml" in head.text and all(name in head.text for name in wanted)


@graph_format(
    "LightRAG",
    "graph_chunk_entity_relation.graphml of LightRAG and nano-graphrag",
    _is_lightrag,
    within=(LIGHTRAG_FILE, f"*/{LIGHTRAG_FILE}", f"rag_storage/{LIGHTRAG_FILE}"),
)
def read_lightrag(paths: Sequence[Path]) -> KnowledgeGraph:
    graph = read_xml(paths[0])
    is_nano = "keywords" not in graph.columns["edge"] and "entity_id" not in graph.columns["node"]
    for record in (*graph.nodes, *graph.edges):
        for column in QUOTED & record.keys():
            parts = record[column].split(SEPARATOR)
            record[column] = SEPARATOR.join(map(without_quotes, parts))
    named = {"entity_id": Role.NAME} if "entity_id" in graph.columns["node"] else {}
    return _from_xml(Rows(paths[0], "nano-graphrag" if is_nano else "LightRAG"), graph, named)


@graph_format(
    "GraphML",
    "any GraphML: nodes and edges of whatever columns",
    lambda head: "<graphml" in head.text,
    within=("*.graphml", "*.graphml.gz"),
    suffixes=(".graphml", ".xml"),
    general=True,
)
def read_any_graphml(paths: Sequence[Path]) -> KnowledgeGraph:
    return _from_xml(Rows(paths[0], "GraphML"), read_xml(paths[0]), {})


def _from_xml(rows: Rows, graph: XmlGraph, named: Roles) -> KnowledgeGraph:
    """`<node>` and `<edge>`, of whatever columns; ids and ends are XML's own. named: columns that the
    reader knows."""
    nodes, edges = Table.of_records(graph.nodes), Table.of_records(graph.edges)
    for table, about in ((nodes, "node"), (edges, "edge")):
        names = dict.fromkeys([*graph.columns[about], *table.names])
        table.names = [name for name in names if name not in OWN]
    roles_of_nodes = {"id": Role.ID, **_left(node_roles(nodes), graph.columns["node"]), **named}
    roles_of_edges = _left(edge_roles(edges), graph.columns["edge"])
    rows.means("entities", roles_of_nodes)
    rows.means("relations", roles_of_edges)
    for column in (column for column, role in roles_of_nodes.items() if role == Role.ALIASES):
        for record in graph.nodes:  # other signs do not part them here
            record[column] = list(filter(None, record.get(column, "").split(SEPARATOR)))
    fill_records(rows, graph.nodes, graph.edges, roles_of_nodes, roles_of_edges)
    for tag, count in graph.left_out.items():
        rows.dropped(f"<{tag}> elements", tag, count)
    return rows.graph()


def _left(roles: Roles, columns: Sequence[str]) -> Roles:
    """What columns say that no attribute of XML's does."""
    found = {column: Role.DETAIL if role in TAKEN | {Role.ID} else role for column, role in roles.items()}
    return {**dict.fromkeys(columns, Role.DETAIL), **found}


def without_quotes(text: str) -> str:
    """Without back-ticks at either end, and without quotes around the whole: `"ALICE"` → `ALICE`.

    `"A" and "B"` keeps its quotes: the first inner one closes there.
    """
    text = text.strip().strip("`").strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        inner = text.find(text[0], 1, -1)
        if inner > 0 and text[inner - 1] not in " (\n":
            break
        text = text[1:-1].strip().strip("`").strip()
    return text


# --- the parser


@dataclass(slots=True)
class XmlGraph:
    """nodes, edges: texts by column, in file order; what XML's attributes say stands under keys of `OWN`.

    columns: of nodes and of edges, as the file declares them. left_out: elements that are neither, by tag.
    """

    nodes: list[Properties] = field(default_factory=list)
    edges: list[Properties] = field(default_factory=list)
    columns: dict[str, list[str]] = field(default_factory=lambda: {"node": [], "edge": []})
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
        self._directed = "directed"
        self._names: dict[tuple[str, str], str] = {}  # (node or edge, id of a key) → its column
        self._defaults: dict[str, Properties] = {"node": {}, "edge": {}}
        self._open: list[tuple[str, Properties]] = []
        self._texts: list[str] = []
        self._key = ""  # of an open <data>
        self._declared: tuple[list[str], str] = ([], "")  # what an open <key> is for, and its column

    def doctype(self, *_: object) -> None:
        raise GraphError.at(self.path, said(DOCTYPE_REFUSED))

    def start(self, tag: str, attributes: dict[str, str]) -> None:
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
            self._directed = attributes.get("edgedefault", "directed")
        elif tag in ("hyperedge", "port"):
            self.graph.left_out[tag] = self.graph.left_out.get(tag, 0) + 1

    def _add(self, kind: str, attributes: dict[str, str]) -> None:
        """Add a node or an edge."""
        own = {name: attributes[name] for name in OWN_COLUMNS[kind] if name in attributes}
        record = {**self._defaults[kind], **own, **{f"<{name}>": attributes[name] for name in NEEDED[kind]}}
        if kind == "edge":
            directed = attributes.get("directed", self._directed)
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
