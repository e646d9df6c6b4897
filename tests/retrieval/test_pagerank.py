"""Personalised PageRank and random walks against networkx and hand arithmetic."""

from __future__ import annotations

import random

import networkx
import numpy as np
import pytest

from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.retrieval.base import Task
from tiny_graph_rag.retrieval.pagerank import MOST_SLOTS, Guide, PageRankRetriever, RandomWalk, SynonymEdges


def test_two_entities_by_hand() -> None:
    # a = .15 + .85 b and b = .85 a, so a = .15 / (1 - .85 ** 2) = 0.540540…
    graph = KnowledgeGraph.from_triples([("A", "OWNS", "B")])
    (mass,) = PageRankRetriever(Task(graph, Config())).masses([((0, 1.0),)])
    assert mass.tolist() == pytest.approx([0.15 / (1 - 0.85**2), 0.85 * 0.15 / (1 - 0.85**2)], abs=1e-8)


def test_an_entity_without_relations_sends_the_walker_home() -> None:
    graph = KnowledgeGraph.from_records([{"name": "A"}, {"name": "B"}], [])
    (mass,) = PageRankRetriever(Task(graph, Config())).masses([((0, 1.0),)])
    assert mass.tolist() == pytest.approx([1.0, 0.0])


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
    homes = [((3, 0.25), (17, 0.75)), (), ((5, 1.0),)]
    found = list(PageRankRetriever(Task(graph, Config())).masses(homes))
    assert not found[1].any()
    for home, mass in zip(homes[::2], found[::2], strict=True):
        wanted = networkx.pagerank(peer, personalization=dict(home), tol=1e-13, max_iter=1000)
        assert mass == pytest.approx(np.array([wanted[row] for row in range(len(ids))]), abs=1e-8)


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
        assert run.walks is None
        assert alone.walks.shape == (len(alone.entities), limit)


def guide(graph: KnowledgeGraph, added: dict[int, int] | None = None) -> Guide:
    """Every relation weighs 1000, those of `added` more."""
    types = graph.relations.types
    rows = sorted(added or {})
    return Guide(
        types.codes,
        np.full(len(types.names) + 1, 1000),
        np.array(rows, dtype=np.int32),
        np.array([(added or {})[row] for row in rows], dtype=np.int64),
    )


def visits(graph: KnowledgeGraph, mass: int, prefers: Guide) -> dict[int, int]:
    walk = RandomWalk(graph.adjacency, SynonymEdges.of(graph))
    entities, by = walk.visits(np.array([0]), np.array([mass]), prefers)
    return dict(zip(entities.tolist(), by.tolist(), strict=True))


def test_half_of_the_mass_goes_on_by_the_weights_of_relations() -> None:
    graph = KnowledgeGraph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("c", "r", "d")])
    # a sends 3200: 1600 to b, 1600 to c. b sends 800 to a, c 400 each to a and d. Then a (1200) sends 300 to
    # each of b and c, d (400) 200 to c. Then b (300) sends 150 to a, c (500) 125 each to a and d.
    assert visits(graph, 6400, guide(graph)) == {0: 1200 + 275, 1: 1600 + 300, 2: 1600 + 500, 3: 400 + 125}
    # The second relation weighs 3000 beside 1000: 800 and 2400 of the first 3200.
    preferred = visits(graph, 6400, guide(graph, {1: 2000}))
    assert preferred[1] < preferred[2]


def test_a_seed_has_as_much_as_the_entity_visited_most() -> None:
    graph = KnowledgeGraph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    walk = RandomWalk(graph.adjacency, SynonymEdges.of(graph))
    entities, bits = walk.bits(((0,), (1.0,), guide(graph)))
    of = dict(zip(entities.tolist(), bits.tolist(), strict=True))
    assert of[0] == of[1] > of[2] > of[3] > 0


def test_names_that_are_nearly_one_are_joined() -> None:
    graph = KnowledgeGraph.from_triples(
        [("Tulsa", "in", "Oklahoma"), ("Tulsa, Oklahoma", "has", "Center of the Universe")]
    )
    joined = visits(graph, 1 << 20, guide(graph))
    far = list(graph.entities.names).index("Center of the Universe")
    assert joined[far] > 0  # no relation leads there from Tulsa


@pytest.mark.parametrize("seed", range(4))
def test_compiled_walks_are_the_same(seed: int) -> None:
    pytest.importorskip("numba")
    draw = random.Random(seed)
    places = ("Tulsa", "Reno", "Port Vane", "Fargo", "Boise")
    names = [*places, *(f"{place}, Quarter{number}" for place in places for number in range(6))]
    triples = [(draw.choice(names), draw.choice("rst"), draw.choice(names)) for _ in range(90)]
    graph = KnowledgeGraph.from_triples([*triples, *(("hub", "r", name) for name in names)])
    walks = RandomWalk(graph.adjacency, SynonymEdges.of(graph))
    assert len(walks.edges.neighbours)
    memory = np.zeros((3, len(graph)), np.int64)
    for _ in range(6):
        prefers = guide(graph, {draw.randrange(90): draw.randrange(1, 5000) for _ in range(5)})
        entities = np.array(draw.sample(range(len(graph)), draw.randrange(1, 4)))
        mass = np.array([draw.randrange(1 << 30) for _ in entities])
        by, times = walks.visits(entities, mass, prefers)
        compiled_by, compiled_times = walks.visits_compiled(entities, mass, prefers, memory)
        assert (by.tolist(), times.tolist()) == (compiled_by.tolist(), compiled_times.tolist())


@pytest.mark.slow
def test_a_walk_ends_where_a_step_would_look_at_too_many_relations() -> None:
    hub = [("a", "r", "hub"), *(("hub", "r", f"far{number}") for number in range(MOST_SLOTS))]
    graph = KnowledgeGraph.from_triples(hub)
    assert visits(graph, 1 << 20, guide(graph)) == {1: 1 << 19}
    pytest.importorskip("numba")
    walks = RandomWalk(graph.adjacency, SynonymEdges.of(graph))
    by, times = walks.visits_compiled(
        np.array([0]), np.array([1 << 20]), guide(graph), np.zeros((3, len(graph)), np.int64)
    )
    assert (by.tolist(), times.tolist()) == ([1], [1 << 19])
