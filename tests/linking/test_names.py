"""Linking by names, claim by claim."""

from __future__ import annotations

import random
import time
import unicodedata
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import real
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import without_accents
from tiny_graph_rag.language.function_words import stands_in, table
from tiny_graph_rag.linking import Seed, make_linker
from tiny_graph_rag.linking.names import NameLinker

WORDS = sorted(table("The the What films up Tom Hanks ann B C++ I it's is who 7 1971 점순 나 우리 집"))
PARTICLES = ["은", "는", "이", "이가", "와", "과", "네", "에서는", "무"]
PIECES = st.sampled_from([*WORDS, *PARTICLES, " ", " ", " ", " ", "'", '"', "?", "!", "-", ".", "&"])
NAMES = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
    | st.lists(st.sampled_from(WORDS), min_size=2, max_size=2).map("".join)
    | st.sampled_from(WORDS).map(lambda word: word + "!"),
    min_size=1,
    max_size=4,
)


def graph_of(names: Sequence[str]) -> KnowledgeGraph:
    return KnowledgeGraph.from_records({f"e{row}": {"name": name} for row, name in enumerate(names)}, [])


def seeds_of(graph: KnowledgeGraph, text: str, *context: str, fuzzy: float | None = None) -> Sequence[Seed]:
    linker = NameLinker(graph, NameIndex.of(graph), fuzzy)
    return linker.link([Example("q", text, (), context=context)])[0].seeds


def spans(names: Sequence[str], text: str) -> set[tuple[int | None, int | None, frozenset[int]]]:
    seeds = seeds_of(graph_of(names), text)
    places = {(seed.start, seed.end) for seed in seeds}
    return {
        (*place, frozenset(seed.entity for seed in seeds if (seed.start, seed.end) == place))
        for place in places
    }


@settings(max_examples=60, deadline=None)
@given(NAMES, st.lists(PIECES, max_size=12).map("".join), st.integers(0, 99))
def test_the_order_of_entities_in_the_file_does_not_matter(names: list[str], text: str, seed: int) -> None:
    order = list(range(len(names)))
    random.Random(seed).shuffle(order)
    moved = spans([names[row] for row in order], text)
    assert {(*place, frozenset(order[row] for row in rows)) for *place, rows in moved} == spans(names, text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=12).filter(str.strip), min_size=1, max_size=4))
def test_any_text_and_any_names_link_to_stretches_of_the_text(text: str, names: list[str]) -> None:
    for start, end, _ in spans(names, text):
        assert start is not None
        assert end is not None
        assert 0 <= start < end <= len(text)


def link(entities: Sequence[Any], text: str, *context: str) -> list[tuple[str, str, str]]:
    """(entity, mention, rule) of each seed. entities: names, or (name, aliases)."""
    pairs = [(entity, []) if isinstance(entity, str) else entity for entity in entities]
    records = [{"name": name, "aliases": aliases} for name, aliases in pairs]
    graph = KnowledgeGraph.from_records(records, [])
    found = seeds_of(graph, text, *context)
    return [(graph.entities.names[seed.entity], seed.mention, seed.rule) for seed in found]


