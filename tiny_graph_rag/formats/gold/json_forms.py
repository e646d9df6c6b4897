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
from tiny_graph_rag.formats.gold.layouts import is_yaml, rows_of
from tiny_graph_rag.formats.gold.questions import sound_questions
from tiny_graph_rag.formats.gold.records import folded
from tiny_graph_rag.formats.gold.sheet import is_sheet
from tiny_graph_rag.formats.words import FIELDS
from tiny_graph_rag.gold.examples import Example

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
