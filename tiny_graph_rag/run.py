"""A run: what any retriever returns, built in or foreign, for each question a ranked list of entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import stretches
from tiny_graph_rag.shown import short_repr

NO_HOP = -1  # the hop of an entity that no walk reached
NO_STEP = -1  # fills the rest of a walk's row
COST_PARTS = ("link", "walk", "text", "neighbour", "near")  # of `bfs`; in the order of Run.parts


@dataclass(frozen=True, slots=True)
class Cut:
    """A question whose walks ended early. hops: walked in full; limit: the setting that another hop would
    have gone beyond (`max_steps`, `max_states`); most: what it allows."""

    hops: int
    limit: str
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Ranked entities of every question, best first, in one table.

    offsets: int64 (questions + 1,) into the rows. entities: int32 (rows,). scores: float64 (rows,), higher
    is better, never NaN. hops: int32 (rows,), fewest relations from a seed, NO_HOP where there is no walk.
    walks: int32 (rows, longest), the relations from seed to entity, rows filled up with NO_STEP; or None
    where the retriever does not walk. cuts: question → how far it was walked, where a limit ended its walks
    before the hops that were asked for. parts: int32 (rows, COST_PARTS), what each row's cost is made of, in
    millionths: they add up to the cost, and the score is 1 / (1 + cost) to the sixth digit; or None where the
    retriever has no costs.
    """

    offsets: NDArray[np.int64]
    entities: NDArray[np.int32]
    scores: NDArray[np.float64]
    hops: NDArray[np.int32]
    walks: NDArray[np.int32] | None = None
    cuts: Mapping[int, Cut] = field(default_factory=dict)
    parts: NDArray[np.int32] | None = None

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self, question: int) -> slice:
        return slice(int(self.offsets[question]), int(self.offsets[question + 1]))

    def steps(self, rows: NDArray[np.int64]) -> NDArray[np.int32]:
        """Relations of the walk that reached each row, which may be longer than the fewest there are; `hops`
        where no walk is known. What is shown beside a walk."""
        if self.walks is None:
            return self.hops[rows]
        steps = (self.walks[rows] != NO_STEP).sum(axis=1, dtype=np.int32)
        return np.where(steps > 0, steps, self.hops[rows])

    def cut(self, depth: int) -> Run:
        """The first `depth` rows of every question."""
        rank = np.arange(len(self.entities)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        keep = rank < depth
        offsets = np.concatenate([[0], np.cumsum(np.minimum(np.diff(self.offsets), depth))]).astype(np.int64)
        return Run(
            offsets, self.entities[keep], self.scores[keep], self.hops[keep], _of(self.walks, keep),
            self.cuts, _of(self.parts, keep),
        )  # fmt: skip

    def where(self, keep: NDArray[np.bool_]) -> Run:
        """Only the rows where `keep` is true; a question left with none has retrieved nothing."""
        counts = np.concatenate([[0], np.cumsum(keep)])
        return Run(
            counts[self.offsets], self.entities[keep], self.scores[keep], self.hops[keep], _of(self.walks,
            keep), self.cuts, _of(self.parts, keep),
        )  # fmt: skip

    def within(self, hops: int) -> Run:
        """What fewer hops reach, for a retriever that ranks it the same."""
        cuts = {row: cut for row, cut in self.cuts.items() if cut.hops < hops}
        return replace(self.where(self.hops <= hops), cuts=cuts)

    def of(self, questions: NDArray[np.int64]) -> Run:
        """Only these questions, in this order. Walks are left out."""
        lengths = np.diff(self.offsets)[questions]
        rows = stretches(self.offsets[questions], lengths)
        cuts = {new: self.cuts[row] for new, row in enumerate(questions.tolist()) if row in self.cuts}
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Run(offsets, self.entities[rows], self.scores[rows], self.hops[rows], cuts=cuts)

    @classmethod
    def concatenated(cls, parts: Sequence[Run]) -> Run:
        """One run of all questions of `parts`, in order."""
        if not parts:
            empty = np.zeros(0, dtype=np.int32)
            return cls(np.zeros(1, dtype=np.int64), empty, np.zeros(0), empty)
        starts = np.cumsum([0, *(len(part.entities) for part in parts)])
        offsets = [part.offsets[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
        walks = [part.walks for part in parts if part.walks is not None]
        costs = [part.parts for part in parts if part.parts is not None]
        firsts = np.cumsum([0, *map(len, parts)]).tolist()
        cuts = {
            first + row: cut
            for first, part in zip(firsts, parts, strict=False)
            for row, cut in part.cuts.items()
        }
        return cls(
            np.concatenate([np.zeros(1, dtype=np.int64), *offsets]),
            np.concatenate([part.entities for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.hops for part in parts]),
            np.concatenate(walks) if len(walks) == len(parts) else None,
            cuts,
            np.concatenate(costs) if len(costs) == len(parts) else None,
        )


def _of(column: NDArray[np.int32] | None, keep: NDArray[np.bool_]) -> NDArray[np.int32] | None:
    return None if column is None else column[keep]
