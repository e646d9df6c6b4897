"""Aliases that questions use and the graph lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from benchmarks.fixes_damage import ROOT
from tiny_graph_rag.fixing.aliases import propose_aliases
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.names import NameLinker

HOUSE = [
    "공기청정기 A3",
    "공기청정기 A7",
    "초음파 가습기 W2",
    "한국 은행",
    "전국경제인연합회",
    "이몽룡",
    "다온정밀",
]
PEOPLE = {
    "1": {"name": "Sherlock Holmes", "entity_type": "PERSON"},
    "2": {"name": "Helen Stoner", "entity_type": "PERSON"},
    "3": {"name": "Julia Stoner", "entity_type": "PERSON"},
    "4": {"name": "World Health Organization", "entity_type": "ORGANIZATION"},
    "5": {"name": "Castle of the Carpathians", "entity_type": "WORK"},
    "6": {"name": "South Pole", "entity_type": "PLACE"},
    "7": {"name": "Jean Passepartout", "entity_type": "PERSON"},
    "8": {"name": "Arthur Conan Doyle", "entity_type": "PERSON"},
}

HOSPITAL = {
    name: {"name": name, "entity_type": type}
    for name, type in (
        ("서울대학교병원", "organization"),
        ("국민건강보험공단", "organization"),
        ("세브란스 병원", "organization"),
        ("환자 안전 위원회", "organization"),
        ("김철수 교수", "person"),
        ("박지훈 과장", "person"),
        ("제2차 세계 대전", "event"),
        ("자기공명영상 장비 X-7", "equipment"),
        ("아스피린", "drug"),
    )
}


def graph(names: Sequence[str] | Mapping[str, Mapping[str, Any]]) -> KnowledgeGraph:
    records = names if isinstance(names, Mapping) else {name: {"name": name} for name in names}
    return KnowledgeGraph.from_records(records, [])


def asked(*queries: str, references: Sequence[str] = ()) -> EvalSet:
    return EvalSet(
        tuple(Example(f"q{number}", query, tuple(references)) for number, query in enumerate(queries))
    )


def proposed(made: KnowledgeGraph, *queries: str) -> dict[str, str]:
    return {alias.alias: alias.name for alias in propose_aliases(made, asked(*queries))}


@pytest.mark.parametrize(
    ("query", "alias", "name"),
    [
        ("A3는 어떤 필터를 쓰나요?", "A3", "공기청정기 A3"),
        ("가습기의 부품은?", "가습기", "초음파 가습기 W2"),
        ("한은의 일은?", "한은", "한국 은행"),
        ("전경련은 무엇을 발표했나?", "전경련", "전국경제인연합회"),
        ("몽룡은 왜 내려왔지?", "몽룡", "이몽룡"),
    ],
)
def test_korean_questions_shorten_names_by_codes_parts_and_syllables(
    query: str, alias: str, name: str
) -> None:
    assert proposed(graph(HOUSE), query) == {alias: name}


@pytest.mark.parametrize(
    ("query", "alias", "name"),
    [
        ("안전위원회는 무엇을 살피나?", "안전위원회", "환자 안전 위원회"),
        ("철수가 맡은 과는?", "철수", "김철수 교수"),
        ("2차 대전은 언제야?", "2차 대전", "제2차 세계 대전"),
    ],
)
def test_organisations_people_and_wars_are_shortened_as_people_do(query: str, alias: str, name: str) -> None:
    assert proposed(graph(HOSPITAL), query) == {alias: name}


@pytest.mark.parametrize(
    "query",
    [
        "병원에서 가장 바쁜 곳은?",
        "과장은 누구입니까?",
        "교수가 쓰는 장비는?",
        "서울에 있는 대학은?",
        "환자는 몇 명인가요?",
    ],
)
def test_a_korean_noun_that_one_name_happens_to_have_is_no_alias(query: str) -> None:
    assert proposed(graph(HOSPITAL), query) == {}


@pytest.mark.parametrize(
    ("query", "alias", "name"),
    [
        ("What did Holmes find?", "Holmes", "Sherlock Holmes"),
        ("Where is the WHO based?", "WHO", "World Health Organization"),
    ],
)
def test_names_are_shortened_to_parts_and_initials(query: str, alias: str, name: str) -> None:
    assert proposed(graph(PEOPLE), query) == {alias: name}


@pytest.mark.parametrize(
    "query",
    [
        "공기청정기는 어디에 두나요?",  # two of them
        "어떤 가습기가 조용한가요?",  # asks for one, and names none
        "B7의 가격은 얼마인가요?",
        "What did Stoner hear?",  # Helen or Julia
        "How many persons live in the Carpathians?",  # a place in a title
        "Which islands of the South Pacific are large?",
        "who heals people all over the world?",
        "",
    ],
)
def test_words_that_several_names_have_or_that_only_describe_are_no_alias(query: str) -> None:
    assert proposed(graph(HOUSE), query) == {}
    assert proposed(graph(PEOPLE), query) == {}


def test_a_question_that_names_something_is_asked_only_for_what_is_written_as_a_name() -> None:
    made = graph({**PEOPLE, "9": {"name": "Soun", "entity_type": "PERSON"}})
    assert proposed(made, "Which servant is lazier, Soun or Passepartout?") == {
        "Passepartout": "Jean Passepartout"
    }
    both = graph([*HOUSE, "대전 공장"])
    assert proposed(both, "대전 공장에서 만드는 가습기는?") == {}


def test_what_a_question_asks_for_is_never_the_reason() -> None:
    made = graph(HOUSE)
    described = asked("방에 두는 가습기의 이름은?", references=["초음파 가습기 W2"])
    assert propose_aliases(made, described) == []
    assert propose_aliases(made, asked("집에서 가장 조용한 것은?", references=["초음파 가습기 W2"])) == []


def test_a_word_that_texts_of_other_entities_use_is_a_common_word() -> None:
    records = {name: {"name": name} for name in HOUSE}
    told = {
        f"x{number}": {"name": f"제품 {number}번", "description": "가습기 옆에 둔다."} for number in range(3)
    }
    assert proposed(graph(records), "가습기의 부품은?") == {"가습기": "초음파 가습기 W2"}
    assert proposed(graph({**records, **told}), "가습기의 부품은?") == {}


def test_an_alias_says_why_and_which_questions_use_it_and_makes_them_link() -> None:
    made = graph(HOUSE)
    (alias,) = propose_aliases(made, asked("A3의 필터는?", "안녕하세요?", "A3를 만든 곳은?"))
    assert alias.questions == ("q0", "q2")
    assert alias.evidence == ("A3 is part of the name, and of no other name",)


@pytest.mark.slow
def test_questions_of_a_folder_that_shorten_names_link_with_the_proposed_aliases() -> None:
    made = read_graph(ROOT / "benchmarks" / "home-appliances")
    questions = read_eval_set(ROOT / "benchmarks" / "home-appliances-eval.jsonl")
    meant = {example.id: example.seed_entities or () for example in questions}
    aliases = propose_aliases(made, questions)
    right = [alias for alias in aliases if all(alias.name in meant[id] for id in alias.questions)]
    assert len(right) >= 0.85 * len(aliases)
    linked = NameLinker(made, NameIndex.of(made)).link(questions.examples)
    before = sum(not question.seeds for question in linked)
    after = before - len({id for alias in aliases for id in alias.questions})
    # Of 43, five name nothing. Six write a name by its sound or its first consonants, one misspells it, one
    # takes syllables from inside a word and one only describes: those are not looked for. 29 are found.
    assert (before, after) == (43, 43 - 29)
