"""Verdicts are what a plain recomputation with networkx says, one a reference, and they add up."""

from __future__ import annotations

from itertools import pairwise

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.study.small import graph_of, judgments_of, linked, worlds
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.measures import Measure, judge
from tiny_graph_rag.retrieval import Task
from tiny_graph_rag.retrieval.baselines import PlainBfsRetriever
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.verdicts import diagnose
from tiny_graph_rag.study.waterfall import Diagnosis, Limits, Verdict


def diagnosed(
    graph: KnowledgeGraph, seeds: list[list[int]], judgments: Judgments, hops: int, depth: int, k: int
) -> tuple[Diagnosis, Run]:
    questions = linked(*seeds)
    run = PlainBfsRetriever(Task(graph, Config().override(hops=hops, depth=depth))).retrieve(questions)
    found = diagnose(graph, questions, run, judgments, judge(run, judgments), Limits(True, hops), k)
    return found, run


def plain_verdict(
    walkable: networkx.Graph, seeds: list[int], bearers: list[int], ranking: list[int], hops: int, k: int
) -> tuple[str, int | None, int | None]:
    """(verdict, rank, hop) the slow way, for a reference that shares no bearer with another."""
    if not bearers:
        return "not_in_graph", None, None
    ranks = [ranking.index(entity) + 1 for entity in bearers if entity in ranking]
    away = {
        entity: min(networkx.shortest_path_length(walkable, seed, entity) for seed in near)
        for entity in bearers
        if (near := [seed for seed in seeds if networkx.has_path(walkable, seed, entity)])
    }
    if ranks:
        return ("hit" if min(ranks) <= k else "ranked_below_k"), min(ranks), away[ranking[min(ranks) - 1]]
    if not seeds:
        return "no_seed", None, None
    if not away:
        return "unreachable", None, None
    if min(away.values()) > hops:
        return "beyond_hops", None, min(away.values())
    return "below_depth", None, min(away.values())


def without_later_bearers(ranking: list[int], references: list[list[int]]) -> list[int]:
    """Ranks count after a second bearer of a name was dropped."""
    kept: list[int] = []
    for entity in ranking:
        if not any(entity in bearers and set(bearers) & set(kept) for bearers in references):
            kept.append(entity)
    return kept


def is_contested(references: list[list[int]]) -> bool:
    different = {tuple(sorted(reference)) for reference in references if reference}
    return sum(map(len, different)) > len({entity for difference in different for entity in difference})


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(world=worlds(), hops=st.integers(0, 3), depth=st.integers(1, 8), k=st.integers(1, 4))
def test_verdicts_agree_with_a_plain_networkx_recomputation(world, hops, depth, k) -> None:
    entities, edges, seeds, references = world
    graph = graph_of(entities, edges)
    judgments = judgments_of(entities, *references)
    found, run = diagnosed(graph, seeds, judgments, hops, depth, k)
    walkable = networkx.Graph(edges)
    walkable.add_nodes_from(range(entities))
    for question, rows in enumerate(references):
        if is_contested(rows):
            continue
        ranking = without_later_bearers(run.entities[run.rows(question)].tolist(), rows)
        for reference, bearers in zip(judgments.references[question], rows, strict=True):
            item = int(judgments.item_offsets[question]) + reference.item
            expected = plain_verdict(walkable, seeds[question], bearers, ranking, hops, k)
            rank, hop = int(found.ranks[item]), int(found.hops[item])
            assert (str(Verdict(found.verdicts[item])), rank or None, hop if hop >= 0 else None) == expected


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(world=worlds(), hops=st.integers(0, 3), depth=st.integers(1, 8), k=st.integers(1, 4))
def test_the_steps_are_maximum_matchings_and_add_up_to_what_recall_misses(world, hops, depth, k) -> None:
    entities, edges, seeds, references = world
    graph = graph_of(entities, edges)
    judgments = judgments_of(entities, *references)
    found, run = diagnosed(graph, seeds, judgments, hops, depth, k)
    recall = Measure("recall", k).compute(judge(run, judgments))
    walkable = networkx.Graph(edges)
    walkable.add_nodes_from(range(entities))
    for question, rows in enumerate(references):
        steps = found.waterfalls({"": np.array([question])})[""]
        if not rows:
            assert all(np.isnan(step.loss) for step in steps)
            continue
        assert steps[0].recall + steps[0].loss == pytest.approx(1)
        assert all(
            before.recall - after.loss == pytest.approx(after.recall) for before, after in pairwise(steps)
        )
        assert sum(step.loss for step in steps) == pytest.approx(1 - recall[question])
        assert all(step.loss >= 0 for step in steps)
        linked_to = set(seeds[question])
        distance = networkx.multi_source_dijkstra_path_length(walkable, linked_to) if linked_to else {}
        items = sorted({tuple(sorted(row)) for row in rows if row})
        total = len(items) + sum(not row for row in rows)
        reached = {
            "in graph": set(range(entities)),
            "recognised by name": set(range(entities)) if seeds[question] else set(),
            "reachable": set(distance),
            "within --hops of a named entity": {key for key, hop in distance.items() if hop <= hops},
            "within depth": set(run.entities[run.rows(question)].tolist()),
        }
        by_name = {step.step: step.recall for step in steps}
        for step, inside in reached.items():
            assert by_name[step] * total == pytest.approx(most_filled(items, inside))


