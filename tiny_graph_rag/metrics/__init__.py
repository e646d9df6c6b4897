"""Measures: how well a run meets the judgments."""

from tiny_graph_rag.metrics import ranking as _ranking  # noqa: F401 - registers its measures
from tiny_graph_rag.metrics.base import KINDS, Measure, default_measures, parse_measures, score
from tiny_graph_rag.metrics.judged import Judged, judge

__all__ = ["KINDS", "Judged", "Measure", "default_measures", "judge", "parse_measures", "score"]
