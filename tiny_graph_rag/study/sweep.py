"""Which --hops: every setting scored on the same linked questions, and the reach that limits each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import short_repr
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import ServiceError, UsageError
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.bfs import NOT_REACHED
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, make_linker
from tiny_graph_rag.measures import Measure, default_measures, measures_of, score
from tiny_graph_rag.measures.summary import Mean, rows_by_tag, summarise
from tiny_graph_rag.results import Decision
from tiny_graph_rag.retrieval import RetrieverMaker, check_retrieval, make_retriever
from tiny_graph_rag.study.choosing import TOLERANCE
from tiny_graph_rag.study.evaluate import Progress, check_depth
from tiny_graph_rag.study.explanation import limits_of
from tiny_graph_rag.study.settings import Tried, decide, question_groups, seeds_are_no_answers
from tiny_graph_rag.study.trials import Measured, Trials
from tiny_graph_rag.study.verdicts import reachable_hops

Settings = Mapping[str, Any]
"""Tried together: name → value, `retriever` first, then the others that the sweep varies."""


def system_name(settings: Settings) -> str:
    """`bfs`, `pagerank, fuzzy 0.85`: what sets these apart."""
    others = [item for item in settings.items() if item[0] != "retriever"]
    shown = [f"{name.replace('_', '-')} {_spelled(value)}" for name, value in others]
    return ", ".join([str(settings["retriever"]), *shown])


def _spelled(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "none" if value is None else "on" if value else "off"
    return str(value)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is swept. variants: each is tried at every hop limit. decide_by: the measure that recommends;
    tolerance: the loss in it that still counts as equal. without_seeds: tried too where no question has one
    of its seeds as a reference."""

    hops: tuple[int, ...]
    cutoffs: tuple[int, ...]
    variants: tuple[Settings, ...]
    measures: Callable[[int], tuple[Measure, ...]]
    decide_by: Measure
    tolerance: float
    without_seeds: Settings | None = None

    @classmethod
    def of(
        cls,
        config: Config,
        hops: tuple[int, ...],
        cutoffs: tuple[int, ...],
        values: Mapping[str, Sequence[Any]],
        *,
        measures: Sequence[Measure] = (),
        decide_by: Measure | str | None = None,
        tolerance: float = TOLERANCE,
        of: str = "",
    ) -> Plan:
        """What the command and the library sweep. values: of each setting those to try, every combination;
        where it is empty, today's retriever, as `eval` and `fix` try it. measures: the usual ones at each
        cutoff without them. of: what these and the one that decides are of, passages where a gold set expects
        them alone.

        decide_by: nDCG at 5 without it, at the last cutoff where 5 is none. Raises UsageError for a value
        that can't be, and for a plan that looks deeper than a variant retrieves.
        """
        if not 0 <= tolerance <= 1:
            raise UsageError("--tolerance must be from 0 to 1, got {tolerance}", tolerance=tolerance)
        deciding = deciding_measure(decide_by, 5 if 5 in cutoffs else cutoffs[-1], of)
        today = {"retriever": config.retrieval.retriever}
        tried = {"retriever": [today["retriever"]], **values}
        variants = [dict(zip(tried, some, strict=True)) for some in product(*tried.values())]
        for variant in variants:
            varied = config.replaced(variant)
            check_retrieval(varied)
            check_depth(varied, (*measures, deciding), max(cutoffs))
        without_seeds = None
        if not values and not config.retrieval.exclude_seeds and not of:
            without_seeds = {**today, "exclude_seeds": True}

        def measures_at(cutoff: int) -> tuple[Measure, ...]:
            return tuple(dict.fromkeys([*(measures or default_measures(cutoff, of)), deciding]))

        return cls(hops, cutoffs, tuple(variants), measures_at, deciding, tolerance, without_seeds)


def deciding_measure(decide_by: Measure | str | None, usual: int, of: str = "") -> Measure:
    """The measure that decides, without one nDCG of that kind at the cutoff `usual`. Raises UsageError for
    one that pools its counts."""
    (measure,) = measures_of([decide_by]) if decide_by else (Measure("ndcg", usual, of),)
    if measure.kind.weight is not None:
        raise UsageError(
            "decide by {measure}: this measure has no value for a single question; choose another",
            measure=measure,
        )
    return measure


@dataclass(frozen=True, slots=True)
class SettingSlice:
    """oracle_recall: mean share of references reachable within the hops, as in the waterfall of an
    evaluation; NaN without gold, and where a retriever also returns what lies beyond."""

    questions: int
    measures: dict[str, Mean]
    oracle_recall: float


@dataclass(frozen=True, slots=True, eq=False)
class SweptSetting(SettingSlice):
    """As the file of a sweep holds it. system: the variant's name, settings: what it sets. hops: None for a
    retriever that does not walk; then there is no reach either."""

    system: str
    retriever: str
    settings: Settings
    hops: int | None
    top_k: int
    by_tag: dict[str, SettingSlice]

    def label(self, *, several: bool) -> str:
        """`--hops 3`; where a sweep has several systems, the system before it."""
        hops = "" if self.hops is None else f"--hops {self.hops}"
        shown = several or len(self.settings) > 1
        return f"{self.system} {hops}".strip() if shown else hops or self.system


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """settings: by retriever, hops, cutoff. recommended: "" for the whole, then by tag. first_of: the row in
    `settings` of each setting that a decision speaks of."""

    graph: KnowledgeGraph
    examples: EvalSet
    config: Config
    plan: Plan
    settings: tuple[SweptSetting, ...]
    recommended: dict[str, Decision]
    first_of: tuple[int, ...]
    seconds: float

    __repr__ = short_repr

    def chosen(self, tag: str = "") -> SweptSetting | None:
        """The setting recommended for a tag's questions, or for all."""
        place = self.recommended[tag].recommended
        return None if place is None else self.settings[self.first_of[place]]

    def best(self, tag: str = "") -> SweptSetting | None:
        """The setting with the best mean."""
        place = self.recommended[tag].best
        return None if place is None else self.settings[self.first_of[place]]


