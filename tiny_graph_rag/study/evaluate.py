"""One evaluation: link, retrieve, judge, score."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import short_repr
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking import LinkedQuestion, Linker, LinkerMaker, make_linker
from tiny_graph_rag.measures import Judged, Measure, default_measures, measures_of, score
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.judged import ENTITIES, PASSAGES, RELATIONS, JudgedKind
from tiny_graph_rag.measures.summary import Summary, summarise
from tiny_graph_rag.messages import counted, t
from tiny_graph_rag.retrieval import Reason, Retriever, RetrieverMaker, make_retriever
from tiny_graph_rag.retrieval.base import Foreign
from tiny_graph_rag.run import Run
from tiny_graph_rag.scoring.source_chunks import as_expected
from tiny_graph_rag.study.explanation import Explanation, explain
from tiny_graph_rag.study.trials import Trials

if TYPE_CHECKING:
    from tiny_graph_rag.results import Decision
    from tiny_graph_rag.study.answer_scores import Answered

Progress = Callable[[int], None]
FROM_RELATIONS = ("relation_recall", "relation_precision", "path_completeness")


class Timing(Struct, frozen=True, eq=False):
    """seconds: (questions,) linking and retrieval of one question alone, NaN where it was not in the sample.

    questions_per_second: of the whole batch, linking included.
    """

    seconds: NDArray[np.float64]
    questions_per_second: float

    __repr__ = short_repr


class Evaluation(Struct, frozen=True, eq=False):
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
    latency: Timing
    explanation: Explanation
    answered: Answered | None = None
    notes: tuple[str, ...] = ()
    reasons: tuple[tuple[tuple[Reason, ...], ...], ...] | None = None
    """By question and rank, for the ranks that results show; None where they were not asked for."""
    foreign: Foreign | None = None
    """What somebody else's retriever did; None for ours."""
    decision: Decision | None = None
    """What other settings would do, where that was tried."""

    __repr__ = short_repr


def evaluate(
    graph: KnowledgeGraph,
    examples: EvalSet,
    config: Config,
    measures: Sequence[Measure],
    progress: Progress = lambda done: None,
    linker_for: LinkerMaker = make_linker,
    retriever_for: RetrieverMaker = make_retriever,
    *,
    every_kind: bool = False,
) -> Evaluation:
    """Run the configured linker and retriever over a gold set and score what they return.

    progress gets how many questions are done. linker_for: makes the linker; one that asks a model is
    given it there. retriever_for: the same for the retriever. every_kind: add the default measures of
    relations and of passages where both retriever and gold set name some.

    Raises UsageError for settings that don't go together.
    """
    trials = Trials.of(graph, examples, linker_for, retriever_for)
    examples, linker = trials.examples, trials.linker(config)
    retriever = retriever_for(graph, config, examples, trials.judgments)
    retriever.prepare(lambda: linker.link(examples.examples))
    foreign = retriever.foreign()
    if foreign is not None:  # references mean what they meant without the retriever's own names
        graph, trials = foreign.graph, replace(trials, graph=foreign.graph)
    timed = 0 if foreign is not None else config.evaluation.latency_sample
    linked, run, latency = _retrieved(linker, retriever, examples, timed, progress)
    run = as_expected(graph, run, examples, config)
    if every_kind:
        measures = _of_every_kind(run, examples.examples, measures, config.evaluation.top_k)
    if foreign is not None:
        seconds = np.array([reply.seconds for reply in foreign.replies])
        latency = Timing(seconds, len(examples) / max(foreign.wall_seconds, 1e-9))
    if run.failures:
        linked = tuple(
            structs.replace(question, error=question.error or run.failures.get(row))
            for row, question in enumerate(linked)
        )
    judged = structs.replace(trials.judged(linked, run, measures, config), seconds=latency.seconds)
    scores = score(judged, measures)
    tags, groups = [example.tags for example in examples], [example.group for example in examples]
    summary = summarise(scores, judged, tags, groups)
    why = explain(trials, linked, run, judged, retriever, config)
    notes = [
        *retriever.notes(),
        *_undefined(run, judged, measures),
        *_contained(run, judged, examples.examples, config),
        *(() if run.external else _strange_passages(judged, examples, graph)),
        *_ids_as_names(trials.judgments, graph),
    ]
    reasons = _reasons(retriever, linked, run, config) if config.evaluation.save_reasons else None
    return Evaluation(
        graph,
        examples,
        config,
        linked,
        run,
        trials.judgments,
        judged,
        scores,
        summary,
        latency,
        why,
        reasons=reasons,
        notes=tuple(notes),
        foreign=foreign,
    )


