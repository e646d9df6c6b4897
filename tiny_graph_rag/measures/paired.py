"""Is one system better than another on the same questions: intervals and tests on paired differences.

Everything takes `differences`, one value a question (system - baseline), without NaN. Seeded: the same seed
gives the same figures, whatever the machine's number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000  # standard error of a p near .05: .002; of an interval's end: some .03 standard deviations
EXACT_UP_TO = 12  # differences other than 0: 4,096 sign patterns are fewer than DRAWS, so all are looked at
CHUNK_CELLS = 1 << 22  # random numbers held at once
TOGETHER_PAYS = 8  # a multinomial count costs what so many single draws cost
EQUAL = 1e-9  # share of the largest possible sum within which two sums count as equal

Differences = NDArray[np.float64]


def bootstrap_means(differences: Differences, *, seed: int, draws: int = DRAWS) -> NDArray[np.float64]:
    """(draws,) means of resampled questions, ascending. Source: Efron & Tibshirani (1993), ch. 6.

    Where many questions differ by the same they are drawn together: how often a value comes is multinomial.
    """
    if not len(differences):
        return np.full(draws, np.nan)
    values, counts = np.unique(differences, return_counts=True)
    random = np.random.default_rng(seed)
    size, means, done = len(differences), np.empty(draws), 0
    together = len(values) * TOGETHER_PAYS < size
    step = max(1, CHUNK_CELLS // (len(values) if together else size))
    repeated = np.repeat(values, counts)
    while done < draws:
        now = min(step, draws - done)
        if together:
            sums = (random.multinomial(size, counts / size, size=now) * values).sum(axis=1)
        else:
            sums = repeated[random.integers(0, size, size=(now, size))].sum(axis=1)
        means[done : done + now] = sums / size
        done += now
    return np.sort(means)


def interval(
    differences: Differences, *, seed: int, confidence: float = 0.95, draws: int = DRAWS
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean difference; (NaN, NaN) without questions."""
    means = bootstrap_means(differences, seed=seed, draws=draws)
    tail = (1 - confidence) / 2
    return float(np.quantile(means, tail)), float(np.quantile(means, 1 - tail))


def upper_bound(differences: Differences, *, seed: int, error: float, draws: int = DRAWS) -> float:
    """What the mean difference exceeds with a probability of at most `error`."""
    return float(np.quantile(bootstrap_means(differences, seed=seed, draws=draws), 1 - error))


def randomisation_p(differences: Differences, *, seed: int, draws: int = DRAWS) -> float:
    """Two-sided paired randomisation test of "no difference": signs flip at random.

    Exact where few questions differ; else p = (1 + draws at least as extreme) / (1 + draws), so that p is
    never 0. Identical systems give 1, no question gives NaN. Source: Smucker, Allan & Carterette, CIKM 2007.
    """
    if not len(differences):
        return math.nan
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    least = abs(float(moved.sum())) - EQUAL * float(np.abs(moved).sum())
    if len(moved) <= EXACT_UP_TO:
        patterns = (np.arange(1 << len(moved))[:, None] >> np.arange(len(moved))) & 1
        return float((np.abs((1 - 2 * patterns) @ moved) >= least).mean())
    moved = np.sort(np.abs(moved))  # signs are drawn anyway, and so the order of questions tells nothing
    random = np.random.default_rng(seed)
    extreme, done, step = 0, 0, max(1, CHUNK_CELLS // len(moved))
    while done < draws:
        now = min(step, draws - done)
        bits = np.unpackbits(np.frombuffer(random.bytes(-(-now * len(moved) // 8)), dtype=np.uint8))
        kept = bits[: now * len(moved)].reshape(now, len(moved)) @ moved
        extreme += int((np.abs(2 * kept - moved.sum()) >= least).sum())
        done += now
    return (1 + extreme) / (1 + draws)


def t_test_p(differences: Differences) -> float:
    """Two-sided paired t-test. Identical systems give 1; fewer than two questions give NaN."""
    size = len(differences)
    if size < 2:
        return math.nan
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    if mean == 0:
        return 1.0
    if deviation <= EQUAL * abs(mean):
        return 0.0  # every question differs by the same amount
    t = mean / (deviation / math.sqrt(size))
    freedom = size - 1
    return _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def holm(values: Sequence[float]) -> list[float]:
    """p adjusted for how many were looked at (Holm 1979); NaN stays NaN and counts for nothing."""
    order = sorted((p, row) for row, p in enumerate(values) if not math.isnan(p))
    adjusted, largest = list(values), 0.0
    for place, (p, row) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - place)))
        adjusted[row] = largest
    return adjusted


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function, by Lentz's continued fraction (Abramowitz & Stegun 26.5.8)."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, its mirror image converges fast
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    tiny = 1e-300
    fraction, c, d = 1.0, 1.0, 0.0
    for step in range(500):
        half = step // 2
        if step == 0:
            term = 1.0
        elif step % 2 == 0:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        else:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        d = 1 + term * d
        d = 1 / (d if abs(d) > tiny else tiny)
        c = 1 + term / (c if abs(c) > tiny else tiny)
        fraction *= c * d
        if abs(1 - c * d) < 1e-14:
            break
    return front * (fraction - 1) / a
