"""Gold sets of other makers, beside our own JSONL; found by content.

A format is a function from a path to questions, registered under its name. To add one, write it under
`@gold_format("name")` in a module of this folder, import that at the end of this file, and tell `detected`
how to know its files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import NotJsonError, parse_json
from tiny_graph_rag.errors import DatasetError, UsageError
from tiny_graph_rag.files import bare_name, decode_utf8, read_bytes, sha256_of
from tiny_graph_rag.formats.tables import check_format


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """grades: document (a name or an id) → grade in file order; 0 is judged irrelevant, below 0 not judged.

    texts: what to match by text. relationships: (source, target, type). seeds: what the question names.
    """

    id: str
    grades: dict[str, int]
    query: str = ""
    tags: tuple[str, ...] = ()
    expected_types: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    relationships: tuple[tuple[str, str, str], ...] = ()
    seeds: tuple[str, ...] = ()
    group: str | None = None


@dataclass(frozen=True, slots=True)
class GoldSet:
    questions: tuple[GoldQuestion, ...]
    name: str
    sha256: str
    format: str
    selection: dict[str, Any] | None = field(default=None)


GoldReader = Callable[[Path, str | None], list[GoldQuestion]]
FORMATS: dict[str, GoldReader] = {}


def gold_format(name: str) -> Callable[[GoldReader], GoldReader]:
    """Register a reader: (path, split or None) → questions."""

    def register(reader: GoldReader) -> GoldReader:
        FORMATS[name] = reader
        return reader

    return register


def read_gold(path: Path, format: str | None = None, split: str | None = None) -> GoldSet:
    """Load a gold set of any known format. Raises DatasetError, or UsageError for an unknown format."""
    format = format or detected(path)
    check_format(format, "gold", FORMATS)
    if split is not None and format != "table":
        raise UsageError(f"{path.name}: only tables (CSV, TSV, Parquet) have splits; leave --split out")
    questions = FORMATS[format](path, split)
    seen: set[str] = set()
    twice = [each.id for each in questions if each.id in seen or seen.add(each.id)]  # type: ignore[func-returns-value]
    if twice:
        raise DatasetError(*(f"{path.name}: question {each!r} stands in the file twice" for each in twice))
    if not questions:
        raise DatasetError(f"{path.name}: the gold set has no question")
    return GoldSet(tuple(questions), bare_name(path), sha256_of(path), format)


def detected(path: Path) -> str:
    """The format that the content looks like. Raises DatasetError where it is none."""
    raw = read_bytes(path)
    if raw[:4] == b"PAR1":
        return "table"
    text = decode_utf8(raw, path).lstrip()
    line = text.split("\n", 1)[0].strip()
    if not line:
        raise DatasetError(f"{path.name}: the file is empty")
    if line[:1] in ("{", "["):
        try:
            first: Any = parse_json(line)
        except NotJsonError:
            try:
                first = parse_json(text)
            except NotJsonError as error:
                raise DatasetError(error.at(path)) from error
        if isinstance(first, dict) and isinstance(first.get("results"), list):
            first = first["results"]
        one = first[0] if isinstance(first, list) and first else first
        if isinstance(one, dict) and "evidence" in one and "ground_truth" in one:
            return "evidence"
        if isinstance(one, dict) and ("reference_entities" in one or "msg" in one):
            return "jsonl"
        if isinstance(first, dict) and ("entities" in first or "topk" in first):
            raise DatasetError(
                f"{path.name}:1: this looks like a run, not like a gold set; is it meant as --run?"
            )
        if (
            isinstance(first, dict)
            and ("reference_entities" in first or "query" in first)
            and not _is_rag(first)
        ):
            return "jsonl"
        return "rag" if _is_rag(first) else "contest"
    fields = line.split()
    if len(fields) == 4 and fields[3].lstrip("-").isdigit() and "," not in line:
        return "trec"
    if "," in line or "\t" in line:
        return "table"
    raise DatasetError(
        f"{path.name}:1: no known gold format; wanted JSONL, JSON, TREC qrels (4 fields) or a table with a "
        f"header, got {line[:60]!r}. Name it with --gold-format: {', '.join(FORMATS)}"
    )


def _is_rag(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict)
    if not isinstance(value, dict):
        return False
    lists = [each for each in value.values() if isinstance(each, list) and each]
    return "relevant_chunk_ids" in value or any(
        isinstance(each[0], dict) and "relevant_chunk_ids" in each[0] for each in lists
    )


from tiny_graph_rag.formats.gold import json_forms, qrels  # noqa: E402, F401 - each registers itself
