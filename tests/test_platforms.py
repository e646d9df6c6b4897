"""Without what only Linux has: /proc, os.pread, mkfifo, wakeup pipes.

A stand-in for macOS: each command runs as a process in which these are gone from the start.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import ROOT, write_gold, write_kg

ABSENT = """
import builtins, os, sys
sys.modules["resource"] = sys.modules["pwd"] = sys.modules["grp"] = None
for name in ("pread", "mkfifo", "fchmod", "sched_getaffinity", "posix_fadvise"):
    if hasattr(os, name):
        delattr(os, name)
def _no_proc(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", str(arguments[0]))
sys.addaudithook(_no_proc)
"""
STAGED = (
    "import sys, tiny_graph_rag.graph.large as large, tiny_graph_rag.formats.graphs as graphs\n"
    "large.LARGE_FROM_ROWS = graphs.STREAMED_FROM_BYTES = 1\n"
    "from tiny_graph_rag.__main__ import main; sys.argv[0] = 'tiny-graph-rag'; main()"
)


@pytest.fixture
def folder(own_folder: Path) -> Path:
    people = [f"Person {number}" for number in range(40)]
    triples = [(one, "KNOWS", two) for one, two in pairwise(people)]
    write_kg(own_folder / "tale-KG.json", people, triples)
    write_gold(
        own_folder / "tale-eval.jsonl",
        *({"id": f"q{row}", "query": f"Whom does {one} know?", "reference_entities": [two]}
          for row, (one, _, two) in enumerate(triples)),
    )  # fmt: skip
    (own_folder / "run.trec").write_text("".join(f"q{n} Q0 d{n} 1 0.5 t\n" for n in range(50)))
    (own_folder / "gold.qrels").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(50)))
    (own_folder / "many.tsv").write_text(
        "source\trelation\ttarget\n" + "".join(f"a{n}\tR\ta{n * 7 % 90}\n" for n in range(90))
    )
    (own_folder / "rag.py").write_text("def ask(question):\n    return ['Person 1']\n")
    (own_folder / "wire").mkdir()
    (own_folder / "wire/sitecustomize.py").write_text(ABSENT)
    return own_folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("eval", "--dataset", "./tale-eval.jsonl", "-g", "./tale-KG.json", "--skip-generation", "-o",
         "./r.json"),
        ("eval", "--dataset", "./tale-eval.jsonl", "-g", "./tale-KG.json", "--retriever", "rag.py:ask",
         "--skip-generation", "-o", "./own.json"),
        ("score", "--run", "./run.trec", "--gold", "./gold.qrels", "-o", "./s.json"),
        ("curate", "--dataset", "./tale-eval.jsonl", "-g", "./tale-KG.json", "--export"),
        ("generate", "-g", "./tale-KG.json", "--n", "5", "-o", "./made.jsonl"),
        (STAGED, "stats", "-g", "./many.tsv"),
    ],
    ids=lambda command: command[0][:8],
)  # fmt: skip
def test_commands_work_without_them(folder: Path, command: tuple[str, ...]) -> None:
    start = ["-c", command[0]] if command[0] == STAGED else ["-m", "tiny_graph_rag", command[0]]
    for _ in range(2):  # the second time with what the first one kept
        done = subprocess.run(
            [sys.executable, *start, *command[1:]],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "wire"), str(ROOT)])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
