"""A whole `eval` against a server on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import read_json
from tests.tools.chat_server import ChatServer


@pytest.fixture
def evaluate(own_folder: Path, run_cli, monkeypatch):
    """`eval` of story-eval.jsonl with a server's model: what was printed, and the results file if there is
    one."""
    monkeypatch.setenv("OPENAI_MODEL", "test-model")

    def run(server: ChatServer, *flags: str, exit_code: int = 0):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = run_cli("eval --dataset story-eval.jsonl", *flags, code=exit_code)
        path = own_folder / "data/results/story-eval-results.json"
        return done, read_json(path) if path.exists() else None

    return run
