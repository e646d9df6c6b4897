"""The RAG gold JSON: questions with ids of chunks that are relevant, highly relevant and irrelevant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import DatasetError, Problems, json_kind
from tiny_graph_rag.formats.gold.base import Sound, graded
from tiny_graph_rag.formats.gold.questions import NOT_STRINGS, check_ids, is_string_list
from tiny_graph_rag.formats.gold.records import records
from tiny_graph_rag.gold.examples import Example, Source
from tiny_graph_rag.messages import said

RAG_GRADES = (("irrelevant_chunk_ids", 0), ("relevant_chunk_ids", 1), ("highly_relevant_chunk_ids", 2))
RAG_TAGS = ("query_type", "difficulty", "category")
_KNOWN = {"query_id", "query", "expected_doc_types", "tags", *RAG_TAGS, *(name for name, _ in RAG_GRADES)}


def sound_rag(path: Path) -> Sound:
    """A list of questions, an object that holds one, or one object a line."""
    problems = Problems(DatasetError)
    found = records(path, problems)
    questions = [
        question_of(record.row, record.number)
        for record in found
        if _is_sound(record.row, record.place, problems)
    ]
    check_ids(questions, path, problems)
    return Sound(tuple(questions), tuple(problems), found.head, found.list_key)


def _is_sound(row: Any, place: str, problems: Problems) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("query_id"), str | int):
        came = said("one without") if isinstance(row, dict) else json_kind(row)
        problems.add(place, "wanted an object with 'query_id', a text or a number, got {got}", got=came)
        return False
    before = len(problems)
    for name, _ in RAG_GRADES:
        ids = row.get(name) or []
        if not isinstance(ids, list) or not all(isinstance(id, str | int) for id in ids):
            problems.add(
                place, "{field} must be a list of ids, got {got}", field=repr(name), got=json_kind(ids)
            )
    if "relevant_chunk_ids" not in row and not row.get("highly_relevant_chunk_ids"):
        problems.add(
            place,
            "'relevant_chunk_ids' is missing; write [] where nothing in the corpus answers the question",
        )
    metadata = row.get("metadata") or {}
    types, tags = row.get("expected_doc_types") or [], row.get("tags") or []
    if not isinstance(metadata, dict):
        problems.add(place, "'metadata' must be an object, got {got}", got=json_kind(metadata))
    if not isinstance(types, list):
        problems.add(place, "'expected_doc_types' must be a list, got {got}", got=json_kind(types))
    if not is_string_list(tags):
        problems.add(place, NOT_STRINGS, field="'tags'", got=json_kind(tags), example="")
    return len(problems) == before


def question_of(row: dict[str, Any], number: int) -> Example:
    """A sound object of the format."""
    grades: dict[str, int] = {}
    for name, grade in RAG_GRADES:
        grades.update(dict.fromkeys(map(str, row.get(name) or ()), grade))
    known = {**(row.get("metadata") or {}), **row}
    return graded(
        str(row["query_id"]),
        grades,
        query=str(row.get("query") or ""),
        tags=(*(f"{name}:{known[name]}" for name in RAG_TAGS if known.get(name)), *(row.get("tags") or ())),
        expected_types=tuple(map(str, row.get("expected_doc_types") or ())),
        unknown={name: value for name, value in row.items() if name not in _KNOWN},
        line=number,
        source=Source("rag", row),
    )
