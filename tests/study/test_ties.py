"""How often the order of names decides what is among the first k."""

from __future__ import annotations

import numpy as np
import pytest

from tests.study.small import judgments_of
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.explanation import ties


@pytest.mark.parametrize(
    ("scores", "hops", "rate"),
    [
        ([3, 1, 1], [0, 1, 1], 1.0),  # ranks 2 and 3 tie across the border of k = 2
        ([1, 1, 1], [0, 1, 2], 0.0),  # equal scores at different hops are no tie
        ([1, 1, 0], [0, 0, 0], 0.0),  # ranks 1 and 2 tie, within the first k
        ([1, 1], [0, 0], 0.0),  # a list that ends at k ties with nothing
    ],
)
def test_a_tie_is_at_the_border_of_the_first_k(scores: list[float], hops: list[int], rate: float) -> None:
    entities = np.array([5, 7, 9][: len(scores)], np.int32)
    run = Run(np.array([0, len(scores)]), entities, np.array(scores, float), np.array(hops, np.int32))
    found = ties(run, judgments_of(10, [[7]]), 2)
    assert (found.k, found.rate, found.questions) == (2, rate, int(rate))
