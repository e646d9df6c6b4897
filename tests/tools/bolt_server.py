"""A server of the Bolt protocol (4.4 and 5.x, version negotiation), written for tests; its PackStream is the
driver's own.

It answers the driver's own messages over a real socket: HELLO, LOGON, ROUTE, BEGIN, RUN, PULL in batches,
DISCARD, COMMIT, ROLLBACK, RESET and GOODBYE. Queries are looked up in a table of answers; one that writes
(CREATE, MERGE, DELETE, SET) is refused in a transaction whose mode is read, as Neo4j refuses it.
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neo4j._codec.packstream import Structure
from neo4j._codec.packstream.v1 import PackableBuffer, Packer, UnpackableBuffer, Unpacker

MAGIC = b"\x60\x60\xb0\x17"
HELLO, GOODBYE, RESET, RUN, DISCARD, PULL = b"\x01", b"\x02", b"\x0f", b"\x10", b"\x2f", b"\x3f"
BEGIN, COMMIT, ROLLBACK, ROUTE, LOGON, LOGOFF = b"\x11", b"\x12", b"\x13", b"\x66", b"\x6a", b"\x6b"
TELEMETRY, SUCCESS, RECORD, IGNORED, FAILURE = b"\x54", b"\x70", b"\x71", b"\x7e", b"\x7f"
WRITES = re.compile(r"\b(CREATE|MERGE|DELETE|SET|REMOVE)\b", re.I)


def node(id: int, labels: Sequence[str], properties: Mapping[str, Any]) -> Structure:
    return Structure(b"N", id, list(labels), dict(properties), f"4:test:{id}")


def relationship(id: int, source: int, target: int, type: str, properties: Mapping[str, Any]) -> Structure:
    ends = (f"5:test:{id}", f"4:test:{source}", f"4:test:{target}")
    return Structure(b"R", id, source, target, type, dict(properties), *ends)


@dataclass
class Answer:
    fields: list[str]
    rows: list[list[Any]]


@dataclass
class BoltServer:
    """answers: query → its answer, or what makes one of the query. received: (message, fields) in order."""

    answers: Mapping[str, Answer] | Callable[[str], Answer]
    user: str = "neo4j"
    password: str = "secret"
    received: list[tuple[bytes, list[Any]]] = field(default_factory=list)

    def __enter__(self) -> BoltServer:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for one more
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._handshake(connection)
                _Conversation(self, connection).run()
            except (ConnectionError, OSError, EOFError):
                return

    def _handshake(self, connection: socket.socket) -> None:
        if _exactly(connection, 4) != MAGIC:
            raise ConnectionError
        offered = [_exactly(connection, 4) for _ in range(4)]
        for _, span, minor, major in offered:
            for wanted in ((5, 4), (4, 4)):
                if major == wanted[0] and minor - span <= wanted[1] <= minor:
                    connection.sendall(bytes((0, 0, wanted[1], wanted[0])))
                    self.version = wanted
                    return
        connection.sendall(b"\0\0\0\0")
        raise ConnectionError

    def answer(self, query: str) -> Answer | None:
        if callable(self.answers):
            return self.answers(query)
        return self.answers.get(query)


class _Conversation:
    def __init__(self, server: BoltServer, connection: socket.socket) -> None:
        self.server, self.connection = server, connection
        self.mode = "w"
        self.rows: list[list[Any]] = []
        self.failed = False

    def run(self) -> None:
        while True:
            message = _unpacked(_chunks(self.connection))
            if message.tag == GOODBYE:
                return
            self.server.received.append((message.tag, list(message.fields)))
            if message.tag == RESET:
                self.failed = False
                self._send(SUCCESS, {})
            elif self.failed:
                self._send(IGNORED)
            else:
                self._reply(message.tag, list(message.fields))

    def _reply(self, tag: bytes, fields: list[Any]) -> None:
        if tag == HELLO:
            if self.server.version < (5, 1) and not self._is_known(fields[0]):
                return
            self._send(SUCCESS, {"server": "Neo4j/5.26.0", "connection_id": "bolt-1", "hints": {}})
        elif tag == LOGON:
            if self._is_known(fields[0]):
                self._send(SUCCESS, {})
        elif tag == ROUTE:
            address = f"127.0.0.1:{self.server.port}"
            servers = [{"addresses": [address], "role": role} for role in ("ROUTE", "READ", "WRITE")]
            self._send(
                SUCCESS, {"rt": {"ttl": 300, "db": fields[2].get("db") or "neo4j", "servers": servers}}
            )
        elif tag == BEGIN:
            self.mode = fields[0].get("mode", "w")
            self._send(SUCCESS, {})
        elif tag == RUN:
            self._run(fields[0], fields[2])
        elif tag == PULL:
            self._pull(fields[0].get("n", -1))
        elif tag in (DISCARD, COMMIT, ROLLBACK, LOGOFF, TELEMETRY):
            self._send(SUCCESS, {})
        else:
            self._fail("Neo.ClientError.Request.Invalid", f"unknown message {tag!r}")

    def _is_known(self, credentials: dict[str, Any]) -> bool:
        known = (credentials.get("principal"), credentials.get("credentials")) == (
            self.server.user,
            self.server.password,
        )
        if not known:
            self._fail(
                "Neo.ClientError.Security.Unauthorized",
                "The client is unauthorized due to authentication failure.",
            )
        return known

    def _run(self, query: str, extra: dict[str, Any]) -> None:
        if WRITES.search(query) and "r" in (self.mode, extra.get("mode")):
            self._fail("Neo.ClientError.Statement.AccessMode", "Writing in read access mode not allowed.")
            return
        answer = self.server.answer(query)
        if answer is None:
            self._fail("Neo.ClientError.Statement.SyntaxError", f"Invalid input: {query[:40]}")
            return
        self.rows = list(answer.rows)
        self._send(SUCCESS, {"fields": answer.fields, "t_first": 0, "qid": 0})

    def _pull(self, most: int) -> None:
        batch = self.rows if most < 0 else self.rows[:most]
        self.rows = self.rows[len(batch) :]
        for row in batch:
            self._send(RECORD, row)
        self._send(SUCCESS, {"has_more": True} if self.rows else {"type": "r", "t_last": 0, "db": "neo4j"})

    def _fail(self, code: str, message: str) -> None:
        self.failed = True
        self._send(FAILURE, {"code": code, "message": message})

    def _send(self, tag: bytes, *fields: Any) -> None:
        data = _packed(Structure(tag, *fields))
        parts = [data[start : start + 0xFFFF] for start in range(0, len(data), 0xFFFF)]
        framed = b"".join(struct.pack(">H", len(part)) + part for part in parts)
        self.connection.sendall(framed + b"\0\0")


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _chunks(connection: socket.socket) -> bytes:
    data = b""
    while True:
        (size,) = struct.unpack(">H", _exactly(connection, 2))
        if size:
            data += _exactly(connection, size)
        elif data:
            return data


def _packed(message: Structure) -> bytes:
    buffer = PackableBuffer()
    packer = Packer(buffer)
    packer.pack_struct(message.tag, message.fields)
    return bytes(buffer.data)


def _unpacked(data: bytes) -> Structure:
    return Unpacker(UnpackableBuffer(data)).unpack()
