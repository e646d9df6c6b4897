"""Words for relations: English forms, Korean particles after whatever stands before them."""

from __future__ import annotations

import re

import pytest

from tiny_graph_rag.gold.english import Clause, English, read_clause
from tiny_graph_rag.gold.formulas import Formula, Path, RelationStep, StepIndex
from tiny_graph_rag.gold.korean import Korean, phrases_of, with_particle
from tiny_graph_rag.gold.patterns import formula_of
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
    ("name", "words", "swapped"),
    [
        ("located in", "is located in", False),
        ("written by", "wrote", True),
        ("author of", "wrote", False),
        ("release year", "was released in", False),
        ("has genre", "is the genre of", True),
        ("lives in", "lives in", False),
        # Not in the table, read from their words.
        ("tames", "tames", False),
        ("inspected", "inspected", False),
        ("travelled to", "travelled to", False),
        ("nephew of", "is a nephew of", False),
        ("uncle-in-law of", None, False),
        ("freed by", "freed", True),
        ("appointed in", "was appointed in", False),
        ("surrounded by", "surrounded", True),
        ("is loyal to", "is loyal to", False),
        # What can't be said is not asked.
        ("co wrote with", None, False),
        ("starring at the", None, False),
        ("members", None, False),
        ("built in", None, False),
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
        ("LOCATED_IN", ("~이 있는 {곳}", "~에 있는 {것}")),
        ("스승", ("~의 스승", "스승이 ~인 {것}")),
        ("소유하다", ("~이 가진 {것}", "~을 가진 {것}")),
        ("소개하다", ("~이 소개하는 {것}", "~을 소개하는 {것}")),
        ("다스림", ("~이 다스리는 {것}", "~을 다스리는 {것}")),
        ("흐느낌", None),  # a verb as a noun
        ("이름", ("~의 이름", "이름이 ~인 {것}")),
        ("거주", ("~이 사는 {곳}", "~에 사는 {것}")),
        ("살해", ("~이 살해한 {것}", "~을 살해한 {것}")),
        ("FROBNICATES", None),
    ],
)
def test_korean_knows_common_types_and_reads_korean_ones(name: str, phrases: tuple[str, str] | None) -> None:
    assert phrases_of(name) == phrases


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
        ("(Bea)-[:LIVES_IN]->(?)", "Where does Bea live?", "Bea가 사는 도시는 어디인가?"),
        (
            "(Tide)-[:PUBLISHED_IN]->()-[:FOUNDED_BY]->(?)",
            "Who founded the magazine that Tide was published in?",
            "Tide가 실린 잡지를 세운 사람은 누구인가?",
        ),
        (
            "(Dover)<-[:LIVES_IN]-()-[:WROTE]->(?)",
            "Which book did the person who lives in Dover write?",
            "Dover에 사는 사람이 지은 책은 무엇인가?",
        ),
        (  # in English no clause stands inside another: the book that the person who lives in Dover wrote
            "(Dover)<-[:LIVES_IN]-()-[:WROTE]->()-[:has_genre]->(?)",
            None,
            "Dover에 사는 사람이 지은 책의 갈래는 무엇인가?",
        ),
        (
            "(Bea)-[:WROTE]->(?) AND (Cy)-[:WROTE]->(?)",
            "Which book did both Bea and Cy write?",
            "Bea와 Cy가 모두 지은 책은 무엇인가?",
        ),
        ("(Ann)-[:SISTER_OF]->(?)", "Who are the siblings of Ann?", "Ann의 형제자매는 누구인가?"),
        ("(Ann)-[:SISTER_OF]->()-[:LIVES_IN]->(?)", "Where do the siblings of Ann live?", None),
        # Neither the same relation twice nor a chain through a value is asked.
        ("(Tide)<-[:WROTE]-()-[:WROTE]->(?)", None, None),
        ("(Bea)-[:WROTE]->()-[:has_genre]->()<-[:has_genre]-(?)", None, None),
    ],
)
def test_every_shape_is_asked_as_a_person_would(
    index: StepIndex, asks: object, english: str, korean: str
) -> None:
    formula = formula_of(asks, index, NameIndex.of(index.graph))
    found, _ = index.find(formula)
    assert len(found)
    assert English(index, {}).question(formula, found, {}) == english
    # Latin names take the particles of their sounds.
    assert not korean or Korean(index, {}).question(formula, found, {}) == korean


PEOPLE = dict.fromkeys(("Ann", "Bea", "Cy", "Eve", "Dr. Roy"), "PERSON")
THINGS = {"Baboon": "ANIMAL", "Cheetah": "ANIMAL", "Rope": "THING", "Bell-rope": "THING", "Dover": "PLACE"}
THINGS |= {"Old rope": "THING", "Paper": "WORK", "1868": "OTHER", "1922": "OTHER", "Tours": "OTHER"}
THINGS |= {"Union": "GROUP", "Fire": "EVENT"}


