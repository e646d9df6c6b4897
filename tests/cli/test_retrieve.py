"""`retrieve`: a run for questions that nobody judged, and a submission that a contest's own code reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.conftest import read_json, write_kg

RELATIONS = [("Anna", "KNOWS", "Ben"), ("Ben", "KNOWS", "Cleo")]


@pytest.fixture
def town(own_folder: Path) -> Path:
    write_kg(own_folder / "town-KG.json", ["Anna", "Ben", "Cleo"], RELATIONS)
    rows = [
        {"eval_id": 78, "msg": [{"role": "user", "content": "Whom does Anna know?"}]},
        {"eval_id": 9, "msg": [{"role": "user", "content": "hello"}]},
        {"eval_id": "x", "msg": [{"role": "user", "content": "Who knows Cleo?"}]},
    ]
    (own_folder / "eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return own_folder


def mean_precision(gold: dict[Any, list[str]], predictions: list[dict[str, Any]]) -> float:
    """The contest's rule, as it is published: written here anew from its description."""
    total = 0.0
    for row in predictions:
        wanted = gold[row["eval_id"]]
        if not wanted:
            total += not row["topk"]
            continue
        hits = [rank for rank, id in enumerate(row["topk"][:3], start=1) if id in wanted]
        total += sum(place / rank for place, rank in enumerate(hits, start=1)) / len(hits) if hits else 0.0
    return total / len(predictions)


def test_a_submission_keeps_ids_as_they_are_and_scores_as_the_contest_scores(
    town: Path, run_cli: Callable[..., Result]
) -> None:
    done = run_cli("retrieve eval.jsonl -g town-KG.json -o ./sub.csv --format contest --names", code=0)
    assert "retrieved nothing for 1 question: 9" in done.stdout
    assert "run has no line" not in done.output
    rows = [json.loads(line) for line in (town / "sub.csv").read_text().splitlines()]
    assert [row["eval_id"] for row in rows] == [78, 9, "x"]
    assert rows[1]["topk"] == []
    assert "Ben" in rows[0]["topk"]
    gold = {78: ["Ben"], 9: [], "x": ["Ben"]}
    (town / "gold.json").write_text(json.dumps({str(id): names for id, names in gold.items()}))
    run_cli("score --run sub.csv --gold gold.json --measures contest_map@3 -o ./o.json")
    found = read_json(Path("o.json"))["summary"]["measures"]["contest_map@3"]["mean"]
    assert found == pytest.approx(mean_precision(gold, rows), abs=1e-12)


def test_a_text_of_questions_and_standard_output(town: Path, run_cli: Callable[..., Result]) -> None:
    (town / "q.txt").write_text("Whom, if anybody, does Anna know?\n\nWho knows Cleo?\n")
    done = run_cli("retrieve q.txt -g town-KG.json -o -", code=0)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == ["q001", "q003"]


def test_what_would_be_destroyed_or_is_no_form_is_refused(town: Path, run_cli: Callable[..., Result]) -> None:
    over = run_cli("retrieve eval.jsonl -g town-KG.json -o ./eval.jsonl")
    assert (over.exit_code, "would destroy it" in over.stderr) == (2, True)
    odd = run_cli("retrieve eval.jsonl -g town-KG.json -o ./run.xml", code=2)
    assert "doesn't say the format; end it in one of: .trec" in odd.stderr


def test_a_form_without_empty_lists_says_what_becomes_of_them(run_cli, town: Path) -> None:
    """A question that rightly gets nothing looks, in a TREC file, like one that was left out."""
    rows = [{"query": "Ben?", "reference_entities": ["Ben"]}, {"query": "Xyzzy?", "reference_entities": []}]
    (town / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for command in (
        ["retrieve", "gold.jsonl", "-o", "./a.trec"],
        ["eval", "--dataset", "gold.jsonl", "--skip-generation", "--save-run", "./b.csv"],
    ):
        done = run_cli(*command, "-g", "town-KG.json", code=0)
        assert "run has no line for a question that retrieved nothing" in done.output
