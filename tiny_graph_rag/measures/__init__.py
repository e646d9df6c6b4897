"""Measures: how well a run meets the judgments."""

from tiny_graph_rag.measures.base import (
    KINDS,
    Measure,
    default_measures,
    measures_of,
    parse_measures,
    score,
    weights,
)
from tiny_graph_rag.measures.judged import Judged, judge
from tiny_graph_rag.measures.statistics import Mean, means

__all__ = [
    "KINDS",
    "Judged",
    "Mean",
    "Measure",
    "default_measures",
    "judge",
    "means",
    "measures_of",
    "parse_measures",
    "score",
    "weights",
]
