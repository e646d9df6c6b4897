"""One evaluation: link, retrieve, judge, score."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, Linker, LinkerMaker, make_linker
from tiny_graph_rag.measures import Judged, Measure, judge, score
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.summary import Summary, summarise
from tiny_graph_rag.retrieval import Reason, Retriever, RetrieverMaker, make_retriever
from tiny_graph_rag.retrieval.base import Foreign
from tiny_graph_rag.run import Run
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.explanation import Explanation, JudgedRun, explain

if TYPE_CHECKING:
    from tiny_graph_rag.study.advice import Trial
    from tiny_graph_rag.study.answer_scores import Answered

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Latency:
    """seconds: (questions,) linking and retrieval of one question alone, NaN where it was not in the sample.

    questions_per_second: of the whole batch, linking included.
    """

    seconds: NDArray[np.float64]
    questions_per_second: float

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class Drop:
    """mean: with the altered questions. drop: what the mean lost (negative: gained), with the low and high of
    its 95 % paired interval. n: questions that define the measure."""

    mean: float
    drop: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Perturbed:
    """altered: questions whose text the kind changed at all. broken: (id, altered text) of those that found
    less within k. measures: those that are means over questions; pooled ones have no paired interval."""

    kind: str
    altered: int
    measures: dict[Measure, Drop]
    broken: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Everything an evaluation found; reports show it and compute nothing."""

    graph: KnowledgeGraph
    examples: EvalSet
    config: Config
    linked: tuple[LinkedQuestion, ...]
    run: Run
    judgments: Judgments
    judged: Judged
    scores: dict[Measure, Column]
    summary: Summary
    latency: Latency
    explanation: Explanation
    answered: Answered | None = None
    notes: tuple[str, ...] = ()
    reasons: tuple[tuple[tuple[Reason, ...], ...], ...] | None = None
    """By question and rank, for the ranks that results show; None where they were not asked for."""
    perturbed: tuple[Perturbed, ...] = ()
    foreign: Foreign | None = None
    """What somebody else's retriever did; None for ours."""
    trials: tuple[Trial, ...] = ()
    """What flags would change, where that was tried."""

    __repr__ = short_repr


def evaluate(
    graph: KnowledgeGraph,
    examples: EvalSet,
    config: Config,
    measures: Sequence[Measure],
    progress: Progress = lambda done: None,
    linker_for: LinkerMaker = make_linker,
    retriever_for: RetrieverMaker = make_retriever,
) -> Evaluation:
    """Run the configured linker and retriever over a gold set and score what they return.

    progress is told how many questions are done. linker_for: makes the linker; one that asks a model is
    given it there. retriever_for: the same for the retriever. Raises UsageError for settings that don't go
    together.
    """
    names = NameIndex.of(graph)
    linker = linker_for(graph, names, config)
    linker.check(examples)
    linker.prepare(examples.examples)
    judgments = resolve(examples, names, len(graph))
    retriever = retriever_for(graph, config, examples, judgments)
    retriever.prepare(lambda: linker.link(examples.examples))
    foreign = retriever.foreign()
    if foreign is not None:
        graph = foreign.graph  # references mean what they meant without the retriever's own names
        judgments = resolve(examples, names, len(graph))
    timed = 0 if foreign is not None else config.evaluation.latency_sample
    linked, run, latency = _retrieved(linker, retriever, examples, timed, progress)
    if foreign is not None:
        latency = Latency(foreign.seconds, len(examples) / max(foreign.wall_seconds, 1e-9))
    if run.failures:
        linked = tuple(replace(each, error=run.failures.get(row)) for row, each in enumerate(linked))
    judged = judge_on_graph(graph, examples.examples, names, linked, run, judgments, measures)
    scores = score(judged, measures)
    summary = summarise(
        scores, judged, [example.tags for example in examples], [example.group for example in examples]
    )
    judged_run = JudgedRun(graph, names, examples, linked, run, judgments, judged)
    why = explain(judged_run, retriever, config, list(scores))
    reasons = _reasons(retriever, linked, run, config) if config.evaluation.save_reasons else None
    return Evaluation(
        graph,
        examples,
        config,
        linked,
        run,
        judgments,
        judged,
        scores,
        summary,
        latency,
        why,
        reasons=reasons,
        notes=tuple(retriever.notes()),
        foreign=foreign,
    )


