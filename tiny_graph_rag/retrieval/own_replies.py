"""What a user's own retriever brought for a question: checked, and kept so that nobody is asked twice.

The journal (`NAME.retrieved.jsonl`): a line that names the retriever, then one a reply. A new run replaces
the last one's lines with its first.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import InputError, RunError, UsageError, json_kind
from tiny_graph_rag.formats.runs import Retrieved, in_order
from tiny_graph_rag.formats.runs.json_forms import places_of
from tiny_graph_rag.journals import JournalFile

JOURNAL_ENDING = ".retrieved.jsonl"
BUSY = "another process is writing this journal. Wait for it, or choose another -o"
HEAD = b'{"journal": 1, "retriever": '  # how each journal begins
LISTED = ("entities", "retrieved_entities", "retrieved")
WANTED = "wanted a list of names, (name, score) pairs or objects, or {'entities': […]}"


@dataclass(frozen=True, slots=True)
class OwnReply:
    """What one question brought. places: best first. error: why it failed, None otherwise."""

    places: tuple[Retrieved, ...] = ()
    seconds: float = 0.0
    error: str | None = None
    answer: str | None = None
    context: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "entities": [place._asdict() for place in self.places],
            "seconds": self.seconds,
            "error": self.error,
            "answer": self.answer,
            "context": self.context,
            "usage": self.usage,
        }

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> OwnReply:
        """Of a journal's line. Raises ValueError or KeyError where it is none."""
        seconds = found["seconds"]
        if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
            raise ValueError(f"{seconds!r} seconds")
        return replace(reply_of(found), seconds=float(seconds))


def reply_of(value: Any) -> OwnReply:
    """What a function returned, checked. Raises ValueError with what was wanted and what came."""
    answer = context = None
    usage: dict[str, Any] = {}
    if isinstance(value, dict):
        given = next((value[name] for name in LISTED if name in value), None)
        if given is None:
            raise ValueError(f"{WANTED}, got an object with the keys {', '.join(map(repr, value)) or 'none'}")
        answer = None if value.get("answer") is None else whole(str(value["answer"]))
        context = value.get("context", value.get("contexts"))
        context = "\n".join(map(str, context)) if isinstance(context, list | tuple) else context
        context = None if context is None else whole(str(context))
        usage = value["usage"] if isinstance(value.get("usage"), dict) else {}
        value = given
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise ValueError(f"{WANTED}, got {json_kind(value)}")
    problems: list[str] = []
    places = places_of([_plain(each) for each in value], "the returned list", problems)
    if problems:
        raise ValueError(problems[0])
    ranked = tuple(_whole_place(each) for each in in_order(places, "the returned list"))
    return OwnReply(ranked, answer=answer, context=context, usage=_numbers(usage))


def _plain(value: Any) -> Any:
    """Pairs and numbers of numpy as Python's; a dataclass or a model as its fields."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if hasattr(value, "item") and not isinstance(value, dict):
        return value.item()
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    return value


def _numbers(usage: dict[str, Any]) -> dict[str, Any]:
    kept = {whole(str(key)): value for key, value in usage.items() if isinstance(value, int | float | str)}
    return {key: whole(value) if isinstance(value, str) else value for key, value in kept.items()}


def _whole_place(place: Retrieved) -> Retrieved:
    name, id, score, *more = place
    text, type, source = map(whole, more)
    return Retrieved(whole(name), whole(id), score, text, type, source)


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
                            f"{self.path}: the journal is of {row['retriever']}, not of {self.spec}. "
                            "Leave --resume out to ask everything anew"
                        )
                    continue
                if questions.get(row["id"]) == row["query"] and row["error"] is None:
                    found[row["id"]] = OwnReply.from_dict(row)
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
        self._file.append(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")
        self._file.sync()

    def _no_journal(self, number: int) -> InputError:
        return InputError(f"{self.path}:{number}: not a line of a journal. Move the file away")
