"""Means with their intervals and the number of questions behind each, over all questions and by tag; and how
results files hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.measures import Judged, Measure, means, weights
from tiny_graph_rag.measures import Mean as Mean
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.statistics import Groups, percentiles
from tiny_graph_rag.shown import short_repr


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """What a summary needs of each question next to its scores, (questions,) each.

    weights: of measures whose mean pools counts. groups: None where every question stands for itself.
    """

    relevant: NDArray[np.int64]
    retrieved: NDArray[np.int64]
    answered: NDArray[np.bool_]
    weights: Mapping[Measure, Column] = field(default_factory=dict)
    groups: Groups | None = None

    __repr__ = short_repr

    @classmethod
    def of(cls, judged: Judged, measures: Collection[Measure], groups: Sequence[str | None] = ()) -> Beside:
        return cls(
            judged.relevant,
            judged.returned,
            judged.answered,
            weights(judged, measures),
            numbered(groups),
        )


@dataclass(frozen=True, slots=True)
class Slice:
    """without_gold: of the questions, in no mean but those of measures that score them; rightly_empty: of
    these, answered with an empty list. nothing_retrieved: answered with an empty list, with gold or without.
    failed: those without an answer, failed or absent from the run; failed_without_gold: of these, the ones
    without gold. groups: None where every question stands for itself.
    """

    questions: int
    without_gold: int
    rightly_empty: int
    nothing_retrieved: int
    failed: int
    failed_without_gold: int
    measures: dict[Measure, Mean]
    groups: int | None = None


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
    return {tag: np.array(part, dtype=np.int64) for tag, part in rows.items()}


def numbered(groups: Sequence[str | None]) -> Groups | None:
    """The group of each question as a number, one of its own where it has none; None where nobody has one."""
    if not any(group is not None for group in groups):
        return None
    known: dict[str | int, int] = {}
    return np.array(
        [known.setdefault(row if group is None else group, len(known)) for row, group in enumerate(groups)],
        dtype=np.int64,
    )


def summarise(
    scores: Mapping[Measure, Column],
    judged: Judged,
    tags: Sequence[Sequence[str]],
    groups: Sequence[str | None] = (),
) -> Summary:
    """tags, groups: of each question; a question counts in every tag that it carries."""
    return slices(scores, Beside.of(judged, scores, groups), tags)


def slices(scores: Mapping[Measure, Column], beside: Beside, tags: Sequence[Sequence[str]]) -> Summary:
    """The same from columns alone, for runs that are never in memory as a whole."""

    def part(rows: slice | NDArray[np.int64]) -> Slice:
        without_gold, failed = beside.relevant[rows] == 0, ~beside.answered[rows]
        empty = (beside.retrieved[rows] == 0) & ~failed
        columns = {measure: column[rows] for measure, column in scores.items()}
        groups = None if beside.groups is None else beside.groups[rows]
        return Slice(
            questions=len(without_gold),
            without_gold=int(without_gold.sum()),
            rightly_empty=int((without_gold & empty).sum()),
            nothing_retrieved=int(empty.sum()),
            failed=int(failed.sum()),
            failed_without_gold=int((failed & without_gold).sum()),
            measures=means(
                columns,
                weights={key: column[rows] for key, column in beside.weights.items()},
                bounds={measure: measure.bounds for measure in columns},
                groups=groups,
            ),
            groups=None if groups is None else len(np.unique(groups)),
        )

    return Summary(part(slice(None)), {tag: part(rows) for tag, rows in rows_by_tag(tags).items()})


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
        "rightly_empty": part.rightly_empty,
        "nothing_retrieved": part.nothing_retrieved,
        "failed": part.failed,
        "failed_without_gold": part.failed_without_gold,
        **({"groups": part.groups} if part.groups is not None else {}),
        "measures": {str(measure): mean_fields(mean) for measure, mean in part.measures.items()},
    }


def token_fields(usage: Mapping[str, int]) -> dict[str, Any]:
    """`total_token_usage`, the one number that scripts read, and the same by kind."""
    return {"total_token_usage": usage["total_tokens"], "token_usage": dict(usage)}


def summary_fields(
    found: Summary, cutoff: int, mean: Callable[[Measure], float], usage: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """What every `summary` begins with, the four usual means under fixed names. mean: of a measure that was
    not asked for. usage: tokens by kind, whose price nobody knows."""
    means = found.overall.measures
    fixed = {
        "mean_precision_at_k": Measure("precision", cutoff),
        "mean_recall_at_k": Measure("recall", cutoff),
        "mean_mrr": Measure("mrr"),
        "mean_ndcg_at_k": Measure("ndcg", cutoff),
    }
    none = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {
        "k": cutoff,
        **{name: number(means[one].mean if one in means else mean(one)) for name, one in fixed.items()},
        **token_fields({**none, **(usage or {})}),
        "estimated_cost_usd": None if usage else 0.0,
        **slice_document(found.overall),
        "by_tag": {tag: slice_document(part) for tag, part in found.by_tag.items()},
    }
