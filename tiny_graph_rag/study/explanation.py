"""Everything that says why an evaluation's numbers are what they are.

`ties` is what chance decides: equal scores at the border of the first k, and what another order would have
given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, looked_up, stretches
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.bfs import shortest_paths
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.linking.base import Seed
from tiny_graph_rag.measures import Judged, Measure, judge, score
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.summary import rows_by_tag
from tiny_graph_rag.results import NotRecognised
from tiny_graph_rag.retrieval import Retriever, walks
from tiny_graph_rag.retrieval.base import parts_of
from tiny_graph_rag.retrieval.candidates import Filters
from tiny_graph_rag.run import Run
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.gold_seeds import (
    GoldSeeds,
    from_gold_seeds,
    gold_links,
    reached_by_names,
    unlinked_questions,
)
from tiny_graph_rag.study.trials import Trials
from tiny_graph_rag.study.verdicts import diagnose
from tiny_graph_rag.study.waterfall import (
    Diagnosis,
    Limits,
    Verdict,
    WaterfallStep,
    by_verdict,
    causes,
)

if TYPE_CHECKING:
    from tiny_graph_rag.graph.nearest import Near


@dataclass(frozen=True, slots=True)
class TiedMeans:
    """The means that other orders of equal scores could give."""

    worst: float
    best: float


@dataclass(frozen=True, slots=True)
class Ties:
    """questions: those with gold whose ranks k and k + 1 tie; rate: their share of all with gold."""

    k: int
    rate: float
    questions: int
    measures: dict[Measure, TiedMeans]


def ties(
    run: Run, judgments: Judgments, measures: Sequence[Measure], cutoff: int, judged: Judged | None = None
) -> Ties:
    """judged: the run as it stands, where it is known. Only questions that a tie could change are judged
    again. Measures whose mean pools counts have no entry."""
    measures = [measure for measure in measures if measure.kind.weight is None]
    place = _places(run)
    longer = np.flatnonzero(np.diff(run.offsets) > cutoff)
    last = run.offsets[longer] + cutoff - 1
    tied = longer[place[last] == place[last + 1]]
    scored = judgments.relevant > 0
    questions = int(scored[tied].sum())
    as_it_is = score(judge(run, judgments) if judged is None else replace(judged, facts=None), measures)
    open_questions, gains = _open_ties(run, place, _gains(run, judgments))
    part, its = run.of(open_questions), judgments.of_questions(open_questions)
    means: dict[Measure, list[float]] = {measure: [] for measure in measures}
    for direction in (-1, 1):
        again = score(judge(_reordered(part, direction * gains), its), measures)
        for measure, column in as_it_is.items():
            values = column.copy()
            values[open_questions] = again[measure]
            means[measure].append(_mean(values))
    rate = questions / scored.sum() if scored.any() else float("nan")
    of_measures = {measure: TiedMeans(min(both), max(both)) for measure, both in means.items()}
    return Ties(cutoff, float(rate), questions, of_measures)


def _open_ties(
    run: Run, place: NDArray[np.int64], gains: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The questions, ascending, where equals differ in what they gain, and the gains of their rows."""
    if not len(gains):
        return np.zeros(0, dtype=np.int64), gains
    first = np.flatnonzero(np.diff(place, prepend=-1))
    differ = np.maximum.reduceat(gains, first) != np.minimum.reduceat(gains, first)
    question = np.searchsorted(run.offsets, first[differ], side="right") - 1
    questions = distinct(question)[0]
    return questions, gains[stretches(run.offsets[questions], np.diff(run.offsets)[questions])]


def _places(run: Run) -> NDArray[np.int64]:
    """(rows,): ascending numbers, the same where question, score and hop are."""
    differs = np.zeros(len(run.entities), dtype=bool)
    differs[1:] = (run.scores[1:] != run.scores[:-1]) | (run.hops[1:] != run.hops[:-1])
    starts = run.offsets[:-1]
    differs[starts[starts < len(differs)]] = True
    return np.cumsum(differs)


def _gains(run: Run, judgments: Judgments) -> NDArray[np.int64]:
    """(rows,): the best grade that the entity can fill, 0 where none."""
    keys = run.keys(judgments.universe)
    known, first = distinct(judgments.pair_keys)
    if not len(known):
        return np.zeros(len(keys), dtype=np.int64)
    best = np.maximum.reduceat(judgments.grades[judgments.pair_items].astype(np.int64), first)
    place, is_known = looked_up(known, keys)
    return np.where(is_known, best[place], 0)


def _reordered(run: Run, key: NDArray[np.int64]) -> Run:
    """Ties in ascending order of `key`, everything else where it was."""
    order = np.lexsort((key, _places(run)))
    return replace(
        run,
        entities=run.entities[order],
        scores=run.scores[order],
        hops=run.hops[order],
        walks=None,
        parts=None,
    )


