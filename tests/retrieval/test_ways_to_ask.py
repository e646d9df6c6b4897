"""One fact asked for in many ways, on graphs that name their relations as DBpedia, Wikidata and LLMs do."""

from __future__ import annotations

from typing import Any

import pytest

from tiny_graph_rag import KnowledgeGraph, ask

LIVES = [
    *(("Olga Brandt", "birthplace", "Arvika"), ("Rufus Zoric", "birthplace", "Galba")),
    *(("Lev Jansen", "birthplace", "Ilmen"), ("Mira Sato", "birthplace", "Arvika")),
    *(("Olga Brandt", "spouse", "Rufus Zoric"), ("Lev Jansen", "spouse", "Mira Sato")),
    *(("Olga Brandt", "employer", "Helix Labs"), ("Rufus Zoric", "employer", "Tarn & Sons")),
    *(("Lev Jansen", "employer", "Tarn & Sons"), ("Mira Sato", "employer", "Helix Labs")),
    *(("Olga Brandt", "education", "Corvo Institute"), ("Rufus Zoric", "education", "Estrel College")),
    *(("Lev Jansen", "education", "Corvo Institute"), ("Helix Labs", "founder", "Lev Jansen")),
    *(("Tarn & Sons", "founder", "Olga Brandt"), ("Helix Labs", "seat", "Corvo")),
    ("Tarn & Sons", "seat", "Lunden"),
    *(("Arvika", "country", "Norland"), ("Galba", "country", "Vestria"), ("Ilmen", "country", "Sudmark")),
    *(("Corvo", "country", "Norland"), ("Lunden", "country", "Vestria")),
]
NAMES = {
    "DBpedia": ("birthPlace", "spouse", "employer", "almaMater", "founder", "headquarter", "country"),
    "Wikidata": (
        "place of birth",
        "spouse",
        "employer",
        "educated at",
        "founded by",
        "headquarters location",
        "country",
    ),
    "LLM": (
        "BORN_IN",
        "MARRIED_TO",
        "WORKS_FOR",
        "STUDIED_AT",
        "FOUNDED_BY",
        "HEADQUARTERED_IN",
        "LOCATED_IN",
    ),
}
KINDS = ("birthplace", "spouse", "employer", "education", "founder", "seat", "country")
ASKED = [
    ("Where was Olga Brandt born?", "Arvika"),
    ("What is the birthplace of Olga Brandt?", "Arvika"),
    ("Who is Olga Brandt married to?", "Rufus Zoric"),
    ("Who is Olga Brandt's husband?", "Rufus Zoric"),
    ("Who does Olga Brandt work for?", "Helix Labs"),
    ("Where does Olga Brandt work?", "Helix Labs"),
    ("Which company employs Olga Brandt?", "Helix Labs"),
    ("Where did Olga Brandt study?", "Corvo Institute"),
    ("Which university did Olga Brandt attend?", "Corvo Institute"),
    ("Who founded Helix Labs?", "Lev Jansen"),
    ("Where is Helix Labs based?", "Corvo"),
    ("Where was the husband of Olga Brandt born?", "Galba"),
    ("Where does Olga Brandt's husband work?", "Tarn & Sons"),
    ("Who founded the company that employs Olga Brandt?", "Lev Jansen"),
    ("Where was the founder of Helix Labs born?", "Ilmen"),
]


def wrong(asked: list[tuple[str, str]], types: tuple[str, ...], names: dict[str, str]) -> dict[Any, Any]:
    """(question, hops) → the first three names, where the answer is not the first."""
    spelled = dict(zip(KINDS, types, strict=True))
    graph = KnowledgeGraph.from_triples(
        (names.get(source, source), spelled[kind], names.get(target, target))
        for source, kind, target in LIVES
    )
    found = {
        (question, hops): ask(graph, question, hops=hops).names[:3]
        for question, _ in asked
        for hops in (2, 3)
    }
    answers = dict(asked)
    return {key: names for key, names in found.items() if names[0] != answers[key[0]]}


@pytest.mark.parametrize("names", NAMES)
def test_the_answer_stands_first_at_two_and_at_three_hops(names: str) -> None:
    assert wrong(ASKED, NAMES[names], {}) == {}


KOREAN_NAMES = {**NAMES, "Korean": ("출생지", "배우자", "소속", "졸업_학교", "창립자", "본사", "국가")}
ASKED_IN_KOREAN = [
    ("김하늘은 어디에서 태어났나요?", "흐비트"),
    ("김하늘의 고향은 어디야?", "흐비트"),
    ("김하늘은 누구와 결혼했나요?", "이도윤"),
    ("김하늘은 어디에서 일하나요?", "루멘 출판"),
    ("김하늘이 다니는 회사는?", "루멘 출판"),
    ("김하늘의 직장은 어디인가요?", "루멘 출판"),
    ("김하늘은 어디서 공부했어?", "일멘 학원"),
    ("김하늘이 졸업한 학교는 어디인가요?", "일멘 학원"),
    ("루멘 출판의 본사는 어디에 있나요?", "코르보"),
    ("루멘 출판을 설립한 사람은?", "서유진"),
    ("김하늘의 배우자가 태어난 곳은 어디인가요?", "갈바"),
    ("김하늘의 남편은 어디에서 일하나요?", "타른상사"),
    ("김하늘이 일하는 회사의 창립자는 누구인가요?", "서유진"),
    ("루멘 출판의 창립자는 어디에서 태어났나요?", "달마르"),
    ("김하늘은 어디서 일했나?", "루멘 출판"),
    ("김하늘이 일하는 곳은?", "루멘 출판"),
    ("김하늘과 결혼한 사람은?", "이도윤"),
    ("루멘 출판은 누가 세웠나?", "서유진"),
    ("루멘 출판은 누가 창립했지?", "서유진"),
    ("루멘 출판을 만든 사람은 누구야?", "서유진"),
    ("루멘 출판을 세운 사람의 아내는?", "한지민"),
    ("김하늘이 다니는 회사는 누가 세웠나?", "서유진"),
]
IN_KOREAN = {"Olga Brandt": "김하늘", "Rufus Zoric": "이도윤", "Lev Jansen": "서유진", "Mira Sato": "한지민"}
IN_KOREAN |= {"Helix Labs": "루멘 출판", "Tarn & Sons": "타른상사"}
IN_KOREAN |= {"Arvika": "흐비트", "Galba": "갈바", "Ilmen": "달마르", "Corvo": "코르보", "Lunden": "룬덴"}
IN_KOREAN |= {"Corvo Institute": "일멘 학원", "Estrel College": "에스트렐 대학"}
IN_KOREAN |= {"Norland": "노를란드", "Vestria": "베스트리아", "Sudmark": "수드마르크"}


@pytest.mark.parametrize("names", KOREAN_NAMES)
def test_it_does_in_korean_too_whatever_language_the_types_are_in(names: str) -> None:
    assert wrong(ASKED_IN_KOREAN, KOREAN_NAMES[names], IN_KOREAN) == {}
