"""Answer scores over all questions and by tag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tiny_graph_rag.answers.accuracy import ACCURACY
from tiny_graph_rag.answers.records import Answers
from tiny_graph_rag.answers.rubrics import QUALITIES
from tiny_graph_rag.measures import Mean, means
from tiny_graph_rag.measures.summary import rows_by_tag


@dataclass(frozen=True, slots=True)
class AnswerSlice:
    """rows: the questions of the slice. answered: with a text; failed: with an error; abstained: of the
    answered, those that say that they have no answer."""

    rows: tuple[int, ...]
    answered: int
    failed: int
    abstained: int
    scores: dict[str, Mean]


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers of an evaluation, overall and by tag."""

    answers: Answers
    overall: AnswerSlice
    by_tag: dict[str, AnswerSlice]


def summarise_answers(answers: Answers, tags: Sequence[Sequence[str]], *, seed: int) -> Answered:
    """tags: of each question; a question counts in every tag that it carries. seed: of the intervals."""
    by_tag = {tag: _slice(answers, rows.tolist(), seed) for tag, rows in rows_by_tag(tags).items()}
    return Answered(answers, _slice(answers, range(len(answers)), seed), by_tag)


def _slice(answers: Answers, rows: Sequence[int], seed: int) -> AnswerSlice:
    chosen = [answers.rows[row] for row in rows]
    failed = sum(each.error is not None for each in chosen)
    names = dict.fromkeys(name for each in answers.rows for name in each.scores)
    return AnswerSlice(
        tuple(rows),
        answered=len(chosen) - failed,
        failed=failed,
        abstained=sum(each.abstained for each in chosen),
        scores=means(
            {name: np.array([each.scores.get(name, np.nan) for each in chosen]) for name in names},
            shares={name for name in names if name not in (*QUALITIES, ACCURACY)},
            seed=seed,
        ),
    )
