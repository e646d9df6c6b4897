"""Runs in continuous integration: gates on a tag, the workflow."""

from __future__ import annotations

import json
import shlex

import pytest
import yaml

from tests.conftest import ROOT, read_json, write_set

WORKFLOW = ROOT / "examples" / "ci" / "retrieval-quality.yml"


@pytest.fixture
def tale(own_folder):
    """Two questions of a graph: one is answered, one is not; a third has no reference."""
    write_set(
        *(own_folder, "tale", ["Anna", "Bert", "Rex"], [("Anna", "KNOWS", "Bert")]),
        {"id": "easy", "query": "Anna?", "reference_entities": ["Bert"], "tags": ["near"]},
        {"id": "hard", "query": "Anna?", "reference_entities": ["Rex"], "tags": ["far"]},
        {"id": "none", "query": "Anna?", "reference_entities": [], "tags": ["far"]},
    )
    return ("eval", "--dataset", "tale-eval.jsonl", "--quiet", "-o", "./r.json")


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        ("tag:near/recall@5>=1", 0),
        ("recall@5>=0.5,tag:far/recall@5>=0.5", 1),
        ("tag:far/recall@5<=0", 0),
        ("tag:fär/recall@5>=0.5", 2),
        ("tag:/recall@5>=0.5", 2),
        ("tag:near>=0.5", 2),
        ("tag:near/latency<9", 0),
    ],
)
def test_a_gate_on_a_tag_looks_at_its_questions_only(tale, run_cli, gates, code) -> None:
    assert run_cli(*tale, "--fail-under", gates).exit_code == code


def test_a_tag_that_no_question_has_is_named_with_the_nearest(tale, run_cli) -> None:
    done = run_cli(*tale, "--fail-under", "tag:nearr/recall@5>=0.5")
    assert "no question has the tag 'nearr'; did you mean 'near'?" in done.stderr


def test_a_drop_in_a_tag_fails_a_comparison(tale, run_cli, own_folder) -> None:
    assert run_cli(*tale).exit_code == 0
    better = read_json(own_folder / "r.json")
    better["results"][1]["metrics"] = better["results"][0]["metrics"]
    (own_folder / "better.json").write_text(json.dumps(better), encoding="utf-8")
    compare = ("compare", "./better.json", "./r.json", "--quiet", "-o", "./c.json", "--max-drop")
    assert run_cli(*compare, "tag:near/recall@5=0").exit_code == 0
    assert run_cli(*compare, "tag:far/recall@5=0.5").exit_code == 1
    assert run_cli(*compare, "tag:fra/recall@5=0.5").exit_code == 2


def test_the_docs_show_what_to_change_in_the_workflow_as_it_is() -> None:
    workflow = WORKFLOW.read_text(encoding="utf-8")
    block = f"```yaml\n{workflow[workflow.index('env:') : workflow.index('jobs:')].rstrip()}\n```"
    for page in ("ci.md", "ci.ko.md"):
        assert block in (ROOT / "docs" / page).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command_of_the_workflow_runs(run_cli, own_folder) -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    step = next(step for step in workflow["jobs"]["evaluate"]["steps"] if "uvx" in step.get("run", ""))
    environment = workflow["env"] | {
        "GRAPH": str(ROOT / "data/kg/김유정-동백꽃-KG.json"),
        "QUESTIONS": str(ROOT / "data/eval/김유정-동백꽃-hardset.jsonl"),
    }
    words = [word.removeprefix("$") for word in shlex.split(step["run"])]
    arguments = [environment.get(word, word) for word in words[4:]]
    run_cli(*arguments, code=0)
    kept = [step for step in workflow["jobs"]["evaluate"]["steps"] if "upload" in step.get("uses", "")]
    for name in kept[0]["with"]["path"].split():
        assert (own_folder / name).is_file()
