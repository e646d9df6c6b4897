"""Words for relations: English forms, Korean particles after whatever stands before them."""

from __future__ import annotations

import random
import re

import pytest

from tests.retrieval.test_bfs import graph_of
from tiny_graph_rag.gold.english import Clause, English, read_clause
from tiny_graph_rag.gold.korean import Korean, phrases_of
from tiny_graph_rag.gold.patterns import StepIndex, formula_of
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.gold.variants import variant
from tiny_graph_rag.gold.wording import Wording
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.function_words import with_particle
from tiny_graph_rag.language.kinds import is_date


@pytest.mark.parametrize(
    ("text", "particle", "read"),
    [
        ("점순", "이", "점순이"),
        ("나무", "이", "나무가"),
        ("동백꽃", "은", "동백꽃은"),
        ("감자", "을", "감자를"),
        ("수탉", "과", "수탉과"),
        ("홍길동(洪吉童)", "은", "홍길동(洪吉童)은"),
        ("「봄봄」", "을", "「봄봄」을"),
        ("서울", "으로", "서울로"),  # ㄹ takes 로
        ("집", "으로", "집으로"),
        ("3", "이", "3이"),  # 삼이
        ("2", "이", "2가"),  # 이가
        ("1936", "은", "1936은"),  # 육은
        ("10", "을", "10을"),  # 십을
        ("1000000", "이", "1000000이"),  # 백만이
        ("1", "으로", "1로"),  # 일로
        ("Bob", "과", "Bob과"),
        ("Anna", "과", "Anna와"),
        ("KBS", "이", "KBS가"),  # 에스가
        ("IBM", "이", "IBM이"),  # 엠이
        ("Apple", "은", "Apple은"),  # 애플은
        ("James", "은", "James는"),
        ("魯迅", "은", "魯迅은(는)"),
        ("점순", "에게", "점순에게"),
    ],
)
def test_particles_fit_the_last_sound(text: str, particle: str, read: str) -> None:
    assert with_particle(text, particle) == read


@pytest.mark.parametrize(
    ("name", "words", "swapped"),
    [
        ("located in", "is in", False),
        ("written by", "wrote", True),
        ("author of", "wrote", False),
        ("release year", "was released in", False),
        ("has genre", "is the genre of", True),
        ("lives in", "lives in", False),
        # Verbs by their infinitives, in whatever form; nouns of relation, and what holds both ways.
        ("tames", "tames", False),
        ("murdered", "murdered", False),
        ("was murdered by", "murdered", True),
        ("inhibit", "inhibits", False),
        ("lived with", "lived with", False),
        ("acquaintances", "is an acquaintance of", False),
        ("lover", "is a lover of", False),
        ("alliances", None, False),
        ("inspected", "inspected", False),
        ("nephew of", "is a nephew of", False),
        ("has capital", "is the capital of", True),
        ("has symptom", "is a symptom of", True),
        ("uncle-in-law of", None, False),
        ("freed by", "freed", True),
        ("surrounded by", "surrounded", True),
        ("is loyal to", "is loyal to", False),
        # What can't be said is not asked, nor what may want more than one object, or be a noun.
        ("gave", None, False),
        ("announced by", None, False),
        ("developing", None, False),
        ("awarded", None, False),
        ("was built in", None, False),
        ("co wrote with", None, False),
        ("starring at the", None, False),
        ("members", None, False),
        ("built in", None, False),
        ("appointed in", None, False),  # was appointed in, or appointed somebody there
        ("a", None, False),
        ("won the", None, False),
        ("administrative center is", None, False),
        ("4th freest economy in", None, False),
        ("가족이다", None, False),
    ],
)
def test_a_type_is_read_as_a_clause_or_not_at_all(name: str, words: str | None, swapped: bool) -> None:
    clause = read_clause(name)
    assert (clause and (clause.words, clause.swapped)) == (words and (words, swapped))


@pytest.mark.parametrize(
    ("words", "subject", "many", "asked"),
    [
        ("wrote", "Bea", False, "did Bea write"),
        ("lives in", "Bea", False, "does Bea live in"),
        ("lives in", "they", True, "do they live in"),
        ("was born in", "Bea", False, "was Bea born in"),
        ("is located in", "both A and B", True, "are both A and B located in"),
    ],
)
def test_a_clause_is_asked_in_its_tense_and_number(words: str, subject: str, many: bool, asked: str) -> None:
    assert Clause(words).asked(subject, many=many) == asked


