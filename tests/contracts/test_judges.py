"""What every registered judge owes: places that are filled; what its schema allows is worth its scores."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import jsonschema
import pytest

from tiny_graph_rag.answers.rubrics import JUDGES, Rubric, parse_judges

VALUES = {text: f"<{text} of the test>" for text in ("question", "truth", "answer", "graph", "entities")}


def allowed(schema: dict[str, Any], take: int) -> Any:
    """A reply that the schema allows. take: which of the values it lists, and how many items."""
    if "enum" in schema:
        return schema["enum"][take % len(schema["enum"])]
    kind = schema["type"]
    if kind == "object":
        return {name: allowed(part, take) for name, part in schema["properties"].items()}
    if kind == "array":
        return [allowed(schema["items"], take + place) for place in range(take)]
    return {"string": "words", "boolean": take % 2 == 0, "integer": take + 1}[kind]


@pytest.fixture(params=list(JUDGES))
def judge(request: pytest.FixtureRequest) -> Rubric:
    return JUDGES[request.param]


def test_its_places_are_filled_and_no_other_is_named(judge: Rubric) -> None:
    system, user = judge.messages(VALUES)
    assert system.content
    assert VALUES["question"] in user.content
    assert not re.search(r"\{(question|truth|answer|graph|entities)\}", user.content)
    assert not re.search(r"^\{\w+\}", user.content, re.M)
    assert judge.has_place("answer") == judge.needs_answer
    assert judge.has_place("truth") >= judge.needs_truth


def test_what_stands_in_a_place_is_not_filled_again(judge: Rubric) -> None:
    user = judge.messages(VALUES | {"question": "{answer}{truth}"})[1]
    assert "{answer}{truth}" in user.content


@pytest.mark.parametrize("take", range(4))
def test_a_reply_that_the_schema_allows_is_worth_all_its_scores(judge: Rubric, take: int) -> None:
    jsonschema.Draft202012Validator.check_schema(judge.schema)
    reply = allowed(judge.schema, take)
    jsonschema.validate(reply, judge.schema)
    scores = judge.value(judge.read(json.dumps(reply)))
    assert tuple(scores) == judge.scores
    assert all(math.isnan(score) or score >= judge.worst for score in scores.values())


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}", '{"grade": "2"}', "null", '{"grades": [1]}'])
def test_a_reply_of_another_form_is_refused(judge: Rubric, text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        judge.read(text)


def test_no_score_has_two_judges_and_all_can_be_asked_together() -> None:
    names = [name for judge in parse_judges(",".join(JUDGES)) for name in judge.scores]
    assert len(set(names)) == len(names)
