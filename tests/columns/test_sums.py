"""Sums over few rows of a long column, held against whole columns; and what fits from the greatest on."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import beyond, summed


@pytest.mark.parametrize("length", [50, 5000])  # of which a part touches much, and little
def test_sums_are_those_of_a_whole_column(length: int) -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        counts = random.integers(0, 30, random.integers(0, 4))
        parts = [(random.integers(0, length, count), random.integers(0, 4, count)) for count in counts]
        column = np.zeros(length, dtype=np.int64)
        for rows, values in parts:
            np.add.at(column, rows, values)
        found = summed(parts, length)
        assert found.rows.tolist() == np.flatnonzero(column).tolist()
        assert found.sums.tolist() == column[column > 0].tolist()


def fitting(values: NDArray[np.int64], weights: NDArray[np.int64], most: int) -> list[bool]:
    """Equal values together, from the greatest on, while their weights are at most so much."""
    return [int(weights[values >= value].sum()) <= most for value in values]


@pytest.mark.parametrize("greatest", [3, 50, 100_000])
def test_values_beyond_the_bound_are_those_that_fit_equal_ones_together(greatest: int) -> None:
    random = np.random.default_rng(greatest)
    for _ in range(500):
        values = random.integers(0, greatest, random.integers(0, 60))
        weights, most = random.integers(0, 5, len(values)), int(random.integers(0, 80))
        assert (values > beyond(values, weights, most)).tolist() == fitting(values, weights, most)
        ones = np.ones(len(values), dtype=np.int64)
        assert (values > beyond(values, ones, most)).tolist() == fitting(values, ones, most)
