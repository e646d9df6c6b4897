"""Answers in the results file: text, scores, tokens and cost, a question and in sum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tiny_graph_rag.answers.records import Answers
from tiny_graph_rag.answers.rubrics import JUDGES
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.llm.base import NO_TOKENS, PURPOSES
from tiny_graph_rag.llm.cost import Spent, total
from tiny_graph_rag.measures.summary import rows_by_tag, token_fields
from tiny_graph_rag.report.json import Spelled
from tiny_graph_rag.results import Linking, Tokens, WrittenAnswer, as_read
from tiny_graph_rag.study.answer_scores import Answered, AnswerSlice


def answer(answers: Answers, row: int, spelled: Spelled) -> WrittenAnswer:
    """`results[].answer`."""
    found = answers.rows[row]
    whole = spent(found.total)
    return WrittenAnswer(
        text=found.text,
        error=found.error,
        abstained=found.abstained,
        cited_facts=list(found.cited),
        citations=[spelled.ids[entity] for entity in found.citations],
        scores=dict(found.scores),
        verdicts=found.verdicts,
        context={"facts": found.facts, "tokens": found.context_tokens, "left_out": found.left_out},
        tokens=Tokens(**found.total.tokens.as_dict()),
        cost_usd=whole["cost_usd"],
        estimated=whole["estimated"],
        usage={purpose: spent(part) for purpose, part in found.spent.items()},
    )


def linking(linked: LinkedQuestion) -> Linking:
    """`results[].linking`: whether the model could be asked, and what that took."""
    return Linking(error=linked.error, **spent(linked.spent or Spent()))


def spent(item: Spent) -> dict[str, Any]:
    return {
        "calls": item.calls,
        **item.tokens.as_dict(),
        "cost_usd": item.cost_usd,
        "estimated": item.estimated,
    }


def usage(by_purpose: Mapping[Any, Spent]) -> dict[str, Any]:
    """Calls, tokens and cost by purpose and in all."""
    return {
        **{purpose: spent(by_purpose.get(purpose, Spent())) for purpose in PURPOSES},
        "total": spent(total(by_purpose.values())),
    }


def add_linking(
    head: dict[str, Any], linked: Sequence[LinkedQuestion], examples: Iterable[Example]
) -> dict[str, Any]:
    """`summary` of a run without answers whose linker asked a model: failures and cost, by tag too."""

    def part(questions: Sequence[LinkedQuestion]) -> dict[str, Any]:
        return {
            "failed": sum(question.error is not None for question in questions),
            "usage": usage({"linking": total(question.spent or Spent() for question in questions)}),
        }

    rows = rows_by_tag([question.tags for question in examples])
    by_tag = {tag: part([linked[row] for row in rows[tag].tolist()]) for tag in head["by_tag"]}
    whole = part(linked)
    return _with_usage(head, whole, by_tag, whole["usage"]["total"])


def _with_usage(
    head: dict[str, Any], whole: dict[str, Any], by_tag: dict[str, dict[str, Any]], used: dict[str, Any]
) -> dict[str, Any]:
    """`summary` with more of all questions and of each tag, and what all took."""
    return head | {
        **token_fields({name: used[name] for name in NO_TOKENS.as_dict()}),
        "estimated_cost_usd": used["cost_usd"],
        **whole,
        "by_tag": {tag: slice_ | by_tag[tag] for tag, slice_ in head["by_tag"].items()},
    }


def answer_slice(answers: Answers, part: AnswerSlice) -> dict[str, Any]:
    """`summary.answers` and `summary.by_tag[tag].answers`. Next to each score of a judge stands how many
    verdicts failed."""
    judged = {"accuracy", *(name for judge in JUDGES for name in JUDGES[judge].scores)}
    scores = as_read(part.scores)
    for name in scores.keys() & judged:
        scores[name]["failed"] = part.unjudged.get(name, 0)
    return {
        **{name: getattr(part, name) for name in ("answered", "failed", "abstained")},
        "scores": scores,
        "usage": usage(answers.spent(part.rows)),
    }


def add_answers(head: dict[str, Any], answered: Answered) -> dict[str, Any]:
    """`summary` with the answers' fields, overall and by tag."""
    answers = answered.answers
    by_tag = {
        tag: {"failed": part.failed, "answers": answer_slice(answers, part)}
        for tag, part in answered.by_tag.items()
    }
    whole = answer_slice(answers, answered.overall)
    of_judges = {"judge_agreement": answers.agreement, "judge_flips": answers.flips}
    whole |= {"complete": answers.complete, "notes": answers.notes}
    whole |= {name: found for name, found in of_judges.items() if found is not None}
    failed = answered.overall.failed
    return _with_usage(head, {"failed": failed, "answers": whole}, by_tag, whole["usage"]["total"])
