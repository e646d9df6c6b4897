"""What is kept of the calls that were made, so that nothing is paid for twice: journal and answer cache.

The journal belongs to one run: every finished call, with the system before it counts as finished. One JSON
object a line. A header line starts a run; lines after the last header belong to it. A line that was torn by a
crash is cut off when the journal is opened again. Only one process may hold a journal.

The cache serves every run: one SQLite file under the cache folder, replies and vectors by their key.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from tiny_graph_rag.journals import JournalFile
from tiny_graph_rag.llm.base import NO_TOKENS, NOT_JSON, Call, Outcome, Tokens
from tiny_graph_rag.llm.cost import Price

HEADER_LINE = b'{"tiny-graph-rag-journal": 2}\n'
BUSY = "another process is writing this journal. Wait for it, or choose other results with -o"
ENDING = ".journal.jsonl"
CACHE_FILE = "replies-3.sqlite3"  # under the cache folder, with the version of what lies in it

_encode = msgspec.json.Encoder(enc_hook=str).encode  # texts that can be translated are kept in English


def journal_path(results: Path) -> Path:
    """`NAME-results.journal.jsonl` next to `NAME-results.json`."""
    return results.with_name(results.name.removesuffix(".json") + ENDING)


class JournalLine(Outcome, frozen=True, omit_defaults=True, kw_only=True):
    """One line of a journal. key: what the call is known by, "" of one that did not end."""

    key: str = ""
    purpose: str
    question: str
    model: str

    @property
    def paid(self) -> Tokens:
        """What the call took, at most."""
        return self.perhaps if self.reply is None else self.reply.tokens + self.perhaps


class Journal(JournalFile):
    """Closed when the run ends.

    finished: key → outcome of the calls of this run, those that are resumed too. paid: model and tokens of
    everything that this run paid for, or may have: replies, those too that a later one replaced, and attempts
    that broke off.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        """resume: take over what the last run finished; otherwise a new run begins below it, with `begin`.

        Raises UsageError where another process holds the journal, InputError where it can't be used.
        """
        super().__init__(path, BUSY, mode=0o600)
        lines = self.entries(HEADER_LINE, _entry)
        begins = max((row for row, entry in enumerate(lines) if entry is None), default=0)
        entries = [entry for entry in lines[begins:] if entry is not None and resume]
        self.finished: dict[str, Outcome] = {entry.key: entry for entry in entries if entry.key}
        self.paid = [(entry.model, entry.paid) for entry in entries]
        self._is_new = not resume or not self.size

    def begin(self) -> None:
        """Start this run's section where it is a new one. Before the first call, and not earlier: a run that
        ends before it has asked anything leaves the last one's section to --resume."""
        if self._is_new:
            self.append(HEADER_LINE)
            self._is_new = False

    def record(self, key: str, call: Call, outcome: Outcome) -> None:
        """Append one finished call: written at once, so that a killed process loses nothing."""
        self.finished[key] = outcome
        self._write(key, call, outcome)

    def note(self, call: Call, perhaps: Tokens) -> None:
        """Of a call that did not end: what it took, at most."""
        if perhaps != NO_TOKENS:
            self._write("", call, Outcome(error="not finished", perhaps=perhaps))

    def _write(self, key: str, call: Call, outcome: Outcome) -> None:
        entry = JournalLine(
            outcome.reply,
            outcome.error,
            outcome.perhaps,
            key=key,
            purpose=call.purpose,
            question=call.question,
            model=call.model,
        )
        self.paid.append((entry.model, entry.paid))
        self.append(_encode(entry) + b"\n")

    def paid_usd(self, price: Callable[[str], Price | None]) -> float:
        """What this run cost at today's prices; 0 for models without one."""
        prices = {model: price(model) for model, _ in self.paid}
        known = ((prices[model], tokens) for model, tokens in self.paid)
        return sum(its_price.cost(tokens) for its_price, tokens in known if its_price is not None)


def _entry(line: bytes) -> JournalLine | None:
    """None of the line that a run begins with."""
    return None if line == HEADER_LINE else msgspec.json.decode(line, type=JournalLine)


class ReplyCache:
    """Bytes by key in one file that several processes may share. A file that can't be read or written is no
    reason to stop: what is missing is asked again, and a file that is no database is made again."""

    def __init__(self, folder: Path) -> None:
        """folder: made where it is missing."""
        self.path = folder / CACHE_FILE
        self._database: sqlite3.Connection | None = None
        with suppress(OSError, sqlite3.Error):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self._open()
            except sqlite3.OperationalError:  # it can't be written
                raise
            except sqlite3.DatabaseError:
                self.path.unlink()
                self._open()

    def _open(self) -> None:
        database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, database.close)
        # A cache may lose its last entries to a power cut: the journal has them.
        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB)")
        self._database = database

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
        try:
            return msgspec.json.decode(self.get(key) or b"", type=Outcome)
        except NOT_JSON:
            return None

    def keep_outcome(self, key: str, outcome: Outcome) -> None:
        self.put({key: _encode(outcome)})
