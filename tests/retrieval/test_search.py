"""The search: readable and compiled alike, its trails add up, and no setting of the work changes a
ranking."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.retrieval.test_bfs import FILMS, ask, cases, graph_of, retriever
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval import cheapest, search
from tiny_graph_rag.retrieval.bfs import BfsRetriever, mentions_of, prices
from tiny_graph_rag.retrieval.cheapest import CheapestWalks, RankedWalks
from tiny_graph_rag.retrieval.search_fast import TIE_BITS


def walks_of(
    made: BfsRetriever, *, fast: bool = False, may_compile: bool = False, **limits: int
) -> CheapestWalks:
    return CheapestWalks(
        made.graph,
        made.runs,
        made.filters,
        prices(made.ranking),
        hops=made.settings.hops,
        depth=made.settings.depth,
        exclude_seeds=made.settings.exclude_seeds,
        fast=fast,
        may_compile=may_compile,
        **limits,
    )


def made_from(case: Any) -> tuple[KnowledgeGraph, BfsRetriever, LinkedQuestion]:
    triples, text, seeds, flags = case
    names = sorted({end for triple in triples for end in (triple[0], triple[2])} | set(seeds))
    graph = graph_of(triples, names=names)
    return graph, retriever(graph, **flags), ask(text, graph, *seeds)


def columns(ranked: RankedWalks) -> list[Any]:
    arrays = ranked.entities, ranked.keys, ranked.hops, ranked.walks
    return [*(array.tolist() for array in arrays), ranked.cut]


@pytest.mark.slow
@given(
    case=cases(),
    steps=st.sampled_from([0, 0, 1, 5, 20]),
    states=st.sampled_from([0, 0, 3, 9, 30]),
)
@settings(max_examples=500, deadline=None)
def test_compiled_and_readable_rank_alike_to_the_last_bit(case: Any, steps: int, states: int) -> None:
    pytest.importorskip("numba")
    _, made, question = made_from(case)
    reading, mentions = made.reader.read(question), mentions_of(question.seeds)
    for asked in (mentions[:1], mentions):
        readable, compiled = (
            walks_of(made, fast=fast, most_steps=steps, most_states=states).rank([(asked, reading)] * 2)
            for fast in (False, True)
        )
        assert list(map(columns, readable)) == list(map(columns, compiled))
        assert columns(compiled[0]) == columns(compiled[1])


@given(case=cases(), patience=st.integers(1, 30), steps=st.sampled_from([0, 5, 20]))
@settings(max_examples=100, deadline=None)
def test_a_long_question_goes_on_by_machine_code_with_the_same_ranking(
    case: Any, patience: int, steps: int
) -> None:
    pytest.importorskip("numba")
    _, made, question = made_from(case)
    reading, mentions = made.reader.read(question), mentions_of(question.seeds)
    (readable,) = walks_of(made, most_steps=steps).rank([(mentions, reading)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cheapest, "PATIENCE", patience)
        (begun,) = walks_of(made, may_compile=True, most_steps=steps).rank([(mentions, reading)])
    assert columns(readable) == columns(begun)


@pytest.mark.slow
@given(case=cases())
@settings(max_examples=300, deadline=None)
def test_the_parts_of_a_trail_add_up_to_the_energy(case: Any) -> None:
    """Of each ranked entity, over all mentions; the walk shown is the trail's first, from a seed to the
    entity."""
    graph, made, question = made_from(case)
    reading, mentions = made.reader.read(question), mentions_of(question.seeds)
    walks = walks_of(made)
    (ranked,), trails = walks.rank([(mentions, reading)]), walks.trails((mentions, reading))
    assert list(trails) == ranked.entities.tolist()
    for row, (entity, trail) in enumerate(trails.items()):
        assert trail.energy == int(ranked.keys[row]) >> TIE_BITS
        assert all(price >= 0 for price in (trail.off_focus, trail.off_head, trail.left_out))
        shown = [step.relation for step in trail.walks[0]] if trail.walks else []
        assert shown == ranked.walks[row].tolist()[: len(shown)]
        for walk in trail.walks:
            assert walk[-1].entity == entity
            ends = [
                {int(graph.relations.sources[s.relation]), int(graph.relations.targets[s.relation])}
                for s in walk
            ]
            assert all(step.entity in both for step, both in zip(walk, ends, strict=True))
            assert ends[0] & {seed.entity for seed in question.seeds}
            filled = [step.filled for step in walk]
            assert sum(filled) == sum(set(filled) - {0})  # no slot is filled twice


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_how_often_settled_answers_are_counted_changes_nothing(depth: int, monkeypatch: Any) -> None:
    """What a walk may still explain counts for it: nearer things that suffice must not hide better ones."""
    triples = [*FILMS, ("Dark Star", "release_year", "1974"), ("Bannon", "release_year", "1946")]
    graph = graph_of(triples)
    made = retriever(graph, depth=depth)
    question = ask("when did the films release whose writers also wrote Alien", graph, "Alien")
    reading, rankings = made.reader.read(question), []
    for look_again in (1, 7, 100, 10**6):
        monkeypatch.setattr(search, "LOOK_AGAIN", look_again)
        rankings += map(columns, walks_of(made).rank([(mentions_of(question.seeds), reading)]))
    assert graph.entities.names[rankings[0][0][0]] == "1974"
    assert all(ranking == rankings[0] for ranking in rankings)


def test_room_for_states_grows_until_everything_fits(monkeypatch: Any) -> None:
    """A clique of 40 with room for 20 states at first."""
    pytest.importorskip("numba")
    names = [f"N{place}" for place in range(40)]
    graph = graph_of([(one, "likes", other) for one in names for other in names if one < other])
    made = retriever(graph, hops=2)
    walks = walks_of(made, fast=True)
    monkeypatch.setattr(cheapest, "FIRST_STATES", 20)
    question = ask("who also likes N0", graph, "N0")
    asked = [(mentions_of(question.seeds), made.reader.read(question))] * 2
    (one, again), (readable, _) = walks.rank(asked), walks_of(made).rank(asked)
    assert columns(one) == columns(again) == columns(readable)
    assert len(walks._memory.states) > 20
