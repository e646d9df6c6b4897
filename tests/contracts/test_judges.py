"""What every registered judge owes: places that are filled; what its schema allows is worth its scores. What
every linker owes: one answer a question, seeds of the graph, places in the text."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import kg
from tiny_graph_rag.answers.rubrics import JUDGES, Rubric, parse_judges
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LINKERS, Linker, make_linker

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


ALONE = [name for name in LINKERS if not LINKERS[name].asks_model]
EXAMPLES = [
    Example("Q1", "Whom does Ann know in Springfield?", (), seed_entities=("Ann", "Springfield")),
    Example("Q2", "점순이는 누구와 다투었나?", (), seed_entities=("점순",)),
    Example("Q3", "And her?", (), seed_entities=(), context=("Who is Ann?",)),
    Example("Q4", "zzz", (), seed_entities=("Nobody",)),
    Example("Q5", "", (), seed_entities=()),
]


@pytest.fixture
def graph(tmp_path: Path) -> KnowledgeGraph:
    document = kg(["Ann", "Bob", "점순"], [("Ann", "KNOWS", "Bob")])
    document["entities"] |= {id: {"name": "Springfield"} for id in ("s1", "s2")}
    (tmp_path / "g-KG.json").write_text(json.dumps(document), encoding="utf-8")
    return read_graph(tmp_path / "g-KG.json")


def made(name: str, graph: KnowledgeGraph) -> Linker:
    config = replace(Config(), retrieval=replace(Config().retrieval, linker=name))
    return make_linker(graph, NameIndex.of(graph), config)


@pytest.mark.parametrize("name", ALONE)
def test_each_question_has_its_answer_in_order(name: str, graph: KnowledgeGraph) -> None:
    linker = made(name, graph)
    linker.check(EXAMPLES)
    linker.prepare(EXAMPLES)
    linked = linker.link(EXAMPLES)
    assert [(seed.id, seed.text) for seed in linked] == [
        (question.id, question.query) for question in EXAMPLES
    ]
    assert linker.link([]) == []


@pytest.mark.parametrize("name", ALONE)
def test_seeds_are_entities_with_a_place_a_rule_and_a_share(name: str, graph: KnowledgeGraph) -> None:
    for linked_question in made(name, graph).link(EXAMPLES):
        assert len({seed.entity for seed in linked_question.seeds}) == len(linked_question.seeds)
        shares: dict[tuple[int | None, int | None], float] = {}
        for seed in linked_question.seeds:
            assert 0 <= seed.entity < len(graph)
            assert 0 < seed.weight <= 1
            assert seed.rule
            assert (seed.start is None) == (seed.end is None)
            if seed.start is not None:
                assert linked_question.text[seed.start : seed.end] == seed.mention
            shares[seed.start, seed.end] = shares.get((seed.start, seed.end), 0) + seed.weight
        assert all(share <= 1 + 1e-12 for (start, _), share in shares.items() if start is not None)
        starts = [-1 if seed.start is None else seed.start for seed in linked_question.seeds]
        assert starts == sorted(starts)


@pytest.mark.parametrize("name", ALONE)
def test_a_question_alone_is_linked_as_among_others_and_again(name: str, graph: KnowledgeGraph) -> None:
    linker = made(name, graph)
    together = linker.link(EXAMPLES)
    assert linker.link(EXAMPLES) == together
    assert [linker.link([question])[0] for question in EXAMPLES] == together
    assert linker.link(EXAMPLES[::-1]) == together[::-1]


@pytest.mark.parametrize("name", [name for name in LINKERS if name not in ALONE])
def test_one_that_asks_a_model_says_what_it_would_ask_and_wants_one(name: str, graph: KnowledgeGraph) -> None:
    with pytest.raises(UsageError, match=f"--linker {name} needs a model to ask"):
        made(name, graph)
    calls = LINKERS[name].calls(EXAMPLES, Config())
    assert len(calls) == len(EXAMPLES)
    assert all(
        example.query in call.messages[-1].content for example, call in zip(EXAMPLES, calls, strict=True)
    )
