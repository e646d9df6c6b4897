"""How long questions take, as measures: of a run's own times, or of those timed one by one."""

from __future__ import annotations

import math

import numpy as np

from tiny_graph_rag.measures.base import Column, measure
from tiny_graph_rag.measures.judged import Judged


def _seconds(judged: Judged) -> Column:
    return np.full(len(judged), np.nan) if judged.seconds is None else np.asarray(judged.seconds, np.float64)


def _weight(judged: Judged, cutoff: int | None) -> Column:
    return _seconds(judged)


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
    return _seconds(judged)


@measure(
    "throughput",
    cutoff="none",
    high=math.inf,
    source="wall clock: the run's own, else at most evaluation.latency_sample questions run alone",
    weight=_weight,
    times=True,
)
def throughput(judged: Judged, cutoff: int | None) -> Column:
    """Questions per second, one after the other: timed questions divided by the sum of their seconds.

    Of one question: 1 / its seconds. Undefined where nobody timed it, or it took no time that can be
    measured.
    """
    seconds = _seconds(judged)
    return np.where(seconds > 0, 1 / np.where(seconds > 0, seconds, 1.0), np.nan)
