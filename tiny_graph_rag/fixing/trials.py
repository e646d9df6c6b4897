"""What a flag would change, by trying it on all questions, for the advice that `eval` ends with.

A flag that lifts the questions which lose may cost the others more, so the advice says how many go better,
how many worse, and what it costs in time. Only what could help against a loss that occurs is tried, by the
code of `fix`, which tries more and tells whether a gain holds on questions that did not choose it. Nothing is
tried that asks a model; graphs have bounds; of a large gold set a sample spread evenly stands for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.fixing.asking import GoldQuestions
from tiny_graph_rag.fixing.settings import can_be_tried, try_setting
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import telling
from tiny_graph_rag.measures.paired import difference_p
from tiny_graph_rag.study.advice import Trial, hops_wanted
from tiny_graph_rag.study.evaluate import Evaluation
from tiny_graph_rag.study.waterfall import Verdict

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
    questions.know(column, tuple(evaluation.linked[row] for row in rows.tolist()))
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
