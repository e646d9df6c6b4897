"""Small steps that measures share, all over whole columns of questions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.metrics.judged import Judged

Column = NDArray[np.float64]


def defined(judged: Judged, values: NDArray[np.float64]) -> Column:
    """NaN where a question has no relevant entity."""
    return np.where(judged.relevant > 0, values, np.nan)


def divided(numerator: NDArray[Any], denominator: NDArray[Any]) -> Column:
    """Row by row, 0 where the denominator is 0."""
    out: Column = np.zeros(len(numerator), dtype=np.float64)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def hits(judged: Judged, cutoff: int | None) -> Column:
    """Relevant entities among the first k."""
    found: Column = (judged.grades[:, :cutoff] > 0).sum(axis=1).astype(np.float64)
    return found


def returned(judged: Judged, cutoff: int | None) -> Column:
    """Entities that the list really has among its first k."""
    length = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    return np.asarray(length, dtype=np.float64)


def within_cutoff(judged: Judged, cutoff: int | None) -> Column:
    """Relevant entities that the first k have room for."""
    room = judged.relevant if cutoff is None else np.minimum(judged.relevant, cutoff)
    return np.asarray(room, dtype=np.float64)


def added_up(values: NDArray[np.float64]) -> Column:
    """Row sums, added rank by rank, so that they don't depend on how the machine splits a sum."""
    if not values.shape[1]:
        return np.zeros(len(values))
    return np.asarray(np.add.accumulate(values, axis=1)[:, -1])