@pytest.mark.parametrize(
    ("name", "phrases"),
    [
        ("LOCATED_IN", ("~이 있는 {곳}", "~에 있는 {사물}")),
        ("participated_in", ("~이 참여한 {행사}", "~에 참여한 {것}")),
        ("친구 관계", ("~의 {사람=친구}", "~의 {사람=친구}")),
        ("동창", ("~의 {사람=동창}", "~의 {사람=동창}")),
        ("주제", ("~의 주제", "")),
        ("스승", None),  # nobody knows whose
        ("설치", None),  # X의 설치
        ("소유하다", ("~이 소유한 {사물}", "~을 소유한 {것}")),
        ("소개하다", ("~이 소개하는 {것}", "~을 소개하는 {것}")),
        ("다스림", ("~이 다스리는 {것}", "~을 다스리는 {것}")),
        ("흐느낌", None),  # a verb as a noun
        ("영향받은", None),  # a verb: nobody knows with which particle
        ("이름", ("~의 이름", "이름이 ~인 {것}")),
        ("거주", ("~이 사는 {곳}", "~에 사는 {것}")),
        ("살해", ("~이 살해한 {것}", "~을 살해한 {것}")),
        ("FROBNICATES", None),
    ],
)
def test_korean_knows_common_types_and_reads_korean_ones(name: str, phrases: tuple[str, str] | None) -> None:
    assert phrases_of(name) == phrases


TYPES = dict.fromkeys(("Ann", "Bea", "Cy", "Eve", "Dr. Roy", "나의 딸"), "PERSON")
TYPES |= {
    "나의 딸": "PERSON",
    "Baboon": "ANIMAL",
    "Cheetah": "ANIMAL",
    "Rope": "THING",
    "Old rope": "THING",
    "Cigars": "THING",
}
TYPES |= {
    "Dover": "CITY",
    "Calais": "CITY",
    "Kent": "PLACE",
    "1868": "OTHER",
    "1922": "OTHER",
    "Tours": "OTHER",
}
TYPES |= {"Tide": "BOOK", "Ebb": "BOOK", "Paper": "WORK", "Coast": "MAGAZINE", "Novel": "GENRE"}
TYPES |= {"Union": "GROUP", "Fire": "EVENT", "Third Feast": "EVENT", "Ross and Hill": "GROUP"}
TALE = """
    Ann SISTER_OF Bea; Ann SISTER_OF Cy; Bea LIVES_IN Dover; Cy LIVES_IN Calais; Bea WROTE Tide; Cy WROTE Ebb;
    Cy WROTE Tide; Tide PUBLISHED_IN Coast; Coast FOUNDED_BY Eve; Tide has_genre Novel; Ebb has_genre Novel
    """


def worded(triples: str, types: dict[str, str]) -> tuple[English, Korean]:
    """The wordings of a graph. triples: `Ann OWNS Rope; …`. types: of the entities, {} for none."""
    found = re.findall(r"\s*([^;]+?) ([a-zA-Z]+_[a-zA-Z_]+|[A-Z]{4,}) ([^;]+?)\s*(?:;|$)", triples)
    graph = graph_of(found, kinds=types)
    index = StepIndex.of(graph)
    return English(index, {}), Korean(index, {})


def asked(wording: Wording, asks: str) -> str | None:
    formula = formula_of(asks, wording.index, NameIndex.of(wording.index.graph))
    answers, _ = wording.index.find(formula)
    assert answers
    return wording.question(formula, answers, {})


