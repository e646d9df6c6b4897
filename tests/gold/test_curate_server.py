"""What `curate`'s server does with requests that no page sends: real HTTP against a real process."""

from __future__ import annotations

import http.client
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import HANGS, write_gold, write_kg
from tests.gold.curating import Running, curate

pytest.importorskip("uvicorn")


class Server(Running):
    """`curate` over a draft of one question, in `folder`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(*tale(folder))
        self.journal = folder / "tale-draft.journal.jsonl"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        """headers: in place of those of the page."""
        own = f"127.0.0.1:{self.port}"
        connection = http.client.HTTPConnection(own, timeout=HANGS)
        try:
            connection.request(
                method, path, body, headers or {"X-Token": self.token, "Origin": f"http://{own}"}
            )
            reply = connection.getresponse()
            read = reply.read()
            return reply.status, json.loads(read) if read.startswith(b"{") else read
        finally:
            connection.close()

    def send(self, event: Any) -> tuple[int, Any]:
        return self.ask("POST", "/api/event", json.dumps(event).encode())


def tale(folder: Path, *references: str) -> tuple[Path, Path]:
    """A draft of one question, and its graph."""
    row = {"id": "q1", "query": "Whom does Anna know?", "reference_entities": references}
    graph = write_kg(folder / "tale-KG.json", ["Anna", "Bert"], [("Anna", "KNOWS", "Bert")])
    return write_gold(folder / "tale-draft.jsonl", row), graph


@pytest.fixture
def server(own_folder: Path) -> Iterator[Server]:
    started = Server(own_folder)
    yield started
    assert "Traceback" not in started.stop(signal.SIGTERM)


def test_what_is_no_event_is_refused(server: Server) -> None:
    for body in (b"", b"[]", b"1", b"null", b'"x"', b"{", b"\xff", b"[" * 5000, b'{"seen": true}', b"\x00"):
        status, reply = server.ask("POST", "/api/event", body)
        assert (status, bool(reply["error"])) == (400, True), body


def test_nothing_is_told_without_the_token_or_to_another_origin(server: Server) -> None:
    token, own = {"X-Token": server.token}, {"Origin": f"http://127.0.0.1:{server.port}"}
    evil, event = {"Origin": "http://evil.example"}, b'{"what": "judge"}'
    for path, headers, body, status in (
        (f"/?token={server.token}", own, None, 200),
        ("/", own, None, 403),
        ("/api/questions", own, None, 403),
        ("/?token=x", own, None, 403),
        ("/api/questions", token, None, 200),
        ("/api/questions", {**token, **evil}, None, 403),
        ("/api/questions", {**token, "Host": "evil.example"}, None, 421),
        ("/api/event", token, event, 403),  # a form of another page
        ("/api/event", {**token, **own}, event, 400),
        ("/api/event", {**token, **own}, b"x" * 70_000, 413),
    ):
        assert server.ask("POST" if body else "GET", path, body, **headers)[0] == status, (path, headers)
    _, told = curate(*tale(server.journal.parent)).communicate(timeout=HANGS)
    assert "another `curate` has this journal" in told


@pytest.mark.slow
def test_a_gold_set_of_somebody_else_is_not_replaced(own_folder: Path) -> None:
    draft, graph = tale(own_folder, "Bert")
    own = own_folder / "tale-eval.jsonl"
    write_gold(own, {"id": "made by hand", "query": "Whom does Anna know?", "reference_entities": ["Bert"]})
    before = own.read_bytes()

    def export(*more: str) -> tuple[int, str]:
        done = curate(draft, graph, "--export", *more)
        _, told = done.communicate(timeout=HANGS)
        return done.returncode, told

    code, told = export()
    assert (code, own.read_bytes()) == (2, before)
    assert "not written from this draft" in told
    own.rename(own_folder / "away.jsonl")
    assert export()[0] == 0
    assert export()[0] == 0, "its own may be replaced"
    own.write_bytes(own.read_bytes() + b"\n")
    assert export()[0] == 2, "somebody changed it since"
    assert export("-o", "./tale-eval.jsonl")[0] == 0, "whose name is given"
