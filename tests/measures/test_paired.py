"""Paired tests against scipy, by hand, and by simulation: coverage, size, seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.intervals import called_different, false_positives, samples_to_test
from tiny_graph_rag.measures.paired import (
    difference_p,
    holm,
    interval,
    randomisation_p,
    smallest_shown,
)


def differences(size: int, seed: int, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(shift, 1, size)


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
    assert math.isnan(randomisation_p(np.zeros(0), seed=0))


def test_the_same_seed_gives_the_same_figures() -> None:
    sample = differences(80, 3, 0.15)
    assert randomisation_p(sample, seed=7) == randomisation_p(sample, seed=7)
    backwards = sample[::-1].copy()
    assert randomisation_p(sample, seed=7) == randomisation_p(backwards, seed=7)
    assert randomisation_p(sample, seed=7) != randomisation_p(sample, seed=8)


@pytest.mark.slow
def test_draws_grow_with_the_family_so_that_the_correction_hides_nothing() -> None:
    """381 wins to 17 among 500 tests: with 10,000 draws the least corrected p was 500 / 10,001 = .05."""
    sample = np.concatenate([np.ones(381), -np.ones(17), np.zeros(602)])
    assert randomisation_p(sample, seed=0) == 1 / 10_001
    p = randomisation_p(sample, seed=0, family=500)
    assert p == 1 / 500_001
    assert holm([p] * 500)[0] == pytest.approx(500 / 500_001)
    # Where chance alone does as much, more draws would say no more.
    even = np.concatenate([np.ones(20), -np.ones(19)])
    assert randomisation_p(even, seed=0, family=500) == randomisation_p(even, seed=0)


def test_the_interval_of_differences_both_ways_is_students() -> None:
    sample = np.round(differences(150, 11), 1)
    theirs = stats.t.interval(0.95, 149, sample.mean(), stats.sem(sample))
    found = interval(sample, span=10.0)
    assert (found.low, found.high) == pytest.approx(theirs, rel=0.02)
    assert found.reliable


def test_two_questions_that_lose_are_no_proof_that_none_wins() -> None:
    """2 of 54 lose 1: Wilson's .0102 to .1254. As many as z² / (54 + z²) = .0664 may win unseen."""
    found = interval(np.array([-1.0] * 2 + [0.0] * 52))
    assert found.low == pytest.approx(-0.1254, abs=1e-4)
    assert found.high == pytest.approx(-2 / 54 + math.hypot(2 / 54 - 0.0102, 0.0664), abs=1e-4)
    assert not found.reliable


def test_systems_without_a_difference_may_differ_by_what_stays_unseen() -> None:
    found = interval(np.zeros(54))
    assert (found.low, found.high) == pytest.approx((-0.0664, 0.0664), abs=1e-4)
    assert not found.reliable
    assert math.isnan(interval(np.zeros(0)).low)


def test_paraphrases_are_one_observation_in_every_figure() -> None:
    """Three copies of twenty differences say what the twenty say."""
    sample = np.round(differences(20, 4, 0.5), 2)
    copied, groups = np.repeat(sample, 3), np.repeat(np.arange(20), 3)
    assert randomisation_p(copied, seed=1, groups=groups) == pytest.approx(
        randomisation_p(sample, seed=1), abs=0.01
    )
    of_groups, alone = interval(copied, span=9, groups=groups), interval(sample, span=9)
    assert (of_groups.low, of_groups.high) == pytest.approx((alone.low, alone.high))
    assert randomisation_p(copied, seed=1) < randomisation_p(sample, seed=1) / 3


@pytest.mark.slow
@pytest.mark.parametrize(("n", "in_groups", "least", "most"), [(54, False, 0.2, 0.5), (54, True, 0.03, 0.07)])
def test_equal_systems_on_paraphrases_differ_by_chance_in_five_of_a_hundred(
    n, in_groups, least, most
) -> None:
    assert least <= false_positives(n, 700, in_groups=in_groups) <= most


