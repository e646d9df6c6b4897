"""Ctrl-C and SIGTERM end a command that waits for a service or a person; the two servers within five seconds.

`pytest -m slow -s` prints what each took. The tests allow more, for a machine that is busy with other things.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.conftest import HANGS, ROOT, write_gold, write_kg
from tests.tools.chat_server import Action, ChatServer

pytestmark = pytest.mark.slow

PATIENCE = 45.0  # seconds for an end; nothing that is waited for here comes within 60
FOREVER = 600.0
EVAL = ("eval", "--dataset", "tale-eval.jsonl", "-g", "tale-KG.json")
CURATE = ("curate", "--dataset", "./tale-eval.jsonl", "-g", "tale-KG.json")


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


def _server_without_an_answer(started: Started) -> None:
    server = started.more.enter_context(ChatServer(lambda request: Action(wait=FOREVER)))
    started.start(*EVAL, OPENAI_BASE_URL=server.url)
    started.until(lambda: server.requests)


def _own(code: str) -> State:
    def state(started: Started) -> None:
        mark = "pathlib.Path(os.environ['MARK']).touch()"
        (started.folder / "rag.py").write_text("import os, pathlib, time\n" + code.replace("MARK", mark))
        started.start(*EVAL, "--retriever", "rag.py:ask", "--skip-generation")
        started.until((started.folder / "mark").exists)

    return state


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
    "a service that does not answer": _server_without_an_answer,
    "a retriever that sleeps": _own("def ask(question):\n    MARK; time.sleep(600)\n"),
    "an async retriever that sleeps": _own(
        "import asyncio\nasync def ask(question):\n    MARK; await asyncio.sleep(600)\n"
    ),
    "curate": _idle_curate,
    "curate with half a body": _curate_with_half_a_body,
    "mcp": _idle_mcp,
}


@contextmanager
def in_state(folder: Path, state: State) -> Iterator[Started]:
    gold = {"id": "q1", "query": "Whom does Anna know?", "reference_entities": ["Bert"]}
    write_kg(folder / "data/kg/tale-KG.json", ["Anna", "Bert"], [("Anna", "KNOWS", "Bert")])
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
