"""`--retriever my_rag.py:retrieve`: real files with real functions, killed and resumed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.conftest import ROOT, read_json, write_gold, write_kg
from tiny_graph_rag.cli import app

GOLD = [
    {"id": "a", "query": "Where does Ann live?", "reference_entities": ["Dover"]},
    {"id": "b", "query": "Who lives in Dover?", "reference_entities": ["Ann", "Ben"]},
    {"id": "c", "query": "Who is Zoe?", "reference_entities": ["Zoe"]},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lives = [("Ann", "LIVES_IN", "Dover"), ("Ben", "LIVES_IN", "Dover")]
    write_kg(tmp_path / "town-KG.json", ("Ann", "Ben", "Dover", "Calais"), lives)
    write_gold(tmp_path / "town-eval.jsonl", *GOLD)
    return tmp_path


def arguments(spec: str, *more: str) -> list[str]:
    return [
        *("eval", "--dataset", "town-eval.jsonl", "-g", "town-KG.json", "--retriever", spec),
        *("--skip-generation", "-o", "./out.json", "--top-k", "2", "--measures", "recall@2,mrr", *more),
    ]


def run(spec: str, *more: str) -> subprocess.CompletedProcess[str]:
    """The command in this process; the retriever has one of its own anyway."""
    words = arguments(spec, *more)
    done = CliRunner().invoke(app, words)
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def results(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(folder / "out.json")
    return found


def write(folder: Path, code: str) -> None:
    (folder / "my_rag.py").write_text(code, encoding="utf-8")


@pytest.mark.parametrize(
    "code",
    [
        "def retrieve(q):\n    return ['Dover', 'Ann']",
        "async def retrieve(q):\n    return [('Ann', 0.1), ('Dover', 0.7)]",
        "def retrieve(q):\n    return ({'name': n} for n in ('Dover', 'Ann'))",
        "def retrieve(q):\n    return {'entities': [{'id': 'Dover'}, {'id': 'Ann'}], 'answer': 'x'}",
        "class R:\n    async def __call__(self, q):\n        return ['Dover', 'Ann']\nretrieve = R()",
    ],
)
def test_whatever_a_function_returns_is_ranked_as_it_says(folder: Path, code: str) -> None:
    write(folder, code)
    found = run("my_rag.py:retrieve")
    assert found.returncode == 0, found.stderr
    rows = {result["id"]: result for result in results(folder)["results"]}
    assert [entity["name"] for entity in rows["a"]["ranked"]] == ["Dover", "Ann"]
    assert rows["a"]["metrics"] == {"recall@2": 1.0, "mrr": 1.0}
    assert rows["b"]["metrics"] == {"recall@2": 0.5, "mrr": 0.5}  # Ann stands second, Ben nowhere


def test_a_function_of_an_importable_module(folder: Path) -> None:
    (folder / "pack").mkdir()
    (folder / "pack" / "rag.py").write_text("def find(q):\n    return ['Dover']", encoding="utf-8")
    assert run("pack.rag:find").returncode == 0
    assert results(folder)["summary"]["measures"]["recall@2"]["mean"] == pytest.approx(1 / 3)


def test_what_the_graph_lacks_keeps_its_place_and_finds_no_reference(folder: Path) -> None:
    write(folder, "def retrieve(q):\n    return ['Nobody', 'Zoe', 'Dover']")
    found = run("my_rag.py:retrieve")
    rows = {result["id"]: result["metrics"] for result in results(folder)["results"]}
    assert rows["a"] == {"recall@2": 0.0, "mrr": pytest.approx(1 / 3)}
    assert rows["c"] == {"recall@2": 0.0, "mrr": 0.0}  # Zoe is not in the graph, whoever says her name
    assert "count as wrong: 2, such as 'Nobody', 'Zoe'" in found.stdout


def test_errors_and_timeouts_score_nothing_and_are_listed(folder: Path) -> None:
    write(
        folder,
        "import time\n"
        "def retrieve(q):\n"
        "    if 'Ann' in q: raise KeyError('no index')\n"
        "    if 'Zoe' in q: time.sleep(900)\n"
        "    return ['Ann', 'Ben']",
    )
    # A function that is waited for would hold the run for a quarter of an hour.
    found = run("my_rag.py:retrieve", "--set", "openai.timeout=5")
    rows = {result["id"]: result["metrics"] for result in results(folder)["results"]}
    assert rows == {
        "a": {"recall@2": 0.0, "mrr": 0.0},
        "b": {"recall@2": 1.0, "mrr": 1.0},
        "c": {"recall@2": 0.0, "mrr": 0.0},
    }
    assert "2 of 3 questions failed and score 0, such as" in found.stdout
    assert "Traceback" not in found.stdout + found.stderr


def test_retrieve_lists_what_failed_apart_from_what_found_nothing(folder: Path) -> None:
    write(folder, "def retrieve(q):\n    return [] if 'Dover' in q else 1 / 0 if 'Ann' in q else ['Dover']")
    words = ["retrieve", "town-eval.jsonl", "-g", "town-KG.json", "--retriever", "my_rag.py:retrieve"]
    done = CliRunner().invoke(app, [*words, "-o", "./run.jsonl"])
    assert (done.exit_code, done.stderr) == (3, "error: a: ZeroDivisionError: division by zero\n")
    assert "retrieved nothing for 1 question: b" in done.stdout
    assert [json.loads(line)["id"] for line in (folder / "run.jsonl").read_text("utf-8").splitlines()] == [
        "b",
        "c",
    ]


def test_where_every_question_fails_nothing_was_measured(folder: Path) -> None:
    write(folder, "def retrieve(q):\n    return 7")
    found = run("my_rag.py:retrieve")
    assert found.returncode == 3
    assert "every question failed, such as 'a': ValueError: wanted a list of names" in found.stderr
    assert not (folder / "out.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "spec", "message"),
    [
        ("def retrieve(q): return []", "my_rag.py:retrive", "has no 'retrive'; did you mean 'retrieve'?"),
        ("import nothing_of_this_name", "my_rag.py:retrieve", "importing it failed: ModuleNotFoundError"),
        ("retrieve = 3", "my_rag.py:retrieve", "'retrieve' is not a function but int"),
        ("x = (", "my_rag.py:retrieve", "importing it failed: SyntaxError"),
        ("", "other.py:retrieve", "no such file"),
    ],
)
def test_a_function_that_is_not_there_is_told_in_a_line(
    folder: Path, code: str, spec: str, message: str
) -> None:
    write(folder, code)
    found = run(spec)
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


COUNTING = (
    "def retrieve(q):\n"
    "    with open('calls.txt', 'a') as f: f.write(q + '\\n')\n"
    "    return ['Dover', 'Ann', 'Ben']"
)


def test_a_run_that_was_cut_off_goes_on_and_asks_no_question_twice(folder: Path) -> None:
    write(folder, COUNTING)
    assert run("my_rag.py:retrieve", "--set", "openai.concurrency=1").returncode == 0
    journal = folder / "out.retrieved.jsonl"
    *whole, _ = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(whole) + b'{"id": "c", "torn')
    found = run("my_rag.py:retrieve", "--resume")
    assert found.returncode == 0, found.stderr
    calls = (folder / "calls.txt").read_text(encoding="utf-8").split("\n")
    assert [calls.count(question["query"]) for question in GOLD] == [1, 1, 2]  # the third was cut off
    assert "replies taken from the journal: 2" in found.stdout
    assert run("my_rag.py:retrieve2", "--resume").returncode == 2


def test_answers_and_usage_are_kept_and_scored(folder: Path) -> None:
    write_gold(folder / "town-eval.jsonl", *({**question, "ground_truth": "In Dover"} for question in GOLD))
    write(
        folder,
        "def retrieve(q):\n"
        "    if 'Zoe' in q: raise ValueError\n"
        "    said = 'in Dover' if 'Ann' in q else 'Calais'\n"
        "    told = {'answer': said, 'context': ['a', 'b'], 'usage': {'total_tokens': 7}}\n"
        "    return {'entities': ['Dover'], **told}",
    )
    assert run("my_rag.py:retrieve").returncode == 0
    found = results(folder)
    own = found["summary"]["own_retriever"]
    assert (own["failed"], own["answered"], own["usage"]) == (1, 2, {"total_tokens": 14})
    assert own["answer_scores"]["exact_match"] == {"mean": pytest.approx(1 / 3), "n": 3}
    rows = {result["id"]: result["own_retriever"] for result in found["results"]}
    assert (rows["a"]["answer"], rows["a"]["context"]) == ("in Dover", "a\nb")
    assert rows["c"]["error"] == "ValueError"


@pytest.mark.slow
def test_what_a_function_prints_stays_off_standard_output(folder: Path) -> None:
    write(
        folder,
        "import os\ndef retrieve(q):\n    print('noise')\n    os.write(1, b'raw')\n    return ['Dover']",
    )
    found = subprocess.run(
        [
            *(sys.executable, str(ROOT / "main.py")),
            *("-" if part == "./out.json" else part for part in arguments("my_rag.py:retrieve")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["kind"] == "eval"
    assert "noise" in found.stderr


def test_chunks_returned_as_names_are_told_to_be_passages(folder: Path) -> None:
    write(folder, "def retrieve(q):\n    return ['Ann moved to Dover in spring.', 'Calais lies opposite.']")
    assert "return them as 'passages'" in run("my_rag.py:retrieve").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [('"score": null', '"score": {}'), ('"name": ', '"nom": '), ('"seconds": ', '"seconds": 1' + "0" * 400)],
)
def test_a_changed_journal_of_replies_is_refused_with_its_line(folder: Path, change: tuple[str, str]) -> None:
    write(folder, "def retrieve(q):\n    return ['Dover']")
    assert run("my_rag.py:retrieve").returncode == 0
    journal = folder / "out.retrieved.jsonl"
    journal.write_text(journal.read_text("utf-8").replace(*change).replace('"id": ""', '"id": null'), "utf-8")
    found = run("my_rag.py:retrieve", "--resume")
    assert found.returncode == 2
    assert "out.retrieved.jsonl:1: not a line of a journal" in found.stderr
