"""What other settings would do: one list of candidates, one measurement, one rule, one sentence.

`eval`, `sweep` and `fix` ask here, so they say the same of the same settings. The list is made beforehand, so
that no result decides what is tried. `eval` tries the start of it, which is quick; `fix` tries all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import numbered
from tiny_graph_rag.config import Config, as_option
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.linking import LinkedQuestion, asks_model
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column, telling
from tiny_graph_rag.measures.paired import EQUAL
from tiny_graph_rag.measures.statistics import RELIABLE_FROM, Groups
from tiny_graph_rag.messages import Said, p_value, said, signed
from tiny_graph_rag.results import Decision, TriedSetting
from tiny_graph_rag.retrieval import is_own, walks
from tiny_graph_rag.study.choosing import ERROR, TOLERANCE, Rows, choose
from tiny_graph_rag.study.evaluate import Evaluation
from tiny_graph_rag.study.trials import GoldQuestions, Measured
from tiny_graph_rag.study.waterfall import Verdict

HOPS = (1, 2, 3, 4)
FUZZY = (0.85, 0.9)
OTHERS = ("bfs", "pagerank", "hybrid:bfs*3+bm25", "bm25")  # retrievers that need no model and no service
QUICK = {"retriever": "pagerank"}  # what `eval` tries where references are ranked low
UNLINKED = {"retriever": "bm25"}, {"fuzzy": FUZZY[0]}  # and where no entity was recognised
MOST_ENTITIES = 20_000  # of a graph that `eval` tries settings on; larger ones take seconds each
MOST_QUESTIONS = 1000  # that `eval` asks again; of more, a sample spread evenly
PAYING = ("dense", "run", "oracle")  # asks a service, or answers from what it is judged by

TOO_FEW = (
    "too few groups of questions to compare settings ({n} of at least {least}). Questions with the same "
    "references are one group. `dataset from` and `generate` make more"
)
KEEP = (
    "keep the current settings: none of {n} others is better in {measure} by more than {tolerance} or cheaper"
)
CERTAIN = (
    "{setting}: {measure} {change} ({better} better, {worse} worse); certain (p {p}, corrected; "
    "settings tried: {n})"
)
CHEAPER = (
    "{setting}: {measure} {change}, the cheapest within {tolerance} of the best mean; not certain with "
    "{questions} questions"
)
NOT_CERTAIN = (
    "{setting}: {measure} {change} ({better} better, {worse} worse); not certain with {questions} "
    "questions (p {p}, corrected; settings tried: {n})"
)
BEST = "{setting}: the best {measure} of {n} settings ({mean})"


def candidates(config: Config, *, seeds_answer: bool) -> Iterator[dict[str, Any]]:
    """Changes against today's settings, families of hop limits together, {} left out.

    seeds_answer: whether a seed is ever a reference of its question; leaving seeds out is not tried then.
    """
    now = config.retrieval
    listed: list[dict[str, Any]] = [{"hops": hops} for hops in HOPS]
    if not seeds_answer:
        listed += [{"exclude_seeds": not now.exclude_seeds, "hops": hops} for hops in HOPS]
    listed += [{"retriever": name, "hops": hops} for name in OTHERS for hops in HOPS]
    other_linker = "names" if now.linker != "names" else "names+text"
    listed += [{"linker": other_linker, "hops": hops} for hops in (2, 3)]
    listed += [{"fuzzy": fuzzy} for fuzzy in FUZZY]
    listed += [{"text_seeds": 0}, {"text_seeds": 10}]
    seen: list[dict[str, Any]] = [{}]
    for values in listed:
        changed = {name: value for name, value in values.items() if value != setting_of(config, name)}
        if not walks(str(changed.get("retriever", now.retriever))):
            changed.pop("hops", None)
        if changed not in seen:
            seen.append(changed)
            yield changed


def setting_of(config: Config, name: str) -> Any:
    return getattr(config.ranking if name == "text_seeds" else config.retrieval, name)


def label_of(values: Mapping[str, Any]) -> str:
    """`--retriever bm25 --hops 3`, as the command line takes it."""
    return " ".join(as_option(name, value) for name, value in values.items())


def can_be_tried(config: Config) -> bool:
    """Whether asking again is free: no model, no service, no retriever of the user's own."""
    name = config.retrieval.retriever
    paying = name.partition(":")[0] in PAYING or "dense" in name
    return not (paying or asks_model(config) or is_own(name))


class Tried(Struct, frozen=True, eq=False):
    """settings: what differs from today's by name, {} for today's. cost: what the setting belongs to, and its
    cost there: more hops cost more, the rest has no order of cost. against: the loss that it was tried for,
    "" for none."""

    settings: dict[str, Any]
    answers: Measured
    label: str
    cost: tuple[str, float]
    against: str = ""


