"""A hub, many hops and little room: walks end in bounded work, say where, and rank as fewer hops do."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.retrieval.test_bfs import ask, graph_of
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.measures import default_measures
from tiny_graph_rag.report.json.results import document_parts
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.run import Cut, Run
from tiny_graph_rag.study.evaluate import evaluate

SPOKES = 300
SLOTS = 4200


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


def found(graph: KnowledgeGraph, retriever: str, text: str = "who likes Hub", **settings: Any) -> Run:
    if settings.get("compiled", True):
        pytest.importorskip("numba")  # once it is in, everything is compiled
    config = Config().override(retriever=retriever, **{"depth": 2000, **settings})
    return make_retriever(graph, config).retrieve([ask(text, graph, "Hub")])


def named(graph: KnowledgeGraph, run: Run) -> list[tuple[str, float, int]]:
    names = [graph.entities.names[entity] for entity in run.entities.tolist()]
    return list(zip(names, run.scores.tolist(), run.hops.tolist(), strict=True))


# Relations looked at within 1, 2, 3 hops of the hub: 300; 300 + 300 × 3 = 1,200; 1,200 + 600 × 3 = 3,000.
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("retriever", ["bfs-plain", "hybrid:bfs-plain+bm25"])
def test_a_search_ends_before_the_hop_that_would_look_at_too_many_relations(compiled, retriever):
    graph = wheel()
    for most, walked in ((299, 0), (300, 1), (1199, 1), (1200, 2), (2999, 2)):
        run = found(graph, retriever, hops=6, max_steps=most, compiled=compiled)
        assert run.cuts == {0: Cut(walked, "max_steps", most)}
        assert named(graph, run) == named(
            graph, found(graph, retriever, hops=walked, max_steps=0, compiled=compiled)
        )
    assert not found(graph, retriever, hops=6, max_steps=SLOTS, compiled=compiled).cuts


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [True, False])
def test_the_cheapest_walks_are_those_of_as_many_hops_as_stay_within_the_limit(compiled):
    """ "likes" explains the first steps, so that walks do go on; whatever the limit, a cut question is ranked
    as one of fewer hops, in any order of the file, and no walk is longer."""
    graph, shuffled = wheel(), wheel(seed=1)
    text = "who likes what likes Hub"
    walked = set()
    for most, depth in (
        (1, 50), (10, 50), (100, 50), (400, 700), (600, 700), (1000, 1000), (3000, 700), (10**9, 50),
    ):  # fmt: skip
        whole = {"depth": depth, "compiled": compiled}
        run = found(graph, "bfs", text, hops=6, max_steps=most, **whole)
        cut = run.cuts.get(0)
        walked.add(6 if cut is None else cut.hops)
        if cut is None:
            continue
        assert (cut.limit, cut.most) == ("max_steps", most)
        assert named(graph, run) == named(graph, found(graph, "bfs", text, hops=cut.hops, **whole))
        assert run.walks is not None
        assert run.walks.shape[1] == 6
        assert (run.walks[:, cut.hops :] == -1).all()
        other = found(shuffled, "bfs", text, hops=6, max_steps=most, **whole)
        assert other.cuts == run.cuts
        assert named(shuffled, other) == named(graph, run)
    assert len(walked) >= 3
    assert max(walked) == 6


@pytest.mark.slow
def test_compiled_and_interpreted_cut_alike_and_no_question_changes_another_ones_limit():
    pytest.importorskip("numba")
    graph = wheel()
    texts = ["who likes what likes Hub", "who owns what likes Hub", "who likes Hub", "Hub"]
    for most in (10, 100, 300, 1000, 3000):
        alone = [found(graph, "bfs", text, hops=4, max_steps=most) for text in texts]
        for order in (texts, texts[::-1]):
            for compiled in (True, False):
                config = Config().override(hops=4, depth=2000, max_steps=most, compiled=compiled)
                run = make_retriever(graph, config).retrieve([ask(text, graph, "Hub") for text in order])
                for row, text in enumerate(order):
                    other = alone[texts.index(text)]
                    assert run.cuts.get(row) == other.cuts.get(0)
                    assert run.entities[run.rows(row)].tolist() == other.entities.tolist()
                    assert run.scores[run.rows(row)].tolist() == other.scores.tolist()


def test_results_say_what_was_cut_and_a_reference_beyond_it_is_beyond_the_hops():
    graph = wheel()
    examples = EvalSet(
        (
            Example("far", "who likes Hub", ("T7-1-0",), seed_entities=("Hub",)),
            Example("near", "who likes Hub", ("S7",), seed_entities=("Hub",)),
        )
    )
    config = Config().override(retriever="bfs-plain", hops=6, depth=2000, max_steps=1200, linker="gold")
    import json

    whole = json.loads(b"".join(document_parts(evaluate(graph, examples, config, default_measures(5)))))
    said = {"most": 1200, "questions": 2, "hops": {"2": 2}}
    assert whole["summary"]["walks_cut"] == {"questions": 2, "limits": {"max_steps": said}}
    assert [result["walks_cut"]["hops"] for result in whole["results"]] == [2, 2]
    assert next(result["references"][0]["verdict"] for result in whole["results"]) == "beyond_hops"
    config = config.override(max_steps=0)
    whole = json.loads(b"".join(document_parts(evaluate(graph, examples, config, default_measures(5)))))
    assert "walks_cut" not in whole["summary"]
    assert "walks_cut" not in whole["results"][0]


@pytest.mark.parametrize("compiled", [True, False])
def test_nearest_first_looks_no_farther_than_its_depth_needs(compiled):
    """300 entities lie one hop from the hub: of 100 that are wanted none is farther, so nothing is cut."""
    graph = wheel()
    whole = {"compiled": compiled, "max_steps": 0}
    for hops in (1, 2, 6):
        run = found(graph, "bfs-plain", hops=hops, depth=100, compiled=compiled, max_steps=300)
        assert not run.cuts
        assert (
            named(graph, run) == named(graph, found(graph, "bfs-plain", hops=hops, depth=2000, **whole))[:100]
        )
    cut = found(graph, "bfs-plain", hops=2, depth=302, compiled=compiled, max_steps=300)
    assert cut.cuts == {0: Cut(1, "max_steps", 300)}
