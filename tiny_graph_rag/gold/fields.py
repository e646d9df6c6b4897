"""What a gold set's own fields should hold, without any graph: each check yields what it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiny_graph_rag.gold.checks import LISTED, Finding
from tiny_graph_rag.gold.examples import GRADED, Example

IDS = ("id", "query_id", "question_id", "qid", "_id", "eval_id", "ID")
EMPTY_QUERY = "the question is empty"
NO_REFERENCE = "{field} is empty: nothing should be retrieved for this question"
HIGHLY_OUTSIDE = "{names}: highly relevant but not among the relevant ones; add them to 'relevant_chunk_ids'"
OVERLAP = "{names}: relevant and irrelevant at once; keep one of the two"
NO_ID = "{n} of {all} questions have no id and are named by their line; add ids to keep results comparable"
SAME_ID = "the id is used {n} times; the later ones were renamed"
NO_ANSWER = "no answer, evidence or references: nothing can be scored"


def check_fields(examples: Sequence[Example]) -> Iterator[Finding]:
    """Every finding of one question, in file order; then the one about many."""
    counts = Counter(_given_id(example) for example in examples)
    for example in examples:
        relevant, irrelevant = example.relevant_entities, example.irrelevant_entities
        if example.judges_chunks:
            row = _row(example)
            relevant, irrelevant = _chunks(row, "relevant"), _chunks(row, "irrelevant")
            yield from _rag(example, row, relevant)
            relevant += _chunks(row, "highly_relevant")
        if both := [name for name in dict.fromkeys(irrelevant) if name in relevant]:
            yield Finding.about(example, "error", "relevant and irrelevant", OVERLAP, names=_names(both))
        given = _given_id(example)
        if given is not None and given != example.id and counts[given] > 1:
            yield Finding.about(example, "error", "duplicate id", SAME_ID, n=str(counts[given]))
        if not (
            example.judged or example.ground_truth or example.reference_texts or example.reference_chunks
        ):
            yield Finding.about(example, "warning", "nothing to judge", NO_ANSWER)
    without = [example for example in examples if example.id == f"line-{example.line}"]
    is_odd = len(without) < len(examples) or not any(example.judged for example in examples)
    if without and is_odd:
        values = {"n": f"{len(without):,}", "all": f"{len(examples):,}"}
        yield Finding("warning", "no id", without[0].line, "", NO_ID, values)


def _row(example: Example) -> Mapping[str, Any]:
    source = example.source
    is_record = source is not None and source.format not in GRADED and isinstance(source.row, dict)
    return source.row if source is not None and is_record else example.unknown


def _given_id(example: Example) -> str | None:
    row = _row(example)
    return next((str(row[key]) for key in IDS if row.get(key) not in (None, "")), None)


def _chunks(row: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    return tuple(map(str, row.get(f"{kind}_chunk_ids") or ()))


def _rag(example: Example, row: Mapping[str, Any], relevant: Sequence[str]) -> Iterator[Finding]:
    if not str(row.get("query") or "").strip():
        yield Finding.about(example, "error", "empty question", EMPTY_QUERY)
    if outside := [id for id in _chunks(row, "highly_relevant") if id not in relevant]:
        names = _names(outside)
        yield Finding.about(example, "error", "highly relevant outside", HIGHLY_OUTSIDE, names=names)
    if "relevant_chunk_ids" in row and not relevant:
        yield Finding.about(example, "warning", "no reference", NO_REFERENCE, field="'relevant_chunk_ids'")


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:LISTED])) + (", …" if len(names) > LISTED else "")
