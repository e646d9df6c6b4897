"""Words for relations: English forms, Korean particles after whatever stands before them."""

from __future__ import annotations

import pytest

from tiny_graph_rag.gold.english import English
from tiny_graph_rag.gold.english_phrases import Phrase, is_plain, read_type
from tiny_graph_rag.gold.formulas import StepIndex
from tiny_graph_rag.gold.korean import Korean, phrases_of, with_particle
from tiny_graph_rag.gold.patterns import formula_of
from tiny_graph_rag.gold.shapes import DrawnQuestion
from tiny_graph_rag.gold.wording import is_date
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex


def path(seed: str, type: str, direction: str) -> dict[str, object]:
    return {"seed": seed, "steps": [{"type": type, "direction": direction}]}


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
    ("name", "form", "words"),
    [
        ("LOCATED_IN", "be", "located in"),
        ("written_by", "be", "written by"),
        ("PARENT_OF", "be", "a parent of"),
        ("PART_OF", "be", "part of"),
        ("is located in", "be", "located in"),
        ("LIVES_AT", "verb", "lives at"),
        ("WORKED_IN", "verb", "worked in"),
        ("HELD_LAND_IN", "verb", "held land in"),
        ("OWNS", "verb", "owns"),
        ("VISITED", "verb", "visited"),
        ("WROTE", "verb", "wrote"),
        ("went to", "verb", "went to"),
        ("born on", "be", "born on"),
        ("release_year", "noun", "release year"),
        ("has_genre", "noun", "genre"),
        ("in_language", "noun", "language"),
        ("starredActors", "noun", "starred actors"),
        ("father was", "noun", "father"),
    ],
)
def test_types_are_read_as_the_form_that_fits_a_sentence(name: str, form: str, words: str) -> None:
    assert read_type(name) == Phrase(form, words)  # type: ignore[arg-type]


def test_korean_knows_common_types_reads_korean_ones_and_quotes_none() -> None:
    assert phrases_of("LOCATED_IN") == ("~이 있는 {곳}", "~에 있는 {것}")
    assert phrases_of("스승") == ("~의 스승", "스승이 ~인 {것}")
    assert phrases_of("소유하다") == ("~이 소유하는 {것}", "~을 소유하는 {것}")
    assert phrases_of("다스림") == ("~이 다스리는 {것}", "~을 다스리는 {것}")
    assert phrases_of("만듦") == ("~이 만드는 {것}", "~을 만드는 {것}")
    assert phrases_of("이름") == ("~의 이름", "이름이 ~인 {것}")
    assert phrases_of("거주") == ("~이 사는 {곳}", "~에 사는 {것}")
    assert phrases_of("살해") == ("~이 살해한 {것}", "~을 살해한 {것}")
    assert phrases_of("FROBNICATES") is None


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("located in", True),
        ("was appointed by", True),
        ("plays for", True),
        ("will be held in", True),
        ("is a member of", True),
        ("co wrote with", False),  # no verb that is known
        ("starring", False),
        ("a", False),
        ("won the", False),
        ("administrative center is", False),
        ("4th freest economy in", False),
        ("가족이다", False),
    ],
)
def test_of_the_types_that_a_model_wrote_those_that_read_as_a_phrase_are_asked_about(
    name: str, plain: bool
) -> None:
    assert is_plain(name, schema=False) == plain


# A graph in which every shape has one question, and that question as a person would ask it.
TALE = [
    ("Ann", "SISTER_OF", "Bea"),
    ("Ann", "SISTER_OF", "Cy"),
    ("Bea", "LIVES_IN", "Dover"),
    ("Cy", "LIVES_IN", "Calais"),
    ("Bea", "WROTE", "Tide"),
    ("Cy", "WROTE", "Ebb"),
    ("Cy", "WROTE", "Tide"),
    ("Tide", "PUBLISHED_IN", "Coast"),
    ("Coast", "FOUNDED_BY", "Eve"),
    ("Tide", "has_genre", "Novel"),
    ("Ebb", "has_genre", "Novel"),
]
TYPES = {"Ann": "PERSON", "Bea": "PERSON", "Cy": "PERSON", "Eve": "PERSON", "Dover": "CITY", "Calais": "CITY"}
TYPES |= {"Tide": "BOOK", "Ebb": "BOOK", "Coast": "MAGAZINE", "Novel": "GENRE"}


