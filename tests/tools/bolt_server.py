"""A server of the Bolt protocol (4.4 and 5.x, version negotiation, PackStream), written for tests.

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

MAGIC = b"\x60\x60\xb0\x17"
HELLO, GOODBYE, RESET, RUN, DISCARD, PULL, BEGIN, COMMIT, ROLLBACK = (
    0x01, 0x02, 0x0F, 0x10, 0x2F, 0x3F, 0x11, 0x12, 0x13,
)  # fmt: skip
ROUTE, LOGON, LOGOFF, TELEMETRY = 0x66, 0x6A, 0x6B, 0x54
SUCCESS, RECORD, IGNORED, FAILURE = 0x70, 0x71, 0x7E, 0x7F
WRITES = re.compile(r"\b(CREATE|MERGE|DELETE|SET|REMOVE)\b", re.I)


@dataclass(frozen=True)
class Structure:
    tag: int
    fields: tuple[Any, ...]


def node(id: int, labels: Sequence[str], properties: Mapping[str, Any]) -> Structure:
    return Structure(0x4E, (id, list(labels), dict(properties), f"4:test:{id}"))


def relationship(id: int, source: int, target: int, type: str, properties: Mapping[str, Any]) -> Structure:
    ends = (f"5:test:{id}", f"4:test:{source}", f"4:test:{target}")
    return Structure(0x52, (id, source, target, type, dict(properties), *ends))


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
    received: list[tuple[int, list[Any]]] = field(default_factory=list)

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

    def _reply(self, tag: int, fields: list[Any]) -> None:
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
            self._fail("Neo.ClientError.Request.Invalid", f"unknown message {tag:#x}")

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

    def _send(self, tag: int, *fields: Any) -> None:
        data = _packed(Structure(tag, fields))
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


def _packed(value: Any) -> bytes:
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return struct.pack(">b", value) if -16 <= value < 128 else b"\xcb" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xc1" + struct.pack(">d", value)
    if isinstance(value, str):
        data = value.encode()
        return (
            bytes([0x80 | len(data)]) if len(data) < 16 else b"\xd2" + struct.pack(">I", len(data))
        ) + data
    if isinstance(value, bytes):
        return b"\xce" + struct.pack(">I", len(value)) + value
    if isinstance(value, list | tuple):
        head = bytes([0x90 | len(value)]) if len(value) < 16 else b"\xd6" + struct.pack(">I", len(value))
        return head + b"".join(map(_packed, value))
    if isinstance(value, dict):
        head = bytes([0xA0 | len(value)]) if len(value) < 16 else b"\xda" + struct.pack(">I", len(value))
        return head + b"".join(_packed(key) + _packed(record) for key, record in value.items())
    return bytes([0xB0 | len(value.fields), value.tag]) + b"".join(map(_packed, value.fields))


def _unpacked(data: bytes) -> Structure:
    return _Reader(data).value()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def value(self) -> Any:
        mark = self.take(1)[0]
        if mark < 0x80 or mark >= 0xF0:
            return mark if mark < 0x80 else mark - 0x100
        small = {0x80: str, 0x90: list, 0xA0: dict, 0xB0: Structure}.get(mark & 0xF0)
        if small is not None:
            return self.several(small, mark & 0x0F)
        sized = {
            0xD0: (str, ">B"), 0xD1: (str, ">H"), 0xD2: (str, ">I"), 0xD4: (list, ">B"), 0xD5: (list, ">H"),
            0xD6: (list, ">I"), 0xD8: (dict, ">B"), 0xD9: (dict, ">H"), 0xDA: (dict, ">I"),
            0xCC: (bytes, ">B"),
        }  # fmt: skip
        if mark in sized:
            kind, form = sized[mark]
            return self.several(kind, self.number(form))
        if mark in (0xC8, 0xC9, 0xCA, 0xCB):
            return self.number({0xC8: ">b", 0xC9: ">h", 0xCA: ">i", 0xCB: ">q"}[mark])
        if mark == 0xC1:
            return struct.unpack(">d", self.take(8))[0]
        return {0xC0: None, 0xC2: False, 0xC3: True}[mark]

    def several(self, kind: type, size: int) -> Any:
        if kind in (str, bytes):
            return self.take(size).decode() if kind is str else self.take(size)
        if kind is list:
            return [self.value() for _ in range(size)]
        if kind is dict:
            return {self.value(): self.value() for _ in range(size)}
        tag = self.take(1)[0]
        return Structure(tag, tuple(self.value() for _ in range(size)))
