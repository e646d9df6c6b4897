"""What a retriever takes and gives.

A retriever takes linked questions and returns a Run: for each question a ranked list of entities. Ours and
external ones return the same Run, so everything after it (measures, diagnosis, reports) works for all.
To add one, write a Retriever under `@retriever(…)` in a module of this folder, or in another package with an
entry point in the group `tiny_graph_rag.retrievers`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from msgspec import Struct
from msgspec.structs import replace

from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.registry import Registry
from tiny_graph_rag.results import Reason as Reason
from tiny_graph_rag.run import Run

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.gold.resolve import Judgments
    from tiny_graph_rag.retrieval.native import OwnReply


class Task(Struct, frozen=True, eq=False):
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


class Foreign(Struct, frozen=True, eq=False):
    """What a retriever of somebody else's did.

    graph: with an entity for every name that it returned and the graph lacks, behind the `known` ones.
    replies: to each question of the gold set. wall_seconds: of all together.
    """

    graph: KnowledgeGraph
    known: int
    replies: tuple[OwnReply, ...]
    wall_seconds: float


class Retriever(ABC):
    """Ranks the entities of one graph. Made once for a task, asked with many questions."""

    argument: ClassVar[str] = ""
    """How the argument is shown where retrievers are listed; "" where it takes none."""
    usual: ClassVar[str] = ""
    """The argument where none is given; "" where one has to be."""
    batch: ClassVar[int] = 512
    """Questions that it is asked at once: as many as pass between two looks at the progress bar."""
    one_by_one: ClassVar[bool] = True
    """Whether a small set is asked one question at a time, so that each one's seconds are its own."""
    walks: ClassVar[bool] = True
    """Whether it starts from seeds and walks; one that doesn't needs no linking, and no hops count for it."""

    from_named: ClassVar[bool] = False
    """Whether it leaves seeds by text aside where a question has named ones; see `starting`."""

    def __init__(self, task: Task) -> None:  # noqa: B027 - `of` may make it of something else
        pass

    @classmethod
    def of(cls, task: Task) -> Self:
        """Make it. Raises UsageError for an argument or settings that it can't use."""
        return cls(task)

    @abstractmethod
    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        """At most the configured depth of entities a question, sorted by (-score, hop, NFC name, id)."""

    def starting(self, questions: Sequence[LinkedQuestion]) -> Sequence[LinkedQuestion]:
        """The questions with the seeds that it starts from: those that results, context and verdicts use."""
        if not self.from_named:
            return questions
        return [replace(question, seeds=question.starts) for question in questions]

    def prepare(self, linked: Callable[[], Sequence[LinkedQuestion]]) -> None:  # noqa: B027 - most need none
        """Called before questions are asked in parts. linked: gives all of them, at the price of linking."""

    def notes(self) -> list[str]:
        """What a user should hear after it was asked, such as what was paid."""
        return []

    def foreign(self) -> Foreign | None:
        """What it did, where it is not ours; asked for once, after `prepare`."""
        return None

    def reasons(self, question: LinkedQuestion, run: Run, row: int) -> tuple[Reason, ...]:
        """What the place of row `row` of a run for this question is made of; empty where it has no parts."""
        return ()

    def retrieve_within(
        self, questions: Sequence[LinkedQuestion], hops: Sequence[int]
    ) -> Iterator[Run] | None:
        """One run for each hop limit, none above this retriever's own, from shared work.

        Each equals `retrieve` of a retriever made with that limit, though without its paths or with wider
        ones. None where there is nothing to share: the caller then makes a retriever for each limit.
        """
        return None


RETRIEVERS: Registry[type[Retriever]] = Registry(
    "retriever",
    "tiny_graph_rag.retrieval",
    {
        "bfs": "bfs:BfsRetriever",
        "bfs-plain": "baselines:PlainBfsRetriever",
        "oracle": "baselines:OracleRetriever",
        "hybrid": "baselines:HybridRetriever",
        "run": "baselines:RunFileRetriever",
        "bm25": "baselines:Bm25Retriever",
        "dense": "dense:DenseRetriever",
        "pagerank": "pagerank:PageRankRetriever",
    },
)
retriever = RETRIEVERS.register  # @retriever(name, line); line: what it does, for `--help` and the docs


HYBRID = "hybrid"
USUAL_PARTS = "bfs*3+bm25"  # mean nDCG@10 of ten sets .682; .640 with equal weights


def parts_of(spec: str) -> list[str]:
    """The retrievers that a hybrid fuses, without their weights; any other is its only part."""
    name, _, argument = spec.partition(":")
    if name != HYBRID:
        return [spec]
    return [part.partition("*")[0].strip() for part in (argument or USUAL_PARTS).split("+")]