@pytest.fixture(scope="module")
def index() -> StepIndex:
    return StepIndex.of(
        KnowledgeGraph.from_records(
            [{"name": name, "entity_type": type} for name, type in TYPES.items()],
            [
                {"source_entity_id": source, "relationship_type": type, "target_entity_id": target}
                for source, type, target in TALE
            ],
        )
    )


@pytest.mark.parametrize(
    ("asks", "english", "korean"),
    [
        (
            "(Bea)-[:LIVES_IN]->(?)",
            "Where does Bea live?",
            "Bea가 사는 도시는 어디인가?",
        ),
        (
            "(Tide)-[:PUBLISHED_IN]->()-[:FOUNDED_BY]->(?)",
            "Tide is published in a magazine. Who is that magazine founded by?",
            "Tide가 실린 잡지를 세운 사람은 누구인가?",
        ),
        (
            "(Dover)<-[:LIVES_IN]-()-[:WROTE]->(?)",
            "Which book did the person who lives in Dover write?",
            "Dover에 사는 사람이 지은 책은 무엇인가?",
        ),
        (
            "(Dover)<-[:LIVES_IN]-()-[:WROTE]->()-[:PUBLISHED_IN]->(?)",
            "Someone lives in Dover. That person wrote a book. Which magazine is that book published in?",
            "Dover에 사는 사람이 지은 책이 실린 잡지는 무엇인가?",
        ),
        (
            "(Bea)-[:WROTE]->(?) AND (Cy)-[:WROTE]->(?)",
            "Which book did both Bea and Cy write?",
            "Bea가 지은 책 가운데 Cy가 지은 책은 무엇인가?",
        ),
        (
            "(Tide)<-[:WROTE]-(?) AND (Dover)<-[:LIVES_IN]-(?)",
            "Who wrote Tide and lives in Dover?",
            "Tide를 지은 사람 가운데 Dover에 사는 사람은 누구인가?",
        ),
        (
            "(Cy)-[:WROTE]->(?) AND (Coast)<-[:PUBLISHED_IN]-(?)",
            "Which book did Cy write that is published in Coast?",
            "Cy가 지은 책 가운데 Coast에 실린 책은 무엇인가?",
        ),
        (
            "(Bea)-[:LIVES_IN]->(?) OR (Cy)-[:LIVES_IN]->(?)",
            "Where does Bea or Cy live?",
            "Bea나 Cy가 사는 도시는 어디인가?",
        ),
        (
            "(Tide)<-[:WROTE]-(?) AND NOT (Dover)<-[:LIVES_IN]-(?)",
            "Who wrote Tide but does not live in Dover?",
            "Tide를 지은 사람 가운데 Dover에 사는 사람이 아닌 사람은 누구인가?",
        ),
        (
            "(Cy)-[:WROTE]->(?) AND NOT (Bea)-[:WROTE]->(?)",
            "Which book did Cy write that Bea did not write?",
            "Cy가 지은 책 가운데 Bea가 지은 책이 아닌 책은 무엇인가?",
        ),
        (
            {"operation": "count", "paths": [path("Novel", "has_genre", "in")]},
            "How many books have Novel as their genre?",
            "갈래로 Novel을 둔 책은 모두 몇 권인가?",
        ),
        (
            {"operation": "count", "paths": [path("Cy", "WROTE", "out")]},
            "How many books did Cy write?",
            "Cy가 지은 책은 모두 몇 권인가?",
        ),
        (
            {
                "operation": "most",
                "paths": [path("Ann", "SISTER_OF", "out")],
                "by": {"type": "WROTE", "direction": "out"},
            },
            "Of the people who Ann is a sister of, who wrote the most books?",
            "Ann의 자매 가운데 지은 책이 가장 많은 사람은 누구인가?",
        ),
    ],
)
def test_every_shape_is_asked_as_a_person_would(
    index: StepIndex, asks: object, english: str, korean: str
) -> None:
    formula = formula_of(asks, index, NameIndex.of(index.graph))
    found = index.find(formula)
    assert len(found.answers)
    drawn = DrawnQuestion("", formula, found, 1)
    assert English(index, {}).question(drawn, {}) == english
    # Latin names take the particles of their sounds.
    assert Korean(index, {}).question(drawn, {}) == korean


