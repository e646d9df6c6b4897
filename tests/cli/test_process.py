"""The program as a whole process: what it imports, hash seeds, being killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import HANGS, ROOT, write_gold, write_kg

HARDSET = "김유정-동백꽃-hardset.jsonl"
MAIN_JOB = ("eval", "--dataset", HARDSET, "--hops", "3", "--skip-generation")
FORBIDDEN = (
    "openai",
    "matplotlib",
    "networkx",
    "scipy",
    "polars",
    "pandas",
    "numba",
    "tiktoken",
    "hypothesis",
)


def python(*arguments: str, folder: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )


@pytest.mark.slow
def test_the_three_ways_to_start_it_are_one_program(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("tiny-graph-rag")
    ways = [["main.py", "--version"], ["-m", "tiny_graph_rag", "--version"], [str(script), "--version"]]
    assert len({python(*way).stdout for way in ways}) == 1


def test_the_main_job_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from tiny_graph_rag.cli import app, load; load()\n"
        f"try: app({[*MAIN_JOB, '--results-dir', str(tmp_path)]!r})\n"
        f"except SystemExit: print('HEAVY', [each for each in {FORBIDDEN!r} if each in sys.modules])"
    )
    done = python("-c", code)
    assert "HEAVY []" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_results_are_the_same_bytes_for_any_hash_seed(tmp_path: Path) -> None:
    written = []
    for seed in ("0", "1", "random"):
        done = python(
            *("main.py", *MAIN_JOB, "--limit", "90", "-o", str(tmp_path / f"{seed}.json")),
            PYTHONHASHSEED=seed,
        )
        assert done.returncode == 0, done.stderr
        document = json.loads((tmp_path / f"{seed}.json").read_text(encoding="utf-8"))
        for result in document["results"]:
            del result["latency_seconds"]
        written.append(json.dumps(document["results"], ensure_ascii=False))
    assert written[0] == written[1] == written[2]


def test_an_older_results_file_survives_a_kill_in_the_middle_of_writing(tmp_path: Path) -> None:
    """A writer that never ends is killed once its temporary file has grown; the old file stays whole."""
    target = tmp_path / "results.json"
    target.write_text("the older results")
    code = (
        "import itertools; from pathlib import Path; from tiny_graph_rag.outputs import write_atomically\n"
        f"write_atomically(Path({str(target)!r}), itertools.repeat(b'x' * 65536))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        while not any(path.stat().st_size > 1_000_000 for path in tmp_path.glob(".results.json.*.tmp")):
            assert process.poll() is None, "the writer ended"
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert target.read_text() == "the older results"


@pytest.mark.slow
def test_eval_killed_at_any_moment_leaves_whole_results(own_folder: Path) -> None:
    write_kg(own_folder / "story-KG.json", [f"Name{n}" for n in range(300)])
    questions = [{"query": f"Name{n}?", "reference_entities": [f"Name{n}"]} for n in range(300)]
    write_gold(own_folder / "story-eval.jsonl", *questions)
    target = own_folder / "story.json"
    arguments = ["eval", "--dataset", "story-eval.jsonl", "-g", "story-KG.json", "-o", str(target), "--quiet"]
    assert python("-m", "tiny_graph_rag", *arguments, folder=own_folder).returncode == 0
    for seconds in (0.3, 0.5, 0.7, 0.9):
        process = subprocess.Popen([sys.executable, "-m", "tiny_graph_rag", *arguments], cwd=own_folder)
        time.sleep(seconds)
        process.kill()
        process.wait()
        assert len(json.loads(target.read_text())["results"]) == 300