@pytest.mark.parametrize(
    ("triples", "asks", "english", "korean"),
    [
        (  # what is asked for is called by its type, or by what it is here
            ["Dr. Roy OWNS Baboon", "Dr. Roy OWNS Cheetah"],
            "(Dr. Roy)-[:OWNS]->(?)",
            "Which animals does Dr. Roy own?",
            "Dr. Roy가 가진 동물은 무엇인가?",
        ),
        (["Ann OWNS Rope"], "(Ann)-[:OWNS]->(?)", "What does Ann own?", "Ann이 가진 것은 무엇인가?"),
        (["Ann OWNS Rope", "Ann OWNS Cy"], "(Ann)-[:OWNS]->(?)", None, None),
        # A common noun takes an article, a name doesn't.
        (
            ["Ann OWNS Baboon"],
            "(Baboon)<-[:OWNS]-(?)",
            "Who owns the baboon?",
            "Baboon을 가진 사람은 누구인가?",
        ),
        (["Ann OWNS Old rope"], "(Old rope)<-[:OWNS]-(?)", "Who owns the old rope?", None),
        (["Ann VISITED Dover"], "(Dover)<-[:VISITED]-(?)", "Who visited Dover?", None),
        # Dates are asked for by `when`, in the past, and not mixed with anything else.
        (["Paper FOUNDED_IN 1868"], "(Paper)-[:FOUNDED_IN]->(?)", "When was Paper founded?", None),
        (["Union FOUNDED_IN Tours", "Union FOUNDED_IN 1922"], "(Union)-[:FOUNDED_IN]->(?)", None, None),
        (
            ["Paper release_year 1922"],
            "(Paper)-[:release_year]->(?)",
            "When was Paper released?",
            "Paper가 나온 해는 언제인가?",
        ),
        # Several take a plural, in the question and within it.
        (
            ["Ann PARENT_OF Bea", "Cy PARENT_OF Bea"],
            "(Bea)<-[:PARENT_OF]-(?)",
            "Who are the parents of Bea?",
            None,
        ),
        (
            ["Ann PARENT_OF Bea", "Cy PARENT_OF Bea", "Ann LIVES_IN Dover", "Cy LIVES_IN Dover"],
            "(Bea)<-[:PARENT_OF]-()-[:LIVES_IN]->(?)",
            "Where do the parents of Bea live?",
            None,
        ),
        # Kin of kin lead back by meaning; a noun of relation stands before no other, and no noun comes twice.
        (["Ann PARENT_OF Bea", "Bea SPOUSE Cy"], "(Ann)-[:PARENT_OF]->()-[:SPOUSE]->(?)", None, None),
        (
            ["Ann FRIEND_OF Bea", "Cy PRESIDENT_OF Union", "Cy FRIEND_OF Eve"],
            "(Union)<-[:PRESIDENT_OF]-()-[:FRIEND_OF]->(?)",
            None,
            None,
        ),
        (
            ["Fire PART_OF Paper", "Fire OWNED_BY Ann", "Ann INCLUDES Bea"],
            "(Fire)-[:OWNED_BY]->()-[:INCLUDES]->(?)",
            None,
            None,
        ),
        (["Ann RECEIVED Tours"], "(Ann)-[:RECEIVED]->(?)", "What did Ann win?", None),
        # A thing without a noun does not stand in the middle.
        (["Ann OWNS Rope", "Rope LOCATED_IN Dover"], "(Ann)-[:OWNS]->()-[:LOCATED_IN]->(?)", None, None),
    ],
)
def test_words_fit_what_stands_there(
    triples: list[str], asks: str, english: str | None, korean: str | None
) -> None:
    split = [re.split(r" ([A-Z]{4,}[A-Z_]*|release_year) ", triple) for triple in triples]
    types = PEOPLE | THINGS
    graph = KnowledgeGraph.from_records(
        [{"name": name, "entity_type": type} for name, type in types.items()],
        [
            {"source_entity_id": one, "relationship_type": type, "target_entity_id": two}
            for one, type, two in split
        ],
    )
    index = StepIndex.of(graph)
    formula = formula_of(asks, index, NameIndex.of(graph))
    answers, _ = index.find(formula)
    assert len(answers)
    assert English(index, {}).question(formula, answers, {}) == english
    assert not korean or Korean(index, {}).question(formula, answers, {}) == korean


def test_dates_are_recognised() -> None:
    assert all(map(is_date, ("May 13, 2001", "1936년 5월", "1990s", "2001-05-13", "1868")))
    assert not any(map(is_date, ("221B Baker Street", "7", "Apollo 13")))


def test_korean_puts_nothing_but_a_name_before_a_noun_of_relation() -> None:
    """Nobody follows 배우자가 유월당에 속한 사람인 사람."""
    graph = KnowledgeGraph.from_records(
        [{"name": name, "entity_type": "인물"} for name in ("사월", "오월", "칠월")]
        + [{"name": "유월당", "entity_type": "집단"}],
        [
            {"source_entity_id": one, "relationship_type": type, "target_entity_id": two}
            for one, type, two in (
                ("사월", "제자", "오월"),
                ("오월", "소속", "유월당"),
                ("칠월", "제자", "오월"),
            )
        ],
    )
    index = StepIndex.of(graph)
    asked = ("(유월당)<-[:소속]-()<-[:제자]-(?)", "(오월)<-[:제자]-(?)")
    formulas = [formula_of(asks, index, NameIndex.of(graph)) for asks in asked]
    questions = [Korean(index, {}).question(formula, index.find(formula)[0], {}) for formula in formulas]
    assert questions == [None, None]


def test_a_chain_needs_a_middle_of_a_known_kind() -> None:
    """A genre may have the name of a film that has a director; a name may end in a question mark."""
    graph = KnowledgeGraph.from_triples(
        [
            ("Love, Honor?", "has_genre", "War"),
            ("War", "directed_by", "Ann Lee"),
            ("Rome", "directed_by", "Bo Kay"),
            ("Bo Kay", "wrote", "Tide"),
        ]
    )
    wording = English(StepIndex.of(graph), {})
    row = graph.row_of_id

    def asked(seed: str, *types: str) -> str | None:
        steps = tuple(RelationStep(graph.relations.types.names.index(type)) for type in types)
        formula = Formula((Path(row[seed], steps),))
        return wording.question(formula, wording.index.find(formula)[0], {})

    assert asked("Love, Honor?", "has_genre", "directed_by") is None
    assert asked("Love, Honor?", "has_genre") == "What is the genre of Love, Honor?"
    assert asked("Rome", "directed_by", "wrote") == "Which work did the person who directed Rome write?"
