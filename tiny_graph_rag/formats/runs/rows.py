"""Runs as rows of (question, document, score): TREC, CSV, TSV, Parquet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import Problems, RunError
from tiny_graph_rag.formats.gold.records import parts_of_cell
from tiny_graph_rag.formats.runs.base import Retrieved, WrittenRun, failure_of, run_format
from tiny_graph_rag.formats.tables import (
    decoded,
    fields_beside,
    one_of,
    read_table,
    renamed,
    trec_lines,
)
from tiny_graph_rag.formats.words import (
    ASKED_KEYS,
    DOCUMENT_NAMES,
    ENTITY_COLUMNS,
    LIST_COLUMNS,
    QUESTION_NAMES,
    RANK_NAMES,
    RUN_FIELDS,
    SCORE_NAMES,
)
from tiny_graph_rag.messages import said


@run_format(
    "trec",
    "TREC: question, Q0, document, rank, score, tag",
    lambda head: head.is_trec(6),
    suffixes=(".trec", ".run", ".txt"),
    example="Q1 Q0 d1 1 0.5 x\nQ1 Q0 d2 2 0.4 x\n",
)
def read_trec(path: Path) -> WrittenRun:
    """`question Q0 document rank score tag` a line; the score decides the order, the rank says nothing."""
    rankings: dict[str, list[Retrieved]] = {}
    problems = Problems(RunError)
    for number, fields, is_last in trec_lines(path, RunError):
        if len(fields) != 6:
            cut = said("; the file seems cut off") if is_last else ""
            problems.add(
                f"{path.name}:{number}",
                "wanted 6 fields (question Q0 document rank score tag), got {n}{cut}",
                n=len(fields),
                cut=cut,
            )
            continue
        try:
            score = float(fields[4])
        except ValueError:
            score = float("nan")
        if score != score:
            problems.add(
                f"{path.name}:{number}", "the score must be a number, got {fields}", fields=repr(fields[4])
            )
            continue
        rankings.setdefault(decoded(fields[0]), []).append(Retrieved("", decoded(fields[2]), score))
    problems.check()
    return WrittenRun(rankings)


@run_format(
    "table",
    "CSV, TSV or Parquet: query_id, doc_id, score",
    lambda head: head.has_columns,
    suffixes=(".csv", ".tsv", ".parquet"),
    general=True,
    example="query_id,doc_id,score\nQ1,d1,0.5\nQ1,d2,0.4\n",
)
def read_table_run(path: Path) -> WrittenRun:
    """CSV, TSV or Parquet with query_id, doc_id and score; without score the order of the rows counts."""
    names, rows = read_table(path)
    fields = fields_beside(path, RUN_FIELDS, RunError)
    names, rows = (
        [fields.get(name, name) for name in names],
        ((place, renamed(row, fields)) for place, row in rows),
    )
    question = one_of((*QUESTION_NAMES, *ASKED_KEYS), names, path)
    listed = next((name for name in LIST_COLUMNS if name in names), None)
    if listed is not None:
        return WrittenRun(_listed(rows, question, listed))
    document = one_of((*DOCUMENT_NAMES, *ENTITY_COLUMNS), names, path)
    scores = next((name for name in SCORE_NAMES if name in names), None)
    ranks = next((name for name in RANK_NAMES if name in names and scores is None), None)
    rankings: dict[str, list[Retrieved]] = {}
    failures: dict[str, str] = {}
    problems = Problems(RunError)
    for place, row in rows:
        if row[document] in (None, ""):  # a question for which nothing was retrieved
            error = failure_of(row.get("error"))
            if error is not None:
                failures[str(row[question])] = error
            else:
                rankings.setdefault(str(row[question]), [])
            continue
        places = rankings.setdefault(str(row[question]), [])
        try:
            score = float(row[scores]) if scores else -float(row[ranks]) if ranks else None
        except (TypeError, ValueError):
            score = float("nan")
        if score is not None and score != score:
            problems.add(place, "the score must be a number, got {row}", row=repr(row[str(scores or ranks)]))
            continue
        more = {name: str(row[name]) for name in ("text", "type", "source") if row.get(name)}
        name = str(row.get("name") or "")
        places.append(Retrieved(name, str(row[document]), score, **more))
    problems.check()
    failed = {question: error for question, error in failures.items() if question not in rankings}
    return WrittenRun(rankings, failures=failed)


def _listed(
    rows: Iterable[tuple[str, dict[str, Any]]], question: str, listed: str
) -> dict[str, list[Retrieved]]:
    """Rankings of a table with a question a row and what was retrieved in one cell."""
    rankings: dict[str, list[Retrieved]] = {}
    for _, row in rows:
        names = parts_of_cell(str(row[listed] or "").strip())
        rankings.setdefault(str(row[question]), []).extend(Retrieved(name) for name in names if name)
    return rankings