def _mean(values: Column) -> float:
    """NaN where no question defines the measure."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


NEAREST_SOUGHT = 2000  # different missing names whose nearest are looked up: seconds on a large graph


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """verdicts, causes: of references as written, as run and as `waterfall.causes` has them; lost: the
    waterfall of the causes. gold_seeds: None where the gold set names no seeds, or the retriever needs none.
    unlinked: None where the names of the questions were recognised, or need not
    be. no_answer: None where every question has a reference. nearest: name that the graph lacks → the names
    most like it. missed: row of the diagnosis → the relations of a path that would have reached it."""

    diagnosis: Diagnosis
    verdicts: dict[str, int]
    causes: dict[str, int]
    lost: tuple[WaterfallStep, ...]
    waterfall: tuple[WaterfallStep, ...]
    waterfall_by_tag: dict[str, tuple[WaterfallStep, ...]]
    gold_seeds: GoldSeeds | None
    unlinked: NotRecognised | None
    ties: Ties
    nearest: dict[str, tuple[Near, ...]] = field(default_factory=dict)
    missed: dict[int, list[int]] = field(default_factory=dict)

    __repr__ = short_repr


def limits_of(graph: KnowledgeGraph, retriever: Retriever, config: Config) -> Limits:
    """What the retriever was allowed, for telling what it could not have found."""
    settings = config.retrieval
    filters = Filters.of(graph, settings) if retriever.walks else Filters()
    return Limits(
        walks=retriever.walks,
        strict=_all_walk(settings.retriever),
        hops=settings.hops,
        passable=filters.slots(graph),
        returnable=filters.returned,
        excludes_seeds=settings.exclude_seeds,
        scores_cut=settings.min_score > 0,
        depth=settings.depth,
    )


def _all_walk(name: str) -> bool:
    """Whether all parts of a hybrid walk; another retriever is its only part."""
    parts = parts_of(name)
    return parts == [name] or all(map(walks, parts))


def explain(
    trials: Trials,
    questions: Sequence[LinkedQuestion],
    run: Run,
    judged: Judged,
    retriever: Retriever,
    config: Config,
    measures: Sequence[Measure],
) -> Explanation:
    """Why the figures of a run are what they are. retriever: as it ranked; asked again for the questions
    whose gold seeds differ from those linked. measures: which of them ties could have moved."""
    graph, examples, judgments = trials.graph, trials.examples, trials.judgments
    linked = retriever.starting(questions)
    cutoff, limits = config.evaluation.top_k, limits_of(graph, retriever, config)
    relevant = judgments.relevant
    gold = gold_links(graph, trials.names, examples.examples, linked)
    given = [question.seed_entities is not None for question in examples]
    found = diagnose(graph, linked, run, judgments, judged, limits, cutoff)
    every = {"": np.arange(len(relevant))}
    parts = {**every, **rows_by_tag([example.tags for example in examples])}
    by_tag = found.waterfalls(parts)
    at_fault, gold_seeds, unlinked = found.verdicts, None, None
    is_misnamed = np.array(
        [
            is_given and bool(one.seeds) and not _entities(one.seeds) & _entities(other.named)
            for one, other, is_given in zip(gold, linked, given, strict=True)
        ],
        dtype=bool,
    )
    if limits.walks:
        rows = np.flatnonzero(np.array(given, dtype=bool) & (relevant > 0))
        at_fault = causes(found, reached_by_names(graph, judgments, linked, found), is_misnamed)
        gold_seeds = from_gold_seeds(graph, judgments, retriever, linked, gold, rows, found)
        if config.retrieval.linker not in ("gold", "none"):
            unlinked = unlinked_questions(examples.examples, questions, relevant)
    return Explanation(
        diagnosis=found,
        verdicts=_reference_verdicts(found.verdicts, judgments),
        causes=_reference_verdicts(at_fault, judgments),
        lost=found.waterfalls(every, at_fault)[""],
        waterfall=by_tag.pop(""),
        waterfall_by_tag=by_tag,
        gold_seeds=gold_seeds,
        unlinked=unlinked,
        ties=ties(run, judgments, measures, cutoff, judged),
        nearest=_nearest(graph, judgments),
        missed=missed_walks(graph, linked, found) if limits.walks else {},
    )


def _entities(seeds: Sequence[Seed]) -> set[int]:
    return {seed.entity for seed in seeds}


def _reference_verdicts(verdicts: NDArray[np.int8], judgments: Judgments) -> dict[str, int]:
    """Verdict → references that have it, found first, then in the order of loss; those that occur."""
    references = judgments.references
    items = judgments.item_offsets[references.questions] + references.items
    return by_verdict(np.bincount(verdicts[items], minlength=len(Verdict)))


def _nearest(graph: KnowledgeGraph, judgments: Judgments) -> dict[str, tuple[Near, ...]]:
    missing = judgments.references.unresolved
    if not missing:
        return {}
    from tiny_graph_rag.graph.nearest import NearestNames

    return NearestNames.of(graph.entities).of_all(missing[:NEAREST_SOUGHT])


QUESTIONS_WALKED = 200  # a search over a large graph takes milliseconds; nobody looks at more pictures


def missed_walks(
    graph: KnowledgeGraph, linked: Sequence[LinkedQuestion], found: Diagnosis
) -> dict[int, list[int]]:
    """Row of a relevant item (as in the diagnosis) → the relations of a shortest walk to its entity.

    Of the first 200 questions that miss something within reach. A walk that filters lengthen is left out:
    the shortest one isn't the one that was closed to retrieval.
    """
    missed = np.flatnonzero(found.beyond_hops | (found.verdicts == Verdict.BELOW_DEPTH))
    walks: dict[int, list[int]] = {}
    for question in distinct(found.questions[missed])[0][:QUESTIONS_WALKED].tolist():
        items = missed[found.questions[missed] == question].tolist()
        seeds = [seed.entity for seed in linked[question].seeds]
        targets = distinct(found.entities[items])[0].tolist()
        mine = shortest_paths(graph.adjacency, graph.name_rank, seeds, targets)
        for item in items:
            walk = mine.get(int(found.entities[item]))
            if walk is not None and len(walk) == found.hops[item]:
                walks[item] = walk
    return walks
