"""What every registered linker owes: one answer a question, seeds of the graph, places in the text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import kg
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LINKERS, Linker, make_linker

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
    assert linker.name == name
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
