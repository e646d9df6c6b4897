"""Where recall is lost: the ceiling after each step from the graph to the first k ranks.

Over distinct relevant items, names that the graph lacks included; the mean over questions with gold, so
that the losses add up to 1 - recall@k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.evaluation.diagnosis.verdicts import Diagnosis, Verdict

ROOM = "room in k"

# The verdicts that each step takes away. Steps that a retriever doesn't have are left out below.
_STEPS: tuple[tuple[str, tuple[Verdict, ...]], ...] = (
    ("in graph", (Verdict.NOT_IN_GRAPH,)),
    ("reachable", (Verdict.NO_SEED, Verdict.UNREACHABLE)),
    ("past filters", (Verdict.FILTERED,)),
    ("within hops", (Verdict.BEYOND_HOPS,)),
    ("within depth", (Verdict.BELOW_DEPTH,)),
    (ROOM, ()),
    ("recall@k", (Verdict.RANKED_BELOW_K,)),
)


@dataclass(frozen=True, slots=True)
class Step:
    """recall: what remains after the step, NaN without questions; loss: what it takes, both in [0, 1]."""

    name: str
    recall: float
    loss: float


def waterfall(diagnosis: Diagnosis, relevant: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[Step, ...]:
    """The steps over the questions `rows`. relevant: (questions,), relevant items of each.

    "past filters" is there where a filter took something anywhere; "reachable" and "within hops" where the
    retriever walks.
    """
    lost = losses(diagnosis, relevant)
    scored = rows[relevant[rows] > 0]
    before, steps = 1.0, []
    for name, column in lost.items():
        loss = float(column[scored].mean()) if len(scored) else float("nan")
        before -= loss
        steps.append(Step(name, min(max(before, 0.0), 1.0), loss))
    return tuple(steps)


def losses(diagnosis: Diagnosis, relevant: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Step → (questions,) share of the question's relevant items that it takes; 0 without gold."""
    questions, width = len(relevant), len(Verdict)
    table = np.bincount(diagnosis.questions * width + diagnosis.verdicts, minlength=questions * width)
    counts = table.reshape(questions, width)
    share = 1.0 / np.maximum(relevant, 1)
    ranked = counts[:, Verdict.RANKED_BELOW_K] + counts[:, Verdict.HIT]
    no_room = np.maximum(ranked - diagnosis.cutoff, 0)
    found = {}
    for name, verdicts in _STEPS:
        if name in ("reachable", "within hops") and not diagnosis.limits.walks:
            continue
        taken = no_room if name == ROOM else counts[:, list(verdicts)].sum(axis=1)
        if name == "past filters" and not taken.any():
            continue
        found[name] = (taken - no_room if Verdict.RANKED_BELOW_K in verdicts else taken) * share
    return found
