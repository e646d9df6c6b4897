"""What an option alone shows to be wrong is said before a graph is read: reading one may take minutes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import write_gold

RETRIEVING = [
    ("--retriever nope", "unknown retriever 'nope'"),
    ("--retriever nope:f", "no Python module nope and no retriever of this name"),
    ("--retriever hybird:bfs", "did you mean 'hybrid'"),
    ("--retriever run:", "needs an argument: run:FILE"),
    ("--retriever run:nope.trec", "nope.trec"),
    ("--retriever nope.py:answer", "no such file"),
    ("--retriever my_rag.py", "needs an argument: my_rag.py:FUNCTION"),
    ("--retriever bfs:3", "takes no argument after a colon"),
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
