"""Runs in JSON: ours, the contest's, and `{question: [[document, score], …]}`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import RunError, check_few, json_kind
from tiny_graph_rag.files import decode_utf8, lines_of, read_bytes
from tiny_graph_rag.formats.detection import Fit, Head
from tiny_graph_rag.formats.runs.base import Retrieved, WrittenRun, failure_of, run_format
from tiny_graph_rag.formats.runs.items import entity_of, is_score, passage_of, relation_of
from tiny_graph_rag.formats.tables import json_document
from tiny_graph_rag.messages import Said, said
from tiny_graph_rag.run import Passage, Relation

Item = TypeVar("Item")
KEYS = ("id", "eval_id", "query_id", "question_id", "example_id", "qid")
QUERY_KEYS = ("query", "question")
LISTS = ("entities", "retrieved", "retrieved_entities", "contexts", "evidence")  # the first of them counts
RELATIONS = ("relations", "relationships", "triples")
PASSAGES = ("passages", "chunks", "contexts")
ROWS = ("results", "questions", "predictions", "data")


def lists_of(row: Mapping[str, Any]) -> str | None:
    """Under which key an object of a run has what was retrieved."""
    return next((name for name in LISTS if isinstance(row.get(name), list)), None)


def _kinds_of(row: Mapping[str, Any]) -> list[str]:
    """The keys under which an object of a run has relations and passages."""
    return [name for name in (*RELATIONS, *PASSAGES) if isinstance(row.get(name), list)]


def rows_within(document: Mapping[str, Any]) -> list[Any] | None:
    """The questions of a file that is one object, such as `{"summary": …, "results": [{…}]}`."""
    return next((document[name] for name in ROWS if isinstance(document.get(name), list)), None)


FIRST_OF = f"one of {', '.join(map(repr, KEYS))} or the question's text ({', '.join(map(repr, QUERY_KEYS))})"
WANTED = f"wanted {FIRST_OF}, and what was retrieved under one of {', '.join(map(repr, LISTS))}"


def _form(head: Head) -> str:
    """Which of the forms below it is; "" for what is none."""
    first = head.first
    if not head.is_json or first is None:
        return "json" if head.is_json else ""
    if isinstance(first, list):
        return "jsonl"
    if "topk" in first:
        return "contest"
    if lists_of(first) or _kinds_of(first) or rows_within(first) is not None:
        return "jsonl"
    if "reference_entities" in first:
        return ""  # a gold set
    # One question, but nothing retrieved, is a mistake in a JSONL.
    return "jsonl" if any(key in first for key in (*KEYS, *QUERY_KEYS)) else "json"


def _fits(form: str) -> Callable[[Head], Fit]:
    return lambda head: Fit.SURE if _form(head) == form else Fit.NO


def _fits_json(head: Head) -> Fit:
    return Fit.SHAPE if _form(head) == "json" else Fit.NO


@run_format(
    "jsonl",
    "one object per question with what was retrieved",
    _fits("jsonl"),
    example='{"id": "Q1", "entities": [{"name": "Bob", "score": 0.5}, {"name": "Cy", "score": 0.4}]}\n',
)
def read_jsonl(path: Path) -> WrittenRun:
    """Objects, one a line, in a list, or under `results` of one object: a question and what was retrieved.

    What was retrieved are names, [name, score] pairs, or objects {id?, name, score?, text?, type?, source?}.
    A question with an `error` that retrieved nothing has failed.
    """
    rankings: dict[str, list[Retrieved]] = {}
    latency: dict[str, float] = {}
    usage: dict[str, dict[str, Any]] = {}
    queries: dict[str, str] = {}
    relations: dict[str, list[Relation]] = {}
    passages: dict[str, list[Passage]] = {}
    failures: dict[str, str] = {}
    lists_entities = False
    problems: list[Said] = []
    for place, row in _rows(path, problems):
        retrieved = lists_of(row)
        query = next((row[name] for name in QUERY_KEYS if isinstance(row.get(name), str)), "")
        key = next((str(row[name]) for name in KEYS if _is_id(row.get(name))), query)
        error = failure_of(row.get("error"))
        if not key or (retrieved is None and not _kinds_of(row) and error is None):
            problems.append(
                said(
                    "{place}: {wanted}; got the keys {names}",
                    place=place,
                    wanted=WANTED,
                    names=", ".join(map(repr, row)) or "none",
                )
            )
            continue
        if key in rankings or key in failures:
            problems.append(
                said("{place}: question {key} stands in the file twice", place=place, key=repr(key))
            )
            continue
        if query:
            queries[key] = query
        if error is not None and not any(row[name] for name in (retrieved, *_kinds_of(row)) if name):
            failures[key] = error
        else:
            rankings[key] = [] if retrieved is None else places_of(row[retrieved], place, problems)
        lists_entities |= retrieved is not None
        _read_kind(row, RELATIONS, relation_of, relations, key, place, problems)
        _read_kind(row, PASSAGES, passage_of, passages, key, place, problems)
        for name, unit in (("latency_ms", 1000), ("latency_seconds", 1)):
            waited = row.get(name)
            if waited is not None and not (is_score(waited) and 0 <= waited < math.inf):
                problems.append(
                    said(
                        "{place}: {name} must be a number from 0 up, got {got}",
                        place=place,
                        name=repr(name),
                        got=json_kind(waited),
                    )
                )
            elif waited is not None:
                latency[key] = float(waited) / unit
        for name in ("usage", "token_usage"):
            if isinstance(row.get(name), dict):
                usage[key] = row[name]
    if problems:
        raise RunError(*problems)
    return WrittenRun(
        rankings,
        latency_seconds=latency,
        usage=usage,
        queries=queries,
        relations=relations or None,
        passages=passages or None,
        lists_entities=lists_entities or not (relations or passages),
        failures=failures,
    )


def _read_kind(
    row: Mapping[str, Any],
    names: Sequence[str],
    read: Callable[[Any], Item],
    into: dict[str, list[Item]],
    key: str,
    place: str,
    problems: list[Said],
) -> None:
    """The items of a question's list, where it has one; what is none is reported in `problems`."""
    name = next((name for name in names if isinstance(row.get(name), list)), None)
    if name is None:
        return
    items = into.setdefault(key, [])
    for item in row[name]:
        try:
            items.append(read(item))
        except ValueError as error:
            problems.append(said("{place}: {error}", place=place, error=error))
            return


