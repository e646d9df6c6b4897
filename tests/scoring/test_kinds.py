"""Relations and passages against tables worked out by hand, and `score` of what `eval` wrote."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import kg
from tiny_graph_rag import KnowledgeGraph, evaluate, load_questions, sweep
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.study.trials import GoldQuestions

KNOWN = [
    ("Ann", "SISTER_OF", "Bea"),
    ("Bea", "LIVES_IN", "Dover"),
    ("Bea", "BORN_IN", "Calais"),
    ("Cy", "KNOWS", "Ann"),
]
GOLD: list[dict[str, Any]] = [
    {
        "id": "a",
        "query": "Where does Ann's sister live?",
        "reference_entities": ["Dover"],
        "seed_entities": ["Ann"],
        "reference_relations": [
            {"source": "Ann", "type": "SISTER_OF", "target": "Bea"},
            {"source": "Bea", "type": "LIVES_IN", "target": "Dover"},
        ],
        "reference_chunks": ["c1", "c2"],
    },
    {
        "id": "b",
        "query": "Whom does Cy know?",
        "reference_entities": ["Ann"],
        "seed_entities": ["Cy"],
        "reference_relations": [["Cy", "KNOWS", "Ann"]],
        "reference_texts": ["Cy knows Ann."],
    },
    {"id": "c", "query": "Is it late in Calais?", "reference_entities": [], "seed_entities": ["Calais"]},
]
REPLIES: dict[str, dict[str, Any]] = {
    GOLD[0]["query"]: {
        "entities": ["Dover"],
        "relations": [
            ("Bea", "SISTER_OF", "Ann"),  # 1: the wrong way round, and it has a type: another relation
            ("ann", "sister of", "BEA"),  # 2: the first reference
            ("Ann", "SISTER_OF", "Bea"),  # dropped: the same again
            {"source": "Dover", "target": "Bea"},  # 3: no type and so no direction: the second reference
            ("Bea", "BORN_IN", "Calais"),  # 4
        ],
        "passages": ["c9", "c2", "c2", "c1"],  # c2 at 2, c1 at 3
    },
    GOLD[1]["query"]: {
        "entities": ["Ann"],
        "relations": [("Cy", "KNOWS", "Ann")],
        "passages": [{"id": "c7", "text": "cy  KNOWS ann."}],
    },
    GOLD[2]["query"]: {"entities": [], "relations": [], "passages": []},
}


@pytest.fixture
def graph() -> KnowledgeGraph:
    document = kg(["Ann", "Bea", "Dover", "Calais", "Cy"], KNOWN)
    chunks = {"Ann": ["c1", "c3"], "Bea": ["c1", "c2"], "Dover": ["c2"], "Calais": ["c8"]}
    for name, ids in chunks.items():
        document["entities"][name]["source_chunks"] = ids
    return KnowledgeGraph.from_records(document["entities"], document["relationships"], name="town")


def means(graph: KnowledgeGraph, measures: str, replies: Any = REPLIES.get, **settings: Any) -> list[float]:
    result = evaluate(graph, load_questions(GOLD), retriever=replies, measures=measures, **settings)
    return list(result.means.values())


def test_recall_of_triples_is_the_tables(graph: KnowledgeGraph) -> None:
    measures = "relations:recall@2,relations:recall@3,relations:precision@4,relations:mrr,relations:map"
    # a finds its two references at 2 and 3, b its one at 1; c has none and is in no mean.
    by_hand = [(1 / 2 + 1) / 2, 1, (2 / 4 + 1 / 4) / 2, (1 / 2 + 1) / 2, ((1 / 2 + 2 / 3) / 2 + 1) / 2]
    assert means(graph, measures) == pytest.approx(by_hand)


def test_a_relation_is_found_by_its_id_too(graph: KnowledgeGraph) -> None:
    with_ids = [{**GOLD[0], "reference_relations": [{"id": "r1", "source": "Ann", "target": "Bea"}]}]
    reply = {"relations": [{"id": "r2", "source": "Cy", "target": "Bea"}, {"id": "r1"}]}
    result = evaluate(graph, load_questions(with_ids), retriever=lambda _: reply, measures="relations:mrr")
    assert result.means == {"relations:mrr": 0.5}


def test_passages_are_found_by_id_or_by_text(graph: KnowledgeGraph) -> None:
    # a: ids at 2 and 3 (duplicates dropped); b has texts alone, which are the same but for case and spaces.
    assert means(graph, "passages:mrr,passages:recall@2") == pytest.approx([(1 / 2 + 1) / 2, (1 / 2 + 1) / 2])
    assert means(graph, "passages:recall@3", match="id") == pytest.approx([1.0])  # b has no ids: undefined
    assert means(graph, "passages:recall@3", match="text") == pytest.approx([1.0])  # a has no texts


def test_measures_of_relations_see_what_was_returned(graph: KnowledgeGraph) -> None:
    measures = "relations:completeness,relations:set_precision@9"
    # a: of four different relations returned two are references.
    assert means(graph, measures) == pytest.approx([1, (2 / 4 + 1) / 2])
    without = {query: {"entities": reply["entities"]} for query, reply in REPLIES.items()}
    result = evaluate(graph, load_questions(GOLD), retriever=without.get, measures=measures)
    assert all(mean != mean for mean in result.means.values()), "undefined, not made up from the graph"
    assert "returned no relations for any question" in " ".join(result.evaluation.notes)


def test_a_retriever_of_passages_has_no_entities_to_judge(graph: KnowledgeGraph) -> None:
    """It has no entity measure, so no question scores 0 for a list of entities that it never has."""
    passages = {query: {"passages": reply["passages"]} for query, reply in REPLIES.items()}
    result = evaluate(graph, load_questions(GOLD), retriever=passages.get)
    assert list(result.means) == [f"passages:{name}" for name in ("precision@5", "recall@5", "mrr", "ndcg@5")]
    empty = sum(not reply["passages"] for reply in REPLIES.values())
    assert (result.summary.overall.nothing_retrieved, empty) == (1, 1)
    asked = evaluate(graph, load_questions(GOLD), retriever=passages.get, measures="recall@5")
    assert asked.means["recall@5"] != asked.means["recall@5"]
    assert "returned no entities for any question: recall@5 undefined" in " ".join(asked.evaluation.notes)


def test_passages_alone_decide_in_sweep_and_fix_too(graph: KnowledgeGraph) -> None:
    """Ann's neighbours name c2 only at the second hop."""
    alone = [{"query": GOLD[0]["query"], "reference_chunks": [chunk]} for chunk in ("c2", "c8")]
    result = evaluate(graph, alone, hops=2)
    found = sweep(graph, alone, hops=[0, 2]).to_pandas().query("measure == 'passages:recall@5'")
    assert found["mean"].tolist() == [0, result.means["passages:recall@5"]] == [0, 1]
    questions = GoldQuestions.with_references(
        graph, load_questions(alone), Config(), Measure.parse("passages:recall@5")
    )
    assert questions.today.values.tolist() == [1, 1]


