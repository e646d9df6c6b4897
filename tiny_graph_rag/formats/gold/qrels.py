"""Gold sets as rows of (question, document, grade): TREC qrels, CSV, TSV, Parquet."""

from __future__ import annotations

from pathlib import Path

from tiny_graph_rag.errors import DatasetError, Problems, UsageError
from tiny_graph_rag.formats.gold.base import gold_format, graded
from tiny_graph_rag.formats.gold.sheet import is_sheet
from tiny_graph_rag.formats.tables import decoded, one_of, read_table, trec_lines, whole_grade
from tiny_graph_rag.formats.words import DOCUMENT_NAMES, GRADE_NAMES, QUESTION_NAMES
from tiny_graph_rag.gold.examples import Example


@gold_format(
    "trec",
    "TREC qrels: question, 0, document, grade",
    lambda head: head.is_trec(4),
    suffixes=(".qrels", ".trec", ".txt"),
    example="Q1 0 d1 1\nQ1 0 d2 2\n",
)
def read_qrels(path: Path, split: str | None) -> list[Example]:
    """TREC qrels: `question iteration document grade` a line."""
    grades: dict[str, dict[str, int]] = {}
    problems = Problems(DatasetError)
    for number, fields, _ in trec_lines(path, DatasetError):
        place = f"{path.name}:{number}"
        if len(fields) != 4:
            problems.add(place, "wanted 4 fields (question 0 document grade), got {n}", n=len(fields))
        elif (grade := whole_grade(fields[3])) is None:
            problems.add(
                place,
                "the grade must be a whole number of at most nine digits, got {fields}",
                fields=repr(fields[3][:40]),
            )
        else:
            _judge(grades.setdefault(decoded(fields[0]), {}), decoded(fields[2]), grade, place, problems)
    problems.check()
    return [graded(id, row, format="trec", line=n) for n, (id, row) in enumerate(grades.items(), start=1)]


@gold_format(
    "table",
    "CSV, TSV or Parquet: query_id, doc_id, score, split",
    lambda head: head.has_columns and not is_sheet(head),
    general=True,
    example="query_id,doc_id,score\nQ1,d1,1\nQ1,d2,2\n",
    has_splits=True,
)
def read_table_gold(path: Path, split: str | None) -> list[Example]:
    """CSV, TSV or Parquet with query_id, doc_id and (default 1) score; `split` keeps one split."""
    names, rows = read_table(path)
    if not {*DOCUMENT_NAMES} & {*names}:
        raise DatasetError.at(
            f"{path.name}:1",
            "no column 'query' or 'question'; it has: {names}. Rename the column of the questions to "
            "'question' and that of the references to 'references'. A table of judgments has 'query_id' and "
            "'doc_id'",
            names=", ".join(name for name in names if name),
        )
    question, document = one_of(QUESTION_NAMES, names, path), one_of(DOCUMENT_NAMES, names, path)
    grade = next((name for name in GRADE_NAMES if name in names), None)
    if split is not None and "split" not in names:
        raise UsageError("{name} has no column 'split'; leave out --split", name=path.name)
    grades: dict[str, dict[str, int]] = {}
    problems = Problems(DatasetError)
    splits = set()
    for place, row in rows:
        if split is not None:
            splits.add(str(row["split"]))
            if str(row["split"]) != split:
                continue
        mine = grades.setdefault(str(row[question]), {})
        if row[document] in (None, ""):
            continue  # a question without gold
        try:
            value = float(row[grade]) if grade else 1.0
        except (TypeError, ValueError):
            value = float("nan")
        if value != int(value) if value == value and abs(value) < 1e9 else True:
            problems.add(place, "the grade must be a whole number, got {row}", row=repr(row[str(grade)]))
            continue
        _judge(mine, str(row[document]), int(value), place, problems)
    problems.check()
    if split is not None and not grades:
        raise UsageError(
            "{name} has no split {split}; it has: {names}",
            name=path.name,
            split=repr(split),
            names=", ".join(sorted(splits)),
        )
    return [graded(id, row, format="table", line=n) for n, (id, row) in enumerate(grades.items(), start=1)]


def _judge(grades: dict[str, int], document: str, grade: int, place: str, problems: Problems) -> None:
    """Notes a judgment; saying the same twice does no harm."""
    before = grades.setdefault(document, grade)
    if before != grade:
        problems.add(
            place,
            "document {document} has grade {grade} here and {before} further up",
            document=repr(document),
            grade=grade,
            before=before,
        )