def places_of(values: Iterable[Any], place: str, problems: list[Said]) -> list[Retrieved]:
    """Names, [name, score] pairs and objects as places; anything else is reported in `problems`."""
    return [
        problem for problem in (entity_of(value, place, problems) for value in values) if problem is not None
    ]


@run_format(
    "contest",
    "JSONL: one object per line with eval_id and topk",
    _fits("contest"),
    example='{"eval_id": "Q1", "topk": ["d1", "d2"]}\n',
)
def read_contest(path: Path) -> WrittenRun:
    """The contest's `{"eval_id", "topk": [docid]}` a line."""
    rankings: dict[str, list[Retrieved]] = {}
    failures: dict[str, str] = {}
    problems: list[Said] = []
    for place, row in _lines(path, problems):
        ids, error = row.get("topk"), failure_of(row.get("error"))
        if error is not None and not ids and _is_id(row.get("eval_id")):
            failures[str(row["eval_id"])] = error
        elif not _is_id(row.get("eval_id")) or not isinstance(ids, list) or not all(map(_is_id, ids)):
            problems.append(
                said(
                    '{place}: wanted {{"eval_id", "topk": [docid]}}, got {got} in topk',
                    place=place,
                    got=json_kind(ids),
                )
            )
        elif str(row["eval_id"]) in rankings:
            problems.append(
                said(
                    "{place}: question {eval_id} stands in the file twice",
                    place=place,
                    eval_id=repr(row["eval_id"]),
                )
            )
        else:
            rankings[str(row["eval_id"])] = [Retrieved(name="", id=str(id_)) for id_ in ids]
    if problems:
        raise RunError(*problems)
    return WrittenRun(rankings, failures=failures)


@run_format(
    "json",
    "one JSON object: question to [[document, score], …]",
    _fits_json,
    example='{"Q1": [["d1", 0.5], ["d2", 0.4]]}\n',
)
def read_json(path: Path) -> WrittenRun:
    """`{question: [[document, score], …]}`; a document alone and {document: score} do too."""
    document = json_document(path, RunError)
    if not isinstance(document, dict):
        raise RunError(
            said(
                "{name}: wanted {{question: [[document, score]]}}, got {got}",
                name=path.name,
                got=json_kind(document),
            )
        )
    rankings: dict[str, list[Retrieved]] = {}
    problems: list[Said] = []
    for question, rows in document.items():
        rows = [list(row) for row in rows.items()] if isinstance(rows, dict) else rows
        made = [_pair(row) for row in rows] if isinstance(rows, list) else [None]
        if None in made:
            problems.append(
                said(
                    "{name}: question {question}: wanted [[document, score], …], got {got}",
                    name=path.name,
                    question=repr(question),
                    got=json_kind(rows),
                )
            )
        rankings[question] = [candidate for candidate in made if candidate is not None]
    if problems:
        raise RunError(*problems)
    return WrittenRun(rankings)


def _pair(value: Any) -> Retrieved | None:
    if _is_id(value):
        return Retrieved(name="", id=str(value))
    if not isinstance(value, list) or len(value) != 2 or not _is_id(value[0]):
        return None
    if not is_score(value[1]):
        return None
    return Retrieved(name="", id=str(value[0]), score=float(value[1]))


def _rows(path: Path, problems: list[Said]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The file's objects with their places, however they are wrapped."""
    text = decode_utf8(read_bytes(path), path).lstrip()
    document: Any = None
    if text[:1] == "[":
        document = json_document(path, RunError)
    elif text[:1] == "{":
        with contextlib.suppress(NotJsonError):
            document = parse_json(text)
        if isinstance(document, dict):
            if {"schema_version", "package_version", "kind"} <= document.keys():
                raise RunError(
                    said(
                        "{path}: a results file, which keeps only the first ranks of each question; "
                        "`eval --save-run FILE` writes the whole run, `report` and `compare` read results",
                        path=path.name,
                    )
                )
            document = rows_within(document) or ([document] if "\n" in text.strip() else None)
    if not isinstance(document, list):
        yield from _lines(path, problems)
        return
    for number, row in enumerate(document, start=1):
        if isinstance(row, dict):
            yield f"{path.name}: question {number}", row
        else:
            problems.append(
                said(
                    "{name}: question {number}: wanted an object, got {got}",
                    name=path.name,
                    number=number,
                    got=json_kind(row),
                )
            )


def _lines(path: Path, problems: list[Said]) -> Iterator[tuple[str, dict[str, Any]]]:
    text = decode_utf8(read_bytes(path), path)
    for number, line in enumerate(lines_of(text), start=1):
        if not line.strip():
            continue
        check_few(problems, RunError)
        place = f"{path.name}:{number}"
        try:
            row = parse_json(line)
        except NotJsonError as error:
            cut = said("; the file seems cut off") if error.column and number == text.count("\n") + 1 else ""
            problems.append(said("{at}{cut}", at=error.at(path, number), cut=cut))
            continue
        if isinstance(row, dict):
            yield place, row
        else:
            problems.append(said("{place}: wanted an object, got {got}", place=place, got=json_kind(row)))


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""
