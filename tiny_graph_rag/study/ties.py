"""What chance decides: equal scores at the border of the first k, and what another order would have given.

Entities tie where score and hop are equal: between them only the name decided. Each measure's best and worst
possible mean put the relevant ones of a tie first or last. Only entities in the list are moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.measures import Measure, judge, score, weights
from tiny_graph_rag.run import Run


@dataclass(frozen=True, slots=True)
class Ties:
    """questions: those with gold whose ranks k and k + 1 tie; rate: their share of all with gold.

    measures: the (worst, best) mean that another order of equals could give.
    """

    cutoff: int
    rate: float
    questions: int
    measures: dict[Measure, tuple[float, float]]


def ties(run: Run, judgments: Judgments, measures: Sequence[Measure], cutoff: int) -> Ties:
    scored = judgments.relevant > 0
    tied = _tied_at(run, cutoff)[scored]
    gains = _gains(run, judgments)
    means = []
    for direction in (-1, 1):
        judged = judge(_reordered(run, direction * gains), judgments)
        pooled = weights(judged, measures)
        means.append(
            {each: _mean(column, pooled.get(each)) for each, column in score(judged, measures).items()}
        )
    return Ties(
        cutoff,
        float(tied.mean()) if len(tied) else float("nan"),
        int(tied.sum()),
        {each: (min(both), max(both)) for each in measures for both in [(means[0][each], means[1][each])]},
    )


def _tied_at(run: Run, cutoff: int) -> NDArray[np.bool_]:
    """(questions,): rank k and rank k + 1 are there and have the same score and hop."""
    tied = np.zeros(len(run), dtype=bool)
    longer = np.diff(run.offsets) > cutoff
    last = run.offsets[:-1][longer] + cutoff - 1
    tied[longer] = (run.scores[last] == run.scores[last + 1]) & (run.hops[last] == run.hops[last + 1])
    return tied


def _gains(run: Run, judgments: Judgments) -> NDArray[np.int64]:
    """(rows,): the best grade that the entity can fill, 0 where none."""
    keys = np.repeat(np.arange(len(run)), np.diff(run.offsets)) * judgments.universe + run.entities
    known, first = distinct(judgments.pair_keys)
    if not len(known):
        return np.zeros(len(keys), dtype=np.int64)
    best = np.maximum.reduceat(judgments.grades[judgments.pair_items].astype(np.int64), first)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, best[place], 0)


def _reordered(run: Run, key: NDArray[np.int64]) -> Run:
    """Ties in ascending order of `key`, everything else where it was."""
    question = np.repeat(np.arange(len(run)), np.diff(run.offsets))
    same = (
        (question[1:] == question[:-1])
        & (run.scores[1:] == run.scores[:-1])
        & (run.hops[1:] == run.hops[:-1])
    )
    group = np.concatenate([[0], np.cumsum(~same)])[: len(question)]
    order = np.lexsort((key, group))
    return replace(
        run, entities=run.entities[order], scores=run.scores[order], hops=run.hops[order], walks=None
    )


def _mean(values: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    """NaN where no question defines the measure. weight: of each question where the measure pools."""
    defined = ~np.isnan(values) & (weight > 0 if weight is not None else True)
    if not defined.any():
        return float("nan")
    return float(np.average(values[defined], weights=None if weight is None else weight[defined]))
