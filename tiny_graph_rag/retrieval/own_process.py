"""A process that holds the user's retriever and answers questions one after another or several at once.

Nothing that a user's function does (`os._exit`, `chdir`, prints, a crash, a loop without end) reaches the
program: the process is ended and another one goes on. Both sides speak JSON, a line a message; the process's
standard output is standard error, so that prints of a retriever spoil no result.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.inputs import note_named
from tiny_graph_rag.messages import Said, said
from tiny_graph_rag.retrieval.native import OwnReply
from tiny_graph_rag.retrieval.own_calls import Calls, Event, Function, callable_of
from tiny_graph_rag.retrieval.own_replies import reply_from, told

PEACEFUL_SECONDS = 2.0  # for a retriever to close what it has open, once every question is answered
LAST_WORDS_SECONDS = 0.5  # for reading what a process wrote before it ended
# The path first: the package may lie where only the program's entry knows.
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tiny_graph_rag.retrieval.own_process import serve; serve(sys.argv[2])"
)


class RetrieverProcess:
    """The parent's side: calls as `Calls` has them, in another process. Raises UsageError where the function
    can't be had. events: of the process that runs now."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self.several = False
        self.restart()

    def restart(self) -> None:
        """End the process, whatever it does, and start another one."""
        self.kill()
        self.events: SimpleQueue[Event] = SimpleQueue()
        command = [sys.executable, "-c", START, json.dumps(list(map(str, sys.path))), self.spec]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._process = process
        try:
            ready = self._ready(process)
        except BaseException:
            self.kill()
            raise
        self.several = bool(ready["several"])
        self._reader = reader = threading.Thread(target=_read, args=(process, self.events), daemon=True)
        reader.start()
        threading.Thread(target=_watch, args=(process, reader, self.events), daemon=True).start()

    def start(self, call: int, questions: Sequence[str]) -> None:
        self._send({"call": call, "questions": list(questions)})

    def cancel(self, call: int) -> None:
        self._send({"cancel": call})

    def close(self) -> None:
        """Let it end in peace, for a moment."""
        process = self._process
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PEACEFUL_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End it at once, and what it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        if self._reader is not None:
            self._reader.join(LAST_WORDS_SECONDS)
        elif process.stdout is not None:  # it never got as far as being read from
            process.stdout.close()
        self._reader = None

    def _send(self, message: dict[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(OSError, ValueError):  # it has ended, and its watcher says so
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()

    def _ready(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert process.stdout is not None
        for line in process.stdout:
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict) and "several" in message:
                    return message
                if isinstance(message, dict) and "refused" in message:
                    raise UsageError(message["refused"], **message["values"])
        raise UsageError(
            "--retriever {spec}: importing it failed: {told}",
            spec=self.spec,
            told=_ended(process.wait()),
        )


def _read(process: subprocess.Popen[bytes], events: SimpleQueue[Event]) -> None:
    assert process.stdout is not None
    with process.stdout, contextlib.suppress(OSError, ValueError):
        for line in process.stdout:
            message = json.loads(line)
            if message["what"] == "started":
                events.put(Event("started", message["call"]))
            else:
                replies = tuple(map(_received, message["replies"]))
                events.put(Event("ended", message["call"], replies))


def _received(reply: dict[str, Any]) -> OwnReply:
    try:
        return reply_from(reply)
    except Exception as error:  # what the journal's reader would refuse never gets into a journal
        return OwnReply(error=told(error))


def _watch(process: subprocess.Popen[bytes], reader: threading.Thread, events: SimpleQueue[Event]) -> None:
    code = process.wait()
    reader.join(LAST_WORDS_SECONDS)  # a process that it forked may hold the pipe open for ever
    events.put(Event("died", reason=_ended(code)))


def _ended(code: int) -> Said:
    if code >= 0:
        return said("its process ended with exit code {code}", code=code)
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return said("its process was stopped by {signal}", signal=name)


def serve(spec: str) -> None:
    """The process's side, until its standard input ends."""
    asks, out = _own_streams()
    lock, owner = threading.Lock(), os.getpid()

    def say(message: dict[str, Any]) -> None:
        if os.getpid() != owner:
            os._exit(0)  # a copy of this process that a retriever forked answers nothing
        try:
            line = json.dumps(message, allow_nan=False).encode() + b"\n"
            with lock:
                out.write(line)
                out.flush()
        except BaseException:
            os._exit(1)  # nobody listens any more, or a retriever broke what this needs

    try:
        function = load_function(spec)
    except UsageError as error:
        problem = error.args[0]
        template = problem.template if isinstance(problem, Said) else "{text}"
        values = problem.values if isinstance(problem, Said) else {"text": str(problem)}
        say({"refused": template, "values": {name: str(value) for name, value in values.items()}})
        return

    def tell(event: Event) -> None:
        message: dict[str, Any] = {"what": event.what, "call": event.call}
        if event.what == "ended":
            message["replies"] = list(map(_sent, event.replies))
        say(message)

    calls = Calls(function, tell)
    say({"several": calls.several})
    for line in asks:
        message = json.loads(line)
        if "cancel" in message:
            calls.cancel(message["cancel"])
        else:
            calls.start(message["call"], message["questions"])
    # The program is done, or gone. A thread that a retriever left behind must not keep this process.
    end = threading.Timer(2 * PEACEFUL_SECONDS, os._exit, (1,))
    end.daemon = True
    end.start()


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the program, out of reach of a retriever that reads and prints."""
    asks = os.fdopen(os.dup(0), "rb")
    out = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    return asks, out


def _sent(reply: OwnReply) -> dict[str, Any]:
    try:
        reply.as_json()
    except Exception as error:
        reply = OwnReply(seconds=reply.seconds, error=told(error))
    return reply.as_dict()


def load_function(spec: str) -> Function:
    """The callable that a spec names. Raises UsageError, also for whatever the user's file raises."""
    place, _, name = spec.rpartition(":")
    try:
        module = _module_of_file(file_of(place)) if place.endswith(".py") else _module(place)
    except UsageError:
        raise
    except BaseException as error:  # whatever a user's file does when it is imported
        raise UsageError(
            "--retriever {spec}: importing it failed: {told}", spec=spec, told=told(error)
        ) from error
    function = getattr(module, name, None)
    if function is None:
        callables = [key for key, value in vars(module).items() if callable(value) and key[:1] != "_"]
        hint = nearest(name, callables) or f"; it has: {', '.join(callables[:8]) or 'no function'}"
        raise UsageError(
            "--retriever {spec}: {place} has no {name}{hint}",
            spec=spec,
            place=place,
            name=repr(name),
            hint=hint,
        )
    return callable_of(function, f"--retriever {spec}: {name!r}")


def file_of(place: str) -> Path:
    """The file that a spec names before its colon. Raises UsageError for one that is not there."""
    path = Path(place).expanduser().resolve()
    if not path.is_file():
        raise UsageError(
            "--retriever {name}: no such file (looked in {parent})", name=path.name, parent=path.parent
        )
    note_named(path)
    return path


def _module_of_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # so that it can import what lies next to it, now and later
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    finally:
        if before is not None:  # a file that is called as a module of somebody else's
            sys.modules[path.stem] = before
    return module


def _module(name: str) -> Any:
    sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module(name)
