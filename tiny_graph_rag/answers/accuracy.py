"""ACC: how much of the truth an answer states, and how near it comes to it in meaning.

Source: GraphRAG-Bench, arXiv 2506.05690: .75 × factuality F1 + .25 × cosine similarity of answer and truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tiny_graph_rag.answers.answering import without_citations
from tiny_graph_rag.answers.judge import Judging, with_verdict
from tiny_graph_rag.answers.records import Answers
from tiny_graph_rag.answers.scores import has_truth
from tiny_graph_rag.llm.base import NOT_ASKED, Call, Message, Outcome
from tiny_graph_rag.llm.chat import Chat
from tiny_graph_rag.llm.cost import Spent

ACCURACY = "accuracy"
OF_FACTS, OF_MEANING = 0.75, 0.25


@dataclass(frozen=True, slots=True)
class Comparing:
    """judging: what is judged, its answers with their scores of `factuality`. model: of embeddings."""

    judging: Judging
    model: str

    def rows(self) -> Iterator[int]:
        """The questions whose answer is held against a truth, by what it says apart from its citations."""
        for row, answer in enumerate(self.judging.answers):
            is_true = has_truth(self.judging.asked.examples[row])
            if answer.error is None and is_true and without_citations(answer.text):
                yield row

    def calls(self) -> Iterator[Call]:
        """One call embeds an answer and its truths, and is known from journal or cache like any other."""
        for row in self.rows():
            example = self.judging.asked.examples[row]
            texts = (without_citations(self.judging.answers[row].text), *example.ground_truth)
            yield Call(
                "judging",
                f"{example.id} {ACCURACY}",
                self.model,
                tuple(Message("user", text) for text in texts),
                max_tokens=0,
                embeds=True,
            )


def compare_all(
    comparing: Comparing, chat: Chat, answers: Answers, done: Callable[[Outcome], None] = lambda outcome: None
) -> Answers:
    """The answers with `accuracy`: 0 where the question failed, undefined where it has no truth. Where an
    embedding could not be had, similarity is the worst there is, and the score counts as failed."""
    outcomes = chat.ask(comparing.calls(), done)
    price = chat.price(comparing.model)
    rows = [
        replace(answer, scores=answer.scores | {ACCURACY: 0.0 if has_truth(example) else math.nan})
        for answer, example in zip(answers.rows, comparing.judging.asked.examples, strict=True)
    ]
    for row, outcome in zip(comparing.rows(), outcomes, strict=True):
        answer = rows[row]
        verdict: dict[str, Any] = {"error": outcome.error}
        if outcome.error is None and outcome.reply is not None:
            verdict = {"similarity": float(outcome.reply.text)}
        value = accuracy(answer.scores["factuality"], verdict.get("similarity", -1.0))
        is_failed = "error" in verdict or "factuality" in answer.unjudged
        failed = {ACCURACY} if is_failed else ()
        spent = Spent.on(outcome, price)
        rows[row] = with_verdict(answer, {ACCURACY: value}, {ACCURACY: verdict}, failed, spent)
    asked = all(outcome.error != NOT_ASKED for outcome in outcomes)
    return replace(answers, rows=tuple(rows), complete=answers.complete and asked)


def accuracy(factuality: float, similarity: float) -> float:
    """Both at most 1; similarity from -1, so accuracy from -.25. NaN where factuality is undefined."""
    return OF_FACTS * factuality + OF_MEANING * similarity