@pytest.mark.parametrize(
    ("triples", "asks", "english", "korean"),
    [
        (TALE, "(Bea)-[:LIVES_IN]->(?)", "Where does Bea live?", "Bea가 사는 도시는 어디인가?"),
        (
            TALE,
            "(Tide)-[:PUBLISHED_IN]->()-[:FOUNDED_BY]->(?)",
            "Who founded the magazine that Tide was published in?",
            "‘Tide’가 실린 잡지를 설립한 사람은 누구인가?",
        ),
        (
            TALE,
            "(Coast)<-[:PUBLISHED_IN]-()<-[:WROTE]-(?)",
            None,  # as if one book were published there
            "‘Coast’에 실린 책을 쓴 사람은 누구인가?",
        ),
        (TALE, "(Dover)<-[:LIVES_IN]-()-[:WROTE]->(?)", None, None),  # as if one person lived there
        (  # in English no clause stands inside another: the book that was published in the magazine that …
            TALE,
            "(Eve)<-[:FOUNDED_BY]-()<-[:PUBLISHED_IN]-()-[:has_genre]->(?)",
            None,
            "Eve가 설립한 잡지에 실린 책의 장르는 무엇인가?",
        ),
        (
            TALE,
            "(Bea)-[:WROTE]->(?) AND (Cy)-[:WROTE]->(?)",
            "Which book did both Bea and Cy write?",
            "Bea와 Cy가 모두 쓴 책은 무엇인가?",
        ),
        (TALE, "(Ann)-[:SISTER_OF]->(?)", "Who are the siblings of Ann?", "Ann의 형제자매는 누구인가?"),
        (TALE, "(Ann)-[:SISTER_OF]->()-[:LIVES_IN]->(?)", "Where do the siblings of Ann live?", ""),
        # Neither the same relation twice nor a chain through a value is asked.
        (TALE, "(Tide)<-[:WROTE]-()-[:WROTE]->(?)", None, None),
        (TALE, "(Bea)-[:WROTE]->()-[:has_genre]->()<-[:has_genre]-(?)", None, None),
        (  # what is asked for is called by its type, or by what it is here
            "Dr. Roy OWNS Baboon; Dr. Roy OWNS Cheetah",
            "(Dr. Roy)-[:OWNS]->(?)",
            "Which animals does Dr. Roy own?",
            "Dr. Roy가 소유한 동물은 무엇인가?",
        ),
        ("Ann OWNS Rope", "(Ann)-[:OWNS]->(?)", "What does Ann own?", "Ann이 소유한 것은 무엇인가?"),
        ("Ann OWNS Rope; Ann OWNS Cy", "(Ann)-[:OWNS]->(?)", None, ""),
        ("Ann HEARD_ON Fire; Ann HEARD Fire", "(Ann)-[:HEARD]->(?)", "What did Ann hear?", ""),
        # Only a name can be asked about, not a common noun.
        ("Ann OWNS Baboon", "(Baboon)<-[:OWNS]-(?)", None, "Baboon을 소유한 사람은 누구인가?"),
        ("Ann OWNS Old rope", "(Old rope)<-[:OWNS]-(?)", None, ""),
        ("Union LOCATED_IN Kent", "(Union)-[:LOCATED_IN]->(?)", "Where is the Union?", ""),
        ("Ann VISITED Dover", "(Dover)<-[:VISITED]-(?)", "Who visited Dover?", ""),
        (
            "Ann TOOK_PART_IN Third Feast",
            "(Third Feast)<-[:TOOK_PART_IN]-(?)",
            "Who took part in the Third Feast?",
            "",
        ),
        ("Ross and Hill OWNS Rope", "(Ross and Hill)-[:OWNS]->(?)", "What does Ross and Hill own?", ""),
        # Dates are asked for by `when`, and not mixed with anything else; what is of a year is many.
        ("Paper FOUNDED_IN 1868", "(Paper)-[:FOUNDED_IN]->(?)", "When was Paper founded?", ""),
        ("Union FOUNDED_IN Tours; Union FOUNDED_IN 1922", "(Union)-[:FOUNDED_IN]->(?)", None, ""),
        (
            "Paper release_year 1922",
            "(Paper)-[:release_year]->(?)",
            "When was Paper released?",
            "‘Paper’가 나온 해는 언제인가?",
        ),
        ("Tide release_year 1922; Ann WROTE Tide", "(1922)<-[:release_year]-()<-[:WROTE]-(?)", None, None),
        # One of several is asked for in the plural, in the question and within it.
        ("Ann PARENT_OF Bea", "(Bea)<-[:PARENT_OF]-(?)", "Who are the parents of Bea?", ""),
        (
            "Bea FATHER_OF Ann; Ann WROTE Tide",
            "(Bea)-[:FATHER_OF]->()-[:WROTE]->(?)",
            "Which book did the children of Bea write?",
            "",
        ),
        # Kin of kin lead back by meaning; a noun of relation stands before no other, and no noun comes twice.
        ("Ann PARENT_OF Bea; Bea SPOUSE Cy", "(Ann)-[:PARENT_OF]->()-[:SPOUSE]->(?)", None, ""),
        (
            "Ann FRIEND_OF Bea; Cy PRESIDENT_OF Union; Cy FRIEND_OF Eve",
            "(Union)<-[:PRESIDENT_OF]-()-[:FRIEND_OF]->(?)",
            None,
            "",
        ),
        (
            "Fire PART_OF Paper; Fire OWNED_BY Ann; Ann INCLUDES Bea",
            "(Fire)-[:OWNED_BY]->()-[:INCLUDES]->(?)",
            None,
            "",
        ),
        ("Ann RECEIVED Tours", "(Ann)-[:RECEIVED]->(?)", None, ""),
        # A thing without a noun does not stand in the middle.
        ("Ann OWNS Rope; Rope LOCATED_IN Dover", "(Ann)-[:OWNS]->()-[:LOCATED_IN]->(?)", None, ""),
        # 나의 어머니 is hers who asks, unless it is a name.
        (
            "나의 딸 LIVES_IN Dover",
            "(나의 딸)-[:LIVES_IN]->(?)",
            "Where does 나의 딸 live?",
            "‘나의 딸’이 사는 도시는 어디인가?",
        ),
        # A medium is no group; what happens is no place.
        (
            "Tide PUBLISHED_IN Union",
            "(Tide)-[:PUBLISHED_IN]->(?)",
            "Which group was Tide published in?",
            "‘Tide’가 실린 매체는 어디인가?",
        ),
    ],
)
def test_every_question_is_asked_as_a_person_would(
    triples: str, asks: str, english: str | None, korean: str | None
) -> None:
    """korean: "" where English alone is of interest. Latin names take the particles of their sounds."""
    in_english, in_korean = worded(triples, TYPES)
    assert asked(in_english, asks) == english
    assert korean == "" or asked(in_korean, asks) == korean


