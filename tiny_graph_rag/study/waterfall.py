"""What became of each reference, and what each step of retrieval takes of recall.

Light, so that scoring a run of another program loads nothing of graphs and retrieval; `verdicts` says what
became of the references of a run of this program.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import found_in
from tiny_graph_rag.measures.judged import NO_ITEM, Judged

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


class Limits(Struct, frozen=True, eq=False):
    """What a retriever was allowed. walks: from seeds along relations, at most `hops` of them (None: any).

    strict: everything that it returns lies within the hops; False where it walks and also returns what it
    finds elsewhere, as `hybrid:bfs+bm25` does by text.

    passable: (slots,) and returnable: (entities,), False where a filter option keeps a walk from a slot or
    an entity from the ranking; None without filters. excludes_seeds: seeds that the question names aren't
    returned. scores_cut: a list may be shorter than what was reached because of a least score.
    depth: entities that are returned at most, None where nobody knows; what a shorter list of a retriever
    that doesn't walk lacks is not in the run, and no retrieval.depth would bring it.
    """

    walks: bool
    hops: int | None
    strict: bool = True
    passable: NDArray[np.bool_] | None = None
    returnable: NDArray[np.bool_] | None = None
    excludes_seeds: bool = False
    scores_cut: bool = False
    depth: int | None = None


NAMED = "recognised by name"
WITHIN_HOPS = "within --hops of a named entity"
RETURNED = "returned"
ROOM = "room in --top-k"

# The verdicts that each step takes away. Steps that a retriever doesn't have are left out below.
_STEPS: tuple[tuple[str, tuple[Verdict, ...]], ...] = (
    ("in graph", (Verdict.NOT_IN_GRAPH,)),
    (NAMED, (Verdict.NO_SEED,)),
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
_OF_A_WALK = (NAMED, "reachable", WITHIN_HOPS)  # nothing is found but by a path within the hops
_WHERE_TAKEN = ("past filters", "above min-score", "in run")


class WaterfallStep(Struct, frozen=True):
    """recall: what remains after the step, NaN without questions; loss: what it takes, both in [0, 1].
    references: relevant items that it takes; those of all steps and the hits are all there are."""

    step: str
    recall: float
    loss: float
    references: int


def waterfalls(
    table: NDArray[np.int64],
    relevant: NDArray[np.int64],
    limits: Limits,
    cutoff: int,
    parts: Mapping[str, NDArray[np.int64]],
) -> dict[str, tuple[WaterfallStep, ...]]:
    """The steps over the questions of each part. table: as `verdict_table` has it; relevant: (questions,),
    relevant items of each.

    "past filters", "above min-score" and "in run" are there where they took something anywhere; "recognised
    by name", "reachable" and "within --hops of a named entity" where the retriever returns nothing but what
    it walks to, "returned" where it walks and returns more; "within depth" where the depth is known.
    """
    walks_alone = limits.walks and limits.strict
    no_room = np.maximum(table[:, [Verdict.RANKED_BELOW_K, Verdict.HIT]].sum(axis=1) - cutoff, 0)
    taken_by = {}
    for name, verdicts in _STEPS:
        taken = no_room if name == ROOM else table[:, list(verdicts)].sum(axis=1)
        is_left_out = (
            (name in _OF_A_WALK and not walks_alone)
            or (name == RETURNED and (walks_alone or not limits.walks))
            or (name in _WHERE_TAKEN and not taken.any())
            or (name == "within depth" and limits.depth is None and not limits.walks)
        )
        if not is_left_out:
            taken_by[name] = taken - no_room if Verdict.RANKED_BELOW_K in verdicts else taken
    found = {}
    for part, rows in parts.items():
        scored = rows[relevant[rows] > 0]
        before, steps = 1.0, []
        for name, taken in taken_by.items():
            loss = float((taken[scored] / relevant[scored]).mean()) if len(scored) else float("nan")
            before -= loss
            steps.append(WaterfallStep(name, min(max(before, 0.0), 1.0), loss, int(taken[scored].sum())))
        found[part] = tuple(steps)
    return found


class Diagnosis(Struct, frozen=True, eq=False):
    """One row a relevant item (as Judgments.grades has them).

    verdicts: int8, Verdict. ranks: int32, from 1, NO_RANK where not in the list. entities: int32, the
    matching entity that fills the item or came furthest, NO_ENTITY where none. hops: int32, the fewest
    relations from a seed to it (with the filters where they let it through), NO_HOP where no walk leads or
    none was asked for. rows: int64, its row in the run, -1 where not in the list. relevant: int64
    (questions,), the items of each question.
    """

    cutoff: int
    limits: Limits
    verdicts: NDArray[np.int8]
    ranks: NDArray[np.int32]
    entities: NDArray[np.int32]
    hops: NDArray[np.int32]
    rows: NDArray[np.int64]
    relevant: NDArray[np.int64]

    @property
    def questions(self) -> NDArray[np.int64]:
        """(items,) the question of each."""
        return np.repeat(np.arange(len(self.relevant)), self.relevant)

    def waterfalls(self, parts: Mapping[str, NDArray[np.int64]]) -> dict[str, tuple[WaterfallStep, ...]]:
        """The steps over the questions of each part."""
        table = verdict_table(self.verdicts, self.relevant)
        return waterfalls(table, self.relevant, self.limits, self.cutoff, parts)


LATE = (Verdict.BELOW_MIN_SCORE, Verdict.BELOW_DEPTH, Verdict.RANKED_BELOW_K)
FROM_SEEDS = ("verdicts", "entities", "hops")  # of a diagnosis: what depends on where paths begin
OF_NAMES = (Verdict.NO_SEED, Verdict.UNREACHABLE, Verdict.BEYOND_HOPS)


def causes(found: Diagnosis, by_names: Diagnosis, is_misnamed: NDArray[np.bool_]) -> Diagnosis:
    """What became of each reference, but of what was missed and the names of the question lose at an earlier
    step, that step: texts brought it nearer, though not near enough.

    by_names: without the seeds by text. is_misnamed: (questions,) that link to none of their gold seeds by
    name.
    """
    of_names, late = (np.array(sorted(some)) for some in (OF_NAMES, (*OF_NAMES, *LATE)))
    is_missed, is_lost = found_in(late, found.verdicts), found_in(of_names, by_names.verdicts)
    is_earlier = is_lost & (by_names.verdicts < found.verdicts)
    taken = is_missed & (is_earlier | (by_names.verdicts == found.verdicts))
    at_fault = {name: np.where(taken, getattr(by_names, name), getattr(found, name)) for name in FROM_SEEDS}
    at_fault["verdicts"][is_missed & is_misnamed[found.questions]] = Verdict.NO_SEED
    return replace(found, **at_fault)


def verdict_table(verdicts: NDArray[np.int8], relevant: NDArray[np.int64]) -> NDArray[np.int64]:
    """(questions, verdicts): how many relevant items of a question have a verdict. verdicts: of the items,
    question after question; relevant: how many each question has."""
    questions, width = np.repeat(np.arange(len(relevant)), relevant), len(Verdict)
    table = np.bincount(questions * width + verdicts, minlength=len(relevant) * width)
    return table.reshape(len(relevant), width)


def by_verdict(verdicts: NDArray[np.int64]) -> dict[str, int]:
    """By name, found first, then in the order of loss, those that occur. verdicts: how many have each."""
    ordered = (Verdict.HIT, *list(Verdict)[:-1])
    return {str(verdict): int(verdicts[verdict]) for verdict in ordered if verdicts[verdict]}


def ranks_of_items(judged: Judged, items: int) -> NDArray[np.int32]:
    """(items,): the rank of each relevant item, NO_RANK where it is not in the list."""
    ranks = np.full(items, NO_RANK, dtype=np.int32)
    at_question, at_rank = np.nonzero(judged.items != NO_ITEM)
    ranks[judged.items[at_question, at_rank]] = at_rank + 1
    return ranks


def listed_verdicts(ranks: NDArray[np.int32], has_name: NDArray[np.bool_], cutoff: int) -> NDArray[np.int8]:
    """(items,): verdicts of a run that nobody knows the making of: a relevant item is in the list, or not in
    the run, or no entity has its name. ranks, has_name: of the items."""
    verdicts = np.where(has_name, Verdict.NOT_IN_RUN, Verdict.NOT_IN_GRAPH).astype(np.int8)
    verdicts[ranks > NO_RANK] = Verdict.HIT
    verdicts[ranks > cutoff] = Verdict.RANKED_BELOW_K
    return verdicts
