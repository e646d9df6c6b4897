"""Measures of a ranked list against relevant entities.

All take `judged` (questions × ranks) and a cutoff, and return (questions,) float64. A question without any
relevant entity is NaN: undefined is not zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.metrics.base import Column, measure
from tiny_graph_rag.metrics.judged import Judged

TREC_EVAL = "trec_eval 9"


def _defined(judged: Judged, values: NDArray[np.float64]) -> Column:
    return np.where(judged.relevant > 0, values, np.nan)


def _divided(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row by row, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator > 0)


def _hits(judged: Judged, cutoff: int | None) -> NDArray[np.float64]:
    found: NDArray[np.float64] = (judged.grades[:, :cutoff] > 0).sum(axis=1, dtype=np.float64)
    return found


@measure("precision", source=TREC_EVAL + " (P)")
def precision(judged: Judged, cutoff: int | None) -> Column:
    """Relevant among the first k, divided by k, however short the list is."""
    assert cutoff is not None
    return _defined(judged, _hits(judged, cutoff) / cutoff)


@measure("recall", source=TREC_EVAL + " (recall)")
def recall(judged: Judged, cutoff: int | None) -> Column:
    """Relevant among the first k, divided by the number of relevant."""
    return _defined(judged, _divided(_hits(judged, cutoff), judged.relevant.astype(np.float64)))


@measure("mrr", cutoff="optional", source="Voorhees, TREC-8 QA track (1999); " + TREC_EVAL + " (recip_rank)")
def reciprocal_rank(judged: Judged, cutoff: int | None) -> Column:
    """1 / rank of the first relevant entity; 0 where none is ranked (within k)."""
    found = judged.grades[:, :cutoff] > 0
    if not found.shape[1]:
        return _defined(judged, np.zeros(len(judged)))
    return _defined(judged, np.where(found.any(axis=1), 1.0 / (found.argmax(axis=1) + 1), 0.0))


@measure("ndcg", source="Järvelin & Kekäläinen (2002), linear gain; " + TREC_EVAL + " (ndcg_cut)")
def ndcg(judged: Judged, cutoff: int | None) -> Column:
    """Discounted gain (grade / log2(rank + 1)) of the first k, over that of the best possible order."""
    return _defined(judged, _divided(_dcg(judged.grades, cutoff), _dcg(judged.ideal, cutoff)))


def _dcg(grades: NDArray[np.int32], cutoff: int | None) -> NDArray[np.float64]:
    seen = grades[:, :cutoff].astype(np.float64)
    # Added rank by rank, so that the sum does not depend on how the machine splits a dot product.
    return (
        np.add.accumulate(seen / np.log2(np.arange(2, seen.shape[1] + 2)), axis=1)[:, -1]
        if seen.shape[1]
        else np.zeros(len(seen))
    )
