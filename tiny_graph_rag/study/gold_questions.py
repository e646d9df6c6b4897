"""The gold set asked again, under other settings or on a changed graph, within a number of evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import stretches
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, asks_model, make_linker
from tiny_graph_rag.measures import Judged, Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.retrieval import Retriever, RetrieverMaker, make_retriever
from tiny_graph_rag.run import Run
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.choosing import Rows
from tiny_graph_rag.study.evaluate import judge_on_graph, on_graph

EVALUATIONS = 60  # of the gold set, at most, unless the user allows more
COMPILED_FROM = 2000  # questions; with fewer, starting numba takes longer than it saves
NOBODY = -1

Progress = Callable[[float, str], None]


@dataclass(eq=False)
class Trials:
    """A gold set on a graph, asked under any settings: what these share is linked and walked once.

    links: way of linking (`linked_by`) → the questions linked that way, so far.
    """

    graph: KnowledgeGraph
    examples: EvalSet
    linker_for: LinkerMaker = make_linker
    retriever_for: RetrieverMaker = make_retriever
    links: dict[tuple[object, ...], tuple[LinkedQuestion, ...]] = field(default_factory=dict)

    @cached_property
    def names(self) -> NameIndex:
        return NameIndex.of(self.graph)

    @cached_property
    def judgments(self) -> Judgments:
        return resolve(self.examples, self.names, len(self.graph))

    def of(self, rows: Rows) -> Trials:
        """The same with these questions alone."""
        if len(rows) == len(self.examples):
            return self
        chosen = replace(self.examples, examples=tuple(self.examples.examples[row] for row in rows.tolist()))
        links = {how: tuple(linked[row] for row in rows.tolist()) for how, linked in self.links.items()}
        return Trials(self.graph, chosen, self.linker_for, self.retriever_for, links)

    def linked(self, config: Config) -> tuple[LinkedQuestion, ...]:
        how = linked_by(config)
        if how not in self.links:
            linker = self.linker_for(self.graph, self.names, config)
            linker.check(self.examples.examples)
            linker.prepare(self.examples.examples)
            self.links[how] = tuple(linker.link(self.examples.examples))
        return self.links[how]

    def retriever(self, config: Config) -> Retriever:
        """Ready to be asked."""
        made = self.retriever_for(self.graph, config, self.examples, self.judgments)
        made.prepare(lambda: self.linked(config))
        return made

    def runs(
        self, config: Config, retriever: Retriever, hops: Sequence[int]
    ) -> Iterator[tuple[int | None, Run]]:
        """Each hop limit with its run, from one pass where the retriever can; (None, its run) alone where it
        doesn't walk. retriever: of the largest limit. Paths are not kept: nothing here shows them."""
        linked, limits = self.linked(config), hops if retriever.walks else (None,)
        made: dict[int | None, Retriever] = {max(hops): retriever, None: retriever}
        parts: dict[int | None, list[Run]] = {limit: [] for limit in limits}
        for start in range(0, len(linked), retriever.batch):
            batch = linked[start : start + retriever.batch]
            shared = retriever.retrieve_within(batch, hops) if retriever.walks else None
            for limit in limits:
                if shared is None and limit not in made:
                    made[limit] = self.retriever(config.override(hops=limit))
                run = made[limit].retrieve(batch) if shared is None else next(shared)
                parts[limit].append(replace(run, walks=None))
        for limit in limits:
            yield limit, Run.concatenated(parts.pop(limit))

    def judged(self, config: Config, run: Run, measures: Sequence[Measure]) -> Judged:
        """A run held against the gold set. config: that it was made with."""
        linked, examples = self.linked(config), self.examples.examples
        return judge_on_graph(self.graph, examples, self.names, linked, run, self.judgments, measures, config)


def linked_by(config: Config) -> tuple[object, ...]:
    """What linking depends on."""
    asked_how = repr(config.openai) if asks_model(config) else ""
    return (config.retrieval.linker, config.retrieval.fuzzy, config.ranking.text_seeds, asked_how)


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
        """Of the questions that have a reference, whether or not the graph has it."""
        examples = on_graph(graph, examples)
        scored = tuple(one for one in examples if one.reference_entities or one.highly_relevant_entities)
        config = config.override(compiled=config.running.compiled and len(scored) >= COMPILED_FROM)
        return cls(Trials(graph, replace(examples, examples=scored)), config, measure, allowed, progress)

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
            trials = Trials(graph, examples or self.examples, trials.linker_for, links=links)
        hops = config.retrieval.hops
        trials = trials if rows is None else trials.of(rows)
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
            values = self.measure.compute(trials.judged(config, run, [self.measure]))
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
