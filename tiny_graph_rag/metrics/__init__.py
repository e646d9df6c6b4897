"""Measures: how well a run meets the judgments."""

from tiny_graph_rag.metrics import ranking, precision, gain, sets, coverage  # noqa: F401, I001 - listed in this order
from tiny_graph_rag.metrics.base import (
    KINDS,
    Measure,
    ceilings,
    default_measures,
    parse_measures,
    score,
    weights,
)
from tiny_graph_rag.metrics.judged import Judged, judge
from tiny_graph_rag.metrics.statistics import Mean, means

__all__ = [
    "KINDS",
    "Judged",
    "Mean",
    "Measure",
    "ceilings",
    "default_measures",
    "judge",
    "means",
    "parse_measures",
    "score",
    "weights",
]
