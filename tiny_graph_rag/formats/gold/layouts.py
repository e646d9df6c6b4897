"""The questions of a file as records, whatever layout it has.

An object a line; one list; lists in groups; an object that holds a list (`{"examples": […]}`); an object of
columns (`{"questions": […], "ground_truths": […]}`, or pandas' `{"question": {"0": …}}`); an object of
questions by id; promptfoo's tests; LlamaIndex's `{"queries", "corpus", "relevant_docs"}`; CSV, TSV, Parquet
and worksheets. What the fields of a record are: records.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import Record, Records, json_records, read_yaml
from tiny_graph_rag.errors import DatasetError, Problems, json_kind
from tiny_graph_rag.files import text_in
from tiny_graph_rag.formats.gold.records import folded
from tiny_graph_rag.formats.tables import fields_beside, read_table, renamed
from tiny_graph_rag.formats.words import FIELDS, QUERY_KEYS, QUESTION_LISTS
from tiny_graph_rag.messages import said

COLUMNS_OF_QUESTIONS = {  # of an object of columns: its key → the field of each row
    **{key: key for key in QUERY_KEYS if key not in ("text", "msg", "messages")},
    **{"questions": "question", "queries": "query", "inputs": "input", "prompts": "prompt"},
    **{
        "answers": "answer",
        "ground_truths": "ground_truth",
        "references": "references",
        "contexts": "contexts",
    },
}


def records(path: Path, problems: Problems) -> Records:
    """The file's questions, with our own names for columns that `NAME-columns.yaml` next to it names.

    problems: get the lines that are no JSON. Raises DatasetError, InputError.
    """
    fields = fields_beside(path, FIELDS, DatasetError)
    found = _records(path, problems, fields)
    rows = (Record(record.number, record.place, renamed(record.row, fields)) for record in found.rows)
    return Records(rows, found.kind, found.head, found.list_key)


def _records(path: Path, problems: Problems, fields: Mapping[str, str]) -> Records:
    """problems: get the lines that are no JSON.

    Raises DatasetError for JSON that holds no questions, InputError for what can't be read.
    """
    text = text_in(path, others=True)
    text = text and text.removeprefix("\ufeff")
    in_yaml = is_yaml(path)
    if not in_yaml and (text is None or text.lstrip()[:1] not in ("{", "[")):
        return Records(_table(path), "table")

    def rows_in(document: Any) -> tuple[list[Any], str]:
        rows, key = rows_of(renamed(document, fields))
        if rows is not None:
            return (rows, key) if (inner := _in_groups(rows)) is None else (inner, "")
        raise DatasetError.at(
            path.name,
            "no questions in this JSON, {kind}{keys}; wanted a list of objects with a question under one of "
            "{wanted}",
            kind=json_kind(document),
            keys=_keys(document),
            wanted=", ".join(QUERY_KEYS[:6]),
        )

    if in_yaml:
        rows, key = rows_in(read_yaml(path, DatasetError))
        places = enumerate(rows, start=1)
        return Records((Record(n, f"{path.name}: question {n}", row) for n, row in places), "list", {}, key)

    def is_record(row: dict[str, Any]) -> bool:
        """Whether an object on a line of its own is a question, and not all of them as columns."""
        row = renamed(row, fields)
        return is_question(row) and _columns(row) is None

    return json_records(path, text or "", problems, is_record, rows_in)


def is_yaml(path: Path) -> bool:
    return path.name.lower().endswith((".yaml", ".yml"))


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
    cases = document.get("tests")
    if isinstance(cases, list) and any(isinstance(case, dict) and "vars" in case for case in cases):
        return [_of_variables(case) for case in cases if isinstance(case, dict)], ""
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


def _in_groups(rows: Sequence[Any]) -> list[Any] | None:
    """The questions of rows of which some are none but hold lists of some; None for other rows."""
    groups = [_questions_below(row, levels=3) for row in rows]
    if not all(groups) or all(map(is_question, rows)):
        return None
    return [question for group in groups for question in group]


def _questions_below(value: Any, levels: int) -> list[Any]:
    if is_question(value):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [question for part in inner for question in _questions_below(part, levels - 1)] if levels else []


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


def _of_variables(row: dict[str, Any]) -> dict[str, Any]:
    """promptfoo's test case: variables of a prompt, of which one asks, and what the answer must hold."""
    variables = row.get("vars")
    variables = dict(variables) if isinstance(variables, dict) else {}
    if not is_question(variables):
        asks = next((name for name, value in variables.items() if isinstance(value, str)), None)
        variables = {"query" if name == asks else name: value for name, value in variables.items()}
    checks = row.get("assert")
    checks = checks if isinstance(checks, list) else ()
    values = [check.get("value") for check in checks if isinstance(check, dict)]
    wanted = [text for text in values if isinstance(text, str) and text]
    own = {name: value for name, value in row.items() if name not in ("vars", "assert")}
    return {**own, **variables, **({"ground_truth": wanted} if wanted else {})}


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
