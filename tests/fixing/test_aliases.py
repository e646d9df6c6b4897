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
# Type → names.
PEOPLE = {
    "PERSON": ["Sherlock Holmes", "Helen Stoner", "Julia Stoner", "Jean Passepartout", "Arthur Conan Doyle"],
    "ORGANIZATION": ["World Health Organization"],
    "WORK": ["Castle of the Carpathians"],
    "PLACE": ["South Pole"],
}
HOSPITAL = {
    "organization": ["서울대학교병원", "국민건강보험공단", "세브란스 병원", "환자 안전 위원회"],
    "person": ["김철수 교수", "박지훈 과장"],
    "event": ["제2차 세계 대전"],
    "equipment": ["자기공명영상 장비 X-7"],
    "drug": ["아스피린"],
}


def graph(names: Sequence[str] | Mapping[str, Sequence[str]], told: Sequence[str] = ()) -> KnowledgeGraph:
    """names: or those of a type. told: the descriptions of further entities."""
    typed = names if isinstance(names, Mapping) else {"": names}
    records = {name: {"name": name, "entity_type": type} for type, some in typed.items() for name in some}
    more = {f"x{n}": {"name": f"제품 {n}번", "description": text} for n, text in enumerate(told)}
    return KnowledgeGraph.from_records(records | more, [])


def asked(*queries: str, references: Sequence[str] = ()) -> EvalSet:
    return EvalSet(
        tuple(Example(f"q{number}", query, tuple(references)) for number, query in enumerate(queries))
    )


def proposed(made: KnowledgeGraph, *queries: str) -> dict[str, str]:
    return {alias.alias: alias.name for alias in propose_aliases(made, asked(*queries))}


@pytest.mark.parametrize(
    ("names", "query", "alias", "name"),
    [
        # codes, parts and syllables
        (HOUSE, "A3는 어떤 필터를 쓰나요?", "A3", "공기청정기 A3"),
        (HOUSE, "가습기의 부품은?", "가습기", "초음파 가습기 W2"),
        (HOUSE, "한은의 일은?", "한은", "한국 은행"),
        (HOUSE, "전경련은 무엇을 발표했나?", "전경련", "전국경제인연합회"),
        (HOUSE, "몽룡은 왜 내려왔지?", "몽룡", "이몽룡"),
        # organisations, people and wars
        (HOSPITAL, "안전위원회는 무엇을 살피나?", "안전위원회", "환자 안전 위원회"),
        (HOSPITAL, "철수가 맡은 과는?", "철수", "김철수 교수"),
        (HOSPITAL, "2차 대전은 언제야?", "2차 대전", "제2차 세계 대전"),
        # parts and initials
        (PEOPLE, "What did Holmes find?", "Holmes", "Sherlock Holmes"),
        (PEOPLE, "Where is the WHO based?", "WHO", "World Health Organization"),
    ],
)
def test_questions_shorten_names_as_people_do(names: Any, query: str, alias: str, name: str) -> None:
    assert proposed(graph(names), query) == {alias: name}


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
        "병원에서 가장 바쁜 곳은?",  # from here on nouns that one name happens to have
        "과장은 누구입니까?",
        "교수가 쓰는 장비는?",
        "서울에 있는 대학은?",
        "환자는 몇 명인가요?",
    ],
)
@pytest.mark.parametrize("names", [HOUSE, PEOPLE, HOSPITAL], ids=["house", "people", "hospital"])
def test_words_that_several_names_have_or_that_only_describe_are_no_alias(names: Any, query: str) -> None:
    assert proposed(graph(names), query) == {}


def test_a_question_that_names_something_is_asked_only_for_what_is_written_as_a_name() -> None:
    made = graph({**PEOPLE, "SERVANT": ["Soun"]})
    found = proposed(made, "Which servant is lazier, Soun or Passepartout?")
    assert found == {"Passepartout": "Jean Passepartout"}
    assert proposed(graph([*HOUSE, "대전 공장"]), "대전 공장에서 만드는 가습기는?") == {}


@pytest.mark.parametrize("query", ["방에 두는 가습기의 이름은?", "집에서 가장 조용한 것은?"])
def test_what_a_question_asks_for_is_never_the_reason(query: str) -> None:
    assert propose_aliases(graph(HOUSE), asked(query, references=["초음파 가습기 W2"])) == []


def test_a_word_that_texts_of_other_entities_use_is_a_common_word() -> None:
    assert proposed(graph(HOUSE, ["가습기 옆에 둔다."] * 3), "가습기의 부품은?") == {}


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
