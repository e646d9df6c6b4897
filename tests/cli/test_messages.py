"""What is said where something is wrong or missing: the true reason, in one line.

What an option alone shows to be wrong is said before a graph is read: reading one may take minutes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import read_json, write_gold, write_set
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
        (("query", "x", "-g", "tale-KG.jsno"), "did you mean 'tale-KG.json'?", "rag_storage"),
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
    for command in ("eval --skip-generation", "validate", "recommend"):
        done = run_cli(command, "--dataset", gold, "-g", graph)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 2)
        assert hint in done.stderr


def test_questions_with_lists_of_entities_are_no_graph(tale: Path, run_cli) -> None:
    (tale / "asked.jsonl").write_text('{"question": "Who?", "entities": ["Ann"]}\n' * 2, "utf-8")
    done = run_cli("validate --dataset asked.jsonl -g tale-KG.json", code=2)
    assert "references belong under 'reference_entities'" in done.stderr
    assert "looks like a knowledge graph" not in done.stderr


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


RETRIEVING = [
    ("--retriever nope", "unknown retriever 'nope'"),
    ("--retriever nope:f", "no Python module nope and no retriever of this name"),
    ("--retriever hybird:bfs", "did you mean 'hybrid'"),
    ("--retriever run:", "needs an argument: run:FILE"),
    ("--retriever run:nope.trec", "nope.trec"),
    ("--retriever nope.py:answer", "no such file"),
    ("--retriever my_rag.py", "needs an argument: my_rag.py:FUNCTION"),
    ("--retriever bfs:3", "takes no argument after a colon"),
    ("--retriever http://localhost:1/ask", "a service is called by a function of yours"),
    ("--linker nope", "unknown linker 'nope'"),
    ("--set retrieval.direction=up", "retrieval.direction must be both, out or in, got 'up'"),
    ("--set retrieval.vocabulary=nope.yaml", "nope.yaml"),
]
OF_EVAL = [
    ("--top-k 0", "--top-k must be 1 or more, got 0"),
    ("--hops -1", "--hops must be from 0 to 1000, got -1"),
    ("--hops " + "9" * 20, "--hops must be from 0 to 1000"),
    ("--set retrieval.depth=3", "top_k: the cutoff 5 is beyond retrieval.depth=3"),
    ("--set retrieval.depth=" + "9" * 20, "retrieval.depth must be from 1 to 2147483647"),
    ("--measures nope@5", "unknown measure 'nope@5'"),
    ("--measures ndcg@101", "ndcg@101: the cutoff 101 is beyond retrieval.depth=100"),
    ("--fail-under recall@101>=0", "recall@101: the cutoff 101 is beyond"),
    ("--max-cost nan", "--max-cost must be an amount of USD, got nan"),
    ("--limit 0", "--limit must be 1 or more"),
    ("--tags easi", "did you mean 'easy'"),
    ("--linker nams", "did you mean 'names'"),
    ("--retriever dfs", "did you mean 'bfs'"),
    ("--config no.yaml", "this settings file doesn't exist"),
    ("--judge nice", "unknown judge 'nice'"),
    ("--save-run r.xyz", "r.xyz: the file's name doesn't say the format"),
    ("--report nope", "unknown report 'nope'"),
    ("-o ./page.html", "the file is JSON; name it page.json"),
]
CASES = [
    *(("eval --dataset t-eval.jsonl --skip-generation", *option) for option in OF_EVAL),
    ("eval --dataset t-evil.jsonl", "--skip-generation", "did you mean 't-eval.jsonl'"),
    ("eval --dataset .", "--skip-generation", "must be a file, this is a folder"),
    *(("eval --dataset t-eval.jsonl --skip-generation", *option) for option in RETRIEVING),
    *(("query Who?", *option) for option in RETRIEVING),
    ("fix --dataset t-eval.jsonl", "-o ./page.md", "the file is YAML; name it page.yaml"),
    ("stats", "-o stats.html", "the file is JSON; name it stats.json"),
    ("sweep --dataset t-eval.jsonl", "--retriever bfs,nope", "unknown retriever 'nope'"),
    ("sweep --dataset t-eval.jsonl", "--linker nope", "unknown linker 'nope'"),
    ("sweep --dataset t-eval.jsonl", "--set retrieval.direction=up", "direction must be both, out or in"),
    ("recommend --dataset t-eval.jsonl", "--retrievers bfs,nope", "unknown retriever 'nope'"),
    ("score --run r.trec --gold q.txt", "--run-format nope", "unknown run format 'nope'"),
    ("score --run r.trec --gold q.txt", "--gold-format nope", "unknown gold format 'nope'"),
    ("score --run r.trec --gold q.txt", "--limit 0", "--limit must be 1 or more"),
    ("score --run r.trec --gold q.txt", "--ties nope", "unknown --ties 'nope'"),
    ("validate --dataset t-eval.jsonl", "--was old-KG.json", "--was is for --fix-suggestions"),
    ("generate", "--lang xx", "unknown --lang 'xx'"),
]


@pytest.mark.parametrize(("command", "option", "message"), CASES)
def test_a_wrong_option_is_named_before_the_graph_is_read(
    run_cli: Callable[..., Result], own_folder: Path, command: str, option: str, message: str
) -> None:
    question = {"query": "Who?", "reference_entities": ["Ann"], "tags": ["easy"]}
    write_gold(own_folder / "t-eval.jsonl", question)
    Path("t-KG.json").write_text('{"entities": [', encoding="utf-8")  # reading it fails
    Path("r.trec").write_text("q1 Q0 d1 1 1.0 me\n", encoding="utf-8")
    Path("q.txt").write_text("q1 0 d1 1\n", encoding="utf-8")
    done = run_cli(*command.split(), *option.split(), "-g", "t-KG.json")
    assert message in done.output
    assert "t-KG.json" not in done.output
    assert done.exit_code == 2, done.output
    assert not list(own_folder.glob("data/results/*.json"))
