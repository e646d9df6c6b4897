"""Measures of a ranked list against relevant entities: what stands in the first k, and where the first is.

All take `judged` (questions × ranks) and a cutoff, and return (questions,) float64. A question without any
relevant entity is NaN: undefined is not zero.
"""

from __future__ import annotations

import numpy as np

from tiny_graph_rag.metrics.base import Column, measure
from tiny_graph_rag.metrics.columns import defined, divided, hits, returned, within_cutoff
from tiny_graph_rag.metrics.judged import Judged

TREC_EVAL = "trec_eval 9"
TUTORIAL = "K-RAG evaluators"


def _best_precision(judged: Judged, cutoff: int | None) -> Column:
    assert cutoff is not None
    return within_cutoff(judged, cutoff) / cutoff


def _best_recall(judged: Judged, cutoff: int | None) -> Column:
    return divided(within_cutoff(judged, cutoff), judged.relevant)


def _best_f1(judged: Judged, cutoff: int | None) -> Column:
    assert cutoff is not None
    return divided(2 * within_cutoff(judged, cutoff), judged.relevant + cutoff)


@measure("precision", source=TREC_EVAL + " (P)", ceiling=_best_precision)
def precision(judged: Judged, cutoff: int | None) -> Column:
    """Relevant among the first k, divided by k, however short the list is."""
    assert cutoff is not None
    return defined(judged, hits(judged, cutoff) / cutoff)


@measure("recall", source=TREC_EVAL + " (recall)", ceiling=_best_recall)
def recall(judged: Judged, cutoff: int | None) -> Column:
    """Relevant among the first k, divided by the number of relevant."""
    return defined(judged, divided(hits(judged, cutoff), judged.relevant))


@measure("f1", source="van Rijsbergen (1979), per question", ceiling=_best_f1)
def f1(judged: Judged, cutoff: int | None) -> Column:
    """Harmonic mean of precision@k and recall@k of the question, then averaged."""
    assert cutoff is not None
    return defined(judged, divided(2 * hits(judged, cutoff), judged.relevant + cutoff))


@measure("set_precision", source=TUTORIAL)
def set_precision(judged: Judged, cutoff: int | None) -> Column:
    """Relevant among the first k, divided by the number really returned among them; 0 where nothing was."""
    return defined(judged, divided(hits(judged, cutoff), returned(judged, cutoff)))


@measure("hit", source=TREC_EVAL + " (success)")
def hit(judged: Judged, cutoff: int | None) -> Column:
    """1 where any reference stands in the first k, else 0."""
    return defined(judged, (hits(judged, cutoff) > 0).astype(np.float64))


@measure("all_hit", source=TUTORIAL)
def all_hit(judged: Judged, cutoff: int | None) -> Column:
    """1 where all references stand in the first k, else 0."""
    return defined(judged, (hits(judged, cutoff) == judged.relevant).astype(np.float64))


@measure("mrr", cutoff="optional", source="Voorhees, TREC-8 QA track (1999); " + TREC_EVAL + " (recip_rank)")
def reciprocal_rank(judged: Judged, cutoff: int | None) -> Column:
    """1 / rank of the first relevant entity; 0 where none is ranked (within k)."""
    found = judged.grades[:, :cutoff] > 0
    if not found.shape[1]:
        return defined(judged, np.zeros(len(judged)))
    return defined(judged, np.where(found.any(axis=1), 1.0 / (found.argmax(axis=1) + 1), 0.0))


@measure("rprec", cutoff="none", source=TREC_EVAL + " (Rprec)")
def r_precision(judged: Judged, cutoff: int | None) -> Column:
    """Relevant among the first R, divided by R, the number of relevant."""
    within = np.arange(judged.grades.shape[1]) < judged.relevant[:, None]
    found = ((judged.grades > 0) & within).sum(axis=1)
    return defined(judged, divided(found, judged.relevant))


@measure("bpref", cutoff="none", source="Buckley & Voorhees (2004); " + TREC_EVAL + " (bpref)")
def bpref(judged: Judged, cutoff: int | None) -> Column:
    """How seldom entities judged irrelevant stand above relevant ones; entities not judged don't count.

    Mean over the relevant of 1 − min(irrelevant above, R) / min(R, judged irrelevant); not retrieved is 0.
    """
    above = np.cumsum(judged.irrelevant, axis=1, dtype=np.float64)
    most = np.minimum(judged.relevant, judged.judged_irrelevant).astype(np.float64)[:, None]
    share = np.divide(
        np.minimum(above, judged.relevant[:, None]), most, out=np.zeros_like(above), where=most > 0
    )
    return defined(judged, divided(np.where(judged.grades > 0, 1 - share, 0.0).sum(axis=1), judged.relevant))