def test_a_built_in_retrievers_context_is_cut_at_k(graph: KnowledgeGraph) -> None:
    measures = "relations:recall@5,relations:set_precision@5,context_completeness"
    questions = load_questions(GOLD[:1])
    whole = evaluate(graph, questions, measures=measures, hops=3, top_k=5)
    # Seed Ann and all others: four relations, of which two are references.
    assert list(whole.means.values()) == pytest.approx([1, 2 / 4, 1])
    little = evaluate(graph, questions, measures=measures, hops=3, top_k=5, context_tokens=1)
    assert list(little.means.values()) == [0, 0, 0]


def test_chunks_stand_for_entities_and_entities_for_chunks_where_asked(graph: KnowledgeGraph) -> None:
    entities = {GOLD[0]["query"]: ["Calais", "Bea"], GOLD[1]["query"]: [], GOLD[2]["query"]: []}
    questions = load_questions([GOLD[0]])
    asked = {"measures": "passages:mrr", "source_chunks": "passages"}
    result = evaluate(graph, questions, retriever=entities.get, **asked)
    assert result.means == {"passages:mrr": 1 / 2}  # c8 of Calais, then Bea's c1
    asked = {"measures": "recall@2,mrr", "source_chunks": "entities"}
    result = evaluate(graph, questions, retriever=lambda question: {"passages": ["c8", "c2"]}, **asked)
    # c8: Calais; c2: Bea, then Dover in the order of the graph.
    assert result.means == pytest.approx({"recall@2": 0, "mrr": 1 / 3})


def test_a_kind_is_part_of_a_measures_spelling() -> None:
    measure = Measure.parse("Relations:nDCG@5")
    assert (str(measure), measure.of, measure.name) == ("relations:ndcg@5", "relations", "ndcg")
    assert Measure.parse("entities:recall@5") == Measure.parse("recall@5")
    for wrong in ("relations:context_relevance", "relations:passages:mrr", "chunks:mrr", "relations:"):
        with pytest.raises(UsageError):
            Measure.parse(wrong)