def sweep(
    graph: KnowledgeGraph,
    examples: EvalSet,
    config: Config,
    plan: Plan,
    progress: Progress = lambda done: None,
    linker_for: LinkerMaker = make_linker,
    retriever_for: RetrieverMaker = make_retriever,
) -> Sweep:
    """Score every retriever at every hop limit and cutoff of the plan.

    progress gets how many questions are done, over all runs. Raises ServiceError where a question could
    not be linked: what is recommended on the rest would be worth little.
    """
    started = time.perf_counter()
    trials = Trials.of(graph, examples, linker_for, retriever_for)
    examples, judgments = trials.examples, trials.judgments
    tags = [example.tags for example in examples]
    groups = [example.group for example in examples]
    rows_of = {"": np.arange(len(judgments)), **rows_by_tag(tags)}
    settings: list[SweptSetting] = []
    tried: list[Tried] = []
    first_of: list[int] = []
    today: int | None = None
    variants = list(plan.variants)
    for variant in variants:
        varied = config.replaced({**variant, "hops": max(plan.hops)})
        linked = _without_failures(trials.linked(varied))
        if variant is variants[0] and plan.without_seeds and seeds_are_no_answers(linked, judgments):
            variants.append(plan.without_seeds)
        is_today = config.replaced(variant) == config  # but for its hops
        retriever = trials.retriever(varied)
        limits, starting = limits_of(graph, retriever, varied), retriever.starting(linked)
        is_limited = limits.walks and limits.strict
        items = reachable_hops(graph, starting, judgments, limits) if is_limited else None
        asked = [measure for cutoff in plan.cutoffs for measure in plan.measures(cutoff)]
        for hops, run in trials.runs(varied, retriever, plan.hops):
            judged = trials.judged(linked, run, [plan.decide_by, *asked], varied)
            if today is None and is_today and hops in (None, config.retrieval.hops):
                today = len(tried)
            first_of.append(len(settings))
            for cutoff in plan.cutoffs:
                summary = summarise(score(judged, plan.measures(cutoff)), judged, tags, groups)
                slices = {"": summary.overall, **summary.by_tag}
                parts = {
                    tag: (
                        slice_.questions,
                        {str(measure): mean for measure, mean in slice_.measures.items()},
                        _reach(judgments, items, hops, rows_of[tag]),
                    )
                    for tag, slice_ in slices.items()
                }
                whole, system = parts.pop(""), (system_name(variant), str(variant["retriever"]), variant)
                by_tag = {tag: SettingSlice(*part) for tag, part in parts.items()}
                settings.append(SweptSetting(*whole, *system, hops, cutoff, by_tag))
            values = plan.decide_by.sign * plan.decide_by.compute(judged)
            named = settings[-1].label(several=len(plan.variants) > 1)
            answers = Measured.of(values, linked)
            cost = system_name(variant), float(hops or 0)
            tried.append(Tried({**variant, "hops": hops}, answers, named, cost))
            progress(len(tried) * len(linked))
    group_of = question_groups(examples.examples, judgments)
    recommended = {
        tag: decide(
            tried,
            plan.decide_by,
            group_of,
            rows=rows,
            seed=config.evaluation.seed,
            tolerance=plan.tolerance,
            today=today,
        )
        for tag, rows in rows_of.items()
    }
    elapsed = time.perf_counter() - started
    return Sweep(graph, examples, config, plan, tuple(settings), recommended, tuple(first_of), elapsed)


def _without_failures(linked: tuple[LinkedQuestion, ...]) -> tuple[LinkedQuestion, ...]:
    """The questions. Raises ServiceError where one could not be linked."""
    failed = [f"{question.id}: {question.error}" for question in linked if question.error is not None]
    if failed:
        raise ServiceError(
            "{n} of {all} questions could not be linked, first {failed}. Run it again: what was "
            "answered is in the cache",
            n=f"{len(failed):,}",
            all=f"{len(linked):,}",
            failed=failed[0],
        )
    return linked


def _reach(
    judgments: Judgments, items: NDArray[np.int32] | None, hops: int | None, rows: NDArray[np.int64]
) -> float:
    """`oracle_recall` of a slice.

    items: hops to each relevant item, None where the retriever does not walk, or returns what lies beyond its
    hops too. rows: the questions of the slice; those without gold are left out.
    """
    relevant = judgments.relevant
    rows = rows[relevant[rows] > 0]
    if hops is None or items is None or not len(rows):
        return float("nan")
    near = (items != NOT_REACHED) & (items <= hops)
    before = np.concatenate([[0], np.cumsum(near)])
    offsets = judgments.item_offsets
    found = (before[offsets[1:]] - before[offsets[:-1]])[rows]
    return float((found / relevant[rows]).mean())