def judge_on_graph(
    graph: KnowledgeGraph,
    examples: Sequence[Example],
    names: NameIndex,
    linked: Sequence[LinkedQuestion],
    run: Run,
    judgments: Judgments,
    measures: Iterable[Measure],
) -> Judged:
    """A run held against its gold set, all in the same question order.

    Facts of the graph only where one of `measures` needs them.
    """
    if not any(each.kind.needs for each in measures):
        return judge(run, judgments)
    from tiny_graph_rag.measures.facts import RelationReference
    from tiny_graph_rag.measures.graph_facts import graph_facts

    facts = graph_facts(
        graph,
        run,
        judgments,
        seeds=[frozenset(seed.entity for seed in each.seeds) for each in linked],
        expected_types=[each.expected_types for each in examples],
        relationships=[
            [RelationReference.of(each.source, each.target, each.type, names) for each in row]
            for row in (example.reference_relationships for example in examples)
        ],
    )
    return judge(run, judgments, facts=facts)


def _reasons(
    retriever: Retriever, linked: Sequence[LinkedQuestion], run: Run, config: Config
) -> tuple[tuple[tuple[Reason, ...], ...], ...]:
    most = config.evaluation.shown_ranks
    return tuple(
        tuple(
            retriever.reasons(each, run, row)
            for row in range(
                run.rows(question).start, min(run.rows(question).stop, run.rows(question).start + most)
            )
        )
        for question, each in enumerate(linked)
    )


def _retrieved(
    linker: Linker, retriever: Retriever, examples: EvalSet, timed: int, progress: Progress
) -> tuple[tuple[LinkedQuestion, ...], Run, Latency]:
    """All in batches, and a sample of `timed` questions alone; a set no larger is mostly run alone only."""
    alone = retriever.one_by_one and len(examples) <= timed
    if alone:
        retriever.retrieve(linker.link(examples.examples[:1]))  # what is made at first use is no latency
    size = 1 if alone else retriever.batch
    linked: list[LinkedQuestion] = []
    parts: list[Run] = []
    moments = [time.perf_counter()]
    for start in range(0, len(examples), size):
        batch = linker.link(examples.examples[start : start + size])
        parts.append(_without_failed(retriever.retrieve(batch), batch))
        linked.extend(batch)
        moments.append(time.perf_counter())
        progress(len(linked))
    seconds = np.diff(moments) if alone else _latencies(linker, retriever, examples, timed)
    per_second = len(examples) / max(moments[-1] - moments[0], 1e-9)
    return tuple(linked), Run.concatenated(parts), Latency(seconds, per_second)


def _without_failed(run: Run, linked: Sequence[LinkedQuestion]) -> Run:
    """A question that could not be linked has failed, with retrievers that need no seeds too."""
    unlinked = {row: each.error for row, each in enumerate(linked) if each.error is not None}
    if not unlinked:
        return run
    linkable = np.ones(len(linked), dtype=bool)
    linkable[list(unlinked)] = False
    linkable_rows = run.where(np.repeat(linkable, np.diff(run.offsets)))
    return replace(linkable_rows, failures={**run.failures, **unlinked})


def _latencies(linker: Linker, retriever: Retriever, examples: EvalSet, timed: int) -> NDArray[np.float64]:
    """Seconds of single questions, for a sample spread evenly over the set."""
    seconds = np.full(len(examples), np.nan)
    timed = min(timed, len(examples))
    for row in (np.arange(timed) * len(examples) // max(timed, 1)).tolist():
        started = time.perf_counter()
        retriever.retrieve(linker.link([examples.examples[row]]))
        seconds[row] = time.perf_counter() - started
    return seconds
