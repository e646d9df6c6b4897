"""Means with the number of questions behind each, over all questions and by tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tiny_graph_rag.metrics import Judged, Measure
from tiny_graph_rag.metrics.base import Column


@dataclass(frozen=True, slots=True)
class Mean:
    """mean: NaN where no question defines the measure. n: the questions behind it."""

    mean: float
    n: int


@dataclass(frozen=True, slots=True)
class Slice:
    """without_gold: of the questions, left out of every mean. nothing_retrieved: with an empty list."""

    questions: int
    without_gold: int
    nothing_retrieved: int
    measures: dict[Measure, Mean]


@dataclass(frozen=True, slots=True)
class Summary:
    overall: Slice
    by_tag: dict[str, Slice]


def summarise(scores: Mapping[Measure, Column], judged: Judged, tags: Sequence[Sequence[str]]) -> Summary:
    """tags: of each question; a question counts in every tag that it carries."""
    rows_of: dict[str, list[int]] = {}
    for row, its_tags in enumerate(tags):
        for tag in dict.fromkeys(its_tags):
            rows_of.setdefault(tag, []).append(row)
    everything = np.arange(len(judged))
    return Summary(
        _slice(scores, judged, everything),
        {tag: _slice(scores, judged, np.array(rows)) for tag, rows in rows_of.items()},
    )


def _slice(scores: Mapping[Measure, Column], judged: Judged, rows: np.ndarray) -> Slice:
    return Slice(
        questions=len(rows),
        without_gold=int((judged.relevant[rows] == 0).sum()),
        nothing_retrieved=int((judged.retrieved[rows] == 0).sum()),
        measures={each: _mean(column[rows]) for each, column in scores.items()},
    )


def _mean(values: Column) -> Mean:
    defined = values[~np.isnan(values)]
    return Mean(float(defined.mean()) if len(defined) else float("nan"), len(defined))
