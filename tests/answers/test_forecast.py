"""What a dry run says a run costs at most is never passed; what can't be known is called unknown."""

from __future__ import annotations

from tiny_graph_rag.answers.forecast import forecast
from tiny_graph_rag.answers.records import Answer, Answers, JudgeAgreement
from tiny_graph_rag.llm.base import Call, Message
from tiny_graph_rag.llm.cost import Price, TokenCounter
from tiny_graph_rag.study.answer_scores import summarise_answers


def call(**options) -> Call:
    return Call("judging", "q", "a-model", (Message("user", "Is it so?"),), max_tokens=100, **options)


def test_a_reply_that_can_be_unreadable_counts_twice() -> None:
    """A call with a check is asked for once more where its reply fails it: both are paid."""
    counter = TokenCounter(None, "estimate")
    plain, checked = forecast([call()], counter), forecast([call(check=int)], counter)
    assert (plain.calls, plain.most_calls) == (1, 1)
    assert (checked.calls, checked.most_calls) == (1, 2)
    assert checked.most_completion_tokens == 2 * plain.most_completion_tokens == 200
    assert checked.most_prompt_tokens == 2 * plain.most_prompt_tokens
    assert checked.least_prompt_tokens == plain.least_prompt_tokens
    price = Price(1.0, 1.0, 1.0, "as set")
    assert checked.cost_usd(price)[1] == 2 * plain.cost_usd(price)[1]


def test_a_schema_is_part_of_the_prompt_at_most() -> None:
    counter = TokenCounter(None, "estimate")
    schema = {"type": "object", "properties": {"grade": {"type": "integer"}}}
    with_schema = forecast([call(schema=schema)], counter)
    assert with_schema.most_prompt_tokens > forecast([call()], counter).most_prompt_tokens + 64


def test_a_judge_that_hardly_agrees_with_the_gold_set_has_its_means_marked() -> None:
    rows = tuple(Answer("x", None, scores={"judged_precision": 0.5, "f1": 1.0}) for _ in range(40))
    sound = summarise_answers(Answers(rows, agreement=JudgeAgreement(0.7, 200)), [()] * 40)
    weak = summarise_answers(Answers(rows, agreement=JudgeAgreement(0.39, 200)), [()] * 40)
    assert sound.overall.scores["judged_precision"].reliable
    assert not weak.overall.scores["judged_precision"].reliable
    assert weak.overall.scores["f1"].reliable
