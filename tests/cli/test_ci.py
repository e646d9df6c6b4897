"""Runs in continuous integration: gates on a tag, the summary of the job, the workflow."""

from __future__ import annotations

import json
import shlex

import pytest
import yaml

from tests.conftest import ROOT, write_gold, write_kg

WORKFLOW = ROOT / "examples" / "ci" / "retrieval-quality.yml"


@pytest.fixture
def tale(own_folder):
    """Two questions of a graph: one is answered, one is not; a third has no reference."""
    (own_folder / "data" / "kg").mkdir(parents=True)
    (own_folder / "data" / "eval").mkdir(parents=True)
    write_kg(own_folder / "data/kg/tale-KG.json", ["Anna", "Bert", "Rex"], [("Anna", "KNOWS", "Bert")])
    write_gold(
        own_folder / "data/eval/tale-eval.jsonl",
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
        ("tag:near/latency.p95<9", 2),
    ],
)
def test_a_gate_on_a_tag_looks_at_its_questions_only(tale, run_cli, gates, code) -> None:
    assert run_cli(*tale, "--fail-under", gates).exit_code == code


def test_a_tag_that_no_question_has_is_named_with_the_nearest(tale, run_cli) -> None:
    done = run_cli(*tale, "--fail-under", "tag:nearr/recall@5>=0.5")
    assert "no question has the tag 'nearr'; did you mean 'near'?" in done.stderr


def test_the_summary_of_the_job_is_appended(tale, run_cli, own_folder, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(own_folder / "summary.md"))
    (own_folder / "summary.md").write_text("before\n", encoding="utf-8")
    assert run_cli(*tale, "--fail-under", "recall@5>=0.9").exit_code == 1
    text = (own_folder / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("before\n## tale-eval\n")
    assert "FAILED" in text
    assert "1 of 2 questions: the answer is among the first 5." in text
    assert "| hard |" in text
    run_cli("sweep", "--dataset", "tale-eval.jsonl", "--hops", "0-1", "--quiet", "-o", "./s.json")
    assert "By hops" in (own_folder / "summary.md").read_text(encoding="utf-8")


def test_a_summary_that_can_not_be_written_stops_nothing(tale, run_cli, own_folder, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(own_folder / "no" / "summary.md"))
    assert run_cli(*tale, "--fail-under", "recall@5>=0.5").exit_code == 0


def test_times_of_an_external_run_are_gates_too(run_cli, own_folder) -> None:
    """Latencies .1, .2 and .3 s: the mean is .2, so 5 questions per second."""
    (own_folder / "qrels.txt").write_text("".join(f"q{n} 0 d 1\n" for n in (1, 2, 3)))
    rows = [{"id": f"q{n}", "retrieved": ["d"], "latency_seconds": n / 10} for n in (1, 2, 3)]
    (own_folder / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    score = (
        "score",
        "--run",
        "run.jsonl",
        "--gold",
        "qrels.txt",
        "--quiet",
        "-o",
        "./r.json",
        "--fail-under",
    )
    assert run_cli(*score, "latency.mean<0.21,throughput>=4.9").exit_code == 0
    assert run_cli(*score, "throughput>=5.1").exit_code == 1
    assert run_cli(*score, "latency.p95<0.2").exit_code == 1


def test_a_drop_in_a_tag_fails_a_comparison(tale, run_cli, own_folder) -> None:
    assert run_cli(*tale).exit_code == 0
    better = json.loads((own_folder / "r.json").read_text(encoding="utf-8"))
    better["results"][1]["metrics"] = better["results"][0]["metrics"]
    (own_folder / "better.json").write_text(json.dumps(better), encoding="utf-8")
    compare = ("compare", "./better.json", "./r.json", "--quiet", "-o", "./c.json", "--max-drop")
    assert run_cli(*compare, "tag:near/recall@5=0").exit_code == 0
    assert run_cli(*compare, "tag:far/recall@5=0.5").exit_code == 1
    assert run_cli(*compare, "tag:fra/recall@5=0.5").exit_code == 2


def test_the_docs_show_the_workflow_as_it_is() -> None:
    block = f"```yaml\n{WORKFLOW.read_text(encoding='utf-8')}```"
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
    environment["GATES"] = environment["GATES"].replace("latency.p95<0.5", "latency.p95<60")
    words = [word.removeprefix("$") for word in shlex.split(step["run"])]
    arguments = [environment.get(word, word) for word in words[4:]]
    done = run_cli(*arguments)
    assert done.exit_code == 0, done.stderr
    kept = [step for step in workflow["jobs"]["evaluate"]["steps"] if "upload" in step.get("uses", "")]
    for name in kept[0]["with"]["path"].split():
        assert (own_folder / name).is_file()
