"""`eval` from the outside: files found, numbers written, mistakes said, gates on a tag, the workflow."""

from __future__ import annotations

import json
import shlex
import unicodedata
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, read_json, write_gold, write_kg, write_set

ENTITIES = ["Anna", "Ben", "Clara", "Dover"]
RELATIONS = [("Anna", "MARRIED_TO", "Ben"), ("Ben", "LIVES_IN", "Dover")]
QUESTION = {"id": "q1", "query": "Who is Anna?", "reference_entities": ["Anna", "Ghost"], "tags": ["easy"]}


@pytest.fixture
def files(own_folder: Path) -> Path:
    unanswered = {"query": "Ben?", "reference_entities": []}
    return write_set(own_folder, "story", ENTITIES, RELATIONS, QUESTION, unanswered)


def results(path: Path) -> dict:
    return read_json(path)


def test_the_graph_follows_from_the_name_and_results_lie_where_it_says(files: Path, run_cli) -> None:
    write_kg(files / "data/kg/other-KG.json", ["X"])
    done = run_cli("eval --dataset story-eval.jsonl --skip-generation", code=0)
    assert "story-eval · 2 questions · bfs, 2 hops" in done.stdout
    assert "results: data/results/story-eval-results.json" in done.stdout
    found = results(files / "data/results/story-eval-results.json")
    # q1: Anna at rank 1, Ghost is nowhere: P@5 = 1/5, R@5 = 1/2, MRR = 1; the second has no gold.
    summary = found["summary"]
    assert summary["mean_precision_at_k"] == pytest.approx(0.2)
    assert summary["mean_recall_at_k"] == 0.5
    assert summary["mean_mrr"] == 1.0
    assert (summary["questions"], summary["scored"], summary["without_gold"]) == (2, 1, 1)
    assert summary["measures"]["mrr"]["n"] == 1
    assert summary["by_tag"]["easy"]["measures"]["recall@5"]["mean"] == 0.5
    assert (summary["total_token_usage"], summary["estimated_cost_usd"]) == (0, 0.0)
    first, second = found["results"]
    assert first["references"][1] | {"resolved_by": None, "entity_ids": []} == first["references"][1]
    assert first["ranked"][1]["walk"] == [
        {"from": "Anna", "relation": "MARRIED_TO", "to": "Ben", "forward": True}
    ]
    assert (second["id"], second["metrics"]["mrr"]) == ("line-2", None)


def test_flags_go_before_the_environment_before_config_yaml(files: Path, run_cli, monkeypatch) -> None:
    for name in ("from-file", "from-env", "from-flag"):
        write_kg(files / name / "story-KG.json", [*ENTITIES, name], RELATIONS)
    (files / "config.yaml").write_text("storage:\n  kg_dir: from-file\nretrieval:\n  hops: 0\n")

    def graph_used(*flags: str) -> dict:
        done = run_cli("eval --dataset story-eval.jsonl -o -", *flags, code=0)
        return json.loads(done.stdout)

    assert graph_used()["config"]["storage"]["kg_dir"] == "from-file"
    assert graph_used()["config"]["retrieval"]["hops"] == 0
    monkeypatch.setenv("KG_DIR", "from-env")
    assert graph_used()["config"]["storage"]["kg_dir"] == "from-env"
    assert graph_used("--kg-dir", "from-flag", "--hops", "1")["config"]["storage"]["kg_dir"] == "from-flag"


def test_a_name_in_either_unicode_form_finds_the_file(own_folder: Path, run_cli) -> None:
    name = "동백꽃"
    write_kg(own_folder / "data/kg" / unicodedata.normalize("NFD", f"{name}-KG.json"), ENTITIES, RELATIONS)
    write_gold(own_folder / "data/eval" / unicodedata.normalize("NFD", f"{name}-eval.jsonl"), QUESTION)
    run_cli("eval --dataset", unicodedata.normalize("NFC", f"{name}-eval.jsonl"), code=0)
    assert (own_folder / "data/results" / f"{name}-eval-results.json").is_file()


def test_a_relative_path_is_looked_for_in_its_folder_first_then_here(files: Path, run_cli) -> None:
    write_gold(files / "here.jsonl", QUESTION)
    assert run_cli("eval --dataset here.jsonl").exit_code == 0
    write_gold(files / "data/eval/here.jsonl", QUESTION, QUESTION | {"id": "q2"})
    assert "here · 2 questions" in run_cli("eval --dataset here.jsonl").stdout


