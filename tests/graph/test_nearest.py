"""The names most like one that the graph lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import write_kg
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.nearest import NearestNames, joined_names


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
    nearest = NearestNames.of(read_graph(path).entities).of_all([wanted])[wanted]
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
