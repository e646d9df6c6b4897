"""Gold sets of other makers, beside our own JSONL; found by content."""

from __future__ import annotations

from pathlib import Path

from tiny_graph_rag.errors import DatasetError, UsageError
from tiny_graph_rag.files import bare_name, decode_utf8, read_bytes, sha256_of
from tiny_graph_rag.formats.detection import Head, best_fit
from tiny_graph_rag.formats.gold.base import (
    GOLD_FORMATS,
    GoldFormat,
    GoldQuestion,
    GoldSet,
    gold_format,
    looks_like_a_run,
)
from tiny_graph_rag.messages import said

__all__ = ["GOLD_FORMATS", "GoldFormat", "GoldQuestion", "GoldSet", "detected", "gold_format", "read_gold"]


def read_gold(path: Path, format: str | None = None, split: str | None = None) -> GoldSet:
    """Load a gold set of any known format. Raises DatasetError, or UsageError for an unknown format."""
    format = format or detected(path)
    reader = GOLD_FORMATS[format]
    if split is not None and not reader.has_splits:
        raise UsageError(
            said("{name}: only tables (CSV, TSV, Parquet) have splits; leave --split out", name=path.name)
        )
    questions = reader.read(path, split)
    seen: set[str] = set()
    twice = [each.id for each in questions if each.id in seen or seen.add(each.id)]  # type: ignore[func-returns-value]
    if twice:
        raise DatasetError(*(f"{path.name}: question {each!r} stands in the file twice" for each in twice))
    if not questions:
        raise DatasetError(said("{name}: the gold set has no question", name=path.name))
    return GoldSet(tuple(questions), bare_name(path), sha256_of(path), format)


def detected(path: Path) -> str:
    """The format that the content looks like. Raises DatasetError where it is none."""
    head = Head.of(path)
    if head.text.strip() in ("[]", "{}"):
        raise DatasetError(said("{name}: the gold set is empty; wanted a question in it", name=path.name))
    found = best_fit(GOLD_FORMATS, head, "--gold-format")
    if found is None and looks_like_a_run(head.first):
        raise DatasetError(
            said(
                "{name}:1: this looks like a run, not like a gold set; is it meant as --run?", name=path.name
            )
        )
    if found is None:
        if not decode_utf8(read_bytes(path), path).strip():
            raise DatasetError(said("{name}: the file is empty", name=path.name))
        raise DatasetError(
            said(
                "{name}:1: no known gold format; wanted JSONL, JSON, TREC qrels (4 fields) or a "
                "table with a header, got {line}. Name it with --gold-format: {names}",
                name=path.name,
                line=repr(head.line[:60]),
                names=", ".join(GOLD_FORMATS),
            )
        )
    return found
