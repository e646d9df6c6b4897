"""What a gold set's own fields should hold, without any graph: each check yields what it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from tiny_graph_rag.gold.checks import LISTED, Finding
from tiny_graph_rag.gold.examples import GRADED, Example

SORTING = ("query_type", "expected_doc_types", "difficulty")  # fields whose values sort the questions
FEW = 2  # questions that a value must have before one with a single question looks like a slip
CHUNK_LISTS = ("relevant_chunk_ids", "highly_relevant_chunk_ids", "irrelevant_chunk_ids")
DATES = ("created_at", "updated_at", "annotated_at", "date")

EMPTY_QUERY = "the question is empty"
NO_FIELD = "{field} is missing"
NO_REFERENCE = "{field} is empty: nothing should be retrieved for this question"
HIGHLY_OUTSIDE = "{names}: highly relevant but not among the relevant ones; add them to 'relevant_chunk_ids'"
OVERLAP = "{names}: relevant and irrelevant at once; keep one of the two"
SINGLE_VALUE = "{field}: no other question has the value {value}; the others have {known}"
NO_VALUE = "{field} is empty"
LISTED_TWICE = "{field}: {names} is listed twice"
NO_DATE = "{field}: {value} is not a date; write 2026-01-31 or 2026-01-31T14:30:00"
NO_ID = "{n} of {all} questions have no id and are named by their line; add ids to keep results comparable"
SAME_ID = "the id is used {n} times; the later ones were renamed"
NO_ANSWER = "no answer, evidence or references: nothing can be scored"


def check_fields(examples: Sequence[Example]) -> Iterator[Finding]:
    """Every finding of one question, in file order; then those about many."""
    counts = Counter(_given_id(example) for example in examples)
    usual = _usual_values(examples)
    for example in examples:
        row = _row(example)
        yield from _overlaps(example, row)
        if example.judges_chunks:
            yield from _rag(example, row)
        yield from _sorted_by(example, row, usual)
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
    if example.judges_chunks:
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


def _rag(example: Example, row: Mapping[str, Any]) -> Iterator[Finding]:
    if not str(row.get("query") or "").strip():
        yield Finding.about(example, "error", "empty question", EMPTY_QUERY)
    relevant = set(map(str, row.get("relevant_chunk_ids") or ()))
    outside = [id for id in map(str, row.get("highly_relevant_chunk_ids") or ()) if id not in relevant]
    if outside:
        names = _names(outside)
        yield Finding.about(example, "error", "highly relevant outside", HIGHLY_OUTSIDE, names=names)
    if "relevant_chunk_ids" in row and not relevant:
        yield Finding.about(example, "warning", "no reference", NO_REFERENCE, field="'relevant_chunk_ids'")
    for name in CHUNK_LISTS:
        counts = Counter(map(str, row.get(name) or ()))
        again = [id for id, count in counts.items() if count > 1]
        if again:
            values = {"field": repr(name), "names": _names(again)}
            yield Finding.about(example, "warning", "listed twice", LISTED_TWICE, **values)


def _sorted_by(
    example: Example, row: Mapping[str, Any], usual: Mapping[str, Counter[str]]
) -> Iterator[Finding]:
    """Fields that sort questions: any vocabulary will do, but a value that one question alone has, or one
    without any where the others have some, looks like a slip."""
    for field, counts in usual.items():
        given = _values(row, field)
        known = ", ".join(value for value, count in counts.items() if count >= FEW)
        if not known:
            continue
        for value in given:
            if counts[value] == 1:
                values = {"field": field, "value": repr(value), "known": known}
                yield Finding.about(example, "warning", f"single {field}", SINGLE_VALUE, **values)
        if not given:
            text = NO_VALUE if field in row else NO_FIELD
            yield Finding.about(example, "warning", f"no {field}", text, field=repr(field))


def _values(row: Mapping[str, Any], field: str) -> list[str]:
    metadata = row.get("metadata")
    given = row.get(field, metadata.get(field) if isinstance(metadata, dict) else None)
    return [str(value) for value in (given if isinstance(given, list) else [given]) if value is not None]


def _usual_values(examples: Sequence[Example]) -> dict[str, Counter[str]]:
    """Field that sorts questions → its values with the questions that have them."""
    return {
        field: Counter(value for example in examples for value in _values(_row(example), field))
        for field in SORTING
    }


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
