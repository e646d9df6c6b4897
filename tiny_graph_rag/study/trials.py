"""A gold set on a graph: what it means there, how its questions link, and what a run is worth; and the same
asked again, under other settings or on a changed graph, within a number of evaluations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import short_repr, stretches
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, Linker, LinkerMaker, asks_model, make_linker
from tiny_graph_rag.measures import Judged, Measure, judge
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.judged import ENTITIES, PASSAGES, RELATIONS, JudgedKind
from tiny_graph_rag.retrieval import Retriever, RetrieverMaker, make_retriever
from tiny_graph_rag.run import Run
from tiny_graph_rag.scoring.source_chunks import as_expected, kind_expected

EVALUATIONS = 60  # of the gold set, at most, unless the user allows more
COMPILED_FROM = 2000  # questions; with fewer, starting numba takes longer than it saves
NOBODY = -1

Rows = NDArray[np.int64]
Progress = Callable[[float, str], None]


@dataclass(eq=False)
class Trials:
    """A gold set on a graph, asked under any settings: what these share is linked and walked once.

    names: what references mean, and questions name. links: way of linking (`linked_by`) → the questions
    linked that way, so far.
    """

    graph: KnowledgeGraph
    examples: EvalSet
    names: NameIndex
    linker_for: LinkerMaker = make_linker
    retriever_for: RetrieverMaker = make_retriever
    links: dict[tuple[object, ...], tuple[LinkedQuestion, ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        graph: KnowledgeGraph,
        examples: EvalSet,
        linker_for: LinkerMaker = make_linker,
        retriever_for: RetrieverMaker = make_retriever,
    ) -> Trials:
        """References that follow the graph are computed on it. Raises DatasetError as `with_patterns`."""
        if any(question.follows_graph for question in examples):
            from tiny_graph_rag.gold.patterns import with_patterns

            examples = with_patterns(graph, examples)
        return cls(graph, examples, NameIndex.of(graph), linker_for, retriever_for)

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def judgments(self) -> Judgments:
        return resolve(self.examples, self.names, len(self.graph))

    def only(self, rows: Rows) -> Self:
        """The same with these questions alone."""
        if len(rows) == len(self):
            return self
        chosen = replace(self.examples, examples=tuple(self.examples.examples[row] for row in rows.tolist()))
        links = {how: tuple(linked[row] for row in rows.tolist()) for how, linked in self.links.items()}
        return replace(self, examples=chosen, links=links)

    def linker(self, config: Config) -> Linker:
        """Ready to be asked. Raises UsageError for settings that don't go together."""
        made = self.linker_for(self.graph, self.names, config)
        made.check(self.examples.examples)
        made.prepare(self.examples.examples)
        return made

    def linked(self, config: Config) -> tuple[LinkedQuestion, ...]:
        """All questions."""
        how = linked_by(config)
        if how not in self.links:
            self.links[how] = tuple(self.linker(config).link(self.examples.examples))
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
            run = Run.concatenated(parts.pop(limit))
            yield limit, as_expected(self.graph, run, self.examples.examples, config)

    def judged(
        self, linked: Sequence[LinkedQuestion], run: Run, measures: Iterable[Measure], config: Config
    ) -> Judged:
        """A run of the linked questions held against the gold set, all in the same question order.

        Contexts, relations and passages only where one of `measures` needs them.
        """
        measures, graph, examples = tuple(measures), self.graph, self.examples.examples
        kinds: dict[str, JudgedKind | None] = {} if run.returns_entities else {ENTITIES: None}
        judged = judge(run, self.judgments)
        if not any(measure.kind.needs_graph or measure.of for measure in measures):
            return structs.replace(judged, kinds=kinds) if kinds else judged
        from tiny_graph_rag.measures.textual import TextMatch
        from tiny_graph_rag.scoring.kinds import judged_kinds
        from tiny_graph_rag.scoring.subgraphs import SentContexts, contexts_of, ends_on, returned_subgraph

        seeds = [frozenset(seed.entity for seed in linked_question.seeds) for linked_question in linked]
        sent = None if run.external else SentContexts(graph, run, seeds, config)
        settings = config.evaluation
        passage_match = TextMatch.of_passages(settings.match, settings.rouge_threshold)
        wanted = {measure.of for measure in measures}
        relations = run.relations if sent is None or RELATIONS not in wanted else sent.relations()
        kinds |= judged_kinds(
            examples,
            relations if RELATIONS in wanted else None,
            run.passages if PASSAGES in wanted else None,
            judged,
            ends_on(graph, self.names),
            passage_match,
        )
        context = None
        if any(measure.kind.needs_graph for measure in measures):
            subgraph = returned_subgraph(run) if sent is None else sent.subgraph
            context = contexts_of(graph, self.names, examples, self.judgments, seeds, subgraph)
        return structs.replace(judged, context=context, kinds=kinds)


def linked_by(config: Config) -> tuple[object, ...]:
    """What linking depends on."""
    asked_how = repr(config.openai) if asks_model(config) else ""
    return (config.retrieval.linker, config.retrieval.fuzzy, config.ranking.text_seeds, asked_how)


class BudgetSpent(Exception):  # noqa: N818 - an end, not an error
    """The evaluations that were allowed are used up; what is known so far stands."""


class Measured(Struct, frozen=True, eq=False):
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


@dataclass(eq=False, kw_only=True)
class GoldQuestions(Trials):
    """The questions that have a reference, asked as often as `allowed` evaluations of them all allow.

    measure: what decides. spent: evaluations so far, a part of the questions counting as its share.
    """

    config: Config
    measure: Measure
    allowed: float = EVALUATIONS
    progress: Progress = lambda spent, what: None
    spent: float = 0.0

    @classmethod
    def with_references(
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
        examples = whole.only(np.array(scored, dtype=np.int64)).examples
        config = config.override(compiled=config.running.compiled and len(scored) >= COMPILED_FROM)
        return cls(
            graph, examples, whole.names, config=config, measure=measure, allowed=allowed, progress=progress
        )

    def know(self, values: Column, linked: tuple[LinkedQuestion, ...]) -> None:
        """Take what today's settings gave, as an evaluation has it already: values of the measure, one a
        question. What is ranked first is not known."""
        self.links[linked_by(self.config)] = linked
        self.today = Measured.of(self.measure.sign * np.nan_to_num(values), linked)

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
        config = config or self.config
        trials: Trials = self
        if graph is not None:
            links = self.links if graph.entities is self.graph.entities else {}
            trials = replace(Trials.of(graph, examples or self.examples), links=links)
        hops = config.retrieval.hops
        trials = trials if rows is None else trials.only(rows)
        return self._measured(trials, config, (hops,), what)[hops]

    def ask_within(self, config: Config, hops: Sequence[int], what: str = "") -> dict[int, Measured]:
        """All questions at each of these hop limits, which one pass of retrieval gives. A retriever that does
        not walk gives the same for all. Raises BudgetSpent as `ask`."""
        return self._measured(self, config, hops, what)

    def _measured(
        self, trials: Trials, config: Config, hops: Sequence[int], what: str
    ) -> dict[int, Measured]:
        share = len(hops) * len(trials) / max(len(self), 1)
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