def asked_on(
    triples: list[tuple[str, str, str]],
    types: dict[str, str],
    asks: object,
    wording: type[English] | type[Korean],
) -> tuple[bool, str]:
    """Whether the question would be asked, and how."""
    graph = KnowledgeGraph.from_records(
        [{"name": name, "entity_type": type} for name, type in types.items()],
        [
            {"source_entity_id": one, "relationship_type": type, "target_entity_id": two}
            for one, type, two in triples
        ],
    )
    index = StepIndex.of(graph)
    formula = formula_of(asks, index, NameIndex.of(graph))
    drawn = DrawnQuestion("", formula, index.find(formula), 1)
    assert len(drawn.found.answers)
    made = wording(index, {})
    return made.reads(drawn), made.question(drawn, {})


def test_a_name_in_lower_case_keeps_it_at_the_beginning_of_a_sentence() -> None:
    triples = [("nn.py", "CONTAINS", "Layer"), ("Layer", "DEPENDS_ON", "engine.py")]
    types = dict.fromkeys(("nn.py", "Layer", "engine.py"), "code")
    asks = "(nn.py)-[:CONTAINS]->()-[:DEPENDS_ON]->(?)"
    _, question = asked_on(triples, types, asks, English)
    assert question == "nn.py contains something. What does that thing depend on?"


def test_what_is_asked_for_is_called_by_its_type_or_by_what_it_is_here() -> None:
    triples = [
        ("Dr. Roy", "OWNS", "Baboon"),
        ("Dr. Roy", "OWNS", "Cheetah"),
        ("Ann", "OWNS", "Rope"),
        ("Baboon", "FREED_BY", "Eve"),
    ]
    types = {"Dr. Roy": "PERSON", "Ann": "PERSON", "Eve": "PERSON"}
    types |= {"Baboon": "ANIMAL", "Cheetah": "ANIMAL", "Rope": "THING"}
    owned = "(Dr. Roy)-[:OWNS]->(?)"
    assert asked_on(triples, types, owned, English)[1] == "Which animal does Dr. Roy own?"
    assert asked_on(triples, types, owned, Korean)[1] == "Dr. Roy가 가진 동물은 무엇인가?"
    assert asked_on(triples, types, "(Ann)-[:OWNS]->(?)", English)[1] == "What does Ann own?"
    assert asked_on(triples, types, "(Baboon)<-[:OWNS]-(?)", Korean)[1] == "Baboon을 가진 사람은 누구인가?"


def test_dates_are_asked_for_by_when_and_not_mixed_with_anything_else() -> None:
    triples = [
        ("Paper", "FOUNDED_IN", "1868"),
        ("Union", "FOUNDED_IN", "Tours"),
        ("Union", "FOUNDED_IN", "1922"),
    ]
    types = dict.fromkeys(("Paper", "Union", "1868", "1922", "Tours"), "OTHER")
    assert asked_on(triples, types, "(Paper)-[:FOUNDED_IN]->(?)", English) == (True, "When is Paper founded?")
    is_asked, _ = asked_on(triples, types, "(Union)-[:FOUNDED_IN]->(?)", English)
    assert not is_asked
    assert all(map(is_date, ("May 13, 2001", "1936년 5월", "1990s", "2001-05-13", "1868")))
    assert not any(map(is_date, ("221B Baker Street", "7", "Apollo 13")))