def test_holm_by_hand() -> None:
    # Sorted: .01 x 4, .02 x 3, .03 x 2, .9 x 1; never below the one before.
    assert holm([0.03, 0.01, 0.9, 0.02]) == pytest.approx([0.06, 0.04, 0.9, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    adjusted = holm([0.04, math.nan])
    assert adjusted[0] == 0.04
    assert math.isnan(adjusted[1])


WORLDS = 1500  # of a simulation: the standard error of a share of .95 is .0056


@pytest.mark.parametrize(
    ("seed", "draw"),
    [
        (19, lambda random: random.normal(0, 1, 40)),
        (23, lambda random: random.choice([-1.0, 0, 0, 0, 1.0], 50)),  # coarse scores
    ],
)
def test_under_the_null_the_test_keeps_its_size_and_p_is_uniform(seed, draw) -> None:
    random = np.random.default_rng(seed)
    found = np.array([randomisation_p(draw(random), seed=world, draws=999) for world in range(WORLDS)])
    for alpha in (0.01, 0.05, 0.1):
        assert (found <= alpha).mean() <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / WORLDS)
    if seed == 19:
        assert stats.kstest(found, "uniform").pvalue > 0.01


def test_what_a_group_gains_and_loses_again_is_no_difference() -> None:
    # .3 - .1 - .2 is 5.6e-17 in floating point: ten such groups are ten that did not move.
    changes, groups = np.tile([0.3, -0.1, -0.2], 40), np.repeat(np.arange(40), 3)
    assert interval(changes, groups=groups) == interval(np.zeros(40))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "draw"), [sample for sample in samples_to_test() if sample[0].startswith("equal")]
)
@pytest.mark.parametrize("n", [20, 54, 200])
def test_equal_systems_are_called_different_in_seven_of_a_hundred_at_most(name, draw, n) -> None:
    """40 % gain .05 and 2 % lose 1: signs that flip alone gave p < .05 in 62, 36 and 11 % of the samples."""
    flipped, sure = called_different(draw, n, 300)
    assert sure <= 0.07 + 2 * math.sqrt(0.07 * 0.93 / 300)
    if "gain 0.05" in name:
        assert flipped > sure


def test_what_differs_both_ways_is_found_as_often_as_before() -> None:
    draw = dict(samples_to_test())["better: normal, +.1, deviation .2"]
    for n in (30, 54):
        flipped, sure = called_different(draw, n, 200)
        assert sure >= flipped - 0.01


def test_seven_questions_with_one_extreme_are_no_proof() -> None:
    """All seven win: 2 of 128 sign patterns. But .56 won in all is less than one lost question costs, which
    stays unseen in e^-.56 = .57 of the samples."""
    changes = np.array([0.01] * 6 + [0.5])
    assert randomisation_p(changes, seed=0) == 2 / 128
    assert difference_p(changes, seed=0) == pytest.approx(math.exp(-0.56))
    found = interval(changes)
    assert found.low < 0 < found.high


def test_the_smallest_difference_that_would_show_is_the_textbooks() -> None:
    # Deviation 1, n = 100: (1.984 + .8416) / 10.
    sample = np.tile([1.0, -1.0], 50)
    deviation = sample.std(ddof=1)
    assert smallest_shown(sample) == pytest.approx(deviation * (1.98422 + 0.84162) / 10, abs=1e-4)
    assert math.isnan(smallest_shown(np.zeros(5)))


def test_what_a_sample_without_losses_could_not_show_is_not_said_to_show() -> None:
    """8 of 20 questions gain .05: losses in 3.8415 / 23.8415 of the questions may be unseen."""
    changes = np.array([0.05] * 8 + [0.0] * 12)
    assert interval(changes).low < 0
    error = changes.std(ddof=1) / math.sqrt(20)
    unseen = 3.8415 / 23.8415 * (1 - 0.05**2)
    expected = unseen * (1 + 0.84162 * error / 0.02)
    assert smallest_shown(changes) == pytest.approx(expected, abs=1e-4)
    assert smallest_shown(changes) > 4 * changes.mean()
