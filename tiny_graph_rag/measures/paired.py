"""Is one system better than another on the same questions: intervals and tests on paired differences.

Everything takes `differences`, one value a question (system - baseline), without NaN, and `groups`, where
several questions are variants of one: then a group is one observation. Seeded: the same seed gives the same
figures, whatever the machine's number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import numbered
from tiny_graph_rag.measures.statistics import (
    RELIABLE_FROM,
    Column,
    Groups,
    grouped,
    student,
    two_point_p,
    wilson,
)
from tiny_graph_rag.measures.statistics import interval as matched_interval

DRAWS = 10_000  # standard error of a p near .05: .002
DRAWS_PER_TEST = 1_000  # of a family: its least attainable corrected p is then .001 however large it is
ENOUGH_EXTREME = 100  # of the first DRAWS: more draws would not tell more of such a p
EXACT_UP_TO = 12  # differences other than 0: 4,096 sign patterns are fewer than DRAWS, so all are looked at
CHUNK_CELLS = 1 << 22  # random numbers held at once
EQUAL = 1e-9  # share of the largest possible sum within which two sums count as equal

# Differences that all go one way say nothing of those that would go the other way. While they are few, a
# question that loses is as likely unseen as it is absent (see docs/statistics.md for what this costs).
FEW, FEW_SHARE = 3, 0.07
OF_MOVED = 0.5  # of the median move: smaller ones the other way don't show what a loss would be
Z_POWER = 0.8416212335729143  # the standard normal's quantile at .8, the usual power
TELLING = 6  # differences other than 0: with fewer no paired test can reach p < .05

Differences = NDArray[np.float64]


def changes(before: Column, after: Column) -> Differences:
    """Question by question; what differs by rounding alone is 0."""
    change = after - before
    return np.where(np.abs(change) <= EQUAL, 0.0, change)


class Interval(Struct, frozen=True):
    """low, high: ends of a 95 % interval. reliable: whether it held the truth in 93 % of simulated samples of
    this size and shape."""

    low: float
    high: float
    reliable: bool


def interval(differences: Differences, *, span: float = 1.0, groups: Groups | None = None) -> Interval:
    """Of the mean difference; NaN without questions. span: the largest possible difference.

    Where many questions win and many lose: Student's interval; where one side is rare, the wider of it and
    the matched one. Where they differ one way only: the matched one; while they are few, with room for as
    many of the other way as could have stayed unseen (Wilson's upper bound of none in n, joined as Newcombe
    1998 joins two shares). Small moves leave room for as many large ones the other way.
    """
    if not len(differences):
        return Interval(math.nan, math.nan, False)
    values, weight = (differences, None) if groups is None else grouped(differences, None, groups)
    values = np.where(np.abs(values) <= EQUAL, 0.0, values)  # what a group gains and loses again is nothing
    n = len(values)
    seldom = wilson(0, n)[1]  # the share of questions that may differ unseen
    gained, lost = int((values > 0).sum()), int((values < 0).sum())
    moved = gained + lost
    if not moved:
        return Interval(-span * seldom, span * seldom, False)
    mean, ends = float(np.average(values, weights=weight)), (-span, span)
    low, high = (mean, mean) if np.ptp(values) <= EQUAL else matched_interval(values, weight, ends)[:2]
    few_lose, few_win = _few_against(values, 1), _few_against(values, -1)
    if gained and lost:
        half = _student_half(values, weight, mean)
        if few_lose or few_win:
            low, high = min(low, mean - half), max(high, mean + half)
        else:
            low, high = mean - half, mean + half
    elif moved == 1 or (moved <= FEW and moved <= FEW_SHARE * n):
        unseen = seldom * float(np.sqrt((values[values != 0] ** 2).mean()))
        if gained:
            low = mean - math.hypot(mean - low, unseen)
        else:
            high = mean + math.hypot(high - mean, unseen)
    low, high = min(low, mean - seldom * abs(mean)), max(high, mean + seldom * abs(mean))
    won, given_up = (float(np.clip(sign * values, 0, None).mean()) for sign in (1, -1))
    room = _room(values, span)
    if few_lose:
        low = min(low, mean - max(0.0, room - given_up))
    if few_win:
        high = max(high, mean + max(0.0, room - won))
    both_ways = bool(gained and lost)
    reliable = moved >= TELLING and (not both_ways or n >= RELIABLE_FROM)
    return Interval(max(low, -span), min(high, span), reliable)


def _reach(values: Differences, span: float) -> float:
    """The largest possible difference; of a measure without bounds the largest that was seen."""
    return span if math.isfinite(span) else float(np.abs(values).max())


def _room(values: Differences, span: float) -> float:
    """What rare large differences may add to the mean unseen: the less, the larger the typical move."""
    reach = _reach(values, span)
    typical = _median(np.abs(values[values != 0]))
    return wilson(0, len(values))[1] * reach * (1 - min(typical / reach, 1.0) ** 2)


def _median(values: Differences) -> float:
    """NaN of none. numpy's loads numpy.ma when first called."""
    if not len(values):
        return math.nan
    ascending = np.sort(values)
    return float(ascending[(len(values) - 1) // 2] + ascending[len(values) // 2]) / 2


def _against(values: Differences, sign: int) -> int:
    """How many differences go against `sign`, without those that are small next to the others."""
    moved = np.abs(values[values != 0])
    return int((-sign * values >= OF_MOVED * _median(moved)).sum()) if len(moved) else 0


def _few_against(values: Differences, sign: int) -> bool:
    """Whether so few go against `sign` that larger ones may well be unseen."""
    return _against(values, sign) <= min(FEW, max(1, FEW_SHARE * len(values)))


def _student_half(values: Differences, weight: Differences | None, mean: float) -> float:
    n = len(values)
    if weight is None:
        return student(n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    influence = weight * (values - mean) / weight.mean()
    return student(n - 1) * float(np.sqrt((influence**2).sum() / (n - 1) / n))


def difference_p(
    differences: Differences,
    *,
    seed: int,
    draws: int = DRAWS,
    groups: Groups | None = None,
    family: int = 1,
    span: float = 1.0,
) -> float:
    """Two-sided p of "the mean difference is 0": the largest of the randomisation test's, the score test's on
    two points of the sample's skewness, and `unseen_p`.

    Signs that flip test whether the differences are symmetric. Where many questions win a little and few lose
    much, they are not, and the mean may be 0 all the same. NaN without questions.
    """
    p = randomisation_p(differences, seed=seed, draws=draws, groups=groups, family=family)
    if math.isnan(p):
        return p
    values = differences if groups is None else grouped(differences, None, groups)[0]
    return max(p, two_point_p(values), unseen_p(differences, span=span, groups=groups))


def unseen_p(differences: Differences, *, span: float = 1.0, groups: Groups | None = None) -> float:
    """How likely the mean difference owes its sign to rare differences the other way that the sample lacks.

    Where few go the other way: the larger of the score test's p on the two points that have the sample's
    mean, variance and skewness, and the chance that as many differences of `span` as would make up for all
    that was won stayed unseen, e^-(won / span). 0 where many go the other way.
    """
    values = differences
    if groups is not None:
        values = grouped(differences, None, groups)[0]
    values = np.where(np.abs(values) <= EQUAL, 0.0, values)
    total = float(values.sum())
    if not len(values) or total == 0:
        return 1.0
    sign = 1 if total > 0 else -1
    if _against(values, sign) > max(1, FEW_SHARE * len(values)):
        return 0.0
    p = two_point_p(values)
    if _few_against(values, sign):
        p = max(p, math.exp(-float(np.clip(sign * values, 0, None).sum()) / _reach(values, span)))
    return p


def randomisation_p(
    differences: Differences, *, seed: int, draws: int = DRAWS, groups: Groups | None = None, family: int = 1
) -> float:
    """Two-sided paired randomisation test of "no difference": signs flip at random, a group's together.

    Exact where few differ; else p = (1 + draws at least as extreme) / (1 + draws), so that p is never 0.
    family: tests that this p is corrected with; where it may matter, draws grow with their number. Identical
    systems give 1, no question gives NaN. Source: Smucker, Allan & Carterette, CIKM 2007.
    """
    if not len(differences):
        return math.nan
    differences = added_by_group(differences, groups)
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    least = abs(float(moved.sum())) - EQUAL * float(np.abs(moved).sum())
    if len(moved) <= EXACT_UP_TO:
        patterns = (np.arange(1 << len(moved))[:, None] >> np.arange(len(moved))) & 1
        return float((np.abs((1 - 2 * patterns) @ moved) >= least).mean())
    moved = np.sort(np.abs(moved))  # signs are drawn anyway, and so the order of questions tells nothing
    random = np.random.default_rng(seed)
    extreme = _extreme(moved, least, random, draws)
    wanted = DRAWS_PER_TEST * family
    if extreme < ENOUGH_EXTREME and wanted > draws:
        extreme += _extreme(moved, least, random, wanted - draws)
        draws = wanted
    return (1 + extreme) / (1 + draws)


def _extreme(moved: Differences, least: float, random: np.random.Generator, draws: int) -> int:
    """Of so many random choices of signs, those whose sum is at least as far from 0."""
    extreme, done, step = 0, 0, max(1, CHUNK_CELLS // len(moved))
    whole = moved.sum()
    while done < draws:
        now = min(step, draws - done)
        bits = np.unpackbits(np.frombuffer(random.bytes(-(-now * len(moved) // 8)), dtype=np.uint8))
        kept = bits[: now * len(moved)].reshape(now, len(moved)) @ moved
        extreme += int((np.abs(2 * kept - whole) >= least).sum())
        done += now
    return extreme


def smallest_shown(differences: Differences, *, span: float = 1.0, groups: Groups | None = None) -> float:
    """The true mean difference that a test at .05 shows in four of five such samples, given their spread:
    (z at .975 + z at .8) standard errors. Where few go the other way, no less than what `unseen_p` and
    `interval` ask for. NaN where nothing moved or with fewer than two questions.

    Source: Cohen, Statistical Power Analysis (1988).
    """
    values, weight = (differences, None) if groups is None else grouped(differences, None, groups)
    n = len(values)
    if n < 2 or not (np.abs(values) > EQUAL).any():
        return math.nan
    mean = float(np.average(values, weights=weight))
    half = _student_half(values, weight, mean)
    error = half / student(n - 1)
    smallest = half + Z_POWER * error
    sign = 1 if mean > 0 else -1
    won = float(np.clip(sign * values, 0, None).mean())
    if won and _few_against(values, sign):
        unseen = max(-math.log(0.05) / n * _reach(values, span), _room(values, span))
        smallest = max(smallest, unseen * (1 + Z_POWER * error / won))
    return smallest


def added_by_group(differences: Differences, groups: Groups | None) -> Differences:
    """One sum a group; as they are without groups."""
    if groups is None:
        return differences
    sums = np.bincount(numbered(groups), weights=differences)
    return np.where(np.abs(sums) <= EQUAL, 0.0, sums)


def holm(values: Sequence[float]) -> list[float]:
    """p adjusted for how many were looked at (Holm 1979); NaN stays NaN and counts for nothing."""
    order = sorted((p, row) for row, p in enumerate(values) if not math.isnan(p))
    adjusted, largest = list(values), 0.0
    for place, (p, row) in enumerate(order):
        largest = max(largest, min(1.0, p * (len(order) - place)))
        adjusted[row] = largest
    return adjusted
