"""One thing asked for in other words, in other languages, by other names of relations: ranked the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.retrieval.test_bfs import graph_of, rows
from tiny_graph_rag import ask
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, make_linker
from tiny_graph_rag.retrieval import make_retriever

RELATIONS = [  # `ở` (in) is in the name of one type and in descriptions of both
    ("Lan", "sinh ra ở", "Vinh", "Lan sinh ra ở Vinh"),
    ("Minh", "sinh ra ở", "Huế", "Minh sinh ra ở Huế"),
    ("Sao Việt", "trụ sở", "Vinh", "Trụ sở nằm ở Vinh"),
    ("An Phát", "trụ sở", "Huế", "Trụ sở nằm ở Huế"),
    ("Rồng Vàng", "trụ sở", "Huế", "Trụ sở nằm ở Huế"),
]


@pytest.mark.parametrize(
    ("question", "claimed"),
    [
        ("Trụ sở của Sao Việt nằm ở đâu?", {"trụ sở": 1000}),
        ("Lan sinh ra tại thành phố nào?", {"sinh ra ở": 1000}),  # its short words are none of content
    ],
)
def test_a_word_of_other_types_descriptions_is_no_mention_and_parts_of_names_weigh_less(
    question: str, claimed: dict[str, int]
) -> None:
    graph = graph_of([(source, kind, target, 1.0, told) for source, kind, target, told in RELATIONS])
    slots = make_retriever(graph, Config()).reader.read(linked_by(graph, question)).slots
    types = graph.relations.types.names
    assert {types[type_]: slot.weight for slot in slots for type_ in slot.types} == claimed


@pytest.mark.parametrize(
    ("own", "other", "question", "wanted"),
    [
        ("official language", "borders", "Which language is the official language of France?", ["L1"]),
        ("official language", "borders", "The official language of France is which language?", ["L1"]),
        ("currency", "borders", "Which currency does France use?", ["L1"]),
        ("currency", "borders", "Which countries share a border with France?", ["Italy", "Spain"]),
        ("monnaie", "frontalier de", "Quelle est la monnaie de France ?", ["L1"]),
        ("통화", "국경을_접함", "France인 나라의 통화는 무엇인가?", ["L1"]),
        ("ภาษาราชการ", "พรมแดน", "ภาษาราชการของ France คือภาษาอะไร", ["L1"]),
        ("لغة رسمية", "حدود", "ما هي اللغة الرسمية في France؟", ["L1"]),
    ],
)
def test_of_two_ways_to_ask_the_one_hop_more_is_not_taken(
    own: str, other: str, question: str, wanted: list[str]
) -> None:
    """Each question asks for one step. A word that is no relation must not ask for another: the preposition
    of a type's name, a verb, a kind that is said twice, a noun with its particle, an article."""
    relations = [("France", own, "L1"), ("Spain", own, "L2"), ("Italy", own, "L3"), ("Peru", own, "L4")]
    relations += [("Spain", own, "L1"), ("France", other, "Spain"), ("France", other, "Italy")]
    names = ["France", "Spain", "Italy", "Peru", "L1", "L2", "L3", "L4"]
    graph = graph_of(relations, names=names)
    for hops in (1, 2, 3):
        first = [name for name, _ in ranked(graph, question, hops=hops)[: len(wanted)]]
        assert sorted(first) == wanted, hops


SYNONYMS = ROOT / "tiny_graph_rag/language/synonyms.txt"

# Descriptions hold words of the requests: list, show, 알려.
BOOKS = {
    "Jane Roe": "",
    "A": "stands on every list",
    "B": "a show was made of it",
    "C": "sold well",
    "김유정": "",
    "동백꽃": "널리 알려진 단편",
    "봄봄": "설명 없는 단편",
}
WROTE = [("Jane Roe", "wrote", text) for text in "ABC"]
WROTE += [("김유정", "집필", text) for text in ("동백꽃", "봄봄")]


@pytest.fixture
def graph() -> KnowledgeGraph:
    return graph_of(WROTE, told=BOOKS, names=list(BOOKS))


def linked_by(graph: KnowledgeGraph, question: str) -> LinkedQuestion:
    (linked,) = make_linker(graph, NameIndex.of(graph), Config()).link([Example("q", question, ())])
    return linked


def ranked(graph: KnowledgeGraph, question: str, **settings: Any) -> list[tuple[str, float]]:
    made = make_retriever(graph, Config().override(**settings))
    return [row[:2] for row in rows(graph, made.retrieve([linked_by(graph, question)]))]


