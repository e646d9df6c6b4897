"""Random walks: whole numbers by hand, synonym edges, and where they stop."""

from __future__ import annotations

import numpy as np
import pytest

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.pagerank import MOST_SLOTS, Guide, RandomWalk, SynonymEdges


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
    entities, bits = walk.bits(np.array([0]), np.array([1.0]), guide(graph))
    of = dict(zip(entities.tolist(), bits.tolist(), strict=True))
    assert of[0] == of[1] > of[2] > of[3] > 0


def test_names_that_are_nearly_one_are_joined() -> None:
    graph = KnowledgeGraph.from_triples(
        [("Tulsa", "in", "Oklahoma"), ("Tulsa, Oklahoma", "has", "Center of the Universe")]
    )
    joined = visits(graph, 1 << 20, guide(graph))
    far = list(graph.entities.names).index("Center of the Universe")
    assert joined[far] > 0  # no relation leads there from Tulsa


@pytest.mark.slow
def test_a_walk_ends_where_a_step_would_look_at_too_many_relations() -> None:
    hub = [("a", "r", "hub"), *(("hub", "r", f"far{number}") for number in range(MOST_SLOTS))]
    graph = KnowledgeGraph.from_triples(hub)
    assert visits(graph, 1 << 20, guide(graph)) == {1: 1 << 19}
