"""What references mean: the design's conventions, one test each; patterns on the graph, by hand and against
the same graph grown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.conftest import read_json, write_gold, write_kg
from tiny_graph_rag.errors import DatasetError
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.patterns import with_patterns
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


NAMES = ["Anna", "Ben", "Cleo", "Dora", "Mill (old)"]
RELATIONS = [
    ("Anna", "KNOWS", "Ben"),
    ("Anna", "KNOWS", "Cleo"),
    ("Dora", "KNOWS", "Cleo"),
    ("Ben", "OWNS", "Mill (old)"),
    ("Anna", "RELATED_TO", "Dora"),
]


@pytest.mark.parametrize(
    ("pattern", "answers"),
    [
        ("(Anna)-[:KNOWS]->(?)", {"Ben", "Cleo"}),
        ("(Cleo)<-[:KNOWS]-(?)", {"Anna", "Dora"}),
        ("(Anna)-[:KNOWS]->()-[:OWNS]->(?)", {"Mill (old)"}),
        ('("Mill (old)")<-[:OWNS]-()<-[:knows]-(?)', {"Anna"}),
        ("(Anna)-[:KNOWS]->(?) AND (Dora)-[:KNOWS]->(?)", {"Cleo"}),
        ("(Dora)-[:RELATED_TO]-(?)", {"Anna"}),
        ("(Dora)-[:RELATED_TO]->(?)", {"Anna"}),
        ("(Anna)-[:KNOWS]-(?)", {"Ben", "Cleo"}),
    ],
)
def test_a_pattern_by_hand(tmp_path: Path, pattern: str, answers: set[str]) -> None:
    write_kg(tmp_path / "t-KG.json", NAMES, RELATIONS)
    path = write_gold(tmp_path / "p.jsonl", {"id": "q", "query": "Who?", "asks": pattern})
    (example,) = with_patterns(read_graph(tmp_path / "t-KG.json"), read_gold(path))
    assert set(example.reference_entities) == answers
    assert example.judged


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(Anna)-[:KNOW]->(?)", "no relation has the type 'KNOW'; did you mean 'KNOWS'"),
        ("(Nobody)-[:KNOWS]->(?)", "no entity has the name 'Nobody'"),
        ("(Anna)-[:KNOWS]->(Ben)", "can't read"),
        ("Anna knows whom?", "can't read"),
        ("(Anna)-[:KNOWS]->(?) OR (Dora)-[:KNOWS]->(?)", "can't read"),
        ({"paths": []}, "can't read"),
    ],
)
def test_what_is_no_pattern_is_said(tmp_path: Path, pattern: object, said: str) -> None:
    write_kg(tmp_path / "t-KG.json", NAMES, RELATIONS)
    path = write_gold(tmp_path / "p.jsonl", {"id": "q", "query": "Who?", "asks": pattern})
    with pytest.raises(DatasetError, match=said):
        with_patterns(read_graph(tmp_path / "t-KG.json"), read_gold(path))


def test_a_growing_graph_moves_the_references_and_refresh_writes_them(
    own_folder: Path, run_cli: Callable[..., Result]
) -> None:
    write_kg(own_folder / "t-KG.json", NAMES, RELATIONS)
    write_kg(own_folder / "grown-KG.json", [*NAMES, "Emil"], [*RELATIONS, ("Anna", "KNOWS", "Emil")])
    path = write_gold(
        own_folder / "p.jsonl",
        {"id": "q", "query": "Whom does Anna know?", "note": 1, "asks": "(Anna)-[:KNOWS]->(?)"},
    )
    before = path.read_bytes()
    for graph, recall in (("t-KG.json", 1.0), ("grown-KG.json", 1.0)):
        run_cli("eval --dataset ./p.jsonl -g", graph, "--skip-generation", "-o", "./o.json", code=0)
        (row,) = read_json(Path("o.json"))["results"]
        assert len(row["references"]) == (2 if graph == "t-KG.json" else 3)
        assert row["metrics"]["recall@5"] == recall
    assert path.read_bytes() == before
    run_cli("validate --dataset ./p.jsonl -g t-KG.json --refresh --pin")
    assert read_json(path)["reference_entities"] == ["Ben", "Cleo"]
    told = run_cli("validate --dataset ./p.jsonl -g grown-KG.json --refresh")
    assert "q: + Emil" in told.stdout, told.output
    assert "1 pattern computed on grown: 1 reference list changed" in told.stdout
    assert "the graph has changed since the gold set was pinned to t" in told.stdout
    assert read_json(path)["note"] == 1


def test_without_a_graph_a_pattern_is_refused(own_folder: Path, run_cli: Callable[..., Result]) -> None:
    write_gold(own_folder / "p.jsonl", {"id": "q", "query": "Who?", "asks": "(Anna)-[:KNOWS]->(?)"})
    (own_folder / "run.jsonl").write_text('{"id": "q", "entities": ["Ben"]}\n')
    done = run_cli("score --run run.jsonl --gold p.jsonl -o ./o.json")
    assert (done.exit_code, "add -g" in done.stderr) == (2, True)


def test_score_computes_references_of_patterns_on_its_graph(
    own_folder: Path, run_cli: Callable[..., Result]
) -> None:
    """Anna knows Ben and Cleo, as `validate --refresh` says above; the run holds one of the two."""
    write_gold(own_folder / "p.jsonl", {"id": "q", "query": "Who?", "asks": "(Anna)-[:KNOWS]->(?)"})
    (own_folder / "run.jsonl").write_text('{"id": "q", "entities": ["Ben"]}\n')
    write_kg(own_folder / "t-KG.json", NAMES, RELATIONS)
    run_cli("score --run run.jsonl --gold p.jsonl -g ./t-KG.json -o ./o.json", code=0)
    found = read_json(own_folder / "o.json")
    assert [reference["name"] for reference in found["results"][0]["references"]] == ["Ben", "Cleo"]
    assert found["summary"]["measures"]["recall@5"]["mean"] == 0.5
