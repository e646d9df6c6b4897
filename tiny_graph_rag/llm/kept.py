"""Answers of earlier runs, one small file a call, found by the call's key."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tiny_graph_rag.errors import InputError, UsageError
from tiny_graph_rag.llm.base import Call, Outcome, Tokens
from tiny_graph_rag.llm.cost import Price


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """folder: made when the first answer is kept. Processes may share it: files are moved into place."""

    folder: Path

    def get(self, key: str) -> Outcome | None:
        try:
            return Outcome.from_dict(json.loads(self._path(key).read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):  # missing, or spoiled: asked again
            return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep an answer. A cache that can't be written is no reason to stop: the journal has the answer."""
        path = self._path(key)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_text(json.dumps(outcome.as_dict(), ensure_ascii=False), encoding="utf-8")
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


HEADER = {"tiny-graph-rag-journal": 1}
ENDING = ".journal.jsonl"


def journal_path(results: Path) -> Path:
    """`NAME-results.journal.jsonl` beside `NAME-results.json`."""
    return results.with_name(results.name.removesuffix(".json") + ENDING)


class Journal:
    """Open with `Journal.open`; close when the run ends.

    finished: key → outcome of the calls of this run, those that are resumed too. paid: model and tokens of
    every reply of this run, those too that a later one replaced.
    """

    def __init__(
        self,
        path: Path,
        descriptor: int,
        finished: dict[str, Outcome],
        paid: list[tuple[str, Tokens]],
        *,
        is_new: bool,
    ) -> None:
        self.path, self.finished, self.paid = path, finished, paid
        self._descriptor = descriptor
        self._is_new = is_new
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._waiting: list[asyncio.Future[None]] = []
        self._syncer: asyncio.Task[None] | None = None

    @classmethod
    def open(cls, path: Path, *, resume: bool) -> Journal:
        """resume: take over what the last run finished; otherwise a new run begins below it, with `begin`.

        Raises UsageError where another process holds the journal, InputError where it can't be used.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InputError(f"{path}: the journal can't be opened: {error.strerror}") from error
        try:
            _lock(descriptor, path)
            finished, paid = _recovered(descriptor, path)
            is_new = not resume or not os.fstat(descriptor).st_size
            if is_new:
                finished, paid = {}, []
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor, finished, paid, is_new=is_new)

    def begin(self) -> None:
        """Start this run's section where it is a new one. Before the first call, and not earlier: a run that
        ends before it has asked anything leaves the last one's section to --resume."""
        if self._is_new:
            _write_all(self._descriptor, json.dumps(HEADER).encode() + b"\n")
            os.fsync(self._descriptor)
            self._is_new = False

    async def record(self, key: str, call: Call, outcome: Outcome) -> None:
        """Append one finished call and return once it is on disk.

        The line is written at once, so that a killed process loses nothing; one sync by a thread of its own
        serves all lines that were written before it began, so that no call waits for another's sync.
        """
        self.finished[key] = outcome
        if outcome.reply is not None:
            self.paid.append((call.model, outcome.reply.tokens))
        about = {"key": key, "purpose": call.purpose, "question": call.question, "model": call.model}
        line = json.dumps(about | outcome.as_dict(), ensure_ascii=False)
        _write_all(self._descriptor, line.encode() + b"\n")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        if self._syncer is None or self._syncer.done():
            self._syncer = asyncio.create_task(self._sync_all())
        await done

    async def _sync_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            problem = None
            try:
                await loop.run_in_executor(self._disk, os.fsync, self._descriptor)
            except OSError as error:
                problem = InputError(f"{self.path}: the journal can't be written: {error.strerror}")
            for each in batch:
                if each.done():  # its call was cancelled while it waited
                    continue
                if problem is None:
                    each.set_result(None)
                else:
                    each.set_exception(problem)

    def paid_usd(self, price: Callable[[str], Price | None]) -> float:
        """What the replies of this run cost at today's prices; 0 for models without one."""
        prices = {model: price(model) for model, _ in self.paid}
        known = ((prices[model], tokens) for model, tokens in self.paid)
        return sum(its_price.cost(tokens) for its_price, tokens in known if its_price is not None)

    def close(self) -> None:
        self._disk.shutdown()
        os.close(self._descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _lock(descriptor: int, path: Path) -> None:
    """Held until the process ends, however it ends. Where the platform has no flock nothing is guarded."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise UsageError(
            f"{path}: another process is writing this journal. Wait for it, or choose other results with -o"
        ) from error


def _recovered(descriptor: int, path: Path) -> tuple[dict[str, Outcome], list[tuple[str, Tokens]]]:
    """What the last run finished, and what it paid for; a torn last line is cut off the file."""
    finished: dict[str, Outcome] = {}
    paid: list[tuple[str, Tokens]] = []
    whole = 0
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        stream.seek(0)
        for number, line in enumerate(stream, 1):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            try:
                entry = json.loads(line)
                if entry == HEADER:
                    finished, paid = {}, []
                else:
                    outcome = Outcome.from_dict(entry)
                    finished[str(entry["key"])] = outcome
                    if outcome.reply is not None:
                        paid.append((str(entry["model"]), outcome.reply.tokens))
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{path}:{number}: not a line of a journal. Move the file away, or choose other "
                    "results with -o"
                ) from error
    if whole != os.fstat(descriptor).st_size:
        os.ftruncate(descriptor, whole)
    return finished, paid
