"""The gold set asked again, under other settings or on a changed graph; and what a flag would change.

`GoldQuestions` asks within a number of evaluations. `trials` is for the advice that `eval` ends with: a flag
that lifts the questions which lose may cost the others more, so it says how many go better, how many worse,
and what it costs in time. Only what could help against a loss that occurs is tried; `fix` tries more and
tells whether a gain holds on questions that did not choose it. Nothing is tried that asks a model; graphs
have bounds; of a large gold set a sample spread evenly stands for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, stretches
from tiny_graph_rag.config import Config, spelled_setting
from tiny_graph_rag.errors import MissingExtraError
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.resolve import Judgments, resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, asks_model, make_linker
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column, telling
from tiny_graph_rag.measures.paired import EQUAL, difference_p
from tiny_graph_rag.retrieval import is_own, make_retriever
from tiny_graph_rag.run import Run
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.study.advice import Trial, hops_wanted
from tiny_graph_rag.study.evaluate import Evaluation, judge_on_graph, on_graph
from tiny_graph_rag.study.waterfall import Verdict

if TYPE_CHECKING:
    from tiny_graph_rag.study.choosing import Rows

EVALUATIONS = 60  # of the gold set, at most, unless the user allows more
COMPILED_FROM = 2000  # questions; with fewer, starting numba takes longer than it saves

PAYING = ("dense", "run", "oracle")  # asks a service, or answers from what it is judged by
TIMED = 20  # questions asked again, only to time them, where a run asked many at once
NOBODY = -1

Progress = Callable[[float, str], None]


class BudgetSpent(Exception):  # noqa: N818 - an end, not an error
    """The evaluations that were allowed are used up; what is known so far stands."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """values: (rows,) the deciding measure, higher better. seconds: CPU time a question, linking included.
    first: (rows, cutoff) the entities ranked first, NOBODY behind the last. linking: of the seconds, those of
    linking."""

    values: Column
    seconds: float
    first: NDArray[np.int32]
    linked: tuple[LinkedQuestion, ...]
    linking: float

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
    _linked: dict[tuple[object, ...], tuple[tuple[LinkedQuestion, ...], float]] = field(default_factory=dict)

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

    def know(
        self, values: Column, linked: tuple[LinkedQuestion, ...], busy: tuple[float, float] | None = None
    ) -> None:
        """Take what today's settings gave, as an evaluation has it already; what is ranked first is not
        known.

        values: (questions,) the measure. busy: CPU seconds a question, of linking and of retrieval; where
        they were not taken one by one a sample is asked again.
        """
        if busy is None:
            sample = self.ask(rows=self.rows[:TIMED])
            busy = sample.linking, sample.seconds - sample.linking
        self._linked[self._how(self.config)] = linked, busy[0]
        first = np.full((len(self), 0), NOBODY, dtype=np.int32)
        self.today = Measured(self.sign * np.nan_to_num(values), sum(busy), first, linked, busy[0])

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
        """As the settings are, on the graph as it is. The first time warms up what is built once."""
        self.ask(self.config, rows=self.rows[:1], what="")
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
        rows = self.rows if rows is None else rows
        share = len(rows) / max(len(self), 1)
        if self.spent + share > self.allowed + 1e-9:
            raise BudgetSpent
        config = config or self.config
        graph = self.graph if graph is None else graph
        gold = examples or self.examples
        chosen = replace(gold, examples=tuple(gold.examples[row] for row in rows.tolist()))
        linked, linking = self._links(config, graph, chosen, rows, keep=graph.entities is self.graph.entities)
        names = NameIndex.of(graph)
        judgments = resolve(chosen, names, len(graph))
        retriever = make_retriever(graph, config, chosen, judgments)
        retriever.prepare(lambda: linked)
        started, parts = time.process_time(), []
        for start in range(0, len(linked), retriever.batch):
            parts.append(retriever.retrieve(linked[start : start + retriever.batch]))
        seconds = time.process_time() - started
        run = Run.concatenated(parts)
        judged = judge_on_graph(graph, chosen.examples, names, linked, run, judgments, [self.measure], config)
        values = self.measure.compute(judged)
        self.spent += share
        self.progress(self.spent, what)
        first = first_of(run, self.measure.cutoff or self.config.evaluation.top_k)
        seconds = linking + seconds / max(len(rows), 1)
        return Measured(self.sign * np.nan_to_num(values), seconds, first, linked, linking)

    @staticmethod
    def _how(config: Config) -> tuple[object, ...]:
        """What linking depends on."""
        return (config.retrieval.linker, config.retrieval.fuzzy, config.ranking.text_seeds)

    def _links(
        self, config: Config, graph: KnowledgeGraph, chosen: EvalSet, rows: Rows, *, keep: bool
    ) -> tuple[tuple[LinkedQuestion, ...], float]:
        """The questions linked, and CPU seconds a question. keep: the graph has the names it had."""
        how = self._how(config)
        if keep and how in self._linked:
            linked, seconds = self._linked[how]
            return tuple(linked[row] for row in rows.tolist()), seconds
        whole = len(rows) == len(self)
        asked: Sequence[Example] = chosen.examples
        linker = self.linker_for(graph, NameIndex.of(graph), config)
        linker.prepare(asked)
        linker.link(asked[:1])  # what is made at first use is no question's time
        started = time.process_time()
        linked = tuple(linker.link(asked))
        seconds = (time.process_time() - started) / max(len(asked), 1)
        if keep and whole:
            self._linked[how] = linked, seconds
        return linked, seconds


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """values: settings by name, {} for those of today. gains: (questions,) against today's. seconds: CPU time
    a question as a multiple of today's; first: what is ranked first, as Measured has it; needs: the extra
    without which it could not be tried."""

    values: dict[str, Any]
    gains: Column
    seconds: float
    first: NDArray[np.int32]
    needs: str = ""

    @property
    def gain(self) -> float:
        return float(self.gains.mean()) if len(self.gains) else 0.0

    @property
    def won(self) -> int:
        return int((self.gains > EQUAL).sum())

    @property
    def lost(self) -> int:
        return int((self.gains < -EQUAL).sum())

    @property
    def label(self) -> str:
        return label_of(self.values)


def label_of(values: dict[str, Any]) -> str:
    """`--retriever bm25 --hops 3`, as the command line takes it."""
    return " ".join("--" + spelled_setting(name, value) for name, value in values.items())


def can_be_tried(config: Config) -> bool:
    """Whether asking again is free: no model, no service, no retriever of the user's own."""
    name = config.retrieval.retriever
    paying = name.partition(":")[0] in PAYING or "dense" in name
    return not (paying or asks_model(config) or is_own(name) or config.retrieval.embeds)


