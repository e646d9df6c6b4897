"""Which --hops: every setting scored on the same linked questions, and the reach that limits each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import ServiceError
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.bfs import NOT_REACHED, sizes_within
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, asks_model, make_linker
from tiny_graph_rag.measures import Measure, score
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.paired import changes
from tiny_graph_rag.measures.summary import Mean, numbered, rows_by_tag, summarise
from tiny_graph_rag.retrieval import Retriever, RetrieverMaker, make_retriever
from tiny_graph_rag.run import Cut, Run
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.choosing import Recommendation, recommend
from tiny_graph_rag.study.evaluate import Progress, judge_on_graph, on_graph
from tiny_graph_rag.study.explanation import limits_of
from tiny_graph_rag.study.verdicts import are_named, nearest_hops, reachable_hops, seed_columns, walked_from
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
    tolerance: the loss in it that still counts as equal."""

    hops: tuple[int, ...]
    cutoffs: tuple[int, ...]
    variants: tuple[Variant, ...]
    measures: Callable[[int], tuple[Measure, ...]]
    decide_by: Measure
    tolerance: float


@dataclass(frozen=True, slots=True)
class SettingSlice:
    questions: int
    measures: dict[Measure, Mean]
    reach: Reach


@dataclass(frozen=True, slots=True, eq=False)
class SweptSetting:
    """hops: None for a retriever that does not walk; then there is no reach and no subgraph either.

    reached_mean, reached_p95: entities within the hops a question, before depth cuts. seconds: of retrieving
    for all questions with this setting, linking and loading apart; shared by the cutoffs. walks_cut:
    questions whose walks a limit (`running.max_steps`, `max_states`) ended before these hops.
    """

    variant: Variant
    hops: int | None
    top_k: int
    overall: SettingSlice
    by_tag: dict[str, SettingSlice]
    reached_mean: float
    reached_p95: float
    seconds: float
    walks_cut: int = 0

    @property
    def retriever(self) -> str:
        return self.variant.retriever

    @property
    def system(self) -> str:
        """The variant's name."""
        return self.variant.name


@dataclass(frozen=True, slots=True)
class HopFlips:
    """Ids of the questions whose deciding measure rose or fell from one hop limit to the next one swept."""

    system: str
    before: int
    after: int
    won: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SeedShare:
    """How much the seeds decide before any hop, over the questions with a reference.

    without_seed: questions without any. seeds: references that are seeds already; by_text: of them, those
    that only texts made seeds; farther: references reachable within the most hops swept that are no seeds.
    flat: every hop limit gave every question the same value of the deciding measure.
    """

    questions: int
    without_seed: int
    references: int
    seeds: int
    by_text: int
    farther: int
    flat: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """settings: by retriever, hops, cutoff. recommended: "" for the whole, then by tag. seeds: by system, of
    those that return nothing beyond their hops."""

    graph: KnowledgeGraph
    examples: EvalSet
    config: Config
    plan: Plan
    settings: tuple[SweptSetting, ...]
    recommended: dict[str, Recommendation]
    flips: tuple[HopFlips, ...]
    seeds: dict[str, SeedShare]
    seconds: float

    __repr__ = short_repr


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
    group_of = numbered(groups)
    by_tag = rows_by_tag(tags)
    settings: list[SweptSetting] = []
    deciding: list[Column] = []
    first_of: list[int] = []
    seeds: dict[str, SeedShare] = {}
    for variant in plan.variants:
        deepest = config.replaced({**variant.settings, "hops": max(plan.hops)})
        asked_how = repr(deepest.openai) if asks_model(deepest) else ""
        by = (deepest.retrieval.linker, deepest.retrieval.fuzzy, asked_how)
        if by not in links:
            links[by] = _linked(graph, names, deepest, examples, linker_for)
        linked = links[by]
        retriever = retriever_for(graph, deepest, examples, judgments)
        limits = limits_of(graph, retriever, deepest)

        def remade(hops: int, config: Config = deepest) -> Retriever:
            return retriever_for(graph, config.override(hops=hops), examples, judgments)

        starting = walked_from(linked, retriever)
        reach = Reaches.of(graph, judgments, starting, limits, plan.hops)
        each_hops = plan.hops if limits.walks else (None,)
        asked = [measure for cutoff in plan.cutoffs for measure in plan.measures(cutoff)]
        for hops, run, seconds in _runs(retriever, remade, linked, each_hops):
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
                    tag: SettingSlice(
                        slice_.questions, slice_.measures, reach.of_slice(hops, rows[tag], run.cuts)
                    )
                    for tag, slice_ in slices.items()
                }
                mean, p95 = reach.reached(hops)
                settings.append(
                    SweptSetting(
                        variant, hops, cutoff, parts.pop(""), parts, mean, p95, seconds, len(run.cuts)
                    )
                )  # fmt: skip
            progress(len(first_of) * len(linked))
        if reach.items is not None:
            columns = deciding[-len(plan.hops) :]
            flat = all(np.array_equal(column, columns[0], equal_nan=True) for column in columns)
            seeds[variant.name] = _seed_share(starting, reach, max(plan.hops), flat=flat)
    recommended = {
        tag: recommend(
            [column[rows] for column in deciding],
            [settings[index].hops for index in first_of],
            first_of,
            tolerance=plan.tolerance,
            higher_is_better=plan.decide_by.kind.higher_is_better,
            bounds=plan.decide_by.bounds,
            seed=config.evaluation.seed,
            groups=None if group_of is None else group_of[rows],
        )
        for tag, rows in {"": np.arange(len(judgments)), **by_tag}.items()
    }
    labels = [(settings[index].system, settings[index].hops) for index in first_of]
    ids = [example.id for example in examples]
    flips = tuple(_flips(labels, deciding, ids, plan.decide_by.kind.higher_is_better))
    elapsed = time.perf_counter() - started
    return Sweep(graph, examples, config, plan, tuple(settings), recommended, flips, seeds, elapsed)


