"""How much a slip of the finger costs: the same questions asked again in altered form."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.evaluation.perturb.noise import KINDS
from tiny_graph_rag.evaluation.runner import judge_on_graph
from tiny_graph_rag.evaluation.summary import numbered
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.metrics import Measure, score
from tiny_graph_rag.metrics.paired import EQUAL, interval
from tiny_graph_rag.retrieval import make_retriever

if TYPE_CHECKING:
    from tiny_graph_rag.evaluation.runner import Evaluation


@dataclass(frozen=True, slots=True)
class Drop:
    """mean: with the altered questions. drop: what the mean lost (negative: gained), with the low and high of
    its 95 % paired interval. n: questions that define the measure."""

    mean: float
    drop: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Perturbed:
    """altered: questions whose text the kind changed at all. broken: (id, altered text) of those that found
    less within k. measures: those that are means over questions; pooled ones have no paired interval."""

    kind: str
    altered: int
    measures: dict[Measure, Drop]
    broken: tuple[tuple[str, str], ...]


def parse_kinds(names: Sequence[str]) -> tuple[str, ...]:
    """Raises UsageError for an unknown kind."""
    for each in names:
        if each not in KINDS:
            hint = nearest(each, list(KINDS)) or "."
            raise UsageError(f"--perturb: unknown kind {each!r}{hint} Choices: {', '.join(KINDS)}")
    return tuple(dict.fromkeys(names))


def perturb(evaluation: Evaluation, kinds: Sequence[str]) -> tuple[Perturbed, ...]:
    """Ask every question again in each altered form, by the same linker and retriever."""
    names = NameIndex.of(evaluation.graph)
    linker = make_linker(evaluation.graph, names, evaluation.config)
    retriever = make_retriever(evaluation.graph, evaluation.config, evaluation.examples, evaluation.judgments)
    seed, cutoff = evaluation.config.evaluation.seed, evaluation.config.evaluation.top_k
    measures = [each for each in evaluation.scores if each.kind.weight is None]
    recall = Measure("recall", cutoff)
    before = recall.compute(evaluation.judged)
    found = []
    for kind in kinds:
        # A generator of its own for each question: an added question changes no other.
        examples = [
            replace(each, query=KINDS[kind](each.query, random.Random(f"{seed} {kind} {each.id}")))
            for each in evaluation.examples
        ]
        linked = linker.link(examples)
        run = retriever.retrieve(linked)
        judged = judge_on_graph(
            evaluation.graph, examples, names, linked, run, evaluation.judgments, measures
        )
        after = recall.compute(judged)
        drops = {}
        for each, column in score(judged, measures).items():
            change = evaluation.scores[each] - column
            defined = ~np.isnan(change)
            change = np.where(np.abs(change) <= EQUAL, 0.0, change)[defined]
            groups = numbered([one.group for one in evaluation.examples])
            low, high = each.bounds
            found_interval = interval(
                change, span=high - low, groups=None if groups is None else groups[defined]
            )
            mean, drop = (
                float(part.mean()) if len(part) else float("nan") for part in (column[defined], change)
            )
            drops[each] = Drop(mean, drop, found_interval.low, found_interval.high, len(change))
        pairs = list(zip(examples, evaluation.examples, strict=True))
        found.append(
            Perturbed(
                kind,
                altered=sum(new.query != old.query for new, old in pairs),
                measures=drops,
                broken=tuple(
                    (examples[row].id, examples[row].query)
                    for row in np.flatnonzero(after < before - EQUAL).tolist()
                ),
            )
        )
    return tuple(found)
