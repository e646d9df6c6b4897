"""Questions without gold, and drafts: questions with candidates that somebody has still to judge.

A draft is JSONL with `"draft": true` in every line and no `reference_entities`, so that no command takes it
for a gold set. `recommend` writes it, `curate` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import DatasetError, json_kind
from tiny_graph_rag.files import decode_utf8, lines_of, read_bytes, sha256_of
from tiny_graph_rag.formats.gold.exchange import read_any_gold, row_of
from tiny_graph_rag.formats.gold.sheet import reads_as_sheet, sheet_rows
from tiny_graph_rag.formats.tables import QUESTION_NAMES
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import said

TEXT_NAMES = ("query", "question", "msg", "text")
_LISTS = ("tags", "context", "seed_entities")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that may be a reference, with what speaks for it.

    by: retriever → rank, from 1. hop: of the nearest walk, None where none led there. walk: its steps,
    {"from", "relation", "to", "forward"} with names. words: of the question that stand in its texts.
    """

    id: str
    name: str
    type: str = ""
    description: str = ""
    by: dict[str, int] = field(default_factory=dict)
    hop: int | None = None
    walk: tuple[dict[str, Any], ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """example: the question with the judgments it came with, if any. differ: in [0, 1], how little the
    retrievers agree on it; first: its place among those to judge first, None where it is none of them.
    like: ids of earlier questions that ask nearly the same. seedless: nothing in it names an entity."""

    example: Example
    candidates: tuple[Candidate, ...] = ()
    differ: float = 0.0
    first: int | None = None
    like: tuple[str, ...] = ()
    seedless: bool = False


def read_questions(path: Path) -> list[Example]:
    """Questions of a text (one a line), a table with a column `query` or `question`, JSON or JSONL.

    Judgments that a file holds are kept. Raises DatasetError with every line that is no question.
    """
    raw = read_bytes(path)
    problems: list[str] = []
    if raw[:4] == b"PAR1" or reads_as_sheet(path):
        sheet = enumerate(sheet_rows(path, ("query",)), start=1)
        rows_of = [
            _question({"id": f"q{place:03d}", **row}, number, path, problems)
            for place, (number, _, row) in sheet
        ]
        if problems:
            raise DatasetError(*problems)
        return _checked([each for each in rows_of if each is not None], path)
    text = decode_utf8(raw, path)
    start = text.lstrip()[:1]
    if start not in ("{", "["):
        rows = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
        return _checked([Example(f"q{n:03d}", line, (), line=n) for n, line in rows if line], path)
    if start == "[":
        try:
            document = parse_json(text)
        except NotJsonError as error:
            raise DatasetError(error.at(path)) from error
        numbered = list(enumerate(document, start=1))
    else:
        numbered = [
            (number, _object(line, number, path))
            for number, line in enumerate(lines_of(text), start=1)
            if line.strip()
        ]
    judged = [
        isinstance(row, dict) and "reference_entities" in row and "draft" not in row for _, row in numbered
    ]
    if all(judged) and start == "{":
        return _checked(list(read_any_gold(path)), path)
    found = [_question(row, number, path, problems) for number, row in numbered]
    if problems:
        raise DatasetError(*problems)
    return _checked([each for each in found if each is not None], path)


def _object(line: str, number: int, path: Path) -> Any:
    try:
        return parse_json(line)
    except NotJsonError as error:
        raise DatasetError(error.at(path, number)) from error


def _question(row: Any, number: int, path: Path, problems: list[str]) -> Example | None:
    place = f"{path.name}:{number}"
    if isinstance(row, str):
        return Example(f"q{number:03d}", row, (), line=number)
    if not isinstance(row, dict):
        problems.append(
            said(
                "{place}: wanted a question in words or an object with 'query', got {got}",
                place=place,
                got=json_kind(row),
            )
        )
        return None
    query = next((row[name] for name in TEXT_NAMES if isinstance(row.get(name), str)), "")
    if not query.strip():
        problems.append(
            said(
                "{place}: wanted a question in words under 'query', got {got}",
                place=place,
                got=json_kind(row.get("query")),
            )
        )
        return None
    for name in ("reference_entities", "highly_relevant_entities", "irrelevant_entities", *_LISTS):
        value = row.get(name)
        if value is not None and not (
            isinstance(value, list) and all(isinstance(each, str) for each in value)
        ):
            problems.append(
                said(
                    "{place}: {name} must be a list of strings, got {got}",
                    place=place,
                    name=repr(name),
                    got=json_kind(value),
                )
            )
            return None
    id = next((row[name] for name in QUESTION_NAMES if isinstance(row.get(name), str | int)), None)
    seeds = row.get("seed_entities")
    held = {
        "reference_entities",
        "highly_relevant_entities",
        "irrelevant_entities",
        "group",
        "candidates",
        "draft",
    }
    return Example(
        id=str(id) if id is not None else f"q{number:03d}",
        query=query,
        reference_entities=tuple(row.get("reference_entities") or ()),
        highly_relevant_entities=tuple(row.get("highly_relevant_entities") or ()),
        irrelevant_entities=tuple(row.get("irrelevant_entities") or ()),
        tags=tuple(row.get("tags") or ()),
        context=tuple(row.get("context") or ()),
        seed_entities=None if seeds is None else tuple(seeds),
        group=str(row["group"]) if row.get("group") is not None else None,
        unknown={
            name: value
            for name, value in row.items()
            if name not in {*TEXT_NAMES, *QUESTION_NAMES, *_LISTS, *held}
        },
        line=number,
    )


def _checked(examples: list[Example], path: Path) -> list[Example]:
    if not examples:
        raise DatasetError(said("{name}: no question in it; wanted one a line", name=path.name))
    seen: dict[str, int] = {}
    twice = [each for each in examples if seen.setdefault(each.id, each.line) != each.line]
    if twice:
        raise DatasetError(
            *(f"{path.name}:{each.line}: id {each.id!r} is used already in {seen[each.id]}" for each in twice)
        )
    return examples


_NOTES = ("differ", "judge_first", "like", "no_seed")


def draft_row(draft: Draft) -> dict[str, Any]:
    """A draft's line."""
    row: dict[str, Any] = {"draft": True, **row_of(draft.example)}
    if not row["reference_entities"]:
        del row["reference_entities"]
    row["differ"] = round(draft.differ, 4)
    if draft.first is not None:
        row["judge_first"] = draft.first
    if draft.like:
        row["like"] = list(draft.like)
    if draft.seedless:
        row["no_seed"] = True
    row["candidates"] = [
        {
            name: value
            for name, value in (
                ("id", each.id),
                ("name", each.name),
                ("type", each.type),
                ("description", each.description),
                ("by", each.by),
                ("hop", each.hop),
                ("walk", list(each.walk)),
                ("words", list(each.words)),
            )
            if value not in (None, "", [], {})
        }
        for each in draft.candidates
    ]
    return row


def draft_lines(drafts: Sequence[Draft]) -> list[bytes]:
    return [(json.dumps(draft_row(each), ensure_ascii=False) + "\n").encode() for each in drafts]


def read_drafts(path: Path) -> tuple[list[Draft], str]:
    """The questions of a draft (or of any file of questions, then without candidates), and its SHA-256.

    Raises DatasetError.
    """
    examples = read_questions(path)
    rows: dict[str, dict[str, Any]] = {}
    text = decode_utf8(read_bytes(path), path)
    if text.lstrip()[:1] == "{":
        for number, line in enumerate(lines_of(text), start=1):
            if line.strip():
                row = _object(line, number, path)
                rows[str(row.get("id", f"q{number:03d}"))] = row if row.get("draft") is True else {}
    drafts = []
    for example in examples:
        row = rows.get(example.id) or {}
        try:
            candidates = tuple(_candidate(each) for each in row.get("candidates") or ())
            first = row.get("judge_first")
            own = {name: value for name, value in example.unknown.items() if name not in _NOTES}
            drafts.append(
                Draft(
                    Example(**{name: getattr(example, name) for name in _EXAMPLE}, unknown=own),
                    candidates,
                    float(row.get("differ") or 0.0),
                    int(first) if first is not None else None,
                    tuple(map(str, row.get("like") or ())),
                    row.get("no_seed") is True,
                )
            )
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise DatasetError(
                said(
                    "{name}:{line}: the candidates of {id} are not as `recommend` writes them "
                    "({error}); run it again",
                    name=path.name,
                    line=example.line,
                    id=repr(example.id),
                    error=error,
                )
            ) from error
    return drafts, sha256_of(path)


_EXAMPLE = tuple(name for name in Example.__dataclass_fields__ if name != "unknown")


def _candidate(row: dict[str, Any]) -> Candidate:
    hop = row.get("hop")
    return Candidate(
        id=str(row["id"]),
        name=nfc(str(row["name"])),
        type=str(row.get("type") or ""),
        description=str(row.get("description") or ""),
        by={str(name): int(rank) for name, rank in (row.get("by") or {}).items()},
        hop=None if hop is None else int(hop),
        walk=tuple(dict(step) for step in row.get("walk") or ()),
        words=tuple(map(str, row.get("words") or ())),
    )
