"""Paired tests against scipy, by hand, and by simulation: coverage, size, seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tiny_graph_rag.measures.paired import holm, interval, randomisation_p, t_test_p, upper_bound


def differences(size: int, seed: int, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(shift, 1, size)


@pytest.mark.parametrize("size", [2, 3, 10, 31, 200, 5000])
@pytest.mark.parametrize("shift", [0.0, 0.1, 1.0])
def test_the_t_test_is_scipys(size, shift) -> None:
    sample = differences(size, size, shift)
    assert t_test_p(sample) == pytest.approx(stats.ttest_1samp(sample, 0).pvalue, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("size", [3, 8, 12])
def test_the_exact_randomisation_test_is_scipys(size) -> None:
    sample = differences(size, size, 0.3)
    exact = stats.permutation_test(
        (sample, np.zeros(size)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert randomisation_p(sample, seed=0) == pytest.approx(exact.pvalue)


def test_the_sampled_randomisation_test_agrees_with_scipys_within_its_error() -> None:
    sample = np.round(differences(60, 5, 0.2), 1)
    theirs = stats.permutation_test(
        (sample, np.zeros(60)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        rng=np.random.default_rng(1),
    ).pvalue
    ours = randomisation_p(sample, seed=1)
    assert abs(ours - theirs) < 4 * math.sqrt(ours * (1 - ours) * (1 / 10_000 + 1 / 20_000))


def test_by_hand() -> None:
    # +1 +1 +1: of the eight sign patterns only +++ and --- are as extreme.
    assert randomisation_p(np.ones(3), seed=0) == 2 / 8
    # Questions that do not differ change nothing.
    assert randomisation_p(np.array([1.0, 1, 1, 0, 0]), seed=0) == 2 / 8


def test_p_is_never_zero_and_identical_runs_give_one() -> None:
    assert randomisation_p(np.ones(500), seed=0) == 1 / 10_001
    assert randomisation_p(np.zeros(500), seed=0) == 1.0
    assert t_test_p(np.zeros(500)) == 1.0
    assert math.isnan(randomisation_p(np.zeros(0), seed=0))
    assert math.isnan(t_test_p(np.ones(1)))


def test_the_same_seed_gives_the_same_figures() -> None:
    sample = differences(80, 3, 0.15)
    for figure in (randomisation_p, interval):
        assert figure(sample, seed=7) == figure(sample, seed=7)
        assert figure(sample, seed=7) == figure(sample[::-1].copy(), seed=7)  # whatever the order
    assert randomisation_p(sample, seed=7) != randomisation_p(sample, seed=8)


def test_the_interval_is_scipys_percentile_bootstrap_within_its_error() -> None:
    sample = np.round(differences(150, 11), 1)
    theirs = stats.bootstrap(
        (sample,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    low, high = interval(sample, seed=2)
    error = 0.1 * sample.std() / math.sqrt(150)  # some four standard errors of a quantile of 10,000 draws
    assert abs(low - theirs.low) < error
    assert abs(high - theirs.high) < error


def test_an_upper_bound_is_the_upper_end_of_an_interval_of_twice_the_error() -> None:
    sample = differences(100, 13)
    assert upper_bound(sample, seed=0, error=0.025) == pytest.approx(interval(sample, seed=0)[1])


def test_holm_by_hand() -> None:
    # Sorted: .01 x 4, .02 x 3, .03 x 2, .9 x 1; never below the one before.
    assert holm([0.03, 0.01, 0.9, 0.02]) == pytest.approx([0.06, 0.04, 0.9, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    adjusted = holm([0.04, math.nan])
    assert adjusted[0] == 0.04
    assert math.isnan(adjusted[1])


WORLDS = 1500  # of a simulation: the standard error of a share of .95 is .0056


@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda rng, n: rng.normal(0.1, 0.3, n) - 0.1, id="continuous"),
        pytest.param(
            lambda rng, n: rng.choice([-1, -0.5, 0, 0, 0, 0.5, 1], n), id="recall of two references"
        ),
    ],
)
def test_intervals_hold_the_truth_in_93_to_97_percent_from_100_questions_on(draw) -> None:
    rng = np.random.default_rng(17)
    held = 0
    for world in range(WORLDS):
        low, high = interval(draw(rng, 100), seed=world, draws=1000)
        held += low <= 0 <= high
    assert 0.93 <= held / WORLDS <= 0.97


def test_under_the_null_p_is_uniform_and_the_test_keeps_its_size() -> None:
    rng = np.random.default_rng(19)
    found = np.array(
        [randomisation_p(rng.normal(0, 1, 40), seed=world, draws=999) for world in range(WORLDS)]
    )
    assert stats.kstest(found, "uniform").pvalue > 0.01
    for alpha in (0.01, 0.05, 0.1, 0.5):
        assert (found <= alpha).mean() <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / WORLDS)


def test_the_test_keeps_its_size_where_scores_are_coarse() -> None:
    rng = np.random.default_rng(23)
    found = np.array(
        [
            randomisation_p(rng.choice([-1.0, 0, 0, 0, 1.0], 50), seed=world, draws=999)
            for world in range(WORLDS)
        ]
    )
    for alpha in (0.01, 0.05, 0.1):
        assert (found <= alpha).mean() <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / WORLDS)
