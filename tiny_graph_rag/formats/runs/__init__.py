"""Runs that other programs made: read from any of the known formats, found by content.

A format is a function from a path to a WrittenRun, registered under its name. To add one, write it under
`@run_format("name")` in a module of this folder, import that at the end of this file, and tell `detected` how
to know its files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import RunError, json_kind
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.tables import check_format, json_document


class Retrieved(NamedTuple):
    """One place of a ranking. Of id and name at least one is not empty."""

    name: str
    id: str = ""
    score: float | None = None
    text: str = ""
    type: str = ""
    source: str = ""

    @property
    def key(self) -> str:
        return self.id or self.name


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """A run as its file has it. rankings: question → places, best first, duplicates and all.

    latency_seconds: of the questions that say it. usage: token counts of a question, as written. queries: the
    question's text, where the file has it: what a gold set's ids do not find, its texts may.
    """

    rankings: dict[str, list[Retrieved]]
    format: str = ""
    latency_seconds: dict[str, float] = field(default_factory=dict)
    usage: dict[str, dict[str, Any]] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)

    def keyed_by(self, ids: Mapping[str, str]) -> WrittenRun:
        """The same run under a gold set's ids, where it has none of them but knows questions by their text.

        ids: id → the question's text.
        """
        if not ids or any(key in ids for key in self.rankings):
            return self
        id_of = {text: id for id, text in ids.items() if text}
        new = {key: id_of.get(self.queries.get(key, key), key) for key in self.rankings}
        if len(set(new.values())) < len(new):
            return self
        return replace(
            self,
            rankings={new[key]: each for key, each in self.rankings.items()},
            latency_seconds={new[key]: each for key, each in self.latency_seconds.items()},
            usage={new[key]: each for key, each in self.usage.items()},
            queries={new[key]: each for key, each in self.queries.items()},
        )


KEYS = ("id", "eval_id", "query_id", "question_id", "example_id", "qid")
QUERY_KEYS = ("query", "question")
LISTS = ("entities", "retrieved", "retrieved_entities", "contexts", "evidence")  # the first of them counts
ROWS = ("results", "questions", "predictions", "data")


def lists_of(row: Mapping[str, Any]) -> str | None:
    """Under which key an object of a run has what was retrieved."""
    return next((name for name in LISTS if isinstance(row.get(name), list)), None)


def rows_within(document: Mapping[str, Any]) -> list[Any] | None:
    """The questions of a file that is one object, such as `{"summary": …, "results": [{…}]}`."""
    return next((document[name] for name in ROWS if isinstance(document.get(name), list)), None)


RunReader = Callable[[Path], WrittenRun]
FORMATS: dict[str, RunReader] = {}


def run_format(name: str) -> Callable[[RunReader], RunReader]:
    def register(reader: RunReader) -> RunReader:
        FORMATS[name] = reader
        return reader

    return register


def read_run(path: Path, format: str | None = None, *, ties: str = "list") -> WrittenRun:
    """Load a run of any known format, each ranking in the order in which it is scored.

    ties: "list" keeps the file's order among equal scores; "trec" compares in float32 and breaks ties by
    document id, descending, as trec_eval does. Raises RunError, or UsageError for an unknown format.
    """
    format = format or detected(path)
    check_format(format, "run", FORMATS)
    run = FORMATS[format](path)
    if not run.rankings:
        raise RunError(f"{path.name}: the run is empty")
    rankings = {
        key: in_order(places, f"{path.name}: question {key!r}", ties) for key, places in run.rankings.items()
    }
    return replace(run, rankings=rankings, format=format)


def in_order(places: list[Retrieved], what: str, ties: str = "list") -> list[Retrieved]:
    """A ranking in the order in which it is scored. what: whose it is, for the message of a RunError."""
    given = sum(each.score is not None for each in places)
    if not given:
        return places
    if given < len(places):
        raise RunError(f"{what}: {given} of {len(places)} entities have a score")
    if any(math.isnan(each.score or 0.0) for each in places):
        raise RunError(f"{what} has a NaN score; NaN has no place in an order")
    if ties == "trec":
        from struct import pack, unpack

        def single(score: float) -> float:
            try:
                return float(unpack("f", pack("f", score))[0])
            except OverflowError:
                return math.copysign(math.inf, score)

        by_id = sorted(places, key=lambda each: each.key, reverse=True)
        return sorted(by_id, key=lambda each: -single(each.score or 0.0))
    return sorted(places, key=lambda each: -(each.score or 0.0))


def _of_json(line: str, text: str, path: Path) -> str:
    """The form of a file that begins as JSON does."""
    try:
        first = parse_json(line)
    except NotJsonError:
        first = json_document(path, RunError) if "\n" in text.strip() else {}
        if not isinstance(first, dict | list):
            raise RunError(f"{path.name}: wanted an object or a list, got {json_kind(first)}") from None
    if isinstance(first, list):
        return "jsonl"
    if "topk" in first:
        return "contest"
    if lists_of(first) or rows_within(first) is not None:
        return "jsonl"
    if "reference_entities" in first:
        raise RunError(f"{path.name}:1: this looks like a gold set, not like a run; is it meant as --gold?")
    if any(key in first for key in (*KEYS, *QUERY_KEYS)):  # one question, but nothing retrieved
        return "jsonl"
    return "json"


def detected(path: Path) -> str:
    """The format that the content looks like. Raises RunError where it is none."""
    raw = read_bytes(path)
    if raw[:4] == b"PAR1":
        return "table"
    text = decode_utf8(raw, path).lstrip()
    line = text.split("\n", 1)[0].strip()
    if not line:
        raise RunError(f"{path.name}: the run is empty")
    if line[:1] in "{[":
        return _of_json(line, text, path)
    if len(line.split()) == 6 and "," not in line:
        return "trec"
    if "," in line or "\t" in line:
        return "table"
    raise RunError(
        f"{path.name}:1: no known run format; wanted TREC (6 fields), JSONL, JSON or a table with a header, "
        f"got {line[:60]!r}. Name it with --run-format: {', '.join(FORMATS)}"
    )


from tiny_graph_rag.formats.runs import json_forms, rows  # noqa: E402, F401 - each registers itself