FILMS = ["The", "What", "films", "Inception", "Tom Hanks", "C++", "C", "C#", "Mr. & Mrs. Smith", "007"]
FILMS += ["Up!", "Up", "Diana", "Indiana"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("what films did Tom Hanks act in", ["Tom Hanks"]),
        ("what films did tom hanks act in", ["Tom Hanks"]),
        ("Who directed The?", ["The"]),
        ("Who directed What?", ["What"]),
        ("WHO DIRECTED INCEPTION", ["Inception"]),
        ("Who Directed Inception?", ["Inception"]),
        ("which films", ["films"]),
        ("what is C++ good for", ["C++"]),
        ("what is C# good for", ["C#"]),
        ("what is C good for", ["C"]),
        ("who is in Mr and Mrs Smith", ["Mr. & Mrs. Smith"]),
        ("which actors played 007", ["007"]),
        ("who is in Up!", ["Up!"]),
        ("who is in Up", ["Up"]),
        ("TomHanks and tom-hanks", ["Tom Hanks", "Tom Hanks"]),
        ("Who was in Diana in 1971?", ["Diana"]),
        ("Who was inDiana?", ["Indiana"]),
        ("Inception의 감독은?", ["Inception"]),
        ("inceptional", []),
        ("", []),
        ("😀😀", []),
    ],
)
def test_a_name_that_is_a_word_fires_only_with_evidence(text: str, names: list[str]) -> None:
    assert [name for name, _, _ in link(FILMS, text)] == names


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("Antoine Prévost", "Who knew Antoine Prevost?", "accent"),
        ("Antoine Prevost", "Who knew Antoine Prévost?", "accent"),
        ("Antoine Prévost", "Who knew Antoine Prèvost?", "accent"),
        ("Antoine Prévost", "Who knew Antoine Prévost?", "exact"),
        ("Kraków", "Krakow의 시장은?", "accent"),
        ("Krakow", unicodedata.normalize("NFD", "Where is Kraków?"), "accent"),
    ],
)
def test_accents_may_be_left_out_or_added(name: str, text: str, rule: str) -> None:
    ((entity, mention, its_rule),) = link([name, "Other"], text)
    assert (entity, its_rule) == (name, rule)
    assert without_accents(unicodedata.normalize("NFC", mention)) == without_accents(name)


def test_a_name_with_the_accents_of_the_question_goes_first() -> None:
    assert link(["Prévost", "Prevost"], "Who is Prévost?") == [("Prévost", "Prévost", "exact")]
    assert link(["Prévost", "Prevost"], "Who is Prevost?") == [("Prevost", "Prevost", "exact")]


def test_in_lower_case_the_relations_of_the_question_tell_a_name_from_a_tag() -> None:
    triples = [("Troy", "starred_actors", "Brad Pitt"), ("Troy", "has_tags", "brad pitt")]
    graph = KnowledgeGraph.from_triples(triples)
    asked = {"what did brad pitt star in": "Brad Pitt", "what is brad pitt a tag of": "brad pitt"}
    for text, name in asked.items():
        assert [graph.entities.names[seed.entity] for seed in seeds_of(graph, text)] == [name]


INFLECTED = [
    ("Owner", "KEEPS", "Hound"),
    ("Владимир Ленский", "жених", "Ольга Ларина"),
    ("Князь Гремин", "живёт в", "Петербург"),
    ("மதுரை", "நகரம்", "கோவலன்"),
    ("Tadeusz Soplica", "narzeczony", "Zosia"),
    ("Sampo", "takoja", "Seppo"),
    ("Анна Ярославна", "батько", "Черемош"),
]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("Кто сестра Ольги Лариной?", [("Ольга Ларина", "Ольги Лариной", "form")]),
        ("Кто живёт в Петербурге?", [("Петербург", "Петербурге", "form")]),
        ("மதுரையை எரித்தது யார்?", [("மதுரை", "மதுரையை", "form")]),
        ("Kto jest ojcem Tadeusza Soplicy?", [("Tadeusz Soplica", "Tadeusza Soplicy", "form")]),
        ("Kuka takoi Sammon?", [("Sampo", "Sammon", "form")]),
        ("Ким був батько Анни Ярославни?", [("Анна Ярославна", "Анни Ярославни", "form")]),
        ("Хто пройшов через ліс?", [("Черемош", "через", "text")]),  # small, so no form of the name
        ("Кто любит Ленского?", [("Владимир Ленский", "ленского", "text")]),  # a part of the name
        ("Which of the owners have hounds?", [("Owner", "owners", "text"), ("Hound", "hounds", "text")]),
    ],
)
def test_a_name_may_be_inflected_in_a_language_without_a_list(
    text: str, seeds: list[tuple[str, str, str]]
) -> None:
    graph = KnowledgeGraph.from_triples(INFLECTED)
    linked = make_linker(graph, NameIndex.of(graph), Config()).link([Example("q", text, ())])[0]
    found = [(graph.entities.names[seed.entity], seed.mention, seed.rule) for seed in linked.seeds]
    assert sorted(found) == sorted(seeds)


