"""What texts add to explanations, shown on graphs small enough to follow by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import kg
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, make_linker
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.retrieval.bfs import BfsRetriever, mentions_of
from tiny_graph_rag.retrieval.text_evidence import Evidence
from tiny_graph_rag.retrieval.text_index import TextIndex, content_stems
from tiny_graph_rag.run import NO_HOP

FILLERS = [f"Filler {each}" for each in range(30)]
TOLD = {
    "Ada Marsh": "A keeper who lights the lamp at dusk.",
    "Port Vane": "A town of herring and rope.",
    **dict.fromkeys(["Gull Rock", "Tulsa, Oklahoma", "Tulsa", "Ida Holt", "The Refinery", *FILLERS], ""),
}
WALKS = [
    ("Ada Marsh", "related", "Gull Rock"),
    ("Gull Rock", "related", "Port Vane"),
    ("Ida Holt", "born in", "Tulsa, Oklahoma"),
    ("The Refinery", "stands in", "Tulsa"),
    *((one, "related", other) for one, other in pairwise(FILLERS)),
]


def described(path: Path, told: dict[str, str], walks: Sequence[tuple[str, str, str]]) -> KnowledgeGraph:
    document = kg(list(told), walks)
    for name, text in told.items():
        document["entities"][name]["description"] = text
    path.write_text(json.dumps(document), encoding="utf-8")
    return read_graph(path)


@pytest.fixture
def graph(tmp_path: Path) -> KnowledgeGraph:
    return described(tmp_path / "harbour-KG.json", TOLD, WALKS)


def asked(graph: KnowledgeGraph, question: str) -> tuple[BfsRetriever, LinkedQuestion]:
    config = Config()
    (linked,) = make_linker(graph, NameIndex.of(graph), config).link(
        [Example(id="q", query=question, reference_entities=())]
    )
    retriever = make_retriever(graph, config)
    assert isinstance(retriever, BfsRetriever)
    return retriever, linked


def ranked(graph: KnowledgeGraph, question: str) -> list[str]:
    retriever, linked = asked(graph, question)
    return [graph.entities.names[each] for each in retriever.retrieve([linked]).entities.tolist()]


def evidence(graph: KnowledgeGraph, question: str) -> Evidence:
    retriever, linked = asked(graph, question)
    return retriever.evidence.of(linked, retriever.reader.read(linked), mentions_of(linked))


def test_what_is_told_of_an_entity_counts_for_its_neighbours_too(graph: KnowledgeGraph) -> None:
    found = evidence(graph, "Who lights the lamp?")
    row = {name: each for each, name in enumerate(graph.entities.names)}
    told, beside, drawn = found.told.of, found.beside.of, found.drawn.of
    assert told(row["Ada Marsh"]) > 0 == told(row["Gull Rock"])
    assert beside(row["Gull Rock"]) == told(row["Ada Marsh"])
    assert beside(row["Ada Marsh"]) == 0  # nobody tells its only neighbour of a lamp
    assert drawn(row["Gull Rock"]) > drawn(row["Port Vane"]) > 0 == drawn(row["Filler 3"])
    sources = (found.told, found.beside, found.drawn, found.named, found.visited)
    assert all(
        found.total.of(each) == sum(source.of(each) for source in sources) for each in range(len(graph))
    )


def test_a_question_that_names_nothing_brings_what_lies_near_what_it_tells_of(graph: KnowledgeGraph) -> None:
    assert ranked(graph, "Who lights the lamp?")[:3] == ["Ada Marsh", "Gull Rock", "Port Vane"]


def test_a_word_that_a_relation_type_claims_counts_half_as_text(tmp_path: Path) -> None:
    told = {"Ada Marsh": "a rower", "Ben Holt": "a rower", **dict.fromkeys(FILLERS, "")}
    path = tmp_path / "boats-KG.json"
    graph = described(path, told, [("Filler 0", "rower", "Filler 1")])
    found = evidence(graph, "Which rower trained with Filler 3?")
    whole = TextIndex(graph).bits(content_stems("rower")[0]).of(0)
    assert found.told.of(0) == whole // 2 > 0


def test_each_mention_sends_its_own_walkers(graph: KnowledgeGraph) -> None:
    row = {name: each for each, name in enumerate(graph.entities.names)}
    one, other, both = (
        evidence(graph, f"What about {names}?").visited.of
        for names in ("Ada Marsh", "Port Vane", "Ada Marsh and Port Vane")
    )
    assert [both(each) for each in row.values()] == [one(each) + other(each) for each in row.values()]
    assert both(row["Gull Rock"]) > one(row["Gull Rock"]) > 0


def test_walkers_step_between_names_that_are_nearly_one(graph: KnowledgeGraph) -> None:
    retriever, linked = asked(graph, "What stands in the birthplace of Ida Holt?")
    run = retriever.retrieve([linked])
    hops = dict(zip((graph.entities.names[each] for each in run.entities), run.hops.tolist(), strict=True))
    assert hops["Tulsa, Oklahoma"] == 1
    assert hops["Tulsa"] == hops["The Refinery"] == NO_HOP  # no relation leads there
    assert not hops.keys() & {"Ada Marsh", *FILLERS}


def test_a_seed_explained_by_no_walk_may_pass_what_a_walk_reaches(graph: KnowledgeGraph) -> None:
    """The more is left unexplained, the more a bit weighs: whatever has most of them comes first."""
    assert ranked(graph, "Which keeper lights a lamp with oil near Port Vane at dusk?")[0] == "Ada Marsh"
