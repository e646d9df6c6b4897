"""Means with their intervals and the number of questions behind each, over all questions and by tag, as
results files hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import short_repr, unique
from tiny_graph_rag.measures import Judged, Measure, means, weights
from tiny_graph_rag.measures import Mean as Mean
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.statistics import Groups, percentiles
from tiny_graph_rag.results import Latency, as_read


class Slice(Struct, frozen=True):
    """scored: of the questions, those with gold. without_gold: in no mean but those of measures that score
    them; rightly_empty: of these, answered with an empty list. nothing_retrieved: answered with an empty
    list, with gold or without. failed: those without an answer, failed or absent from the run;
    failed_without_gold: of these, the ones without gold. groups: UNSET where every question stands for
    itself.
    """

    questions: int
    scored: int
    without_gold: int
    rightly_empty: int
    nothing_retrieved: int
    failed: int
    failed_without_gold: int
    measures: dict[Measure, Mean]
    groups: int | UnsetType = UNSET


class Summary(Struct, frozen=True):
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


class SummaryColumns(Struct, frozen=True, eq=False):
    """What a summary needs of each question, (questions,) each: of runs that are never in memory as a whole
    this is what is kept.

    scores: by measure. weights: of measures whose mean pools counts. tags, groups: of each question, which
    counts in every tag that it carries, and stands for itself where its group is None.
    """

    scores: Mapping[Measure, Column]
    relevant: NDArray[np.int64]
    retrieved: NDArray[np.int64]
    answered: NDArray[np.bool_]
    weights: Mapping[Measure, Column]
    tags: Sequence[Sequence[str]]
    groups: Sequence[str | None]

    __repr__ = short_repr

    def summary(self) -> Summary:
        groups = numbered(self.groups)

        def part(rows: slice | NDArray[np.int64]) -> Slice:
            without_gold, failed = self.relevant[rows] == 0, ~self.answered[rows]
            empty = (self.retrieved[rows] == 0) & ~failed
            columns = {measure: column[rows] for measure, column in self.scores.items()}
            of_rows = None if groups is None else groups[rows]
            return Slice(
                questions=len(without_gold),
                scored=int((~without_gold).sum()),
                without_gold=int(without_gold.sum()),
                rightly_empty=int((without_gold & empty).sum()),
                nothing_retrieved=int(empty.sum()),
                failed=int(failed.sum()),
                failed_without_gold=int((failed & without_gold).sum()),
                measures=means(
                    columns,
                    weights={measure: column[rows] for measure, column in self.weights.items()},
                    bounds={measure: measure.bounds for measure in columns},
                    groups=of_rows,
                ),
                groups=UNSET if of_rows is None else len(unique(of_rows)),
            )

        return Summary(part(slice(None)), {tag: part(rows) for tag, rows in rows_by_tag(self.tags).items()})


def summarise(
    scores: Mapping[Measure, Column],
    judged: Judged,
    tags: Sequence[Sequence[str]],
    groups: Sequence[str | None] = (),
) -> Summary:
    """Of questions that are in memory."""
    counts = judged.relevant, judged.returned, judged.answered
    return SummaryColumns(scores, *counts, weights(judged, scores), tags, groups).summary()


def latency_of(seconds: NDArray[np.float64]) -> Latency:
    """seconds: of each question, NaN where it was not timed."""
    timed = seconds[~np.isnan(seconds)]
    if not len(timed):
        return Latency()
    p50, p95 = percentiles(np.sort(timed)[:, None], (0.5, 0.95))[0].tolist()
    return Latency(float(timed.mean()), p50, p95, len(timed))


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
        **{name: means[one].mean if one in means else mean(one) for name, one in fixed.items()},
        **token_fields({**none, **(usage or {})}),
        "estimated_cost_usd": None if usage else 0.0,
        **as_read(found.overall),
        "by_tag": found.by_tag,
    }
