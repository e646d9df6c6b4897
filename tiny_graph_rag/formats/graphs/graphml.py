"""GraphML of any writer, LightRAG's and nano-graphrag's among them; GEXF, GML and Pajek's .net.

GraphML is read by Python's own parser, a piece at a time: no tree is built. A document type declaration is
refused whatever it holds, and so no entity is ever expanded.

LightRAG's file is `graph_chunk_entity_relation.graphml` in its working folder. A node's id is the entity;
newer files repeat it as `entity_id`. Old versions left the model's quotes and back-ticks around ids, types
and descriptions; `<SEP>` joins what several chunks said. Edges are undirected and have no type: `keywords`
are kept as a detail.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from tiny_graph_rag.errors import GraphError, InputError, optional
from tiny_graph_rag.files import decode_utf8, mapped, read_bytes, text_in
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.assembly import of_tables
from tiny_graph_rag.formats.graphs.base import Columns, graph_format
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


# --- GEXF (Gephi), Pajek's .net and GML, as networkx reads them: edges are parallel where the file has them
# so, GEXF's defaults count; `*Arcs :1 "KEEPS"` of Pajek names the type of the lines below it. What networkx
# can't read is refused with its reason.

# networkx knows three namespaces of GEXF; files of other versions, or of none, are read as this one.
GEXF = (
    '<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:viz="http://www.gexf.net/1.2draft/viz" version="1.2">'
)
_GEXF_ROOT = re.compile(r"<gexf\b[^>]*>")
_VIZ = re.compile(r"<viz:[^>]*/>")
_PAJEK = re.compile(r"(?i)(?:%[^\n]*\n\s*)*\*(?:vertices|network)\b")
_PAJEK_LINES = re.compile(r'(?im)^\s*\*(arcs|edges)\b(?:\s*:\s*\d+\s*"([^"]*)")?[^\n]*$')
# Possessive: of lines of words no other division is tried.
_GML = re.compile(r"(?:\s*+(?:#[^\n]*+|[A-Za-z]\w*+[ \t]++[^\n\[\]]*+)\n)*\s*+graph\s*+\[")


@graph_format("GEXF", "Gephi's format", lambda head: "<gexf" in head.text, suffixes=(".gexf",))
def read_gexf(paths: Sequence[Path]) -> KnowledgeGraph:
    """A node's label is its name, an edge's `kind` or `label` its type."""
    path = paths[0]
    text = decode_utf8(read_bytes(path), path)
    if "<!DOCTYPE" in text:
        raise GraphError.at(path, said(DOCTYPE_REFUSED))
    text = _GEXF_ROOT.sub(GEXF, _VIZ.sub("", text), count=1)
    text = re.sub(r"<attvalue id=", "<attvalue for=", text)  # as older versions of the format say it
    return _networkx_graph(Rows(path, "GEXF"), lambda networkx: networkx.read_gexf(StringIO(text)))


@graph_format(
    "GML", "GML: nodes and edges in brackets", lambda head: bool(_GML.match(head.text)), suffixes=(".gml",)
)
def read_gml(paths: Sequence[Path]) -> KnowledgeGraph:
    several = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", _text(paths[0]), count=1)
    lines = several.split("\n")
    return _networkx_graph(Rows(paths[0], "GML"), lambda networkx: networkx.parse_gml(lines, label="id"))


@graph_format(
    "Pajek",
    "Pajek's .net: vertices, arcs and edges",
    lambda head: bool(_PAJEK.match(head.text)),
    suffixes=(".net", ".paj"),
)
def read_pajek(paths: Sequence[Path]) -> KnowledgeGraph:
    """Each section alone: networkx takes all that follows the first `*Arcs` or `*Edges` for one kind."""
    text = re.sub(r"(?m)^%.*\n", "", _text(paths[0]))
    if re.search(r"(?im)^\s*\*(?:arcs|edges)list\b", text):
        raise GraphError.at(
            paths[0], "*Arcslist and *Edgeslist are not read; save the network with *Arcs or *Edges"
        )
    vertices, *parts = _PAJEK_LINES.split(text)
    sections = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    texts = [(type or "", f"{vertices}*{kind}{lines}") for kind, type, lines in sections]
    return _networkx_graph(
        Rows(paths[0], "Pajek"),
        lambda networkx: [(type, networkx.parse_pajek(part)) for type, part in texts or [("", vertices)]],
    )


def _text(path: Path) -> str:
    """In UTF-8, UTF-16 or CP949, with line ends of one kind."""
    return (text_in(path, others=True) or "").replace("\r\n", "\n").replace("\r", "\n")


def _networkx_graph(rows: Rows, read: Callable[[Any], Any]) -> KnowledgeGraph:
    """What networkx reads: a graph, or several of the same nodes, each with the type of its edges that have
    none. Whatever it raises of a broken file is raised as GraphError."""
    form = rows.writer
    networkx = optional("networkx", said("reading {form}", form=form), "networkx")
    try:
        with warnings.catch_warnings(action="ignore"):
            found = read(networkx)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # its readers raise whatever Python does where a file isn't as they expect
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise GraphError.at(
            rows.path,
            "networkx can't read it as {form}: {why}. Save it as GraphML in the program that wrote it",
            form=form,
            why=why,
        ) from error
    graphs = found if isinstance(found, list) else [("", found)]
    first = graphs[0][1]
    usual = [first.graph.get(f"{what}_default") or {} for what in ("node", "edge")]
    nodes = [{**usual[0], **more, "id": id} for id, more in first.nodes(data=True)]
    edges = [
        {
            **({"type": type} if type else {}),
            **({"directed": graph.is_directed()} if len(graphs) > 1 else {}),
            **usual[1],
            **more,
            **{"source": source, "target": target},
        }
        for type, graph in graphs
        for source, target, more in graph.edges(data=True)
    ]
    given = {"id": "id", "source": "source", "target": "target"}
    if any("l" in edge for edge in edges):  # Pajek's label of a line
        given["relation"] = "l"
    tables = Table.of_records(nodes, "nodes", False), Table.of_records(edges, "edges", True)
    tables[1].is_directed = not edges or any(graph.is_directed() for _, graph in graphs if graph.size())
    return of_tables(rows, tables, Columns(given))
