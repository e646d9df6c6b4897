"""Patterns on the graph: by hand, against the same graph grown, and against generated sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.conftest import read_json, write_gold, write_kg
from tiny_graph_rag.errors import DatasetError
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.patterns import with_patterns

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
