"""The cheapest paths: compiled or not, in any order of the file, all limits in one walk."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.retrieval.test_bfs import FILMS, ask, cases, graph_of, made_from, retriever, rows
from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.retrieval.bfs import BfsRetriever
from tiny_graph_rag.retrieval.candidates import walked_columns
from tiny_graph_rag.retrieval.paths import CheapestPaths, Reached, ToRank
from tiny_graph_rag.retrieval.query import mentions_of
from tiny_graph_rag.retrieval.walk import Layers

MOST = (100, 100)


def paths_of(made: BfsRetriever, *, fast: bool = False) -> CheapestPaths:
    paths = CheapestPaths(
        made.graph,
        walked_columns(made.graph, made.filters),
        made.costs,
        hops=made.settings.hops,
        exclude_seeds=made.settings.exclude_seeds,
        may_compile=False,
    )
    if fast:
        from tiny_graph_rag.retrieval.compiled import CompiledLayers

        paths._layers = CompiledLayers(paths.graph, paths.prices, paths._layers.explained)
    return paths


def rank(paths: CheapestPaths, asked: tuple[Any, ...], hops: int, *, times: int) -> list[Reached]:
    given = [ToRank(*asked)]
    return [paths.rank(given, [hops], more=more)[0] for more in range(times - 1, -1, -1)]


def columns(ranked: Reached) -> list[Any]:
    arrays = ranked.entities, ranked.parts, ranked.hops, ranked.paths
    return [array.tolist() for array in arrays]


@pytest.mark.slow
@given(case=cases())
@settings(max_examples=500, deadline=None)
def test_compiled_and_readable_rank_alike_to_the_last_bit(case: Any) -> None:
    pytest.importorskip("numba")
    _, made, question = made_from(case)
    reading, mentions, hops = made.reader.read(question), mentions_of(question.seeds), made.settings.hops
    for asked in (mentions[:1], mentions):
        readable, compiled = (
            rank(paths_of(made, fast=fast), (asked, reading, *MOST), hops, times=2) for fast in (False, True)
        )
        for one, other in zip(readable, compiled, strict=True):
            assert columns(one) == columns(other)


def test_of_paths_that_cost_as_much_compiled_and_readable_show_the_same() -> None:
    """M is reached with one word explained or the other; past N, both words are."""
    pytest.importorskip("numba")
    triples = [("X", "related", "M", 1.0, word) for word in ("stone", "river")]
    graph = graph_of([*triples, ("M", "related", "N", 1.0, "river stone"), ("N", "related", "T")])
    made, question = retriever(graph), ask("river stone X", graph, "X")
    asked = mentions_of(question.seeds), made.reader.read(question), *MOST
    readable, compiled = (rank(paths_of(made, fast=fast), asked, 3, times=1) for fast in (False, True))
    assert columns(readable[0]) == columns(compiled[0])
    assert columns(readable[0])[-1][-1] == [1, 2, 3]


@given(case=cases())
@settings(max_examples=150, deadline=None)
def test_one_walk_gives_the_ranking_of_every_hop_limit(case: Any) -> None:
    _, made, question = made_from(case)
    asked = mentions_of(question.seeds), made.reader.read(question), *MOST
    every = range(made.settings.hops + 1)
    together = paths_of(made).rank([ToRank(*asked)], every)
    for hops, ranked in zip(every, together, strict=True):
        (alone,) = paths_of(made).rank([ToRank(*asked)], [hops])
        assert columns(ranked) == columns(alone)


@given(case=cases(), depth=st.integers(1, 6))
@settings(max_examples=150, deadline=None)
def test_the_best_of_many_are_the_best_of_all(case: Any, depth: int) -> None:
    """Paths that can't lead to one of the best `depth` are not followed."""
    graph, made, question = made_from(case)
    asked = mentions_of(question.seeds), made.reader.read(question)
    (best,), (every,) = (
        paths_of(made).rank([ToRank(*asked, most, most)], [made.settings.hops])
        for most in (depth, len(graph))
    )
    for column in ("entities", "parts", "hops", "paths"):
        assert getattr(best, column).tolist() == getattr(every, column)[:depth].tolist()


def test_machine_code_takes_over_where_the_walks_so_far_say_that_it_pays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    graph = graph_of(FILMS)
    made = retriever(graph)
    question = ask("who directed the films that Bannon wrote", graph, "Bannon")
    asked = mentions_of(question.seeds), made.reader.read(question), *MOST
    worth: list[int] = []
    monkeypatch.setattr(
        "tiny_graph_rag.retrieval.paths.worth_compiling",
        lambda steps, *, allowed: worth.append(steps) or len(worth) == 3,
    )
    paths = paths_of(made)
    rankings = [columns(one) for one in rank(paths, asked, made.settings.hops, times=5)]
    assert not isinstance(paths._layers, Layers)
    assert worth == sorted(worth, reverse=True)  # ever fewer questions are left
    assert len(worth) == 3
    assert all(ranking == rankings[0] for ranking in rankings)


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
