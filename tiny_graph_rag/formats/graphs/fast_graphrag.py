"""fast-graphrag: the GraphML that `GraphRAG.save_graphml` writes with igraph.

What it keeps in its working folder are pickles, which run code when they are opened; they are refused with a
word on how to export.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.graphml import from_xml
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.xml_graphs import read_xml
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph

NODE_ROLES = {"name": Role.NAME, "type": Role.TYPE, "description": Role.DESCRIPTION}
EDGE_ROLES = {"description": Role.DESCRIPTION, "chunks": Role.CHUNKS}
PICKLES = ("graph_igraph_data.pklz", "*.pkl", "*.pklz", "*.pickle", "*.gpickle")


def _is_fast_graphrag(head: Head) -> bool:
    wanted = ('id="v_name"', 'id="v_type"', 'id="v_description"', 'id="e_description"')
    return "Created by igraph" in head.text and all(name in head.text for name in wanted)


@graph_format(
    "fast-graphrag",
    "fast-graphrag's exported GraphML",
    _is_fast_graphrag,
    within=("*.graphml", "*.graphml.gz"),
)
def read_fast_graphrag(paths: Sequence[Path]) -> KnowledgeGraph:
    return from_xml(Rows(paths[0], "fast-graphrag"), read_xml(paths[0], "graphml"), NODE_ROLES, EDGE_ROLES)


def _is_pickle(head: Head) -> bool:
    return head.raw[:1] == b"\x80" and head.raw[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


@graph_format(
    "pickle",
    "refused: opening a pickle runs whatever code it holds",
    _is_pickle,
    within=PICKLES,
    suffixes=(".pkl", ".pklz", ".pickle", ".gpickle"),
)
def refuse_pickle(paths: Sequence[Path]) -> KnowledgeGraph:
    how = "networkx: networkx.write_graphml(graph, 'graph.graphml')"
    if paths[0].name == PICKLES[0]:
        how = "fast-graphrag: GraphRAG(…).save_graphml('graph.graphml')"
    raise GraphError.at(
        paths[0],
        "pickle files are not read, because opening one can run code. Export the graph with {how}",
        how=how,
    )
