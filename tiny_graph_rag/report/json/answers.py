"""Answers in the results file: text, scores, tokens and cost, a question and in sum."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tiny_graph_rag.answers.accuracy import ACCURACY
from tiny_graph_rag.answers.records import Answer, Answers, JudgeAgreement
from tiny_graph_rag.answers.rubrics import JUDGES
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.llm.base import PURPOSES, Tokens
from tiny_graph_rag.llm.cost import Spent, total
from tiny_graph_rag.measures.summary import mean_fields, number, token_fields
from tiny_graph_rag.report.json.spelled import Spelled
from tiny_graph_rag.study.answer_scores import Answered, AnswerSlice


def answer(answers: Answers, row: int, spelled: Spelled) -> dict[str, Any]:
    """`results[].answer`."""
    found: Answer = answers.rows[row]
    whole = found.total
    return {
        "text": found.text,
        "error": found.error,
        "abstained": found.abstained,
        "cited_facts": list(found.cited),
        "citations": [spelled.ids[entity] for entity in found.citations],
        "scores": {name: number(value) for name, value in found.scores.items()},
        "verdicts": found.verdicts,
        "context": {"facts": found.facts, "tokens": found.context_tokens, "left_out": found.left_out},
        "tokens": whole.tokens.as_dict(),
        "cost_usd": whole.cost_usd,
        "estimated": whole.estimated,
        "usage": {purpose: spent(part) for purpose, part in found.spent.items()},
    }


def usage(answers: Answers, rows: Sequence[int] | None = None) -> dict[str, Any]:
    """Calls, tokens and cost by purpose and in all."""
    by_purpose = answers.spent(rows)
    return {
        **{purpose: spent(by_purpose[purpose]) for purpose in PURPOSES},
        "total": spent(total(by_purpose.values())),
    }


def linking(linked: LinkedQuestion) -> dict[str, Any]:
    """`results[].linking`: whether the model could be asked, and what that took."""
    return {"error": linked.error, **spent(linked.spent or Spent())}


def add_linking(
    head: dict[str, Any], linked: Sequence[LinkedQuestion], examples: Iterable[Example]
) -> dict[str, Any]:
    """`summary` of a run without answers whose linker asked a model: failures and cost, by tag too."""
    tags = [question.tags for question in examples]
    whole = _linked_slice(linked)
    by_tag = {
        tag: slice_ | _linked_slice([one for one, its in zip(linked, tags, strict=True) if tag in its])
        for tag, slice_ in head["by_tag"].items()
    }
    in_all = whole["usage"]["total"]
    return head | {
        **token_fields({name: in_all[name] for name in Tokens().as_dict()}),
        "estimated_cost_usd": in_all["cost_usd"],
        **whole,
        "by_tag": by_tag,
    }


def _linked_slice(linked: Sequence[LinkedQuestion]) -> dict[str, Any]:
    took = total(seed.spent or Spent() for seed in linked)
    by_purpose = {purpose: spent(took if purpose == "linking" else Spent()) for purpose in PURPOSES}
    return {
        "failed": sum(seed.error is not None for seed in linked),
        "usage": {**by_purpose, "total": spent(took)},
    }


def spent(item: Spent) -> dict[str, Any]:
    return {
        "calls": item.calls,
        **item.tokens.as_dict(),
        "cost_usd": item.cost_usd,
        "estimated": item.estimated,
    }


def judged_scores() -> set[str]:
    """The scores that a judge gives: next to each stands how many verdicts failed."""
    return {ACCURACY, *(name for judge in JUDGES for name in JUDGES[judge].scores)}


def answer_slice(answers: Answers, part: AnswerSlice) -> dict[str, Any]:
    """`summary.answers` and `summary.by_tag[tag].answers`."""
    return {
        "answered": part.answered,
        "failed": part.failed,
        "abstained": part.abstained,
        "scores": {
            name: mean_fields(mean)
            | ({"failed": part.unjudged.get(name, 0)} if name in judged_scores() else {})
            for name, mean in part.scores.items()
        },
        "usage": usage(answers, part.rows),
    }


def add_answers(head: dict[str, Any], answered: Answered) -> dict[str, Any]:
    """`summary` with the answers' fields, overall and by tag."""
    part = answer_slice(answered.answers, answered.overall)
    whole = part["usage"]["total"]
    by_tag = {
        tag: slice_
        | {
            "failed": answered.by_tag[tag].failed,
            "answers": answer_slice(answered.answers, answered.by_tag[tag]),
        }
        for tag, slice_ in head["by_tag"].items()
    }
    return head | {
        **token_fields({name: whole[name] for name in Tokens().as_dict()}),
        "estimated_cost_usd": whole["cost_usd"],
        "failed": answered.overall.failed,
        "by_tag": by_tag,
        "answers": part
        | {"complete": answered.answers.complete, "notes": list(answered.answers.notes)}
        | _agreement(answered.answers.agreement),
    }


def _agreement(found: JudgeAgreement | None) -> dict[str, Any]:
    return {} if found is None else {"judge_agreement": {"kappa": number(found.kappa), "n": found.n}}
