"""Runs that other programs made: read from any of the known formats, found by content.

A format is a function from a path to a WrittenRun, registered under its name. To add one, write it under
`@run_format("name")` in a module of this folder, import that at the end of this file, and tell `detected` how
to know its files.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import RunError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.tables import check_format, is_trec


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

    latency_seconds: of the questions that say it. usage: token counts of a question, as written.
    """

    rankings: dict[str, list[Retrieved]]
    format: str = ""
    latency_seconds: dict[str, float] = field(default_factory=dict)
    usage: dict[str, dict[str, Any]] = field(default_factory=dict)


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
    rankings = {key: _ordered(places, key, path, ties) for key, places in run.rankings.items()}
    return WrittenRun(rankings, format, run.latency_seconds, run.usage)


def _ordered(places: list[Retrieved], question: str, path: Path, ties: str) -> list[Retrieved]:
    given = sum(each.score is not None for each in places)
    if not given:
        return places
    if given < len(places):
        raise RunError(f"{path.name}: question {question!r}: {given} of {len(places)} entities have a score")
    if any(math.isnan(each.score or 0.0) for each in places):
        raise RunError(f"{path.name}: question {question!r} has a NaN score; NaN has no place in an order")
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


def detected(path: Path) -> str:
    """The format that the content looks like. Raises RunError where it is none."""
    raw = read_bytes(path)
    if raw[:4] == b"PAR1":
        return "table"
    text = decode_utf8(raw, path).lstrip()
    line = text.split("\n", 1)[0].strip()
    if not line:
        raise RunError(f"{path.name}: the run is empty")
    if line[:1] == "{":
        try:
            first = parse_json(line)
        except NotJsonError:
            return "json" if "\n" in text.strip() or len(line) < 2 else "jsonl"
        if "reference_entities" in first:
            raise RunError(
                f"{path.name}:1: this looks like a gold set, not like a run; is it meant as --gold?"
            )
        if "topk" in first:
            return "contest"
        return "jsonl" if "entities" in first else "json"
    if is_trec(line, 6):
        return "trec"
    if "," in line or "\t" in line:
        return "table"
    raise RunError(
        f"{path.name}:1: no known run format; wanted TREC (6 fields), JSONL, JSON or a table with a header, "
        f"got {line[:60]!r}. Name it with --run-format: {', '.join(FORMATS)}"
    )


from tiny_graph_rag.formats.runs import json_forms, rows  # noqa: E402, F401 - each registers itself
