"""What a retriever takes and gives.

A retriever takes linked questions and returns a Run: for each question a ranked list of entities. Ours and
foreign ones return the same Run, so everything after it (measures, diagnosis, reports) works for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion

if TYPE_CHECKING:
    from tiny_graph_rag.dataset.examples import EvalSet
    from tiny_graph_rag.dataset.resolve import Judgments

NO_HOP = -1  # the hop of an entity that no walk reached
NO_STEP = -1  # fills the rest of a walk's row


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Ranked entities of every question, best first, in one table.

    offsets: int64 (questions + 1,) into the rows. entities: int32 (rows,). scores: float64 (rows,), higher
    is better, never NaN. hops: int32 (rows,), fewest relations from a seed, NO_HOP where there is no walk.
    walks: int32 (rows, longest), the relations from seed to entity, rows filled up with NO_STEP; or None
    where the retriever does not walk.
    """

    offsets: NDArray[np.int64]
    entities: NDArray[np.int32]
    scores: NDArray[np.float64]
    hops: NDArray[np.int32]
    walks: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self, question: int) -> slice:
        return slice(int(self.offsets[question]), int(self.offsets[question + 1]))

    def cut(self, depth: int) -> Run:
        """The first `depth` rows of every question."""
        rank = np.arange(len(self.entities)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        keep = rank < depth
        offsets = np.concatenate([[0], np.cumsum(np.minimum(np.diff(self.offsets), depth))]).astype(np.int64)
        walks = None if self.walks is None else self.walks[keep]
        return Run(offsets, self.entities[keep], self.scores[keep], self.hops[keep], walks)

    def where(self, keep: NDArray[np.bool_]) -> Run:
        """Only the rows where `keep` is true; a question left with none has retrieved nothing."""
        counts = np.concatenate([[0], np.cumsum(keep)])
        walks = None if self.walks is None else self.walks[keep]
        return Run(counts[self.offsets], self.entities[keep], self.scores[keep], self.hops[keep], walks)

    @classmethod
    def concatenated(cls, parts: Sequence[Run]) -> Run:
        """One run of all questions of `parts`, in order."""
        if not parts:
            empty = np.zeros(0, dtype=np.int32)
            return cls(np.zeros(1, dtype=np.int64), empty, np.zeros(0), empty)
        starts = np.cumsum([0, *(len(part.entities) for part in parts)])
        offsets = [part.offsets[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
        walks = [part.walks for part in parts if part.walks is not None]
        return cls(
            np.concatenate([np.zeros(1, dtype=np.int64), *offsets]),
            np.concatenate([part.entities for part in parts]),
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.hops for part in parts]),
            np.concatenate(walks) if len(walks) == len(parts) else None,
        )


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of what an entity's place is made of. what: a step of its walk in words, or a rule.

    words: of the question, which it explains or leaves unexplained. price: all of an entity's add up to its
    energy, and its score is 1 / (1 + energy).
    """

    what: str
    words: tuple[str, ...]
    price: float


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a retriever may be made from.

    argument: what stands after the colon of its name (`run:FILE`, `hybrid:bfs+bm25`), "" without one.
    examples, judgments: the gold set and what it means on this graph, None where a single question is asked;
    only the oracle may look at them for more than the questions' ids.
    """

    graph: KnowledgeGraph
    config: Config
    argument: str = ""
    examples: EvalSet | None = None
    judgments: Judgments | None = None


class Retriever(ABC):
    """Ranks the entities of one graph. Made once for a task, asked with many questions."""

    name: ClassVar[str]
    argument: ClassVar[str] = ""
    """How the argument is shown where retrievers are listed; "" where it takes none."""
    walks: ClassVar[bool] = True
    """Whether it starts from seeds and walks; one that doesn't needs no linking."""

    @classmethod
    @abstractmethod
    def of(cls, task: Task) -> Self:
        """Make it. Raises UsageError for an argument or settings that it can't use."""

    @abstractmethod
    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        """At most the configured depth of entities a question, sorted by (-score, hop, NFC name, id)."""

    def prepare(self, linked: Callable[[], Sequence[LinkedQuestion]]) -> None:  # noqa: B027 - most need none
        """Called before questions are asked in parts. linked: gives all of them, at the price of linking."""

    def notes(self) -> list[str]:
        """What a user should hear after it was asked, such as what was paid."""
        return []

    def reasons(self, question: LinkedQuestion, run: Run, row: int) -> tuple[Reason, ...]:
        """What the place of row `row` of a run for this question is made of; empty where it has no parts."""
        return ()

    def retrieve_within(
        self, questions: Sequence[LinkedQuestion], hops: Sequence[int]
    ) -> Iterator[Run] | None:
        """One run for each hop limit, none above this retriever's own, from shared work.

        Each equals `retrieve` of a retriever made with that limit (its walks may be padded wider). None where
        there is nothing to share: the caller then makes a retriever for each limit.
        """
        return None