def test_quiet_prints_nothing_and_a_dash_prints_json_alone(files: Path, run_cli) -> None:
    quiet = run_cli("eval --dataset story-eval.jsonl --quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    dashed = run_cli("eval --dataset story-eval.jsonl -o -")
    assert json.loads(dashed.stdout)["results"][0]["id"] == "q1"
    assert "story-eval · 2 questions" in dashed.stderr


def test_selections_are_recorded_in_the_results(files: Path, run_cli) -> None:
    found = json.loads(run_cli("eval --dataset story-eval.jsonl --tags easy -o -").stdout)
    assert [result["id"] for result in found["results"]] == ["q1"]
    assert found["dataset"]["selection"] == {"limit": None, "tags": ["easy"], "ids": []}


def test_several_graphs_and_no_name_that_fits_lists_the_candidates(files: Path, run_cli) -> None:
    write_kg(files / "data/kg/other-KG.json", ["X"])
    write_gold(files / "data/eval/third-eval.jsonl", QUESTION)
    done = run_cli("eval --dataset third-eval.jsonl", code=2)
    assert "other-KG.json, story-KG.json" in done.stderr


def test_a_results_folder_that_cannot_be_written_is_refused_before_any_work(files: Path, run_cli) -> None:
    (files / "blocked").write_text("a file where a folder should be")
    done = run_cli("eval --dataset story-eval.jsonl --results-dir blocked", code=2)
    assert "wanted a folder, this is a file" in done.stderr


def test_gates_fail_with_exit_1_and_a_line_each(run_cli, tmp_path) -> None:
    asked = [{"query": query, "reference_entities": ["Bert"]} for query in ("Whom does Anna know?", "Who?")]
    write_set(tmp_path, "tale", ["Anna", "Bert"], [("Anna", "KNOWS", "Bert")], *asked)
    run = ("eval", "--dataset", "tale-eval.jsonl", "--quiet", "--skip-generation")
    # The first question finds Bert, the second nothing: recall .5, which 2 questions leave in doubt.
    assert run_cli(*run, "--fail-under", "recall@5>=0.5").exit_code == 0
    done = run_cli(*run, "--fail-under", "recall@5>0.5,hit@3>=.9,recall@5<=1", "--junit", "gates.xml", code=1)
    assert done.stderr.count("FAILED") == 2
    assert "gate hit@3>=0.9: mean 0.5000, FAILED" in done.stderr  # computed though not asked for
    assert 'tests="3" failures="2" errors="0"' in (tmp_path / "gates.xml").read_text()
    assert run_cli(*run, "--fail-under", "recall@5>=0.5", "--set", "running.gate_on=interval").exit_code == 1
    assert run_cli(*run, "--fail-under", "recall@5>=0.5", "--set", "running.gate_on=luck").exit_code == 2
    # What ended the job is in the file that CI shows, not the last run's figures.
    run_cli(*run, "-g", "gone.json", "--fail-under", "recall@5>=0.5", "--junit", "gates.xml", code=2)
    assert 'tests="1" failures="0" errors="1"' in (tmp_path / "gates.xml").read_text()


def test_an_undefined_measure_fails_its_gate(run_cli, tmp_path) -> None:
    write_set(tmp_path, "tale", ["Anna"], [], {"query": "Who?", "reference_entities": []})
    done = run_cli("eval --dataset tale-eval.jsonl --quiet --fail-under mrr>=0", code=1)
    assert "undefined" in done.stderr


def test_the_four_means_stand_in_the_summary_whatever_was_asked_for(files, run_cli) -> None:
    """Two questions: as in the run with the default measures."""
    names = ("mean_precision_at_k", "mean_recall_at_k", "mean_mrr", "mean_ndcg_at_k")
    found = []
    for measures in ((), ("--measures", "hit@1")):
        done = run_cli("eval --dataset story-eval.jsonl --skip-generation", *measures, "-o", "-")
        summary = json.loads(done.stdout)["summary"]
        found.append([summary[name] for name in names])
        assert summary["total_token_usage"] == 0
    assert found[0] == found[1]


def test_groups_are_counted_once(files, run_cli) -> None:
    def asked(**more):
        write_gold(
            files / "data/eval/wordings-eval.jsonl",
            *(
                {"id": f"q{n // 3}-{'abc'[n % 3]}", "query": f"{n}?", "reference_entities": [f"E{n // 3}"]}
                | {name: f"{value}{n // 3}" for name, value in more.items()}
                for n in range(18)
            ),
        )
        options = ("--dataset", "wordings-eval.jsonl", "-g", "story-KG.json", "--skip-generation")
        done = run_cli("eval", *options, "-o", "./out.json", "--details", code=0)
        return done.stdout + done.stderr, read_json(Path("out.json"))

    said, found = asked()
    assert "groups" not in found["summary"]
    said, found = asked(group="g")
    assert "groups of questions: 6," in said
    assert found["summary"]["groups"] == 6
    assert found["results"][4]["group"] == "g1"
    # No hit in six: Wilson's upper end is z² / (6 + z²), not that of eighteen.
    assert found["summary"]["measures"]["recall@5"]["high"] == pytest.approx(0.3903, abs=1e-4)


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
