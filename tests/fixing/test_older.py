"""What a graph has lost since an older version of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from benchmarks.fixes_damage import STORIES, score_of
from tests.conftest import real
from tiny_graph_rag.fixing.applying import patched
from tiny_graph_rag.fixing.older import propose_older
from tiny_graph_rag.fixing.patch import DRAFT, Patch, empty_patch
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph


def restored(now: KnowledgeGraph, older: KnowledgeGraph, *questions: Example) -> Patch:
    examples = EvalSet(questions)
    return empty_patch(now, examples).of(propose_older(now, older, examples))


def graph(
    names: Mapping[str, str | Mapping[str, Any]], triples: Sequence[tuple[str, str, str]] = ()
) -> KnowledgeGraph:
    """names: id → name, or the record."""
    return KnowledgeGraph.from_records(
        {id: {"name": name} if isinstance(name, str) else name for id, name in names.items()},
        [
            {"source_entity_id": source, "relationship_type": type, "target_entity_id": target}
            for source, type, target in triples
        ],
    )


OLD = graph(
    {"a": "Ada", "b": "Bert", "c": "Cora", "d": "Dora", "e": "Emil"},
    [("a", "KNOWS", "b"), ("b", "KNOWS", "c"), ("c", "KNOWS", "d"), ("d", "KNOWS", "e")],
)


def test_a_reference_that_was_merged_away_is_restored_with_its_relations_to_what_is_there() -> None:
    new = graph({"1": "Ada", "2": "Bert", "4": "Dora"}, [("1", "KNOWS", "2")])
    restore = restored(new, OLD, Example("q", "Whom does Bert know?", ("Cora",)))
    (entity,) = restore.restored_entities
    assert (entity.id, entity.name, entity.questions) == ("c", "Cora", ("q",))
    assert [(one.source_id, one.type, one.target_id) for one in restore.restored_relations] == [
        ("2", "KNOWS", "c"),
        ("c", "KNOWS", "4"),
    ]
    assert restore.renames == ()


def test_what_no_question_needs_stays_lost() -> None:
    new = graph({"1": "Ada", "2": "Bert"}, [("1", "KNOWS", "2")])
    restore = restored(new, OLD, Example("q", "Whom does Ada know?", ("Bert",)))
    assert (restore.renames, restore.restored_entities, restore.restored_relations) == ((), (), ())


def test_an_entity_between_a_seed_and_its_reference_is_needed_too() -> None:
    new = graph({"1": "Ada", "3": "Cora"})
    restore = restored(new, OLD, Example("q", "Whom does Ada's friend know?", ("Cora",)))
    assert [entity.name for entity in restore.restored_entities] == ["Bert"]
    assert [(one.source_id, one.target_id) for one in restore.restored_relations] == [("1", "b"), ("b", "3")]


def test_a_restored_entity_gets_an_id_that_the_graph_does_not_use() -> None:
    new = graph({"c": "Ada", "2": "Bert"})
    restore = restored(new, OLD, Example("q", "Whom does Bert know?", ("Cora",)))
    assert [entity.id for entity in restore.restored_entities] == ["c-older"]


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
    restore = restored(
        graph({"1": name, "2": "Bert"}), graph({"a": was, "b": "Bert"}), Example("q", "?", (was,))
    )
    # What folds to the same name resolves without a rename.
    assert [(one.was, one.name, one.entity_id) for one in restore.renames] in ([(was, name, "1")], [])
    assert restore.restored_entities == ()


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
def test_a_name_that_only_looks_alike_is_restored_and_not_renamed(was: str, name: str) -> None:
    restore = restored(
        graph({"1": name, "2": "Bert"}), graph({"a": was, "b": "Bert"}), Example("q", "?", (was,))
    )
    assert restore.renames == ()
    assert [entity.name for entity in restore.restored_entities] == [was]


def test_the_same_id_is_a_rename_only_where_ids_stayed_the_same() -> None:
    old = graph({f"e{number}": f"Name {number}x" for number in range(10)} | {"e10": "Kolkata"})
    new = graph({f"e{number}": f"Name {number}x" for number in range(10)} | {"e10": "Calcutta"})
    asked = Example("q", "?", ("Kolkata",))
    (rename,) = restored(new, old, asked).renames
    assert (rename.was, rename.name) == ("Kolkata", "Calcutta")
    counted_anew = graph({f"e{number}": f"Name {number + 1}x" for number in range(9)} | {"e10": "Calcutta"})
    assert restored(counted_anew, old, asked).renames == ()


def test_an_alias_that_became_the_name_is_a_rename() -> None:
    old = graph({"a": {"name": "Kolkata", "aliases": ["Calcutta"]}, "b": "Bert"})
    (rename,) = restored(graph({"1": "Calcutta"}), old, Example("q", "?", ("Kolkata",))).renames
    assert (rename.was, rename.entity_id) == ("Kolkata", "1")


def test_what_two_older_entities_claim_was_merged_and_not_renamed() -> None:
    old = graph({"a": "The Nautilus (ship)", "b": "Filters", "c": "The filter"})
    restore = restored(graph({"1": "Filter"}), old, Example("q", "?", ("Filters", "The filter")))
    assert restore.renames == ()


@pytest.mark.realdata
@pytest.mark.parametrize("story", STORIES)
def test_merged_stories_get_back_all_that_their_questions_need(story: str) -> None:
    now, was = (
        read_graph(real("tiny-graph-rag", f"kg-{kind}", f"{story}-KG.json"))
        for kind in ("resolved", "original")
    )
    for kind in ("eval", "hardset"):
        examples = read_eval_set(real("tiny-graph-rag", "eval", f"{story}-{kind}.jsonl"))
        patch = empty_patch(now, examples).of(propose_older(now, was, examples))
        assert patch.renames == ()
        assert score_of(now, examples) < 0.95
        graph, examples = patched(now, examples, patch, (DRAFT,))
        assert score_of(graph, examples) == pytest.approx(1.0)
