"""The program as a whole process: what it imports, hash seeds, being killed."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import HANGS, ROOT, read_json
from tiny_graph_rag.measures import KINDS

HARDSET = "김유정-동백꽃-hardset.jsonl"
MAIN_JOB = ("eval", "--dataset", HARDSET, "--hops", "3", "--skip-generation")
HEAVY = (
    *("openai", "numpy.ma", "matplotlib", "networkx", "scipy", "pandas", "numba", "tiktoken", "dask"),
    "hypothesis",
)
API = ("openai", "tiktoken", "genai_prices", "httpx2")
LOOKING = ("rich", "numba", *API)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "unused"),
    [
        (" ".join(MAIN_JOB), (*HEAVY, *API)),
        ("query 점순이는누구야? -g 김유정-동백꽃-KG.json --skip-generation", LOOKING),
        ("stats -g 김유정-동백꽃-KG.json", (*LOOKING, "tiny_graph_rag.study.evaluate")),
    ],
)
def test_a_command_loads_what_it_needs_and_no_more(tmp_path: Path, command: str, unused: tuple) -> None:
    """Neither the key nor the address makes a command without answers load the API's libraries."""
    code = (
        "import sys; from tiny_graph_rag.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code\n"
        f"print('LOADED', [module for module in {unused!r} if module in sys.modules])"
    )
    given = {
        "OPENAI_API_KEY": "sk-x",
        "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
        "RESULTS_DIR": str(tmp_path),
    }
    done = python("-c", code, *command.split(), **given)
    assert done.stdout.endswith("LOADED []\n"), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "completed"), [("--help", None), ("--lang ko -h", None), ("--version", None), ("", "ev")]
)
def test_help_version_and_completion_load_no_command(words: str, completed: str | None) -> None:
    """What a command needs (numpy, msgspec) and its own module wait until it is called."""
    code = (
        "import atexit, sys\n"
        "def loaded(): print(sorted(name for name in sys.modules if name.startswith('tiny_graph_rag.')\n"
        "    or name in ('numpy', 'msgspec', 'rich')))\n"
        "atexit.register(loaded)\n"
        "from tiny_graph_rag.cli import app; app(sys.argv[1:], prog_name='tiny-graph-rag')"
    )
    asked = {} if completed is None else {"_TINY_GRAPH_RAG_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    done = python("-c", code, *words.split(), COMP_WORDS=f"tiny-graph-rag {completed}", **asked)
    *shown, last = done.stdout.splitlines()
    assert any("eval" in line or "tiny-graph-rag 0" in line for line in shown), done.stderr
    modules = set(ast.literal_eval(last))
    assert modules & {"numpy", "msgspec", "rich"} == set()
    assert {name for name in modules if name.startswith("tiny_graph_rag.cli.")} == {
        f"tiny_graph_rag.cli.{name}" for name in ("command", "help", "options", "session")
    }
    assert len(modules) <= 24, sorted(modules)


@pytest.mark.slow
def test_results_are_the_same_bytes_for_any_hash_seed(tmp_path: Path) -> None:
    timeless = [name for name in KINDS if not KINDS[name].times]
    measures = ",".join(name if KINDS[name].cutoff == "none" else f"{name}@3" for name in timeless)
    written = set()
    for seed in ("0", "1", "random"):
        path = tmp_path / f"{seed}.json"
        command = ("main.py", *MAIN_JOB, "--limit", "90", "--measures", measures, "-o", str(path))
        done = python(*command, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        document = read_json(path)
        for result in document["results"]:
            del result["latency_seconds"]
        means = document["summary"]["measures"]
        written.add(json.dumps([means, document["results"]], ensure_ascii=False))
    assert len(written) == 1


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
