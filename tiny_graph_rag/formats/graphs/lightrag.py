"""LightRAG and nano-graphrag: `graph_chunk_entity_relation.graphml` in their working folder.

A node's id is the entity; newer files repeat it as `entity_id`. Old versions left the model's quotes and
back-ticks around ids, types and descriptions; `<SEP>` joins what several chunks said. Edges are undirected
and have no type: `keywords` are kept as a detail.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.formats.graphs.graphml import from_xml
from tiny_graph_rag.formats.graphs.heads import Head, graph_format
from tiny_graph_rag.formats.graphs.rows import CHUNKS, DESCRIPTION, DETAIL, NAME, TYPE, WEIGHT
from tiny_graph_rag.formats.graphs.xml_graphs import read_graphml
from tiny_graph_rag.graph.model import KnowledgeGraph

FILE = "graph_chunk_entity_relation.graphml"
NODE_ROLES = {"entity_id": NAME, "entity_type": TYPE, "description": DESCRIPTION, "source_id": CHUNKS}
EDGE_ROLES = {"description": DESCRIPTION, "weight": WEIGHT, "source_id": CHUNKS, "keywords": DETAIL}


def _is_lightrag(head: Head) -> bool:
    wanted = ('attr.name="entity_type"', 'attr.name="source_id"', 'attr.name="weight"')
    return "<graphml" in head.text and all(each in head.text for each in wanted)


@graph_format(
    "LightRAG",
    "graph_chunk_entity_relation.graphml of LightRAG and nano-graphrag",
    _is_lightrag,
    within=(FILE, f"*/{FILE}", f"rag_storage/{FILE}"),
    besides=("kv_store_*.json", "vdb_*.json"),
)
def read_lightrag(paths: Sequence[Path]) -> KnowledgeGraph:
    graph = read_graphml(paths[0])
    is_nano = "keywords" not in graph.columns["edge"] and "entity_id" not in graph.columns["node"]
    writer = "nano-graphrag" if is_nano else "LightRAG"
    return from_xml(paths[0], writer, graph, NODE_ROLES, EDGE_ROLES, unquoted)


def unquoted(text: str) -> str:
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
