"""The gold set asked again, under other settings or on a changed graph, within a number of evaluations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import stretches
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.run import Run
from tiny_graph_rag.scoring.source_chunks import PASSAGES, kind_expected
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.choosing import Rows
from tiny_graph_rag.study.trials import Trials, linked_by

EVALUATIONS = 60  # of the gold set, at most, unless the user allows more
COMPILED_FROM = 2000  # questions; with fewer, starting numba takes longer than it saves
NOBODY = -1

Progress = Callable[[float, str], None]


class BudgetSpent(Exception):  # noqa: N818 - an end, not an error
    """The evaluations that were allowed are used up; what is known so far stands."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """values: (rows,) the deciding measure, higher better, NaN where undefined. first: (rows, cutoff) the
    entities ranked first, NOBODY behind the last; no column where nobody asks for them."""

    values: Column
    first: NDArray[np.int32]
    linked: tuple[LinkedQuestion, ...]

    @classmethod
    def of(cls, values: Column, linked: tuple[LinkedQuestion, ...]) -> Measured:
        """Of which what is ranked first is not known."""
        return cls(values, np.full((len(linked), 0), NOBODY, dtype=np.int32), linked)

    __repr__ = short_repr


@dataclass(eq=False)
class GoldQuestions:
    """A gold set on a graph, asked as often as `allowed` evaluations of the whole allow.

    trials: of the questions with a reference; no other has a value of the measure. measure: what decides.
    spent: evaluations so far, a part of the questions counting as its share.
    """

    trials: Trials
    config: Config
    measure: Measure
    allowed: float = EVALUATIONS
    progress: Progress = lambda spent, what: None
    spent: float = 0.0

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
        """Of the questions that have a reference, whether or not the graph has it: a passage where the gold
        set expects these alone."""
        whole = Trials.of(graph, examples)
        alone = kind_expected(whole.examples) == PASSAGES
        scored = [
            row
            for row, question in enumerate(whole.examples)
            if question.relevant_entities
            or (alone and (question.reference_chunks or question.reference_texts))
        ]
        config = config.override(compiled=config.running.compiled and len(scored) >= COMPILED_FROM)
        return cls(whole.only(np.array(scored, dtype=np.int64)), config, measure, allowed, progress)

    def know(self, values: Column, linked: tuple[LinkedQuestion, ...]) -> None:
        """Take what today's settings gave, as an evaluation has it already: values of the measure, one a
        question. What is ranked first is not known."""
        self.trials.links[linked_by(self.config)] = linked
        self.today = Measured.of(self.measure.sign * np.nan_to_num(values), linked)

    def __len__(self) -> int:
        return len(self.trials.examples)

    @property
    def graph(self) -> KnowledgeGraph:
        return self.trials.graph

    @property
    def examples(self) -> EvalSet:
        return self.trials.examples

    @property
    def judgments(self) -> Judgments:
        return self.trials.judgments

    @property
    def span(self) -> float:
        """How far apart two values of the measure can be."""
        low, high = self.measure.bounds
        return high - low

    @cached_property
    def rows(self) -> Rows:
        return np.arange(len(self), dtype=np.int64)

    @cached_property
    def today(self) -> Measured:
        """As the settings are, on the graph as it is."""
        return self.ask()

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
        config, trials = config or self.config, self.trials
        if graph is not None:
            links = trials.links if graph.entities is self.graph.entities else {}
            trials = replace(Trials.of(graph, examples or self.examples), links=links)
        hops = config.retrieval.hops
        trials = trials if rows is None else trials.only(rows)
        return self._measured(trials, config, (hops,), what)[hops]

    def ask_within(self, config: Config, hops: Sequence[int], what: str = "") -> dict[int, Measured]:
        """All questions at each of these hop limits, which one pass of retrieval gives. A retriever that does
        not walk gives the same for all. Raises BudgetSpent as `ask`."""
        return self._measured(self.trials, config, hops, what)

    def _measured(
        self, trials: Trials, config: Config, hops: Sequence[int], what: str
    ) -> dict[int, Measured]:
        share = len(hops) * len(trials.examples) / max(len(self), 1)
        if self.spent + share > self.allowed + 1e-9:
            raise BudgetSpent
        cutoff, linked = self.measure.cutoff or config.evaluation.top_k, trials.linked(config)
        retriever = trials.retriever(config.override(hops=max(hops)))
        results = {}
        for limit, run in trials.runs(config, retriever, hops):
            values = self.measure.compute(trials.judged(linked, run, [self.measure], config))
            results[limit] = Measured(
                self.measure.sign * np.nan_to_num(values), first_of(run, cutoff), linked
            )
        self.spent += share
        self.progress(self.spent, what)
        return {limit: results[limit if retriever.walks else None] for limit in hops}


def first_of(run: Run, cutoff: int) -> NDArray[np.int32]:
    """(questions, cutoff) what a run ranks first, filled up with NOBODY."""
    counts = np.minimum(np.diff(run.offsets), cutoff)
    first = np.full((len(run), cutoff), NOBODY, dtype=np.int32)
    filled = np.arange(cutoff) < counts[:, None]
    first[filled] = run.entities[stretches(run.offsets[:-1], counts)]
    return first