def try_setting(questions: GoldQuestions, values: dict[str, Any]) -> Tried:
    """What changed settings do to all questions; where a package is missing, what it is called.

    Raises UsageError for settings that the retriever can't use, BudgetSpent as `ask`.
    """
    today = questions.today
    try:
        answers = questions.ask(questions.config.replaced(values), what=label_of(values))
    except MissingExtraError as missing:
        return Tried(values, np.zeros(0), float("nan"), today.first, missing.extra)
    ratio = answers.seconds / max(today.seconds, 1e-9)
    return Tried(values, answers.values - today.values, ratio, answers.first)


def first_of(run: Run, cutoff: int) -> NDArray[np.int32]:
    """(questions, cutoff) what a run ranks first, filled up with NOBODY."""
    counts = np.minimum(np.diff(run.offsets), cutoff)
    first = np.full((len(run), cutoff), NOBODY, dtype=np.int32)
    filled = np.arange(cutoff) < counts[:, None]
    first[filled] = run.entities[stretches(run.offsets[:-1], counts)]
    return first


MOST_ENTITIES = 20_000  # of a graph; on larger ones a trial takes seconds, and `fix` is the place for it
MOST_QUESTIONS = 1000  # asked again; of more, a sample spread evenly
FUZZY = 0.85  # as the option's help has it: one letter of seven
RETRIEVERS = ("bfs", "pagerank")  # nothing that takes long to load
UNLINKED = ("bm25",)  # needs no entity in the question


def trials(evaluation: Evaluation) -> tuple[Trial, ...]:
    """Every flag that could help against a loss that occurs, tried; of several retrievers the best over all
    questions."""
    if not can_be_tried(evaluation.config) or len(evaluation.graph) > MOST_ENTITIES:
        return ()
    candidates = list(_candidates(evaluation))
    if not candidates:
        return ()
    rows = _spread(np.flatnonzero(evaluation.judgments.relevant > 0), MOST_QUESTIONS)
    questions = _questions(evaluation, rows)
    found: dict[str, Trial] = {}
    for verdict, settings in candidates:
        tried = trial(evaluation, questions, rows, verdict, settings)
        kind = tried.flag.split()[0]
        if kind not in found or tried.gain > found[kind].gain:
            found[kind] = tried
    return tuple(found.values())