def test_words_of_an_english_graph_match_by_stem_alone() -> None:
    triples = [("Jo Blackpool", "WORKS_WITH", "Sam Blackwell"), ("Jo Blackpool", "LIVES_IN", "Hull")]
    graph = KnowledgeGraph.from_triples(triples)
    linker = make_linker(graph, NameIndex.of(graph), Config())
    seeds = linker.link([Example("q", "Where does Blackpool live?", ())])[0].seeds
    assert [graph.entities.names[seed.entity] for seed in seeds] == ["Jo Blackpool"]


def test_what_stands_around_an_entity_counts_where_nothing_else_is_known() -> None:
    graph = KnowledgeGraph.from_triples([("Ann", "FOUNDED", "Kettle Works"), ("Bo", "LEFT", "Kettle Works")])
    linker = make_linker(graph, NameIndex.of(graph), Config())
    asked = ("Who founded it?", "Who founded what Bo left?", "Who hums?")
    found = [
        [(graph.entities.names[seed.entity], seed.mention, seed.rule) for seed in linked.seeds]
        for linked in linker.link([Example("q", text, ()) for text in asked])
    ]
    around = [("Ann", "founded", "text"), ("Kettle Works", "founded", "text")]
    assert found == [around, [("Bo", "Bo", "exact")], []]


STORY = ["나", "닭", "집", "점순", "점순네 수탉", "닭싸움", "고집", "것", "이순신", "봄"]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("나무는 어디에 있어?", []),
        ("나는 누구야?", [("나", "나", "particle")]),
        ("닭싸움은 왜?", [("닭싸움", "닭싸움", "particle")]),
        ("고집불통은 집에서는 누구?", [("집", "집", "particle")]),
        ("점순이가 준 것은?", [("점순", "점순", "particle")]),
        ("점순네수탉은?", [("점순네 수탉", "점순네수탉", "particle")]),
        ("'점순'가 누구야?", [("점순", "점순", "exact")]),
        ("이순신와 점순 씨는", [("이순신", "이순신", "particle"), ("점순", "점순", "exact")]),
        ("이순신이었습니까?", [("이순신", "이순신", "particle")]),
        ("것은 무엇인가?", [("것", "것", "particle")]),
        ("봄봄 나이 국가", []),
    ],
)
def test_particles_follow_names_and_syllables_stay_in_their_words(
    text: str, seeds: list[tuple[str, str, str]]
) -> None:
    assert link(STORY, text) == seeds


@pytest.mark.parametrize(
    ("text", "phrase", "stands"),
    [
        ("The fair of Ann", "ann", True),
        ("The annual fair, Anna", "Ann", False),
        ("점순이네", "점순", True),
        ("나무와", "나", False),
        ("Up! is down", "up", True),
        ("nothing", "", False),
        ("nothing", "?!", False),
    ],
)
def test_a_phrase_stands_in_a_text_where_a_name_could(text: str, phrase: str, stands: bool) -> None:
    assert stands_in(phrase, text) is stands


def test_a_decomposed_question_is_read_composed() -> None:
    text = unicodedata.normalize("NFD", "어디에 점순네 수탉이 있어?")
    (seed,) = seeds_of(graph_of(STORY), text)
    assert seed.start is not None
    assert unicodedata.normalize("NFC", text)[seed.start : seed.end] == seed.mention == "점순네 수탉"


def test_a_shared_name_links_to_all_bearers_by_shares() -> None:
    graph = graph_of(["Springfield", "Springfield", "Shelbyville"])
    seeds = seeds_of(graph, "Where is Springfield?")
    assert [(seed.entity, seed.weight) for seed in seeds] == [(0, 0.5), (1, 0.5)]


