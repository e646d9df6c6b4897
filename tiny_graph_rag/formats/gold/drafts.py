"""Questions without gold, and drafts: questions with candidates that somebody has still to judge.

A draft is JSONL with `"draft": true` in every line and no `reference_entities`, so that no command takes it
for a gold set. `recommend` writes it, `curate` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from tiny_graph_rag.errors import DatasetError
from tiny_graph_rag.files import lines_of, sha256_of, text_in
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.gold import GOLD_FORMATS, check_is_content, read_gold
from tiny_graph_rag.formats.records import is_yaml
from tiny_graph_rag.formats.tables import columns_of_data
from tiny_graph_rag.formats.writing import row_of
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import bare_name

LONGEST_TEXT = 400  # characters of a description in a draft


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entity that may be a reference, with what speaks for it.

    by: retriever → rank, from 1. hop: of the nearest walk, None where none led there. walk: its steps,
    {"from", "relation", "to", "forward"} with names. words: of the question that stand in its texts. named:
    where the question's own record names it (answer, evidence), with the spans there.
    """

    id: str
    name: str
    type: str = ""
    description: str = ""
    by: dict[str, int] = {}
    hop: int | None = None
    walk: tuple[dict[str, Any], ...] = ()
    words: tuple[str, ...] = ()
    named: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, graph: KnowledgeGraph, entity: int, **fields: Any) -> Candidate:
        """An entity of the graph, its description cut where it is long. fields: what speaks for it."""
        known, text = graph.entities, graph.entities.descriptions[entity]
        shown = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"
        return cls(known.ids[entity], known.names[entity], known.types[entity], shown, **fields)


class Noted(msgspec.Struct, frozen=True):
    """What a line of a draft says besides its question. differ: in [0, 1], how little the retrievers agree on
    it. judge_first: its place among those to judge first, None where it is not among them. like: ids of
    earlier questions that ask nearly the same. no_seed: nothing in it names an entity."""

    differ: float = 0.0
    judge_first: int | None = None
    like: tuple[str, ...] = ()
    no_seed: bool = False
    candidates: tuple[Candidate, ...] = ()


class Draft(Noted, frozen=True, kw_only=True):
    """example: the question with the judgments it came with, if any."""

    example: Example


def read_questions(path: Path) -> EvalSet:
    """Questions of a text (one a line), or of any gold format or draft; judgments that a file holds are kept.

    Raises DatasetError with every line that is no question.
    """
    if _is_plain_text(path):
        lines = enumerate(lines_of(text_in(path, others=True) or ""), start=1)
        rows = [(number, text) for number, line in lines if (text := line.strip("\ufeff \r\t"))]
        examples = [Example(f"q{n:03d}", text, (), line=n, judged=False) for n, text in rows]
        if examples:
            return EvalSet(tuple(examples), bare_name(path), path, sha256_of(path), format="text")
    return read_gold(path, drafts=True)


def _is_plain_text(path: Path) -> bool:
    """Whether it is no table, no JSON and no TREC file: then a line is a question."""
    head = Head(path)
    check_is_content(head)
    if head.is_json or head.is_parquet or head.is_worksheet or is_yaml(path) or "\t" in head.line:
        return False
    named = path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    asks = not head.columns and bool(columns_of_data([head.line]))
    particular = (GOLD_FORMATS[name] for name in GOLD_FORMATS.table if not GOLD_FORMATS[name].general)
    return not named and (asks or not any(format.recognises(head) for format in particular))


JUDGMENTS = ("reference_entities", "highly_relevant_entities", "irrelevant_entities")
_DRAFT = b'{"draft": true'
_NOTES = ("draft", "found_by", *Noted.__struct_fields__)


def draft_row(draft: Draft) -> dict[str, Any]:
    """A draft's line."""
    row: dict[str, Any] = {"draft": True, **row_of(draft.example)}
    if not row.get("reference_entities"):
        row.pop("reference_entities", None)
    noted = {name: value for name in Noted.__struct_fields__ if (value := getattr(draft, name))}
    noted["differ"] = round(draft.differ, 4)
    noted["candidates"] = list(map(msgspec.to_builtins, draft.candidates))
    return row | noted


def draft_lines(drafts: Sequence[Draft]) -> list[bytes]:
    return [(json.dumps(draft_row(draft), ensure_ascii=False) + "\n").encode() for draft in drafts]


def is_draft(path: Path) -> bool:
    """Whether the file begins as `draft_lines` does. Opened past `files`: it is no input but an output."""
    with path.open("rb") as stream:
        return stream.read(len(_DRAFT)) == _DRAFT


def judged_in(path: Path) -> dict[str, frozenset[str]]:
    """Id → the names judged for the question, of the draft that an output would replace; {} where there is
    none. Opened past `files`, as `is_draft` does."""
    if not path.is_file() or not is_draft(path):
        return {}
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        try:
            row = json.loads(line)
            names = chain.from_iterable(row.get(field) or () for field in JUDGMENTS)
            found[str(row["id"])] = frozenset(map(str, names))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found[f"line {number}"] = frozenset([line])  # somebody wrote it
    return found


def read_drafts(path: Path) -> list[Draft]:
    """The questions of a draft (or of any file of questions, then without candidates).

    Raises DatasetError.
    """
    drafts = []
    for example in read_questions(path):
        row = example.record if isinstance(example.record, dict) else {}
        row = row if row.get("draft") is True else {}
        try:
            noted = msgspec.convert(row, Noted)
        except ValueError as error:
            raise DatasetError.at(
                f"{path.name}:{example.line}",
                "the candidates of {id} are damaged ({error}); run `recommend` again",
                id=repr(example.id),
                error=error,
            ) from error
        own = {name: value for name, value in example.unknown.items() if not row or name not in _NOTES}
        drafts.append(Draft(example=replace(example, unknown=own), **msgspec.structs.asdict(noted)))
    return drafts
