"""Ranking by the cheapest explanation: hand arithmetic, and what must hold for any graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.conftest import ROOT
from tiny_graph_rag import load_graph, load_questions
from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.retrieval.base import Task
from tiny_graph_rag.retrieval.baselines import PlainBfsRetriever
from tiny_graph_rag.retrieval.bfs import BfsRetriever
from tiny_graph_rag.run import NO_STEP, Run

Triple = tuple[str, str, str]

FILMS: list[Triple] = [
    ("Alien", "directed_by", "Scott"),
    ("Alien", "written_by", "Bannon"),
    ("Blade Runner", "directed_by", "Scott"),
    ("Blade Runner", "release_year", "1982"),
    ("Dark Star", "written_by", "Bannon"),
    ("Dark Star", "directed_by", "Carpenter"),
]


def graph_of(
    triples: Sequence[tuple[Any, ...]],
    *,
    told: dict[str, str] | None = None,
    kinds: dict[str, str] | None = None,
    names: Sequence[str] = (),
) -> KnowledgeGraph:
    """Entities named as the triples (source, type, target, weight?, description?) name them."""
    order = list(names) or list(dict.fromkeys(end for triple in triples for end in (triple[0], triple[2])))
    told, kinds = told or {}, kinds or {}
    fields = ("source_entity_id", "relationship_type", "target_entity_id", "weight", "description")
    return KnowledgeGraph.from_records(
        {
            name: {"name": name, "entity_type": kinds.get(name), "description": told.get(name)}
            for name in order
        },
        [dict(zip(fields, triple, strict=False)) for triple in triples],
    )


def ask(text: str, graph: KnowledgeGraph, *seeds: str) -> LinkedQuestion:
    """A question whose seeds are the names given, where they stand in the text."""
    names = list(graph.entities.names)
    found = []
    for name in seeds:
        start = text.find(name)
        place = (start, start + len(name)) if start >= 0 else (None, None)
        found.append(Seed(names.index(name), name, *place, "test"))
    return LinkedQuestion(text, tuple(found))


def retriever(graph: KnowledgeGraph, **flags: Any) -> BfsRetriever:
    return BfsRetriever(Task(graph, Config().override(**{"hops": 3, **flags})))


def ranked(graph: KnowledgeGraph, text: str, *seeds: str, **flags: Any) -> list[tuple[str, float]]:
    run = retriever(graph, **flags).retrieve([ask(text, graph, *seeds)])
    names = list(graph.entities.names)
    return [(names[entity], score) for entity, score in zip(run.entities, run.scores, strict=True)]


def named(graph: KnowledgeGraph, text: str, *seeds: str, **flags: Any) -> list[str]:
    return [name for name, _ in ranked(graph, text, *seeds, **flags)]


def test_a_relation_that_the_question_names_costs_a_step_alone() -> None:
    """Energy .1 (the step), so the score is 1 / (1 + .1), less the tie part of at most .001."""
    (first, score), *_ = ranked(graph_of(FILMS), "Who directed Alien?", "Alien")
    assert first == "Scott"
    assert 1 / 1.101 <= score <= 1 / 1.1


def test_a_seed_is_worth_what_it_leaves_unexplained() -> None:
    """Alien itself: 1 - .1 for directed (the same word as directed_by's) = 1, and 1 for not being asked."""
    scores = dict(ranked(graph_of(FILMS), "Who directed Alien?", "Alien"))
    assert 1 / 3.001 <= scores["Alien"] <= 1 / 3


def test_with_no_evidence_it_is_hop_order_and_seeds_come_first() -> None:
    graph = graph_of(FILMS)
    run = retriever(graph).retrieve([ask("Alien", graph, "Alien")])
    assert run.hops.tolist() == sorted(run.hops.tolist())
    assert list(graph.entities.names)[run.entities[0]] == "Alien"
    two = ("Alien", "Dark Star")
    assert set(named(graph, "Alien와 Dark Star의 관계", *two)[:2]) == set(two)


def test_there_and_back_through_the_same_relation() -> None:
    """X's director .1, and back .2; leaving the way back empty would cost .5."""
    found = ranked(graph_of(FILMS), "the director of Alien also directed which films", "Alien")
    assert found[0][0] == "Blade Runner"
    assert 1 / 1.301 <= found[0][1] <= 1 / 1.3


BORN: list[Triple] = [
    ("Ada", "place_of_birth", "London"),
    ("Ada", "place_of_death", "Marylebone"),
    ("Ada", "cause_of_death", "cancer"),
]
MADE: list[Triple] = [
    ("A", "directed_by", "Ann"),
    ("B", "directed_by", "Ann"),
    ("B", "written_by", "Will"),
    ("C", "written_by", "Will"),
]
TOLD = [
    ("점순", "R", "감자", 1.0, "점순은 감자를 몰래 건넨다."),
    ("점순", "R", "호드기", 1.0, "점순은 호드기를 분다."),
]
KINDS = graph_of([("A", "R", "B"), ("A", "R", "C")], kinds={"C": "PLACE", "B": "PERSON"})
OWNERS = replace(graph_of(FILMS), vocabulary={"release_year": ("came out",), "written_by": ("screenplay",)})


@pytest.mark.parametrize(
    ("graph", "question", "seeds", "exclude_seeds", "first"),
    [
        # a word serves one relation
        (graph_of(BORN), "what is the place of death of Ada?", "Ada", False, "Marylebone"),
        (graph_of(BORN), "what is the cause of death of Ada?", "Ada", False, "cancer"),
        # the relation next to the question word is the last step
        (
            graph_of(FILMS),
            "who directed the films written by the writer of Alien",
            "Alien",
            False,
            "Carpenter",
        ),
        # what two mentions lead to beats what one does
        (graph_of(MADE), "what did Ann direct that was written by Will?", "Ann,Will", True, "B"),
        # when asks for a year
        (graph_of(FILMS), "when were the films directed by Scott made?", "Scott", True, "1982"),
        # words of a description lead to its relation
        (graph_of(TOLD), "점순이 몰래 건넨 것은 무엇인가?", "점순", True, "감자"),
        # the kind asked for is known by entity types
        (KINDS, "where is A?", "A", True, "C"),
        (KINDS, "who is with A?", "A", True, "B"),
        # the owner's vocabulary counts as the relations' words
        (OWNERS, "whose screenplay was Alien?", "Alien", True, "Bannon"),
    ],
)
def test_what_the_question_asks_for_comes_first(
    graph: KnowledgeGraph, question: str, seeds: str, exclude_seeds: bool, first: str
) -> None:
    assert named(graph, question, *seeds.split(","), exclude_seeds=exclude_seeds)[0] == first


@pytest.mark.parametrize("text", ["", "?" * 1000, "🙂🙃", "Alien " * 2000, "who who who", "\x00 Alien"])
def test_odd_questions_are_ranked_all_the_same(text: str) -> None:
    graph = graph_of(FILMS)
    assert len(named(graph, text, "Alien")) == len(graph)


def test_a_question_without_seeds_retrieves_nothing() -> None:
    assert retriever(graph_of(FILMS)).retrieve([LinkedQuestion("who?")]).offsets.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("question", "flags", "names"),
    [
        ("Who directed Alien?", {"min_score": 0.9}, {"Scott"}),
        ("Who directed Alien?", {"min_score": 0.95}, set()),
        ("Alien", {"relations": "directed_by"}, {"Alien", "Scott", "Blade Runner"}),
        ("Alien", {"not_relations": "directed_by", "hops": 1}, {"Alien", "Bannon"}),
        ("Alien", {"direction": "out"}, {"Alien", "Scott", "Bannon"}),
        ("Alien", {"types": "PERSON"}, {"Scott", "Bannon", "Carpenter"}),
    ],
)
def test_filters_bound_walks_and_answers(question: str, flags: dict[str, Any], names: set[str]) -> None:
    graph = graph_of(FILMS, kinds={"Scott": "PERSON", "Bannon": "PERSON", "Carpenter": "PERSON"})
    assert set(named(graph, question, "Alien", **flags)) == names


