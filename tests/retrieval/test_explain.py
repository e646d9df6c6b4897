"""Reasons: what a rank is made of adds up to its score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from typer.testing import Result

from tests.conftest import write_kg
from tests.retrieval.test_bfs import FILMS, ask, cases, graph_of, made_from, retriever
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
    for seeds in (case[2][:1], case[2]):
        _, made, question = made_from((*case[:2], seeds, case[3]))
        run = made.retrieve([question])
        assert run.parts is not None
        for row, score in enumerate(run.scores.tolist()):
            explained = sum(part.price for part in made.reasons(question, run, row))
            assert explained == pytest.approx(run.parts[row, 1] / UNIT, abs=1e-9)
            assert score == pytest.approx(1 / (1 + run.parts[row].sum() / UNIT), abs=2e-6)


def query(run_cli: Callable[..., Result], folder: Path, *more: str, code: int = 0) -> Result:
    names, relations = ["Alien", "Scott", "Bannon"], [("Alien", "directed_by", "Scott")]
    path = write_kg(folder / "a-KG.json", names, [*relations, ("Alien", "written_by", "Bannon")])
    return run_cli("query", "Who made Alien?", "-g", path, *more, code=code)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("relations=directed", "relations: no relation type 'directed'; did you mean 'directed_by'?"),
        ("not_relations=zzz", "The graph has: directed_by"),
        ("types=PERSN", "retrieval.types: no entity type 'PERSN'"),
        ("direction=up", "retrieval.direction must be both, out or in, got 'up'"),
        ("min_weight=-1", "retrieval.min_weight must be 0"),
        ("vocabulary=words.yaml", "words.yaml: no such vocabulary"),
    ],
)
def test_a_filter_that_the_graph_does_not_know_is_said(
    run_cli: Callable[..., Result], tmp_path: Path, setting: str, message: str
) -> None:
    assert message in query(run_cli, tmp_path, "--set", f"retrieval.{setting}", code=2).stderr


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
    (tmp_path / "a-vocabulary.yaml").write_text(text, encoding="utf-8")
    assert message in query(run_cli, tmp_path, code=2).stderr
    query(run_cli, tmp_path, "--set", "retrieval.vocabulary=none")


def test_the_vocabulary_beside_the_graph_is_read_and_explained(
    run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "a-vocabulary.yaml").write_text("directed_by: [made]\n", encoding="utf-8")
    shown = query(run_cli, tmp_path, "--exclude-seeds", "--explain").stdout
    assert shown.index("Scott") < shown.index("Bannon")
    assert "made" in shown
    assert "—directed_by→ Scott" in shown
