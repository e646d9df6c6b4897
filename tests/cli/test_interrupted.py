"""SIGKILL and Ctrl-C at random moments: nothing half written, the next run sound, Ctrl-C one line."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import ROOT, write_gold, write_kg
from tests.tools.chat_server import ChatServer, answer

pytestmark = pytest.mark.slow

NAMES = [f"Name{number}" for number in range(200)]
GIVEN = "--dataset story-eval.jsonl -g story-KG.json --quiet"
FEW = f"{GIVEN} --set evaluation.latency_sample=0"
# A command that is disturbed → the file that it writes.
COMMANDS = {
    f"eval {FEW} --skip-generation -o ./eval.json": "eval.json",
    f"eval {FEW} --set running.answer_cache=false --limit 60 --resume -o ./asked.json": "asked.json",
    "score --run run.jsonl --gold story-eval.jsonl --quiet -o ./scored.json": "scored.json",
    f"sweep {GIVEN} --hops 1,2 -o ./sweep.json": "sweep.json",
    "generate -g story-KG.json --n 40 --quiet -o ./made.jsonl": "made.jsonl",
}
TIMES = re.compile(rb'"([a-z_]*seconds|questions_per_second|p50|p95)": ?[0-9][-+.e0-9]*|"at": ?"[^"]*"')
SAID = "interrupted; nothing was overwritten"


@pytest.fixture
def story(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A chain of names, a question of each, and a service that answers them."""
    write_kg(own_folder / "story-KG.json", NAMES, [(one, "KNOWS", two) for one, two in pairwise(NAMES)])
    write_gold(
        own_folder / "story-eval.jsonl",
        *({"query": f"Whom does {one} know?", "reference_entities": [two]} for one, two in pairwise(NAMES)),
    )
    rows = [{"id": f"line-{row + 1}", "entities": NAMES[row : row + 20]} for row in range(199)]
    (own_folder / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    with ChatServer(lambda request: answer("Name1 [1].", request), latency=0.05) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield own_folder


def started(command: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tiny_graph_rag", *command.split()]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_command_leaves_nothing_half_written_and_runs_again(command: str, story: Path) -> None:
    chance, path = random.Random(command), story / COMMANDS[command]

    def run() -> bytes:
        done = started(command)
        _, errors = done.communicate()
        assert done.returncode == 0, errors
        return TIMES.sub(b"", path.read_bytes())

    def cleared() -> None:
        for item in story.glob(f"{path.stem}.*"):  # results and journal
            item.unlink()

    run()  # cached once, so that the next one is timed
    before = {item.name for item in story.iterdir()}
    cleared()
    began = time.monotonic()
    expected = run()
    whole = time.monotonic() - began
    for _ in range(3):
        cleared()
        process = started(command)
        time.sleep(chance.uniform(0.0, whole))
        process.kill()
        process.communicate()
        assert {item.name for item in story.iterdir() if not item.name.startswith(".")} <= before
        assert not path.exists() or TIMES.sub(b"", path.read_bytes()) == expected
        assert run() == expected


def test_ctrl_c_soon_after_the_start_of_any_command_is_one_line(story: Path) -> None:
    chance, codes = random.Random(3), []
    for command in (*COMMANDS, "measures", "validate --dataset story-eval.jsonl -g story-KG.json"):
        for _ in range(2):
            process = started(command)
            time.sleep(chance.uniform(0.0, 1.5))
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
            codes.append(process.returncode)
            assert not list(story.glob("*.tmp"))
            if process.returncode in (1, -signal.SIGINT):  # none of our lines had run
                ours = f"{os.sep}tiny_graph_rag{os.sep}" in errors
                assert not ours or "Error calling __set_name__" in errors, (
                    errors
                )  # 3.11, of a library's class
            else:
                ends = (process.returncode, errors.splitlines()[-1:])
                assert ends == (130, [SAID]) or process.returncode == 0, errors
                assert "Traceback" not in errors
    assert 130 in codes
