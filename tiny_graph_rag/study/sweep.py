"""Which --hops: every setting scored on the same linked questions, and the reach that limits each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import ServiceError, UsageError
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.bfs import NOT_REACHED, sizes_within
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, asks_model, make_linker
from tiny_graph_rag.measures import Measure, default_measures, measures_of, score
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.statistics import Groups
from tiny_graph_rag.measures.summary import Mean, rows_by_tag, summarise
from tiny_graph_rag.results import Decision
from tiny_graph_rag.retrieval import Retriever, RetrieverMaker, make_retriever
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.evaluate import Progress, check_depth, judge_on_graph, on_graph
from tiny_graph_rag.study.explanation import limits_of
from tiny_graph_rag.study.gold_questions import runs_within
from tiny_graph_rag.study.settings import decision, question_groups, seeds_are_no_answers
from tiny_graph_rag.study.verdicts import reachable_hops, seed_columns
from tiny_graph_rag.study.waterfall import Limits


@dataclass(frozen=True, slots=True)
class Variant:
    """Settings tried together: name → value, `retriever` among them. varied: those that the sweep varies."""

    settings: Mapping[str, Any]
    varied: tuple[str, ...] = ("retriever",)

    @property
    def retriever(self) -> str:
        return str(self.settings["retriever"])

    @property
    def name(self) -> str:
        """`bfs`, `pagerank, fuzzy 0.85`: what sets it apart."""
        shown = [f"{name.replace('_', '-')} {_spelled(self.settings[name])}" for name in self.varied[1:]]
        return ", ".join([self.retriever, *shown])


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
    variants: tuple[Variant, ...]
    measures: Callable[[int], tuple[Measure, ...]]
    decide_by: Measure
    tolerance: float
    without_seeds: Variant | None = None

    @classmethod
    def of(
        cls,
        config: Config,
        hops: tuple[int, ...],
        cutoffs: tuple[int, ...],
        variants: tuple[Variant, ...],
        *,
        measures: Sequence[Measure] = (),
        decide_by: Measure | str | None = None,
        tolerance: float = 0.02,
    ) -> Plan:
        """What the command and the library sweep. measures: the usual ones at each cutoff without them.

        decide_by: nDCG at 5 without it, at the last cutoff where 5 is none. Raises UsageError for a plan that
        looks deeper than a variant retrieves.
        """
        if not 0 <= tolerance <= 1:
            raise UsageError("--tolerance must be from 0 to 1, got {tolerance}", tolerance=tolerance)
        deciding = deciding_measure(decide_by, 5 if 5 in cutoffs else cutoffs[-1])
        for variant in variants:
            check_depth(config.replaced(variant.settings), (*measures, deciding), max(cutoffs))

        def measures_at(cutoff: int) -> tuple[Measure, ...]:
            return tuple(dict.fromkeys([*(measures or default_measures(cutoff)), deciding]))

        return cls(hops, cutoffs, variants, measures_at, deciding, tolerance)


def deciding_measure(decide_by: Measure | str | None, usual: int) -> Measure:
    """The measure that decides, nDCG at the cutoff `usual` without one. Raises UsageError for one that pools
    its counts."""
    (measure,) = measures_of([decide_by]) if decide_by else (Measure("ndcg", usual),)
    if measure.kind.weight is not None:
        raise UsageError(
            "decide by {measure}: this measure has no value for a single question; choose another",
            measure=measure,
        )
    return measure


@dataclass(frozen=True, slots=True)
class SettingSlice:
    """oracle_recall: mean share of references reachable within the hops, as in the waterfall of an
    evaluation; oracle_all: share of questions all of whose are. Both are NaN without gold, and where a
    retriever also returns what lies beyond."""

    questions: int
    measures: dict[Measure, Mean]
    oracle_recall: float
    oracle_all: float


@dataclass(frozen=True, slots=True, eq=False)
class SweptSetting:
    """hops: None for a retriever that does not walk; then there is no reach and no subgraph either.

    reached_mean, reached_p95: entities within the hops a question, before depth cuts.
    """

    variant: Variant
    hops: int | None
    top_k: int
    overall: SettingSlice
    by_tag: dict[str, SettingSlice]
    reached_mean: float
    reached_p95: float

    @property
    def retriever(self) -> str:
        return self.variant.retriever

    @property
    def system(self) -> str:
        """The variant's name."""
        return self.variant.name

    def label(self, *, several: bool) -> str:
        """`--hops 3`; where a sweep has several systems, the system before it."""
        hops = "" if self.hops is None else f"--hops {self.hops}"
        shown = several or len(self.variant.varied) > 1
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
    examples, names = on_graph(graph, examples), NameIndex.of(graph)
    judgments = resolve(examples, names, len(graph))
    links: dict[tuple[object, ...], list[LinkedQuestion]] = {}
    tags = [example.tags for example in examples]
    groups = [example.group for example in examples]
    group_of = question_groups(examples.examples, judgments)
    by_tag = rows_by_tag(tags)
    settings: list[SweptSetting] = []
    deciding: list[Column] = []
    first_of: list[int] = []
    variants = list(plan.variants)
    for variant in variants:
        deepest = config.replaced({**variant.settings, "hops": max(plan.hops)})
        asked_how = repr(deepest.openai) if asks_model(deepest) else ""
        by = (deepest.retrieval.linker, deepest.retrieval.fuzzy, asked_how)
        if by not in links:
            links[by] = _linked(graph, names, deepest, examples, linker_for)
        linked = links[by]
        if variant is variants[0] and plan.without_seeds and seeds_are_no_answers(linked, judgments):
            variants.append(plan.without_seeds)
        retriever = retriever_for(graph, deepest, examples, judgments)
        limits = limits_of(graph, retriever, deepest)

        def remade(hops: int, config: Config = deepest) -> Retriever:
            return retriever_for(graph, config.override(hops=hops), examples, judgments)

        starting = retriever.starting(linked)
        reach = Reaches.of(graph, judgments, starting, limits, plan.hops)
        each_hops = plan.hops if limits.walks else (None,)
        asked = [measure for cutoff in plan.cutoffs for measure in plan.measures(cutoff)]
        for hops, run in runs_within(retriever, remade, linked, each_hops):
            first_of.append(len(settings))
            judged = judge_on_graph(
                graph, examples.examples, names, linked, run, judgments, [plan.decide_by, *asked], config
            )
            deciding.append(plan.decide_by.compute(judged))
            for cutoff in plan.cutoffs:
                scores = score(judged, plan.measures(cutoff))
                summary = summarise(scores, judged, tags, groups)
                slices = {"": summary.overall, **summary.by_tag}
                rows = {"": np.arange(len(judgments)), **by_tag}
                parts = {
                    tag: SettingSlice(slice_.questions, slice_.measures, *reach.of_slice(hops, rows[tag]))
                    for tag, slice_ in slices.items()
                }
                mean, p95 = reach.reached(hops)
                overall = parts.pop("")
                settings.append(SweptSetting(variant, hops, cutoff, overall, parts, mean, p95))
            progress(len(first_of) * len(linked))
    today = [_is_today(settings[row], config) for row in first_of]
    recommended = {
        tag: _decision(plan, [settings[row] for row in first_of], deciding, today, rows, group_of, config)
        for tag, rows in {"": np.arange(len(judgments)), **by_tag}.items()
    }
    elapsed = time.perf_counter() - started
    return Sweep(graph, examples, config, plan, tuple(settings), recommended, tuple(first_of), elapsed)