# --- for any graph -------------------------------------------------------------------------------------

WORDS = ("who", "which", "owns", "likes", "also", "x", "somebody", "near")


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], str, list[str], dict[str, Any]]:
    """Triples, a question, its seeds, and options."""
    size = draw(st.integers(2, 9))
    names = [f"N{place}" for place in range(size)]
    ends = st.sampled_from(names)
    triples = draw(
        st.lists(
            st.tuples(
                ends,
                st.sampled_from(["owns", "likes", "near_to"]),
                ends,
                st.sampled_from([1.0, 0.5, 2.0, 0.0]),
                st.sampled_from(["", "somebody likes it", "x owns x"]),
            ),
            min_size=1,
            max_size=18,
            unique_by=lambda pair: pair[:3],
        )
    )
    seeds = draw(st.lists(ends, min_size=1, max_size=3, unique=True))
    text = " ".join(draw(st.lists(st.sampled_from([*WORDS, *seeds]), max_size=8)))
    flags = {
        "hops": draw(st.integers(0, 4)),
        "depth": draw(st.sampled_from([1, 3, 100])),
        "exclude_seeds": draw(st.booleans()),
        "direction": draw(st.sampled_from(["both", "both", "out", "in"])),
    }
    return triples, text, seeds, flags


def made_from(case: Any, **more: Any) -> tuple[KnowledgeGraph, BfsRetriever, LinkedQuestion]:
    triples, text, seeds, flags = case
    names = sorted({end for triple in triples for end in (triple[0], triple[2])} | set(seeds))
    graph = graph_of(triples, names=names)
    return graph, retriever(graph, **{**flags, **more}), ask(text, graph, *seeds)


