"""What a flag would change, by trying it: first on questions that lose, then on all questions.

A flag that lifts the losers may cost the others more, so nothing is advised before all questions were asked
again with it, and the advice says how many went better and how many worse. Only what is cheap is tried: no
model is asked, graphs have bounds, a flag that does nothing for a sample of the losers goes no further, and
of a large gold set a sample spread evenly stands for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.errors import MissingExtraError
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import asks_model, make_linker
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column, telling
from tiny_graph_rag.measures.paired import EQUAL, difference_p
from tiny_graph_rag.retrieval import is_own, make_retriever
from tiny_graph_rag.study.advice import Trial, hops_wanted
from tiny_graph_rag.study.evaluate import Evaluation, judge_on_graph
from tiny_graph_rag.study.verdicts import Verdict

MOST_ENTITIES = 20_000  # of a graph; on larger ones a trial takes seconds, and `sweep` is the place for it
MOST_LOSERS = 16  # asked first; of more, a sample spread evenly
MOST_QUESTIONS = 1000  # asked again for what helped the losers; of more, a sample spread evenly
FUZZY = 0.85  # as the option's help has it: one letter of seven
RETRIEVERS = ("bfs", "pagerank")  # nothing that takes long to load
UNLINKED = ("bm25",)  # needs no entity in the question
PAYING = ("dense", "run", "oracle")  # asks a service, or answers from what it is judged by


def trials(evaluation: Evaluation) -> tuple[Trial, ...]:
    """Every flag that could help against a loss that occurs, tried; of several retrievers the best over all
    questions."""
    config = evaluation.config.retrieval
    name = config.retriever
    asks = asks_model(evaluation.config) or name.partition(":")[0] in PAYING or "dense" in name
    if asks or is_own(name) or config.embeds or len(evaluation.graph) > MOST_ENTITIES:
        return ()
    found: dict[str, Trial] = {}
    for verdict, settings in _candidates(evaluation):
        try:
            tried = trial(evaluation, verdict, settings)
        except MissingExtraError as missing:
            tried = _untried(evaluation, verdict, settings, missing.extra)
        kind = tried.flag.split()[0]
        if kind not in found or tried.gain > found[kind].gain:
            found[kind] = tried
    return tuple(found.values())


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


def trial(evaluation: Evaluation, verdict: Verdict, settings: dict[str, Any]) -> Trial:
    """What one changed setting does: to the losers, and if it helps them, to all questions."""
    diagnosis = evaluation.explanation.diagnosis
    lost = diagnosis.beyond_hops if verdict is Verdict.BEYOND_HOPS else diagnosis.verdicts == verdict
    losers = distinct(diagnosis.questions[lost])[0]
    size, measure = len(evaluation.examples), _deciding(evaluation)
    before = evaluation.scores.get(measure, measure.compute(evaluation.judged))
    some = _spread(losers, MOST_LOSERS)
    every = _spread(np.arange(size), MOST_QUESTIONS)
    after = np.full(size, np.nan)
    after[some] = _asked_again(evaluation, some, measure, settings)
    sign = 1 if measure.kind.higher_is_better else -1
    helps = sign * (np.nanmean(after[some]) - np.nanmean(before[some])) > 0
    if helps or size <= MOST_LOSERS:
        rest = np.setdiff1d(every, some)
        after[rest] = _asked_again(evaluation, rest, measure, settings)
        measured = every[~np.isnan(before[every] + after[every])]
    else:
        measured = every[:0]
    asked = losers[~np.isnan(after[losers])]
    change = sign * (after - before)[measured]
    whole = len(measured) > 0
    span = measure.bounds[1] - measure.bounds[0]
    return Trial(
        flag=_flag(settings),
        verdict=str(verdict),
        measure=str(measure),
        losers=len(losers),
        questions=len(asked),
        before=float(np.nanmean(before[asked])),
        after=float(np.nanmean(after[asked])),
        whole_before=float(before[measured].mean()) if whole else None,
        whole_after=float(after[measured].mean()) if whole else None,
        won=int((change > EQUAL).sum()),
        lost=int((change < -EQUAL).sum()),
        measured=len(measured),
        p=difference_p(change, seed=evaluation.config.evaluation.seed, span=span) if whole else math.nan,
        higher_is_better=measure.kind.higher_is_better,
        settings=settings,
    )


def _untried(evaluation: Evaluation, verdict: Verdict, settings: dict[str, Any], extra: str) -> Trial:
    """What is not installed can't be tried, but can be named."""
    diagnosis = evaluation.explanation.diagnosis
    losers = len(distinct(diagnosis.questions[diagnosis.verdicts == verdict])[0])
    measure, nan = str(_deciding(evaluation)), float("nan")
    return Trial(
        _flag(settings),
        str(verdict),
        measure,
        losers,
        0,
        nan,
        nan,
        None,
        None,
        0,
        0,
        extra,
        settings=settings,
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


def _flag(settings: dict[str, Any]) -> str:
    ((name, value),) = settings.items()
    flag = f"--{name.replace('_', '-')}"
    return flag if value is True else f"{flag} {value}"


def _asked_again(
    evaluation: Evaluation, rows: NDArray[np.int64], measure: Measure, settings: dict[str, Any]
) -> Column:
    """(rows,) the measure of these questions with one setting changed; NaN where it is undefined."""
    graph = evaluation.graph
    if not len(rows):
        return np.zeros(0)
    config = evaluation.config.override(**settings, compiled=False)  # starting numba would take longer
    chosen = tuple(evaluation.examples.examples[row] for row in rows.tolist())
    examples: EvalSet = replace(evaluation.examples, examples=chosen)
    names = NameIndex.of(graph)
    judgments = resolve(examples, names, len(graph))
    linked = evaluation.linked
    again = [linked[row] for row in rows.tolist()]
    if "fuzzy" in settings:
        linker = make_linker(graph, names, config)
        linker.prepare(chosen)
        again = list(linker.link(chosen))
    retriever = make_retriever(graph, config, examples, judgments)
    retriever.prepare(lambda: again)
    run = retriever.retrieve(again)
    judged = judge_on_graph(graph, chosen, names, again, run, judgments, [measure], config)
    return measure.compute(judged)
