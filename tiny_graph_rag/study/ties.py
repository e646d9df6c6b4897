"""What chance decides: equal scores at the border of the first k, and what another order would have given.

Entities tie where score and hop are equal: between them only the name decided. Each measure's best and worst
possible mean put the relevant ones of a tie first or last. Only entities in the list are moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, looked_up, stretches
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.measures import Judged, Measure, judge, score, weights
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.run import Run


@dataclass(frozen=True, slots=True)
class Ties:
    """questions: those with gold whose ranks k and k + 1 tie; rate: their share of all with gold.

    measures: the (worst, best) mean that another order of equal scores could give.
    """

    cutoff: int
    rate: float
    questions: int
    measures: dict[Measure, tuple[float, float]]


def ties(
    run: Run, judgments: Judgments, measures: Sequence[Measure], cutoff: int, judged: Judged | None = None
) -> Ties:
    """judged: the run as it stands, where it is known. Only questions that a tie could change are judged
    again."""
    scored = judgments.relevant > 0
    tied = _tied_at(run, cutoff)[scored]
    as_it_is = judge(run, judgments) if judged is None else replace(judged, facts=None)
    found, pooled = score(as_it_is, measures), weights(as_it_is, measures)
    questions, gains = _open_ties(run, _gains(run, judgments))
    part, its_judgments = run.of(questions), judgments.of_questions(questions)
    means = []
    for direction in (-1, 1):
        again = judge(_reordered(part, direction * gains), its_judgments)
        weight = _replaced(pooled, questions, weights(again, measures))
        columns = _replaced(found, questions, score(again, measures))
        means.append({measure: _mean(column, weight.get(measure)) for measure, column in columns.items()})
    return Ties(
        cutoff,
        float(tied.mean()) if len(tied) else float("nan"),
        int(tied.sum()),
        {
            measure: (min(both), max(both))
            for measure in measures
            for both in [(means[0][measure], means[1][measure])]
        },
    )


def _open_ties(run: Run, gains: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The questions, ascending, where equals differ in what they gain, and the gains of their rows."""
    if not len(gains):
        return np.zeros(0, dtype=np.int64), gains
    first = np.flatnonzero(np.diff(_groups(run), prepend=-1))
    differ = np.maximum.reduceat(gains, first) != np.minimum.reduceat(gains, first)
    question = np.searchsorted(run.offsets, first[differ], side="right") - 1
    questions = distinct(question)[0]
    return questions, gains[stretches(run.offsets[questions], np.diff(run.offsets)[questions])]


def _groups(run: Run) -> NDArray[np.int64]:
    """(rows,): ascending numbers, the same where question, score and hop are."""
    differs = np.zeros(len(run.entities), dtype=bool)
    differs[1:] = (run.scores[1:] != run.scores[:-1]) | (run.hops[1:] != run.hops[:-1])
    starts = run.offsets[:-1]
    differs[starts[starts < len(differs)]] = True
    return np.cumsum(differs)


def _replaced(
    columns: dict[Measure, Column], questions: NDArray[np.int64], others: dict[Measure, Column]
) -> dict[Measure, Column]:
    """The columns with what `others` say of these questions."""
    found = {}
    for measure, column in columns.items():
        found[measure] = column.copy()
        found[measure][questions] = others[measure]
    return found


def _tied_at(run: Run, cutoff: int) -> NDArray[np.bool_]:
    """(questions,): rank k and rank k + 1 are there and have the same score and hop."""
    tied = np.zeros(len(run), dtype=bool)
    longer = np.diff(run.offsets) > cutoff
    last = run.offsets[:-1][longer] + cutoff - 1
    tied[longer] = (run.scores[last] == run.scores[last + 1]) & (run.hops[last] == run.hops[last + 1])
    return tied


def _gains(run: Run, judgments: Judgments) -> NDArray[np.int64]:
    """(rows,): the best grade that the entity can fill, 0 where none."""
    keys = run.keys(judgments.universe)
    known, first = distinct(judgments.pair_keys)
    if not len(known):
        return np.zeros(len(keys), dtype=np.int64)
    best = np.maximum.reduceat(judgments.grades[judgments.pair_items].astype(np.int64), first)
    place, is_known = looked_up(known, keys)
    return np.where(is_known, best[place], 0)


def _reordered(run: Run, key: NDArray[np.int64]) -> Run:
    """Ties in ascending order of `key`, everything else where it was."""
    order = np.lexsort((key, _groups(run)))
    return replace(
        run, entities=run.entities[order], scores=run.scores[order], hops=run.hops[order], walks=None
    )


def _mean(values: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    """NaN where no question defines the measure. weight: of each question where the measure pools."""
    defined = ~np.isnan(values) & (weight > 0 if weight is not None else True)
    if not defined.any():
        return float("nan")
    return float(np.average(values[defined], weights=None if weight is None else weight[defined]))
