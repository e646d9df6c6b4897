"""What is said where something is wrong or missing: the true reason, in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import read_json, write_set
from tiny_graph_rag.report.plain import walked
from tiny_graph_rag.retrieval import walks

ASKED = {"query": "Whom does Anna know?", "reference_entities": ["Bertram"]}
EVAL = ("eval", "--dataset", "tale-eval.jsonl", "--skip-generation")
OWN = "def retrieve(query):\n    return ['Rex']\n"


@pytest.fixture
def tale(own_folder: Path) -> Path:
    relations = [("Anna", "KNOWS", "Bertram"), ("Bertram", "OWNS", "Rex")]
    questions = ({"id": f"q{n}", **ASKED} for n in range(40))
    write_set(own_folder, "tale", ["Anna", "Bertram", "Rex"], relations, *questions)
    (own_folder / "mine.py").write_text(OWN, "utf-8")
    return own_folder


@pytest.mark.parametrize("retriever", ["bfs", "bm25", "mine.py:retrieve", "run:r.jsonl"])
def test_hops_are_said_only_of_what_walks(tale: Path, run_cli, retriever: str) -> None:
    (tale / "r.jsonl").write_text('{"id": "q0", "retrieved": ["Rex"]}\n', "utf-8")
    done = run_cli(*EVAL, "--retriever", retriever, "-o", "./r.json", code=0)
    says_hops = retriever == "bfs"
    assert ("2 hops" in done.stdout.splitlines()[0]) is says_hops
    assert walked(read_json(tale / "r.json")["summary"]) is says_hops


def test_what_walks_is_told_by_the_retrievers_name() -> None:
    walking = ("bfs", "pagerank", "hybrid", "hybrid:bfs+bm25")
    others = ("bm25", "mine.py:retrieve", "run:r.jsonl", "hybrid:bm25+dense")
    assert [name for name in (*walking, *others) if walks(name)] == list(walking)


def test_history_marks_what_eval_marks(tale: Path, run_cli) -> None:
    assert "?" not in run_cli(*EVAL, "-o", "./many.json").stdout.partition("where")[0]
    assert "?" not in run_cli("history .").stdout
    run_cli(*EVAL, "--limit", "3", "-o", "./few.json")
    told = run_cli("history .").stdout
    assert "?" in told
    assert "? unreliable:" in told


@pytest.mark.parametrize(
    ("arguments", "hint", "never"),
    [
        (
            ("score", "--run", "missing.trec", "--gold", "tale-eval.jsonl"),
            "`eval --save-run FILE` writes",
            "init",
        ),
        (("compare", "a.json", "b.json"), "`eval` and `score` write one", "init"),
        (("query", "x", "-g", "nope"), "there are: tale-KG.json", "LICENSE"),
        (("convert", "-g", "nope", "-o", "x.json"), "there are: tale-KG.json", "LICENSE"),
        (("query", "x", "-g", "tale"), "did you mean 'tale-KG.json'?", "LICENSE"),
        (("query", "x", "-g", "rag_storag"), "did you mean 'rag_storage'?", "LICENSE"),
        (("eval", "--dataset", "tale-evl"), "did you mean 'tale-eval.jsonl'?", "LICENSE"),
    ],
)
def test_what_is_not_there_is_offered_what_could_be_meant(
    tale: Path, run_cli, arguments: tuple[str, ...], hint: str, never: str
) -> None:
    (tale / "LICENSE").write_text("MIT", "utf-8")
    (tale / "rag_storage").mkdir()
    done = run_cli(*arguments, code=2)
    assert hint in done.stderr
    assert never not in done.stderr


@pytest.mark.parametrize(
    ("gold", "graph", "hint"),
    [
        ("data/kg/tale-KG.json", "tale-KG.json", "looks like a knowledge graph; give that with -g"),
        ("tale-eval.jsonl", "data/eval/tale-eval.jsonl", "looks like a gold set; give that with --dataset"),
    ],
)
def test_a_graph_and_a_gold_set_in_each_others_place_are_told(
    tale: Path, run_cli, gold: str, graph: str, hint: str
) -> None:
    done = run_cli("eval --dataset", gold, "-g", graph, "--skip-generation")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 2)
    assert hint in done.stderr


@pytest.mark.parametrize("command", [("query", "x"), ("visualize",), ("generate",), ("stats",)])
def test_an_empty_graph_is_no_matter_of_retrieval(tale: Path, run_cli, command: tuple[str, ...]) -> None:
    (tale / "empty.json").write_text('{"entities": {}, "relationships": []}', "utf-8")
    done = run_cli(*command, "-g", "empty.json")
    assert (done.exit_code, "the graph has no entities" in done.stderr) == (2, True)
    assert "retrieve" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("evl",), "no such command: evl; did you mean 'eval'? (`"),
        (("eval",), "--dataset is missing (`"),
        (("eval", "--datase", "x"), "no such option: --datase; did you mean '--dataset'"),
        (("eval", "--dataset"), "--dataset needs a value\n"),
        (("eval", "--quiet=3", "--dataset", "x"), "--quiet takes no value\n"),
        (("eval", "--dataset", "x", "--hops", "two"), "--hops: wanted a whole number (`"),
        (("recommend", "--dataset", "x", "--pool", "0"), "--pool: wanted 1 or more (`"),
        (("visualize", "--max-nodes", "0"), "--max-nodes: wanted from 1 to 1000 (`"),
        (("dataset", "part"), "no such command: part; there are: merge, split"),
        (("stats", "x"), "unexpected argument: x (`"),
    ],
)
def test_a_wrong_command_line_is_one_line(run_cli, arguments: tuple[str, ...], told: str) -> None:
    done = run_cli(*arguments, code=2)
    assert done.stderr.startswith(f"error: {told}")
    assert done.stderr.count("\n") == 1


def test_parts_of_a_set_without_a_suffix_are_of_its_own_format(tale: Path, run_cli) -> None:
    (tale / "own.csv").write_text(
        "question,references\nWho?,Anna\nWhat?,Rex\nWhy?,Anna\nWhen?,Rex\n", "utf-8"
    )
    assert run_cli("dataset split own.csv -o ./parts --share 50/50").exit_code == 0
    assert (tale / "parts-dev.csv").read_text("utf-8-sig").startswith("id,query,reference_entities")
    assert run_cli("dataset split tale-eval.jsonl -o ./parts/ --share 50/50").exit_code == 0
    assert json.loads((tale / "parts/tale-eval-dev.jsonl").read_text("utf-8").splitlines()[0])["query"]
    assert run_cli("dataset merge tale-eval.jsonl own.csv -o ./both").exit_code == 0
    assert (tale / "both").read_text("utf-8").startswith('{"id": "q0"')
    refused = run_cli("dataset split own.csv -o ./parts.foo", code=2)
    assert "doesn't say the format; end it in one of: .jsonl" in refused.stderr
