"""GEXF (Gephi), Pajek's .net and GML, as networkx reads them.

Edges are parallel where the file has them so. GEXF's defaults count; `*Arcs :1 "KEEPS"` of Pajek names the
type of the lines below it. What networkx can't read is refused with its reason.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, InputError, optional
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.assembly import of_tables
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.graphml import DOCTYPE_REFUSED
from tiny_graph_rag.formats.graphs.roles import Columns
from tiny_graph_rag.formats.graphs.rows import SOME_UNDIRECTED, Rows
from tiny_graph_rag.formats.graphs.table import Table
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

# networkx knows three namespaces of GEXF; files of other versions, or of none, are read as this one.
GEXF = (
    '<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:viz="http://www.gexf.net/1.2draft/viz" version="1.2">'
)
_GEXF_ROOT = re.compile(r"<gexf\b[^>]*>")
_VIZ = re.compile(r"<viz:[^>]*/>")
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
    rows = Rows(path, "GEXF")
    if 'defaultedgetype="directed"' in text:  # networkx refuses the others among these
        text, count = re.subn(r"(<edge\b[^>]*?)\stype=\"(?:undirected|mutual)\"", r"\1", text)
        if count:
            rows.flaw(SOME_UNDIRECTED, path.name, count)
    return _graph(rows, lambda networkx: networkx.read_gexf(StringIO(text)))


@graph_format(
    "GML", "GML: nodes and edges in brackets", lambda head: bool(_GML.match(head.text)), suffixes=(".gml",)
)
def read_gml(paths: Sequence[Path]) -> KnowledgeGraph:
    several = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", _text(paths[0]), count=1)
    lines = several.split("\n")
    return _graph(Rows(paths[0], "GML"), lambda networkx: networkx.parse_gml(lines, label="id"))


def _is_pajek(head: Head) -> bool:
    return re.match(r"(?i)(?:%[^\n]*\n\s*)*\*(?:vertices|network)\b", head.text) is not None


@graph_format("Pajek", "Pajek's .net: vertices, arcs and edges", _is_pajek, suffixes=(".net", ".paj"))
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
    return _graph(
        Rows(paths[0], "Pajek"),
        lambda networkx: [(type, networkx.parse_pajek(part)) for type, part in texts or [("", vertices)]],
    )


def _text(path: Path) -> str:
    """Older files are in the code page of their writer."""
    raw = read_bytes(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _graph(rows: Rows, read: Callable[[Any], Any]) -> KnowledgeGraph:
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