FACTS = """
    Mia Orr born_in Rome; Leo Fox born_in Rome; Leo Fox works_for Bank of Rome; Pearl Jam won_prize Grammy;
    red Apple made_by Leo Fox; Bo Kay WROTE Tide; Rome directed_by Bo Kay; Love, Honor? has_genre War;
    War directed_by Ann Lee
    """


@pytest.mark.parametrize(
    ("asks", "english"),
    [
        ("(Rome)<-[:born_in]-(?)", None),  # a place, and a film too
        ("(Leo Fox)-[:works_for]->(?)", "Which organization does Leo Fox work for?"),
        ("(Bank of Rome)<-[:works_for]-(?)", "Who works for the Bank of Rome?"),
        ("(Grammy)<-[:won_prize]-(?)", None),  # a person, or a film?
        ("(Rome)<-[:born_in]-()-[:works_for]->(?)", None),  # as if Rome had one native
        ("(red Apple)-[:made_by]->(?)", None),  # no name
        ("(Love, Honor?)-[:has_genre]->()-[:directed_by]->(?)", None),  # War is a genre, and a film too
        ("(Bo Kay)-[:WROTE]->(?)", "What did Bo Kay write?"),
    ],
)
def test_without_entity_types_relations_say_what_an_entity_is(asks: str, english: str | None) -> None:
    assert asked(worded(FACTS, {})[0], asks) == english


def test_a_pronoun_takes_its_form() -> None:
    english, korean = worded("Ann SISTER_OF Bea; Bea WROTE Tide; Third Feast TOOK_PLACE_IN Dover", TYPES)
    names = NameIndex.of(english.index.graph)

    def after_a_turn(wording: Wording, asks: str) -> tuple[object, ...]:
        formula = formula_of(asks, wording.index, names)
        drawn = DrawnQuestion("single", formula, wording.index.find(formula)[0])
        found = variant("coreference", drawn, wording, names, random.Random(0))
        return found and (*found.context, found.query)

    assert [
        after_a_turn(english, "(Ann)-[:SISTER_OF]->(?)"),
        after_a_turn(english, "(Tide)<-[:WROTE]-(?)"),
    ] == [
        ("Tell me about Ann.", "Who are their siblings?"),
        ("Tell me about Tide.", "Who wrote it?"),
    ]
    assert after_a_turn(korean, "(Third Feast)-[:TOOK_PLACE_IN]->(?)") is None


def test_dates_are_recognised() -> None:
    assert all(map(is_date, ("May 13, 2001", "May 13–15, 2001", "1936년 5월", "1990s", "2001-05-13", "1868")))
    assert not any(map(is_date, ("221B Baker Street", "7", "Apollo 13")))


def test_korean_puts_nothing_but_a_name_before_a_noun_of_relation() -> None:
    """Nobody follows 배우자가 유월당에 속한 사람인 사람."""
    types = {"사월": "인물", "오월": "인물", "칠월": "인물", "유월당": "집단"}
    triples = [("사월", "제자", "오월"), ("오월", "소속", "유월당"), ("칠월", "제자", "오월")]
    graph = graph_of(triples, kinds=types)
    korean = Korean(StepIndex.of(graph), {})
    assert asked(korean, "(유월당)<-[:소속]-()<-[:제자]-(?)") is None
    assert asked(korean, "(오월)<-[:제자]-(?)") is None
