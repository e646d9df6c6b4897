"""What `curate`'s server does with requests that no page sends: real HTTP against a real process."""

from __future__ import annotations

import http.client
import json
import random
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import HANGS, write_gold, write_kg
from tests.gold.curating import Running, curate
from tests.tools.mutations import VALUES
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.curation import Curation, DraftJournal, read_journal

pytest.importorskip("uvicorn")
from tiny_graph_rag.report.curation import CurationServer

SOUND: dict[str, dict[str, Any]] = {
    "judge": {"what": "judge", "entity": "Anna", "grade": 1},
    "query": {"what": "query", "query": "Who is it?"},
    "note": {"what": "note", "note": "odd"},
    "tags": {"what": "tags", "tags": ["one", "two"]},
    "done": {"what": "done", "done": True, "no_answer": False},
    "undo": {"what": "undo", "of": 1},
}
ODD: tuple[Any, ...] = (*VALUES, 1.0, 2.0, 1e0, [[1]], {"a": []}, "²", "x" * 200, ["\ud800"])


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


@pytest.mark.slow
def test_any_value_in_any_field_is_taken_and_readable_or_refused_in_words(server: Server) -> None:
    """Each field of each event by each odd value; then as many events with several odd fields."""
    chance = random.Random(1)
    common = {"by": "anna", "question": "q1", "seen": 10**6, "key": None}
    events = [
        {**common, **sound, name: value}
        for sound in SOUND.values()
        for name in ("by", "question", "seen", "key", *sound)
        for value in ODD
    ]
    chance.shuffle(events)
    events = events[:250] + [
        {**common, **chance.choice(list(SOUND.values()))}
        | {
            chance.choice([*common, "what", "entity", "grade", "of", "tags"]): chance.choice(ODD)
            for _ in "ab"
        }
        for _ in range(50)
    ]
    acknowledged = 0
    for event in events:
        status, reply = server.send(event)
        assert status in (200, 400, 409), (status, event, reply)
        if status == 200:
            acknowledged = max(acknowledged, reply["taken"]["n"])
        else:
            assert "internal error" not in reply["error"], (event, reply)
    assert acknowledged > 0
    assert len(read_journal(server.journal)) == acknowledged


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", ["since=%C2%B2", "since=-1", "since=%F0%9F", "since=" + "9" * 5000, "since=1e3", "since"]
)
def test_any_query_is_answered(server: Server, query: str) -> None:
    for path in ("changes", "question", "search", "relations", "questions", "agreement"):
        status, _ = server.ask("GET", f"/api/{path}?" + query)
        assert status in (200, 404), path


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


def test_two_that_start_at_once_never_take_one_port(own_folder: Path) -> None:
    """Neither answers yet: the address that each prints is its own all the same."""
    graph = read_graph(write_kg(own_folder / "tale-KG.json", ["Anna"]))
    with closing(DraftJournal(own_folder / "tale-draft.journal.jsonl")) as journal:
        curation = Curation({}, journal, lambda entity: None)
        draft, gold = own_folder / "tale-draft.jsonl", own_folder / "tale-eval.jsonl"
        one, other = (CurationServer(graph, {}, curation, draft, gold, {}) for _ in "ab")
        with one.listen(None), other.listen(None):
            assert one.port != other.port
            with pytest.raises(UsageError, match=f"--port {one.port} is taken"):
                other.listen(one.port)


def test_a_body_without_end_is_refused_while_it_comes(server: Server) -> None:
    import socket

    own = f"127.0.0.1:{server.port}"
    before = _resident(server.process.pid)
    with socket.create_connection(("127.0.0.1", int(server.port)), timeout=HANGS) as connection:
        connection.sendall(
            f"POST /api/event HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\nX-Token: {server.token}\r\n"
            "Content-Length: 2000000000\r\n\r\n".encode()
        )
        try:
            for _ in range(400):  # 400 MB, were they taken
                connection.sendall(b"x" * (1 << 20))
        except OSError:
            pass
        else:
            raise AssertionError("it took 400 MB")
    assert _resident(server.process.pid) - before < 32 << 20
    assert server.ask("GET", "/api/questions")[0] == 200


def _resident(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


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
