"""From a run to grades by rank: duplicates, several bearers, contested entities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_graph_rag.gold.resolve import Judgments, Reference
from tiny_graph_rag.measures import Measure, judge
from tiny_graph_rag.run import Run

UNIVERSE = 10


def run_of(*rankings: Sequence[int]) -> Run:
    entities = np.array([entity for row in rankings for entity in row], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rankings)]).astype(np.int64)
    return Run(
        offsets, entities, -np.arange(len(entities), dtype=float), np.zeros(len(entities), dtype=np.int32)
    )


def judgments_of(*questions: Sequence[Sequence[int]], grades: Sequence[int] | None = None) -> Judgments:
    """Each reference is the list of entities that bear its name."""
    rows = [
        tuple(
            Reference(f"r{item}", grades[item] if grades else 1, tuple(bearers), "name", item)
            for item, bearers in enumerate(question)
        )
        for question in questions
    ]
    return Judgments.of(rows, UNIVERSE)


def values(ranking: Sequence[int], references: Sequence[Sequence[int]], *measures: str) -> list[float]:
    judged = judge(run_of(ranking), judgments_of(references))
    return [float(Measure.parse(measure).compute(judged)[0]) for measure in measures]


def test_the_first_bearer_counts_and_later_ones_are_dropped_like_duplicates() -> None:
    # "Kim" is 1 or 2; ranking 1, 2, 5 with reference 5: 2 is dropped, so 5 stands at rank 2.
    assert values([1, 2, 5], [[1, 2], [5]], "recall@2", "precision@3") == [1.0, 2 / 3]


def test_one_entity_fills_one_reference() -> None:
    # 1 could be either name, 2 only the first: both are filled whichever comes first.
    for ranking in ([1, 2], [2, 1]):
        assert values(ranking, [[1, 2], [1]], "recall@2") == [1.0]
    # but one entity alone fills one of the two.
    assert values([1], [[1, 2], [1]], "recall@1") == [0.5]


def test_no_retrieval_scores_zero_and_no_gold_is_undefined() -> None:
    assert values([], [[1]], "recall@5", "mrr", "ndcg@5", "precision@5") == [0, 0, 0, 0]
    assert all(np.isnan(values([1], [], "recall@5", "mrr", "ndcg@5", "precision@5")))


def test_graded_ndcg_by_hand() -> None:
    # grades 1, 2; ranking: grade 1 first, nothing, grade 2. DCG = 1/1 + 2/log2(4) = 2; ideal = 2 + 1/log2(3).
    judged = judge(run_of([1, 7, 2]), judgments_of([[1], [2]], grades=[1, 2]))
    assert Measure("ndcg", 3).compute(judged)[0] == 2 / (2 + 1 / np.log2(3))


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), unique=True, min_size=1, max_size=3), min_size=1, max_size=5),
    st.permutations(range(10)),
)
def test_recall_is_the_size_of_a_largest_matching(references: list[list[int]], ranking: list[int]) -> None:
    import networkx

    distinct = [list(item) for item in dict.fromkeys(map(tuple, map(sorted, references)))]
    judged = judge(run_of(ranking), judgments_of(distinct))
    for depth in range(1, 11):
        graph = networkx.Graph()
        top = [("entity", entity) for entity in ranking[:depth]]
        graph.add_nodes_from(top)
        graph.add_edges_from(
            (("entity", entity), ("reference", row))
            for row, bearers in enumerate(distinct)
            for entity in bearers
            if entity in ranking[:depth]
        )
        largest = len(networkx.bipartite.maximum_matching(graph, top)) // 2
        within = judge(run_of(ranking[:depth]), judgments_of(distinct))
        assert int((within.grades > 0).sum()) == largest
    assert int(judged.retrieved[0]) <= 10


def test_a_chain_of_entities_that_make_room_may_be_longer_than_the_stack() -> None:
    # Entity n bears names n - 1 and n. All but the first and the last take one; the first pushes them on.
    size = 1500
    names = tuple(Reference(f"r{n}", 1, (n, n + 1), "name", n) for n in range(size))
    judged = judge(run_of([*range(1, size), 0]), Judgments.of([names], size + 1))
    assert Measure("recall", size).compute(judged).tolist() == [1.0]
