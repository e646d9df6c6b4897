"""Altered questions: what each kind does to a text, and what an evaluation loses by it."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import write_gold, write_kg
from tiny_graph_rag.study.perturb import KINDS, lowered, mistyped, respaced, without_particles


def chance(seed: int = 0) -> random.Random:
    return random.Random(seed)


def test_lower_makes_capitals_small() -> None:
    assert lowered("Who is Anna?", chance()) == "who is anna?"


def test_a_typo_is_a_neighbouring_key() -> None:
    for seed in range(50):
        (typo,) = mistyped("g", chance(seed))
        assert typo in "fhtyvb"
    for seed in range(50):
        (typo,) = mistyped("점", chance(seed))
        # Beside ㅈ: ㅂ ㄷ ㅁ ㄴ; beside ㅓ: ㅗ ㅏ ㅕ ㅑ ㅜ ㅡ; beside ㅁ: ㅂ ㅈ ㄴ ㅋ.
        assert typo in "범덤멈넘좀잠졈쟘줌즘접젖전젘", typo


def test_one_letter_in_twenty_is_mistyped() -> None:
    text = "abcdefghij" * 10
    wrong = mistyped(text, chance())
    assert len(wrong) == len(text)
    assert 1 <= sum(one != other for one, other in zip(text, wrong, strict=True)) <= 5


def test_spaces_are_removed_and_added() -> None:
    found = respaced("점순네 수탉은 누구를 닮았어", chance())
    assert found.replace(" ", "") == "점순네수탉은누구를닮았어"
    assert found != "점순네 수탉은 누구를 닮았어"


def test_particles_are_dropped_or_exchanged() -> None:
    seen = {without_particles("점순이는 수탉을 어디에서 봤어?", chance(seed)) for seed in range(60)}
    assert "점순이 수탉 어디 봤어?" in seen
    assert "점순이은 수탉를 어디 봤어?" in seen
    assert without_particles("Who is Anna?", chance()) == "Who is Anna?"
    assert without_particles("나는 가", chance()) == "나는 가"  # too short to tell a particle from the word


@given(text=st.text(max_size=80), seed=st.integers(0, 9))
def test_the_same_seed_gives_the_same_text_and_nothing_breaks(text, seed) -> None:
    for alter in KINDS.values():
        assert alter(text, chance(seed)) == alter(text, chance(seed))


@pytest.fixture
def files(tmp_path):
    write_kg(tmp_path / "data/kg/tale-KG.json", ["Anna", "Bert", "Carl"], [("Anna", "KNOWS", "Bert")])
    write_gold(
        tmp_path / "data/eval/tale-eval.jsonl",
        {"id": "a", "query": "Anna?", "reference_entities": ["Bert"]},
        {"id": "c", "query": "Carl?", "reference_entities": ["Carl"]},
    )


def test_an_evaluation_says_what_each_kind_costs(run_cli, tmp_path, files) -> None:
    done = run_cli(
        "eval", "--dataset", "tale-eval.jsonl", "--quiet", "--perturb", "typos,lower", "-o", "./r.json"
    )
    assert done.exit_code == 0, done.stderr
    summary = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["summary"]
    typos, lower = summary["perturbations"]
    # A name of four letters with a typo in it links to nothing: recall 1 becomes 0 for both.
    assert (typos["kind"], typos["altered"]) == ("typos", 2)
    drop = typos["measures"]["recall@5"]
    assert (drop["mean"], drop["drop"], drop["high"], drop["n"]) == (0, 1, 1, 2)
    # Two of two: z² / (2 + z²) = .66 of the questions may be of another kind, and lose nothing.
    assert drop["low"] == pytest.approx(1 - 0.6576, abs=1e-3)
    assert [item["id"] for item in typos["broken"]] == ["a", "c"]
    assert lower["altered"] == 2
    assert summary["mean_recall_at_k"] == 1


def test_an_unknown_kind_is_said(run_cli, files) -> None:
    done = run_cli("eval", "--dataset", "tale-eval.jsonl", "--perturb", "typo")
    assert done.exit_code == 2
    assert "did you mean 'typos'" in done.stderr


def test_score_has_gates_too(run_cli, tmp_path, files) -> None:
    (tmp_path / "run.trec").write_text("a Q0 Bert 1 2.0 x\nc Q0 Anna 1 1.0 x\n")
    run = ("score", "--run", "./run.trec", "--gold", "tale-eval.jsonl", "--quiet")
    assert run_cli(*run, "--fail-under", "recall@1>=0.5").exit_code == 0
    done = run_cli(*run, "--fail-under", "recall@1>0.5,hit@2>=1")
    assert done.exit_code == 1, done.stderr
    assert done.stderr.count("FAILED") == 2
