"""Means with their intervals and the number of questions behind each, over all questions and by tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.measures import Judged, Mean, Measure, means, weights
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.shown import short_repr

__all__ = ["Counts", "Mean", "Slice", "Summary", "rows_by_tag", "slices", "summarise"]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What a summary needs of each question beside its scores: int64 (questions,) each."""

    relevant: NDArray[np.int64]
    retrieved: NDArray[np.int64]

    __repr__ = short_repr


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


def rows_by_tag(tags: Sequence[Sequence[str]]) -> dict[str, NDArray[np.int64]]:
    """Tag → the questions that carry it, tags in the order of first appearance."""
    rows: dict[str, list[int]] = {}
    for row, its_tags in enumerate(tags):
        for tag in dict.fromkeys(its_tags):
            rows.setdefault(tag, []).append(row)
    return {tag: np.array(each, dtype=np.int64) for tag, each in rows.items()}


def summarise(
    scores: Mapping[Measure, Column], judged: Judged, tags: Sequence[Sequence[str]], *, seed: int = 0
) -> Summary:
    """tags: of each question; a question counts in every tag that it carries. seed: of the intervals."""
    counts = Counts(judged.relevant, judged.retrieved)
    return slices(scores, weights(judged, scores), counts, tags, seed=seed)


def slices(
    scores: Mapping[Measure, Column],
    weighing: Mapping[Measure, Column],
    counts: Counts,
    tags: Sequence[Sequence[str]],
    *,
    seed: int = 0,
) -> Summary:
    """The same from columns alone, for runs that are never in memory as a whole."""

    def part(rows: slice | NDArray[np.int64]) -> Slice:
        return Slice(
            questions=len(counts.relevant[rows]),
            without_gold=int((counts.relevant[rows] == 0).sum()),
            nothing_retrieved=int((counts.retrieved[rows] == 0).sum()),
            measures=means(
                {each: column[rows] for each, column in scores.items()},
                weights={each: column[rows] for each, column in weighing.items()},
                shares={each for each in scores if each.is_share},
                seed=seed,
            ),
        )

    return Summary(part(slice(None)), {tag: part(rows) for tag, rows in rows_by_tag(tags).items()})
