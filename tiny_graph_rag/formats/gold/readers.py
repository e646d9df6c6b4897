"""The gold formats that are read: records in JSON, YAML and sheets, and judgments of documents."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import json_file
from tiny_graph_rag.errors import DatasetError, Problems, json_kind
from tiny_graph_rag.formats.detection import Head, looks_like_a_run
from tiny_graph_rag.formats.gold.questions import Sound, asks_database, gold_format, graded, sound_questions
from tiny_graph_rag.formats.gold.records import is_question
from tiny_graph_rag.formats.records import folded, is_yaml, rankings_in, rows_of
from tiny_graph_rag.formats.tables import columns_of_data, is_number, read_table, trec_rows
from tiny_graph_rag.formats.words import (
    COLUMN_KEYS,
    DOCUMENT_NAMES,
    FIELDS,
    GRADE_NAMES,
    QUERY_KEYS,
    QUESTION_NAMES,
)
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.inputs import bare_name

_NO_QUESTION = ("text", "input", "messages")  # a column of a run too, where ids of documents are next to it
NO_GRADE = "the grade must be a whole number of at most nine digits, got {row}"
_ANSWERED = {
    key for field in ("reference_entities", "ground_truth", "reference_texts") for key in FIELDS[field]
}


def is_contest(head: Head) -> bool:
    """Whether it is `{question: [document]}` or `{question: {document: grade}}`, or such lists alone in the
    questions' order, and no lists of questions."""
    rankings = None if looks_like_a_run(head.first) else rankings_in(head.first)
    every = chain.from_iterable((rankings or {}).values())
    return rankings is not None and not any(str(id).endswith(("?", "？")) for id in every)


def is_records(head: Head) -> bool:
    """Whether it is JSON or YAML that may hold questions, and none of a run."""
    if is_yaml(head.path) or not head.is_json:
        return is_yaml(head.path)
    rows = rows_of(head.first, lambda row: isinstance(row, dict) and is_question(row))
    first = rows[0] if rows else head.first
    names = {folded(key) for key in first} if isinstance(first, dict) else set()
    is_run = looks_like_a_run(first) and not names & {*FIELDS["ground_truth"], "reference_entities"}
    is_run = is_run and not asks_database(first)
    return not is_run and not is_contest(head)


@gold_format(
    "jsonl",
    "questions in JSON: one per line, a list, or columns",
    is_records,
    suffixes=(".jsonl", ".json"),
    example='{"id": "Q1", "query": "Whom does Ann know?", "reference_entities": ["Bob"]}\n',
)
def read_jsonl(path: Path) -> Sound:
    """Questions as JSON, with what is relevant or with answers and evidence, under whatever names."""
    return sound_questions(path)


def is_sheet(head: Head) -> bool:
    """Whether the header names a column of questions, and none of documents that were judged or retrieved."""
    if head.is_json or is_yaml(head.path) or head.is_trec(4) or head.is_trec(6):
        return False
    cells = head.columns or (head.line,)
    folds = map(folded, columns_of_data(cells) or cells)
    names = {COLUMN_KEYS.get(name, name) for name in folds}
    asked = names & {*QUERY_KEYS}
    judged = bool(names & {*DOCUMENT_NAMES} - {"name"})
    return bool(asked) and not (judged and (asked <= {*_NO_QUESTION} or not names & _ANSWERED))


@gold_format(
    "sheet",
    "a table with one question per row; references split by ;",
    is_sheet,
    suffixes=(".csv", ".tsv", ".xlsx", ".parquet"),
    example="id,query,references\nQ1,Whom does Ann know?,Bob; Cid\n",
)
def read_sheet(path: Path) -> Sound:
    """The same in a spreadsheet."""
    return sound_questions(path)


