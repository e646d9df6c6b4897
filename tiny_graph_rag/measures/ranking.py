"""Measures of a ranked list against relevant entities: what stands in the first k, and where the first is.

All take `judged` (questions × ranks) and a cutoff, and return (questions,) float64. A question without any
relevant entity is NaN: undefined is not zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.measures.base import (
    Column,
    added_up,
    defined,
    divided,
    found_items,
    hits,
    measure,
    returned,
)
from tiny_graph_rag.measures.judged import Judged

TREC_EVAL = "trec_eval 9"
TUTORIAL = "K-RAG evaluators"
GOES_ON = 0.8  # p of rbp
HIGHEST_GRADE = 2  # of err
MOST_EXPONENT = 1000  # of ndcg_exp: the sum of many such gains is still finite

Grades = NDArray[np.int32] | NDArray[np.float64]


@measure("precision", source=TREC_EVAL + " (P)")
def precision(judged: Judged, cutoff: int | None) -> Column:
    """Relevant among the first k, divided by k, however short the list is."""
    assert cutoff is not None
    return defined(judged, hits(judged, cutoff) / cutoff)


@measure("recall", source=TREC_EVAL + " (recall)")
def recall(judged: Judged, cutoff: int | None) -> Column:
    """Relevant among the first k, divided by the number of relevant."""
    return defined(judged, divided(found_items(judged, cutoff), judged.relevant))


@measure("f1", source="van Rijsbergen (1979), per question")
def f1(judged: Judged, cutoff: int | None) -> Column:
    """Harmonic mean of precision@k and recall@k of the question, then averaged."""
    assert cutoff is not None
    return defined(judged, divided(2 * hits(judged, cutoff), judged.relevant + cutoff))


@measure("set_precision", source=TUTORIAL)
def set_precision(judged: Judged, cutoff: int | None) -> Column:
    "Relevant among the first k, divided by the number actually returned among them; 0 if nothing was."
    return defined(judged, divided(hits(judged, cutoff), returned(judged, cutoff)))


@measure("hit", source=TREC_EVAL + " (success)")
def hit(judged: Judged, cutoff: int | None) -> Column:
    "1 if any reference is among the first k, else 0."
    return defined(judged, (hits(judged, cutoff) > 0).astype(np.float64))


@measure("all_hit", source=TUTORIAL)
def all_hit(judged: Judged, cutoff: int | None) -> Column:
    "1 if all references are among the first k, else 0."
    return defined(judged, (found_items(judged, cutoff) == judged.relevant).astype(np.float64))


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
    """How rarely entities judged irrelevant are ranked above relevant ones; entities not judged don't count.

    Mean over the relevant of 1 − min(irrelevant above, R) / min(R, judged irrelevant); not retrieved is 0.
    """
    above = np.cumsum(judged.irrelevant, axis=1, dtype=np.float64)
    most = np.minimum(judged.relevant, judged.judged_irrelevant).astype(np.float64)[:, None]
    share = np.divide(
        np.minimum(above, judged.relevant[:, None]), most, out=np.zeros_like(above), where=most > 0
    )
    return defined(judged, divided(np.where(judged.grades > 0, 1 - share, 0.0).sum(axis=1), judged.relevant))


def _precision_at_hits(relevant: NDArray[np.bool_]) -> Column:
    """Σ over the relevant ranks of hits so far / rank."""
    n = len(relevant)
    row, rank = np.nonzero(relevant)
    counts = np.bincount(row, minlength=n)
    so_far = np.arange(1, len(row) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    # bincount adds one after the other: the sum does not depend on how the machine splits it.
    added: Column = np.bincount(row, weights=so_far / (rank + 1), minlength=n).astype(np.float64)
    return added


@measure("map", cutoff="optional", source="trec_eval 9 (map, map_cut)")
def average_precision(judged: Judged, cutoff: int | None) -> Column:
    """Mean over all relevant entities of the precision at their rank; 0 for those not found (within k)."""
    found = _precision_at_hits(judged.grades[:, :cutoff] > 0)
    return defined(judged, divided(found, judged.relevant))


@measure("map_hits", cutoff="optional", source="science-QA contest's scoring code")
def average_precision_over_hits(judged: Judged, cutoff: int | None) -> Column:
    """Mean over the relevant entities found (within k) of the precision at their rank; 0 where none is.

    Finding one of ten references at rank 1 scores 1, so it does not replace map.
    """
    found = _precision_at_hits(judged.grades[:, :cutoff] > 0)
    return defined(judged, divided(found, hits(judged, cutoff)))


@measure("contest_map", source="science-QA contest's rule (its cutoff is 3)")
def contest_average_precision(judged: Judged, cutoff: int | None) -> Column:
    """Average precision over the hits in the first k of the list as submitted, duplicates and all; a question
    without gold scores 1 where nothing was retrieved, else 0.

    A question that the run has no entry for is left out, by the contest's rule: it divides by what was
    submitted. One that failed scores 0.
    """
    relevant = judged.submitted[:, :cutoff]
    precision = divided(_precision_at_hits(relevant), relevant.sum(axis=1))
    scores = np.where(judged.relevant > 0, precision, (judged.retrieved == 0).astype(np.float64))
    return np.where(judged.absent, np.nan, scores)


@measure("rbp", cutoff="optional", source="Moffat & Zobel (2008)")
def rank_biased_precision(judged: Judged, cutoff: int | None) -> Column:
    """(1 − p) times the sum of p^(rank − 1) over the relevant ranks (within k): what a reader finds who goes
    on to the next rank with probability p = 0.8.

    With n relevant entities no list exceeds 1 − p^n. Relevant is any grade above 0.
    """
    relevant = judged.grades[:, :cutoff] > 0
    return defined(judged, (1 - GOES_ON) * added_up(relevant * GOES_ON ** np.arange(relevant.shape[1])))


def _dcg(gains: NDArray[np.float64]) -> Column:
    """Σ gain / log2(rank + 1)."""
    return added_up(gains / np.log2(np.arange(2, gains.shape[1] + 2)))


def _gain(grades: Grades, cutoff: int | None) -> NDArray[np.float64]:
    return grades[:, :cutoff].astype(np.float64)


def _exponential(grades: Grades, cutoff: int | None) -> NDArray[np.float64]:
    """Raises UsageError for a grade whose gain no number can hold."""
    most = float(grades.max(initial=0))
    if most > MOST_EXPONENT:
        raise UsageError(
            "ndcg_exp uses 2^grade, which is too large for grade {most} (at most {most_exponent}); use ndcg",
            most=f"{most:g}",
            most_exponent=MOST_EXPONENT,
        )
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


@measure("err", cutoff="optional", source="Chapelle, Metzler, Zhang & Grinspan (2009)")
def expected_reciprocal_rank(judged: Judged, cutoff: int | None) -> Column:
    """Σ 1/rank · R · Π (1 − R of those before), with R = (2^grade − 1) / 4: where a reader stops. Grades
    above 2 count as 2.

    A single entity of the highest grade at rank 1 gives .75.
    """
    grades = np.minimum(_gain(judged.grades, cutoff), HIGHEST_GRADE)
    satisfied = (np.exp2(grades) - 1) / 2**HIGHEST_GRADE
    reaches = np.cumprod(np.hstack([np.ones((len(satisfied), 1)), 1 - satisfied]), axis=1)[:, :-1]
    ranks = np.arange(1, satisfied.shape[1] + 1)
    return defined(judged, added_up(satisfied * reaches / ranks))


@measure(
    "ndcg_retrieved",
    source="krag (Python package), OfflineRetrievalEvaluators.calculate_ndcg; in no paper",
)
def ndcg_of_the_retrieved(judged: Judged, cutoff: int | None) -> Column:
    """ndcg@k with the ideal made from the first k only: misleading, for comparison with tutorials.

    It asks only how the retrieved were ordered: a list that finds one of ten references and puts it first
    scores 1, and finding a second one further down lowers the score. 0 where none of the first k is relevant.
    """
    grades = _gain(judged.grades, cutoff)
    best_first = -np.sort(-grades, axis=1)
    return defined(judged, divided(_dcg(grades), _dcg(best_first)))
