"""Runs that other programs made: read from any of the known formats, found by content.

To add one, write a reader under `@run_format(…)` in a module of this folder, or in another package with an
entry point in the group `tiny_graph_rag.run_formats`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tiny_graph_rag.errors import RunError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Format, Head, registering, unknown_format
from tiny_graph_rag.formats.detection import detected as recognised
from tiny_graph_rag.formats.tables import fields_beside
from tiny_graph_rag.formats.words import RUN_FIELDS
from tiny_graph_rag.registry import Registry
from tiny_graph_rag.run import Passage, Relation

LONGEST_ERROR = 300  # characters
_NUMBER = re.compile(r"0*(\d+)(?:\.0+)?")  # an id as spreadsheets write it: 01, 1.0


class Retrieved(NamedTuple):
    """One place of a ranking. Of id and name at least one is not empty."""

    name: str
    id: str = ""
    score: float | None = None
    text: str = ""

    @property
    def key(self) -> str:
        return self.id or self.name


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """A run as its file has it. rankings: question → places, best first, duplicates and all.

    latency_seconds: of the questions that say it. usage: token counts of a question, as written. queries: the
    question's text, where the file has it: what a gold set's ids do not find, its texts may. relations,
    passages: what was retrieved of these kinds, None where no question says anything of them.
    lists_entities: whether any question says which entities were retrieved. failures: question → its error,
    of those that retrieved nothing because something failed; `rankings` has none of them.
    """

    rankings: dict[str, list[Retrieved]]
    format: str = ""
    latency_seconds: dict[str, float] = field(default_factory=dict)
    usage: dict[str, dict[str, Any]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    relations: dict[str, list[Relation]] | None = None
    passages: dict[str, list[Passage]] | None = None
    lists_entities: bool = True
    failures: dict[str, str] = field(default_factory=dict)

    def keyed_by(self, ids: Mapping[str, str]) -> WrittenRun:
        """The same run under a gold set's ids: a question with another id is found by its number or its text.

        ids: id → the question's text. Raises RunError where the two have no question in common.
        """
        known = (*self.rankings, *self.failures)
        if list(known) == [f"line-{n}" for n in range(1, len(ids) + 1)]:
            return self.rekeyed(dict(zip(known, ids, strict=True)))  # lists alone, in the questions' order
        id_of = {_number(id): id for id in ids} | {text: id for id, text in ids.items() if text}
        texts = {key: self.queries.get(key, key) for key in known}
        new = {
            key: key if key in ids else id_of.get(texts[key]) or id_of.get(_number(key), key) for key in known
        }
        check_shared(new.values(), ids)
        return self.rekeyed(new) if len({*new.values()}) == len(new) else self

    def of_passages(self) -> WrittenRun:
        """The same run where what it ranks can only be passages: the gold set expects nothing else."""
        if self.passages is not None:
            return self
        rows = self.rankings.items()
        passages = {key: [Passage(item.key, item.text) for item in places] for key, places in rows}
        return replace(self, passages=passages, lists_entities=False)

    def rekeyed(self, keys: Mapping[str, str]) -> WrittenRun:
        """What the run has for these questions, under the new keys."""
        changed: dict[str, Any] = {}
        for part in fields(self):
            table = getattr(self, part.name)
            if isinstance(table, dict):
                changed[part.name] = {new: table[old] for old, new in keys.items() if old in table}
        return replace(self, **changed)


def _number(id: str) -> str:
    """The number that an id writes, without zeros around it; any other id as it is."""
    number = _NUMBER.fullmatch(id)
    return number[1] if number else id


def check_shared(run: Collection[Any], gold: Collection[Any]) -> None:
    """Raises RunError, with a question of each, where a run and a gold set have none in common."""
    if run and gold and not any(question in gold for question in run):
        raise RunError(
            "no question of the run is in the gold set: the run has {run}, the gold set {gold}. Give both "
            "the same ids or the same question texts",
            run=repr(next(iter(run))),
            gold=repr(next(iter(gold))),
        )


def failure_of(error: Any) -> str | None:
    """What a question's `error` says, in one line; None where it says that nothing went wrong."""
    if error is None or error is False or error in ("", 0):
        return None
    return " ".join(str(error).split())[:LONGEST_ERROR] or None


RunReader = Callable[[Path], WrittenRun]  # raises RunError with every problem: file, line, what came
RUN_FORMATS: Registry[Format[RunReader]] = Registry(
    "run format",
    "tiny_graph_rag.formats.runs",
    {
        "trec": "records:read_trec",
        "jsonl": "records:read_jsonl",
        "table": "records:read_table_run",
    },
)
run_format = registering(RUN_FORMATS, Format)


def read_run(path: Path, format: str | None = None, *, ties: str = "list") -> WrittenRun:
    """Load a run of any known format, each ranking in the order in which it is scored.

    ties: "list" keeps the file's order among equal scores; "trec" compares in float32 and breaks ties by
    document id, descending, as trec_eval does. Raises RunError, or UsageError for an unknown format.
    """
    format = format or detected(path)
    run = RUN_FORMATS[format].read(path)
    if not run.rankings and not run.failures:
        raise RunError.at(path.name, "the run is empty")
    rankings = {
        key: in_order(places, f"{path.name}: question {key!r}", ties) for key, places in run.rankings.items()
    }
    return replace(run, rankings=rankings, format=format)


def in_order(places: list[Retrieved], what: str, ties: str = "list") -> list[Retrieved]:
    """A ranking in the order in which it is scored. what: whose it is, for the message of a RunError."""
    given = sum(position.score is not None for position in places)
    if not given:
        return places
    if given < len(places):
        raise RunError.at(what, "{given} of {places} entities have a score", given=given, places=len(places))
    if any(math.isnan(position.score or 0.0) for position in places):
        raise RunError("{what} has a NaN score, which can't be ranked", what=what)
    if ties == "trec":
        by_id = sorted(places, key=lambda item: item.key, reverse=True)
        with np.errstate(over="ignore"):
            return sorted(by_id, key=lambda item: -np.float32(item.score or 0.0))
    return sorted(places, key=lambda item: -(item.score or 0.0))


def detected(path: Path) -> str:
    """The format that the content looks like. Raises RunError where it is none."""
    head = Head(path)
    if fields_beside(path, RUN_FIELDS, RunError):
        return "jsonl" if head.is_json else "table"
    found = recognised(RUN_FORMATS, head)
    if found is None:
        if isinstance(head.first, dict) and "reference_entities" in head.first:
            raise RunError.at(
                f"{path.name}:1", "this looks like a gold set, not like a run; is it meant as --gold?"
            )
        if not decode_utf8(read_bytes(path), path).strip():
            raise RunError.at(path.name, "the run is empty")
        raise unknown_format(RUN_FORMATS, head, "--run-format", RunError)
    return found
