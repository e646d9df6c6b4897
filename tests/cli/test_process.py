"""The program as a whole process: what it imports, hash seeds, and what is written where: full disks,
devices, links, and never over an input."""

from __future__ import annotations

import ast
import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import HANGS, ROOT, read_json, write_set
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


QUESTIONS = (
    {"id": "q1", "query": "Where does Anna live?", "reference_entities": ["Dover"]},
    {"id": "q2", "query": "Who is Ben?", "reference_entities": ["Nobody"]},
)
EVAL = ("eval", "--dataset", "story-eval.jsonl", "--skip-generation")


@pytest.fixture
def files(own_folder: Path) -> Path:
    relations = [("Anna", "LIVES_IN", "Dover")]
    return write_set(own_folder, "story", ["Anna", "Ben", "Dover"], relations, *QUESTIONS)


def program(folder: Path, *arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tiny_graph_rag", *arguments]
    return subprocess.run(command, cwd=folder, text=True, timeout=HANGS, check=False, **more)  # type: ignore[call-overload]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_in_one_line(files: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = program(files, *EVAL, "-o", "-", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: No space left")
    assert "Exception ignored" not in done.stderr


@pytest.mark.slow
def test_what_does_not_fit_leaves_the_older_file(files: Path) -> None:
    """The kernel refuses files above 4 KiB, as a full disk would."""
    target = files / "results.json"
    target.write_text("older")
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        f"sys.argv = ['x', *{[*EVAL, '-o', './results.json']!r}];"
        "from tiny_graph_rag.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=files, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: results.json: File too large")
    assert target.read_text() == "older"
    assert [path.name for path in files.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.slow
def test_results_go_through_a_pipe_and_leave_it_one(files: Path) -> None:
    """A named pipe stands for /dev/null and its like: moving a file to its place would replace it."""
    pipe = files / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    try:
        done = program(files, *EVAL, "-o", "./pipe", capture_output=True)
        received, _ = reader.communicate(timeout=HANGS)
    finally:
        reader.kill()
    assert done.returncode == 0, done.stderr
    assert len(json.loads(received)["results"]) == 2
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.slow
def test_graph_and_gold_set_are_read_from_pipes_as_from_files(files: Path) -> None:
    """A pipe gives its bytes once, and a format is found out before a file is read."""
    plain = program(files, *EVAL, "-o", "-", capture_output=True)
    gold, graph = next(files.rglob("story-eval.jsonl")), next(files.rglob("story-KG.json"))
    piped = f"--dataset <(gzip -c {gold}) -g <(cat {graph}) --skip-generation -o -"
    line = f"{shlex.quote(sys.executable)} -m tiny_graph_rag eval {piped}"
    done = subprocess.run(["bash", "-c", line], cwd=files, capture_output=True, timeout=HANGS, check=False)
    assert done.returncode == 0, done.stderr
    one, other = (json.loads(found)["summary"]["measures"] for found in (plain.stdout, done.stdout))
    assert one == other


def test_a_link_stays_a_link_and_what_it_points_to_is_replaced(files: Path, run_cli) -> None:
    (files / "archive").mkdir()
    (files / "archive/real.json").write_text("older")
    (files / "link.json").symlink_to(files / "archive/real.json")
    assert run_cli(*EVAL, "-o", "./link.json").exit_code == 0
    assert (files / "link.json").is_symlink()
    assert len(read_json(files / "archive/real.json")["results"]) == 2


def test_a_mistake_of_the_program_shows_where_it_is(files: Path, run_cli, monkeypatch) -> None:
    monkeypatch.setattr("tiny_graph_rag.formats.gold.read_eval_set", lambda path: 1 / 0)
    done = run_cli(*EVAL, code=70)
    assert done.stderr.startswith("Traceback")
    assert done.stderr.splitlines()[-1].startswith("internal error: ZeroDivisionError: division by zero")


def test_a_part_never_replaces_the_whole(files, run_cli) -> None:
    folder = files / "data/results"
    assert run_cli(*EVAL).exit_code == 0
    whole = (folder / "story-eval-results.json").read_bytes()
    for options in (("--limit", "1"), ("--ids", "q2"), ("--ids", "q1,q2", "--limit", "2")):
        assert run_cli(*EVAL, *options).exit_code == 0
    assert run_cli(*EVAL, "--save-run", "run.jsonl").exit_code == 0
    whole = (folder / "story-eval-results.json").read_bytes()
    scored = ("score", "--run", "run.jsonl", "--gold", "story-eval.jsonl")
    assert run_cli(*scored, "--limit", "1").exit_code == 0
    assert {path.name for path in folder.glob("*-results.json")} == {
        "story-eval-results.json",
        "story-eval-limit-1-results.json",
        "story-eval-ids-q2-results.json",
        "story-eval-limit-2-ids-q1,q2-results.json",
        "run-limit-1-results.json",
    }
    assert (folder / "story-eval-results.json").read_bytes() == whole
    run_cli("compare story-eval-results.json run-limit-1-results.json --force", code=0)
    assert (folder / "story-eval-vs-run-limit-1-comparison.json").is_file()


def test_names_of_parts_are_names_of_files() -> None:
    from tiny_graph_rag.gold.examples import Selection

    assert Selection(tags=("../up", "a/b")).named("set") != Selection(tags=(".._up", "a_b")).named("set")
    assert "/" not in Selection(tags=("../up",)).named("set")
    long = Selection(ids=tuple(f"question-{n}" for n in range(500)))
    assert len(long.named("set")) < 80
    assert long.named("set") != Selection(ids=(*long.ids, "one-more")).named("set")
