"""Stretches of judged questions, and the columns of scores that are gathered while they pass by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.measures import Judged, Measure, ceilings, score, weights
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.statistics import mean_of
from tiny_graph_rag.measures.summary import Beside, Summary, numbered, slices
from tiny_graph_rag.messages import said

Labels = Callable[[NDArray[np.int64]], list[tuple[str, str, float]]]


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Of large runs, whose results say neither rankings nor references: names where one is asked for.

    retrieved: rows of the run's table → names. wanted: items (rows of all references) → names.
    """

    retrieved: Callable[[NDArray[np.int64]], list[str]]
    wanted: Callable[[NDArray[np.int64]], list[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Some questions, judged. labels: rows of the run's table → (id, name, score) of each.

    order: the place of each question in the gold set, where stretches come in another order.
    duplicates: lines of the run that were dropped. references: of each question, (name, grade, ids of the
    entities that fill it, level, item) a reference. names: in place of labels and references. has_name:
    (items,) whether an entity of the graph has the reference, None without a graph.
    """

    ids: Sequence[str]
    judged: Judged
    labels: Labels = lambda rows: []
    references: Sequence[Sequence[tuple[str, int, list[str], str | None, int]]] = ()
    queries: Sequence[str] = ()
    tags: Sequence[Sequence[str]] = ()
    groups: Sequence[str | None] = ()
    latency_seconds: Mapping[str, float] = field(default_factory=dict)
    order: NDArray[np.int64] | None = None
    duplicates: int = 0
    names: Names | None = None
    has_name: NDArray[np.bool_] | None = None


_PARTS = ("_also", "_scores", "_weights", "_ceilings", "_relevant", "_retrieved", "_answered", "_order")


class Collected:
    """Columns of scores, gathered while stretches pass by."""

    def __init__(self, measures: Sequence[Measure], also: Sequence[Measure] = ()) -> None:
        """also: measures of which the mean alone is wanted."""
        self.measures = measures
        self.also = [measure for measure in also if measure not in measures]
        self._also: list[dict[Measure, Column]] = []
        self.tags: list[Sequence[str]] = []
        self.latencies: list[float] = []
        self._scores: list[dict[Measure, Column]] = []
        self._weights: list[dict[Measure, Column]] = []
        self._ceilings: list[dict[Measure, Column]] = []
        self.groups: list[str | None] = []
        self._relevant: list[NDArray[np.int64]] = []
        self._retrieved: list[NDArray[np.int64]] = []
        self._answered: list[NDArray[np.bool_]] = []
        self._order: list[NDArray[np.int64]] = []
        self._summary: Summary | None = None

    def add(self, stretch: Stretch) -> dict[Measure, Column]:
        columns = score(stretch.judged, self.measures)
        self._scores.append(columns)
        self._also.append(score(stretch.judged, self.also))
        self._weights.append(weights(stretch.judged, self.measures))
        self._ceilings.append(ceilings(stretch.judged, self.measures))
        if stretch.order is not None:
            self._order.append(stretch.order)
        self._relevant.append(stretch.judged.relevant)
        self._retrieved.append(stretch.judged.retrieved)
        self._answered.append(stretch.judged.answered)
        self.tags.extend(stretch.tags or [()] * len(stretch.ids))
        self.groups.extend(stretch.groups or [None] * len(stretch.ids))
        self.latencies.extend(stretch.latency_seconds.values())
        return columns

    def take(self, other: Collected) -> None:
        """What was collected of later stretches, for the same measures."""
        for name in ("tags", "latencies", "groups", *_PARTS):
            getattr(self, name).extend(getattr(other, name))

    def mean(self, measure: Measure) -> float:
        """Of a measure in `also`."""
        return mean_of(np.concatenate([part[measure] for part in self._also])).mean

    def columns(self) -> dict[Measure, Column]:
        return _joined(self._scores)

    def found(self) -> Summary:
        """Means and intervals, computed once and kept."""
        if self._summary is None:
            self._summary = self._summarised()
        return self._summary

    def _summarised(self) -> Summary:
        relevant, retrieved = np.concatenate(self._relevant), np.concatenate(self._retrieved)
        answered = np.concatenate(self._answered)
        columns, weighing, best = self.columns(), _joined(self._weights), _joined(self._ceilings)
        if self._order:  # so that the same questions give the same last digit, however the run was sorted
            order = np.argsort(np.concatenate(self._order))
            relevant, retrieved, answered = relevant[order], retrieved[order], answered[order]
            columns, weighing, best = (
                {key: column[order] for key, column in part.items()} for part in (columns, weighing, best)
            )
        beside = Beside(relevant, retrieved, answered, weighing, best, numbered(self.groups))
        return slices(columns, beside, self.tags)


def _joined(parts: Sequence[dict[Measure, Column]]) -> dict[Measure, Column]:
    return {piece: np.concatenate([part[piece] for part in parts]) for piece in parts[0]} if parts else {}


def counted(
    unknown: Sequence[str],
    missing: int,
    few_missing: Sequence[str],
    duplicates: int,
    failed: Sequence[str] = (),
) -> list[str]:
    """The warnings in words, for what there is of them."""
    found: tuple[tuple[int, str, str, Sequence[str]], ...] = (
        (len(unknown), UNKNOWN, UNKNOWN_MANY, unknown),
        (missing, MISSING, MISSING_MANY, few_missing),
        (len(failed), FAILED, FAILED_MANY, failed),
        (duplicates, DUPLICATE, DUPLICATES, ()),
    )
    return [
        said(
            one if count == 1 else many,
            n=f"{count:,}",
            such=said(" (such as {ids})", ids=", ".join(some[:3])) if some else "",
        )
        for count, one, many, some in found
        if count
    ]


UNKNOWN = "{n} question of the run is not in the gold set and is ignored{such}"
UNKNOWN_MANY = "{n} questions of the run are not in the gold set and are ignored{such}"
MISSING = "{n} question of the gold set is not in the run and gets the worst value of every measure{such}"
MISSING_MANY = (
    "{n} questions of the gold set are not in the run and get the worst value of every measure{such}"
)
FAILED = "{n} question of the run failed and gets the worst value of every measure{such}"
FAILED_MANY = "{n} questions of the run failed and get the worst value of every measure{such}"
DUPLICATE = "{n} duplicate in rankings is dropped after the first{such}"
DUPLICATES = "{n} duplicates in rankings are dropped after the first{such}"
