"""The names most like one that the graph lacks."""

from __future__ import annotations

import json

import pytest

from tests.conftest import write_kg
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.nearest import NearestNames, joined_names


def nearest(tmp_path, names, wanted):
    write_kg(tmp_path / "x-KG.json", names)
    graph = read_graph(tmp_path / "x-KG.json")
    return NearestNames.of(graph.entities).of_all([wanted])[wanted]


def test_a_typing_error_finds_the_name(tmp_path) -> None:
    found = nearest(tmp_path, ["Sherlock Holmes", "Helen Stoner", "Julia Stoner"], "sherlok holmes")
    assert found[0].name == "Sherlock Holmes"
    assert found[0].likeness > 0.9


def test_hangul_is_compared_letter_by_letter(tmp_path) -> None:
    found = nearest(tmp_path, ["점례", "점순이", "수탉"], "점숭이")
    assert found[0].name == "점순이"


def test_an_alias_counts_and_an_entity_comes_once(tmp_path) -> None:
    found = nearest(tmp_path, [("Grimesby Roylott", ["Dr. Roylott", "Doctor Roylott"]), "Rome"], "Dr Roylot")
    assert [item.name for item in found] == ["Dr. Roylott"]


def test_nothing_like_it_is_nothing(tmp_path) -> None:
    assert nearest(tmp_path, ["Anna", "Bert"], "𝕏") == ()


def test_it_names_an_entity_of_the_file(tmp_path) -> None:
    path = write_kg(tmp_path / "x-KG.json", ["Anna", "Annabel"])
    graph = read_graph(path)
    near = NearestNames.of(graph.entities).of_all(["Annabell"])["Annabell"][0]
    assert list(json.loads(path.read_text())["entities"])[near.entity] == "Annabel"


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