def try_settings(
    questions: GoldQuestions, listed: Sequence[dict[str, Any]], leave: float = 0.0
) -> list[Tried]:
    """Today's settings, then those listed, each on all questions; hop limits of one family in one pass.

    leave: evaluations that others need; when no more are allowed, what is known stands. Settings that a
    retriever can't use are left out.
    """
    walk = questions.config.retrieval.hops

    def family(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name != "hops"}

    def tried_as(values: dict[str, Any], answers: Measured) -> Tried:
        cost = label_of(family(values)), float(values.get("hops", walk))
        return Tried(values, answers, label_of(values), cost)

    tried = [tried_as({}, questions.today)]
    for others, members in groupby(listed, family):
        room = min(questions.allowed - leave - questions.spent + 1e-9, len(listed))
        if room < 1:
            break
        variants = list(islice(members, int(room)))
        hops = [values.get("hops", walk) for values in variants]
        try:
            config = questions.config.replaced(others)
            answers = questions.ask_within(config, hops, what=label_of(variants[-1]))
        except UsageError:
            continue
        tried += [tried_as(values, answers[hop]) for values, hop in zip(variants, hops, strict=True)]
    return tried


def decide(
    tried: Sequence[Tried],
    measure: Measure,
    groups: Groups,
    *,
    seed: int,
    rows: Rows | None = None,
    tolerance: float = TOLERANCE,
    today: int | None = 0,
) -> Decision:
    """Which of the settings tried to take, and how certain it is to beat today's. groups: of each question;
    rows: the questions that decide, None for all; tolerance: as `choose` has it; today: the place of today's
    setting, None where it was not tried."""
    table = np.stack([setting.answers.values for setting in tried])
    if rows is not None:
        table, groups = table[:, rows], groups[rows]
    costs = [setting.cost for setting in tried]
    chosen = choose(table, costs, today, groups, tolerance=tolerance, seed=seed, span=measure.span)
    gains = table[:, ~np.isnan(table).any(axis=0)]
    records = [
        TriedSetting(settings=setting.settings, label=setting.label, against=setting.against)
        for setting in tried
    ]
    recommended = chosen.setting if chosen.groups >= RELIABLE_FROM else None
    best = None
    if gains.shape[1]:
        means = [float(values.mean()) for values in gains]
        best = means.index(max(means))
        for place, record in enumerate(records):
            record.mean = measure.sign * means[place]
            if today is not None and place != today:
                _compare(record, gains[place] - gains[today], measure.sign)
                record.p = float(chosen.p[place])
                record.certain = chosen.groups >= RELIABLE_FROM and record.p < ERROR
    is_new = recommended is not None and records[recommended].change is not None
    return Decision(
        measure=str(measure),
        questions=chosen.questions,
        groups=chosen.groups,
        tried=records,
        recommended=recommended,
        best=best,
        expected=None if today is None or recommended is None else measure.sign * chosen.expected,
        certain=bool(is_new and chosen.certain),
        reason=_sentence(records, recommended, chosen.groups, chosen.questions, str(measure), tolerance),
    )


def _compare(record: TriedSetting, change: Column, sign: float) -> None:
    """Note what changes against today's. change: of each question, higher better."""
    record.change = sign * float(change.mean())
    record.better, record.worse = int((change > EQUAL).sum()), int((change < -EQUAL).sum())
    record.same = len(change) - record.better - record.worse


def _sentence(
    records: Sequence[TriedSetting],
    recommended: int | None,
    groups: int,
    questions: int,
    measure: str,
    tolerance: float,
) -> Said:
    """What is recommended and how certain that is: the same words whichever command asked."""
    others = sum(record.change is not None for record in records)
    if recommended is None:
        return said(TOO_FEW, n=f"{groups:,}", least=str(RELIABLE_FROM))
    record = records[recommended]
    if record.change is None:
        if others:
            return said(KEEP, n=f"{others:,}", measure=measure, tolerance=f"{tolerance:g}")
        mean = "–" if record.mean is None else f"{record.mean:.3f}"
        return said(BEST, setting=record.label, measure=measure, n=f"{len(records):,}", mean=mean)
    told = CERTAIN if record.certain else CHEAPER if abs(record.change) <= tolerance else NOT_CERTAIN
    return said(
        told,
        setting=record.label,
        measure=measure,
        change=signed(record.change),
        better=f"{record.better:,}",
        worse=f"{record.worse:,}",
        p=p_value(record.p or 0.0),
        n=f"{others:,}",
        questions=f"{questions:,}",
        tolerance=f"{tolerance:g}",
    )


