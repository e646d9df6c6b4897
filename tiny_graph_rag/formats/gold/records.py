"""The questions of a file as records: rows of a table or objects of JSON, however the file wraps them.

One reader for every layout: an object a line; one list; an object that holds a list (`{"examples": […]}`); an
object of columns (`{"questions": […], "ground_truths": […]}`, or pandas' `{"question": {"0": …}}`); an object
of questions by id; LlamaIndex's `{"queries", "corpus", "relevant_docs"}`; CSV, TSV, Parquet, a worksheet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import Record, Records, json_records
from tiny_graph_rag.errors import DatasetError, Problems, json_kind
from tiny_graph_rag.formats.gold.keys import COLUMNS_OF_QUESTIONS, folded
from tiny_graph_rag.formats.tables import read_table, text_in
from tiny_graph_rag.formats.words import QUERY_KEYS, QUESTION_LISTS
from tiny_graph_rag.messages import said


def records(path: Path, problems: Problems) -> Records:
    """problems: get the lines that are no JSON.

    Raises DatasetError for JSON that holds no questions, InputError for what can't be read.
    """
    text = text_in(path, others=True)
    text = text and text.removeprefix("\ufeff")
    if text is None or text.lstrip()[:1] not in ("{", "["):
        return Records(_table(path), "table")

    def rows_in(document: Any) -> tuple[list[Any], str]:
        rows, key = rows_of(document)
        if rows is not None:
            return rows, key
        raise DatasetError.at(
            path.name,
            "no questions in this JSON, {kind}{keys}; wanted a list of objects with a question under one of "
            "{wanted}",
            kind=json_kind(document),
            keys=_keys(document),
            wanted=", ".join(QUERY_KEYS[:6]),
        )

    return json_records(path, text, problems, is_question, rows_in)


def _keys(document: Any) -> str:
    if not isinstance(document, Mapping) or not document:
        return ""
    return said(" with the keys {keys}", keys=", ".join(repr(key[:40]) for key in list(document)[:6]))


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
    names = [*QUESTION_LISTS, *(name for name in document if name not in QUESTION_LISTS)]
    lists = [name for name in names if isinstance(document.get(name), list) and document[name]]
    for name in lists:
        if isinstance(document[name][0], dict) and is_question(document[name][0]):
            return document[name], name
    if document and all(isinstance(value, dict) and is_question(value) for value in document.values()):
        return [{"id": key, **value} for key, value in document.items()], ""
    if isinstance(document.get("results"), list):
        return document["results"], "results"
    if len(lists) == 1 and isinstance(document[lists[0]][0], dict):
        return document[lists[0]], lists[0]  # the reader says which fields they have, and which are missing
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
