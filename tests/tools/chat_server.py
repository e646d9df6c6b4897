"""A chat-completions server on loopback, for tests and benchmarks: real HTTP, scripted misbehaviour.

In a test: `with ChatServer(script) as server: …` where `script(request)` returns an Action; as a process:
`python -m tests.tools.chat_server --latency 0.2` says where it listens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """number: from 0, in order of arrival. path: with query."""

    number: int
    path: str
    headers: dict[str, str]
    body: Json

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])


@dataclass(frozen=True)
class Action:
    """What the server does with a request. drop_after: bytes of the body sent before the line goes dead.
    drip: seconds between two bytes of the body."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    drop_after: int | None = None
    drip: float = 0.0


def words(text: str) -> int:
    return len(text.split())


def answer(
    text: str | None,
    request: Request | None = None,
    *,
    usage: Json | bool | None = True,
    finish_reason: str = "stop",
    **action: Any,
) -> Action:
    """A chat completion. usage: True counts words, None leaves it out, a mapping is sent as it is."""
    if usage is True:
        prompt = words(request.prompt) if request else 10
        usage = {"prompt_tokens": prompt, "completion_tokens": words(text or "")}
        usage["total_tokens"] = prompt + usage["completion_tokens"]
    document: Json = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "test-model",
        "choices": [
            {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}
        ],
    }
    if usage:
        document["usage"] = usage
    return Action(json.dumps(document, ensure_ascii=False).encode(), **action)


def error(status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> Action:
    """An error in OpenAI's form; more: `param`, `code`, `type`."""
    body = {
        "error": {"message": message, "type": "invalid_request_error", "param": None, "code": None} | more
    }
    return Action(json.dumps(body).encode(), status, headers or {})


Script = Callable[[Request], Action]


class ChatServer:
    """requests: all that came, in order. answered: how many got a whole 200. most_at_once: in flight.

    together: no reply leaves before so many were in flight at once, however busy the machine is.
    """

    def __init__(self, script: Script, latency: float = 0.0, together: int = 0) -> None:
        self.script, self.latency, self.together = script, latency, together
        self.requests: list[Request] = []
        self.answered = self.at_once = self.most_at_once = 0
        self.arrived: list[float] = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(self.serve())
        self._ready.set()
        self._loop.run_forever()
        self._server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    async def serve(self) -> asyncio.Server:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self._server

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))) or b"{}")
        request = Request(len(self.requests), head[0].split()[1], headers, body)
        self.requests.append(request)
        self.arrived.append(time.monotonic())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            action = self.script(request)
            while self.most_at_once < self.together:
                await asyncio.sleep(0.005)
            await asyncio.sleep(self.latency + action.wait)
            return await self._send(writer, action)
        finally:
            self.at_once -= 1

    async def _send(self, writer: asyncio.StreamWriter, action: Action) -> bool:
        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(len(action.body)),
        } | action.headers
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {action.status} .\r\n{lines}\r\n".encode())
        if action.drip:
            for byte in action.body:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(action.drip)
        else:
            writer.write(action.body[: action.drop_after])
        if action.status == 200 and action.drop_after is None:
            self.answered += 1
        await writer.drain()
        return action.drop_after is None


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options.add_argument("--port", type=int, default=0, help="0 takes a free one")
    given = options.parse_args()
    server = ChatServer(lambda request: answer("An answer [1].", request), given.latency)
    server.port = given.port

    async def forever() -> None:
        listening = await server.serve()
        print(server.url, flush=True)
        await listening.serve_forever()

    asyncio.run(forever())


if __name__ == "__main__":
    main()
