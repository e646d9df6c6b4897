"""The gold set asked again: under other settings, or on a changed graph, within a number of evaluations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import stretches
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.patterns import with_patterns
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, make_linker
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.run import Run
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.choosing import Rows
from tiny_graph_rag.study.evaluate import judge_on_graph

EVALUATIONS = 60  # of the gold set, at most, unless the user allows more
COMPILED_FROM = 2000  # questions; with fewer, starting numba takes longer than it saves

TIMED = 20  # questions asked again, only to time them
NOBODY = -1

Progress = Callable[[float, str], None]


class BudgetSpent(Exception):  # noqa: N818 - an end, not an error
    """The evaluations that were allowed are used up; what is known so far stands."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """values: (rows,) the deciding measure, higher better. seconds: CPU time a question, linking included.
    first: (rows, cutoff) the entities ranked first, NOBODY behind the last. linking: of the seconds, those of
    linking."""

    values: Column
    seconds: float
    first: NDArray[np.int32]
    linked: tuple[LinkedQuestion, ...]
    linking: float

    __repr__ = short_repr


@dataclass(eq=False)
class GoldQuestions:
    """A gold set on a graph, asked as often as `allowed` evaluations of the whole allow.

    examples: those with a reference; no other question has a value of the measure. measure: what decides.
    spent: evaluations so far, a part of the questions counting as its share.
    """

    graph: KnowledgeGraph
    examples: EvalSet
    config: Config
    measure: Measure
    allowed: float = EVALUATIONS
    progress: Progress = lambda spent, what: None
    linker_for: LinkerMaker = make_linker
    spent: float = 0.0
    _linked: dict[tuple[object, ...], tuple[tuple[LinkedQuestion, ...], float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        graph: KnowledgeGraph,
        examples: EvalSet,
        config: Config,
        measure: Measure,
        allowed: float = EVALUATIONS,
        progress: Progress = lambda spent, what: None,
    ) -> GoldQuestions:
        """Of the questions that have a reference, whether or not the graph has it."""
        examples = with_patterns(graph, examples)
        scored = tuple(one for one in examples if one.reference_entities or one.highly_relevant_entities)
        config = config.override(compiled=config.running.compiled and len(scored) >= COMPILED_FROM)
        return cls(graph, replace(examples, examples=scored), config, measure, allowed, progress)

    def know(self, values: Column, linked: tuple[LinkedQuestion, ...]) -> None:
        """Take what today's settings gave, as an evaluation has it already. values: (questions,) the measure.

        Only a sample is asked, to time it, and what is ranked first is not known.
        """
        sample = self.ask(rows=self.rows[:TIMED])
        self._linked[self._how(self.config)] = linked, sample.linking
        first = np.full((len(self), 0), NOBODY, dtype=np.int32)
        self.today = Measured(
            self.sign * np.nan_to_num(values), sample.seconds, first, linked, sample.linking
        )

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def sign(self) -> float:
        """What makes the measure higher where it is better: 1.0, or -1.0."""
        return 1.0 if self.measure.kind.higher_is_better else -1.0

    @property
    def span(self) -> float:
        """How far apart two values of the measure can be."""
        low, high = self.measure.bounds
        return high - low

    @cached_property
    def names(self) -> NameIndex:
        return NameIndex.of(self.graph)

    @cached_property
    def judgments(self) -> Judgments:
        return resolve(self.examples, self.names, len(self.graph))

    @cached_property
    def rows(self) -> Rows:
        return np.arange(len(self), dtype=np.int64)

    @cached_property
    def today(self) -> Measured:
        """As the settings are, on the graph as it is. The first time warms up what is built once."""
        self.ask(self.config, rows=self.rows[:1], what="")
        return self.ask(self.config)

    def ask(
        self,
        config: Config | None = None,
        *,
        graph: KnowledgeGraph | None = None,
        examples: EvalSet | None = None,
        rows: Rows | None = None,
        what: str = "",
    ) -> Measured:
        """These rows under these settings, on this graph with the gold set that is frozen to it.

        Raises BudgetSpent where it would be one evaluation too many.
        """
        rows = self.rows if rows is None else rows
        share = len(rows) / max(len(self), 1)
        if self.spent + share > self.allowed + 1e-9:
            raise BudgetSpent
        config = config or self.config
        graph = self.graph if graph is None else graph
        gold = examples or self.examples
        chosen = replace(gold, examples=tuple(gold.examples[row] for row in rows.tolist()))
        linked, linking = self._links(config, graph, chosen, rows, keep=graph.entities is self.graph.entities)
        names = NameIndex.of(graph)
        judgments = resolve(chosen, names, len(graph))
        retriever = make_retriever(graph, config, chosen, judgments)
        retriever.prepare(lambda: linked)
        started, parts = time.process_time(), []
        for start in range(0, len(linked), retriever.batch):
            parts.append(retriever.retrieve(linked[start : start + retriever.batch]))
        seconds = time.process_time() - started
        run = Run.concatenated(parts)
        judged = judge_on_graph(graph, chosen.examples, names, linked, run, judgments, [self.measure], config)
        values = self.measure.compute(judged)
        self.spent += share
        self.progress(self.spent, what)
        first = first_of(run, self.measure.cutoff or self.config.evaluation.top_k)
        seconds = linking + seconds / max(len(rows), 1)
        return Measured(self.sign * np.nan_to_num(values), seconds, first, linked, linking)

    @staticmethod
    def _how(config: Config) -> tuple[object, ...]:
        """What linking depends on."""
        return (config.retrieval.linker, config.retrieval.fuzzy, config.ranking.text_seeds)

    def _links(
        self, config: Config, graph: KnowledgeGraph, chosen: EvalSet, rows: Rows, *, keep: bool
    ) -> tuple[tuple[LinkedQuestion, ...], float]:
        """The questions linked, and CPU seconds a question. keep: the graph has the names it had."""
        how = self._how(config)
        if keep and how in self._linked:
            linked, seconds = self._linked[how]
            return tuple(linked[row] for row in rows.tolist()), seconds
        whole = len(rows) == len(self)
        asked: Sequence[Example] = chosen.examples
        linker = self.linker_for(graph, NameIndex.of(graph), config)
        linker.prepare(asked)
        linker.link(asked[:1])  # what is made at first use is no question's time
        started = time.process_time()
        linked = tuple(linker.link(asked))
        seconds = (time.process_time() - started) / max(len(asked), 1)
        if keep and whole:
            self._linked[how] = linked, seconds
        return linked, seconds


def first_of(run: Run, cutoff: int) -> NDArray[np.int32]:
    """(questions, cutoff) what a run ranks first, filled up with NOBODY."""
    counts = np.minimum(np.diff(run.offsets), cutoff)
    first = np.full((len(run), cutoff), NOBODY, dtype=np.int32)
    filled = np.arange(cutoff) < counts[:, None]
    first[filled] = run.entities[stretches(run.offsets[:-1], counts)]
    return first
