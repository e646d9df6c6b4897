"""Which setting to take: the first that no other beats by more than chance does, by hops, then as listed.

Settings that do equally well differ in their means all the same, and the best of many means is too high. So
a later setting has to prove itself: against the first, all others are tested together (the test's error
holds for the whole choice), and where none is better, the first is taken and the text says so. What is
reported as its mean comes from questions on which it was not chosen.

benchmarks/choosing.py measures how often equal settings lead elsewhere, and how far the mean is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.paired import difference_p, holm, unseen_p
from tiny_graph_rag.measures.statistics import RELIABLE_FROM, SHARE, UNDEFINED, Groups, Mean, mean_of
from tiny_graph_rag.messages import Said, said

ERROR = 0.05  # how often equal settings may lead to another than the smallest
DRAWS, DRAWS_OF_A_FOLD = 4000, 500  # standard error of a p near .05: .003, .01
FOLDS, REPEATS = 5, 4  # every question is left out REPEATS times
CHUNK_CELLS = 1 << 22
NORMAL_FROM = 500  # observations that differ

TOO_FEW = "{n} questions are too few for a recommendation (at least {least} are needed)"
TOO_FEW_GROUPS = "{n} groups of questions are too few for a recommendation (at least {least} are needed)"
ONLY = "the only setting"
BEST = "it has the best mean; every other setting is significantly worse"
BEST_OF_ALIKE = "it has the best mean, but {alike} of {others} other settings are not significantly worse"
ALIKE = (
    "the first setting (fewest hops, then as listed) that is not significantly worse than the best (the "
    "best mean is {loss} higher, p {p}); any setting before it scores significantly lower"
)
SMALL_LOSS = "{loss} below the best mean, within the tolerance of {tolerance}"

Table = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """setting: row of the recommended setting, None where there are too few questions. best: the row with the
    best mean, None where no question has a value. loss: the recommended setting's mean loss against it.
    p: of the test that no other setting is better (NaN where none has a better mean). held_out: the mean of
    what the rule chooses, on questions that it was not chosen on. reason: why."""

    setting: int | None
    best: int | None
    loss: float
    p: float
    held_out: Mean
    questions: int
    reason: Said


RULE = (
    "the first setting (fewest hops, then as listed) that no other setting beats in {measure} "
    "significantly and by more than {tolerance} (paired randomisation test against all others at once, p "
    "< {error}); no recommendation below {n} questions"
)


def rule(measure: str, tolerance: float) -> Said:
    """How a setting is chosen, in words."""
    least = str(RELIABLE_FROM)
    return said(RULE, measure=measure, tolerance=f"{tolerance:g}", error=f"{ERROR:g}", n=least)


def recommend(
    columns: Sequence[Column],
    hops: Sequence[int | None],
    rows: Sequence[int],
    *,
    tolerance: float,
    higher_is_better: bool,
    seed: int,
    bounds: tuple[float, float] = SHARE,
    groups: Groups | None = None,
) -> Recommendation:
    """columns: the deciding measure of each setting, one value a question; hops: None where it does not walk
    (looked at last); rows: what a setting is called in the answer; groups: of each question."""
    table = np.stack(columns)
    defined = ~np.isnan(table).any(axis=0)
    table = table[:, defined]
    group = (
        np.arange(table.shape[1]) if groups is None else np.unique(groups[defined], return_inverse=True)[1]
    )
    questions, observations = table.shape[1], int(group.max(initial=-1)) + 1
    gains = table if higher_is_better else -table
    best = _order(gains, hops)[1] if questions else None
    if best is None or observations < RELIABLE_FROM:
        leading, few = None if best is None else rows[best], TOO_FEW if groups is None else TOO_FEW_GROUPS
        reason = said(few, n=f"{observations:,}", least=str(RELIABLE_FROM))
        return Recommendation(None, leading, math.nan, math.nan, UNDEFINED, questions, reason)
    span = bounds[1] - bounds[0]
    chosen, p = _chosen(gains, hops, group, tolerance, seed, DRAWS, span)
    loss = float((gains[best] - gains[chosen]).mean())
    grouping = None if groups is None else group
    held_out = mean_of(
        _held_out(table, gains, hops, group, tolerance, seed, span), groups=grouping, bounds=bounds
    )
    # Other folds choose other settings: what they score varies less than what this one would score elsewhere.
    own = mean_of(table[chosen], groups=grouping, bounds=bounds)
    held_out = replace(held_out, low=min(held_out.low, own.low), high=max(held_out.high, own.high))
    alike = _alike(gains, chosen, grouping, seed, span) if chosen == best else 0
    figures = {
        "loss": f"{loss:.3f}",
        "p": f"{p:.3f}",
        "tolerance": f"{tolerance:g}",
        "alike": str(alike),
        "others": str(len(gains) - 1),
    }
    if len(gains) == 1:
        why = ONLY
    elif chosen == best:
        why = BEST_OF_ALIKE if alike else BEST
    else:
        why = ALIKE if p >= ERROR else SMALL_LOSS
    return Recommendation(rows[chosen], rows[best], loss, p, held_out, questions, said(why, **figures))


def _order(gains: Table, hops: Sequence[int | None]) -> tuple[list[int], int]:
    """The settings as they are looked at, and the one with the best mean (of equals the first).

    Their means don't decide the order: else of equal systems the luckiest would come first.
    """
    means = gains.mean(axis=1)
    order = sorted(range(len(means)), key=lambda row: (hops[row] is None, hops[row] or 0, row))
    return order, min(order, key=lambda row: -means[row])


def _alike(gains: Table, chosen: int, groups: Groups | None, seed: int, span: float) -> int:
    """How many other settings do not differ significantly from the chosen one, each tested against it
    (Holm)."""
    ps = [
        difference_p(gains[chosen] - gains[row], seed=seed, draws=DRAWS, groups=groups, span=span)
        for row in range(len(gains))
        if row != chosen
    ]
    return sum(p >= ERROR for p in holm(ps))


def _chosen(
    gains: Table,
    hops: Sequence[int | None],
    group: Groups,
    tolerance: float,
    seed: int,
    draws: int,
    span: float,
) -> tuple[int, float]:
    """The first setting in order that no other beats, and the p of that. group: numbers from 0 up."""
    order, best = _order(gains, hops)
    size = int(group.max()) + 1
    sums: Table = np.stack(
        [np.bincount(group, weights=row, minlength=size).astype(np.float64) for row in gains], axis=1
    )
    for candidate in order:
        if candidate == best:
            return candidate, math.nan
        p = _none_is_better(sums - sums[:, [candidate]], seed, draws)
        if p < ERROR:  # signs that flip test symmetry: a few large losses may be unseen
            p = max(p, unseen_p((gains[best] - gains[candidate]), span=span))
        if p >= ERROR or (gains[best] - gains[candidate]).mean() <= tolerance:
            return candidate, p
    raise AssertionError("the best setting is always among them")


def _none_is_better(better: Table, seed: int, draws: int) -> float:
    """One-sided p that no column's sum is above 0 by more than chance: the largest of their t-like sums, with
    the signs of whole rows flipped. better: (observations, settings). Source: Westfall & Young (1993)."""
    better = better[:, (np.abs(better) > 1e-12).any(axis=0)]
    better = better[(np.abs(better) > 1e-12).any(axis=1)]
    if not better.size:
        return 1.0
    better = better / np.sqrt((better**2).sum(axis=0))
    reached = float(better.sum(axis=0).max()) - 1e-9
    random, extreme, done = np.random.default_rng(seed), 0, 0
    if len(better) > NORMAL_FROM:  # so many signs sum up to normal variables with the columns' correlation
        values, vectors = np.linalg.eigh(better.T @ better)
        spread = vectors * np.sqrt(np.maximum(values, 0.0))
        sums = random.standard_normal((draws, better.shape[1])) @ spread.T
        return (1 + int((sums.max(axis=1) >= reached).sum())) / (1 + draws)
    step = max(1, CHUNK_CELLS // len(better))
    while done < draws:
        now = min(step, draws - done)
        signs = random.integers(0, 2, size=(now, len(better)), dtype=np.int8) * 2.0 - 1.0
        extreme += int(((signs @ better).max(axis=1) >= reached).sum())
        done += now
    return (1 + extreme) / (1 + draws)


def _held_out(
    table: Table,
    gains: Table,
    hops: Sequence[int | None],
    group: Groups,
    tolerance: float,
    seed: int,
    span: float,
) -> Column:
    """(questions,) the value of the setting that the other folds choose, averaged over the repeats."""
    seeds = count(seed)

    def value(rows: Rows, out: Rows) -> Column:
        rest = np.unique(group[rows], return_inverse=True)[1]
        chosen, _ = _chosen(gains[:, rows], hops, rest, tolerance, next(seeds), DRAWS_OF_A_FOLD, span)
        return np.asarray(table[chosen, out])

    return held_out(group, seed, value)


def splits(groups: Groups, seed: int, repeats: int = REPEATS) -> list[tuple[Rows, Rows]]:
    """(rows that choose, rows held out), FOLDS of them a repeat; groups stay whole."""
    random, found = np.random.default_rng(seed), []
    size = int(groups.max(initial=-1)) + 1
    for _ in range(repeats):
        fold = (random.permutation(size) % FOLDS)[groups]
        for number in range(FOLDS):
            found.append((np.flatnonzero(fold != number), np.flatnonzero(fold == number)))
    return found


def held_out(
    groups: Groups, seed: int, values: Callable[[Rows, Rows], Column], repeats: int = REPEATS
) -> Column:
    """(questions,) the value of each with what other questions chose, averaged over the repeats; 0 where
    there are no others.

    values: of (rows that choose, rows held out), the value of each row held out.
    """
    total = np.zeros(len(groups))
    for chosen_on, out in splits(groups, seed, repeats):
        if len(out) and len(chosen_on):
            total[out] += values(chosen_on, out)
    return total / repeats
