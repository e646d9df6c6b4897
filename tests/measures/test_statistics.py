"""Intervals beside means: Wilson, bootstrap, expansion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_graph_rag.measures.statistics import (
    RESAMPLED_UP_TO,
    bootstrap,
    expansion,
    means,
    percentiles,
    wilson,
)


def one(values: list[float], **options):
    return means({"m": np.array(values, dtype=float)}, **options)["m"]


def test_wilson_is_the_published_interval() -> None:
    # Newcombe (1998), table I: 81 of 263 → .2553, .3662; 15 of 148 → .0624, .1605; 0 of 20 → 0, .1611.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_ten_ones_are_no_certainty() -> None:
    found = one([1.0] * 10)
    # Wilson with all successes: n / (n + z²) = 10 / 13.8415.
    assert (found.mean, found.low, found.high, found.n) == (
        1.0,
        pytest.approx(10 / 13.8415, abs=1e-4),
        1.0,
        10,
    )
    assert not found.reliable
    assert one([1.0] * 30).reliable


def test_undefined_values_are_left_out_and_counted() -> None:
    found = one([math.nan, 0.5, 0.25, math.nan])
    assert (found.mean, found.n) == (0.375, 2)
    nothing = one([math.nan])
    assert nothing.n == 0
    assert math.isnan(nothing.mean)
    assert math.isnan(one([0.5]).low), "one value says nothing of its spread"


def test_the_bootstrap_of_two_values_has_its_knownpercentiles() -> None:
    # Means of two draws of {0, 1}: 0, .5, 1 with probability 1/4, 1/2, 1/4: the ends are 0 and 1.
    assert bootstrap(np.array([[0.0], [1.0]]), np.ones((2, 1)), seed=0).tolist() == [[0.0, 1.0]]


def test_a_pooled_mean_is_a_ratio_of_sums() -> None:
    # 1 of 1 and 0 of 3: (1 · 1 + 3 · 0) / 4.
    found = means({"m": np.array([1.0, 0.0])}, weights={"m": np.array([1.0, 3.0])})["m"]
    assert (found.mean, found.n) == (0.25, 2)


def test_another_measure_changes_no_interval_and_the_seed_does() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.random(200), rng.random(200)
    alone, beside = means({"a": a}, seed=3)["a"], means({"b": b, "a": a}, seed=3)["a"]
    assert alone == beside
    assert means({"a": a}, seed=4)["a"] != alone


@pytest.mark.parametrize("n", [60, 300, 1000])
def test_expansion_and_draws_agree_within_the_noise_of_the_draws(n: int) -> None:
    rng = np.random.default_rng(n)
    values, weights = rng.beta(0.2, 0.6, n), rng.integers(1, 9, n).astype(float)
    drawn = bootstrap(values[:, None], weights[:, None], seed=1)[0]
    error = float(np.std(values)) / math.sqrt(n)
    # An end of 2,000 draws wavers by √(.025 · .975 / 2000) / φ(1.96) = .06 standard errors; four of these.
    np.testing.assert_allclose(expansion(values, weights), drawn, atol=0.24 * error * 1.3)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=60))
def test_an_interval_holds_its_mean_and_stays_inside_the_range(values: list[float]) -> None:
    found = one(values)
    assert -1e-9 <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= 1 + 1e-9


def test_the_interval_of_many_questions_needs_no_draws() -> None:
    values = np.random.default_rng(0).random(RESAMPLED_UP_TO + 1)
    found = means({"m": values})["m"]
    assert found.method == "expansion"
    half = 1.96 * float(values.std()) / math.sqrt(len(values))
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half), abs=half / 50)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "least"), [(30, 0.9), (200, 0.93), (2000, 0.935)])
def test_the_interval_holds_the_truth_as_often_as_it_says(n: int, least: float) -> None:
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        found = means({"m": rng.beta(2, 1, n)})["m"]
        held += found.low <= 2 / 3 <= found.high  # the mean of Beta(2, 1)
    assert held / 400 >= least


@given(
    st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=1, max_size=30), st.integers(0, 30)
)
def test_percentiles_are_those_of_numpy(rows: list[list[float]], holes: int) -> None:
    values = np.array(rows)
    values[: min(holes, len(values) - 1), 1] = np.nan
    expected = np.nanquantile(values, (0.025, 0.975), axis=0).T
    np.testing.assert_allclose(percentiles(np.sort(values, axis=0), (0.025, 0.975)), expected, atol=1e-15)
