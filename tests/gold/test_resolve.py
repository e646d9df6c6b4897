"""What references mean: the design's conventions, one test each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import write_kg
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.names import NameIndex


def names_of(tmp_path: Path, *entities: object) -> NameIndex:
    return NameIndex.of(read_graph(write_kg(tmp_path / "a-KG.json", entities)))


def refer(names: NameIndex, *references: str, **more: tuple[str, ...]):
    asked = EvalSet((Example("q", "?", references, **more),))
    return resolve(asked, names, len(names.names)).references[0]


def test_exact_name_goes_before_alias_before_folded(tmp_path: Path) -> None:
    names = names_of(tmp_path, ("Rose", []), ("rose", []), ("Flower", ["ROSE"]))
    assert [
        (reference.entities, reference.resolved_by)
        for reference in refer(names, "Rose", "ROSE", "r-o-s-e", "Tulip")
    ] == [
        ((0,), "name"),
        ((2,), "alias"),
        ((0, 1, 2), "folded"),
        ((), None),
    ]


@pytest.mark.parametrize(
    ("entities", "reference", "entity"),
    [
        (("Basal Cell Carcinoma (BCC)", "Rose"), "BCC", 0),
        (
            ("Basal Cell Carcinoma", "BCC"),
            "Basal Cell Carcinoma (BCC)",
            None,
        ),  # two entities: fix merges them
        (("Basal Cell Carcinoma", "Rose"), "Basal Cell Carcinoma (BCC)", 0),
        (("Nautilus", "Rose"), "The Nautilus", 0),
        (("Smith & Wesson", "Rose"), "Smith and Wesson", 0),
        (("Québec", "Rose"), "Quebec", 0),
        (("Programmed Death 1 (PD-1)", "Pupillary Distance 1 (PD-1)"), "PD-1", None),
        (("Type 1 (T1)", "Type 2"), "Type 3", None),
    ],
)
def test_another_form_of_one_name_matches_and_says_so(
    tmp_path: Path, entities: tuple[str, ...], reference: str, entity: int | None
) -> None:
    (found,) = refer(names_of(tmp_path, *entities), reference)
    assert (found.entities, found.resolved_by) == (((entity,), "form") if entity is not None else ((), None))


def test_unicode_form_case_space_and_punctuation_fold(tmp_path: Path) -> None:
    names = names_of(tmp_path, "점순네 수탉", "U.S.A.")
    decomposed = "점순네수탉"  # no space
    assert refer(names, decomposed)[0].entities == (0,)
    import unicodedata

    assert refer(names, unicodedata.normalize("NFD", "점순네 수탉"))[0].resolved_by == "name"
    assert refer(names, "usa")[0].entities == (1,)


def test_two_references_of_one_entity_are_one_relevant_item(tmp_path: Path) -> None:
    names = names_of(tmp_path, ("점순이", ["점순"]), "감자")
    rows = refer(names, "점순이", "점순", "감자")
    assert [(row.item, row.shares_entity) for row in rows] == [(0, True), (0, True), (1, False)]
    judgments = resolve(EvalSet((Example("q", "?", ("점순이", "점순", "감자")),)), names, 2)
    assert judgments.relevant.tolist() == [2]


def test_a_reference_without_an_entity_stays_in_the_denominator(tmp_path: Path) -> None:
    names = names_of(tmp_path, "A")
    judgments = resolve(EvalSet((Example("q", "?", ("A", "ghost")),)), names, 1)
    assert judgments.relevant.tolist() == [2]
    assert judgments.pair_keys.tolist() == [0]


def test_highly_relevant_references_have_grade_two_whether_or_not_they_are_listed_twice(
    tmp_path: Path,
) -> None:
    names = names_of(tmp_path, "A", "B", "C")
    rows = refer(names, "A", "B", highly_relevant_entities=("B", "C"))
    assert [(row.name, row.grade) for row in rows] == [("A", 1), ("B", 2), ("C", 2)]
