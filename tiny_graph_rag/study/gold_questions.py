"""The gold set asked again, under other settings or on a changed graph, within a number of evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import stretches
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, make_linker
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.retrieval import Retriever, make_retriever
from tiny_graph_rag.run import Run
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.choosing import Rows
from tiny_graph_rag.study.evaluate import judge_on_graph, on_graph

EVALUATIONS = 60  # of the gold set, at most, unless the user allows more
COMPILED_FROM = 2000  # questions; with fewer, starting numba takes longer than it saves
NOBODY = -1

Progress = Callable[[float, str], None]


class BudgetSpent(Exception):  # noqa: N818 - an end, not an error
    """The evaluations that were allowed are used up; what is known so far stands."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """values: (rows,) the deciding measure, higher better. first: (rows, cutoff) the entities ranked first,
    NOBODY behind the last."""

    values: Column
    first: NDArray[np.int32]
    linked: tuple[LinkedQuestion, ...]

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
    _linked: dict[tuple[object, ...], tuple[LinkedQuestion, ...]] = field(default_factory=dict)

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
        return cls(graph, replace(examples, examples=scored), config, measure, allowed, progress)

    def know(self, values: Column, linked: tuple[LinkedQuestion, ...]) -> None:
        """Take what today's settings gave, as an evaluation has it already: values of the measure, one a
        question. What is ranked first is not known."""
        self._linked[linked_by(self.config)] = linked
        first = np.full((len(self), 0), NOBODY, dtype=np.int32)
        self.today = Measured(self.sign * np.nan_to_num(values), first, linked)

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
        """As the settings are, on the graph as it is."""
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
        config = config or self.config
        (measured,) = self.ask_within(
            config, (config.retrieval.hops,), graph=graph, examples=examples, rows=rows, what=what
        ).values()
        return measured

    def ask_within(
        self,
        config: Config,
        hops: Sequence[int],
        *,
        graph: KnowledgeGraph | None = None,
        examples: EvalSet | None = None,
        rows: Rows | None = None,
        what: str = "",
    ) -> dict[int, Measured]:
        """The same at each of these hop limits, which one pass of retrieval gives. A retriever that does not
        walk gives the same for all."""
        rows = self.rows if rows is None else rows
        share = len(hops) * len(rows) / max(len(self), 1)
        if self.spent + share > self.allowed + 1e-9:
            raise BudgetSpent
        graph = self.graph if graph is None else graph
        gold = examples or self.examples
        chosen = replace(gold, examples=tuple(gold.examples[row] for row in rows.tolist()))
        same_names = graph.entities is self.graph.entities
        linked = self._links(config, graph, chosen.examples, rows, keep=same_names)
        names = NameIndex.of(graph)
        judgments = resolve(chosen, names, len(graph))

        def retriever_at(limit: int) -> Retriever:
            return make_retriever(graph, config.override(hops=limit), chosen, judgments)

        deepest = retriever_at(max(hops))
        deepest.prepare(lambda: linked)
        cutoff = self.measure.cutoff or config.evaluation.top_k
        results = {}
        for limit, run in runs_within(deepest, retriever_at, linked, hops if deepest.walks else (None,)):
            judged = judge_on_graph(
                graph, chosen.examples, names, linked, run, judgments, [self.measure], config
            )
            values = self.sign * np.nan_to_num(self.measure.compute(judged))
            results[limit] = Measured(values, first_of(run, cutoff), linked)
        self.spent += share
        self.progress(self.spent, what)
        return {limit: results[limit if deepest.walks else None] for limit in hops}

    def _links(
        self,
        config: Config,
        graph: KnowledgeGraph,
        examples: Sequence[Example],
        rows: Rows,
        *,
        keep: bool,
    ) -> tuple[LinkedQuestion, ...]:
        """The questions linked. keep: the graph has the names it had."""
        how = linked_by(config)
        if keep and how in self._linked:
            return tuple(self._linked[how][row] for row in rows.tolist())
        linker = self.linker_for(graph, NameIndex.of(graph), config)
        linker.prepare(examples)
        linked = tuple(linker.link(examples))
        if keep and len(rows) == len(self):
            self._linked[how] = linked
        return linked


def linked_by(config: Config) -> tuple[object, ...]:
    """What linking depends on, where no model is asked."""
    return (config.retrieval.linker, config.retrieval.fuzzy, config.ranking.text_seeds)


def runs_within(
    retriever: Retriever,
    remade: Callable[[int], Retriever],
    linked: Sequence[LinkedQuestion],
    hops: Sequence[int | None],
) -> Iterator[tuple[int | None, Run]]:
    """Each hop limit with its run.

    retriever: with the largest limit. remade: makes the retriever of another limit, for retrievers that share
    no work. hops: None for what does not walk. Paths are not kept: nothing here shows them.
    """
    limited = [hop for hop in hops if hop is not None]
    others: dict[int, Retriever] = {}
    parts: dict[int | None, list[Run]] = {hop: [] for hop in hops}
    for start in range(0, len(linked), retriever.batch):
        batch = linked[start : start + retriever.batch]
        shared = retriever.retrieve_within(batch, limited) if limited else None
        for hop in hops:
            if shared is not None:
                run = next(shared)
            elif hop is None:
                run = retriever.retrieve(batch)
            else:
                if hop not in others:
                    others[hop] = remade(hop)
                run = others[hop].retrieve(batch)
            parts[hop].append(replace(run, walks=None))
    for hop in hops:
        yield hop, Run.concatenated(parts.pop(hop))


def first_of(run: Run, cutoff: int) -> NDArray[np.int32]:
    """(questions, cutoff) what a run ranks first, filled up with NOBODY."""
    counts = np.minimum(np.diff(run.offsets), cutoff)
    first = np.full((len(run), cutoff), NOBODY, dtype=np.int32)
    filled = np.arange(cutoff) < counts[:, None]
    first[filled] = run.entities[stretches(run.offsets[:-1], counts)]
    return first
