"""The cheapest paths: compiled or not, in any order of the file, all limits in one walk; what a rank is made
of adds up to its score."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from typer.testing import Result

from tests.conftest import write_kg
from tests.retrieval.test_bfs import FILMS, ask, cases, graph_of, made_from, retriever, rows
from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import TEXT
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.retrieval.bfs import BfsRetriever
from tiny_graph_rag.retrieval.candidates import walked_columns
from tiny_graph_rag.retrieval.cost import UNIT
from tiny_graph_rag.retrieval.paths import CheapestPaths, Reached, Read
from tiny_graph_rag.retrieval.walk import Layers, Prices


def paths_of(made: BfsRetriever, *, fast: bool = False, wanted: int = 100) -> CheapestPaths:
    paths = CheapestPaths(
        made.graph,
        walked_columns(made.graph, made.filters),
        Prices.of(made.ranking, typed=made.weights.typed),
        wanted=wanted,
        exclude_seeds=made.settings.exclude_seeds,
        may_compile=False,
    )
    if fast:
        from tiny_graph_rag.retrieval.compiled import CompiledLayers

        paths._layers = CompiledLayers(paths.graph, paths.prices, wanted)
    return paths


def rank(paths: CheapestPaths, asked: Read, hops: int, *, times: int) -> list[Reached]:
    return [paths.rank(asked, [hops], more=more)[0] for more in range(times - 1, -1, -1)]


def columns(ranked: Reached) -> list[Any]:
    arrays = ranked.entities, ranked.parts, ranked.hops, ranked.paths
    return [array.tolist() for array in arrays]


@pytest.mark.slow
@given(case=cases())
@settings(max_examples=500, deadline=None)
def test_compiled_and_readable_rank_alike_to_the_last_bit(case: Any) -> None:
    pytest.importorskip("numba")
    _, made, question = made_from(case)
    reading, hops = made.reader.read(question), made.settings.hops
    for named in range(len(question.seeds) + 1):  # the other seeds, and the last of these, are found by text
        by_text = [replace(seed, rule=TEXT) for seed in question.seeds[max(0, named - 1) :]]
        asked = replace(question, seeds=(*question.seeds[:named], *by_text)), reading
        readable, compiled = (rank(paths_of(made, fast=fast), asked, hops, times=2) for fast in (False, True))
        with patch("tiny_graph_rag.retrieval.compiled.WIDEST", 0):  # as of millions of entities far away
            wide = rank(paths_of(made, fast=True), asked, hops, times=2)
        for one, other, third in zip(readable, compiled, wide, strict=True):
            assert columns(one) == columns(other) == columns(third)


def test_of_paths_that_cost_as_much_compiled_and_readable_show_the_same() -> None:
    """M is reached with one word explained or the other; past N, both words are."""
    pytest.importorskip("numba")
    triples = [("X", "related", "M", 1.0, word) for word in ("stone", "river")]
    graph = graph_of([*triples, ("M", "related", "N", 1.0, "river stone"), ("N", "related", "T")])
    made, question = retriever(graph), ask("river stone X", graph, "X")
    asked = question, made.reader.read(question)
    readable, compiled = (rank(paths_of(made, fast=fast), asked, 3, times=1) for fast in (False, True))
    assert columns(readable[0]) == columns(compiled[0])
    assert columns(readable[0])[-1][-1] == [1, 2, 3]


@given(case=cases())
@settings(max_examples=150, deadline=None)
def test_one_walk_gives_the_ranking_of_every_hop_limit(case: Any) -> None:
    _, made, question = made_from(case)
    asked = question, made.reader.read(question)
    every = range(made.settings.hops + 1)
    together = paths_of(made).rank(asked, every)
    for hops, ranked in zip(every, together, strict=True):
        (alone,) = paths_of(made).rank(asked, [hops])
        assert columns(ranked) == columns(alone)


@given(case=cases(), depth=st.integers(1, 6))
@settings(max_examples=150, deadline=None)
def test_the_best_of_many_are_the_best_of_all(case: Any, depth: int) -> None:
    """Paths that can't lead to one of the best `depth` are not followed."""
    graph, made, question = made_from(case)
    (best,), (every,) = (
        paths_of(made, wanted=most).rank((question, made.reader.read(question)), [made.settings.hops])
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
    asked = question, made.reader.read(question)
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


def test_the_parts_of_a_rank_in_words() -> None:
    """Alien —directed_by→ Scott .1 explains directed; back to Blade Runner .1 + .1 explains the way back."""
    graph = graph_of(FILMS)
    made = retriever(graph)
    question = ask("the director of Alien also directed which films", graph, "Alien")
    parts = made.reasons(question, made.retrieve([question]), 0)
    assert [(part.what, part.price) for part in parts] == [
        ("—directed_by→ Scott", 0.1),
        ("←directed_by— Blade Runner", 0.2),
    ]
    assert parts[0].words == ("director", "directed")


@pytest.mark.slow
@given(case=cases())
@settings(max_examples=200, deadline=None)
def test_what_a_path_explains_and_leaves_adds_up_to_its_part_of_the_cost(case: Any) -> None:
    for seeds in (case[2][:1], case[2]):
        _, made, question = made_from((*case[:2], seeds, case[3]))
        run = made.retrieve([question])
        assert run.parts is not None
        for row, score in enumerate(run.scores.tolist()):
            explained = sum(part.price for part in made.reasons(question, run, row))
            assert explained == pytest.approx(run.parts[row, 1] / UNIT, abs=1e-9)
            assert score == pytest.approx(1 / (1 + run.parts[row].sum() / UNIT), abs=2e-6)


def query(run_cli: Callable[..., Result], folder: Path, *more: str, code: int = 0) -> Result:
    names, relations = ["Alien", "Scott", "Bannon"], [("Alien", "directed_by", "Scott")]
    path = write_kg(folder / "a-KG.json", names, [*relations, ("Alien", "written_by", "Bannon")])
    return run_cli("query", "Who made Alien?", "-g", path, *more, code=code)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("relations=directed", "relations: no relation type 'directed'; did you mean 'directed_by'?"),
        ("not_relations=zzz", "The graph has: directed_by"),
        ("types=PERSN", "retrieval.types: no entity type 'PERSN'"),
        ("direction=up", "retrieval.direction must be both, out or in, got 'up'"),
        ("min_weight=-1", "retrieval.min_weight must be 0"),
        ("vocabulary=words.yaml", "words.yaml: no such vocabulary"),
    ],
)
def test_a_filter_that_the_graph_does_not_know_is_said(
    run_cli: Callable[..., Result], tmp_path: Path, setting: str, message: str
) -> None:
    assert message in query(run_cli, tmp_path, "--set", f"retrieval.{setting}", code=2).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("direct_by: [made]", "no relation or entity type 'direct_by'; did you mean 'directed_by'?"),
        ("directed_by: {made: 1}", "'directed_by' must be a list of words, got an object"),
        ("directed_by: [[made]]", "must be a list of words, got a list"),
        ("- made", "wanted lines such as 'written_by: [wrote]', got a list"),
        ("directed_by: [made", "not YAML"),
    ],
)
def test_a_vocabulary_that_does_not_fit_the_graph_is_said(
    run_cli: Callable[..., Result], tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "a-vocabulary.yaml").write_text(text, encoding="utf-8")
    assert message in query(run_cli, tmp_path, code=2).stderr
    query(run_cli, tmp_path, "--set", "retrieval.vocabulary=none")


def test_the_vocabulary_beside_the_graph_is_read_and_explained(
    run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "a-vocabulary.yaml").write_text("directed_by: [made]\n", encoding="utf-8")
    shown = query(run_cli, tmp_path, "--exclude-seeds", "--explain").stdout
    assert shown.index("Scott") < shown.index("Bannon")
    assert "made" in shown
    assert "—directed_by→ Scott" in shown
