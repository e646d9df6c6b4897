"""GEXF (Gephi), Pajek's .net and GML, as networkx reads them.

Edges are parallel where the file has them so. GEXF's defaults count; `*Arcs :1 "KEEPS"` of Pajek names the
type of the lines below it. What networkx can't read is refused with its reason.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, InputError, optional
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.graphml import DOCTYPE_REFUSED
from tiny_graph_rag.formats.graphs.json_lists import Lists, fill
from tiny_graph_rag.formats.graphs.roles import Columns
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

# networkx knows three namespaces of GEXF; files of other versions, or of none, are read as this one.
GEXF = (
    '<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:viz="http://www.gexf.net/1.2draft/viz" version="1.2">'
)
_GEXF_ROOT = re.compile(r"<gexf\b[^>]*>")
_VIZ = re.compile(r"<viz:[^>]*/>")
_GML = re.compile(r"(?:\s*(?:#[^\n]*|[A-Za-z]\w*[ \t]+[^\n\[\]]*)\n)*\s*graph\s*\[")
_PAJEK_LINES = re.compile(r'(?im)^\s*\*(arcs|edges)\b(?:\s*:\s*\d+\s*"([^"]*)")?[^\n]*$')
_PAJEK_LISTS = re.compile(r"(?im)^\s*\*(arcs|edges)list\b")


def _is_pajek(head: Head) -> bool:
    lines = (line.strip().casefold() for line in head.text.split("\n")[:50])
    first = next((line for line in lines if line and not line.startswith("%")), "")
    return first.startswith(("*vertices", "*network"))


@graph_format("GEXF", "Gephi's format", lambda head: "<gexf" in head.text, suffixes=(".gexf",))
def read_gexf(paths: Sequence[Path]) -> KnowledgeGraph:
    """A node's label is its name, an edge's `kind` or `label` its type."""
    path = paths[0]
    text = decode_utf8(read_bytes(path), path)
    if "<!DOCTYPE" in text:
        raise GraphError.at(path, said(DOCTYPE_REFUSED))
    text = _GEXF_ROOT.sub(GEXF, _VIZ.sub("", text), count=1)
    with _networkx(path, "GEXF") as networkx:
        graph = networkx.read_gexf(StringIO(text))
    return _graph(Rows(path, "GEXF"), [("", graph)])


@graph_format(
    "GML", "GML: nodes and edges in brackets", lambda head: bool(_GML.match(head.text)), suffixes=(".gml",)
)
def read_gml(paths: Sequence[Path]) -> KnowledgeGraph:
    text = _text(paths[0])
    several = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", text, count=1)
    with _networkx(paths[0], "GML") as networkx:
        graph = networkx.parse_gml(several.split("\n"), label="id")
    return _graph(Rows(paths[0], "GML"), [("", graph)])


@graph_format("Pajek", "Pajek's .net: vertices, arcs and edges", _is_pajek, suffixes=(".net", ".paj"))
def read_pajek(paths: Sequence[Path]) -> KnowledgeGraph:
    """Each section alone: networkx takes all that follows the first `*Arcs` or `*Edges` for one kind."""
    path = paths[0]
    text = re.sub(r"(?m)^%.*\n", "", _text(path))
    if _PAJEK_LISTS.search(text):
        raise GraphError.at(
            path, "*Arcslist and *Edgeslist are not read; save the network with *Arcs or *Edges"
        )
    starts = list(_PAJEK_LINES.finditer(text))
    vertices = text[: starts[0].start()] if starts else text
    ends = [*(start.start() for start in starts[1:]), len(text)]
    parts = [(start[2] or "", text[start.start() : end]) for start, end in zip(starts, ends, strict=False)]
    with _networkx(path, "Pajek") as networkx:
        graphs = [(type, networkx.parse_pajek(vertices + lines)) for type, lines in parts or [("", "")]]
    return _graph(Rows(path, "Pajek"), graphs)


@contextmanager
def _networkx(path: Path, form: str) -> Iterator[Any]:
    """networkx; whatever it raises of a broken file is raised as GraphError."""
    networkx = optional("networkx", said("reading {form}", form=form), "networkx")
    try:
        with warnings.catch_warnings(action="ignore"):
            yield networkx
    except (InputError, MemoryError):
        raise
    except Exception as error:  # its readers raise whatever Python does where a file isn't as they expect
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise GraphError.at(
            path,
            "networkx can't read it as {form}: {why}. Save it as GraphML in the program that wrote it",
            form=form,
            why=why,
        ) from error


def _graph(rows: Rows, graphs: Sequence[tuple[str, Any]]) -> KnowledgeGraph:
    """The graph of networkx's graphs of the same nodes. graphs: (the type of edges without one, graph)."""
    first = graphs[0][1]
    usual = [first.graph.get(f"{what}_default") or {} for what in ("node", "edge")]
    nodes = [{**usual[0], **more, "id": id} for id, more in first.nodes(data=True)]
    directed = [graph.is_directed() for _, graph in graphs for _ in range(graph.number_of_edges())]
    edges = [
        {**({"type": type} if type else {}), **usual[1], **more, "source": source, "target": target}
        for type, graph in graphs
        for source, target, more in graph.edges(data=True)
    ]
    if any(directed) and not all(directed):
        for edge, is_directed in zip(edges, directed, strict=True):
            edge["directed"] = is_directed
    is_directed = any(directed) or not directed
    given = {"id": "id", "source": "source", "target": "target"}
    if any("l" in edge for edge in edges):  # Pajek's label of a line
        given["relation"] = "l"
    fill(rows, Lists(nodes, edges, is_directed, ("nodes[{}]", "edges[{}]")), Columns(given))
    return rows.graph()


def _text(path: Path) -> str:
    """Older files are in the code page of their writer."""
    raw = read_bytes(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
