"""What another order of equals could have given."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.study.small import judgments_of
from tiny_graph_rag.measures import judge, parse_measures, score
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.explanation import ties

MEASURES = parse_measures("precision@2,recall@2,mrr,ndcg@2")


def run_of(entities: list[int], scores: list[float], hops: list[int]) -> Run:
    offsets = np.array([0, len(entities)], dtype=np.int64)
    return Run(offsets, np.array(entities, np.int32), np.array(scores, float), np.array(hops, np.int32))


def test_by_hand() -> None:
    # Ranks 2 and 3 tie across the border of k = 2: the reference 7 is at rank 2 or at rank 3.
    found = ties(run_of([5, 7, 9], [3, 1, 1], [0, 1, 1]), judgments_of(10, [[7]]), MEASURES, 2)
    worst_and_best = {str(measure): (both.worst, both.best) for measure, both in found.measures.items()}
    assert (found.rate, found.questions) == (1.0, 1)
    assert worst_and_best["precision@2"] == (0, 0.5)
    assert worst_and_best["recall@2"] == (0, 1)
    assert worst_and_best["mrr"] == (1 / 3, 1 / 2)


def test_equal_scores_at_different_hops_are_no_tie() -> None:
    found = ties(run_of([5, 7, 9], [1, 1, 1], [0, 1, 2]), judgments_of(10, [[7]]), MEASURES, 2)
    assert found.rate == 0
    assert all(mean.worst == mean.best for mean in found.measures.values())


def test_a_list_that_ends_at_k_ties_with_nothing() -> None:
    assert ties(run_of([5, 7], [1, 1], [0, 0]), judgments_of(10, [[7]]), MEASURES, 2).rate == 0


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    scores=st.lists(st.integers(0, 1), min_size=1, max_size=5),
    references=st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=2), min_size=1, max_size=3),
)
def test_no_order_of_equals_lies_outside(scores, references) -> None:
    scores = sorted(scores, reverse=True)
    bearers: set[int] = set()
    apart = [
        reference for reference in references if not reference & bearers and not bearers.update(reference)
    ]
    judgments = judgments_of(7, [sorted(group) for group in apart])
    hops = [0] * len(scores)
    found = ties(run_of(list(range(len(scores))), scores, hops), judgments, MEASURES, 2)
    seen = {measure: [] for measure in MEASURES}
    for order in permutations(range(len(scores))):
        if [scores[verdict] for verdict in order] == scores:
            values = score(judge(run_of(list(order), scores, hops), judgments), MEASURES)
            for key, column in values.items():
                seen[key].append(column[0])
    for measure, mean in found.measures.items():
        assert (min(seen[measure]), max(seen[measure])) == (
            pytest.approx(mean.worst),
            pytest.approx(mean.best),
        )