def _of_every_kind(
    run: Run, examples: Sequence[Example], measures: Sequence[Measure], cutoff: int
) -> tuple[Measure, ...]:
    """`measures`, and the default ones of other kinds that were returned and are expected; these alone where
    no entities were returned."""
    if run.relations is None and run.passages is None:
        return tuple(measures)
    more: list[Measure] = []
    if run.relations is not None and any(question.reference_relations for question in examples):
        more += default_measures(cutoff, RELATIONS)
    if run.passages is not None and any(
        question.reference_chunks or question.reference_texts for question in examples
    ):
        more += default_measures(cutoff, PASSAGES)
    asked = measures if run.returns_entities or not more else set(measures) - set(default_measures(cutoff))
    return tuple(dict.fromkeys([*(measure for measure in measures if measure in asked), *more]))


def _undefined(run: Run, judged: Judged, measures: Sequence[Measure]) -> list[str]:
    """What was asked for of a kind that the retriever returned for no question."""
    returned = [
        kind
        for kind, is_there in (
            (ENTITIES, run.returns_entities),
            (RELATIONS, run.relations is not None),
            (PASSAGES, run.passages is not None),
        )
        if is_there
    ]
    lines = []
    for kind in (ENTITIES, RELATIONS, PASSAGES):
        of = "" if kind == ENTITIES else kind
        named = [str(measure) for measure in measures if measure.of == of] if judged.of(of) is None else []
        if kind == RELATIONS and run.external and run.relations is None:
            named += [str(measure) for measure in measures if measure.name in FROM_RELATIONS]
        if named:
            lines.append(
                t(
                    "the retriever returned no {kind} for any question: {measures} undefined. It returned "
                    "{returned}",
                    kind=t(kind),
                    measures=", ".join(named),
                    returned=", ".join(f"{t(other)} ({other}:recall@5)" for other in returned)
                    or t("nothing"),
                )
            )
    return lines


def _contained(run: Run, judged: Judged, examples: Sequence[Example], config: Config) -> list[str]:
    """Whether chunks hold reference texts, where none is one: the usual way to match finds nothing then."""
    passages = judged.kinds.get(PASSAGES)
    if passages is None or _found(passages):
        return []
    from tiny_graph_rag.measures.textual import AUTO, CONTAINS, TextMatch
    from tiny_graph_rag.scoring.kinds import judged_passages

    if config.evaluation.match != AUTO:
        return []

    loosely = judged_passages(examples, run.passages or (), judged, TextMatch(CONTAINS))
    if not _found(loosely):
        return []
    return [
        t(
            "no returned passage is the same as a reference text, but {n} of {all} reference texts are part "
            "of one: --set evaluation.match=contains counts those",
            n=_found(loosely),
            all=sum(map(len, loosely.ranks)),
        )
    ]


def _strange_passages(judged: Judged, examples: EvalSet, graph: KnowledgeGraph) -> list[str]:
    """How many passages of the gold set nobody can find, since the graph has none with their ids."""
    if judged.kinds.get(PASSAGES) is None:
        return []
    from tiny_graph_rag.gold.validate import check_passages  # runs about entities alone need none

    found = list(check_passages(examples.examples, graph))
    if not found:
        return []
    return [
        counted(
            len(found),
            "{n} reference passage is not in the graph and counts as missed; `validate` shows it",
            "{n} reference passages are not in the graph and count as missed; `validate` lists them",
        )
    ]


def _ids_as_names(judgments: Judgments, graph: KnowledgeGraph) -> list[str]:
    """How many references are written as ids of entities, which no name in a ranking is."""
    from tiny_graph_rag.graph.nearest import entity_of_id  # most gold sets lack nothing

    ids = [name for name in judgments.references.unresolved if entity_of_id(graph, name) is not None]
    if not ids:
        return []
    return [
        counted(
            len(ids),
            "{n} reference is the id of an entity, {id}, and counts as missed, since a reference is a name: "
            "`validate --fix-suggestions` writes the name",
            "{n} references are ids of entities, such as {id}, and count as missed, since a reference is a "
            "name: `validate --fix-suggestions` writes the names",
            id=repr(ids[0]),
        )
    ]