@pytest.mark.parametrize(
    "questions",
    [
        ["What is it that Jane Roe wrote?", "List what Jane Roe wrote", "Show me what Jane Roe wrote.",
         "Please tell me what Jane Roe wrote"],
        ["김유정이 집필한 단편", "김유정이 집필한 단편을 알려줘", "김유정이 집필한 단편을 알려 줘.",
         "김유정이 집필한 단편을 설명해 줘"],
    ],
)  # fmt: skip
def test_requests_change_no_rank_and_no_score(graph: KnowledgeGraph, questions: Sequence[str]) -> None:
    first = ranked(graph, questions[0])
    for question in questions[1:]:
        assert ranked(graph, question) == first, question


def test_books_that_are_told_to_stand_on_lists_tie_with_others(graph: KnowledgeGraph) -> None:
    scores = dict(ranked(graph, "List what Jane Roe wrote"))
    assert scores["A"] == pytest.approx(scores["B"], abs=1e-3)
    assert scores["A"] == pytest.approx(scores["C"], abs=1e-3)


@pytest.mark.parametrize(
    "question", ["Who wrote more, Jane Roe or 김유정?", "Jane Roe 아니면 김유정, 누가 집필했나?"]
)
def test_one_of_two_is_asked_for(graph: KnowledgeGraph, question: str) -> None:
    assert {name for name, _ in ranked(graph, question)[:2]} == {"Jane Roe", "김유정"}


@pytest.mark.parametrize("question", ["What did Zoe find?", "What did Zoë find?", "What did nautilus find?"])
def test_accents_and_articles_may_be_missing(question: str) -> None:
    graph = graph_of([("Zoë", "found", "Lamp"), ("The Nautilus", "found", "Lamp")])
    assert ranked(graph, question)[0][0] == "Lamp"


@pytest.mark.parametrize(
    ("question", "relation"),
    [
        ("Who employs Anna?", "WORKS_FOR"),
        ("Where is Anna employed?", "works at"),
        ("Which college did Anna attend?", "EDUCATED_AT"),
        ("Who supervises Anna?", "MANAGED_BY"),
        ("Anna의 남편은 누구야?", "MARRIED_TO"),
    ],
)
def test_a_word_that_the_graph_lacks_means_the_relation_of_its_group(question: str, relation: str) -> None:
    relations = [("Anna", "MET", "Ben"), ("Anna", relation, "Clara"), ("Anna", "SAW", "Dora")]
    assert ranked(graph_of(relations), question)[0][0] == "Clara"


def test_every_group_of_synonyms_is_in_both_languages() -> None:
    """One that is not was broken over two lines."""
    lines = SYNONYMS.read_text(encoding="utf-8").splitlines()
    for group in (line.split() for line in lines if not line.startswith("#")):
        assert {word.isascii() for word in group} == {True, False}, group
        assert len(set(group)) == len(group), group


TRIPLES = [("Tosk", "spokenIn", "Albania"), ("Albania", "dirigeant", "Rama"), ("Tosk", "famille", "Indo")]
TRIPLES += [
    ("Albania", "capital", "Tirana"),
    ("Tirana", "maire", "Veliaj"),
    ("Rama", "lieuDeNaissance", "Vlora"),
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where is Tosk spoken?", "Albania"),
        ("Who is the leader of the country where Tosk is spoken?", "Rama"),
        ("Who is the mayor of the capital of Albania?", "Veliaj"),
        ("Where was the leader of Albania born?", "Vlora"),
        ("Wer ist das Staatsoberhaupt des Landes, in dem Tosk gesprochen wird?", "Rama"),
        ("Welche Stadt ist die Hauptstadt von Albania?", "Tirana"),
        ("¿Quién es el líder del país donde se habla Tosk?", "Rama"),
        ("¿Dónde nació el presidente de Albania?", "Vlora"),
        ("Qui est le maire de la capitale de Albania ?", "Veliaj"),
        ("Albania首都的市长是谁？", "Veliaj"),
        ("Albania की राजधानी का महापौर कौन है?", "Veliaj"),
        ("Кто мэр столицы Albania?", "Veliaj"),
        ("Which clever country is Tosk spoken in?", "Albania"),  # an unknown word that nothing has
    ],
)
def test_the_far_end_stands_before_the_bridge(question: str, answer: str) -> None:
    assert ranked(graph_of(TRIPLES), question, hops=3)[0][0] == answer