def test_an_exact_name_goes_before_another_entitys_alias() -> None:
    entities = [("Watson", []), ("John", ["Watson", "Doc"])]
    assert link(entities, "Where is Watson?") == [("Watson", "Watson", "exact")]
    assert link(entities, "Where is Doc?") == [("John", "Doc", "alias")]
    inn = [("Crown Inn", ["the Crown"])]
    assert link(inn, "Where is the Crown Inn?") == [("Crown Inn", "Crown Inn", "exact")]
    assert link(inn, "Where is the Crown?") == [("Crown Inn", "the Crown", "alias")]


@pytest.mark.slow
def test_a_question_of_100_000_characters_takes_time_in_proportion() -> None:
    graph = graph_of(["Tom Hanks", "the the the the", "점순", "a" * 500])
    linker = NameLinker(graph, NameIndex.of(graph))

    def seconds(text: str) -> float:
        started = time.process_time()
        linker.link([Example("q", text, ())])
        return time.process_time() - started

    for piece in ("the ", "tom hanks ", "점순이와 ", "a", "e\u0301", "ß", "?!"):
        seconds(piece)
        short, long = (seconds(piece * (length // len(piece))) for length in (10_000, 100_000))
        assert long < 30 * short + 1, piece


@pytest.mark.realdata
@pytest.mark.parametrize("lower", [False, True])
def test_metaqa_topics_are_found_and_nothing_else(lower: bool) -> None:
    graph = read_graph(real("metaqa", "metaqa-KG.json"))
    linker = NameLinker(graph, NameIndex.of(graph))
    for hops in (1, 2, 3):
        examples = list(read_eval_set(real("metaqa", f"metaqa-{hops}hop-eval.jsonl")))
        texts = [question.query.lower() if lower else question.query for question in examples]
        linked = linker.link([Example("q", text, ()) for text in texts])
        found = [{graph.entities.names[seed.entity] for seed in question.seeds} for question in linked]
        pairs = list(zip((set(question.seed_entities or ()) for question in examples), found, strict=True))
        among = sum(topics <= names for topics, names in pairs) / len(examples)
        only = sum(topics == names for topics, names in pairs) / len(examples)
        assert among >= (0.99 if lower else 0.995)
        assert only >= (0.91 if lower else 0.99)


@pytest.mark.realdata
@pytest.mark.parametrize("story", ["김유정-동백꽃", "이효석-모밀꽃-필-무렵"])
def test_korean_questions_link_to_exactly_what_they_name(story: str) -> None:
    graph = read_graph(real("tiny-graph-rag", "kg-original", f"{story}-KG.json"))
    linker = NameLinker(graph, NameIndex.of(graph))
    for kind in ("eval", "hardset"):
        examples = list(read_eval_set(real("tiny-graph-rag", "eval", f"{story}-{kind}.jsonl")))
        for example, found in zip(examples, linker.link(examples), strict=True):
            names = {graph.entities.names[seed.entity] for seed in found.seeds}
            assert names == set(example.reference_entities), example.query


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is the usual treatment of it?", []),
        ("What is Treatment?", ["Treatment"]),  # written as a name
        ("What is the usual cream of it?", ["Cream"]),  # of which few texts speak
    ],
)
def test_a_lower_case_word_that_many_texts_hold_is_no_name(question: str, named: list[str]) -> None:
    told = [{"name": f"Disease {n}", "description": "Its treatment takes long."} for n in range(6)]
    graph = KnowledgeGraph.from_records([{"name": "Treatment"}, {"name": "Cream"}, *told], [])
    config = Config().override(linker="names+text")
    (linked,) = make_linker(graph, NameIndex.of(graph), config).link([Example("q", question, ())])
    assert [graph.entities.names[seed.entity] for seed in linked.named] == named
