"""In a graph without descriptions, a noun that nothing in it knows stands for a further relation."""

from __future__ import annotations

import pytest

from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.retrieval import make_retriever

TRIPLES = [("Tosk", "spokenIn", "Albania"), ("Albania", "dirigeant", "Rama"), ("Tosk", "famille", "Indo")]


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
        ("Which clever country is Tosk spoken in?", "Albania"),  # an unknown word that nothing has
    ],
)
def test_the_far_end_stands_before_the_bridge(question: str, answer: str) -> None:
    assert first(question) == answer
