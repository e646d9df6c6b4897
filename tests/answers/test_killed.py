"""Runs that die by SIGKILL at a random moment, and what `--resume` makes of them."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import read_json, write_set
from tests.tools.chat_server import ChatServer, answer

# A kill in each fourth of the run: in its first answers, its last ones, and between.
QUESTIONS, CONCURRENCY, KILLS, LATENCY = 200, 16, 4, 0.03
NAMES = [f"Person{n}" for n in range(QUESTIONS)]
TIMES = ("latency_seconds", "questions_per_second", "latency")


def settled(path: Path) -> dict:
    """A results file without its times."""
    document = read_json(path)
    del document["made"]  # when, and with --resume or without
    for part in (document["summary"], *document["results"]):
        for name in TIMES:
            part.pop(name, None)
    return document


@pytest.mark.slow
def test_a_run_killed_at_any_moment_pays_no_answer_twice_and_ends_the_same(own_folder: Path) -> None:
    """Runs of 200 questions, each killed once at a random moment and resumed, without the answer cache.

    Beyond the at most 16 calls under way at the kill nothing may be asked twice, and nothing is missing: 200
    different prompts.
    """
    chain = [(a, "KNOWS", b) for a, b in itertools.pairwise(NAMES)]
    questions = [
        {"query": f"Who is {name}?", "reference_entities": [name], "ground_truth": name} for name in NAMES
    ]
    write_set(own_folder, "story", NAMES, chain, *questions)
    (own_folder / "config.yaml").write_text("openai: {prices: {test-model: {input: 1, output: 10}}}\n")
    command = [sys.executable, "-m", "tiny_graph_rag", "eval", "--dataset", "story-eval.jsonl", "--quiet"]
    command += ["--set", "running.answer_cache=false", "--set", "evaluation.latency_sample=0"]
    command += ["--set", f"openai.concurrency={CONCURRENCY}"]
    with ChatServer(lambda request: answer("An answer [1]."), latency=LATENCY) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "test-model"}

        def start(results: str, *more: str) -> subprocess.Popen[bytes]:
            return subprocess.Popen([*command, "-o", f"./{results}", *more], cwd=own_folder, env=environment)

        assert start("whole.json").wait() == 0
        expected = settled(own_folder / "whole.json")
        chance, again = random.Random(7), []
        for number in range(KILLS):
            server.requests.clear()
            answered = server.answered
            run = start(f"{number}.json", "--resume")
            before = int((number + chance.random()) / KILLS * QUESTIONS)
            while server.answered - answered < before and run.poll() is None:
                time.sleep(chance.uniform(0.0, 0.01))
            run.kill()
            run.wait()
            assert start(f"{number}.json", "--resume").wait() == 0
            times = Counter(request.prompt for request in server.requests)
            assert len(times) == QUESTIONS
            assert set(times.values()) <= {1, 2}
            again.append(sum(times.values()) - QUESTIONS)
            assert again[-1] <= CONCURRENCY, f"killed after {before} answers"
            assert settled(own_folder / f"{number}.json") == expected
        print(f"asked twice after each of {KILLS} kills: {again}")
