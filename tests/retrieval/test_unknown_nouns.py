"""In a graph without descriptions, words that nothing in it knows stand for a further relation."""

from __future__ import annotations

import pytest

from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.retrieval import make_retriever

TRIPLES = [("Tosk", "spokenIn", "Albania"), ("Albania", "dirigeant", "Rama"), ("Tosk", "famille", "Indo")]
TRIPLES += [
    ("Albania", "capital", "Tirana"),
    ("Tirana", "maire", "Veliaj"),
    ("Rama", "lieuDeNaissance", "Vlora"),
]


def first(question: str) -> str:
    graph = KnowledgeGraph.from_triples(TRIPLES)
    config, names = Config().override(hops=3), NameIndex.of(graph)
    linked = make_linker(graph, names, config).link([Example("q", question, ())])
    run = make_retriever(graph, config).retrieve(linked)
    return graph.entities.names[int(run.entities[0])]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where is Tosk spoken?", "Albania"),
        ("Who is the leader of the country where Tosk is spoken?", "Rama"),
        ("Who is the mayor of the capital of Albania?", "Veliaj"),
        ("Where was the leader of Albania born?", "Vlora"),
        ("Tosk가 쓰이는 나라의 지도자는 누구인가요?", "Rama"),
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
    assert first(question) == answer
