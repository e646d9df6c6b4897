"""Ctrl-C and SIGTERM end every command in every state in which it waits for somebody else.

Two seconds is the promise (`pytest -m slow -s` prints what each took); the tests allow more, for a machine
that is busy with other things, and far less than what is waited for. Nothing that the command started
outlives it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
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
# What a process waits in, and how to know that it does.
State = Callable[["Started"], None]


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
            # A shell's background jobs ignore Ctrl-C, and so would theirs.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def until(self, holds: Callable[[], object]) -> None:
        ends = time.monotonic() + HANGS
        while not holds():
            assert time.monotonic() < ends, (self.folder / "errors").read_text()
            assert self.process.poll() is None, (self.folder / "errors").read_text()
            time.sleep(0.02)

    def until_marked(self) -> None:
        self.until((self.folder / "mark").exists)

    def until_said(self, pattern: str) -> str:
        """The first part of standard output that matches."""
        assert self.process.stdout is not None
        text = ""
        while not (match := re.search(pattern, text)):
            line = self.process.stdout.readline().decode()
            assert line, (self.folder / "errors").read_text()
            text += line
        return match[0]

    def children(self) -> list[int]:
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(number) for number in found.read_text().split()] if found.exists() else []


def _pipe_without_a_word(started: Started) -> None:
    os.mkfifo(started.folder / "pipe.jsonl")
    started.start("eval", "--dataset", "./pipe.jsonl", "-g", "tale-KG.json", "--skip-generation")
    opened: list[int] = []

    def has_reader() -> bool:
        with contextlib.suppress(OSError):
            opened.append(os.open(started.folder / "pipe.jsonl", os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    started.until(has_reader)
    started.more.callback(os.close, opened[0])


def _server_without_an_answer(started: Started) -> None:
    server = started.more.enter_context(ChatServer(lambda request: Action(wait=FOREVER)))
    started.start(*EVAL, OPENAI_BASE_URL=server.url)
    started.until(lambda: server.requests)


def _dripping_server(started: Started) -> None:
    server = started.more.enter_context(ChatServer(lambda request: Action(b" " * 10_000, drip=0.2)))
    started.start(*EVAL, OPENAI_BASE_URL=server.url)
    started.until(lambda: server.requests)


def _own(code: str) -> State:
    def state(started: Started) -> None:
        mark = "pathlib.Path(os.environ['MARK']).touch()"
        code_of = "import os, pathlib, time\n" + code.replace("MARK", mark)
        (started.folder / "rag.py").write_text(code_of)
        started.start(*EVAL, "--retriever", "rag.py:ask", "--skip-generation")
        started.until_marked()

    return state


def _idle_curate(started: Started) -> None:
    started.start(*CURATE)
    started.until_said("Ctrl-C")


def _curate_with(request: bytes, *, endless: bool) -> State:
    def state(started: Started) -> None:
        started.start(*CURATE)
        address = started.until_said(r"http://\S+")
        port, token = re.findall(r":(\d+)/\?token=(\S+)", address)[0]
        connection = started.more.enter_context(socket.create_connection(("127.0.0.1", int(port))))
        connection.sendall(request.replace(b"PORT", port.encode()).replace(b"TOKEN", token.encode()))
        if endless:
            threading.Thread(target=_send_on, args=(connection,), daemon=True).start()
        time.sleep(0.5)

    return state


def _send_on(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(b"1\r\n \r\n")
            time.sleep(0.05)


POST = (
    b"POST /api/event HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT\r\nX-Token: TOKEN\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def _idle_mcp(started: Started) -> None:
    pytest.importorskip("mcp")
    started.start("mcp", "--allow", ".")
    assert started.process.stdin is not None
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        },
    }  # fmt: skip
    started.process.stdin.write(json.dumps(hello).encode() + b"\n")
    started.process.stdin.flush()
    started.until_said('"result"')


def _mcp_at_work(started: Started) -> None:
    os.mkfifo(started.folder / "slow-KG.json")
    (started.folder / "wire").mkdir()
    (started.folder / "wire/sitecustomize.py").write_text(
        "import os, pathlib, sys, time\n"
        "if 'stats' in sys.orig_argv:\n    pathlib.Path(os.environ['MARK']).touch()\n    time.sleep(600)\n"
    )
    _idle_mcp_with_wire(started)
    assert started.process.stdin is not None
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "stats", "arguments": {"graph": "tale-KG.json"}},
        },
    ):
        started.process.stdin.write(json.dumps(message).encode() + b"\n")
    started.process.stdin.flush()
    started.until_marked()


def _idle_mcp_with_wire(started: Started) -> None:
    start = started.start
    wire = os.pathsep.join([str(started.folder / "wire"), str(ROOT)])
    started.start = lambda *arguments: start(*arguments, PYTHONPATH=wire)  # type: ignore[method-assign, assignment]
    _idle_mcp(started)


def _idle_watch(started: Started) -> None:
    started.start(*EVAL, "--watch", "--skip-generation")
    started.until_said("watching")


def _watch_at_work(started: Started) -> None:
    server = started.more.enter_context(ChatServer(lambda request: Action(wait=FOREVER)))
    started.start(*EVAL, "--watch", OPENAI_BASE_URL=server.url)
    started.until(lambda: server.requests)


def _nobody_reads(started: Started) -> None:
    started.start("generate", "-g", "ring-KG.json", "--n", "150", "-o", "-")
    assert started.process.stdout is not None
    started.process.stdout.read(1)  # it has begun to write 90 kB, and the pipe holds 64
    time.sleep(0.5)


def _silent_scheduler(started: Started) -> None:
    pytest.importorskip("distributed")
    listening = started.more.enter_context(socket.create_server(("127.0.0.1", 0)))
    accepted: list[socket.socket] = []
    started.more.callback(lambda: [connection.close() for connection in accepted])
    threading.Thread(target=lambda: accepted.append(listening.accept()[0]), daemon=True).start()
    address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
    started.start(*EVAL, "--skip-generation", "--cluster", address)
    started.until(lambda: accepted)


STATES: dict[str, State] = {
    "a pipe that nobody writes to": _pipe_without_a_word,
    "a server that does not answer": _server_without_an_answer,
    "a server that answers for ever": _dripping_server,
    "a retriever that sleeps": _own("def ask(question):\n    MARK; time.sleep(600)\n"),
    "a retriever that computes": _own("def ask(question):\n    MARK\n    while True: pass\n"),
    "an async retriever that sleeps": _own(
        "import asyncio\nasync def ask(question):\n    MARK; await asyncio.sleep(600)\n"
    ),
    "an async retriever that blocks": _own("async def ask(question):\n    MARK; time.sleep(600)\n"),
    "a retriever that takes no cancellation": _own(
        "import asyncio\nasync def ask(question):\n    MARK\n    while True:\n"
        "        try: await asyncio.sleep(9)\n        except BaseException: pass\n"
    ),
    "a retriever's import": _own("MARK; time.sleep(600)\n"),
    "curate": _idle_curate,
    "curate with an open connection": _curate_with(b"", endless=False),
    "curate with half a request": _curate_with(POST[:60], endless=False),
    "curate with half a body": _curate_with(POST + b"5\r\n{", endless=False),
    "curate with an endless body": _curate_with(POST, endless=True),
    "mcp": _idle_mcp,
    "mcp with a call under way": _mcp_at_work,
    "eval --watch": _idle_watch,
    "eval --watch with a run under way": _watch_at_work,
    "nobody reads what it prints": _nobody_reads,
    "a scheduler that says nothing": _silent_scheduler,
}


VERBS = ("KNOWS", "LOVES", "HELPS", "TEACHES", "VISITS", "FEARS", "SERVES")


@contextmanager
def in_state(folder: Path, state: State) -> Iterator[Started]:
    write_kg(folder / "data/kg/tale-KG.json", ["Anna", "Bert"], [("Anna", "KNOWS", "Bert")])
    write_gold(
        folder / "data/eval/tale-eval.jsonl",
        {"id": "q1", "query": "Whom does Anna know?", "reference_entities": ["Bert"]},
    )
    write_gold(
        folder / "tale-eval.jsonl",
        {"id": "q1", "query": "Whom does Anna know?", "reference_entities": ["Bert"]},
    )
    people = [f"Person{number}" for number in range(400)]
    write_kg(
        folder / "data/kg/ring-KG.json",
        people,
        [(one, VERBS[row % 7], people[row * 7 % 400]) for row, one in enumerate(people)],
    )
    with ExitStack() as more:
        started = Started(folder, more)
        try:
            state(started)
            yield started
        finally:
            if started.process is not None:
                started.process.kill()
                started.process.wait()
                for stream in (started.process.stdin, started.process.stdout):
                    with contextlib.suppress(OSError):
                        stream.close()  # type: ignore[union-attr]


def seconds_to_end(started: Started, number: int) -> float:
    """Send the signal; the time until the process and all that it started have gone."""
    children = started.children()
    began = time.monotonic()
    started.process.send_signal(number)
    started.process.wait(timeout=PATIENCE)
    while any(Path(f"/proc/{child}").exists() and not _is_zombie(child) for child in children):
        assert time.monotonic() < began + PATIENCE, "a process that it started goes on"
        time.sleep(0.02)
    return time.monotonic() - began


def _is_zombie(process: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", STATES)
def test_it_ends(name: str, number: int, own_folder: Path) -> None:
    with in_state(own_folder, STATES[name]) as started:
        print(f"{name}, {signal.Signals(number).name}: {seconds_to_end(started, number):.2f} s")  # with -s
        errors = (own_folder / "errors").read_text()
        assert "Traceback" not in errors
        code = started.process.returncode
        assert code == (0 if name.startswith("curate") else 128 + number), errors