def rows(graph: KnowledgeGraph, run: Run) -> list[tuple[str, float, int]]:
    names = list(graph.entities.names)
    return [
        (names[entity], score, hop)
        for entity, score, hop in zip(run.entities, run.scores.tolist(), run.hops.tolist(), strict=True)
    ]


@pytest.mark.slow
@given(case=cases(), shuffled=st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_the_order_of_entities_and_relations_in_the_file_changes_nothing(case: Any, shuffled: Any) -> None:
    triples, text, seeds, flags = case
    names = sorted({end for triple in triples for end in (triple[0], triple[2])} | set(seeds))
    found = []
    for _ in range(2):
        graph = graph_of(triples, names=names)
        run = retriever(graph, **flags).retrieve([ask(text, graph, *seeds)])
        types = graph.relations.types
        walks = [[types[step] for step in walk if step != NO_STEP] for walk in run.walks.tolist()]
        found.append((rows(graph, run), walks))
        names, triples = shuffled.sample(names, len(names)), shuffled.sample(triples, len(triples))
    assert found[0] == found[1]


@pytest.mark.slow
@given(case=cases())
@settings(max_examples=300, deadline=None)
def test_everything_within_the_hops_by_networkx_is_returned_and_nothing_else(case: Any) -> None:
    triples, _, seeds, flags = case
    graph, made, question = made_from(case, depth=100, exclude_seeds=False)
    walked = nx.DiGraph()
    walked.add_nodes_from(graph.entities.names)
    for source, _, target, *_ in triples:
        if flags["direction"] != "in":
            walked.add_edge(source, target)
        if flags["direction"] != "out":
            walked.add_edge(target, source)
    wanted = nx.multi_source_dijkstra_path_length(walked, set(seeds), cutoff=flags["hops"])
    hops = {name: hop for name, _, hop in rows(graph, made.retrieve([question]))}
    assert hops.keys() == wanted.keys()
    # The path shown explains the question; it need not be the shortest, but is never longer than --hops.
    assert all(wanted[name] <= hop <= flags["hops"] for name, hop in hops.items())


@pytest.mark.slow
@given(case=cases())
@settings(max_examples=100, deadline=None)
def test_walks_lead_from_a_seed_to_the_entity_within_the_hops(case: Any) -> None:
    graph, made, question = made_from(case)
    run = made.retrieve([question])
    for entity, hop, walk in zip(run.entities.tolist(), run.hops.tolist(), run.walks.tolist(), strict=True):
        steps = [step for step in walk if step != NO_STEP]
        assert hop == len(steps) <= case[3]["hops"]
        at = entity
        for step in reversed(steps):
            ends = int(graph.relations.sources[step]), int(graph.relations.targets[step])
            assert at in ends
            at = ends[0] if at == ends[1] else ends[1]
        assert at in {seed.entity for seed in question.seeds}
        assert all(one != other for one, other in pairwise(steps))


def test_plain_bfs_is_hop_then_name() -> None:
    graph = graph_of(FILMS)
    plain = PlainBfsRetriever(Task(graph, Config().override(hops=2, depth=100)))
    found = rows(graph, plain.retrieve([ask("Alien", graph, "Alien")]))
    assert [name for name, _, _ in found] == ["Alien", "Bannon", "Scott", "Blade Runner", "Dark Star"]


@pytest.mark.parametrize("exclude_seeds", [False, True])
@pytest.mark.parametrize("name", ["data/{}/conan-doyle-speckled-band-{}", "benchmarks/norse-myths-{1}"])
def test_the_best_of_questions_ranked_together_are_the_best_of_each_alone(
    name: str, exclude_seeds: bool
) -> None:
    """Among them some that name nothing, where texts alone say where to begin."""
    graph = load_graph(ROOT / (name.format("kg", "KG") + ".json"))
    questions = load_questions(ROOT / (name.format("eval", "eval") + ".jsonl")).examples[:16]
    config = Config().override(hops=2, compiled=False, exclude_seeds=exclude_seeds)
    linked = make_linker(graph, NameIndex.of(graph), config).link(questions)
    linked = [*linked, *(structs.replace(one, seeds=one.by_text) for one in linked[:20])]
    together = make_retriever(graph, config.override(depth=3)).retrieve(linked)
    for number, question in enumerate(linked):
        alone = rows(graph, make_retriever(graph, config).retrieve([question]))
        assert rows(graph, together.of(np.array([number]))) == alone[:3]


def test_two_names_lead_to_one_entity_at_any_number_of_hops() -> None:
    """A long way round from one name explains the entity, too; what both names share still comes first."""
    clubs = [f"{town} United" for town in ("Hull", "Leeds", "Derby", "Bury")]
    triples = [
        triple
        for number in range(8)
        for triple in (
            (f"Player {number}", "plays_in_club", clubs[number % 4]),
            (f"Player {number}", "plays_position", ("Defender", "Keeper")[number // 4]),
            (f"Player {number}", "plays_for_country", ("Wales", "Malta")[number % 2]),
        )
    ]
    question = "name a player who plays at Defender position at the club Hull United ?"
    graph = graph_of(triples)
    first = {hops: ranked(graph, question, "Defender", "Hull United", hops=hops)[0] for hops in range(1, 6)}
    assert set(first.values()) == {("Player 0", first[1][1])}


CLUBS = (
    ("Ana", "plays_for_country", "국적_나라", "Spain"),
    ("Ana", "plays_in_club", "소속_구단", "Lyon FC"),
    ("Lyon FC", "is_in_country", "소재_나라", "France"),
    ("Sevilla FC", "is_in_country", "소재_나라", "Spain"),
    ("Real FC", "is_in_country", "소재_나라", "Spain"),
)


@pytest.mark.parametrize("hops", [1, 2, 4])
@pytest.mark.parametrize(
    ("question", "language", "answers"),
    [
        ("which country does Ana play professional in ?", 1, {"Spain", "France"}),
        ("which club does Ana play in ?", 1, {"Lyon FC"}),
        ("Ana는 어느 나라 사람입니까?", 2, {"Spain", "France"}),
        ("Ana는 어느 구단에서 뛰나요?", 2, {"Lyon FC"}),
    ],
)
def test_what_a_relation_leads_to_is_of_the_kind_of_its_last_word(
    question: str, language: int, answers: set[str], hops: int
) -> None:
    """Not what it comes from: the clubs of a country are no countries."""
    graph = graph_of([(row[0], row[language], row[3]) for row in CLUBS])
    assert ranked(graph, question, "Ana", hops=hops)[0][0] in answers


@pytest.mark.parametrize("question", ["What is the connection between {} and {}?", "{}와 {}의 관계는?"])
def test_a_question_about_a_tie_asks_for_those_that_it_names(question: str) -> None:
    triples = [*FILMS, ("Bannon", "connection_to", "Carpenter"), ("Bannon", "관계", "1982")]
    found = ranked(graph_of(triples), question.format("Alien", "Scott"), "Alien", "Scott")
    assert {name for name, _ in found[:2]} == {"Alien", "Scott"}


@pytest.mark.parametrize("question", ["Where is {}?", "Where does one find {}?", "{}은 어디에 있나요?"])
def test_where_asks_over_relations_that_lead_to_places(question: str) -> None:
    """Whatever they are called; one that leads to a person as well is none of them."""
    triples = [("Inn", "STANDS_AT", "Moran"), ("Inn", "KEPT_BY", "Ann"), ("Mill", "KEPT_BY", "Moran")]
    graph = graph_of([*triples, ("Hall", "KEPT_BY", "Ann")], kinds={"Moran": "VILLAGE", "Ann": "PERSON"})
    assert ranked(graph, question.format("Inn"), "Inn")[0][0] == "Moran"
