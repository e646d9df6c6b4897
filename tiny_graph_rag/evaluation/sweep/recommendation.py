"""Which setting to take: the smallest hop count whose loss against the best is surely small.

"Not significantly worse" would be no rule: on a small tag nothing is significant, and it recommends hop 0
for anything. Here the burden is reversed: the upper bound of the loss must lie within a tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiny_graph_rag.metrics.base import Column
from tiny_graph_rag.metrics.paired import upper_bound
from tiny_graph_rag.metrics.statistics import RELIABLE_FROM

ERROR = 0.05  # of all bounds of a recommendation together


@dataclass(frozen=True, slots=True)
class Recommendation:
    """setting: row of the recommended setting, None where there are too few questions. best: the row with the
    best mean. loss: the recommended setting's mean loss against it, upper: the bound that it must not exceed.
    reason: the same in words."""

    setting: int | None
    best: int | None
    loss: float
    upper: float
    questions: int
    reason: str


def rule(measure: str, tolerance: float) -> str:
    """The rule in words."""
    return (
        f"the smallest hop count for which the 95 % upper bound of the loss in {measure} against the best "
        f"setting (paired bootstrap, 10,000 draws, corrected for the number of settings) is at most "
        f"{tolerance:g}; none below {RELIABLE_FROM} questions"
    )


def recommend(
    columns: Sequence[Column],
    hops: Sequence[int | None],
    rows: Sequence[int],
    *,
    tolerance: float,
    higher_is_better: bool,
    seed: int,
) -> Recommendation:
    """columns: the deciding measure of each setting, one value a question; hops: None where it does not walk
    (looked at last); rows: what a setting is called in the answer."""
    table = np.stack(columns)
    table = table[:, ~np.isnan(table).any(axis=0)]
    questions = table.shape[1]
    if questions < RELIABLE_FROM:
        said = f"{questions} questions are too few to recommend by (fewer than {RELIABLE_FROM})"
        return Recommendation(None, None, math.nan, math.nan, questions, said)
    gains = table if higher_is_better else -table
    means = gains.mean(axis=1)
    order = sorted(
        range(len(means)), key=lambda each: (hops[each] is None, hops[each] or 0, -means[each], each)
    )
    best = min(order, key=lambda each: -means[each])  # of equals the first in this order
    error = ERROR / max(len(means) - 1, 1)
    for each in order:
        loss = gains[best] - gains[each]
        upper = upper_bound(loss, seed=seed, error=error)
        if each == best or upper <= tolerance:
            said = (
                "the best setting, and no smaller hop count is surely within the tolerance"
                if each == best
                else f"loses {loss.mean():.3f} against the best, surely at most {upper:.3f}"
            )
            return Recommendation(rows[each], rows[best], float(loss.mean()), upper, questions, said)
    raise AssertionError("the best setting is always among them")
