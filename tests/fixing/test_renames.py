"""Entities that an older version of the graph called otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tiny_graph_rag.fixing.missing import propose_asks
from tiny_graph_rag.fixing.patch import Rename
from tiny_graph_rag.fixing.renames import propose_renames
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph


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