def _found(kind: JudgedKind) -> int:
    """References that were returned."""
    return sum(rank is not None for ranks in kind.ranks for rank in ranks)


def _reasons(
    retriever: Retriever, linked: Sequence[LinkedQuestion], run: Run, config: Config
) -> tuple[tuple[tuple[Reason, ...], ...], ...]:
    most = config.evaluation.shown_ranks
    ranks = (range(run.rows(row).start, run.rows(row).stop)[:most] for row in range(len(run)))
    return tuple(
        tuple(retriever.reasons(question, run, rank) for rank in its_ranks)
        for question, its_ranks in zip(linked, ranks, strict=True)
    )


def _retrieved(
    linker: Linker, retriever: Retriever, examples: EvalSet, timed: int, progress: Progress
) -> tuple[tuple[LinkedQuestion, ...], Run, Timing]:
    """Each question once: most in batches, then a sample of `timed`, spread evenly over the set, alone."""
    count = len(examples)
    timed = min(timed, count) if retriever.one_by_one else 0
    sample = np.arange(timed) * count // max(timed, 1)
    order = np.concatenate([np.delete(np.arange(count), sample), sample])
    chosen = [examples.examples[row] for row in order.tolist()]
    many = count - timed
    if count and not many:
        retriever.retrieve(linker.link(chosen[:1]))  # what is made at first use is no latency
    linked: list[LinkedQuestion] = []
    parts: list[Run] = []
    moments = [time.perf_counter()]
    batches = [chosen[start:many][: retriever.batch] for start in range(0, many, retriever.batch)]
    alone = [[example] for example in chosen[many:]]
    for batch in (*batches, *alone):
        linked_batch = linker.link(batch)
        parts.append(_without_failed(retriever.retrieve(linked_batch), linked_batch))
        linked.extend(retriever.starting(linked_batch))
        moments.append(time.perf_counter())
        progress(len(linked))
    seconds = np.full(count, np.nan)
    seconds[sample] = np.diff(moments)[len(batches) :]
    back, run = np.argsort(order), Run.concatenated(parts)
    parts.clear()  # of a large set, half of the memory
    return (
        tuple(linked[row] for row in back.tolist()),
        run.of(back),
        Timing(seconds, count / max(moments[-1] - moments[0], 1e-9)),
    )


def _without_failed(run: Run, linked: Sequence[LinkedQuestion]) -> Run:
    """A question that could not be linked has failed, with retrievers that need no seeds too."""
    unlinked = {row: seed.error for row, seed in enumerate(linked) if seed.error is not None}
    if not unlinked:
        return run
    linkable = np.ones(len(linked), dtype=bool)
    linkable[list(unlinked)] = False
    linkable_rows = run.where(np.repeat(linkable, np.diff(run.offsets)))
    return replace(linkable_rows, failures={**run.failures, **unlinked})


def measured(
    config: Config, given: str | Sequence[Measure | str] | None, more: Iterable[Measure] = ()
) -> tuple[Measure, ...]:
    """What is computed: the measures given, else the default ones, then `more`. Raises UsageError for an
    unknown one, or one that cuts deeper than retrieval goes."""
    cutoff = config.evaluation.top_k
    named = default_measures(cutoff) if given is None else measures_of(given)
    wanted = tuple(dict.fromkeys([*named, *more]))
    check_depth(config, wanted, cutoff)
    return wanted


def check_depth(config: Config, measures: Iterable[Measure], top_k: int) -> None:
    """Raises UsageError for what looks further down than anything is retrieved."""
    depth = config.retrieval.depth
    looks = {"top_k": top_k} | {str(measure): measure.cutoff or 0 for measure in measures}
    for name, cutoff in looks.items():
        if cutoff > depth:
            raise UsageError(
                "{name}: the cutoff {k} is beyond retrieval.depth={depth}, where retrieval ends; raise "
                "retrieval.depth (--set retrieval.depth={k})",
                name=name,
                k=cutoff,
                depth=depth,
            )
