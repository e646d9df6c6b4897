"""What a dry run says a run costs at most is never passed; what can't be known is called unknown."""

from __future__ import annotations

import json

from tiny_graph_rag.answers.records import Answer, Answers, JudgeAgreement
from tiny_graph_rag.llm.base import Call, Message
from tiny_graph_rag.llm.cost import Price, TokenCounter, forecast
from tiny_graph_rag.study.answer_scores import summarise_answers


def call(**options) -> Call:
    return Call("judging", "q", "a-model", (Message("user", "Is it so?"),), max_tokens=100, **options)


def test_a_forecast_counts_the_calls_that_are_not_known_and_at_most_their_schema() -> None:
    """ "Is it so?": 3 words, 9 bytes, so 3 tokens likely; 4 for the message and 3 for the reply's start; at
    most the bytes, 64 that the provider may add, and the schema."""
    counter = TokenCounter(None, "estimate")
    schema = {"type": "object", "properties": {"grade": {"type": "integer"}}}
    found = forecast([call(), call(schema=schema), call()], counter, lambda one: one == call())
    assert (found.calls, found.known, found.most_answer_tokens) == (1, 2, 100)
    assert found.prompt_tokens == (10, 10, 7 + 9 + 64 + len(json.dumps(schema)))
    least, most = found.cost_usd(Price(1.0, 2.0, 1.0, "as set"))
    assert (least, most) == (10 / 1e6, (found.prompt_tokens[2] + 2 * 100) / 1e6)
    assert found.cost_usd(None) is None


def test_a_judge_that_hardly_agrees_with_the_gold_set_has_its_means_marked() -> None:
    rows = tuple(Answer("x", None, scores={"judged_precision": 0.5, "f1": 1.0}) for _ in range(40))
    sound = summarise_answers(Answers(rows, agreement=JudgeAgreement(0.7, 200)), [()] * 40)
    weak = summarise_answers(Answers(rows, agreement=JudgeAgreement(0.39, 200)), [()] * 40)
    assert sound.overall.scores["judged_precision"].reliable
    assert not weak.overall.scores["judged_precision"].reliable
    assert weak.overall.scores["f1"].reliable
