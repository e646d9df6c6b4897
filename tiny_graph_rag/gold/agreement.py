"""How far two annotators agree beyond chance: Cohen's κ, plain and weighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GRADES = (0, 1, 2)
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """judged: entities that both judged; same: of these judged equally. kappa, weighted: in [-1, 1], NaN
    where nothing was judged by both, or both gave everything one and the same grade."""

    judged: int
    same: int
    kappa: float
    weighted: float


def agreement(one: Sequence[int], other: Sequence[int]) -> AnnotatorAgreement:
    """one, other: grades 0 to 2, or no and yes, of the same entities in the same order.

    κ = 1 - Σ w·observed / Σ w·expected, with w = 1 off the diagonal for κ and the squared distance of the
    grades for the weighted one. Sources: Cohen (1960), Cohen (1968).
    """
    observed = np.zeros((len(GRADES), len(GRADES)))
    for mine, yours in zip(one, other, strict=True):
        observed[int(mine), int(yours)] += 1  # a truth value alone would be a mask
    judged = int(observed.sum())
    same = int(np.trace(observed))
    if not judged:
        return AnnotatorAgreement(0, 0, float("nan"), float("nan"))
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / judged
    distance = np.subtract.outer(GRADES, GRADES).astype(float)
    return AnnotatorAgreement(
        judged, same, *(_kappa(observed, expected, w) for w in ((distance != 0) * 1.0, distance**2))
    )


def _kappa(observed: Matrix, expected: Matrix, weights: Matrix) -> float:
    by_chance = float((weights * expected).sum())
    return 1 - float((weights * observed).sum()) / by_chance if by_chance else float("nan")