LONG = [
    ("Ann", "PARENT_OF", "Bea"),
    ("Cy", "STEPFATHER_OF", "Bea"),
    ("Cy", "VICTIM_OF", "Fire"),
    ("Eve", "INVESTIGATED", "Fire"),
    ("Eve", "VISITED", "Dover"),
    ("Eve", "VISITED", "Calais"),
    ("Bea", "FOUNDED", "Dover"),
    ("Bea", "director", "Dan"),
]
LONG_TYPES = {"Dover": "PLACE", "Calais": "PLACE", "Fire": "EVENT"}
LONG_TYPES |= dict.fromkeys(("Ann", "Bea", "Cy", "Dan", "Eve"), "PERSON")


@pytest.mark.parametrize(
    ("asks", "is_asked", "question"),
    [
        (  # each step ends with what it leads from
            "(Bea)<-[:STEPFATHER_OF]-()-[:VICTIM_OF]->()<-[:INVESTIGATED]-(?)",
            False,
            "Someone is a stepfather of Bea. That person is a victim of an event. "
            "Who investigated that event?",
        ),
        (
            "(Cy)-[:STEPFATHER_OF]->()<-[:PARENT_OF]-(?)",
            True,
            "Who is a parent of the person who Cy is a stepfather of?",
        ),
        (  # four steps, told one by one
            "(Ann)-[:PARENT_OF]->()<-[:STEPFATHER_OF]-()-[:VICTIM_OF]->()<-[:INVESTIGATED]-(?)",
            False,
            "Ann is a parent of someone. A second person is a stepfather of that person. "
            "The second person is a victim of an event. Who investigated that event?",
        ),
        (  # the second condition can't follow the first
            "(Eve)-[:VISITED]->(?) AND (Bea)-[:FOUNDED]->(?)",
            False,
            "Which place did Eve visit that Bea founded?",
        ),
    ],
)
def test_a_question_that_nobody_follows_is_not_asked(asks: str, is_asked: bool, question: str) -> None:
    assert asked_on(LONG, LONG_TYPES, asks, English) == (is_asked, question)


def test_nothing_stands_between_has_and_as_its_but_a_name() -> None:
    asks = "(Cy)-[:STEPFATHER_OF]->()-[:director]->(?)"
    assert (
        asked_on(LONG, LONG_TYPES, asks, English)[1]
        == "Who is the director of the person who Cy is a stepfather of?"
    )
    back = [("Eve", "FOUNDED", "Firm"), ("Film", "director", "Eve")]
    types = {"Eve": "PERSON", "Firm": "COMPANY", "Film": "FILM"}
    asks = "(Firm)<-[:FOUNDED]-()<-[:director]-(?)"
    assert (
        asked_on(back, types, asks, English)[1]
        == "Someone founded Firm. Which film has that person as its director?"
    )


def test_korean_puts_nothing_but_a_name_before_a_noun_of_relation() -> None:
    triples = [("사월", "배우자", "오월"), ("오월", "소속", "유월당"), ("칠월", "배우자", "오월")]
    types = {"사월": "인물", "오월": "인물", "칠월": "인물", "유월당": "집단"}
    asks = "(유월당)<-[:소속]-()<-[:배우자]-(?)"
    assert asked_on(triples, types, asks, Korean) == (False, "배우자가 유월당에 속한 사람인 사람은 누구인가?")
    assert asked_on(triples, types, "(오월)<-[:배우자]-(?)", Korean)[0]


def test_a_date_that_has_a_noun_of_its_own_is_asked_for_by_that() -> None:
    triples = [("Red", "release_year", "2011"), ("Blue", "release_year", "2012")]
    types = {"Red": "FILM", "Blue": "FILM", "2011": "YEAR", "2012": "YEAR"}
    asks = "(Red)-[:release_year]->(?)"
    assert asked_on(triples, types, asks, English)[1] == "What is the release year of Red?"
    assert asked_on(triples, types, asks, Korean)[1] == "Red가 나온 해는 언제인가?"
