"""SIGKILL and Ctrl-C at random moments: nothing half written, the next run sound, Ctrl-C one line.

Ctrl-C and SIGTERM end a command that waits for a service or a person; the two servers within five seconds.
`pytest -m slow -s` prints what each took. The tests allow more, for a machine that is busy with other things.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import HANGS, ROOT, write_gold, write_kg
from tests.tools.chat_server import ChatServer, answer

pytestmark = pytest.mark.slow

NAMES = [f"Name{number}" for number in range(200)]
GIVEN = "--dataset story-eval.jsonl -g story-KG.json --quiet"
FEW = f"{GIVEN} --set evaluation.latency_sample=0"
CONCURRENCY = 8
# A command that is disturbed → the file that it writes.
COMMANDS = {
    f"eval {FEW} --skip-generation -o ./eval.json": "eval.json",
    f"eval {FEW} --set running.answer_cache=false --set openai.concurrency={CONCURRENCY} --limit 60 --resume"
    " -o ./asked.json": "asked.json",
    "score --run run.jsonl --gold story-eval.jsonl --quiet -o ./scored.json": "scored.json",
    f"sweep {GIVEN} --hops 1,2 -o ./sweep.json": "sweep.json",
    "generate -g story-KG.json --n 40 --quiet -o ./made.jsonl": "made.jsonl",
}
TIMES = re.compile(rb'"([a-z_]*seconds|questions_per_second|p50|p95)": ?[0-9][-+.e0-9]*|"at": ?"[^"]*"')
SAID = "interrupted; nothing was overwritten"


@pytest.fixture
def server(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A service that answers; in the folder a chain of names and a question of each."""
    write_kg(own_folder / "story-KG.json", NAMES, [(one, "KNOWS", two) for one, two in pairwise(NAMES)])
    write_gold(
        own_folder / "story-eval.jsonl",
        *({"query": f"Whom does {one} know?", "reference_entities": [two]} for one, two in pairwise(NAMES)),
    )
    rows = [{"id": f"line-{row + 1}", "entities": NAMES[row : row + 20]} for row in range(199)]
    (own_folder / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OPENAI_MODEL", "test-model")
    with ChatServer(lambda request: answer("Name1 [1].", request), latency=0.05) as started:
        monkeypatch.setenv("OPENAI_BASE_URL", started.url)
        yield started


def started(command: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tiny_graph_rag", *command.split()]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_command_leaves_nothing_half_written_and_runs_again(
    command: str, server: ChatServer, own_folder: Path
) -> None:
    """Of answers, none but those under way at the kill is paid twice, and none is missing."""
    chance, path = random.Random(command), own_folder / COMMANDS[command]

    def run() -> bytes:
        done = started(command)
        _, errors = done.communicate()
        assert done.returncode == 0, errors
        return TIMES.sub(b"", path.read_bytes())

    def cleared() -> None:
        for item in own_folder.glob(f"{path.stem}.*"):  # results and journal
            item.unlink()
        server.requests.clear()

    run()  # cached once, so that the next one is timed
    before = {item.name for item in own_folder.iterdir()}
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
        assert {item.name for item in own_folder.iterdir() if not item.name.startswith(".")} <= before
        assert not path.exists() or TIMES.sub(b"", path.read_bytes()) == expected
        assert run() == expected
        times = Counter(request.prompt for request in server.requests)
        assert len(times) == (60 if path.stem == "asked" else 0)
        assert times.total() - len(times) <= CONCURRENCY


@pytest.mark.usefixtures("server")
def test_ctrl_c_soon_after_the_start_of_any_command_is_one_line(own_folder: Path) -> None:
    chance, codes = random.Random(3), []
    for command in (*COMMANDS, "measures", "validate --dataset story-eval.jsonl -g story-KG.json"):
        for _ in range(2):
            process = started(command)
            time.sleep(chance.uniform(0.0, 1.5))
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
            codes.append(process.returncode)
            assert not list(own_folder.glob("*.tmp"))
            if process.returncode in (1, -signal.SIGINT):  # none of our lines had run
                ours = f"{os.sep}tiny_graph_rag{os.sep}" in errors
                assert not ours or "Error calling __set_name__" in errors, (
                    errors
                )  # 3.11, of a library's class
            else:
                ends = (process.returncode, errors.splitlines()[-1:])
                said = SAID + "; --resume goes on" * command.startswith("eval")
                assert ends == (130, [said]) or process.returncode == 0, errors
                assert "Traceback" not in errors
    assert 130 in codes


PATIENCE = 45.0  # seconds for an end; nothing that is waited for here comes within 60
EVAL = ("eval", "--dataset", "tale-eval.jsonl", "-g", "tale-KG.json")
CURATE = ("curate", "--dataset", "./questions.txt", "-g", "tale-KG.json")


class Started:
    """A command under way in `folder`; more: what its state needs, closed at the end."""

    def __init__(self, folder: Path, more: ExitStack) -> None:
        self.folder, self.more = folder, more
        self.process: subprocess.Popen[bytes] = None  # type: ignore[assignment]

    def start(self, *arguments: str, **environment: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        errors = self.more.enter_context((self.folder / "errors").open("wb"))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tiny_graph_rag", *arguments],
            cwd=self.folder,
            env={**kept, "PYTHONPATH": str(ROOT), "MARK": str(self.folder / "mark"), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )

    def until(self, holds: Callable[[], object]) -> None:
        ends = time.monotonic() + HANGS
        while not holds():
            assert time.monotonic() < ends, (self.folder / "errors").read_text()
            assert self.process.poll() is None, (self.folder / "errors").read_text()
            time.sleep(0.02)

    def until_printed(self, pattern: str) -> str:
        """The first part of standard output that matches."""
        assert self.process.stdout is not None
        text = ""
        while not (match := re.search(pattern, text)):
            line = self.process.stdout.readline().decode()
            assert line, (self.folder / "errors").read_text()
            text += line
        return match[0]


# What a process waits in, and how to know that it does.
State = Callable[[Started], None]


def _own_retriever(started: Started) -> None:
    code = "def ask(question):\n    pathlib.Path(os.environ['MARK']).touch(); time.sleep(600)\n"
    (started.folder / "rag.py").write_text(f"import os, pathlib, time\n{code}")
    started.start(*EVAL, "--retriever", "rag.py:ask", "--skip-generation")
    started.until((started.folder / "mark").exists)


def _idle_curate(started: Started) -> None:
    started.start(*CURATE)
    started.until_printed("Ctrl-C")


def _curate_with_half_a_body(started: Started) -> None:
    started.start(*CURATE)
    port, token = re.findall(r":(\d+)/\?token=(\S+)", started.until_printed(r"http://\S+"))[0]
    connection = started.more.enter_context(socket.create_connection(("127.0.0.1", int(port))))
    connection.sendall(
        f"POST /api/event HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
        f"X-Token: {token}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{{".encode()
    )
    time.sleep(0.5)


def _idle_mcp(started: Started) -> None:
    pytest.importorskip("mcp")
    started.start("mcp")
    assert started.process.stdin is not None
    client = {"name": "t", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    started.process.stdin.write(json.dumps(message).encode() + b"\n")
    started.process.stdin.flush()
    started.until_printed('"result"')


STATES: dict[str, State] = {
    "a retriever that sleeps": _own_retriever,
    "curate": _idle_curate,
    "curate with half a body": _curate_with_half_a_body,
    "mcp": _idle_mcp,
}


@contextmanager
def in_state(folder: Path, state: State) -> Iterator[Started]:
    gold = {"id": "q1", "query": "Whom does Anna know?", "reference_entities": ["Bert"]}
    write_kg(folder / "data/kg/tale-KG.json", ["Anna", "Bert"], [("Anna", "KNOWS", "Bert")])
    (folder / "questions.txt").write_text("Whom does Anna know?\n", encoding="utf-8")
    for path in ("data/eval/tale-eval.jsonl", "tale-eval.jsonl"):
        write_gold(folder / path, gold)
    with ExitStack() as more:
        started = Started(folder, more)
        try:
            state(started)
            yield started
        finally:
            if started.process is not None:
                started.process.kill()
                started.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", STATES)
def test_it_ends(name: str, number: int, own_folder: Path) -> None:
    with in_state(own_folder, STATES[name]) as started:
        began = time.monotonic()
        started.process.send_signal(number)
        started.process.wait(timeout=PATIENCE)
        print(f"{name}, {signal.Signals(number).name}: {time.monotonic() - began:.2f} s")  # with -s
        errors = (own_folder / "errors").read_text()
        assert "Traceback" not in errors
        code = started.process.returncode
        assert code == (0 if name.startswith("curate") else 128 + number), errors
