"""The index of names: what a name means, one at a time or all at once, and the names most like one that the
graph lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import kg, write_kg
from tests.linking.test_names import graph_of
from tiny_graph_rag.formats import graphs
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph import names as names_module
from tiny_graph_rag.graph.names import BEGINNING, NameIndex
from tiny_graph_rag.graph.nearest import NearestNames, joined_names
from tiny_graph_rag.language.folding import fold, nfc
from tiny_graph_rag.language.kinds import Kind, kind_of_type

TEXTS = st.text("aA !가ßé\u0301", max_size=4)
NAMES = st.lists(TEXTS.filter(str.strip), min_size=1, max_size=8)  # an entity without a name is refused


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(NAMES, st.lists(TEXTS, max_size=8))
def test_a_name_means_its_exact_bearers_else_those_that_fold_alike(
    bearers: list[str], asked: list[str]
) -> None:
    names = NameIndex.of(graph_of(bearers))
    found = names.resolve_all(asked)
    for name in asked:
        exact = [row for row, entity in enumerate(bearers) if nfc(entity) == nfc(name) and fold(name)]
        folded = [row for row, entity in enumerate(bearers) if fold(entity) == fold(name) and fold(name)]
        assert found[name][0] == tuple(exact or folded)
        assert names.resolve(name) == found[name]


def test_variants_are_for_linking_and_resolve_nothing(tmp_path: Path) -> None:
    document = kg(["Dr. Watson", "Dr. No", "Sons & Daughters"])
    document["entities"]["Dr. Watson"]["entity_type"] = "PERSON"
    path = tmp_path / "x-KG.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    names = NameIndex.of(read_graph(path))
    assert sorted(names.others) == ["Sons  and  Daughters", "Watson"]
    assert names.resolve("Watson") == ((), None)


def test_the_index_of_a_cached_graph_is_the_built_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "CACHED_FROM_BYTES", 0)
    path = write_kg(
        tmp_path / "x-KG.json", ["Sons & Daughters", ("점순", ["그녀", "Her"]), "Ann Lee", "Ann Ray"]
    )
    built, written, read = (
        NameIndex.of(read_graph(path, item)) for item in (None, tmp_path / "c", tmp_path / "c")
    )
    assert list(built.names) == list(written.names) == list(read.names)
    for name in built.columns:
        one, two, three = (index.columns[name] for index in (built, written, read))
        assert list(one) == list(two) == list(three)
    assert len(list(tmp_path.glob("c/graphs/*/names"))) == 1


def test_the_last_known_word_of_a_type_says_its_kind() -> None:
    kinds = {"FICTIONAL_CHARACTER": Kind.PERSON, "Cities": Kind.UNKNOWN, "geoLocation": Kind.PLACE}
    kinds |= {"영화": Kind.WORK, "OTHER": Kind.UNKNOWN, "": Kind.UNKNOWN, "animals": Kind.THING}
    assert {name: kind_of_type(name) for name in kinds} == kinds


def test_a_name_is_known_without_its_accents_but_means_what_is_written() -> None:
    names = NameIndex.of(graph_of(["Antoine Prévost", "Prevost", "점순"]))
    assert [names.rows_of(text) for text in ("antoineprevost", "antoineprévost", "prévost")] == [
        [0],
        [0],
        [1],
    ]
    assert names.resolve("Antoine Prevost") == ((), None)
    assert names.resolve_reference("Antoine Prevost") == ((0,), "form")


def test_many_names_are_found_whatever_parts_they_were_read_in(monkeypatch: pytest.MonkeyPatch) -> None:
    written = [f"Name {number} of {number % 7}" for number in range(500)]
    whole = NameIndex.of(graph_of(written))
    monkeypatch.setattr(names_module, "CHUNK", 37)
    parts = NameIndex.of(graph_of(written))
    for column in ("keys", "rows", "slots", "reach"):
        assert parts.columns[column].tolist() == whole.columns[column].tolist()
    assert [whole.resolve(name.upper()) for name in written] == [((row,), "folded") for row in range(500)]
    assert whole.resolve("Name 500 of 3") == ((), None)
    longest = max((fold(name) for name in written), key=len)
    assert whole.table.longest(longest[:BEGINNING]) == len(longest)


@pytest.mark.parametrize(
    ("entities", "wanted", "found"),
    [
        (["Sherlock Holmes", "Helen Stoner", "Julia Stoner"], "sherlok holmes", ["Sherlock Holmes"]),
        (["점례", "점순이", "수탉"], "점숭이", ["점순이"]),  # letter by letter
        # An alias counts, and an entity comes once.
        ([("Grimesby Roylott", ["Dr. Roylott", "Doctor Roylott"]), "Rome"], "Dr Roylot", ["Dr. Roylott"]),
        (["Anna", "Bert"], "𝕏", []),
        (["Anna", "Annabel"], "Annabell", ["Annabel"]),
    ],
)
def test_the_nearest_name(tmp_path: Path, entities: list[Any], wanted: str, found: list[str]) -> None:
    path = write_kg(tmp_path / "x-KG.json", entities)
    nearest = NearestNames(read_graph(path)).of_all([wanted])[wanted]
    assert [item.name for item in nearest][:1] == found
    assert all(item.likeness > 0.9 for item in nearest[:1] if item.name == "Sherlock Holmes")
    if found == ["Annabel"]:
        assert list(json.loads(path.read_text())["entities"])[nearest[0].entity] == "Annabel"


@pytest.mark.parametrize(
    ("name", "near", "parts"),
    [
        ("Anna, Ben", ["Anna", "Ben", "Annabel"], ["Anna", "Ben"]),
        ("점순/수탉", ["수탉", "점순"], ["점순", "수탉"]),
        ("Anna, Ben", ["Anna", "Annabel"], []),  # only one part is an entity: it may be a title or a place
        ("Ann", ["Anna", "Annabel"], []),
    ],
)
def test_names_written_as_one_are_told_from_a_typing_error(name, near, parts) -> None:
    assert joined_names(name, near) == parts
