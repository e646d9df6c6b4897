"""Values of measures a second time: by plain loops, and question by question by the other programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.tools.independent_values import Tally, as_files, figures, in_memory


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compare", "seeds", "least"),
    [
        (partial(in_memory, questions=100), 20, 30_000),
        (partial(as_files, questions=120), 12, 100_000),  # `trec_eval -c`, and scores that tie
        (figures, 60, 700),
    ],
    ids=["in memory", "as files", "figures"],
)
def test_no_value_differs(compare: Callable[..., None], seeds: int, least: int) -> None:
    tally = Tally()
    for seed in range(seeds):
        compare(seed, tally=tally)
    assert tally.wrong == []
    assert tally.compared.total() > least
