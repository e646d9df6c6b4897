"""Reasons: what a rank is made of adds up to its score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from typer.testing import Result

from tests.conftest import write_kg
from tests.retrieval.test_bfs import FILMS, ask, cases, graph_of, retriever
from tiny_graph_rag.retrieval.cost import UNIT


def test_the_parts_of_a_rank_in_words() -> None:
    """Alien —directed_by→ Scott .1 explains directed; back to Blade Runner .1 + .1 explains the way back."""
    graph = graph_of(FILMS)
    made = retriever(graph)
    question = ask("the director of Alien also directed which films", graph, "Alien")
    parts = made.reasons(question, made.retrieve([question]), 0)
    assert [(part.what, part.price) for part in parts] == [
        ("—directed_by→ Scott", 0.1),
        ("←directed_by— Blade Runner", 0.2),
    ]
    assert parts[0].words == ("director", "directed")


@pytest.mark.slow
@given(case=cases())
@settings(max_examples=200, deadline=None)
def test_what_a_path_explains_and_leaves_adds_up_to_its_part_of_the_cost(case: Any) -> None:
    triples, text, seeds, flags = case
    names = sorted({end for triple in triples for end in (triple[0], triple[2])} | set(seeds))
    graph = graph_of(triples, names=names)
    made = retriever(graph, **flags)
    for some in (seeds[:1], seeds):
        question = ask(text, graph, *some)
        run = made.retrieve([question])
        assert run.parts is not None
        for row, score in enumerate(run.scores.tolist()):
            explained = sum(part.price for part in made.reasons(question, run, row))
            assert explained == pytest.approx(run.parts[row, 1] / UNIT, abs=1e-9)
            assert score == pytest.approx(1 / (1 + run.parts[row].sum() / UNIT), abs=2e-6)


def test_query_explains_ranks(run_cli: Callable[..., Result], tmp_path: Path) -> None:
    write_kg(tmp_path / "a-KG.json", ["Alien", "Scott"], [("Alien", "directed_by", "Scott")])
    found = run_cli("query", "Who directed Alien?", "-g", "a-KG.json", "--kg-dir", tmp_path, "--explain")
    assert found.exit_code == 0, found.output
    assert "—directed_by→ Scott" in found.stdout
    assert "directed" in found.stdout


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        (
            "--set",
            "retrieval.relations=directed",
            "retrieval.relations: no relation type 'directed'; did you mean 'directed_by'?",
        ),
        ("--set", "retrieval.not_relations=zzz", "The graph has: directed_by"),
        ("--set", "retrieval.types=PERSN", "retrieval.types: no entity type 'PERSN'"),
        ("--set", "retrieval.direction=up", "retrieval.direction must be both, out or in, got 'up'"),
        ("--set", "retrieval.min_weight=-1", "retrieval.min_weight must be 0"),
        ("--set", "retrieval.vocabulary=words.yaml", "words.yaml: no such vocabulary"),
    ],
)
def test_a_filter_that_the_graph_does_not_know_is_said(
    run_cli: Callable[..., Result], tmp_path: Path, flag: str, value: str, message: str
) -> None:
    write_kg(tmp_path / "a-KG.json", ["Alien", "Scott"], [("Alien", "directed_by", "Scott")])
    found = run_cli("query", "Who directed Alien?", "-g", tmp_path / "a-KG.json", flag, value)
    assert found.exit_code == 2
    assert message in found.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("direct_by: [made]", "no relation or entity type 'direct_by'; did you mean 'directed_by'?"),
        ("directed_by: {made: 1}", "'directed_by' must be a list of words, got an object"),
        ("directed_by: [[made]]", "must be a list of words, got a list"),
        ("- made", "wanted lines such as 'written_by: [wrote]', got a list"),
        ("directed_by: [made", "not YAML"),
    ],
)
def test_a_vocabulary_that_does_not_fit_the_graph_is_said(
    run_cli: Callable[..., Result], tmp_path: Path, text: str, message: str
) -> None:
    write_kg(tmp_path / "a-KG.json", ["Alien", "Scott"], [("Alien", "directed_by", "Scott")])
    (tmp_path / "a-vocabulary.yaml").write_text(text, encoding="utf-8")
    found = run_cli("query", "Who made Alien?", "-g", tmp_path / "a-KG.json")
    assert found.exit_code == 2
    assert message in found.stderr
    assert (
        run_cli(
            "query", "Who made Alien?", "-g", tmp_path / "a-KG.json", "--set", "retrieval.vocabulary=none"
        ).exit_code
        == 0
    )


def test_the_vocabulary_beside_the_graph_is_read(run_cli: Callable[..., Result], tmp_path: Path) -> None:
    write_kg(
        tmp_path / "a-KG.json",
        ["Alien", "Scott", "Bannon"],
        [("Alien", "directed_by", "Scott"), ("Alien", "written_by", "Bannon")],
    )
    (tmp_path / "a-vocabulary.yaml").write_text("directed_by: [made]\n", encoding="utf-8")
    found = run_cli("query", "Who made Alien?", "-g", tmp_path / "a-KG.json", "--exclude-seeds", "--explain")
    assert found.stdout.index("Scott") < found.stdout.index("Bannon")
    assert "made" in found.stdout
