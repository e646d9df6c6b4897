"""Runs in JSON: ours, the contest's, and `{question: [[document, score], …]}`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import RunError, check_few, json_kind
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Fit, Head
from tiny_graph_rag.formats.runs.base import Retrieved, WrittenRun, run_format
from tiny_graph_rag.formats.tables import json_document

WANTED = 'wanted {"id", "entities": [{"name", "score"?, …}]}'


def _is_cut_line(head: Head) -> bool:
    """A single line of JSON that doesn't end."""
    return head.is_json and len(head.line) > 1 and "\n" not in head.text.strip()


def _fits_jsonl(head: Head) -> Fit:
    if not isinstance(head.first, dict):
        return Fit.SHAPE if _is_cut_line(head) else Fit.NO
    return Fit.SURE if "entities" in head.first and "topk" not in head.first else Fit.NO


def _fits_contest(head: Head) -> Fit:
    return Fit.SURE if isinstance(head.first, dict) and "topk" in head.first else Fit.NO


def _fits_json(head: Head) -> Fit:
    if not isinstance(head.first, dict):
        return Fit.SHAPE if head.is_json and not _is_cut_line(head) else Fit.NO
    return Fit.NO if {"entities", "topk"} & head.first.keys() else Fit.SHAPE


@run_format("jsonl", "JSONL: id and entities, an object a line", _fits_jsonl)
def read_jsonl(path: Path) -> WrittenRun:
    """`{id, entities: [{id?, name, score?, text?, type?, source?}], usage?, latency_ms?}` a line."""
    rankings: dict[str, list[Retrieved]] = {}
    latency: dict[str, float] = {}
    usage: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for place, row in _lines(path, problems):
        if not _is_id(row.get("id")) or not isinstance(row.get("entities"), list):
            problems.append(f"{place}: {WANTED}, got the keys {', '.join(map(repr, row)) or 'none'}")
            continue
        key = str(row["id"])
        if key in rankings:
            problems.append(f"{place}: question {key!r} stands in the file twice")
            continue
        rankings[key] = [each for each in (_entity(it, place, problems) for it in row["entities"]) if each]
        if isinstance(row.get("latency_ms"), int | float):
            latency[key] = float(row["latency_ms"]) / 1000
        if isinstance(row.get("usage"), dict):
            usage[key] = row["usage"]
    if problems:
        raise RunError(*problems)
    return WrittenRun(rankings, latency_seconds=latency, usage=usage)


def _entity(value: Any, place: str, problems: list[str]) -> Retrieved | None:
    if isinstance(value, str) and value:
        return Retrieved(value)
    if not isinstance(value, dict) or not (value.get("name") or value.get("id") or value.get("text")):
        problems.append(f"{place}: an entity must be an object with 'name' or 'id', got {json_kind(value)}")
        return None
    for name in ("id", "name", "text", "type", "source"):
        if not isinstance(value.get(name), str | int | None):
            problems.append(f"{place}: {name!r} of an entity must be a string, got {json_kind(value[name])}")
            return None
    score = value.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float | None):
        problems.append(f"{place}: 'score' of an entity must be a number, got {json_kind(score)}")
        return None
    words = [str(value[name]) if value.get(name) is not None else "" for name in ("name", "id")]
    more = [str(value[name]) if value.get(name) is not None else "" for name in ("text", "type", "source")]
    return Retrieved(
        words[0] or more[0] * (not words[1]), words[1], None if score is None else float(score), *more
    )


@run_format("contest", "JSONL: eval_id and topk, an object a line", _fits_contest)
def read_contest(path: Path) -> WrittenRun:
    """The contest's `{"eval_id", "topk": [docid]}` a line."""
    rankings: dict[str, list[Retrieved]] = {}
    problems: list[str] = []
    for place, row in _lines(path, problems):
        ids = row.get("topk")
        if not _is_id(row.get("eval_id")) or not isinstance(ids, list) or not all(map(_is_id, ids)):
            problems.append(f'{place}: wanted {{"eval_id", "topk": [docid]}}, got {json_kind(ids)} in topk')
        elif str(row["eval_id"]) in rankings:
            problems.append(f"{place}: question {row['eval_id']!r} stands in the file twice")
        else:
            rankings[str(row["eval_id"])] = [Retrieved(name="", id=str(each)) for each in ids]
    if problems:
        raise RunError(*problems)
    return WrittenRun(rankings)


@run_format("json", "one JSON object: question to [[document, score], …]", _fits_json)
def read_json(path: Path) -> WrittenRun:
    """`{question: [[document, score], …]}`; a document alone and {document: score} do too."""
    document = json_document(path, RunError)
    if not isinstance(document, dict):
        raise RunError(f"{path.name}: wanted {{question: [[document, score]]}}, got {json_kind(document)}")
    rankings: dict[str, list[Retrieved]] = {}
    problems: list[str] = []
    for question, rows in document.items():
        rows = [list(each) for each in rows.items()] if isinstance(rows, dict) else rows
        made = [_pair(each) for each in rows] if isinstance(rows, list) else [None]
        if None in made:
            problems.append(
                f"{path.name}: question {question!r}: wanted [[document, score], …], got {json_kind(rows)}"
            )
        rankings[question] = [each for each in made if each is not None]
    if problems:
        raise RunError(*problems)
    return WrittenRun(rankings)


def _pair(value: Any) -> Retrieved | None:
    if _is_id(value):
        return Retrieved(name="", id=str(value))
    if not isinstance(value, list) or len(value) != 2 or not _is_id(value[0]):
        return None
    if isinstance(value[1], bool) or not isinstance(value[1], int | float):
        return None
    return Retrieved(name="", id=str(value[0]), score=float(value[1]))


def _lines(path: Path, problems: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    text = decode_utf8(read_bytes(path), path)
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        check_few(problems, RunError)
        place = f"{path.name}:{number}"
        try:
            row = parse_json(line)
        except NotJsonError as error:
            cut = "; the file seems cut off" if error.column and number == len(lines) else ""
            problems.append(f"{error.at(path, number)}{cut}")
            continue
        if isinstance(row, dict):
            yield place, row
        else:
            problems.append(f"{place}: wanted an object, got {json_kind(row)}")


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""
