"""Discounted cumulative gain, in the definitions that circulate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.metrics.base import Column, measure
from tiny_graph_rag.metrics.columns import added_up, defined, divided
from tiny_graph_rag.metrics.judged import Judged


def _dcg(gains: NDArray[np.float64]) -> Column:
    """Σ gain / log2(rank + 1)."""
    return added_up(gains / np.log2(np.arange(2, gains.shape[1] + 2)))


def _gain(grades: NDArray[np.int32], cutoff: int | None) -> NDArray[np.float64]:
    return grades[:, :cutoff].astype(np.float64)


def _exponential(grades: NDArray[np.int32], cutoff: int | None) -> NDArray[np.float64]:
    return np.exp2(_gain(grades, cutoff)) - 1


@measure("ndcg", cutoff="optional", source="Järvelin & Kekäläinen (2002); trec_eval 9 (ndcg, ndcg_cut)")
def ndcg(judged: Judged, cutoff: int | None) -> Column:
    """Discounted gain (grade / log2(rank + 1)) of the first k, over that of the best order possible."""
    return defined(judged, divided(_dcg(_gain(judged.grades, cutoff)), _dcg(_gain(judged.ideal, cutoff))))


@measure("ndcg_exp", cutoff="optional", source="Burges et al. (2005)")
def ndcg_exponential(judged: Judged, cutoff: int | None) -> Column:
    """ndcg@k with the gain 2^grade − 1: a highly relevant entity weighs 3, a relevant one 1."""
    best = _dcg(_exponential(judged.ideal, cutoff))
    return defined(judged, divided(_dcg(_exponential(judged.grades, cutoff)), best))


@measure("ndcg_retrieved", source="K-RAG evaluators")
def ndcg_of_the_retrieved(judged: Judged, cutoff: int | None) -> Column:
    """ndcg@k with the ideal made from the first k only: misleading, for comparison with tutorials.

    It asks only how the retrieved were ordered: a list that finds one of ten references and puts it first
    scores 1, and finding a second one further down lowers the score. 0 where none of the first k is relevant.
    """
    grades = _gain(judged.grades, cutoff)
    best_first = -np.sort(-grades, axis=1)
    return defined(judged, divided(_dcg(grades), _dcg(best_first)))
