"""What a gold set's own fields should hold, without any graph: each check yields what it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from tiny_graph_rag.gold.checks import LISTED, Finding, Severity
from tiny_graph_rag.gold.examples import GRADED, Example

# The values that the RAG gold JSON knows, as its makers document them.
RAG_VALUES = {
    "query_type": ("general_inquiry", "legal_interpretation", "similar_case"),
    "expected_doc_types": ("law", "counsel_case", "mediation_case"),
    "difficulty": ("easy", "medium", "hard"),
}
RAG_FIELDS = (
    "query",
    "query_type",
    "expected_doc_types",
    "highly_relevant_chunk_ids",
    "irrelevant_chunk_ids",
)
DATES = ("created_at", "updated_at", "annotated_at", "date")

EMPTY_QUERY = "the question is empty"
NO_FIELD = "{field} is missing"
NO_REFERENCE = "{field} is empty: nothing should be retrieved for this question"
HIGHLY_OUTSIDE = "{names}: highly relevant but not among the relevant ones; add them to 'relevant_chunk_ids'"
OVERLAP = "{names}: relevant and irrelevant at once; keep one of the two"
UNKNOWN_VALUE = "{field}: unknown value {value}; known: {known}"
NO_DATE = "{field}: {value} is not a date; write 2026-01-31 or 2026-01-31T14:30:00"
NO_ID = "{n} of {all} questions have no id and are named by their line; add ids to keep results comparable"
SAME_ID = "the id is used {n} times; the later ones were renamed"
NO_ANSWER = "no answer, evidence or references: nothing can be scored"


def check_fields(examples: Sequence[Example]) -> Iterator[Finding]:
    """Every finding of one question, in file order; then those about many."""
    counts = Counter(_given_id(example) for example in examples)
    known = _known_values(examples)
    for example in examples:
        row = _row(example)
        yield from _overlaps(example, row)
        if example.source is not None and example.source.format == "rag":
            yield from _rag(example, row, known)
        yield from _dates(example, row)
        given = _given_id(example)
        if given is not None and given != example.id and counts[given] > 1:
            yield Finding.about(example, "error", "duplicate id", SAME_ID, n=str(counts[given]))
        if not example.judged and not (
            example.ground_truth or example.reference_texts or example.reference_chunks
        ):
            yield Finding.about(example, "warning", "nothing to judge", NO_ANSWER)
    without = [example for example in examples if example.id == f"line-{example.line}"]
    if (without and len(without) < len(examples)) or (
        without and not any(question.judged for question in examples)
    ):
        values = {"n": f"{len(without):,}", "all": f"{len(examples):,}"}
        yield Finding("warning", "no id", without[0].line, "", NO_ID, values)


def _row(example: Example) -> Mapping[str, Any]:
    source = example.source
    is_record = source is not None and source.format not in GRADED and isinstance(source.row, dict)
    return source.row if source is not None and is_record else example.unknown


def _given_id(example: Example) -> str | None:
    row = _row(example)
    values = (row.get(key) for key in ("id", "query_id", "question_id", "qid", "_id", "eval_id", "ID"))
    return next((str(value) for value in values if value not in (None, "")), None)


def _overlaps(example: Example, row: Mapping[str, Any]) -> Iterator[Finding]:
    if example.source is not None and example.source.format == "rag":
        relevant = {
            *map(str, row.get("relevant_chunk_ids") or ()),
            *map(str, row.get("highly_relevant_chunk_ids") or ()),
        }
        irrelevant = list(map(str, row.get("irrelevant_chunk_ids") or ()))
    else:
        relevant = set(example.relevant_entities)
        irrelevant = list(example.irrelevant_entities)
    both = [name for name in dict.fromkeys(irrelevant) if name in relevant]
    if both:
        yield Finding.about(example, "error", "relevant and irrelevant", OVERLAP, names=_names(both))


def _rag(example: Example, row: Mapping[str, Any], known: Mapping[str, bool]) -> Iterator[Finding]:
    if not str(row.get("query") or "").strip():
        yield Finding.about(example, "error", "empty question", EMPTY_QUERY)
    relevant = set(map(str, row.get("relevant_chunk_ids") or ()))
    outside = [id for id in map(str, row.get("highly_relevant_chunk_ids") or ()) if id not in relevant]
    if outside:
        names = _names(outside)
        yield Finding.about(example, "error", "highly relevant outside", HIGHLY_OUTSIDE, names=names)
    if "relevant_chunk_ids" in row and not relevant:
        yield Finding.about(example, "warning", "no reference", NO_REFERENCE, field="'relevant_chunk_ids'")
    for name in RAG_FIELDS:
        if name not in row:
            yield Finding.about(example, "warning", f"no {name}", NO_FIELD, field=repr(name))
    for field, value in _values(row):
        if value not in RAG_VALUES[field]:
            values = {"field": field, "value": repr(value), "known": ", ".join(RAG_VALUES[field])}
            severity: Severity = "error" if known[field] else "warning"
            yield Finding.about(example, severity, f"unknown {field}", UNKNOWN_VALUE, **values)


def _values(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(field, value) of each field of known values."""
    metadata = row.get("metadata")
    more = metadata if isinstance(metadata, dict) else {}
    for field in RAG_VALUES:
        given = row.get(field, more.get(field))
        if given is not None:
            yield from ((field, str(value)) for value in (given if isinstance(given, list) else [given]))


def _known_values(examples: Sequence[Example]) -> dict[str, bool]:
    """Field → whether the set keeps to the format's own values: then any other is an error. A set of another
    field of knowledge has types of its own; its difficulties are the same."""
    found = dict.fromkeys(RAG_VALUES, False)
    for example in examples:
        if example.source is not None and example.source.format == "rag":
            for field, value in _values(_row(example)):
                found[field] |= value in RAG_VALUES[field]
    types = found["query_type"] or found["expected_doc_types"]
    return {"query_type": types, "expected_doc_types": types, "difficulty": True}


def _dates(example: Example, row: Mapping[str, Any]) -> Iterator[Finding]:
    metadata = row.get("metadata")
    for prefix, fields in (("", row), ("metadata.", metadata if isinstance(metadata, dict) else {})):
        for name in DATES:
            value = fields.get(name)
            if value in (None, ""):
                continue
            try:
                datetime.fromisoformat(str(value))
            except ValueError:
                values = {"field": prefix + name, "value": repr(value)}
                yield Finding.about(example, "error", "no date", NO_DATE, **values)


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:LISTED])) + (", …" if len(names) > LISTED else "")