def question_groups(
    examples: Sequence[Example], judgments: Judgments, alike: Mapping[int, Sequence[int]] | None = None
) -> Groups:
    """(questions,) numbers of groups: the gold set's own, the same references, or, where given, rows that are
    `alike` with a reference in common: questions from one template ask different things."""
    parent = list(range(len(examples)))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = row = parent[parent[row]]
        return row

    meanings = [
        frozenset(reference.entities or fold(reference.name) for reference in references)
        for references in judgments.references
    ]
    first: dict[object, int] = {}
    for row, example in enumerate(examples):
        for key in (("group", example.group), ("references", meanings[row])):
            if key[1]:
                other = first.setdefault(key, row)
                parent[root(row)] = root(other)
    for row, earlier in (alike or {}).items():
        for other in earlier:
            if meanings[row] & meanings[other]:
                parent[root(row)] = root(other)
    return numbered(np.array([root(row) for row in range(len(examples))], dtype=np.int64))


# What `eval` tries


def tried_by_eval(evaluation: Evaluation) -> Decision | None:
    """The quick settings on an evaluation's questions; None where asking again costs, or takes long."""
    if not can_be_tried(evaluation.config) or len(evaluation.graph) > MOST_ENTITIES:
        return None
    rows = np.flatnonzero(evaluation.judgments.relevant > 0)
    if len(rows) > MOST_QUESTIONS:
        rows = rows[np.arange(MOST_QUESTIONS) * len(rows) // MOST_QUESTIONS]
    quick = list(_quick(evaluation))
    if not len(rows) or not quick:
        return None
    questions = _questions(evaluation, rows)
    against = {label_of(values): loss for values, loss in quick}
    tried = [
        structs.replace(setting, against=against.get(setting.label, ""))
        for setting in try_settings(questions, [values for values, _ in quick])
    ]
    groups = question_groups(questions.examples.examples, questions.judgments)
    return decide(tried, questions.measure, groups, seed=evaluation.config.evaluation.seed)


def _quick(evaluation: Evaluation) -> Iterator[tuple[dict[str, Any], str]]:
    """(changed settings, the loss that they are tried for), of those that could help against one that
    occurs; hop limits always."""
    occur = evaluation.explanation.verdicts

    def first_of(*verdicts: Verdict) -> str:
        return next((str(verdict) for verdict in verdicts if occur.get(str(verdict))), "")

    seedless = first_of(Verdict.NO_SEED, Verdict.UNREACHABLE)
    late = first_of(Verdict.RANKED_BELOW_K, Verdict.BELOW_DEPTH)
    seeds_answer = not seeds_are_no_answers(evaluation.linked, evaluation.judgments)
    for values in candidates(evaluation.config, seeds_answer=seeds_answer):
        if set(values) == {"hops"}:
            yield values, first_of(Verdict.BEYOND_HOPS)
        elif "exclude_seeds" in values or (values == QUICK and late):
            yield values, late
        elif values in UNLINKED and seedless:
            yield values, seedless


def seeds_are_no_answers(linked: Sequence[LinkedQuestion], judgments: Judgments) -> bool:
    """Whether questions have seeds that would be returned, and none is ever a reference of its question."""
    some = False
    for row, question in enumerate(linked):
        seeds = {seed.entity for seed in question.seeds}
        relevant = {entity for reference in judgments.references[row] for entity in reference.entities}
        if seeds & relevant:
            return False
        some = some or bool(seeds)
    return some


def _questions(evaluation: Evaluation, rows: NDArray[np.int64]) -> GoldQuestions:
    """These questions of an evaluation, linked as it linked them."""
    chosen = tuple(evaluation.examples.examples[row] for row in rows.tolist())
    measure = deciding(evaluation)
    questions = GoldQuestions.with_references(
        evaluation.graph,
        replace(evaluation.examples, examples=chosen),
        evaluation.config,
        measure,
        allowed=float("inf"),
    )
    column = evaluation.scores.get(measure, measure.compute(evaluation.judged))[rows]
    questions.know(column, tuple(evaluation.linked[row] for row in rows.tolist()))
    return questions


def deciding(evaluation: Evaluation) -> Measure:
    """Of the measures asked for, the telling one that every question with a reference has; else nDCG."""
    scored = evaluation.judgments.relevant > 0
    asked = [
        measure
        for measure, column in evaluation.scores.items()
        if measure.kind.weight is None and not np.isnan(column[scored]).any()
    ]
    top_k = evaluation.config.evaluation.top_k
    return telling(asked, top_k) or Measure("ndcg", top_k)
