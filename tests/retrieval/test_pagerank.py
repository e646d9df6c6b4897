"""Personalised PageRank against networkx and hand arithmetic."""

from __future__ import annotations

import random

import networkx
import numpy as np
import pytest

from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.retrieval.base import Task
from tiny_graph_rag.retrieval.pagerank import PageRankRetriever


def test_two_entities_by_hand() -> None:
    # a = .15 + .85 b and b = .85 a, so a = .15 / (1 - .85 ** 2) = 0.540540…
    graph = KnowledgeGraph.from_triples([("A", "OWNS", "B")])
    mass = PageRankRetriever(Task(graph, Config())).mass(((0, 1.0),))
    assert mass.tolist() == pytest.approx([0.15 / (1 - 0.85**2), 0.85 * 0.15 / (1 - 0.85**2)], abs=1e-8)


def test_an_entity_without_relations_sends_the_walker_home() -> None:
    graph = KnowledgeGraph.from_records([{"name": "A"}, {"name": "B"}], [])
    assert PageRankRetriever(Task(graph, Config())).mass(((0, 1.0),)).tolist() == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_pagerank_of_networkx(seed: int) -> None:
    draw = random.Random(seed)
    ids = [f"e{number}" for number in range(60)]
    relations = [
        {
            "source_entity_id": draw.choice(ids),
            "target_entity_id": draw.choice(ids),
            "weight": draw.choice([0, 0.1, 1, 2.5]),
        }
        for _ in range(100)
    ]
    graph = KnowledgeGraph.from_records({id_: {"name": id_} for id_ in ids}, relations)
    peer = networkx.Graph()
    peer.add_nodes_from(range(len(ids)))
    columns = (graph.relations.sources, graph.relations.targets, graph.relations.weights)
    for source, target, weight in zip(*(column.tolist() for column in columns), strict=True):
        if source != target:
            before = peer.get_edge_data(source, target, {"weight": 0.0})["weight"]
            peer.add_edge(source, target, weight=before + weight)
    home = ((3, 0.25), (17, 0.75))
    wanted = networkx.pagerank(peer, personalization=dict(home), tol=1e-13, max_iter=1000)
    found = PageRankRetriever(Task(graph, Config())).mass(home)
    assert found == pytest.approx(np.array([wanted[row] for row in range(len(ids))]), abs=1e-8)


def test_one_walk_serves_every_hop_limit() -> None:
    names = [f"e{number}" for number in range(30)]
    triples = [(names[place], "OWNS", names[(place * 7 + 1) % 30]) for place in range(30)]
    graph = KnowledgeGraph.from_triples(triples)
    asked = [LinkedQuestion("?", (Seed(row, names[row], 0, 1, "exact", 1.0),)) for row in (0, 4, 4, 11)]
    deep = PageRankRetriever(Task(graph, Config().override(hops=4)))
    for limit, run in zip((1, 2, 4), deep.retrieve_within(asked, (1, 2, 4)), strict=True):
        alone = PageRankRetriever(Task(graph, Config().override(hops=limit))).retrieve(asked)
        for column in ("offsets", "entities", "scores", "hops"):
            assert np.array_equal(getattr(run, column), getattr(alone, column))
        assert np.array_equal(run.walks[:, :limit], alone.walks)
