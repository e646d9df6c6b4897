"""A hub and many hops: compiled or not, in any order of the file, a ranking is the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.retrieval.test_bfs import ask, graph_of, rows
from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval import make_retriever

SPOKES = 300


def wheel(seed: int | None = None) -> KnowledgeGraph:
    """A hub that 300 entities like; each likes two entities of its own, which own two more each.

    seed: of another order of entities and relations in the file.
    """
    triples = [(f"S{spoke}", "likes", "Hub") for spoke in range(SPOKES)]
    for spoke in range(SPOKES):
        for leaf in range(2):
            triples.append((f"S{spoke}", "likes", f"L{spoke}-{leaf}"))
            triples += [(f"L{spoke}-{leaf}", "owns", f"T{spoke}-{leaf}-{number}") for number in range(2)]
    if seed is not None:
        random.Random(seed).shuffle(triples)
    return graph_of(triples)


def found(graph: KnowledgeGraph, retriever: str, text: str = "who likes Hub", **settings: Any) -> list[Any]:
    """(name, score, hop) of each row."""
    if settings.get("compiled", True):
        pytest.importorskip("numba")  # once it is in, everything is compiled
    config = Config().override(retriever=retriever, **{"depth": 2000, **settings})
    return rows(graph, make_retriever(graph, config).retrieve([ask(text, graph, "Hub")]))


@pytest.mark.slow
@pytest.mark.parametrize("retriever", ["bfs", "bfs-plain", "hybrid:bfs-plain+bm25"])
def test_a_hub_is_ranked_the_same_compiled_or_not_in_any_order_of_the_file(retriever: str) -> None:
    graph, shuffled = wheel(), wheel(seed=1)
    for text in ("who likes what likes Hub", "who owns what likes Hub"):
        compiled = found(graph, retriever, text, hops=4)
        assert found(graph, retriever, text, hops=4, compiled=False) == compiled
        assert found(shuffled, retriever, text, hops=4) == compiled


@pytest.mark.parametrize("compiled", [True, False])
def test_nearest_first_returns_the_nearest(compiled: bool) -> None:
    """300 entities lie one hop from the hub: of 100 that are wanted none is farther."""
    graph = wheel()
    for hops in (1, 2, 6):
        best = found(graph, "bfs-plain", hops=hops, depth=100, compiled=compiled)
        assert best == found(graph, "bfs-plain", hops=hops, compiled=compiled)[:100]
