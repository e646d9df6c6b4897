"""Runs in JSON: an object a question (ours, a contest's), and `{question: [[document, score], …]}`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tiny_graph_rag.documents import Record, Records, json_file, json_records
from tiny_graph_rag.errors import Problems, RunError, json_kind, wrong_value
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.runs.base import Retrieved, WrittenRun, failure_of, run_format
from tiny_graph_rag.formats.runs.items import entity_of, is_score, passage_of, relation_of
from tiny_graph_rag.formats.tables import fields_beside, renamed
from tiny_graph_rag.formats.words import (
    ASKED_KEYS,
    ID_KEYS,
    PASSAGES_KEYS,
    QUERY_KEYS,
    RELATIONS_KEYS,
    RETRIEVED_KEYS,
    RUN_FIELDS,
    RUN_LISTS,
)
from tiny_graph_rag.run import Passage, Relation

Item = TypeVar("Item")
IDS_KEY = "topk"  # of a contest's submission, whose texts are ids
RESULTS = {"schema_version", "package_version", "kind"}  # first keys of a results file


def _list_in(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The first of these keys under which an object has a list."""
    return next((name for name in names if isinstance(row.get(name), list)), None)


def _kinds_of(row: Mapping[str, Any]) -> list[str]:
    """The keys under which an object of a run has relations and passages."""
    return [name for name in (*RELATIONS_KEYS, *PASSAGES_KEYS) if isinstance(row.get(name), list)]


def rows_within(document: Mapping[str, Any]) -> list[Any] | None:
    """The questions of a file that is one object, such as `{"summary": …, "results": [{…}]}`; None where
    the object is itself a question, whose `results` are what was retrieved."""
    if any(isinstance(document.get(key), str) for key in (*QUERY_KEYS, *ID_KEYS[1:])):
        return None
    return next((document[name] for name in RUN_LISTS if isinstance(document.get(name), list)), None)


WANTED = (
    f"wanted one of {', '.join(map(repr, ID_KEYS[:6]))} or the question's text "
    f"({', '.join(map(repr, ASKED_KEYS[:2]))}), and what was retrieved under one of "
    f"{', '.join(map(repr, RETRIEVED_KEYS))}"
)


def _form(head: Head) -> str:
    """Which of the forms below it is; "" for what is none."""
    first = head.first
    if not head.is_json or first is None:
        return "json" if head.is_json else ""
    if isinstance(first, list):
        return "jsonl"
    if _list_in(first, RETRIEVED_KEYS) or _kinds_of(first) or rows_within(first) is not None:
        return "jsonl"
    if "reference_entities" in first:
        return ""  # a gold set
    # One question, but nothing retrieved, is a mistake in a JSONL.
    return "jsonl" if any(key in first for key in (*ID_KEYS, *ASKED_KEYS)) else "json"


def _is(form: str) -> Callable[[Head], bool]:
    return lambda head: _form(head) == form


