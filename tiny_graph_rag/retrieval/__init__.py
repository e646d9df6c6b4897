"""Seeds → ranked entities, by one of the retrievers below.

To add one, write a Retriever in a module of this folder and name it here.
"""

from __future__ import annotations

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.base import NO_HOP, NO_STEP, Retriever, Run

RETRIEVERS = ("bfs", "bfs-plain")

__all__ = ["NO_HOP", "NO_STEP", "RETRIEVERS", "Retriever", "Run", "make_retriever"]


def make_retriever(graph: KnowledgeGraph, config: Config) -> Retriever:
    """The retriever that `config.retrieval.retriever` names. Raises UsageError for an unknown name."""
    name = config.retrieval.retriever
    if name in ("bfs", "bfs-plain"):
        from tiny_graph_rag.retrieval.bfs import PlainBfsRetriever

        return PlainBfsRetriever(graph, hops=config.retrieval.hops, depth=config.retrieval.depth)
    raise UsageError(
        f"unknown retriever {name!r}{nearest(name, RETRIEVERS) or '.'} Choices: {', '.join(RETRIEVERS)}"
    )
