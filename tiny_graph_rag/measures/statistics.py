"""Means with their uncertainty: a 95 % interval beside every mean.

Three roads to an interval, chosen by the data alone and named in `Mean.method`:

- `wilson`: every value is 0 or 1 and the measure cannot leave [0, 1]. A bootstrap of ten ones would claim
  [1, 1]. Source: Wilson (1927).
- `bootstrap`: up to `RESAMPLED_UP_TO` questions, the percentiles of RESAMPLES means of questions drawn with
  replacement. Source: Efron (1979).
- `expansion`: more questions than that. The same percentiles from mean, spread and skewness (Cornish & Fisher
  1938; Hall 1992): what the bootstrap tends to, nearer to its limit than any affordable number of draws.

Below `RELIABLE_FROM` questions no such interval keeps its promise: simulated, a percentile bootstrap held the
truth in .84 of the cases at n = 10, and in .65 for a share near 1 at n = 20.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]
Key = TypeVar("Key", bound=Hashable)

LEVEL = 0.95
Z = 1.959963984540054  # the standard normal's quantile at .975
RELIABLE_FROM = 30
RESAMPLES = 2000  # an end of the interval then wavers by 6 % of the standard error from seed to seed
RESAMPLED_UP_TO = 1000  # beyond, the expansion's error is below that
DRAWN_AT_ONCE = 1 << 20  # draws held in memory
GRID_BITS = 32  # of a value kept by the bootstrap, so that its sums are exact in float64 (see `_on_grid`)


@dataclass(frozen=True, slots=True)
class Mean:
    """mean: NaN where no question defines the measure. low, high: ends of its 95 % interval, NaN where the
    values cannot tell (fewer than two, unless they are 0 or 1). n: the questions behind it.
    """

    mean: float
    low: float
    high: float
    n: int
    method: str = "none"

    @property
    def reliable(self) -> bool:
        """Whether there are questions enough to believe the interval."""
        return self.n >= RELIABLE_FROM


UNDEFINED = Mean(math.nan, math.nan, math.nan, 0)


def means(
    columns: Mapping[Key, Column],
    *,
    weights: Mapping[Key, Column] | None = None,
    shares: frozenset[Key] | set[Key] | None = None,
    seed: int = 0,
) -> dict[Key, Mean]:
    """The mean of every column with its interval, NaN values left out.

    columns: (questions,) each. weights: columns that are pooled instead, as Σ weight · value / Σ weight.
    shares: the columns that lie in [0, 1] by definition (default: all). seed: of the draws; columns of one
    length and seed see the same draws, so adding a measure changes no other.
    """
    weights = weights or {}
    found: dict[Key, Mean] = {}
    drawn: dict[int, dict[Key, tuple[Column, Column]]] = {}
    for key, column in columns.items():
        kept = ~np.isnan(column)
        weight = weights.get(key)
        if weight is not None:
            kept &= weight > 0
        values = column[kept]
        n = len(values)
        if not n:
            found[key] = UNDEFINED
            continue
        weighing = np.ones(n) if weight is None else weight[kept]
        mean = float(np.average(values, weights=weighing)) if weight is not None else float(values.mean())
        is_share = shares is None or key in shares
        if weight is None and is_share and bool(((values == 0.0) | (values == 1.0)).all()):
            found[key] = Mean(mean, *wilson(float(values.sum()), n), n, "wilson")
        elif n < 2:
            found[key] = Mean(mean, math.nan, math.nan, n)
        elif n > RESAMPLED_UP_TO:
            found[key] = Mean(mean, *_within(expansion(values, weighing), is_share), n, "expansion")
        else:
            found[key] = Mean(mean, math.nan, math.nan, n, "bootstrap")
            drawn.setdefault(n, {})[key] = (values, weighing)
    for n, group in drawn.items():
        table = bootstrap(
            np.stack([values for values, _ in group.values()], axis=1),
            np.stack([weighing for _, weighing in group.values()], axis=1),
            seed=seed,
        )
        for key, (low, high) in zip(group, table.tolist(), strict=True):
            found[key] = Mean(found[key].mean, low, high, n, "bootstrap")
    return {key: found[key] for key in columns}


def wilson(successes: float, n: int) -> tuple[float, float]:
    """The score interval of a share; never degenerate, never outside [0, 1]."""
    share, spread = successes / n, Z * Z / n
    middle = (share + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    # At the ends the two terms are equal but for rounding, which must not push the interval off the share.
    low = 0.0 if share == 0 else max(0.0, middle - half)
    return low, 1.0 if share == 1 else min(1.0, middle + half)


def bootstrap(values: NDArray[np.float64], weights: NDArray[np.float64], *, seed: int) -> Column:
    """Percentile intervals of the weighted means of the columns; (questions, columns) → (columns, 2).

    A resample in which a column weighs nothing is left out of that column's percentiles.
    """
    n = len(values)
    above, below = _on_grid(values * weights), _on_grid(weights)
    rng = np.random.default_rng([seed, n])
    step = max(1, DRAWN_AT_ONCE // n)
    parts = []
    for start in range(0, RESAMPLES, step):
        rows = min(step, RESAMPLES - start)
        draws = rng.integers(0, n, size=(rows, n), dtype=np.int64)
        draws += np.arange(rows)[:, None] * n
        counts = np.bincount(draws.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
        with np.errstate(invalid="ignore"):
            parts.append((counts @ above) / (counts @ below))
    return percentiles(np.sort(np.concatenate(parts), axis=0), ((1 - LEVEL) / 2, (1 + LEVEL) / 2))


def percentiles(ascending: NDArray[np.float64], shares: tuple[float, ...]) -> Column:
    """Linear between neighbours, NaN (sorted last) left out; (rows, columns) → (columns, shares).

    numpy's own nanquantile goes column by column and loads numpy.ma.
    """
    last = np.maximum((~np.isnan(ascending)).sum(axis=0) - 1, 0)
    place = last[:, None] * np.array(shares)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, last[:, None])
    column = np.arange(ascending.shape[1])[:, None]
    low, high = ascending[below, column], ascending[above, column]
    return np.asarray(low + (high - low) * (place - below))


def _on_grid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values on a grid so coarse that every sum of them is exact: then neither the order of adding nor the
    number of threads of the matrix product can change a digit. Rounds by 2⁻³² of the largest value.
    """
    largest = float(np.abs(values).max(initial=0.0))
    smallest_unit = float(np.finfo(np.float64).tiny)  # below it a step of the grid could not be divided by
    unit = max(2.0 ** (math.frexp(largest)[1] - GRID_BITS), smallest_unit) if largest else 1.0
    return np.round(values / unit) * unit


def expansion(values: Column, weights: Column) -> tuple[float, float]:
    """The bootstrap's percentiles of a (weighted) mean without drawing: mean, spread, skewness.

    A weighted mean is linearised: each question's influence is weight · (value − mean) / mean weight.
    """
    n = len(values)
    mean = float(np.average(values, weights=weights))
    influence = weights * (values - mean) / weights.mean()
    variance = float(np.mean(influence**2))
    if variance == 0:
        return mean, mean
    error = math.sqrt(variance / n)
    skewness = float(np.mean(influence**3)) / variance**1.5 / math.sqrt(n)
    bend = skewness * (Z * Z - 1) / 6
    return mean + error * (bend - Z), mean + error * (bend + Z)


def _within(ends: tuple[float, float], is_share: bool) -> tuple[float, float]:
    return (max(0.0, ends[0]), min(1.0, ends[1])) if is_share else ends
