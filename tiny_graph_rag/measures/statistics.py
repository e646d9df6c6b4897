"""Means with their uncertainty: a 95 % interval next to every mean, in closed form, without draws.

The interval is Wilson's score interval, carried over from shares to any bounded score. A sample's mean,
variance and skewness are those of exactly one distribution over two points; Wilson's interval for the share
of its upper point, put back on the scale of the sample, is that of the mean. For scores that take two values
(0 and 1, or 0 and .2) that is Wilson itself; for scores of many values it is widened by Student's t, the more
the further the sample is from two values. A sample of one value says nothing of its spread: there the two
points are the value and the ends of the measure's range, as Wilson has it for ten hits of ten.

A sample of many values near the top may hold no total miss, and its own spread then says nothing of them. So
no interval reaches less far down than that of a sample of one value would: its low end is at most
mean · n / (n + z²) on the measure's range, which also makes it monotone: a question that scores less never
raises the low end. Upwards the same holds: a sample of questions with one reference, whose precision@5 is .2
at most, says nothing of rare ones with five.

Why not the bootstrap: where nearly every question scores the same, most resamples hold no other question and
the interval has hardly any width. benchmarks/intervals.py measures both. Sources: Wilson, Probable Inference
(1927); the two-point match is the first step of Gauss-Christoffel quadrature (Golub & Welsch 1969).

Pooled (micro) means are linearised: each question's influence is weight · (value − mean) / mean weight.
Questions of one group are one observation: their values are averaged first, with their number as weight.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import numbered

Column = NDArray[np.float64]
Groups = NDArray[np.int64]
Key = TypeVar("Key", bound=Hashable)

Z = 1.959963984540054  # the standard normal's quantile at .975
SHARE = (0.0, 1.0)
RELIABLE_FROM = 30  # observations that tell as much as: measured coverage .90 to .98 at 20, .92 to .98 at 30
LEAST_EVEN = 1 / 3  # share of the observations: where fewer weigh as much as all, coverage falls to .90
SAME = 1e-12  # two values this near are one, and a variance below its square is none


class Mean(Struct, frozen=True):
    """mean: NaN where no question defines the measure. low, high: ends of its 95 % interval, NaN where the
    values cannot tell (none, or one value of a measure without bounds). n: the questions behind it.

    reliable: whether the interval held the truth in at least 93 % of simulated samples of this size and shape
    (benchmarks/intervals.py).
    """

    mean: float
    low: float
    high: float
    n: int
    reliable: bool = False


UNDEFINED = Mean(math.nan, math.nan, math.nan, 0)


def means(
    columns: Mapping[Key, Column],
    *,
    weights: Mapping[Key, Column] | None = None,
    bounds: Mapping[Key, tuple[float, float]] | None = None,
    groups: Groups | None = None,
) -> dict[Key, Mean]:
    """The mean of every column with its interval, NaN values left out.

    columns: (questions,) each. weights: columns that are pooled instead, as Σ weight · value / Σ weight.
    bounds: of a column's values, [0, 1] unless given; infinite where there are none. groups: (questions,),
    the group of each question, where several are variants of one.
    """
    weights, bounds = weights or {}, bounds or {}
    return {
        key: mean_of(column, weights.get(key), bounds=bounds.get(key, SHARE), groups=groups)
        for key, column in columns.items()
    }


def mean_of(
    column: Column,
    weight: Column | None = None,
    *,
    bounds: tuple[float, float] = SHARE,
    groups: Groups | None = None,
) -> Mean:
    """One mean with its interval; see `means`."""
    kept = ~np.isnan(column)
    if weight is not None:
        kept &= weight > 0
        weight = weight[kept]
    values = column[kept]
    n = len(values)
    if not n:
        return UNDEFINED
    mean = float(values.mean() if weight is None else np.average(values, weights=weight))
    if groups is not None:
        values, weight = grouped(values, weight, groups[kept])
    low, high, _ = interval(values, weight, bounds)
    low, high = _with_unseen(low, high, values, weight, bounds)
    return Mean(mean, low, high, n, _is_reliable(weight, len(values)))


def grouped(values: Column, weight: Column | None, groups: Groups) -> tuple[Column, Column | None]:
    """One value and one weight a group; equal weights are None."""
    group = numbered(groups)
    weighing = np.ones(len(values)) if weight is None else weight
    size = np.bincount(group, weights=weighing).astype(np.float64)
    average = np.bincount(group, weights=weighing * values) / size
    return average, None if (size == size[0]).all() else size


def interval(
    values: Column, weight: Column | None = None, bounds: tuple[float, float] = SHARE
) -> tuple[float, float, bool]:
    """Low and high end of the 95 % interval of the (weighted) mean, and whether at most two values were seen.

    values: (n,) without NaN, n >= 1; weight: (n,) above 0. Ends lie within `bounds`.
    """
    least, most = float(values.min()), float(values.max())
    effective = len(values) if weight is None else _effective(weight)
    if most - least <= SAME:
        return *_of_one_value((least + most) / 2, effective, bounds), True
    if weight is None and bool(((values - least <= SAME) | (most - values <= SAME)).all()):
        low, high = wilson(float((most - values <= SAME).sum()), len(values))
        # At the end itself without rounding.
        return least + (most - least) * low, most - (most - least) * (1 - high), True
    low, high = _matched(values, weight, effective)
    return max(low, bounds[0]), min(high, bounds[1]), False


def wilson(successes: float, n: float) -> tuple[float, float]:
    """The score interval of a share; never degenerate, never outside [0, 1]."""
    share, spread = successes / n, Z * Z / n
    middle = (share + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    # At the ends the two terms are equal but for rounding, which must not push the interval off the share.
    low = 0.0 if share == 0 else max(0.0, middle - half)
    return low, 1.0 if share == 1 else min(1.0, middle + half)


def student(freedom: float) -> float:
    """Student's t at .975; freedom: 1 and more, also fractional. 11 % low at 1, .1 % at 3, 1e-5 from 9 on.

    Source: Abramowitz & Stegun 26.7.5.
    """
    z, v = Z, freedom
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )


def _of_one_value(value: float, n: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """All n equal: others may exist, as far away as the measure goes, and as rare as misses next to n
    hits."""
    seldom = 1 - wilson(n, n)[0]
    ends = [value + (end - value) * seldom if end != value else value for end in bounds]
    return (ends[0], ends[1]) if all(map(math.isfinite, ends)) else (math.nan, math.nan)


def _with_unseen(
    low: float, high: float, values: Column, weight: Column | None, bounds: tuple[float, float]
) -> tuple[float, float]:
    """The interval with room for scores at the ends of the range that are too rare to be in the sample."""
    mean = float(np.average(values, weights=weight))
    effective = len(values) if weight is None else _effective(weight)
    seldom = 1 - wilson(effective, effective)[0]
    if math.isfinite(bounds[0]):
        low = min(low, mean - (mean - bounds[0]) * seldom)
    if math.isfinite(bounds[1]):
        high = max(high, mean + (bounds[1] - mean) * seldom)
    return low, high


def two_point_p(values: Column) -> float:
    """Two-sided p that the mean is 0, by the score test on the two points that share mean, variance and
    skewness with the sample; 0 where 0 does not lie between them, so that they cannot tell."""
    mean = float(values.mean())
    points = _two_points(values - mean)
    if points is None:
        return 0.0
    lower, apart, _ = points
    null = (-mean - lower) / apart
    if not 0 < null < 1:
        return 0.0
    z = (-lower / apart - null) * math.sqrt(len(values) / (null * (1 - null)))
    return math.erfc(abs(z) / math.sqrt(2))


def _two_points(influence: Column) -> tuple[float, float, float] | None:
    """Of values with mean 0: the lower point, how far apart the points are, and how far the sample is from
    two values (0 for two, 1 for a normal one). None where all are equal."""
    square = influence * influence
    variance = float(square.mean())
    if variance <= SAME**2:
        return None
    third, fourth = float((square * influence).mean()), float((square * square).mean())
    lean = third / variance
    apart = math.sqrt(lean * lean + 4 * variance)
    # The room between kurtosis and its least value: 0 for two values, 2 for a normal one.
    beyond_two = min(1.0, max(0.0, fourth / variance**2 - third**2 / variance**3 - 1))
    return (lean - apart) / 2, apart, beyond_two


def _matched(values: Column, weight: Column | None, effective: float) -> tuple[float, float]:
    """Wilson's interval on the two points that share mean, variance and skewness with the sample."""
    n = len(values)
    if weight is None:
        mean = float(values.mean())
        influence = values - mean
    else:
        share = weight / weight.sum()
        mean = float(share @ values)
        influence = weight * (values - mean) / weight.mean()
    points = _two_points(influence)
    assert points is not None  # values that are all equal never come here
    lower_point, apart, beyond_two = points
    low, high = wilson(-lower_point / apart * n, n)
    to_student = (
        student(max(effective - 1, 1)) / Z * math.sqrt(effective / (effective - 1) * (1 + Z * Z / effective))
    )
    wider = 1 + (to_student - 1) * beyond_two
    return mean + (lower_point + apart * low) * wider, mean + (lower_point + apart * high) * wider


def _effective(weight: Column) -> float:
    """How many observations of equal weight would tell as much. Source: Kish (1965)."""
    return float(weight.sum() ** 2 / (weight @ weight))


def _is_reliable(weight: Column | None, n: int) -> bool:
    effective = n if weight is None else _effective(weight)
    return effective >= max(RELIABLE_FROM, LEAST_EVEN * n)


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
