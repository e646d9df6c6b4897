"""Gold sets in JSON: ours (and the same as a sheet), the RAG gold JSON, the contest's, MetaQA's text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import json_file
from tiny_graph_rag.errors import DatasetError, Problems, json_kind
from tiny_graph_rag.files import lines_of, text_in
from tiny_graph_rag.formats.detection import Head, looks_like_a_run
from tiny_graph_rag.formats.gold.base import Sound, gold_format, graded
from tiny_graph_rag.formats.gold.layouts import is_yaml, records, rows_of
from tiny_graph_rag.formats.gold.questions import NOT_STRINGS, is_string_list, sound_questions
from tiny_graph_rag.formats.gold.records import folded, placed_in
from tiny_graph_rag.formats.gold.sheet import is_sheet
from tiny_graph_rag.formats.words import FIELDS
from tiny_graph_rag.gold.examples import Example, Source
from tiny_graph_rag.messages import said

_TOPIC = re.compile(r"[^\t]*\[([^\]\t]+)\][^\t]*\t[^\t]+")


def _form(head: Head) -> str:
    """Which of the forms below it is; "" for what is none."""
    if is_yaml(head.path):
        return "jsonl"
    if not head.is_json:
        return ""
    rows, _ = rows_of(head.first)
    if rows is None:
        if looks_like_a_run(head.first):
            return ""
        return "contest" if isinstance(head.first, dict) and _is_contest(head.first) else "jsonl"
    row = rows[0] if rows else None
    if not rows or isinstance(row, str):
        return "jsonl"
    if not isinstance(row, dict):
        return "jsonl" if isinstance(head.first, list) else "contest"
    names = {folded(name) for name in row}
    if "evidence" in names and isinstance(row.get("ground_truth"), list):
        return "evidence"
    names_entities = bool(names & {*FIELDS["reference_entities"]})
    if not names_entities and (
        "relevant_chunk_ids" in names or ("query_id" in names and not names & {*FIELDS["query"]})
    ):
        return "rag"
    if looks_like_a_run(row) and not names & {*FIELDS["ground_truth"], "reference_entities"}:
        return ""
    return "jsonl"


def _is_contest(document: dict[str, Any]) -> bool:
    return all(isinstance(ids, list) for ids in document.values())


def _is(form: str) -> Callable[[Head], bool]:
    return lambda head: _form(head) == form


@gold_format(
    "jsonl",
    "questions in JSON: one per line, a list, or columns",
    _is("jsonl"),
    suffixes=(".jsonl", ".json"),
    has_drafts=True,
    example='{"id": "Q1", "query": "Whom does Ann know?", "reference_entities": ["Bob"]}\n',
)
def read_jsonl(path: Path, split: str | None, *, drafts: bool = False) -> Sound:
    """Questions as JSON, with what is relevant or with answers and evidence, under whatever names."""
    return sound_questions(path, "jsonl", drafts=drafts)


@gold_format(
    "sheet",
    "a table with one question per row; references split by ;",
    is_sheet,
    suffixes=(".csv", ".tsv", ".xlsx", ".parquet"),
    has_drafts=True,
    example="id,query,references\nQ1,Whom does Ann know?,Bob; Cid\n",
)
def read_sheet(path: Path, split: str | None, *, drafts: bool = False) -> Sound:
    """The same in a spreadsheet."""
    return sound_questions(path, "sheet", drafts=drafts)


@gold_format(
    "rag",
    "RAG gold JSON: query_id and relevant_chunk_ids",
    _is("rag"),
    example='[{"query_id": "Q1", "query": "Who?", "relevant_chunk_ids": ["d1", "d2"]}]\n',
)
def read_rag(path: Path, split: str | None) -> Sound:
    """The RAG gold JSON: a list of questions (or an object that holds one, or one object a line)."""
    return sound_rag(path)


@gold_format(
    "evidence",
    "question, evidence, ground_truth (fast-graphrag)",
    _is("evidence"),
    example='[{"question": "Who?", "evidence": ["Bob knows Ann."], "ground_truth": ["Bob"]}]\n',
)
def read_evidence(path: Path, split: str | None) -> list[Example]:
    """fast-graphrag's benchmark results: `[{"question", "evidence", "ground_truth": [text]}]`.

    A run and its gold set in one; questions are known by their text.
    """
    problems = Problems(DatasetError)
    questions = []
    for record in records(path, problems):
        row = record.row
        truths = row.get("ground_truth") if isinstance(row, dict) else None
        truths = [truths] if isinstance(truths, str) else truths
        if not isinstance(truths, list) or not isinstance(row.get("question"), str):
            problems.add(
                record.place, "wanted 'question' and a list 'ground_truth', got {got}", got=json_kind(row)
            )
            continue
        texts = tuple(dict.fromkeys(map(str, truths)))
        questions.append(
            graded(
                row["question"],
                dict.fromkeys(texts, 1),
                reference_texts=texts,
                line=record.number,
                source=Source("evidence", row),
            )
        )
    problems.check()
    return questions


@gold_format(
    "contest",
    "one JSON object: question id to document ids",
    _is("contest"),
    general=True,
    example='{"Q1": ["d1", "d2"], "Q2": []}\n',
)
def read_contest(path: Path, split: str | None) -> list[Example]:
    """The contest's `{eval_id: [docid]}`; an empty list is a question without gold."""
    document = json_file(path, DatasetError)
    if not isinstance(document, dict):
        raise DatasetError.at(path.name, "wanted {{eval_id: [docid]}}, got {got}", got=json_kind(document))
    problems = Problems(DatasetError)
    for key, ids in document.items():
        if not isinstance(ids, list) or not all(isinstance(id, str | int) for id in ids):
            problems.add(
                path.name,
                "{key} must be a list of document ids, got {got}",
                key=repr(key),
                got=json_kind(ids),
            )
    problems.check()
    return [
        graded(key, dict.fromkeys(map(str, ids), 1), format="contest", line=number)
        for number, (key, ids) in enumerate(document.items(), start=1)
    ]


