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
    ("--retriever bfs:3", "takes no argument after a colon"),
    ("--linker nope", "unknown linker 'nope'"),
    ("--set retrieval.direction=up", "retrieval.direction must be both, out or in, got 'up'"),
    ("--set retrieval.vocabulary=nope.yaml", "nope.yaml"),
]
CASES = [
    *(("eval --dataset t-eval.jsonl --skip-generation", *option) for option in RETRIEVING),
    *(("query Who?", *option) for option in RETRIEVING),
    ("eval --dataset t-eval.jsonl", "--save-run r.xyz", "r.xyz: which form?"),
    ("eval --dataset t-eval.jsonl", "--measures nope@5", "unknown measure 'nope@5'"),
    ("eval --dataset t-eval.jsonl --skip-generation", "--judge nice", "unknown judge 'nice'"),
    ("eval --dataset t-eval.jsonl", "--report nope", "unknown report 'nope'"),
    ("eval --dataset t-eval.jsonl", "-o ./page.html", "the file is JSON; name it page.json"),
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
    ("generate", "--lang xx", "unknown --lang 'xx'"),
]


@pytest.mark.parametrize(("command", "option", "message"), CASES)
def test_a_wrong_option_is_named_before_the_graph_is_read(
    run_cli: Callable[..., Result], own_folder: Path, command: str, option: str, message: str
) -> None:
    write_gold(own_folder / "t-eval.jsonl", {"query": "Who?", "reference_entities": ["Ann"]})
    Path("t-KG.json").write_text('{"entities": [', encoding="utf-8")  # reading it fails
    Path("r.trec").write_text("q1 Q0 d1 1 1.0 me\n", encoding="utf-8")
    Path("q.txt").write_text("q1 0 d1 1\n", encoding="utf-8")
    done = run_cli(*command.split(), *option.split(), "-g", "t-KG.json")
    assert message in done.output
    assert "t-KG.json" not in done.output
    assert done.exit_code == 2, done.output
