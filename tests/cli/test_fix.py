"""`fix`, `--patch` and `curate --patch`, as commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.conftest import read_json, write_gold, write_kg
from tests.fixing.made import write_world


@pytest.fixture
def proven(tmp_path: Path, run_cli) -> Path:
    """A world whose words were learned."""
    write_world(tmp_path)
    run_cli("fix", *GIVEN, "--kinds", "vocabulary", "-o", "./fixes.yaml", code=0)
    return tmp_path


GIVEN = ("-g", "world-KG.json", "--dataset", "world-eval.jsonl")


@pytest.mark.slow
def test_fix_proves_words_and_prints_ten_lines_with_a_control_beside_the_gain(proven: Path, run_cli) -> None:
    more = ("-o", "./again.yaml", "--report", "md,html,csv")
    out = run_cli("fix", *GIVEN, "--kinds", "vocabulary", *more, code=0).stdout
    lines = out.splitlines()
    assert len(lines) <= 12
    assert "4 words for relation types" in out
    assert "at random" in out
    found = yaml.safe_load((proven / "again.yaml").read_text(encoding="utf-8"))
    assert {entry["status"] for entry in found["vocabulary"]} == {"confirmed"}
    assert all(entry["low"] > 0 and "control" in entry and entry["n"] == 60 for entry in found["vocabulary"])
    assert (proven / "again.yaml").read_bytes() == (proven / "fixes.yaml").read_bytes()
    text = (proven / "again.md").read_text(encoding="utf-8")
    for head in ("Proven", "For you to judge", "Ask", "Not kept"):
        assert f"## {head}" in text
    assert "before and after" in (proven / "again.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_patch_is_applied_in_memory_and_named_in_the_results(proven: Path, run_cli) -> None:
    before = run_cli("eval", *GIVEN, "-o", "./before.json")
    after = run_cli("eval", *GIVEN, "--patch", "fixes.yaml", "-o", "./after.json")
    assert after.exit_code == before.exit_code == 0, after.stderr
    assert "patch fixes.yaml: 4 words" in after.stdout
    documents = [read_json(proven / f"{name}.json") for name in ("before", "after")]
    old, new = (document["summary"]["measures"]["ndcg@5"]["mean"] for document in documents)
    assert new > old + 0.3
    assert "patch" not in documents[0]
    assert (documents[1]["patch"]["name"], documents[1]["patch"]["applied"]) == ("fixes.yaml", "4 words")
    assert documents[0]["graph"] == documents[1]["graph"]
    past = run_cli("history .")
    assert sorted(re.findall(r"patch (none|fixes\.yaml)", past.stdout)) == ["fixes.yaml", "none"]
    run_cli("compare ./before.json ./after.json", code=0)
    run_cli("query", *GIVEN, "--id", "q0", "--patch", "fixes.yaml", "--skip-generation", code=0)
    run_cli("sweep", *GIVEN, "--patch", "fixes.yaml", "--hops", "1,2", "-o", "./sweep.json", code=0)
    assert read_json(proven / "sweep.json")["patch"]["name"] == "fixes.yaml"


@pytest.mark.slow
def test_convert_writes_the_patched_graph_and_its_words_beside_it(proven: Path, run_cli) -> None:
    run_cli("convert -g world-KG.json --patch fixes.yaml -o new-KG.json", code=0)
    assert yaml.safe_load((proven / "new-vocabulary.yaml").read_text())["PARENT"] == ["forebear"]
    run_cli("eval -g new-KG.json --dataset world-eval.jsonl -o ./new.json", code=0)
    run_cli("eval", *GIVEN, "--patch", "fixes.yaml", "-o", "./after.json", code=0)
    new, old = (read_json(proven / name) for name in ("new.json", "after.json"))
    assert new["summary"]["measures"] == old["summary"]["measures"]


PATCH = """
graph: {name: town}
questions: {name: town}
aliases:
- {entity_id: Air purifier A3, alias: Zephyr, evidence: [what people call it], questions: [q1]}
- {entity_id: Filter, alias: net, questions: [q2]}
- {entity_id: Gone, alias: lost, status: rejected}
"""


@pytest.fixture
def town(tmp_path: Path) -> Path:
    names = ["Air purifier A3", "Filter", "Kim", "Lee"]
    relations = [("Air purifier A3", "HAS", "Filter"), ("Kim", "MADE", "Air purifier A3")]
    write_kg(tmp_path / "town-KG.json", names, relations)
    write_gold(
        tmp_path / "town-eval.jsonl",
        {"id": "q1", "query": "Where is Zephyr?", "reference_entities": ["Air purifier A3"]},
        {"id": "q2", "query": "Who knows the net?", "reference_entities": ["Lee"]},
    )
    (tmp_path / "p.yaml").write_text(PATCH, encoding="utf-8")
    return tmp_path


TOWN = ("-g", "town-KG.json", "--dataset", "town-eval.jsonl")


def test_only_what_was_confirmed_changes_a_question(town: Path, run_cli) -> None:
    def ndcg(*more: str) -> float:
        run_cli("eval", *TOWN, "--linker", "names", "-o", "./r.json", *more, code=0)
        return float(read_json(town / "r.json")["summary"]["measures"]["ndcg@5"]["mean"])

    today = ndcg()
    assert ndcg("--patch", "p.yaml") == today
    confirmed = PATCH.replace("Zephyr", "Zephyr, status: confirmed", 1)
    (town / "p.yaml").write_text(confirmed, encoding="utf-8")
    assert ndcg("--patch", "p.yaml") > today


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aliases: [{entity_id: Gone, alias: x}]", "aliases[0]: the graph town has no entity 'Gone'"),
        ("aliases: [{entity_id: Kim}]", "(Object missing required field `alias`)"),
        (
            "settings: [{values: {retriever: 'evil.py:run'}, status: confirmed}]",
            "would run code or ask a service",
        ),
        (
            "settings: [{values: {base_url: 'http://x'}, status: confirmed}]",
            "base_url: 'http://x' isn't allowed",
        ),
        (
            "settings: [{values: {hops: many}, status: confirmed}]",
            "hops must be a whole number, got the string 'many'",
        ),
        ("aliases: !!python/object:os.system {}", "p.yaml:3:10: not YAML"),
    ],
)
def test_a_patch_that_cannot_be_used_is_one_line_and_exit_code_2(
    town: Path, run_cli, text: str, message: str
) -> None:
    (town / "p.yaml").write_text(
        f"graph: {{name: town}}\nquestions: {{name: town}}\n{text}\n", encoding="utf-8"
    )
    done = run_cli("eval", *TOWN, "--patch", "p.yaml", code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_flag_overrules_a_patch(town: Path, run_cli) -> None:
    (town / "p.yaml").write_text(
        "graph: {name: town}\nquestions: {name: town}\nsettings: [{values: {hops: 4}, status: confirmed}]\n",
        encoding="utf-8",
    )
    assert "4 hops" in run_cli("eval", *TOWN, "--patch", "p.yaml").stdout
    assert "1 hop" in run_cli("eval", *TOWN, "--patch", "p.yaml", "--hops", "1").stdout


def test_renames_need_an_older_graph_and_kinds_are_known(town: Path, run_cli) -> None:
    assert "--was" in run_cli("fix", *TOWN, "--kinds", "renames").stderr
    done = run_cli("fix", *TOWN, "--kinds", "alias", code=2)
    assert "did you mean 'aliases'" in done.stderr


def test_names_of_an_older_graph_are_proposed_with_their_cost(tmp_path: Path, run_cli) -> None:
    for version, dog, aliases in (("old", "Fido", ["Rex"]), ("new", "Rex", [])):
        triples = [("Anna", "KNOWS", "Bert"), ("Bert", "OWNS", dog)]
        write_kg(tmp_path / f"{version}-KG.json", ["Anna", "Bert", (dog, aliases)], triples)
    write_gold(
        tmp_path / "new-eval.jsonl",
        {"id": "q", "query": "What does Bert own?", "reference_entities": ["Fido"]},
    )
    given = ("-g", "new-KG.json", "--dataset", "new-eval.jsonl", "--was", "old-KG.json")
    run_cli("fix", *given, "--kinds", "renames", "-o", "./f.yaml", code=0)
    fixes = yaml.safe_load((tmp_path / "f.yaml").read_text(encoding="utf-8"))
    (rename,) = fixes["renames"]
    assert (rename["alias"], rename["name"], rename["won"]) == ("Fido", "Rex", ["q"])
    assert fixes["batches"][0]["won"] == 1
    (tmp_path / "f.yaml").write_text(yaml.safe_dump({**fixes, "confirm": ["renames"]}), encoding="utf-8")
    again = run_cli("fix", *given, "--kinds", "renames", "--limit", "1", "-o", "./f.yaml", code=0)
    assert "what is decided in f.yaml is kept" in again.stdout
    assert yaml.safe_load((tmp_path / "f.yaml").read_text(encoding="utf-8"))["confirm"] == ["renames"]
    assert "--patch f.yaml --limit 1 --skip-generation" in again.stdout


@pytest.mark.parametrize(
    "questions",
    [
        [{"query": "Whom does Ann know?", "reference_entities": ["Bob"]}],
        [
            {"query": "Whom does Ann know?", "reference_entities": ["Bob"], "group": "g"},
            {"query": "Ann knows whom?", "reference_entities": ["Bob"], "group": "g"},
        ],
        [{"query": "Whom does Ann know?", "reference_entities": ["Zed"]}],
    ],
    ids=["one question", "one group", "one missing reference"],
)
def test_too_few_questions_prove_nothing_and_harm_nothing(
    questions: list[dict], run_cli, own_folder: Path
) -> None:
    write_kg(own_folder / "t-KG.json", ["Ann", "Bob"], [("Ann", "KNOWS", "Bob")])
    write_gold(own_folder / "t-eval.jsonl", *questions)
    done = run_cli("fix --dataset ./t-eval.jsonl -g ./t-KG.json -o ./fixes.yaml", code=0)
    assert "too few groups of questions to compare settings (1 of" in " ".join(done.stdout.split())
