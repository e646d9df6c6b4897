"""Questions in languages whose function words nobody listed: which of their words speak for relations."""

from __future__ import annotations

import pytest

from tests.retrieval.test_bfs import graph_of
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


def read(graph: KnowledgeGraph, question: str) -> LinkedQuestion:
    (linked,) = make_linker(graph, NameIndex.of(graph), Config()).link([Example("q", question, ())])
    return linked


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
    slots = make_retriever(graph, Config()).reader.read(read(graph, question)).slots
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
    linked = read(graph, question)
    for hops in (1, 2, 3):
        run = make_retriever(graph, Config().override(hops=hops)).retrieve([linked])
        first = [graph.entities.names[int(row)] for row in run.entities[: len(wanted)]]
        assert sorted(first) == wanted, hops
