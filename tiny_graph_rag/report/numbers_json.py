"""Means, counts and seconds as every results file holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.evaluation.summary import Slice
from tiny_graph_rag.metrics import Mean, Measure
from tiny_graph_rag.metrics.statistics import percentiles

SCHEMA_VERSION = 1


def number(value: float) -> float | None:
    """JSON has no NaN: undefined is null."""
    return None if math.isnan(value) else float(value)


def mean_fields(mean: Mean) -> dict[str, Any]:
    """A mean as results files hold it."""
    return {
        "mean": number(mean.mean),
        "low": number(mean.low),
        "high": number(mean.high),
        "n": mean.n,
        "reliable": mean.reliable,
    }


def headline(found: Mapping[Measure, Mean], cutoff: int) -> dict[str, float | None]:
    """The four means under their fixed names, as far as they were computed."""
    fixed = {
        "mean_precision_at_k": Measure("precision", cutoff),
        "mean_recall_at_k": Measure("recall", cutoff),
        "mean_mrr": Measure("mrr"),
        "mean_ndcg_at_k": Measure("ndcg", cutoff),
    }
    return {name: number(found[each].mean) for name, each in fixed.items() if each in found}


def latency_document(seconds: NDArray[np.float64]) -> dict[str, Any]:
    """Seconds a question, over those that were timed."""
    timed = seconds[~np.isnan(seconds)]
    if not len(timed):
        return {"mean": None, "p50": None, "p95": None, "n": 0}
    p50, p95 = percentiles(np.sort(timed)[:, None], (0.5, 0.95))[0].tolist()
    return {"mean": float(timed.mean()), "p50": p50, "p95": p95, "n": len(timed)}


def slice_document(part: Slice) -> dict[str, Any]:
    """Counts and means of all questions or of one tag."""
    return {
        "questions": part.questions,
        "scored": part.questions - part.without_gold,
        "without_gold": part.without_gold,
        "nothing_retrieved": part.nothing_retrieved,
        "failed": 0,
        "measures": {str(each): mean_fields(mean) for each, mean in part.measures.items()},
    }
