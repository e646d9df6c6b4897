"""The cheapest paths: compiled or not, all limits in one walk, and what a cost is made of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.retrieval.test_bfs import FILMS, ask, cases, graph_of, retriever
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.bfs import BfsRetriever, mentions_of, prices
from tiny_graph_rag.retrieval.explain import trails_of
from tiny_graph_rag.retrieval.paths import TIE_BITS, CheapestPaths, Most, RankedPaths
from tiny_graph_rag.retrieval.walk import Layers

MOST = Most(100, 100)


def paths_of(made: BfsRetriever, *, fast: bool = False) -> CheapestPaths:
    paths = CheapestPaths(
        made.graph,
        made.slots,
        made.filters,
        prices(made.ranking),
        explained=made.costs.explained(made.settings.hops),
        exclude_seeds=made.settings.exclude_seeds,
        may_compile=False,
    )
    if fast:
        from tiny_graph_rag.retrieval.compiled import CompiledLayers

        paths._layers = CompiledLayers(paths.graph)
    return paths


def rank(paths: CheapestPaths, asked: tuple[Any, ...], hops: int, *, times: int) -> list[RankedPaths]:
    return [paths.rank(*asked, [hops], more=more)[0] for more in range(times - 1, -1, -1)]


def made_from(case: Any) -> tuple[KnowledgeGraph, BfsRetriever, LinkedQuestion]:
    triples, text, seeds, flags = case
    names = sorted({end for triple in triples for end in (triple[0], triple[2])} | set(seeds))
    graph = graph_of(triples, names=names)
    return graph, retriever(graph, **flags), ask(text, graph, *seeds)


def columns(ranked: RankedPaths) -> list[Any]:
    arrays = ranked.entities, ranked.keys, ranked.hops, ranked.paths
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
            rank(paths_of(made, fast=fast), (asked, reading, MOST), hops, times=2) for fast in (False, True)
        )
        for one, other in zip(readable, compiled, strict=True):
            assert columns(one) == columns(other)


@given(case=cases())
@settings(max_examples=150, deadline=None)
def test_one_walk_gives_the_ranking_of_every_hop_limit(case: Any) -> None:
    _, made, question = made_from(case)
    asked = mentions_of(question.seeds), made.reader.read(question), MOST
    every = range(made.settings.hops + 1)
    together = paths_of(made).rank(*asked, every)
    for hops, ranked in zip(every, together, strict=True):
        (alone,) = paths_of(made).rank(*asked, [hops])
        assert columns(ranked) == columns(alone)


@given(case=cases(), depth=st.integers(1, 6))
@settings(max_examples=150, deadline=None)
def test_the_best_of_many_are_the_best_of_all(case: Any, depth: int) -> None:
    """Paths that can't lead to one of the best `depth` are not followed."""
    graph, made, question = made_from(case)
    asked = mentions_of(question.seeds), made.reader.read(question)
    (best,), (every,) = (
        paths_of(made).rank(*asked, Most(most, most), [made.settings.hops]) for most in (depth, len(graph))
    )
    for column in ("entities", "keys", "hops", "paths"):
        assert getattr(best, column).tolist() == getattr(every, column)[:depth].tolist()


@pytest.mark.slow
@given(case=cases())
@settings(max_examples=300, deadline=None)
def test_the_parts_of_a_trail_add_up_to_the_cost(case: Any) -> None:
    """Of each ranked entity, over all mentions; the path shown is the trail's first, from a seed to the
    entity."""
    graph, made, question = made_from(case)
    reading, mentions = made.reader.read(question), mentions_of(question.seeds)
    paths = paths_of(made)
    asked = mentions, reading, MOST
    (ranked,) = paths.rank(*asked, [made.settings.hops])
    trails = trails_of(paths, *asked, made.settings.hops)
    assert list(trails) == ranked.entities.tolist()
    for row, (entity, trail) in enumerate(trails.items()):
        steps = sum(step.cost for path in trail.paths for step in path)
        at_the_end = trail.off_focus + trail.off_head + trail.left_out + sum(cost for _, cost in trail.left)
        assert steps + at_the_end == int(ranked.keys[row]) >> TIE_BITS
        assert all(price >= 0 for price in (trail.off_focus, trail.off_head, trail.left_out))
        shown = [step.relation for step in trail.paths[0]] if trail.paths else []
        assert shown == ranked.paths[row].tolist()[: len(shown)]
        for path in trail.paths:
            assert path[-1].entity == entity
            ends = [
                {int(graph.relations.sources[s.relation]), int(graph.relations.targets[s.relation])}
                for s in path
            ]
            assert all(step.entity in both for step, both in zip(path, ends, strict=True))
            assert ends[0] & {seed.entity for seed in question.seeds}
            filled = [step.filled for step in path]
            assert sum(filled) == sum(set(filled) - {0})  # no slot is filled twice


def test_machine_code_takes_over_where_the_walks_so_far_say_that_it_pays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    graph = graph_of(FILMS)
    made = retriever(graph)
    question = ask("who directed the films that Bannon wrote", graph, "Bannon")
    asked = mentions_of(question.seeds), made.reader.read(question), MOST
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
