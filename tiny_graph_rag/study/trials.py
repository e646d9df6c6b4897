"""What a flag would change, by trying it on the questions that lose most: advice with a figure behind it.

Only what is cheap is tried: no model is asked, graphs have bounds, and of the losers a sample is asked again,
so that advice takes a part of what the evaluation took. A gold set no larger than the sample is asked as a
whole: what a flag wins on the losers is then seen beside what it costs the others.
"""

from __future__ import annotations

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
from tiny_graph_rag.measures.paired import EQUAL
from tiny_graph_rag.retrieval import is_own, make_retriever
from tiny_graph_rag.study.advice import Trial, hops_wanted
from tiny_graph_rag.study.evaluate import Evaluation, judge_on_graph
from tiny_graph_rag.study.verdicts import Verdict

MOST_ENTITIES = 20_000  # of a graph; on larger ones a trial takes seconds, and `sweep` is the place for it
MOST_QUESTIONS = 16  # asked again in a trial; of more, a sample spread evenly
FUZZY = 0.85  # as the option's help has it: one letter of seven
RETRIEVERS = ("bfs", "pagerank")  # nothing that takes long to load
UNLINKED = ("bm25",)  # needs no entity in the question
PAYING = ("dense", "run", "oracle")  # asks a service, or answers from what it is judged by


def trials(evaluation: Evaluation) -> tuple[Trial, ...]:
    """Every flag that could help against a loss that occurs, tried; the best retriever of several."""
    config = evaluation.config.retrieval
    name = config.retriever
    asks = asks_model(evaluation.config) or name.partition(":")[0] in PAYING or "dense" in name
    if asks or is_own(name) or config.embeds or len(evaluation.graph) > MOST_ENTITIES:
        return ()
    found: dict[str, Trial] = {}
    for verdict, settings in _candidates(evaluation):
        try:
            tried = _trial(evaluation, verdict, settings)
        except MissingExtraError as missing:
            tried = _untried(evaluation, verdict, settings, missing.extra)
        kind = tried.flag.split()[0]
        if kind not in found or tried.gain > found[kind].gain:
            found[kind] = tried
    return tuple(found.values())


def _candidates(evaluation: Evaluation) -> Iterator[tuple[Verdict, dict[str, Any]]]:
    """(the loss, the settings that could help against it)."""
    settings, occur = evaluation.config.retrieval, evaluation.explanation.verdicts
    seedless = [each for each in (Verdict.NO_SEED, Verdict.UNREACHABLE) if occur.get(str(each))]
    if seedless and settings.linker in ("names", "names+text") and settings.fuzzy is None:
        yield seedless[0], {"fuzzy": FUZZY}
    wanted = hops_wanted(evaluation.explanation)
    if wanted is not None:
        yield Verdict.BEYOND_HOPS, {"hops": wanted[0]}
    late = [each for each in (Verdict.RANKED_BELOW_K, Verdict.BELOW_DEPTH) if occur.get(str(each))]
    for verdict in [*late[:1], *seedless[:1]]:
        for name in (*RETRIEVERS, *(UNLINKED if verdict in seedless else ())):
            if name != settings.retriever:
                yield verdict, {"retriever": name}
    if late and not settings.exclude_seeds and _seeds_stand_first(evaluation):
        yield late[0], {"exclude_seeds": True}


def _seeds_stand_first(evaluation: Evaluation) -> bool:
    """Whether seeds take places within k and are never what was asked for."""
    run, cutoff = evaluation.run, evaluation.config.evaluation.top_k
    seeds = [{seed.entity for seed in each.seeds} for each in evaluation.linked]
    taken = False
    for row, mine in enumerate(seeds):
        relevant = {each for one in evaluation.judgments.references[row] for each in one.entities}
        if mine & relevant:
            return False
        start = int(run.offsets[row])
        first = run.entities[start : min(int(run.offsets[row + 1]), start + cutoff)].tolist()
        taken = taken or not mine.isdisjoint(first)
    return taken


def _trial(evaluation: Evaluation, verdict: Verdict, settings: dict[str, Any]) -> Trial:
    diagnosis = evaluation.explanation.diagnosis
    lost = diagnosis.beyond_hops if verdict is Verdict.BEYOND_HOPS else diagnosis.verdicts == verdict
    losers = distinct(diagnosis.questions[lost])[0]
    size = len(evaluation.examples)
    everything = size <= MOST_QUESTIONS
    rows = np.arange(size) if everything else _spread(losers, MOST_QUESTIONS)
    measure = _deciding(evaluation)
    before = evaluation.scores.get(measure, measure.compute(evaluation.judged))[rows]
    after = _asked_again(evaluation, rows, measure, settings)
    lose = np.isin(rows, losers)
    change = after - before
    return Trial(
        flag=_flag(settings),
        verdict=str(verdict),
        measure=str(measure),
        losers=len(losers),
        questions=int(lose.sum()),
        before=float(np.nanmean(before[lose])),
        after=float(np.nanmean(after[lose])),
        whole_before=float(np.nanmean(before)) if everything else None,
        whole_after=float(np.nanmean(after)) if everything else None,
        won=int((change > EQUAL).sum()),
        lost=int((change < -EQUAL).sum()),
    )


def _untried(evaluation: Evaluation, verdict: Verdict, settings: dict[str, Any], extra: str) -> Trial:
    """What is not installed can't be tried, but can be named."""
    diagnosis = evaluation.explanation.diagnosis
    losers = len(distinct(diagnosis.questions[diagnosis.verdicts == verdict])[0])
    measure, nan = str(_deciding(evaluation)), float("nan")
    return Trial(_flag(settings), str(verdict), measure, losers, 0, nan, nan, None, None, 0, 0, extra)


def _deciding(evaluation: Evaluation) -> Measure:
    """Of the measures asked for, the telling one that every question with a reference has; else nDCG."""
    scored = evaluation.judgments.relevant > 0
    asked = [
        each
        for each, column in evaluation.scores.items()
        if each.kind.weight is None and not np.isnan(column[scored]).any()
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
