"""Results of a folder over time, from the heads of their files: what was measured when, with which settings.

A results file begins with what this needs; its questions, which are nearly all of it, are not read. `score`
writes its summary last, so of its files the end is read too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tiny_graph_rag.config import changed_settings, find_setting
from tiny_graph_rag.files import bare_name
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import said
from tiny_graph_rag.report.plain import walked
from tiny_graph_rag.study.upstream_results import upstream_document

BLOCK = 1 << 16  # bytes read at a time
LONGEST_HEAD = 1 << 24  # a head is kilobytes; what is longer is no results file
LONGEST_TAIL = 1 << 20
_ROWS = b'"results": ['
_SCORE_ENDS = b"\n],\n"


@dataclass(frozen=True, slots=True)
class Past:
    """One results file. at: when it was made, by itself or else by its file's date (UTC). settings: not the
    default; None of a foreign run, which this program made by no settings. walks: whether hops count for it.
    measures: name → mean, low, high, n, reliable; by_tag: tag → the same."""

    name: str
    path: Path
    at: datetime
    label: str
    graph: str
    dataset: str
    dataset_sha256: str
    settings: dict[str, Any] | None
    walks: bool
    questions: int
    measures: dict[str, dict[str, Any]]
    by_tag: dict[str, dict[str, dict[str, Any]]]


def read_past(folder: Path) -> tuple[list[Past], list[Path]]:
    """(results in `folder`, oldest first; JSON files that are none)."""
    found, others = [], []
    for path in sorted(folder.glob("*.json")):
        past = past_of(path)
        if past is None:
            others.append(path)
        else:
            found.append(past)
    return sorted(found, key=lambda item: (item.at, item.name)), others


def earlier_results(path: Path) -> Path | None:
    """The latest results under `history/` beside `path` that were made before it of the same gold set, by a
    file whose name begins with this one's; None where there are none."""
    mine = past_of(path)
    if mine is None:
        return None
    found = [
        (past.at, file.name, file)
        for file in (path.parent / "history").glob("*.json")
        if nfc(file.name).startswith(bare_name(path))
        and (past := past_of(file)) is not None
        and past.at < mine.at
        and past.dataset_sha256 == mine.dataset_sha256
    ]
    return max(found)[2] if found else None


def groups(past: Iterable[Past]) -> dict[str, list[Past]]:
    """By gold set: means over different questions are no line. Name (with the SHA-256 where a name has had
    several contents) → results, oldest first."""
    by_content: dict[tuple[str, str], list[Past]] = {}
    for entry in past:
        by_content.setdefault((entry.dataset, entry.dataset_sha256), []).append(entry)
    names = [name for name, _ in by_content]
    return {
        f"{name} ({content[:8]})" if names.count(name) > 1 else name: rows
        for (name, content), rows in by_content.items()
    }


def differing(rows: Sequence[Past]) -> list[dict[str, Any]]:
    """Of each result the settings that are not the same in all of them; the graph's name among them."""
    names = dict.fromkeys(name for row in rows for name in row.settings or ())
    default = {name: find_setting(name).default for name in names}
    own = [
        ({"graph": row.graph} if row.graph else {}) | ({} if row.settings is None else default | row.settings)
        for row in rows
    ]
    for row, mine in zip(rows, own, strict=True):
        if not row.walks:
            mine.pop("hops", None)
    moving = [name for name in ("graph", *names) if len({repr(row[name]) for row in own if name in row}) > 1]
    return [{name: row[name] for name in moving if name in row} for row in own]


def history_document(named: dict[str, list[Past]]) -> dict[str, Any]:
    """As a file and a page hold it."""
    return {
        "groups": [
            {
                "dataset": name,
                "results": [
                    {
                        "name": row.name,
                        "at": row.at.isoformat().replace("+00:00", "Z"),
                        "label": row.label,
                        "graph": row.graph,
                        "settings": row.settings or {},
                        "differs": differs,
                        "questions": row.questions,
                        "measures": row.measures,
                        "by_tag": row.by_tag,
                    }
                    for row, differs in zip(rows, differing(rows), strict=True)
                ],
            }
            for name, rows in named.items()
        ]
    }


class _Mean(msgspec.Struct):
    mean: float | None
    n: int
    low: float | None = None
    high: float | None = None
    reliable: bool = True


class _Part(msgspec.Struct):
    measures: dict[str, _Mean]


class _Summary(msgspec.Struct):
    questions: int
    measures: dict[str, _Mean]
    by_tag: dict[str, _Part]


class _Made(msgspec.Struct):
    at: datetime | None = None
    label: str | None = None


class _Input(msgspec.Struct):
    name: str | None = None
    sha256: str | None = None


class _Head(msgspec.Struct):
    """What a history takes of a results file; anything else in it is passed over."""

    kind: str
    summary: _Summary
    made: _Made | None = None
    graph: _Input | None = None
    dataset: _Input | None = None
    config: dict[str, dict[str, Any]] | None = None


def past_of(path: Path) -> Past | None:
    """None for a file that is no results file of `eval` or `score`."""
    try:
        document = _head(path)
        head = msgspec.convert(document, _Head)
        made, dataset = head.made or _Made(), head.dataset or _Input()
        at = made.at or datetime.fromtimestamp(path.stat().st_mtime, UTC)
        parts = document["summary"]["by_tag"]
        return Past(
            name=nfc(path.stem),
            path=path,
            at=at if at.tzinfo else at.replace(tzinfo=UTC),
            label=made.label or "",
            graph=(head.graph or _Input()).name or "",
            dataset=dataset.name or "",
            dataset_sha256=dataset.sha256 or "",
            settings=changed_settings(head.config or {}) if head.kind == "eval" else None,
            walks=head.kind == "eval" and walked(document["summary"]),
            questions=head.summary.questions,
            measures=document["summary"]["measures"],
            by_tag={tag: part["measures"] for tag, part in parts.items()},
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, msgspec.DecodeError):
        return None


def _head(path: Path) -> dict[str, Any]:
    """What stands before the questions, and of a `score` file what stands after them."""
    with path.open("rb") as stream:
        text = bytearray()
        theirs = None
        if b'"schema_version"' not in stream.read(256) and path.stat().st_size < LONGEST_HEAD:
            theirs = upstream_document(path)
        if theirs is not None:
            return theirs
        stream.seek(0)
        while (end := text.find(_ROWS)) < 0:
            block = stream.read(BLOCK)
            if not block or len(text) > LONGEST_HEAD or b'"kind"' not in text[:BLOCK] + block:
                raise ValueError(said("no results"))
            text += block
        head: dict[str, Any] = msgspec.json.decode(bytes(text[:end]).rstrip().rstrip(b",") + b"}")
        if "summary" in head:
            return head
        size = path.stat().st_size
        stream.seek(max(0, size - LONGEST_TAIL))
        tail = stream.read()
    start = tail.find(_SCORE_ENDS)
    if start < 0:
        raise ValueError(said("no summary"))
    return head | dict(msgspec.json.decode(b"{" + tail[start + len(_SCORE_ENDS) :]))
