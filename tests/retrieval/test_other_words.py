"""Questions that ask the same in other words rank the same, whatever words descriptions happen to hold."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.conftest import ROOT
from tests.retrieval.test_bfs import graph_of, rows
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.retrieval import make_retriever

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


def ranked(graph: KnowledgeGraph, question: str) -> list[tuple[str, float]]:
    linked = make_linker(graph, NameIndex.of(graph), Config()).link([Example("q", question, ())])
    return [row[:2] for row in rows(graph, make_retriever(graph, Config()).retrieve(linked))]


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
