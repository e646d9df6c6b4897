"""Answer scores over all questions and by tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct, field, structs

from tiny_graph_rag.answers.records import Answers
from tiny_graph_rag.answers.rubrics import JUDGES, QUALITIES
from tiny_graph_rag.answers.scores import agreement_scores, failed_scores
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.measures import Mean, means
from tiny_graph_rag.measures.statistics import SHARE, Groups
from tiny_graph_rag.measures.summary import numbered, rows_by_tag

BOUNDS = {**dict.fromkeys(QUALITIES, (0.0, 5.0)), "accuracy": (-0.25, 1.0)}  # of scores that leave [0, 1]


class AnswerSlice(Struct, frozen=True):
    """rows: the questions of the slice. answered: with a text; failed: with an error; abstained: of the
    answered, those that say that they have no answer. unjudged: score → answers that count as its worst value
    because no verdict could be had or read."""

    rows: tuple[int, ...]
    answered: int
    failed: int
    abstained: int
    scores: dict[str, Mean]
    unjudged: dict[str, int] = field(default_factory=dict)


class Answered(Struct, frozen=True):
    """The answers of an evaluation, overall and by tag."""

    answers: Answers
    overall: AnswerSlice
    by_tag: dict[str, AnswerSlice]


def scores_of_own(answers: Sequence[str | None], examples: Iterable[Example]) -> list[dict[str, float]]:
    """Of answers that a user's retriever gave itself, a question each; none where nobody answers.

    A question that was not answered where others were scores 0.
    """
    if not any(answer is not None for answer in answers):
        return []
    rows = []
    for answer, example in zip(answers, examples, strict=True):
        scores = agreement_scores(answer or "", example)
        rows.append(scores if answer is not None else failed_scores(scores))
    return rows


def summarise_answers(
    answers: Answers, tags: Sequence[Sequence[str]], groups: Sequence[str | None] = ()
) -> Answered:
    """tags, groups: of each question; a question counts in every tag that it carries."""
    number = numbered(groups)
    by_tag = {tag: _slice(answers, rows.tolist(), number) for tag, rows in rows_by_tag(tags).items()}
    return Answered(answers, _slice(answers, range(len(answers)), number), by_tag)


def _slice(answers: Answers, rows: Sequence[int], groups: Groups | None) -> AnswerSlice:
    chosen = [answers.rows[row] for row in rows]
    failed = sum(item.error is not None for item in chosen)
    names = dict.fromkeys(name for row_cells in answers.rows for name in row_cells.scores)
    weak = set(JUDGES["retrieval"].scores) if answers.agreement and answers.agreement.is_weak else set()
    scores = means(
        {name: np.array([item.scores.get(name, np.nan) for item in chosen]) for name in names},
        bounds={name: BOUNDS.get(name, SHARE) for name in names},
        groups=None if groups is None else groups[list(rows)],
    )
    return AnswerSlice(
        tuple(rows),
        answered=len(chosen) - failed,
        failed=failed,
        abstained=sum(item.abstained for item in chosen),
        scores={
            name: structs.replace(mean, reliable=False) if name in weak else mean
            for name, mean in scores.items()
        },
        unjudged=dict(Counter(name for item in chosen for name in sorted(item.unjudged))),
    )
