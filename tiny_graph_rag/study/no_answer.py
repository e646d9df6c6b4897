"""Questions that nothing in the graph answers: how many got something, and what a least score would
change."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.measures.judged import NO_ITEM, Judged
from tiny_graph_rag.run import Run

SHARES = (0.25, 0.5, 0.75, 0.9, 1.0)  # of the no-answer questions that get something: what thresholds empty
DIGITS = 4  # significant ones of a threshold


@dataclass(frozen=True, slots=True)
class Threshold:
    """min_score: as `--min-score` takes it. left_empty: no-answer questions that then get nothing.
    recall: mean recall@k of the questions with a reference; emptied: how many of these then get nothing."""

    min_score: float
    left_empty: int
    recall: float
    emptied: int


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """questions: without a reference; returned: how many of them got something. thresholds: ascending, the
    one in force first."""

    questions: int
    returned: int
    cutoff: int
    thresholds: tuple[Threshold, ...]


def no_answer(run: Run, judged: Judged, cutoff: int, min_score: float) -> NoAnswer | None:
    """None where every question has a reference. min_score: the one in force. From the scores of the run
    alone."""
    without = judged.relevant == 0
    if not without.any():
        return None
    length = np.diff(run.offsets)
    best = np.full(len(run), -np.inf)
    full = length > 0
    best[full] = run.scores[run.offsets[:-1][full]]
    returned = np.sort(best[without & full])
    tried = {min_score}
    if len(returned):
        places = [math.ceil(share * len(returned)) - 1 for share in SHARES]
        tried |= {_above(float(returned[place])) for place in places}
    thresholds = tuple(
        _at(threshold, run, judged, cutoff, best)
        for threshold in sorted(tried)
        if min_score <= threshold <= 1  # what the option takes
    )
    return NoAnswer(int(without.sum()), len(returned), cutoff, thresholds)


def _at(threshold: float, run: Run, judged: Judged, cutoff: int, best: NDArray[np.float64]) -> Threshold:
    scored = np.flatnonzero(judged.relevant > 0)
    rows, items = judged.rows[scored, :cutoff], judged.items[scored, :cutoff]
    scores = np.append(run.scores, -np.inf)[rows]  # NO_ROW is the last
    hits = ((items != NO_ITEM) & (scores >= threshold)).sum(axis=1)
    recall = float((hits / judged.relevant[scored]).mean()) if len(scored) else float("nan")
    return Threshold(
        threshold,
        int((best[judged.relevant == 0] < threshold).sum()),
        recall,
        int((best[scored] < threshold).sum()),
    )


def _above(score: float) -> float:
    """The least number of a few digits that is greater than `score`."""
    if score <= 0:
        return 10.0**-DIGITS
    digits = DIGITS - 1 - math.floor(math.log10(score))
    threshold = float(round(math.ceil(score * 10**digits) / 10**digits, digits))
    return threshold if threshold > score else float(round(threshold + 10.0**-digits, digits))
