"""What became of each reference, and what each step of retrieval takes of recall.

Light, so that scoring a run of another program loads nothing of graphs and retrieval; `verdicts` says what
became of the references of a run of this program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.measures.judged import NO_ITEM, Judged
from tiny_graph_rag.measures.summary import rows_by_tag
from tiny_graph_rag.run import NO_HOP

NO_ENTITY = -1
NO_RANK = 0


class Verdict(IntEnum):
    """Where a reference was lost, first step first; HIT where it was not.

    NO_SEED: the question was linked to no entity. UNREACHABLE: it was, but no path leads from its seeds.
    """

    NOT_IN_GRAPH = 0
    NO_SEED = 1
    UNREACHABLE = 2
    FILTERED = 3
    BEYOND_HOPS = 4
    BELOW_MIN_SCORE = 5
    BELOW_DEPTH = 6
    NOT_IN_RUN = 7
    RANKED_BELOW_K = 8
    HIT = 9

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """What a retriever was allowed. walks: from seeds along relations, at most `hops` of them (None: any).

    strict: everything that it returns lies within the hops; False where it walks and also returns what it
    finds elsewhere, as `hybrid:bfs+bm25` does by text.

    passable: (slots,) and returnable: (entities,), False where a filter option keeps a walk from a slot or
    an entity from the ranking; None without filters. onward: the same as passable for the steps after the
    first, where it differs (a hub may be left only if it is a seed). excludes_seeds: seeds that the question
    names aren't returned. scores_cut: a list may be shorter than what was reached because of a least score.
    depth: entities that are returned at most, None where nobody knows; what a shorter list of a retriever
    that doesn't walk lacks is not in the run, and no --depth would bring it.
    """

    walks: bool
    hops: int | None
    strict: bool = True
    passable: NDArray[np.bool_] | None = None
    onward: NDArray[np.bool_] | None = None
    returnable: NDArray[np.bool_] | None = None
    excludes_seeds: bool = False
    scores_cut: bool = False
    depth: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """One row a relevant item (as Judgments.grades has them).

    verdicts: int8, Verdict. ranks: int32, from 1, NO_RANK where not in the list. entities: int32, the bearer
    that fills the item or came furthest, NO_ENTITY where none. hops: int32, the fewest relations from a seed
    to it (with the filters where they let it through), NO_HOP where no walk leads or none was asked for.
    rows: int64, its row in the run, -1 where not in the list. questions: int64, the question of each item.
    """

    cutoff: int
    limits: Limits
    verdicts: NDArray[np.int8]
    ranks: NDArray[np.int32]
    entities: NDArray[np.int32]
    hops: NDArray[np.int32]
    rows: NDArray[np.int64]
    questions: NDArray[np.int64]

    def counts(self) -> dict[str, int]:
        """Items by verdict, found first, then in the order of loss."""
        found = np.bincount(self.verdicts, minlength=len(Verdict)).tolist()
        return {str(item): found[item] for item in (Verdict.HIT, *list(Verdict)[:-1])}

    @property
    def beyond_hops(self) -> NDArray[np.bool_]:
        """(items,) missed and farther than the hops: not returned, or ranked below k by a part of a hybrid
        that doesn't walk."""
        lost = self.verdicts == Verdict.BEYOND_HOPS
        if self.limits.hops is not None:
            lost |= (self.verdicts == Verdict.RANKED_BELOW_K) & (self.hops > self.limits.hops)
        return np.asarray(lost, dtype=np.bool_)


WITHIN_HOPS = "reachable within h hops"
RETURNED = "returned"
ROOM = "room in k"

# The verdicts that each step takes away. Steps that a retriever doesn't have are left out below.
_STEPS: tuple[tuple[str, tuple[Verdict, ...]], ...] = (
    ("in graph", (Verdict.NOT_IN_GRAPH,)),
    ("a seed linked", (Verdict.NO_SEED,)),
    ("reachable", (Verdict.UNREACHABLE,)),
    ("past filters", (Verdict.FILTERED,)),
    (WITHIN_HOPS, (Verdict.BEYOND_HOPS,)),
    (RETURNED, (Verdict.NO_SEED, Verdict.UNREACHABLE, Verdict.BEYOND_HOPS)),
    ("above min-score", (Verdict.BELOW_MIN_SCORE,)),
    ("within depth", (Verdict.BELOW_DEPTH,)),
    ("in run", (Verdict.NOT_IN_RUN,)),
    (ROOM, ()),
    ("recall@k", (Verdict.RANKED_BELOW_K,)),
)
_OF_A_WALK = ("a seed linked", "reachable", WITHIN_HOPS)  # nothing is found but by a path within the hops
_WHERE_TAKEN = ("past filters", "above min-score", "in run")


@dataclass(frozen=True, slots=True)
class Step:
    """recall: what remains after the step, NaN without questions; loss: what it takes, both in [0, 1].
    references: relevant items that it takes; those of all steps and the hits are all there are."""

    name: str
    recall: float
    loss: float
    references: int