def most_filled(items: list[tuple[int, ...]], inside: set[int]) -> int:
    """How many references distinct entities of `inside` can fill."""
    pairs = networkx.Graph()
    pairs.add_nodes_from(("item", row) for row in range(len(items)))
    pairs.add_edges_from(
        (("item", row), ("entity", entity))
        for row, bearers in enumerate(items)
        for entity in bearers
        if entity in inside
    )
    top = {("item", row) for row in range(len(items))}
    return len(networkx.bipartite.maximum_matching(pairs, top_nodes=top)) // 2


CHAIN = [(0, 1), (1, 2), (2, 3), (4, 5)]  # 0 - 1 - 2 - 3 and, apart from it, 4 - 5


@pytest.mark.parametrize(
    ("seeds", "bearers", "limits", "verdict", "hop"),
    [
        ([0], [1], {}, "hit", 1),
        ([0], [], {}, "not_in_graph", -1),
        ([], [1], {}, "no_seed", -1),
        ([0], [4], {}, "unreachable", -1),
        ([0], [3], {}, "beyond_hops", 3),
        ([0], [0], {"excludes_seeds": True}, "filtered", 0),
        ([0], [2], {"returnable": [True, True, False, True, True, True]}, "filtered", 2),
        ([0], [3, 4], {}, "beyond_hops", 3),  # the bearer that came further decides
    ],
)
def test_each_verdict_by_hand(seeds, bearers, limits, verdict, hop) -> None:
    graph, judgments = graph_of(6, CHAIN), judgments_of(6, [bearers])
    questions = linked(seeds)
    run = PlainBfsRetriever(Task(graph, Config().override(hops=2, depth=10))).retrieve(questions)
    kept_out = [0] if "excludes_seeds" in limits else [2] if "returnable" in limits else []
    keep = ~np.isin(run.entities, kept_out)
    run = Run(np.array([0, keep.sum()]), run.entities[keep], run.scores[keep], run.hops[keep])
    given = {name: np.array(limit) if isinstance(limit, list) else limit for name, limit in limits.items()}
    found = diagnose(graph, questions, run, judgments, judge(run, judgments), Limits(True, 2, **given), 5)
    assert (str(Verdict(found.verdicts[0])), int(found.hops[0])) == (verdict, hop)


def test_a_relation_that_is_filtered_out_is_no_way() -> None:
    # 0 - 1 - 2 with 1 - 2 forbidden, and the way round over 3, 4 longer than the hops.
    edges = [(0, 1), (1, 2), (0, 3), (3, 4), (4, 2)]
    graph, judgments = graph_of(5, edges), judgments_of(5, [[2]])
    passable = graph.adjacency.relations != 1
    empty = Run.concatenated([])
    run = Run(np.array([0, 0]), empty.entities, empty.scores, empty.hops)
    for hops, verdict, hop in ((2, "filtered", 3), (1, "beyond_hops", 3), (3, "below_depth", 3)):
        limits = Limits(True, hops, passable=passable)
        found = diagnose(graph, linked([0]), run, judgments, judge(run, judgments), limits, 5)
        assert (str(Verdict(found.verdicts[0])), int(found.hops[0])) == (verdict, hop)


def test_a_retriever_that_does_not_walk_has_no_steps_of_walking() -> None:
    graph, judgments = graph_of(6, CHAIN), judgments_of(6, [[4], [3], [], [0]])
    hops = np.array([-1, -1], np.int32)
    run = Run(np.array([0, 2]), np.array([4, 3], np.int32), np.array([2.0, 1.0]), hops)
    limits = Limits(False, None, depth=2)
    found = diagnose(graph, linked([]), run, judgments, judge(run, judgments), limits, 1)
    verdicts = ["hit", "ranked_below_k", "not_in_graph", "below_depth"]
    assert [str(Verdict(verdict)) for verdict in found.verdicts] == verdicts
    steps = found.waterfalls({"": np.array([0])})[""]
    # Of four, one is no entity, one not in the list; two in the list but k is 1.
    assert [(step.step, step.loss) for step in steps] == [
        ("in graph", 0.25),
        ("within depth", 0.25),
        ("room in --top-k", 0.25),
        ("recall@k", 0.0),
    ]


def test_two_references_that_need_one_entity_lose_one_of_them() -> None:
    # Both could be entity 1; only the second could also be 2, which lies beyond the hops.
    graph, judgments = graph_of(6, CHAIN), judgments_of(6, [[1], [1, 3]])
    found, _ = diagnosed(graph, [[0]], judgments, hops=1, depth=9, k=5)
    assert sorted(str(Verdict(verdict)) for verdict in found.verdicts) == ["beyond_hops", "hit"]