def _is_today(setting: SweptSetting, config: Config) -> bool:
    """Whether a setting of the sweep is what the configuration has without it."""
    if setting.hops not in (None, config.retrieval.hops):
        return False
    return config.replaced(setting.variant.settings) == config


def _decision(
    plan: Plan,
    settings: Sequence[SweptSetting],
    deciding: Sequence[Column],
    today: Sequence[bool],
    rows: NDArray[np.int64],
    groups: Groups,
    config: Config,
) -> Decision:
    """What to take by these questions. deciding: the measure of each setting, one value a question."""
    higher = plan.decide_by.kind.higher_is_better
    low, high = plan.decide_by.bounds
    return decision(
        np.stack([column[rows] for column in deciding]) * (1 if higher else -1),
        [{**setting.variant.settings, "hops": setting.hops} for setting in settings],
        [(setting.system, float(setting.hops or 0)) for setting in settings],
        str(plan.decide_by),
        today=today.index(True) if True in today else None,
        groups=groups[rows],
        tolerance=plan.tolerance,
        sign=1.0 if higher else -1.0,
        span=high - low,
        seed=config.evaluation.seed,
        labels=[setting.label(several=len(plan.variants) > 1) for setting in settings],
    )


def _linked(
    graph: KnowledgeGraph, names: NameIndex, config: Config, examples: EvalSet, linker_for: LinkerMaker
) -> list[LinkedQuestion]:
    linker = linker_for(graph, names, config)
    linker.check(examples.examples)
    linked = list(linker.link(examples.examples))
    failed = [f"{seed.id}: {seed.error}" for seed in linked if seed.error is not None]
    if failed:
        raise ServiceError(
            "{n} of {all} questions could not be linked, first {failed}. Run it again: what was "
            "answered is in the cache",
            n=f"{len(failed):,}",
            all=f"{len(linked):,}",
            failed=failed[0],
        )
    return linked


@dataclass(frozen=True, slots=True, eq=False)
class Reaches:
    """What one retriever's hops allow, question by question.

    items: int32, hops to each relevant item, None where the retriever does not walk, or returns what lies
    beyond its hops too; sizes: (questions, hops + 1) entities reached, None where it does not walk.
    """

    judgments: Judgments
    items: NDArray[np.int32] | None
    sizes: NDArray[np.int64] | None

    @classmethod
    def of(
        cls,
        graph: KnowledgeGraph,
        judgments: Judgments,
        linked: Sequence[LinkedQuestion],
        limits: Limits,
        hops: Sequence[int],
    ) -> Reaches:
        if not limits.walks:
            return cls(judgments, None, None)
        seeds = seed_columns(linked)
        return cls(
            judgments,
            reachable_hops(graph, linked, judgments, limits) if limits.strict else None,
            sizes_within(graph.adjacency, seeds, len(judgments), max(hops), limits.passable),
        )

    def of_slice(self, hops: int | None, rows: NDArray[np.int64]) -> tuple[float, float]:
        """`oracle_recall` and `oracle_all` of a slice.

        rows: the questions of the slice; those without gold are left out.
        """
        relevant = self.judgments.relevant
        rows = rows[relevant[rows] > 0]
        if hops is None or self.items is None or not len(rows):
            return float("nan"), float("nan")
        near = (self.items != NOT_REACHED) & (self.items <= hops)
        before = np.concatenate([[0], np.cumsum(near)])
        offsets = self.judgments.item_offsets
        found = (before[offsets[1:]] - before[offsets[:-1]])[rows]
        return float((found / relevant[rows]).mean()), float((found == relevant[rows]).mean())

    def reached(self, hops: int | None) -> tuple[float, float]:
        """Entities within the hops a question: mean and 95th percentile."""
        if hops is None or self.sizes is None or not len(self.sizes):
            return float("nan"), float("nan")
        column = self.sizes[:, hops]
        return float(column.mean()), float(np.quantile(column, 0.95))
