"""Runs that other programs made: read from any of the known formats, found by content."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from tiny_graph_rag.errors import RunError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head, unknown_format
from tiny_graph_rag.formats.detection import detected as recognised
from tiny_graph_rag.formats.runs.base import RUN_FORMATS, Retrieved, WrittenRun, run_format
from tiny_graph_rag.formats.tables import fields_beside
from tiny_graph_rag.formats.words import RUN_FIELDS

__all__ = ["RUN_FORMATS", "Retrieved", "WrittenRun", "detected", "in_order", "read_run", "run_format"]


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
        from struct import pack, unpack

        def single(score: float) -> float:
            try:
                return float(unpack("f", pack("f", score))[0])
            except OverflowError:
                return math.copysign(math.inf, score)

        by_id = sorted(places, key=lambda item: item.key, reverse=True)
        return sorted(by_id, key=lambda item: -single(item.score or 0.0))
    return sorted(places, key=lambda item: -(item.score or 0.0))


def detected(path: Path) -> str:
    """The format that the content looks like. Raises RunError where it is none."""
    head = Head.of(path)
    if fields_beside(path, RUN_FIELDS, RunError):
        return "jsonl" if head.is_json else "table"
    found = recognised(RUN_FORMATS, head, "--run-format")
    if found is None:
        if isinstance(head.first, dict) and "reference_entities" in head.first:
            raise RunError.at(
                f"{path.name}:1", "this looks like a gold set, not like a run; is it meant as --gold?"
            )
        if not decode_utf8(read_bytes(path), path).strip():
            raise RunError.at(path.name, "the run is empty")
        raise unknown_format(RUN_FORMATS, head, "--run-format", RunError)
    return found