def _questions(evaluation: Evaluation, rows: NDArray[np.int64]) -> GoldQuestions:
    """These questions of an evaluation, linked as it linked them."""
    chosen = tuple(evaluation.examples.examples[row] for row in rows.tolist())
    questions = GoldQuestions.of(
        evaluation.graph,
        replace(evaluation.examples, examples=chosen),
        evaluation.config,
        _deciding(evaluation),
        allowed=float("inf"),
    )
    measure = questions.measure
    column = evaluation.scores.get(measure, measure.compute(evaluation.judged))[rows]
    linked = tuple(evaluation.linked[row] for row in rows.tolist())
    questions.know(column, linked, evaluation.latency.busy)
    return questions


def _candidates(evaluation: Evaluation) -> Iterator[tuple[Verdict, dict[str, Any]]]:
    """(the loss, the settings that could help against it)."""
    settings, occur = evaluation.config.retrieval, evaluation.explanation.verdicts
    seedless = [item for item in (Verdict.NO_SEED, Verdict.UNREACHABLE) if occur.get(str(item))]
    if seedless and settings.linker in ("names", "names+text") and settings.fuzzy is None:
        yield seedless[0], {"fuzzy": FUZZY}
    wanted = hops_wanted(evaluation.explanation)
    if wanted is not None:
        yield Verdict.BEYOND_HOPS, {"hops": wanted[0]}
    late = [item for item in (Verdict.RANKED_BELOW_K, Verdict.BELOW_DEPTH) if occur.get(str(item))]
    for verdict in [*late[:1], *seedless[:1]]:
        for name in (*RETRIEVERS, *(UNLINKED if verdict in seedless else ())):
            if name != settings.retriever:
                yield verdict, {"retriever": name}
    if late and not settings.exclude_seeds and _seeds_stand_first(evaluation):
        yield late[0], {"exclude_seeds": True}


def _seeds_stand_first(evaluation: Evaluation) -> bool:
    """Whether seeds take places within k and are never what was asked for."""
    run, cutoff = evaluation.run, evaluation.config.evaluation.top_k
    seeds = [{seed.entity for seed in linked_question.seeds} for linked_question in evaluation.linked]
    taken = False
    for row, mine in enumerate(seeds):
        relevant = {entity for one in evaluation.judgments.references[row] for entity in one.entities}
        if mine & relevant:
            return False
        start = int(run.offsets[row])
        first = run.entities[start : min(int(run.offsets[row + 1]), start + cutoff)].tolist()
        taken = taken or not mine.isdisjoint(first)
    return taken


def trial(
    evaluation: Evaluation,
    questions: GoldQuestions,
    rows: NDArray[np.int64],
    verdict: Verdict,
    settings: dict[str, Any],
) -> Trial:
    """What changed settings do to all questions, and to those that lose references to `verdict`.

    questions: rows `rows` of the evaluation. Where a package is missing, what it is called.
    """
    diagnosis, measure = evaluation.explanation.diagnosis, questions.measure
    lost = diagnosis.beyond_hops if verdict is Verdict.BEYOND_HOPS else diagnosis.verdicts == verdict
    losers = distinct(diagnosis.questions[lost])[0]
    asked = np.isin(rows, losers)
    tried = try_setting(questions, settings)
    figures: dict[str, Any] = {}
    if not tried.needs:
        values = {"before": questions.today.values, "after": questions.today.values + tried.gains}
        for name, column in values.items():
            figures[f"whole_{name}"] = questions.sign * float(column.mean())
            if asked.any():
                figures[name] = questions.sign * float(column[asked].mean())
        p = difference_p(tried.gains, seed=evaluation.config.evaluation.seed, span=questions.span)
        figures |= {"measured": len(rows), "p": p, "seconds": tried.seconds}
    return Trial(
        flag=tried.label,
        verdict=str(verdict),
        measure=str(measure),
        losers=len(losers),
        questions=int(asked.sum()),
        won=tried.won,
        lost=tried.lost,
        needs=tried.needs,
        settings=settings,
        higher_is_better=measure.kind.higher_is_better,
        **figures,
    )


def _deciding(evaluation: Evaluation) -> Measure:
    """Of the measures asked for, the telling one that every question with a reference has; else nDCG."""
    scored = evaluation.judgments.relevant > 0
    asked = [
        measure
        for measure, column in evaluation.scores.items()
        if measure.kind.weight is None and not np.isnan(column[scored]).any()
    ]
    return telling(asked) or Measure("ndcg", evaluation.config.evaluation.top_k)


def _spread(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    if len(rows) <= most:
        return rows
    return rows[np.arange(most) * len(rows) // most]
