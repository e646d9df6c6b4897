"""The questions of a file as records: rows of a table or objects of JSON, however the file wraps them.

One reader for every layout: an object a line; one list; an object that holds a list (`{"examples": […]}`); an
object of columns (`{"questions": […], "ground_truths": […]}`, or pandas' `{"question": {"0": …}}`); an object
of questions by id; LlamaIndex's `{"queries", "corpus", "relevant_docs"}`; CSV, TSV, Parquet, a worksheet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import DatasetError, check_few, json_kind
from tiny_graph_rag.files import lines_of
from tiny_graph_rag.formats.gold.keys import COLUMNS_OF_QUESTIONS, QUERY_KEYS, folded
from tiny_graph_rag.formats.tables import read_table, text_of
from tiny_graph_rag.messages import Said, said

LISTS = ("results", "questions", "examples", "qa_pairs", "queries", "data", "items", "samples", "goldens")


@dataclass(frozen=True, slots=True)
class Record:
    """One question as its file has it. number: line, row as a spreadsheet counts, or place in the list, from
    1. place: for messages."""

    number: int
    place: str
    row: Any


@dataclass(slots=True)
class Records:
    """Iterated once. head: the object that holds the list of questions, without them; list_key: where it
    holds them. problems: lines that are no JSON, known once the records were taken. kind: lines, list or
    table."""

    rows: Iterator[Record]
    kind: str
    head: dict[str, Any] = field(default_factory=dict)
    list_key: str = ""
    problems: list[Said] = field(default_factory=list)

    def __iter__(self) -> Iterator[Record]:
        return self.rows


def records(path: Path) -> Records:
    """Raises DatasetError for JSON that holds no questions, InputError for what can't be read."""
    text = text_of(path, others=True)
    text = text and text.removeprefix("\ufeff")
    if text is None or text.lstrip()[:1] not in ("{", "["):
        return Records(_table(path), "table")
    document, lines = _document(text, path)
    if lines:
        found = Records(iter(()), "lines")
        found.rows = _lines(text, path, found.problems)
        return found
    rows, key = rows_of(document)
    if rows is None:
        raise DatasetError(
            said(
                "{name}: no questions in this JSON, {kind}{keys}; wanted a list of objects with a question "
                "under one of {wanted}",
                name=path.name,
                kind=json_kind(document),
                keys=_keys(document),
                wanted=", ".join(QUERY_KEYS[:6]),
            )
        )
    numbered = enumerate(rows, start=1)
    head = {name: None if name == key else value for name, value in document.items()} if key else {}
    listed = (Record(n, f"{path.name}: question {n}", row) for n, row in numbered)
    return Records(listed, "list", head, key)


def _keys(document: Any) -> str:
    if not isinstance(document, Mapping) or not document:
        return ""
    return said(" with the keys {keys}", keys=", ".join(repr(key[:40]) for key in list(document)[:6]))


def _document(text: str, path: Path) -> tuple[Any, bool]:
    """The whole file's value, and whether it is one object a line instead."""
    start = text.lstrip()
    line, _, rest = start.partition("\n")
    if start[:1] == "{" and (_is_question_line(line) or (rest.strip() and _is_json(line))):
        return None, True
    try:
        return parse_json(text), False
    except NotJsonError as error:
        if start[:1] == "{" and (line.strip() != "{" or not rest.strip()) and not _is_json(text):
            return None, True
        raise DatasetError(error.at(path)) from error


def _is_json(text: str) -> bool:
    try:
        return isinstance(parse_json(text, twice=[], halves=True), dict)
    except NotJsonError:
        return False


def _is_question_line(line: str) -> bool:
    try:
        return is_question(parse_json(line, twice=[], halves=True))
    except NotJsonError:
        return False


def _lines(text: str, path: Path, problems: list[Said]) -> Iterator[Record]:
    for number, line in enumerate(lines_of(text), start=1):
        if not line.strip():
            continue
        check_few(problems, DatasetError)
        try:
            row = parse_json(line)
        except NotJsonError as error:
            problems.append(error.at(path, number))
            continue
        yield Record(number, f"{path.name}:{number}", row)


def rows_of(document: Any) -> tuple[list[Any] | None, str]:
    """The questions that one JSON value holds, None where it holds none; and the key of their list, "" where
    they stand otherwise."""
    if isinstance(document, list):
        return document, ""
    if not isinstance(document, dict):
        return None, ""
    if isinstance(document.get("queries"), dict) and isinstance(document.get("relevant_docs"), dict):
        return _embedding_rows(document), ""
    columns = _columns(document)
    if columns is not None:
        return columns, ""
    if is_question(document):
        return [document], ""
    names = [*LISTS, *(name for name in document if name not in LISTS)]
    lists = [name for name in names if isinstance(document.get(name), list) and document[name]]
    for name in lists:
        if isinstance(document[name][0], dict) and is_question(document[name][0]):
            return document[name], name
    if document and all(isinstance(value, dict) and is_question(value) for value in document.values()):
        return [{"id": key, **value} for key, value in document.items()], ""
    if isinstance(document.get("results"), list):
        return document["results"], "results"
    return None, ""


def is_question(row: Any) -> bool:
    """Whether an object asks something, or names one by id with what is relevant to it."""
    if not isinstance(row, dict):
        return False
    names = {folded(name) for name in row}
    return bool(names & {*QUERY_KEYS, "reference_entities", "relevant_chunk_ids"})


def _columns(document: dict[str, Any]) -> list[Any] | None:
    """An object of columns as rows; a column in the plural gives a field in the singular."""
    asked = next((name for name in document if folded(name) in COLUMNS_OF_QUESTIONS), None)
    values = None if asked is None else document[asked]
    if asked is None or not isinstance(values, list | dict) or not values:
        return None
    if isinstance(values, list) and not all(isinstance(value, str) for value in values):
        return None
    if isinstance(values, dict) and not (
        all(isinstance(value, str) for value in values.values()) and all(key.isdigit() for key in values)
    ):
        return None
    places = range(len(values)) if isinstance(values, list) else values.keys()
    same = [
        name
        for name, column in document.items()
        if type(column) is type(values)
        and (range(len(column)) if isinstance(column, list) else column.keys()) == places
    ]
    if len(same) < 2 and len(document) > 1:
        return None
    return [
        {COLUMNS_OF_QUESTIONS.get(folded(name), name): document[name][key] for name in same} for key in places
    ]


def _embedding_rows(document: dict[str, Any]) -> list[Any]:
    """LlamaIndex's EmbeddingQAFinetuneDataset: ids of chunks that answer each query, and their texts."""
    corpus = document.get("corpus")
    texts = corpus if isinstance(corpus, dict) else {}
    rows = []
    for id, query in document["queries"].items():
        relevant = document["relevant_docs"].get(id) or []
        chunks = list(relevant) if isinstance(relevant, list | dict) else [relevant]
        here = [texts[chunk] for chunk in chunks if isinstance(texts.get(chunk), str)]
        rows.append({"id": id, "query": query, "reference_chunks": chunks, "reference_texts": here})
    return rows


def _table(path: Path) -> Iterator[Record]:
    """Rows with anything in them, numbered as a spreadsheet counts."""
    _, rows = read_table(path, others=True)
    for number, (place, cells) in enumerate(rows, start=2):
        if any(value not in (None, "") for value in cells.values()):
            yield Record(number, place, cells)
