"""Runs as rows of (question, document, score): TREC, CSV, TSV, Parquet."""

from __future__ import annotations

from pathlib import Path

from tiny_graph_rag.errors import RunError
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Fit, Head
from tiny_graph_rag.formats.runs.base import Retrieved, RunFormat, WrittenRun, run_format
from tiny_graph_rag.formats.tables import DOCUMENT_NAMES, QUESTION_NAMES, decoded, one_of, read_table

SCORE_NAMES = ("score", "similarity")


@run_format("trec", "TREC: question, Q0, document, rank, score, tag")
class TrecRun(RunFormat):
    """`question Q0 document rank score tag` a line; the score decides the order, the rank says nothing."""

    def fit(self, head: Head) -> Fit:
        fits = len(head.line.split()) == 6 and "," not in head.line and head.line[:1] != "{"
        return Fit.SURE if fits and not head.is_parquet else Fit.NO

    def read(self, path: Path) -> WrittenRun:
        rankings: dict[str, list[Retrieved]] = {}
        problems = []
        lines = decode_utf8(read_bytes(path), path).split("\n")
        for number, line in enumerate(lines, start=1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) != 6:
                cut = "; the file seems cut off" if number == len(lines) else ""
                problems.append(
                    f"{path.name}:{number}: wanted 6 fields (question Q0 document rank score tag), "
                    f"got {len(fields)}{cut}"
                )
                continue
            try:
                score = float(fields[4])
            except ValueError:
                score = float("nan")
            if score != score:
                problems.append(f"{path.name}:{number}: the score must be a number, got {fields[4]!r}")
                continue
            rankings.setdefault(decoded(fields[0]), []).append(Retrieved("", decoded(fields[2]), score))
        if problems:
            raise RunError(*problems)
        return WrittenRun(rankings)


@run_format("table", "CSV, TSV or Parquet: query_id, doc_id, score")
class TableRun(RunFormat):
    """CSV, TSV or Parquet with query_id, doc_id and score; without score the order of the rows counts."""

    def fit(self, head: Head) -> Fit:
        return Fit.SURE if head.is_parquet else Fit.SHAPE if head.has_columns else Fit.NO

    def read(self, path: Path) -> WrittenRun:
        names, rows = read_table(path)
        question, document = one_of(QUESTION_NAMES, names, path), one_of(DOCUMENT_NAMES, names, path)
        scores = next((name for name in SCORE_NAMES if name in names), None)
        rankings: dict[str, list[Retrieved]] = {}
        problems = []
        for place, row in rows:
            places = rankings.setdefault(str(row[question]), [])
            if row[document] in (None, ""):
                continue  # a question for which nothing was retrieved
            try:
                score = float(row[scores]) if scores else None
            except (TypeError, ValueError):
                score = float("nan")
            if score is not None and score != score:
                problems.append(f"{place}: the score must be a number, got {row[str(scores)]!r}")
                continue
            more = {name: str(row[name]) for name in ("text", "type", "source") if row.get(name)}
            places.append(Retrieved(str(row.get("name") or ""), str(row[document]), score, **more))
        if problems:
            raise RunError(*problems)
        return WrittenRun(rankings)
