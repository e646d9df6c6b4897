"""Stretches of judged questions, and the columns of scores that are gathered while they pass by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import fields, replace
from numpy.typing import NDArray

from tiny_graph_rag.measures import Judged, Measure, score, weights
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.summary import Summary, SummaryColumns
from tiny_graph_rag.messages import said

Labels = Callable[[NDArray[np.int64]], list[tuple[str, str, float]]]


class Stretch(Struct, frozen=True, eq=False):
    """Some questions, judged. labels: rows of the run's table → (id, name, score) of each.

    order: the place of each question in the gold set, where stretches come in another order.
    references: of each question, (name, grade, ids of the entities that fill it, level, item) a reference.
    missed: of large runs, whose results say neither rankings nor references: items (rows of all references) →
    names, in place of references. has_name: (items,) whether an entity of the graph has the
    reference, None without a graph.
    """

    ids: Sequence[str]
    judged: Judged
    labels: Labels = lambda rows: []
    references: Sequence[Sequence[tuple[str, int, list[str], str | None, int]]] = ()
    queries: Sequence[str] = ()
    tags: Sequence[Sequence[str]] = ()
    groups: Sequence[str | None] = ()
    order: NDArray[np.int64] | None = None
    missed: Callable[[NDArray[np.int64]], list[str]] | None = None
    has_name: NDArray[np.bool_] | None = None


class ScoreColumns(SummaryColumns, frozen=True, eq=False):
    """What is kept of stretches when they have passed by.

    scores: also of measures of which the mean alone is wanted. seconds: NaN where unknown. verdicts:
    (questions, verdicts) counts, None without a graph. order: as Stretch has it.
    """

    seconds: Column
    verdicts: NDArray[np.int64] | None = None
    order: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls, stretch: Stretch, measures: Iterable[Measure], verdicts: NDArray[np.int64] | None = None
    ) -> ScoreColumns:
        judged = stretch.judged
        scores, n = score(judged, dict.fromkeys(measures)), len(judged)
        return cls(
            scores,
            judged.relevant,
            judged.returned,
            judged.answered,
            weights(judged, scores),
            stretch.tags or [()] * n,
            stretch.groups or [None] * n,
            np.full(n, np.nan) if judged.seconds is None else judged.seconds,
            verdicts,
            stretch.order,
        )


class Collected:
    """ScoreColumns, gathered while stretches pass by."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.measures = measures
        self.parts: list[ScoreColumns] = []

    @cached_property
    def whole(self) -> ScoreColumns:
        """All of them, when they have passed by; in order of the gold set where they know it, so that the
        same questions give the same last digit, however the run was sorted."""
        columns = ([getattr(part, field.name) for part in self.parts] for field in fields(ScoreColumns))
        return ScoreColumns(*(_joined(column, self.order) for column in columns))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """(questions,) which of them, as they passed by, comes first, second and so on."""
        if not self.parts or self.parts[0].order is None:
            return np.arange(sum(len(part.seconds) for part in self.parts))
        return np.argsort(np.concatenate([part.order for part in self.parts if part.order is not None]))

    @cached_property
    def found(self) -> Summary:
        """Means and intervals."""
        scores = {measure: self.whole.scores[measure] for measure in self.measures}
        return replace(self.whole, scores=scores).summary()

    @property
    def seconds(self) -> Column:
        """Of the questions whose time is known."""
        return self.whole.seconds[~np.isnan(self.whole.seconds)]


def _joined(parts: Sequence[Any], order: NDArray[np.int64]) -> Any:
    first: Any = parts[0]
    if isinstance(first, dict):
        return {key: _joined([part[key] for part in parts], order) for key in first}
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)[order]
    return None if first is None else list(chain.from_iterable(parts))


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
DUPLICATE = "{n} duplicate in rankings counts at its first place only, but for contest_map{such}"
DUPLICATES = "{n} duplicates in rankings count at their first place only, but for contest_map{such}"
