"""What only the graph's owner can say, and entities that an older version of the graph called otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tiny_graph_rag.fixing.missing import propose_asks
from tiny_graph_rag.fixing.patch import Ask, Rename
from tiny_graph_rag.fixing.renames import propose_renames
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.run import Relation

MILL = "A smith. The old mill is near his house."
CITY = KnowledgeGraph.from_records(
    {
        "a": {"name": "Ada", "description": "A painter who lived with Bert Olsen.", "source_chunks": ["c1"]},
        "b": {"name": "Bert Olsen", "description": MILL, "source_chunks": ["c2"]},
        "c": {"name": "Cora", "description": "A nurse."},
        "d": {"name": "Dora", "description": "A judge."},
    },
    [{"source_entity_id": "b", "relationship_type": "KNOWS", "target_entity_id": "c"}],
)


def asks(query: str, reference: str) -> list[Ask]:
    return propose_asks(CITY, EvalSet((Example("q", query, (reference,)),)))


def test_two_that_a_text_names_together_are_asked_about_where_a_question_needs_it() -> None:
    (ask,) = asks("With whom did Ada live?", "Bert Olsen")
    assert ask.question == "How are Ada and Bert Olsen related?"
    assert ask.entity_ids == ("a", "b")
    assert ask.texts == ("A painter who lived with Bert Olsen.",)
    assert ask.chunks == ("c1",)
    assert (ask.lifts, ask.questions) == (1, ("q",))
    # A relation may be missing one step before the reference.
    assert [one.entity_ids for one in asks("Whom does Ada's companion know?", "Cora")] == [("a", "b")]


def test_nothing_is_asked_where_no_text_names_both_or_a_relation_joins_them() -> None:
    assert asks("Whom does Ada know?", "Dora") == []
    assert asks("Whom does Bert Olsen know?", "Cora") == []


def test_a_relation_that_the_gold_set_names_is_asked_for_with_its_type() -> None:
    stated = (Relation("Dora", "Cora", "JUDGED"),)
    questions = EvalSet(
        tuple(
            Example(f"q{number}", "Whom did Dora judge?", ("Cora",), reference_relations=stated)
            for number in range(2)
        )
    )
    (ask,) = propose_asks(CITY, questions)
    assert ask.question == "Is there a relation JUDGED between Cora and Dora?"
    assert ask.lifts == 2
    assert ask.evidence == ("the gold set names this relation",)


def test_a_lost_reference_is_asked_for_with_the_texts_that_mention_it() -> None:
    (ask,) = asks("What is near the smith's house?", "old mill")
    assert ask.reference == "old mill"
    assert ask.question == "What is old mill? The graph has no entity of this name."
    assert ask.texts == (MILL,)
    assert ask.chunks == ("c2",)


def test_a_lost_reference_that_looks_like_a_name_is_asked_about_and_never_renamed() -> None:
    (ask,) = asks("?", "Bert Olson")
    assert ask.question == "Is Bert Olson the same as Bert Olsen, or is it missing?"
    assert ask.entity_ids == ("b",)


def test_what_most_questions_would_gain_from_is_asked_first() -> None:
    lost = ("lighthouse",), ("harbour",), ("harbour", "lighthouse"), ("harbour",)
    questions = EvalSet(tuple(Example(f"q{n}", "?", references) for n, references in enumerate(lost)))
    found = [(ask.reference, ask.lifts) for ask in propose_asks(CITY, questions)]
    assert found == [("harbour", 3), ("lighthouse", 2)]


def propose(now: KnowledgeGraph, older: KnowledgeGraph, *questions: Example) -> list[Rename]:
    return propose_renames(now, older, EvalSet(questions))


def graph(names: Mapping[str, str | Mapping[str, Any]]) -> KnowledgeGraph:
    """names: id → name, or the record."""
    records = {id: {"name": name} if isinstance(name, str) else name for id, name in names.items()}
    return KnowledgeGraph.from_records(records, [])


@pytest.mark.parametrize(
    ("was", "name"),
    [
        ("동광학교(東光學校)", "동광학교"),
        ("Bell rope", "bell-rope"),
        ("점순", "점순이"),
        ("The Nautilus", "Nautilus"),
    ],
)
def test_a_name_that_is_one_by_its_words_was_renamed(was: str, name: str) -> None:
    old = graph({"a": was, "b": "Bert"})
    renames = propose(graph({"1": name, "2": "Bert"}), old, Example("q", "?", (was,)))
    # What folds to the same name resolves without a rename.
    assert [(one.alias, one.name, one.entity_id) for one in renames] in ([(was, name, "1")], [])


@pytest.mark.parametrize(
    ("was", "name"),
    [
        ("점순", "점례"),
        ("Julia Stoner", "Julia Stone"),
        ("그 학교", "학교"),
        ("Part 1", "Part 2"),
        ("수탉", "암탉"),
    ],
)
def test_a_name_that_only_looks_alike_is_asked_about_and_not_renamed(was: str, name: str) -> None:
    old = graph({"a": {"name": was, "description": "It was there."}, "b": "Bert"})
    now, asked = graph({"1": name, "2": "Bert"}), Example("q", "?", (was,))
    assert propose(now, old, asked) == []
    (ask,) = propose_asks(now, EvalSet((asked,)), old)
    assert (ask.reference, ask.evidence) == (was, ("the older graph has it: It was there.",))


def test_the_same_id_is_a_rename_only_where_ids_stayed_the_same() -> None:
    old = graph({f"e{number}": f"Name {number}x" for number in range(10)} | {"e10": "Kolkata"})
    new = graph({f"e{number}": f"Name {number}x" for number in range(10)} | {"e10": "Calcutta"})
    asked = Example("q", "?", ("Kolkata",))
    (rename,) = propose(new, old, asked)
    assert (rename.alias, rename.name) == ("Kolkata", "Calcutta")
    counted_anew = graph({f"e{number}": f"Name {number + 1}x" for number in range(9)} | {"e10": "Calcutta"})
    assert propose(counted_anew, old, asked) == []


def test_an_alias_that_became_the_name_is_a_rename() -> None:
    old = graph({"a": {"name": "Kolkata", "aliases": ["Calcutta"]}, "b": "Bert"})
    (rename,) = propose(graph({"1": "Calcutta"}), old, Example("q", "?", ("Kolkata",)))
    assert (rename.alias, rename.entity_id) == ("Kolkata", "1")


def test_what_two_older_entities_claim_was_merged_and_not_renamed() -> None:
    old = graph({"a": "The Nautilus (ship)", "b": "Filters", "c": "The filter"})
    assert propose(graph({"1": "Filter"}), old, Example("q", "?", ("Filters", "The filter"))) == []