@run_format(
    "jsonl",
    "one object per question with what was retrieved",
    _is("jsonl"),
    suffixes=(".jsonl", ".json"),
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
    problems = Problems(RunError)
    fields = fields_beside(path, RUN_FIELDS, RunError)
    for place, record in _objects(_records(path, problems), problems):
        row = renamed(record, fields)
        retrieved = _list_in(row, RETRIEVED_KEYS)
        query = next((row[name] for name in (*ASKED_KEYS, "input") if isinstance(row.get(name), str)), "")
        key = next((str(row[name]) for name in ID_KEYS if _is_id(row.get(name))), query)
        error = failure_of(row.get("error"))
        if not key or (retrieved is None and not _kinds_of(row) and error is None):
            problems.add(
                place,
                "{wanted}; got the keys {names}",
                wanted=WANTED,
                names=", ".join(map(repr, row)) or "none",
            )
            continue
        if key in rankings or key in failures:
            problems.add(place, "question {key} is in the file twice; keep one of them", key=repr(key))
            continue
        if query:
            queries[key] = query
        if error is not None and not any(row[name] for name in (retrieved, *_kinds_of(row)) if name):
            failures[key] = error
        else:
            read = document_of if retrieved == IDS_KEY else entity_of
            rankings[key] = [] if retrieved is None else _items(row[retrieved], read, place, problems)
        lists_entities |= retrieved is not None
        if (name := _list_in(row, RELATIONS_KEYS)) is not None:
            relations[key] = _items(row[name], relation_of, place, problems)
        if (name := _list_in(row, PASSAGES_KEYS)) is not None:
            passages[key] = _items(row[name], passage_of, place, problems)
        for name, unit in (("latency_ms", 1000), ("latency_seconds", 1)):
            waited = row.get(name)
            if waited is not None and not (is_score(waited) and 0 <= waited < math.inf):
                problems.add(
                    place,
                    "{name} must be a number of at least 0, got {got}",
                    name=repr(name),
                    got=json_kind(waited),
                )
            elif waited is not None:
                latency[key] = float(waited) / unit
        for name in ("usage", "token_usage"):
            if isinstance(row.get(name), dict):
                usage[key] = row[name]
    problems.check()
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


def document_of(value: Any) -> Retrieved:
    """A place of a ranking of ids alone. Raises ValueError."""
    if not _is_id(value):
        raise wrong_value("an id must be a text or a number, got {got}", got=json_kind(value))
    return Retrieved("", str(value))


def _items(values: Iterable[Any], read: Callable[[Any], Item], place: str, problems: Problems) -> list[Item]:
    """What a list holds, each item read; what can't be goes to `problems`."""
    items = []
    for value in values:
        try:
            items.append(read(value))
        except ValueError as error:
            problems.add(place, error)
    return items


@run_format(
    "json",
    "one JSON object: question to [[document, score], …]",
    _is("json"),
    general=True,
    example='{"Q1": [["d1", 0.5], ["d2", 0.4]]}\n',
)
def read_json(path: Path) -> WrittenRun:
    """`{question: [[document, score], …]}`; a document alone and {document: score} do too."""
    document = json_file(path, RunError)
    if not isinstance(document, dict):
        raise RunError.at(
            path.name, "wanted {{question: [[document, score]]}}, got {got}", got=json_kind(document)
        )
    rankings: dict[str, list[Retrieved]] = {}
    problems = Problems(RunError)
    for question, rows in document.items():
        rows = [list(row) for row in rows.items()] if isinstance(rows, dict) else rows
        made = [_pair(row) for row in rows] if isinstance(rows, list) else [None]
        if None in made:
            problems.add(
                path.name,
                "question {question}: wanted [[document, score], …], got {got}",
                question=repr(question),
                got=json_kind(rows),
            )
        rankings[question] = [candidate for candidate in made if candidate is not None]
    problems.check()
    return WrittenRun(rankings)


def _pair(value: Any) -> Retrieved | None:
    if _is_id(value):
        return Retrieved(name="", id=str(value))
    if not isinstance(value, list) or len(value) != 2 or not _is_id(value[0]):
        return None
    if not is_score(value[1]):
        return None
    return Retrieved(name="", id=str(value[0]), score=float(value[1]))


def _records(path: Path, problems: Problems) -> Records:
    """The file's questions, however they are wrapped."""

    def rows_in(document: Any) -> tuple[list[Any], str]:
        if isinstance(document, dict) and document.keys() >= RESULTS:
            raise RunError.at(
                path.name,
                "a results file has only the first ranks of each question. Write the whole run with `eval "
                "--save-run FILE`; `report` and `compare` read results files",
            )
        within = rows_within(document) if isinstance(document, dict) else None
        return within or (document if isinstance(document, list) else [document]), ""

    return json_records(path, decode_utf8(read_bytes(path), path), problems, _is_question, rows_in)


def _is_question(row: dict[str, Any]) -> bool:
    return not row.keys() >= RESULTS and rows_within(row) is None


def _objects(found: Iterable[Record], problems: Problems) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records that are objects, with their places; others are problems."""
    for record in found:
        if isinstance(record.row, dict):
            yield record.place, record.row
        else:
            problems.add(record.place, "wanted an object, got {got}", got=json_kind(record.row))


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""