def _linked(
    graph: KnowledgeGraph, names: NameIndex, config: Config, examples: EvalSet, linker_for: LinkerMaker
) -> list[LinkedQuestion]:
    linker = linker_for(graph, names, config)
    linker.check(examples.examples)
    linked = list(linker.link(examples.examples))
    failed = [f"{seed.id}: {seed.error}" for seed in linked if seed.error is not None]
    if failed:
        raise ServiceError(
            "{n} of {n_2} questions could not be linked, first {failed}. Run it again: what was "
            "answered is in the cache",
            n=f"{len(failed):,}",
            n_2=f"{len(linked):,}",
            failed=failed[0],
        )
    return linked


def _runs(
    retriever: Retriever,
    remade: Callable[[int], Retriever],
    linked: Sequence[LinkedQuestion],
    hops: Sequence[int | None],
) -> Iterator[tuple[int | None, Run, float]]:
    """Each hop limit with its run and the seconds that it took; work that limits share counts for the first.

    Walks are not kept: nothing here shows them.
    """
    limited = [hop for hop in hops if hop is not None]
    others: dict[int, Retriever] = {}
    parts: dict[int | None, list[Run]] = {hop: [] for hop in hops}
    seconds = dict.fromkeys(hops, 0.0)
    for start in range(0, len(linked), retriever.batch):
        batch = linked[start : start + retriever.batch]
        shared = retriever.retrieve_within(batch, limited) if limited else None
        for hop in hops:
            before = time.perf_counter()
            if shared is not None:
                run = next(shared)
            elif hop is None:
                run = retriever.retrieve(batch)
            else:
                if hop not in others:
                    others[hop] = remade(hop)
                run = others[hop].retrieve(batch)
            parts[hop].append(replace(run, walks=None))
            seconds[hop] += time.perf_counter() - before
    for hop in hops:
        yield hop, Run.concatenated(parts.pop(hop)), seconds[hop]


def _seed_share(linked: Sequence[LinkedQuestion], reach: Reaches, most: int, *, flat: bool) -> SeedShare:
    judgments, hops = reach.judgments, reach.items
    named = nearest_hops(judgments, np.where(are_named(linked, *judgments.pairs), 0, NOT_REACHED))
    scored = np.flatnonzero(judgments.relevant > 0).tolist()
    assert hops is not None  # of a retriever that walks
    are_seeds = hops == 0
    return SeedShare(
        questions=len(scored),
        without_seed=sum(not linked[row].seeds for row in scored),
        references=len(hops),
        seeds=int(are_seeds.sum()),
        by_text=int((are_seeds & (named != 0)).sum()),
        farther=int(((hops > 0) & (hops <= most)).sum()),
        flat=flat,
    )


def _flips(
    labels: Sequence[tuple[str, int | None]], deciding: Sequence[Column], ids: Sequence[str], higher: bool
) -> Iterator[HopFlips]:
    for place in range(1, len(labels)):
        (name, before), (other, after) = labels[place - 1], labels[place]
        if name != other or before is None or after is None:
            continue
        change = changes(deciding[place - 1], deciding[place]) * (1 if higher else -1)
        yield HopFlips(
            name,
            before,
            after,
            tuple(ids[row] for row in np.flatnonzero(change > 0).tolist()),
            tuple(ids[row] for row in np.flatnonzero(change < 0).tolist()),
        )


@dataclass(frozen=True, slots=True)
class Reach:
    """What the hops allow over a slice; NaN without gold, and where a retriever also returns what lies
    beyond.

    oracle_recall: mean share of references reachable within the hops, as in the waterfall of an evaluation;
    oracle_all: share of questions all of whose are.
    """

    oracle_recall: float
    oracle_all: float


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
        seeds, masks = seed_columns(linked), (limits.passable, limits.onward)
        return cls(
            judgments,
            reachable_hops(graph, linked, judgments, limits) if limits.strict else None,
            sizes_within(graph.adjacency, seeds, len(judgments), max(hops), *masks),
        )

    def of_slice(self, hops: int | None, rows: NDArray[np.int64], cuts: Mapping[int, Cut]) -> Reach:
        """rows: the questions of the slice; those without gold are left out. cuts: the walks that a limit
        ended before these hops."""
        relevant = self.judgments.relevant
        rows = rows[relevant[rows] > 0]
        if hops is None or self.items is None or not len(rows):
            return Reach(float("nan"), float("nan"))
        most = np.full(len(self.judgments), hops)
        for row, cut in cuts.items():
            most[row] = min(cut.hops, hops)
        near = (self.items != NOT_REACHED) & (self.items <= np.repeat(most, relevant))
        before = np.concatenate([[0], np.cumsum(near)])
        offsets = self.judgments.item_offsets
        found = (before[offsets[1:]] - before[offsets[:-1]])[rows]
        return Reach(float((found / relevant[rows]).mean()), float((found == relevant[rows]).mean()))

    def reached(self, hops: int | None) -> tuple[float, float]:
        """Entities within the hops a question: mean and 95th percentile."""
        if hops is None or self.sizes is None or not len(self.sizes):
            return float("nan"), float("nan")
        column = self.sizes[:, hops]
        return float(column.mean()), float(np.quantile(column, 0.95))
