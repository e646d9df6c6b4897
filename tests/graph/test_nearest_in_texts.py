"""Names that a text nearly says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import write_kg
from tests.linking.test_names import graph_of
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.nearest import nearest_names

ENTITIES = [
    "청소로봇 H1",
    "청소로봇 H2",
    "New York City",
    "Sherlock Holmes",
    "Calcutta",
    "박록주",
    ("International Business Machines", ["Big Blue"]),
    "Red Lion Inn",
]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("H1은 어디에 있나?", ["청소로봇 H1"]),
        ("what did h1 clean?", ["청소로봇 H1"]),
        ("로봇은 몇 대인가?", ["청소로봇 H1", "청소로봇 H2"]),
        ("how large is NYC?", ["New York City"]),
        ("what does IBM sell?", ["International Business Machines"]),
        ("Where did Shrlock Holms live?", ["Sherlock Holmes"]),
        ("박녹주를 누가 좋아해?", ["박록주"]),
        ("is it Blue?", ["Big Blue"]),
        ("a red one?", []),  # a word in lower case that is a small part of a name
        ("how many people live in Kolkata?", []),
        ("", []),
        ("?!", []),
    ],
)
def test_parts_codes_initials_and_misspellings_point_at_names(
    tmp_path: Path, text: str, names: list[str]
) -> None:
    index = NameIndex.of(read_graph(write_kg(tmp_path / "x-KG.json", ENTITIES)))
    near = nearest_names(text, index, 5)
    assert [name.name for name in near] == names
    assert all(0 < name.likeness <= 1 for name in near)


def test_a_name_said_with_two_words_is_nearer_than_one_said_with_one() -> None:
    index = NameIndex.of(graph_of(["Sherlock Holmes", "Mycroft Holmes"]))
    near = nearest_names("Was that Shrlock Holmes?", index)
    assert [name.name for name in near] == ["Sherlock Holmes", "Mycroft Holmes"]
    assert near[0].words == "Shrlock Holmes"
    assert nearest_names("Was that Shrlock Holmes?", index, 1) == near[:1]


def test_a_word_that_too_many_names_have_points_at_none() -> None:
    index = NameIndex.of(
        graph_of([f"Street {letter}{number}" for letter in "ABCDEF" for number in range(20)])
    )
    assert nearest_names("Which Street?", index) == ()
    assert [name.name for name in nearest_names("Which street is C7?", index)] == ["Street C7"]