def _graded(rows: Iterable[tuple[str, str, Any, Any]], problems: Problems) -> list[Example]:
    """Questions of a file that judges one document after the other: place, question, document (None where the
    question has no gold), and grade, which spreadsheets write as `1.0`. Saying the same twice does no harm.
    Raises DatasetError with all problems."""
    judgments: dict[str, dict[str, int]] = {}
    for place, question, document, value in rows:
        grades = judgments.setdefault(question, {})
        if document in (None, ""):
            continue
        number = float(value) if is_number(value) else math.nan
        if not (abs(number) < 1e9 and number.is_integer()):
            problems.add(place, NO_GRADE, row=repr(value)[:42])
        elif (before := grades.setdefault(str(document), int(number))) != number:
            problems.add(
                place,
                "document {document} has grade {grade} here and {before} further up",
                document=repr(document),
                grade=int(number),
                before=before,
            )
    problems.check()
    numbered = enumerate(judgments.items(), start=1)
    return [graded(id, grades, number) for number, (id, grades) in numbered]


@gold_format(
    "contest",
    "one JSON object: question id to document ids",
    is_contest,
    general=True,
    example='{"Q1": ["d1", "d2"], "Q2": []}\n',
)
def read_contest(path: Path) -> list[Example]:
    """The contest's `{eval_id: [docid]}`, with grades `{eval_id: {docid: 2}}`, or the lists alone: then a
    question's id is `line-N`. An empty list is a question without gold."""
    document = json_file(path, DatasetError)
    rankings = rankings_in(document)
    if rankings is None:
        raise DatasetError.at(path.name, "wanted {{eval_id: [docid]}}, got {got}", got=json_kind(document))
    judged = (
        (key, *(item if isinstance(item, list) and len(item) == 2 else (item, 1)))
        for key, listed in rankings.items()
        for item in listed or (None,)
    )
    return _graded(((path.name, *row) for row in judged), Problems(DatasetError))


@gold_format(
    "trec",
    "TREC qrels: question, 0, document, grade",
    lambda head: head.is_trec(4),
    suffixes=(".qrels", ".trec", ".txt"),
    example="Q1 0 d1 1\nQ1 0 d2 2\n",
)
def read_qrels(path: Path) -> list[Example]:
    """TREC qrels: `question iteration document grade` a line."""
    problems = Problems(DatasetError)
    lines = trec_rows(path, ("question", "0", "document", "grade"), problems)
    rows = ((place, row["question"], row["document"], row["grade"]) for _, place, row in lines)
    return _graded(rows, problems)


@gold_format(
    "table",
    "CSV, TSV or Parquet: query_id, doc_id, score",
    lambda head: bool(head.columns) and not is_sheet(head),
    general=True,
    example="query_id,doc_id,score\nQ1,d1,1\nQ1,d2,2\n",
)
def read_table_gold(path: Path) -> list[Example]:
    """CSV, TSV or Parquet with query_id, doc_id and (default 1) score, and the question where it is there."""
    names, rows = read_table(path)
    folds = {folded(name): name for name in reversed(names)}
    question, document, grade = (
        next((folds[name] for name in wanted if name in folds), "")
        for wanted in (QUESTION_NAMES, DOCUMENT_NAMES, GRADE_NAMES)
    )
    if not question or not document:
        raise DatasetError.at(
            f"{path.name}:1",
            "no column 'query' or 'question'; it has: {names}. Rename the column of the questions to "
            "'question' and that of the references to 'references', or write 'query: COLUMN' in {file}. A "
            "table of judgments has 'query_id' and 'doc_id'. Where the first line is data, add a line of "
            "names above it",
            names=", ".join(name for name in names if name),
            file=f"{bare_name(path)}-columns.yaml",
        )
    asked = next((name for name in names if name != question and folded(name) in QUERY_KEYS), "")
    judged = list(rows)
    queries = {str(row[question]): row.get(asked) for _, row in judged}
    cells = ((place, str(row[question]), row[document], row.get(grade, 1)) for place, row in judged)
    found = _graded(cells, Problems(DatasetError))
    return [replace(one, query=str(queries[one.id] or one.query)) for one in found]
