"""Measures of sets: pooled counts, what should not have been there, questions without an answer; and how long
questions take."""

from __future__ import annotations

import math

import numpy as np

from tiny_graph_rag.measures.base import Column, defined, divided, found_items, hits, measure, returned
from tiny_graph_rag.measures.judged import Judged

POOLED = "Manning, Raghavan & Schütze (2008), 13.6"


def _returned(judged: Judged, cutoff: int | None) -> Column:
    """A question that failed, or that the run lacks, counts as k wrong entities: no list is worse."""
    assert cutoff is not None
    return defined(judged, np.where(judged.answered, returned(judged, cutoff), cutoff))


def _relevant(judged: Judged, cutoff: int | None) -> Column:
    return defined(judged, judged.relevant.astype(np.float64))


def _both(judged: Judged, cutoff: int | None) -> Column:
    return _returned(judged, cutoff) + _relevant(judged, cutoff)


@measure("micro_precision", source=POOLED, weight=_returned)
def micro_precision(judged: Judged, cutoff: int | None) -> Column:
    """TP / (TP + FP) in the first k, TP and FP added up over the questions; undefined where nothing returned.

    Of one question: its own share, which weighs as much as it returned. One that failed, or that the run
    lacks, counts as k wrong ones.
    """
    count = _returned(judged, cutoff)
    return np.where(count > 0, divided(hits(judged, cutoff), count), np.nan)


@measure("micro_recall", source=POOLED, weight=_relevant)
def micro_recall(judged: Judged, cutoff: int | None) -> Column:
    """TP / (TP + FN) in the first k, TP and FN added up over the questions."""
    return defined(judged, divided(found_items(judged, cutoff), judged.relevant))


@measure("micro_f1", source=POOLED, weight=_both)
def micro_f1(judged: Judged, cutoff: int | None) -> Column:
    """2 TP / (2 TP + FP + FN) in the first k, all three added up over the questions."""
    return defined(judged, divided(2 * hits(judged, cutoff), returned(judged, cutoff) + judged.relevant))


@measure("set_f1", cutoff="optional", source="trec_eval 9 (set_F)")
def set_f1(judged: Judged, cutoff: int | None) -> Column:
    """2 TP / (retrieved + relevant), of the first k or of all: f1 over what was really retrieved, so that a
    list shorter than k is not held against it."""
    count = returned(judged, cutoff) + judged.relevant
    return defined(judged, divided(2 * hits(judged, cutoff), count))


@measure("judged_bad", source="graded gold sets (irrelevant_entities)", higher_is_better=False)
def judged_bad(judged: Judged, cutoff: int | None) -> Column:
    """Entities among the first k that the gold set marks as irrelevant, divided by k; undefined without."""
    assert cutoff is not None
    found = judged.irrelevant[:, :cutoff].sum(axis=1, dtype=np.float64) / cutoff
    return np.where(judged.judged_irrelevant > 0, found, np.nan)


@measure("no_answer_accuracy", cutoff="none", source="SQuAD 2.0 (Rajpurkar et al. 2018), for retrieval")
def no_answer_accuracy(judged: Judged, cutoff: int | None) -> Column:
    """Of questions without references: 1 where nothing was retrieved, else 0. Undefined for the others.

    A question that failed, or that the run lacks, scores 0: nobody knows that it would have returned nothing.
    """
    return np.where(judged.relevant == 0, (judged.retrieved == 0).astype(np.float64), np.nan)


@measure(
    "latency",
    cutoff="none",
    high=math.inf,
    higher_is_better=False,
    source="wall clock: the run's own, else at most evaluation.latency_sample questions run alone",
    times=True,
)
def latency(judged: Judged, cutoff: int | None) -> Column:
    "Seconds that a question took; undefined if it was not timed."
    return np.full(len(judged), np.nan) if judged.seconds is None else np.asarray(judged.seconds, np.float64)