ABROAD = [("Lewis crater", "eponym", "Gilbert Lewis"), ("Gilbert Lewis", "field", "Chemistry")]
ABROAD += [("Osuna", "departamento", "Sevilla"), ("Osuna", "antípoda", "Apia")]
ABROAD += [("Apia", "department", "Tuamasaga"), ("Lima", "department", "Callao")]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Lewis crater的命名者属于哪个领域", "Chemistry"),  # long as two steps, no word known
        ("Which is the department of Osuna?", "Sevilla"),  # departamento is like it, antípoda may mean it
    ],
)
def test_types_of_other_languages_are_read_by_likeness_and_length(question: str, answer: str) -> None:
    graph = graph_of(ABROAD)
    assert ranked(graph, question, hops=3)[0][0] == answer


def test_where_types_are_in_several_languages_a_named_entity_is_hardly_the_answer() -> None:
    found = ranked(graph_of(ABROAD), "Who gave the field its moniker, Lewis crater?", hops=3)
    assert [name for name, _ in found] == ["Chemistry", "Gilbert Lewis", "Lewis crater"]


def test_in_a_language_without_a_list_a_named_entity_is_hardly_the_answer() -> None:
    """No hop leads to a hostess; to stay with the named entity explains no more, and costs more."""
    graph = graph_of([("Aino", "koti", "Pohja"), ("Aino", "veli", "Jouko"), ("Pohja", "emäntä", "Louhi")])
    assert ranked(graph, "Missä emännän luona Aino käy?", hops=1)[-1][0] == "Aino"


CLUBS = [
    ("Ada Lind", "plays_in_club", "FC Norden"),
    ("Ada Lind", "plays_for_country", "Arland"),
    ("Bo Kern", "plays_in_club", "FC Norden"),
    ("Bo Kern", "plays_for_country", "Cadia"),
    ("FC Norden", "is_in_country", "Belmar"),
    *((f"Player {number}", "plays_in_club", f"FC {number}") for number in range(20, 40)),
    *((f"FC {number}", "is_in_country", "Cadia") for number in range(20, 40)),
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where is the club that Ada Lind plays for?", "Belmar"),  # *plays* is that club's verb
        ("Which team has a player from Arland?", "FC Norden"),  # a team is a club
    ],
)
def test_types_say_what_stands_at_their_end(question: str, answer: str) -> None:
    assert ranked(graph_of(CLUBS), question)[0][0] == answer


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


DEEDS = KnowledgeGraph.from_triples(
    [
        *(("Ada", "FOUNDED", "Lumen"), ("Tarn", "ACQUIRED", "Lumen"), ("Lumen", "PRODUCES", "Lamp")),
        *(("Ada", "OWNS", "Fair Lane"), ("Ada", "BORN_IN", "Galba"), ("Ivo", "PAINTED", "Dusk")),
        *(("Seva", "FLOWS_THROUGH", "Galba"), ("Galba", "LOCATED_IN", "Norland"), ("Ivo", "MARRIED", "Ada")),
    ]
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which company acquired Lumen?", "Tarn"),
        ("Which woman founded Lumen?", "Ada"),
        ("What company did Ada found?", "Lumen"),
        ("What does Ada own?", "Fair Lane"),
        ("Which painter painted Dusk?", "Ivo"),
        ("What river flows through Galba?", "Seva"),
        ("What does Lumen produce?", "Lamp"),
        ("Which country is Galba located in?", "Norland"),
    ],
)
def test_the_verb_of_a_question_is_no_kind_of_answer(question: str, answer: str) -> None:
    assert ask(DEEDS, question, hops=2).names[0] == answer


SAGA = KnowledgeGraph.from_triples(
    [
        *(("Kullervo", "isä", "Kalervo"), ("Kalervo", "veli", "Untamo"), ("Ilmarinen", "puoliso", "Neito")),
        *(("Neito", "äiti", "Louhi"), ("Louhi", "asuinpaikka", "Pohjola"), ("Ilmarinen", "takonut", "Sampo")),
        *(("Kyllikki", "asuinpaikka", "Saari"), ("Lemminkäinen", "puoliso", "Kyllikki")),
    ]
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Missä Louhi asuu?", "Pohjola"),  # no word is like the relation's
        ("Kenen vaimo on Kyllikki?", "Lemminkäinen"),
        (
            "Missä Lemminkäisen ihana nuori puoliso asui vanhempiensa luona?",
            "Saari",
        ),  # the second step is unread
    ],
)
def test_words_that_no_relation_is_like_ask_for_one_all_the_same(question: str, answer: str) -> None:
    names = ask(SAGA, question, hops=3).names
    assert answer in names[:2]
    assert names[0] not in question


def test_who_is_it_asks_for_no_relation() -> None:
    assert ask(SAGA, "Chi è Louhi?", hops=2).names[0] == "Louhi"
