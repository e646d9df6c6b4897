"""GraphML of any writer, LightRAG's and nano-graphrag's among them.

Read by Python's own parser, a piece at a time: no tree is built. A document type declaration is refused
whatever it holds, and so no entity is ever expanded.

LightRAG's file is `graph_chunk_entity_relation.graphml` in its working folder. A node's id is the entity;
newer files repeat it as `entity_id`. Old versions left the model's quotes and back-ticks around ids, types
and descriptions; `<SEP>` joins what several chunks said. Edges are undirected and have no type: `keywords`
are kept as a detail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import mapped
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.assembly import of_tables
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.roles import Columns
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import SEPARATOR, Table, columns_of, key_of
from tiny_graph_rag.formats.words import NODE_KEYS, Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

DOCTYPE_REFUSED = (
    "a document type declaration (<!DOCTYPE>) is not allowed, because it can expand to any size; remove it"
)
LIGHTRAG_FILE = "graph_chunk_entity_relation.graphml"
LIGHTRAG_KEYS = ('attr.name="entity_type"', 'attr.name="source_id"', 'attr.name="weight"')
QUOTED = {"<id>", "<source>", "<target>", "entity_id", "entity_type", "description"}  # by old versions

Properties = dict[str, Any]
Parts = tuple[list[Properties], list[Properties]]  # nodes and edges


@graph_format(
    "GraphML",
    "any GraphML, whatever the columns; graph_chunk_entity_relation.graphml of LightRAG",
    lambda head: "<graphml" in head.text,
    within=(LIGHTRAG_FILE, f"*/{LIGHTRAG_FILE}", f"rag_storage/{LIGHTRAG_FILE}", "*.graphml", "*.graphml.gz"),
    suffixes=(".graphml", ".xml"),
    general=True,
)
def read_graphml(paths: Sequence[Path]) -> KnowledgeGraph:
    """`<node>` and `<edge>`, of whatever columns; ids and ends are XML's own."""
    is_lightrag = all(key in Head(paths[0]).text for key in LIGHTRAG_KEYS)
    rows = Rows(paths[0], "LightRAG" if is_lightrag else "GraphML")
    nodes, edges = read_xml(rows)
    for record in (*nodes, *edges) if is_lightrag else ():
        for column in QUOTED & record.keys():
            parts = record[column].split(SEPARATOR)
            record[column] = SEPARATOR.join(map(without_quotes, parts))
    columns = columns_of(nodes)
    for column in (column for column in columns if key_of(column) in NODE_KEYS[Role.ALIASES]):
        for record in nodes:  # other signs do not part them here
            record[column] = list(filter(None, record.get(column, "").split(SEPARATOR)))
    given = {"id": "<id>"} | ({"name": "entity_id"} if "entity_id" in columns else {})
    given |= {"source": "<source>", "target": "<target>"} if edges else {}
    tables = Table.of_records(nodes, "entities", False), Table.of_records(edges, "relations", True)
    return of_tables(rows, tables, Columns(given))


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

# Attributes of nodes and edges that are columns, as Neo4j exports them.
OWN_COLUMNS: dict[str, tuple[str, ...]] = {"node": ("labels",), "edge": ("label",)}
NEEDED = {"node": ("id",), "edge": ("source", "target"), "key": ("id",)}


def read_xml(rows: Rows) -> Parts:
    """Nodes and edges, texts by column, in file order; XML's own attributes stand under keys such as `<id>`.
    Hyperedges and ports are counted only.

    Raises GraphError, with line and column for what is no XML.
    """
    path = rows.path
    buffer = mapped(path)
    start = buffer[: 1 << 16].replace(b"\0", b"")  # also of UTF-16
    if b"<!DOCTYPE" in start.partition(b"<graphml")[0]:
        raise GraphError.at(path, said(DOCTYPE_REFUSED))
    stream = BytesIO(buffer) if isinstance(buffer, bytes) else buffer
    try:
        return _graph(rows, ElementTree.iterparse(stream, ("start", "end")))
    except ElementTree.ParseError as error:
        line, column = error.position
        what = expat.ErrorString(error.code)
        raise GraphError.at(f"{path}:{line}:{column + 1}", "not XML: {what}", what=what) from error
    except (LookupError, ValueError) as error:  # an encoding that Python lacks, or one of several bytes
        raise GraphError.at(
            path, "the encoding that the first line names can't be read; save it as UTF-8"
        ) from error


def _graph(rows: Rows, events: Iterator[tuple[str, ElementTree.Element]]) -> Parts:
    """Of the starts and ends of elements; one that was read is cleared, so that no tree is built."""
    parts: Parts = ([], [])
    nodes, edges = parts
    names: dict[tuple[str, str], str] = {}  # (node or edge, id of a key) → its column
    defaults: dict[str, Properties] = {"node": {}, "edge": {}}
    open: list[Properties] = []  # a node may hold a graph
    direction, tags = "directed", 0
    for event, element in events:
        tag = element.tag.rpartition("}")[2]
        if event == "start":
            tags += 1
            if tags == 1 and tag != "graphml":
                raise GraphError.at(
                    rows.path, "wanted <{root}>, got <{tag}>", root="graphml", tag=f"{tag:.40}"
                )
            missing = [repr(name) for name in NEEDED.get(tag, ()) if name not in element.attrib]
            if missing:
                where = {"n": f"{tags:,}", "tag": tag, "name": missing[0]}
                raise GraphError.at(rows.path, "element {n}: a <{tag}> without the attribute {name}", **where)
            if tag in OWN_COLUMNS:
                open.append({**defaults[tag], **_attributes(tag, element, direction)})
                (nodes if tag == "node" else edges).append(open[-1])
            elif tag == "graph" and not nodes:
                direction = element.get("edgedefault", "directed")
            elif tag in ("hyperedge", "port"):
                rows.dropped(f"<{tag}> elements", tag)
        elif tag in OWN_COLUMNS:
            record = open.pop()
            for data in element.iterfind("{*}data"):
                key = data.get("key", "")
                labels = [*data.iterfind(".//{*}NodeLabel"), *data.iterfind(".//{*}EdgeLabel")]
                if labels:  # what yEd shows; the rest is how
                    record["label"] = " ".join((label.text or "").strip() for label in labels).strip()
                else:
                    record[names.get((tag, key), key)] = "".join(data.itertext())
            element.clear()
        elif tag == "key":
            kind, name = element.get("for", "all"), element.get("attr.name", element.attrib["id"])
            default = element.find("{*}default")
            for about in (about for about in OWN_COLUMNS if kind in (about, "all")):
                names[about, element.attrib["id"]] = name
                if default is not None:
                    defaults[about][name] = "".join(default.itertext())
    return parts


def _attributes(tag: str, element: ElementTree.Element, direction: str) -> Properties:
    """What XML's attributes say of a node or an edge."""
    own = {name: element.attrib[name] for name in OWN_COLUMNS[tag] if name in element.attrib}
    own |= {f"<{name}>": element.attrib[name] for name in NEEDED[tag]}
    if tag == "edge":
        directed = element.get("directed", direction)
        own |= {"<id>": element.get("id", ""), "<directed>": str(directed in ("true", "directed"))}
    return own
