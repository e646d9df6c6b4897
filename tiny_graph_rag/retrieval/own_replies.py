"""What a user's own retriever returned for a question: checked, and kept so that nobody is asked twice.

The journal (`NAME.retrieved.jsonl`): a line that names the retriever, then one a reply. A new run replaces
the last one's lines with its first.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import InputError, RunError, UsageError
from tiny_graph_rag.formats.runs import in_order
from tiny_graph_rag.formats.runs.items import LONGEST_TEXT, is_score
from tiny_graph_rag.journals import JournalFile
from tiny_graph_rag.messages import said
from tiny_graph_rag.retrieval.native import KINDS, OwnReply, unpacked

JOURNAL_ENDING = ".retrieved.jsonl"
BUSY = "another process is writing this journal. Wait for it, or choose another -o"
HEAD = b'{"journal": 1, "retriever": '  # how each journal begins
MOST_USAGE = 100  # values of one reply's usage


def reply_from(given: dict[str, Any]) -> OwnReply:
    """Of `as_dict`, from a journal or another process. Raises ValueError or KeyError where it is none."""
    seconds, error = given["seconds"], given["error"]
    if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
        raise ValueError(said("{seconds} seconds", seconds=repr(seconds)))
    if error is not None:
        return OwnReply(seconds=float(seconds), error=str(error))
    # A journal of an earlier version has entities alone.
    kinds = {kind: given[kind] for kind in KINDS if given.get(kind) is not None}
    reply = reply_of({**kinds, **{name: given.get(name) for name in ("answer", "context", "usage")}})
    return replace(reply, seconds=float(seconds))


def reply_of(value: Any) -> OwnReply:
    """What a function returned, checked. Raises ValueError with what was wanted and what came."""
    reply = unpacked(value)
    usage: dict[str, Any] = {}
    for name, amount in list(reply.usage.items())[:MOST_USAGE]:
        if isinstance(amount, str):
            usage[whole(str(name))] = whole(amount[:LONGEST_TEXT])
        elif is_score(amount) and math.isfinite(amount) and amount >= 0:
            usage[whole(str(name))] = amount
    entities = reply.entities
    if entities is not None:
        try:
            entities = tuple(in_order(list(entities), "the returned list"))
        except RunError as error:
            raise ValueError(str(error)) from error
    return replace(reply, entities=entities, usage=usage)


def error_text(error: BaseException) -> str:
    """Type and first line of an error, whatever its own methods do; nobody's traceback."""
    try:
        line = whole(next(iter(str(error).splitlines()), ""))
    except BaseException:
        line = ""
    line = "".join(sign if sign.isprintable() else " " for sign in line[:300]).strip()
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def whole(text: str) -> str:
    """The text without halves of characters, which no file can hold: a cut emoji, say."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class ReplyJournal:
    """Replies of one retriever by question id, each on disk before it counts. Close it when all are there."""

    def __init__(self, path: Path, spec: str) -> None:
        """spec: as `--retriever` names the function. Raises UsageError and InputError as `JournalFile`, and
        InputError for a file that is no journal: such a one is never changed."""
        self.path, self.spec = path, spec
        self._file = JournalFile(path, BUSY)
        if not self._file.begins_with(HEAD):
            self._file.close()
            raise self._no_journal(1)
        self._kept = False

    def replies(self, questions: dict[str, str]) -> dict[str, OwnReply]:
        """What the last run of this function brought for these questions, without what failed."""
        found: dict[str, OwnReply] = {}
        end = 0
        for number, line in self._file.lines():
            end += len(line)
            try:
                row = json.loads(line)
                if row.get("journal") is not None:
                    if row["retriever"] != self.spec:
                        raise UsageError(
                            "{path}: the journal was written by {retriever}, not by {spec}. Leave out "
                            "--resume to ask everything again",
                            path=self.path,
                            retriever=row["retriever"],
                            spec=self.spec,
                        )
                    continue
                if questions.get(row["id"]) == row["query"] and row["error"] is None:
                    found[row["id"]] = reply_from(row)
            except (ValueError, KeyError, TypeError, AttributeError, RunError, RecursionError) as error:
                raise self._no_journal(number) from error
        self._file.cut(end)
        self._kept = end > 0
        return found

    def keep(self, key: str, query: str, reply: OwnReply) -> None:
        if not self._kept:
            self._file.cut(0)
            self._line({"journal": 1, "retriever": self.spec})
            self._kept = True
        self._line({"id": key, "query": query, **reply.as_dict()})

    def close(self) -> None:
        self._file.close()

    def _line(self, row: dict[str, Any]) -> None:
        self._file.append(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        self._file.sync()

    def _no_journal(self, number: int) -> InputError:
        return InputError(
            "{path}:{number}: not a line of a journal. Move or rename the file",
            path=self.path,
            number=number,
        )