def waterfall(diagnosis: Diagnosis, relevant: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[Step, ...]:
    """The steps over the questions `rows`. relevant: (questions,), relevant items of each.

    "past filters", "above min-score" and "in run" are there where they took something anywhere; "a seed
    linked", "reachable" and "reachable within h hops" where the retriever returns nothing but what it walks
    to, "returned" where it walks and returns more; "within depth" where the depth is known.
    """
    return steps_of(losses(diagnosis, relevant), relevant, rows)


def steps_of(
    lost: Mapping[str, NDArray[np.int64]], relevant: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[Step, ...]:
    """The same from what each step takes of each question."""
    scored = rows[relevant[rows] > 0]
    before, steps = 1.0, []
    for name, column in lost.items():
        loss = float((column[scored] / relevant[scored]).mean()) if len(scored) else float("nan")
        before -= loss
        steps.append(Step(name, min(max(before, 0.0), 1.0), loss, int(column[scored].sum())))
    return tuple(steps)


def losses(diagnosis: Diagnosis, relevant: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Step → (questions,) relevant items of the question that it takes."""
    questions, width, limits = len(relevant), len(Verdict), diagnosis.limits
    table = np.bincount(diagnosis.questions * width + diagnosis.verdicts, minlength=questions * width)
    counts = table.reshape(questions, width)
    ranked = counts[:, Verdict.RANKED_BELOW_K] + counts[:, Verdict.HIT]
    no_room = np.maximum(ranked - diagnosis.cutoff, 0)
    taken_by = {}
    for name, verdicts in _STEPS:
        if name in _OF_A_WALK and not (limits.walks and limits.strict):
            continue
        if name == RETURNED and not (limits.walks and not limits.strict):
            continue
        taken = no_room if name == ROOM else counts[:, list(verdicts)].sum(axis=1)
        if name in _WHERE_TAKEN and not taken.any():
            continue
        if name == "within depth" and limits.depth is None and not limits.walks:
            continue
        taken_by[name] = taken - no_room if Verdict.RANKED_BELOW_K in verdicts else taken
    return taken_by


def diagnose_listed(judged: Judged, borne: NDArray[np.bool_], cutoff: int) -> Diagnosis:
    """Of a run that nobody knows the making of: a relevant item is in the list, or not in the run, or no
    entity bears its name. borne: (items,)."""
    questions = np.repeat(np.arange(len(judged)), judged.relevant)
    at_question, at_rank = np.nonzero(judged.items != NO_ITEM)
    items = judged.items[at_question, at_rank]
    ranks = np.zeros(len(borne), dtype=np.int32)
    rows = np.full(len(borne), -1, dtype=np.int64)
    ranks[items], rows[items] = at_rank + 1, judged.rows[at_question, at_rank]
    verdicts = np.where(borne, Verdict.NOT_IN_RUN, Verdict.NOT_IN_GRAPH).astype(np.int8)
    verdicts[ranks > NO_RANK] = Verdict.HIT
    verdicts[ranks > cutoff] = Verdict.RANKED_BELOW_K
    nothing = np.full(len(borne), NO_ENTITY, dtype=np.int32)
    nowhere = np.full(len(borne), NO_HOP, dtype=np.int32)
    limits = Limits(walks=False, hops=None)
    return Diagnosis(cutoff, limits, verdicts, ranks, nothing, nowhere, rows, questions)


class Listed:
    """Diagnoses of a foreign run, gathered while its questions pass by."""

    def __init__(self, cutoff: int) -> None:
        self.cutoff = cutoff
        self._parts: list[Diagnosis] = []
        self._relevant: list[NDArray[np.int64]] = []

    def add(self, judged: Judged, borne: NDArray[np.bool_]) -> Diagnosis:
        self._parts.append(diagnose_listed(judged, borne, self.cutoff))
        self._relevant.append(judged.relevant)
        return self._parts[-1]

    def take(self, other: Listed) -> None:
        """What was found of later questions."""
        self._parts.extend(other._parts)
        self._relevant.extend(other._relevant)

    def counts(self) -> dict[str, int]:
        """Verdict → items, those that occur, found first, then in the order of loss."""
        return {name: count for name, count in self._whole().counts().items() if count}

    def waterfalls(
        self, tags: Sequence[Sequence[str]]
    ) -> tuple[tuple[Step, ...], dict[str, tuple[Step, ...]]]:
        """Over all questions, and by tag; nothing where no stretch came by a graph."""
        if not self._parts:
            return (), {}
        relevant = np.concatenate(self._relevant)
        lost = losses(self._whole(), relevant)
        by_tag = {tag: steps_of(lost, relevant, rows) for tag, rows in rows_by_tag(tags).items()}
        return steps_of(lost, relevant, np.arange(len(relevant))), by_tag

    def _whole(self) -> Diagnosis:
        starts = np.cumsum([0, *(len(relevant) for relevant in self._relevant)])

        def whole(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(part, name) for part in self._parts])

        return replace(
            self._parts[0],
            verdicts=whole("verdicts"),
            ranks=whole("ranks"),
            entities=whole("entities"),
            hops=whole("hops"),
            rows=whole("rows"),
            questions=whole("questions")
            + np.repeat(starts[:-1], [len(part.questions) for part in self._parts]),
        )
