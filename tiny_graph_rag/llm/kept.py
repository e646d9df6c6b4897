"""What is kept of the calls that were made, so that nothing is paid for twice: journal and answer cache.

The journal belongs to one run: every finished call, on disk before it counts as finished. One JSON object a
line. A header line starts a run; lines after the last header belong to it. A line that was torn by a crash is
cut off when the journal is opened again. Only one process may hold a journal.

The cache serves every run: one SQLite file under the cache folder, replies and vectors by their key.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import InputError
from tiny_graph_rag.journals import JournalFile
from tiny_graph_rag.llm.base import NO_TOKENS, Call, Outcome, Tokens
from tiny_graph_rag.llm.cost import Price
from tiny_graph_rag.messages import said

HEADER = {"tiny-graph-rag-journal": 1}
HEADER_LINE = json.dumps(HEADER).encode() + b"\n"
BUSY = "another process is writing this journal. Wait for it, or choose other results with -o"
ENDING = ".journal.jsonl"
CACHE_FILE = "replies-2.sqlite3"  # under the cache folder, with the version of what lies in it


def journal_path(results: Path) -> Path:
    """`NAME-results.journal.jsonl` next to `NAME-results.json`."""
    return results.with_name(results.name.removesuffix(".json") + ENDING)


class Journal:
    """Open with `Journal.open`; close when the run ends.

    finished: key → outcome of the calls of this run, those that are resumed too. paid: model and tokens of
    everything that this run paid for, or may have: replies, those too that a later one replaced, and attempts
    that broke off.
    """

    def __init__(
        self,
        file: JournalFile,
        finished: dict[str, Outcome],
        paid: list[tuple[str, Tokens]],
        *,
        is_new: bool,
    ) -> None:
        self.path, self.finished, self.paid = file.path, finished, paid
        self._file = file
        self._is_new = is_new
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._waiting: list[asyncio.Future[None]] = []
        self._syncer: asyncio.Task[None] | None = None

    @classmethod
    def open(cls, path: Path, *, resume: bool) -> Journal:
        """resume: take over what the last run finished; otherwise a new run begins below it, with `begin`.

        Raises UsageError where another process holds the journal, InputError where it can't be used: a file
        that is no journal is never changed.
        """
        file = JournalFile(path, BUSY, mode=0o600)
        try:
            finished, paid = _recovered(file)
            is_new = not resume or not file.size
            if is_new:
                finished, paid = {}, []
        except BaseException:
            file.close()
            raise
        return cls(file, finished, paid, is_new=is_new)

    def begin(self) -> None:
        """Start this run's section where it is a new one. Before the first call, and not earlier: a run that
        ends before it has asked anything leaves the last one's section to --resume."""
        if self._is_new:
            self._file.append(HEADER_LINE)
            self._file.sync()
            self._is_new = False

    async def record(self, key: str, call: Call, outcome: Outcome) -> None:
        """Append one finished call and return once it is on disk.

        The line is written at once, so that a killed process loses nothing; one sync by a thread of its own
        serves all lines that were written before it began, so that no call waits for another's sync.
        """
        self.finished[key] = outcome
        self._pay(call, outcome)
        self._write({"key": key, **_about(call), **outcome.as_dict()})
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        if self._syncer is None or self._syncer.done():
            self._syncer = asyncio.create_task(self._sync_all())
        await done

    def note(self, call: Call, perhaps: Tokens) -> None:
        """Of a call that did not end: what it took, at most."""
        if perhaps != NO_TOKENS:
            outcome = Outcome(error="not finished", perhaps=perhaps)
            self._pay(call, outcome)
            self._write(_about(call) | outcome.as_dict())

    def _pay(self, call: Call, outcome: Outcome) -> None:
        self.paid += _paid(call.model, outcome)

    def _write(self, entry: dict[str, Any]) -> None:
        self._file.append(json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    async def _sync_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            problem = None
            try:
                await loop.run_in_executor(self._disk, self._file.sync)
            except OSError as error:
                problem = InputError(
                    "{path}: the journal can't be written: {why}",
                    path=self.path,
                    why=said(error.strerror or ""),
                )
            for future in batch:
                if future.done():  # its call was cancelled while it waited
                    continue
                if problem is None:
                    future.set_result(None)
                else:
                    future.set_exception(problem)

    def paid_usd(self, price: Callable[[str], Price | None]) -> float:
        """What this run cost at today's prices; 0 for models without one."""
        prices = {model: price(model) for model, _ in self.paid}
        known = ((prices[model], tokens) for model, tokens in self.paid)
        return sum(its_price.cost(tokens) for its_price, tokens in known if its_price is not None)

    def close(self) -> None:
        self._disk.shutdown()
        self._file.close()


def _about(call: Call) -> dict[str, str]:
    return {"purpose": call.purpose, "question": call.question, "model": call.model}


def _paid(model: str, outcome: Outcome) -> list[tuple[str, Tokens]]:
    replied = [] if outcome.reply is None else [(model, outcome.reply.tokens)]
    return replied + ([] if outcome.perhaps == NO_TOKENS else [(model, outcome.perhaps)])


def _no_journal(path: Path, line: int = 1) -> InputError:
    return InputError(
        "{path}:{line}: not a line of a journal. Move or rename the file, or choose another "
        "results file with -o",
        path=path,
        line=line,
    )


def _recovered(file: JournalFile) -> tuple[dict[str, Outcome], list[tuple[str, Tokens]]]:
    """What the last run finished, and what it paid for; a torn last line is cut off the file."""
    finished: dict[str, Outcome] = {}
    paid: list[tuple[str, Tokens]] = []
    whole = 0
    if not file.begins_with(HEADER_LINE):
        raise _no_journal(file.path)
    for number, line in file.lines():
        whole += len(line)
        try:
            entry = json.loads(line)
            if entry == HEADER:
                finished, paid = {}, []
                continue
            outcome, model = Outcome.from_dict(entry), entry["model"]
            if not isinstance(model, str):
                raise TypeError("a model is text")
            if "key" in entry:
                finished[str(entry["key"])] = outcome
            paid += _paid(model, outcome)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise _no_journal(file.path, number) from error
    file.cut(whole)
    return finished, paid


class ReplyCache:
    """Bytes by key in one file that several processes may share. A file that can't be read or written is no
    reason to stop: what is missing is asked again, and a file that is no database is made again."""

    def __init__(self, folder: Path) -> None:
        """folder: made where it is missing."""
        self.path = folder / CACHE_FILE
        self._database = self._open()

    def _open(self) -> sqlite3.Connection | None:
        for is_last in (False, True):
            database = None
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
                # A cache may lose its last entries to a power cut: the journal has them.
                database.execute("PRAGMA synchronous = OFF")
                database.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB)")
                weakref.finalize(self, database.close)
                return database
            except sqlite3.DatabaseError as error:
                if database is not None:
                    database.close()
                if is_last or isinstance(error, sqlite3.OperationalError):
                    return None
                with suppress(OSError):
                    self.path.unlink()
            except OSError:
                return None
        return None

    def get(self, key: str) -> bytes | None:
        """None where it is missing or can't be read."""
        if self._database is None:
            return None
        try:
            row = self._database.execute("SELECT value FROM kept WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error:
            return None
        return row[0] if row and isinstance(row[0], bytes) else None

    def put(self, values: Mapping[str, bytes]) -> None:
        """Keep values, those of one call together."""
        if self._database is None:
            return
        with suppress(sqlite3.Error):
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", values.items())
            self._database.execute("COMMIT")

    def outcome(self, key: str) -> Outcome | None:
        """The answer to a call; None where there is none, or what is kept is no answer."""
        kept = self.get(key)
        try:
            return None if kept is None else Outcome.from_dict(json.loads(kept))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def keep_outcome(self, key: str, outcome: Outcome) -> None:
        self.put({key: json.dumps(outcome.as_dict(), ensure_ascii=False).encode("utf-8", "replace")})