@gold_format(
    "metaqa",
    "MetaQA's text: question with [topic], tab, answer|answer",
    lambda head: not head.is_json and _TOPIC.fullmatch(head.line) is not None,
    example="whom does [Ann] know\tBob|Cid\nwho knows [Bob]\tAnn\n",
)
def read_metaqa(path: Path, split: str | None) -> list[Example]:
    """MetaQA's `qa_dev.txt`: the topic in brackets is the seed, the answers are names of entities."""
    problems = Problems(DatasetError)
    questions = []
    for number, line in enumerate(lines_of(text_in(path, others=True) or ""), start=1):
        text, _, answers = line.strip("\ufeff\r").partition("\t")
        topic = re.search(r"\[([^\]]+)\]", text)
        names = [name for part in answers.split("|") if (name := part.strip())]
        if topic and names:
            seeds, query = (topic[1],), text.replace("[", "").replace("]", "").strip()
            given = graded(
                f"line-{number}", dict.fromkeys(names, 1), query=query, seed_entities=seeds, line=number
            )
            questions.append(given)
        elif line.strip():
            problems.add(
                f"{path.name}:{number}",
                "wanted a question with its [topic], a tab and answers between |, got {line}",
                line=repr(line.strip()[:60]),
            )
    problems.check()
    return questions


RAG_GRADES = (("irrelevant_chunk_ids", 0), ("relevant_chunk_ids", 1), ("highly_relevant_chunk_ids", 2))
RAG_TAGS = ("query_type", "difficulty", "category")
_KNOWN = {"expected_doc_types", "tags", *RAG_TAGS, *(name for name, _ in RAG_GRADES)}
_FOUND_BY_KEYS = ("id", "query", "ground_truth", "reference_texts")  # whatever the record calls them


def sound_rag(path: Path) -> Sound:
    """A list of questions, an object that holds one, or one object a line."""
    problems = Problems(DatasetError)
    found = records(path, problems)
    questions = [
        question_of(record.row, record.number)
        for record in found
        if _is_sound(record.row, record.place, problems)
    ]
    return Sound(tuple(questions), tuple(problems), found.head, found.list_key)


def _is_sound(row: Any, place: str, problems: Problems) -> bool:
    if not isinstance(row, dict) or not {"id", "query"} & placed_in(row).keys():
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
    more = {**(row.get("metadata") or {}), **row}
    placed = {field: pair for field, pair in placed_in(row).items() if field in _FOUND_BY_KEYS}
    fields = {field: value for field, (_, value) in placed.items()}
    used = _KNOWN | {key for key, _ in placed.values()}
    query = fields.get("query", "")
    return graded(
        str(fields.get("id", f"line-{number}")),
        grades,
        query=query if isinstance(query, str) else query[-1],
        ground_truth=tuple(fields.get("ground_truth", ())),
        reference_texts=tuple(fields.get("reference_texts", ())),
        tags=(*(f"{name}:{more[name]}" for name in RAG_TAGS if more.get(name)), *(row.get("tags") or ())),
        expected_types=tuple(map(str, row.get("expected_doc_types") or ())),
        unknown={name: value for name, value in row.items() if name not in used},
        line=number,
        source=Source("rag", row),
    )
