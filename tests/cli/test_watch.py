"""`eval --watch` runs again when a file changes and says what moved; a broken file ends one run only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from tests.conftest import HANGS, ROOT, write_gold, write_kg

pytestmark = pytest.mark.slow


class Watched:
    """A running `eval --watch` whose output is read as it comes."""

    def __init__(self, folder: Path) -> None:
        self.said = ""
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-u",
                str(ROOT / "main.py"),
                "eval",
                "--dataset",
                "a-eval.jsonl",
                "--skip-generation",
                "--watch",
            ],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.reading = Thread(target=self._read, daemon=True)
        self.reading.start()

    def end(self) -> int:
        """Interrupt it as a user would; its exit code."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(HANGS)
        self.reading.join(HANGS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.returncode

    def _read(self) -> None:
        assert self.process.stdout is not None
        while chunk := os.read(self.process.stdout.fileno(), 65536):
            self.said += chunk.decode()

    def wait(self, times: int) -> str:
        """What was said since the watch last began to wait, when it waits for the `times`-th time."""
        deadline = time.monotonic() + HANGS
        while self.said.count("Ctrl-C ends") < times:
            assert time.monotonic() < deadline, self.said
            assert self.process.poll() is None, self.said
            time.sleep(0.1)
        return self.said.split("Ctrl-C ends")[times - 1]


def replace_kg(path: Path, relation: tuple[str, ...] | None) -> None:
    """In one step, as editors save: a run that met an empty file would be one more. None: no JSON."""
    new = path.with_name("new")
    if relation is None:
        new.write_text("{ broken", encoding="utf-8")
    else:
        write_kg(new, ["Anna", "Dover", "Carl"], [relation])
    new.replace(path)


def test_a_change_runs_again_and_says_what_moved(own_folder: Path) -> None:
    kg = own_folder / "data/kg/a-KG.json"
    kg.parent.mkdir(parents=True)
    replace_kg(kg, ("Anna", "KNOWS", "Carl"))
    question = {"id": "q1", "query": "Where does Anna live?", "reference_entities": ["Dover"]}
    write_gold(own_folder / "data/eval/a-eval.jsonl", question)
    watched = Watched(own_folder)
    try:
        first = watched.wait(1)
        assert "recall@5" in first
        assert "uv run python main.py query --dataset" in first  # as it was called, so that it works here
        replace_kg(kg, ("Anna", "LIVES_IN", "Dover"))
        second = watched.wait(2)
        assert "changed: a-KG.json" in second
        assert "recall@5 0.000 → 1.000 (+1.000)" in second
        assert "rose in 1 questions: q1" in second
        replace_kg(kg, None)
        assert "error: " in watched.wait(3)
        replace_kg(kg, ("Anna", "LIVES_IN", "Dover"))
        assert "no score changed" in watched.wait(4)
    finally:
        code = watched.end()
    assert code == 130
