"""A run: what any retriever returns, built in or external, for each question a ranked list of entities, and
of relations and passages where it returns those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import short_repr, stretches

NO_HOP = -1  # the hop of an entity that no walk reached
ABSENT = "not in the run"  # the failure of a question that a run's file does not have
NO_STEP = -1  # fills the rest of a walk's row
COST_PARTS = ("link", "path", "text", "neighbour", "pagerank")  # of `bfs`; in the order of Run.parts
Item = TypeVar("Item")


class Relation(NamedTuple):
    """A relation that a retriever returned. source, target: a name or an id; type: "" where it gave none.

    id: its own, "" without one. score: None where the order of the list is all that was given.
    """

    source: str
    target: str
    type: str = ""
    id: str = ""
    score: float | None = None


class Passage(NamedTuple):
    """A text (chunk, document) that a retriever returned; of id and text at least one is not empty.

    source: the document that it is from, "" where unknown.
    """

    id: str
    text: str = ""
    source: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Ranked entities of every question, best first, in one table.

    offsets: int64 (questions + 1,) into the rows. entities: int32 (rows,). scores: float64 (rows,), higher
    is better, never NaN. hops: int32 (rows,), fewest relations from a seed, NO_HOP where there is no walk.
    walks: int32 (rows, longest), the relations from seed to entity, rows filled up with NO_STEP; or None
    where the retriever does not walk. parts: int32 (rows, COST_PARTS), what each row's cost is made of, in
    millionths: they add up to the cost, and the score is 1 / (1 + cost) to the sixth digit; or None where the
    retriever has no costs. relations, passages: what an external retriever returned next to
    entities, a list a question, best first; None where it returned none of that kind for any question.
    returns_entities: False where it answered, but never with a list of entities. external: somebody else's
    retriever made it: what was retrieved is what it returned, and nothing that the graph has between.
    failures: question → why nobody knows what it would have retrieved (it raised, it is not in the run's
    file): an empty list of these is no answer.
    """

    offsets: NDArray[np.int64]
    entities: NDArray[np.int32]
    scores: NDArray[np.float64]
    hops: NDArray[np.int32]
    walks: NDArray[np.int32] | None = None
    parts: NDArray[np.int32] | None = None
    relations: tuple[tuple[Relation, ...], ...] | None = None
    passages: tuple[tuple[Passage, ...], ...] | None = None
    returns_entities: bool = True
    external: bool = False
    failures: Mapping[int, str] = field(default_factory=dict)

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self, question: int) -> slice:
        return slice(int(self.offsets[question]), int(self.offsets[question + 1]))

    @property
    def questions(self) -> NDArray[np.int64]:
        """(rows,): the question of each row."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def keys(self, universe: int) -> NDArray[np.int64]:
        """(rows,): question * universe + entity, as the judgments have their pairs."""
        keys = self.questions * universe
        keys += self.entities
        return keys

    def cut(self, depth: int) -> Run:
        """The first `depth` rows of every question."""
        rank = np.arange(len(self.entities)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        return self.where(rank < depth)

    def where(self, keep: NDArray[np.bool_]) -> Run:
        """Only the rows where `keep` is true; a question left with none has retrieved nothing."""
        counts = np.concatenate([[0], np.cumsum(keep)])
        return self._kept(keep, counts[self.offsets])

    def _kept(self, keep: NDArray[Any], offsets: NDArray[np.int64]) -> Run:
        """Of every column the rows `keep`, a mask or places; lists and failures as they are."""
        return replace(
            self,
            offsets=offsets,
            entities=self.entities[keep],
            scores=self.scores[keep],
            hops=self.hops[keep],
            walks=_of(self.walks, keep),
            parts=_of(self.parts, keep),
        )

    def within(self, hops: int) -> Run:
        """What fewer hops reach, for a retriever that ranks it the same."""
        return self.where(self.hops <= hops)

    def of(self, questions: NDArray[np.int64]) -> Run:
        """Only these questions, in this order."""
        lengths, chosen = np.diff(self.offsets)[questions], questions.tolist()
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return replace(
            self._kept(stretches(self.offsets[questions], lengths), offsets),
            relations=None if self.relations is None else tuple(self.relations[row] for row in chosen),
            passages=None if self.passages is None else tuple(self.passages[row] for row in chosen),
            failures={new: self.failures[row] for new, row in enumerate(chosen) if row in self.failures},
        )

    @classmethod
    def empty(cls, questions: int = 0) -> Run:
        """One that retrieved nothing."""
        none = np.zeros(0, dtype=np.int32)
        return cls(np.zeros(questions + 1, dtype=np.int64), none, np.zeros(0), none)

    @classmethod
    def concatenated(cls, parts: Sequence[Run]) -> Run:
        """One run of all questions of `parts`, in order."""
        if not parts:
            return cls.empty()
        starts = np.cumsum([0, *(len(part.entities) for part in parts)])
        offsets = [part.offsets[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
        walks = [part.walks for part in parts if part.walks is not None]
        costs = [part.parts for part in parts if part.parts is not None]
        firsts = np.cumsum([0, *map(len, parts)]).tolist()
        numbered = list(zip(firsts, parts, strict=False))
        failures = {first + row: why for first, part in numbered for row, why in part.failures.items()}
        return cls(
            np.concatenate([np.zeros(1, dtype=np.int64), *offsets]),
            np.concatenate([part.entities for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.hops for part in parts]),
            np.concatenate(walks) if len(walks) == len(parts) else None,
            np.concatenate(costs) if len(costs) == len(parts) else None,
            relations=_joined([part.relations for part in parts], parts),
            passages=_joined([part.passages for part in parts], parts),
            returns_entities=any(part.returns_entities for part in parts),
            external=any(part.external for part in parts),
            failures=failures,
        )


def _of(column: NDArray[np.int32] | None, keep: NDArray[Any]) -> NDArray[np.int32] | None:
    return None if column is None else column[keep]


def _joined(
    lists: Sequence[tuple[tuple[Item, ...], ...] | None], parts: Sequence[Run]
) -> tuple[tuple[Item, ...], ...] | None:
    """One kind of all parts; a part without it has an empty list for each of its questions."""
    if all(part is None for part in lists):
        return None
    empty: tuple[Item, ...] = ()
    return tuple(
        row
        for rows, part in zip(lists, parts, strict=True)
        for row in (rows if rows is not None else (empty,) * len(part))
    )
