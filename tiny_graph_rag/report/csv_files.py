"""CSV: one row a question, and one row a slice and measure. UTF-8 with a mark, so that Excel shows Hangul."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tiny_graph_rag.formats.tables import guarded, table_text
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.reports import Files, report

Json = dict[str, Any]
Row = dict[str, Any]

QUESTION = ("id", "query", "tags", "linked", "retrieved", "references")
SLICE = ("slice", "questions", "measure", "mean", "low", "high", "n", "reliable")


@report("csv", "one row per question; one row per slice and measure")
def tables(documents: Sequence[Document]) -> Files:
    for document in documents:
        if document.has_questions:
            yield f"{document.name}-questions.csv", _written(*_questions(document.content))
            yield f"{document.name}-slices.csv", _written(SLICE, _slices(document.content["summary"]))


def _questions(content: Json) -> tuple[list[str], list[Row]]:
    rows = content["results"]
    measures = list(dict.fromkeys(metric for row in rows for metric in row["metrics"]))
    verdicts = list(content["summary"].get("verdicts") or ())
    answered = any(row.get("answer") for row in rows)
    columns = [*QUESTION, *measures, *verdicts, *(("answer", "cost_usd") if answered else ())]
    return columns, [_question(row, verdicts) for row in rows]


def _question(row: Json, verdicts: list[str]) -> Row:
    counted = Counter(reference.get("verdict") for reference in row["references"])
    answer = row.get("answer") or {}
    return {
        "id": row["id"],
        "query": row["query"],
        "tags": "; ".join(row["tags"]),
        "linked": "; ".join(seed["name"] for seed in row["linked"]),
        "retrieved": len(row["ranked"]),
        "references": "; ".join(reference["name"] for reference in row["references"]),
        **row["metrics"],
        **{verdict: counted[verdict] for verdict in verdicts},
        "answer": answer.get("text"),
        "cost_usd": answer.get("cost_usd"),
    }


def _slices(summary: Json) -> Iterator[Row]:
    for name, part in (("all", summary), *summary.get("by_tag", {}).items()):
        for measure, mean in part["measures"].items():
            yield {"slice": name, "questions": part["questions"], "measure": measure, **mean}
    if summary.get("oracle_recall") is not None:
        reachable = {"mean": summary["oracle_recall"], "n": summary["scored"]}
        yield {"slice": "all", "questions": summary["questions"], "measure": "oracle_recall", **reachable}


def _written(columns: Iterable[str], rows: Iterable[Row]) -> bytes:
    """Rows under `columns`, in full precision; undefined is empty."""
    names = list(columns)
    table = [names, *([row.get(name, "") for name in names] for row in rows)]
    cells = ([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in table)
    return "".join(table_text(cells)).encode("utf-8-sig", "replace")
