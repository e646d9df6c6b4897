"""Gold sets in JSON: ours (and the same as a sheet), the RAG gold JSON, the contest's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import DatasetError, json_kind
from tiny_graph_rag.files import decode_utf8, lines_of, read_bytes
from tiny_graph_rag.formats.detection import Fit, Head
from tiny_graph_rag.formats.gold.base import GoldQuestion, gold_format, looks_like_a_run
from tiny_graph_rag.formats.gold.jsonl import read_eval_set
from tiny_graph_rag.formats.gold.sheet import is_sheet
from tiny_graph_rag.formats.tables import json_document

RAG_GRADES = (("irrelevant_chunk_ids", 0), ("relevant_chunk_ids", 1), ("highly_relevant_chunk_ids", 2))
RAG_TAGS = ("query_type", "difficulty", "category")


def _is_rag(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict)
    if not isinstance(value, dict):
        return False
    lists = [each for each in value.values() if isinstance(each, list) and each]
    return "relevant_chunk_ids" in value or any(
        isinstance(each[0], dict) and "relevant_chunk_ids" in each[0] for each in lists
    )


def _form(head: Head) -> str:
    """Which of the forms below it is; "" for what is none."""
    if not head.is_json:
        return ""
    first = head.first
    if isinstance(first, dict) and isinstance(first.get("results"), list):
        first = first["results"]
    one = first[0] if isinstance(first, list) and first else first
    if isinstance(one, dict) and "evidence" in one and "ground_truth" in one:
        return "evidence"
    if isinstance(one, dict) and ("reference_entities" in one or "msg" in one):
        return "jsonl"
    if looks_like_a_run(first):
        return ""
    if _is_rag(first):
        return "rag"
    return "jsonl" if isinstance(first, dict) and "query" in first else "contest"


def _fits(form: str) -> Callable[[Head], Fit]:
    return lambda head: Fit.SURE if _form(head) == form else Fit.NO


@gold_format(
    "jsonl",
    "our own: query and reference_entities, an object a line",
    _fits("jsonl"),
    example='{"id": "Q1", "query": "Whom does Ann know?", "reference_entities": ["Bob"]}\n',
)
@gold_format(
    "sheet",
    "CSV or TSV, a row a question; `;` between references",
    lambda head: Fit.SURE if is_sheet(head) else Fit.NO,
    example="id,query,references\nQ1,Whom does Ann know?,Bob; Cid\n",
)
def read_own(path: Path, split: str | None) -> list[GoldQuestion]:
    """Our own fields, as lines or as a sheet: irrelevant entities 0, references 1, highly relevant ones 2."""
    return [
        GoldQuestion(
            id=example.id,
            grades={
                **dict.fromkeys(example.irrelevant_entities, 0),
                **dict.fromkeys(example.reference_entities, 1),
                **dict.fromkeys(example.highly_relevant_entities, 2),
            },
            query=example.query,
            tags=example.tags,
            expected_types=example.expected_types,
            texts=example.reference_texts,
            relationships=tuple(
                (each.source, each.target, each.type) for each in example.reference_relationships
            ),
            seeds=example.seed_entities or (),
            group=example.group,
            unknown=example.unknown,
        )
        for example in read_eval_set(path)
    ]


@gold_format(
    "rag",
    "RAG gold JSON: query_id and relevant_chunk_ids",
    _fits("rag"),
    example='[{"query_id": "Q1", "query": "Who?", "relevant_chunk_ids": ["d1", "d2"]}]\n',
)
def read_rag(path: Path, split: str | None) -> list[GoldQuestion]:
    """The RAG gold JSON: a list of questions (or an object that holds one, or one object a line)."""
    problems: list[str] = []
    questions = []
    for number, row in enumerate(_rows(path), start=1):
        place = f"{path.name}: question {number}"
        if not isinstance(row, dict) or not isinstance(row.get("query_id"), str | int):
            came = "one without" if isinstance(row, dict) else json_kind(row)
            problems.append(f"{place}: wanted an object with 'query_id', a text or a number, got {came}")
            continue
        grades: dict[str, int] = {}
        for name, grade in RAG_GRADES:
            ids = row.get(name) or []
            if not isinstance(ids, list) or not all(isinstance(each, str | int) for each in ids):
                problems.append(f"{place}: {name!r} must be a list of ids, got {json_kind(ids)}")
                continue
            grades.update(dict.fromkeys(map(str, ids), grade))
        metadata, types = row.get("metadata") or {}, row.get("expected_doc_types") or []
        if not isinstance(metadata, dict):
            problems.append(f"{place}: 'metadata' must be an object, got {json_kind(metadata)}")
            continue
        if not isinstance(types, list):
            problems.append(f"{place}: 'expected_doc_types' must be a list, got {json_kind(types)}")
            continue
        tags = row.get("tags") or []
        if not isinstance(tags, list) or not all(isinstance(each, str) for each in tags):
            problems.append(f"{place}: 'tags' must be a list of strings, got {json_kind(tags)}")
            continue
        known = {**metadata, **row}
        questions.append(
            GoldQuestion(
                id=str(row["query_id"]),
                grades=grades,
                query=str(row.get("query") or ""),
                tags=(*(f"{name}:{known[name]}" for name in RAG_TAGS if known.get(name)), *tags),
                expected_types=tuple(map(str, types)),
            )
        )
    if problems:
        raise DatasetError(*problems)
    return questions


@gold_format(
    "evidence",
    "question, evidence, ground_truth (fast-graphrag)",
    _fits("evidence"),
    example='[{"question": "Who?", "evidence": ["Bob knows Ann."], "ground_truth": ["Bob"]}]\n',
)
def read_evidence(path: Path, split: str | None) -> list[GoldQuestion]:
    """fast-graphrag's benchmark results: `[{"question", "evidence", "ground_truth": [text]}]`.

    A run and its gold set in one; questions are known by their text.
    """
    problems: list[str] = []
    questions = []
    for number, row in enumerate(_rows(path), start=1):
        truths = row.get("ground_truth") if isinstance(row, dict) else None
        truths = [truths] if isinstance(truths, str) else truths
        if not isinstance(truths, list) or not isinstance(row.get("question"), str):
            problems.append(
                f"{path.name}: question {number}: wanted 'question' and a list 'ground_truth', "
                f"got {json_kind(row)}"
            )
            continue
        texts = tuple(dict.fromkeys(map(str, truths)))
        questions.append(
            GoldQuestion(
                id=row["question"], grades=dict.fromkeys(texts, 1), query=row["question"], texts=texts
            )
        )
    if problems:
        raise DatasetError(*problems)
    return questions


def _rows(path: Path) -> list[Any]:
    text = decode_utf8(read_bytes(path), path)
    try:
        document = parse_json(text)
    except NotJsonError:
        return [_line(line, number, path) for number, line in enumerate(lines_of(text), 1) if line.strip()]
    if isinstance(document, dict) and "query_id" not in document:
        lists = [each for each in document.values() if isinstance(each, list)]
        document = lists[0] if lists else []
    return document if isinstance(document, list) else [document]


def _line(line: str, number: int, path: Path) -> Any:
    try:
        return parse_json(line)
    except NotJsonError as error:
        raise DatasetError(error.at(path, number)) from error


def _fits_contest(head: Head) -> Fit:
    return Fit.SHAPE if _form(head) == "contest" else Fit.NO


@gold_format(
    "contest",
    "one JSON object: question id to document ids",
    _fits_contest,
    example='{"Q1": ["d1", "d2"], "Q2": []}\n',
)
def read_contest(path: Path, split: str | None) -> list[GoldQuestion]:
    """The contest's `{eval_id: [docid]}`; an empty list is a question without gold."""
    document = json_document(path, DatasetError)
    if not isinstance(document, dict):
        raise DatasetError(f"{path.name}: wanted {{eval_id: [docid]}}, got {json_kind(document)}")
    wrong = [
        f"{path.name}: {key!r} must be a list of document ids, got {json_kind(ids)}"
        for key, ids in document.items()
        if not isinstance(ids, list) or not all(isinstance(each, str | int) for each in ids)
    ]
    if wrong:
        raise DatasetError(*wrong)
    return [GoldQuestion(id=key, grades=dict.fromkeys(map(str, ids), 1)) for key, ids in document.items()]
