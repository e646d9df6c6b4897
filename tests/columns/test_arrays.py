"""Sums over few rows of a long column, what fits from the greatest on, and machine code that numba keeps."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import _forget_older, beyond, summed


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


def test_what_was_kept_before_a_source_changed_is_removed(tmp_path: Path) -> None:
    kept = tmp_path / "__pycache__"
    kept.mkdir()
    ages = {"kernel.py": 10, "classes.py": 20}
    ages |= {f"__pycache__/{name}": age for name, age in
             {"kernel.old-1.nbi": 15, "kernel.new-1.nbi": 25, "other.old-1.nbi": 15}.items()}  # fmt: skip
    for name, age in ages.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    _forget_older(kept, tmp_path / "kernel.py")
    assert sorted(path.name for path in kept.iterdir()) == ["kernel.new-1.nbi", "other.old-1.nbi"]
