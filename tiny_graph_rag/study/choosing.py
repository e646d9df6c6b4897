"""Which setting to take, and how certain it is to beat today's.

Two questions with two answers. What to take is decided by the means: the cheapest setting within TOLERANCE of
the best mean. Whether it is better than today's is a claim, and a claim is corrected for the number of
settings that were tried (a max-type test: Westfall & Young 1993). What can't be claimed is "not certain",
which is not the same as "as good".

benchmarks/choosing.py measures what the choice loses against the truly best setting, and how often one of
several equal settings is claimed to be better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import numbered
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.paired import EQUAL, unseen_p
from tiny_graph_rag.measures.statistics import RELIABLE_FROM, Groups

TOLERANCE = 0.005  # of the measure: means that differ by less count as equal, and the cheapest is taken
ERROR = 0.04  # of the corrected two-sided p; .05 calls one of 25 equal settings certain in 2 to 4 % of cases
DRAWS = 4000  # standard error of a p near .05: .003
FOLDS, REPEATS = 5, 4  # every question is left out REPEATS times
CHUNK_CELLS = 1 << 22  # random signs held at once
NORMAL_FROM = 500  # groups from which sums of random signs are drawn as normal variables

Table = NDArray[np.float64]
Rows = NDArray[np.int64]


class Choice(Struct, frozen=True, eq=False):
    """setting: row of the setting to take, None where no question has a value. expected: its gain over
    today's that other questions can be expected to show, shrunk for having been chosen; never more than the
    measured gain. p: (settings,) of "no different from today's", corrected for all that were tried, NaN for
    today's. questions, groups: that have a value under every setting. certain: whether the setting is today's
    or its p is below ERROR."""

    setting: int | None
    expected: float
    p: Column
    questions: int
    groups: int
    certain: bool


def choose(
    gains: Table,
    costs: Sequence[tuple[str, float]],
    today: int | None,
    groups: Groups | None = None,
    *,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    span: float = 1.0,
) -> Choice:
    """gains: (settings, questions) values of the deciding measure, higher better, NaN where undefined.

    costs: of each setting what it belongs to and its cost there: settings of different families (retrievers,
    linkers) have no order of cost, so only those of the best one's family are taken in its place. today: row
    of today's setting, None where it was not tried. groups: of each question; a group is one observation.
    """
    defined = ~np.isnan(gains).any(axis=0)
    gains = gains[:, defined]
    questions = gains.shape[1]
    of_question = np.arange(questions) if groups is None else groups[defined]
    group = numbered(of_question)
    size = int(group.max(initial=-1)) + 1
    nothing = np.full(len(gains), math.nan)
    if not questions:
        return Choice(None, math.nan, nothing, 0, 0, False)
    setting = cheapest(gains.mean(axis=1), costs, tolerance)
    if today is None:
        return Choice(setting, math.nan, nothing, questions, size, False)
    differences = gains - gains[today]
    p, expected = against_today(differences, group, setting, seed=seed, span=span)
    p[today] = math.nan
    certain = size >= RELIABLE_FROM and (setting == today or bool(p[setting] < ERROR))
    return Choice(setting, expected, p, questions, size, certain)


def cheapest(means: Column, costs: Sequence[tuple[str, float]], tolerance: float = TOLERANCE) -> int:
    """The row of the cheapest setting of the best one's family whose mean is within `tolerance` of the best;
    of equally cheap ones the best, then the first."""
    best = int(means.argmax())
    near = [
        row
        for row in range(len(means))
        if costs[row][0] == costs[best][0] and means[row] >= means[best] - tolerance
    ]
    return min(near, key=lambda row: (costs[row][1], -means[row], row))


def against_today(
    differences: Table, group: Groups, chosen: int, *, seed: int, span: float = 1.0
) -> tuple[Column, float]:
    """(p of each setting, expected gain of the chosen one) from its differences to today's.

    p: two-sided, by the largest of all settings' t-like sums under random signs of whole groups; where a few
    large losses may be unseen, `unseen_p` if that is more. The expected gain is shrunk as James & Stein
    (1961) do, by the mean square of that largest sum where nothing differs.
    """
    size = int(group.max(initial=-1)) + 1
    sums: Table = np.stack([np.bincount(group, weights=row, minlength=size) for row in differences], axis=1)
    scale = np.sqrt((sums**2).sum(axis=0))
    moved = scale > EQUAL
    statistic = np.zeros(len(differences))
    statistic[moved] = sums[:, moved].sum(axis=0) / scale[moved]
    largest = _largest_by_chance(sums[:, moved] / scale[moved], seed) if moved.any() else np.zeros(DRAWS)
    reached = np.abs(statistic) - 1e-9
    p = (1 + (largest[:, None] >= reached).sum(axis=0)) / (1 + DRAWS)
    p[~moved] = 1.0
    for row in np.flatnonzero(p < ERROR).tolist():
        p[row] = max(p[row], unseen_p(differences[row], span=span, groups=group))
    gain, t = float(differences[chosen].mean()), float(statistic[chosen])
    kept = max(0.0, 1 - float((largest**2).mean()) / t**2) if t else 0.0
    return p, gain * kept


def _largest_by_chance(better: Table, seed: int) -> Column:
    """(DRAWS,) the largest absolute sum of a column, with the signs of whole rows flipped at random.

    better: (groups, settings), each column of length 1.
    """
    random = np.random.default_rng(seed)
    better = better[(np.abs(better) > EQUAL).any(axis=1)]
    if len(better) > NORMAL_FROM:  # so many signs sum up to normal variables with the columns' correlation
        values, vectors = np.linalg.eigh(better.T @ better)
        spread = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = random.standard_normal((DRAWS, better.shape[1])) @ spread.T
        return np.asarray(np.abs(drawn).max(axis=1))
    step, parts, done = max(1, CHUNK_CELLS // max(len(better), 1)), [], 0
    while done < DRAWS:
        now = min(step, DRAWS - done)
        signs = random.integers(0, 2, size=(now, len(better)), dtype=np.int8) * 2.0 - 1.0
        parts.append(np.abs(signs @ better).max(axis=1))
        done += now
    return np.concatenate(parts)


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
