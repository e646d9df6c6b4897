"""A model's verdict on answers and on what was retrieved, with its reason, paid and counted apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tiny_graph_rag.answers.answering import AnsweringTask, question_text, without_citations
from tiny_graph_rag.answers.records import Answer, Answers, Flips, JudgeAgreement
from tiny_graph_rag.answers.rubrics import NEARNESS, Rubric, accuracy, entity_grades
from tiny_graph_rag.answers.scores import has_truth
from tiny_graph_rag.gold.agreement import agreement
from tiny_graph_rag.llm.base import NOT_ASKED, Call, Json, Message, Outcome
from tiny_graph_rag.llm.chat import Chat
from tiny_graph_rag.llm.cost import Spent

MOST_TOKENS = 2048  # of a verdict: the longest is statement by statement, with a reason each


@dataclass(frozen=True, slots=True)
class Judging:
    """What the judges are asked. answers: what they judge. cutoff: entities that `retrieval` grades."""

    asked: AnsweringTask
    answers: Sequence[Answer]
    rubrics: tuple[Rubric, ...]
    cutoff: int

    def asked_of(self) -> Iterator[tuple[int, Rubric, bool]]:
        """(question, judge, whether answer and truth change places) of every call, in the order of the
        questions."""
        for row, answer in enumerate(self.answers):
            for rubric in self.rubrics:
                if self._applies(row, answer, rubric):
                    yield row, rubric, False
                    if rubric.both_orders:
                        yield row, rubric, True

    def _applies(self, row: int, answer: Answer, rubric: Rubric) -> bool:
        if rubric.needs_answer:
            return answer.error is None and self.has_scores(row, rubric)
        return bool(self._first(row))

    def has_scores(self, row: int, rubric: Rubric) -> bool:
        """Whether an answer to this question would have the scores of a judge of answers."""
        return rubric.needs_answer and (not rubric.needs_truth or has_truth(self.asked.examples[row]))

    def calls(self) -> Iterator[Call]:
        config = self.asked.config
        for row, rubric, is_turned in self.asked_of():
            example, model = self.asked.examples[row], rubric.model(config)
            about = f"{example.id} {rubric.name}"
            if rubric is NEARNESS:
                texts = (without_citations(self.answers[row].text) or "-", *example.ground_truth)
                messages = tuple(Message("user", text) for text in texts)
                yield Call("judging", about, model, messages, max_tokens=0, embeds=True)
                continue
            values = self._values(row, rubric)
            if is_turned:
                values |= {"truth": values["answer"], "answer": values["truth"]}
            yield Call(
                "judging",
                about,
                model,
                rubric.messages(values),
                MOST_TOKENS,
                config.openai.temperature,
                config.openai.seed,
                rubric.name,
                rubric.schema,
                self.reader(row, rubric),
            )

    def reader(self, row: int, rubric: Rubric) -> Callable[[str], Json]:
        """Reads a reply to this question; raises ValueError for one that does not grade what was sent."""
        return partial(rubric.read, entities=None if rubric.needs_answer else len(self._first(row)))

    def _values(self, row: int, rubric: Rubric) -> dict[str, str]:
        example = self.asked.examples[row]
        entities = (self.asked.contexts.entity(entity) for entity in self._first(row))
        return {
            "question": question_text(example),
            "truth": " / ".join(example.ground_truth),
            "answer": without_citations(self.answers[row].text),
            "graph": self.asked.context(row).text if rubric.has_place("graph") else "",
            "entities": "\n".join(f"{place}. {text}" for place, text in enumerate(entities, 1)),
        }

    def _first(self, row: int) -> list[int]:
        run = self.asked.run
        return [int(entity) for entity in run.entities[run.rows(row)][: self.cutoff]]

    def graded(self, row: int, reply: Json) -> list[tuple[bool, bool]]:
        """For each graded entity: whether the judge and whether the gold set holds it relevant."""
        gold = {entity for reference in self.asked.references[row] for entity in reference.entities}
        first, grades = self._first(row), sorted(entity_grades(reply).items())
        return [(grade > 0, first[place - 1] in gold) for place, grade in grades]


def judge_all(
    judging: Judging, chat: Chat, answers: Answers, done: Callable[[Outcome], None] = lambda outcome: None
) -> Answers:
    """The answers with scores, verdicts and cost of the judges added.

    A failed answer gets 0 wherever its question defines a score. A verdict that could not be had or read is
    the worst there is and counts as failed, so that no failure can raise a mean.
    """
    outcomes = chat.ask(judging.calls(), done)
    names = [name for rubric in judging.rubrics for name in rubric.scores]
    rows = [replace(answer, scores=answer.scores | dict.fromkeys(names, math.nan)) for answer in answers.rows]
    pairs: list[tuple[bool, bool]] = []
    flips: list[bool] = []
    for (row, rubric, is_turned), outcome in zip(judging.asked_of(), outcomes, strict=True):
        verdict, error = _read(outcome, judging.reader(row, rubric))
        if rubric.name == "retrieval" and verdict is not None:
            pairs += judging.graded(row, verdict)
        scores = dict.fromkeys(rubric.scores, rubric.worst) if verdict is None else rubric.value(verdict)
        told = {"error": error} if verdict is None else verdict
        answer = rows[row]
        if is_turned:
            first = {name: answer.scores[name] for name in scores}
            if verdict is not None:
                scores = {name: 1 - value for name, value in scores.items()}
                flips += [scores != first] if not answer.unjudged & scores.keys() else []
            scores = {name: (value + first[name]) / 2 for name, value in scores.items()}
            told = answer.verdicts[rubric.name] | {"turned": told}
        price = chat.price(rubric.model(judging.asked.config))
        spent = answer.spent.get("judging", Spent()) + Spent.on(outcome, price)
        rows[row] = replace(
            answer,
            scores=answer.scores | scores,
            verdicts=answer.verdicts | {rubric.name: told},
            unjudged=answer.unjudged | set(rubric.scores if verdict is None else ()),
            spent=answer.spent | {"judging": spent},
        )
    for row, answer in enumerate(rows):
        if answer.error is not None:
            of_answers = (rubric for rubric in judging.rubrics if judging.has_scores(row, rubric))
            zeros = {name: 0.0 for rubric in of_answers for name in rubric.scores}
            rows[row] = replace(answer, scores=answer.scores | zeros)
        elif NEARNESS in judging.rubrics:
            rows[row] = accuracy(answer)
    both_orders = any(rubric.both_orders for rubric in judging.rubrics)
    return replace(
        answers,
        rows=tuple(rows),
        complete=answers.complete and all(outcome.error != NOT_ASKED for outcome in outcomes),
        agreement=_agreement(pairs) if "judged_precision" in names else None,
        flips=Flips(sum(flips), len(flips)) if both_orders else None,
    )


def _read(outcome: Outcome, read: Callable[[str], Json]) -> tuple[Json | None, str | None]:
    """The verdict, or why there is none; a reply that an older version kept is checked like a new one."""
    if outcome.error is not None or outcome.reply is None:
        return None, outcome.error
    try:
        return read(outcome.reply.text), None
    except ValueError as error:
        return None, str(error)


def _agreement(pairs: Sequence[tuple[bool, bool]]) -> JudgeAgreement:
    """pairs: what the judge and the gold set say of each entity."""
    return JudgeAgreement(agreement(*([pair[side] for pair in pairs] for side in (0, 1))).kappa, len(pairs))
