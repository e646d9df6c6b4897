"""Every pair of systems: the same figures as pair by pair, corrected together, and what follows from them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tiny_graph_rag.measures.paired import holm
from tiny_graph_rag.study.compare import compare
from tiny_graph_rag.study.pairs import pairs
from tiny_graph_rag.study.results_file import System


def system(name: str, **columns: list[float]) -> System:
    n = len(next(iter(columns.values())))
    ids = tuple(f"q{row}" for row in range(n))
    return System(
        name=name,
        path=Path(f"{name}.json"),
        dataset_name="gold",
        dataset_sha256="0",
        graph_sha256="",
        selection=None,
        k=5,
        ids=ids,
        queries=ids,
        tags=((),) * n,
        columns={measure: np.array(values) for measure, values in columns.items()},
        verdicts=({},) * n,
        groups=(None,) * n,
    )


def drawn(seed: int, mean: float, n: int = 80) -> list[float]:
    return np.clip(np.random.default_rng(seed).normal(mean, 0.15, n), 0, 1).tolist()


@pytest.fixture
def three() -> list[System]:
    return [
        system("low", mrr=drawn(1, 0.3), latency=drawn(4, 0.5)),
        system("middle", mrr=drawn(2, 0.5), latency=drawn(5, 0.2)),
        system("high", mrr=drawn(3, 0.54), latency=drawn(6, 0.21)),
    ]


def test_each_pair_has_the_difference_that_comparing_the_two_alone_gives(three: list[System]) -> None:
    found = pairs(three, ["mrr"])
    for one, other in combinations(range(3), 2):
        alone = compare([three[one], three[other]], measures=["mrr"]).overall["mrr"][1]
        row = found.tests["mrr"][one, other]
        assert (row.system, row.n, row.wins, row.losses) == (alone.system, alone.n, alone.wins, alone.losses)
        assert (row.difference, row.low, row.high) == (alone.difference, alone.low, alone.high)


def test_all_pairs_of_a_measure_are_corrected_together(three: list[System]) -> None:
    for tests in pairs(three, ["mrr", "latency"]).tests.values():
        assert len(tests) == 3
        by_hand = holm([row.p_randomisation for row in tests.values()])
        assert [row.p_holm for row in tests.values()] == pytest.approx(by_hand)


def test_letters_follow_the_way_in_which_a_measure_is_good(three: list[System]) -> None:
    found = pairs(three, ["mrr", "latency"])
    assert [found.better_than("mrr", place) for place in range(3)] == [[], [0], [0]]
    # p .035 of the last pair: by Holm the largest of a measure's three stays as it is.
    assert [found.better_than("latency", place) for place in range(3)] == [[], [0, 2], [0]]
    assert (found.best("mrr"), found.best("latency")) == (2, 1)


def test_questions_that_one_system_lacks_count_for_no_pair() -> None:
    one, other = [0.2] * 40, [0.9] * 40
    third = [float("nan")] * 10 + [0.5] * 30
    found = pairs([system("a", mrr=one), system("b", mrr=other), system("c", mrr=third)], ["mrr"])
    assert {row.n for row in found.tests["mrr"].values()} == {30}


def test_which_to_take_says_how_sure_that_is(three: list[System]) -> None:
    (only,) = pairs(three[:2], ["mrr"]).advice("mrr")
    assert only.startswith("Take middle: its mrr of 0.")
    (close,) = pairs(three, ["mrr"]).advice("mrr")
    assert close.startswith("high has the best mrr (0.")
    assert "not significantly better than middle" in close
    same = [system("a", mrr=[0.1, 0.9] * 20), system("b", mrr=[0.9, 0.1] * 20)]
    (none,) = pairs(same, ["mrr"]).advice("mrr")
    assert none.startswith("No system is significantly better in mrr: a has the best mean (0.500)")


def test_a_measure_in_which_the_best_is_worse_is_named() -> None:
    one = system("quick", mrr=drawn(1, 0.3), map=drawn(2, 0.8))
    other = system("good", mrr=drawn(3, 0.7), map=drawn(4, 0.3))
    advice = [str(line) for line in pairs([one, other], ["mrr", "map"]).advice("mrr")]
    assert advice[1:] == ["But in map good is significantly worse than quick."]


def test_a_measure_that_nothing_defines_gives_no_advice() -> None:
    nothing = [float("nan")] * 5
    found = pairs([system("a", mrr=nothing), system("b", mrr=nothing)], ["mrr"])
    assert found.best("mrr") is None
    assert found.advice("mrr") == []
