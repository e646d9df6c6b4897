"""Opening a run and a gold set of other makers for scoring."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiny_graph_rag.dataset.gold import GoldQuestion, GoldSet, read_gold
from tiny_graph_rag.errors import DatasetError, UsageError, nearest
from tiny_graph_rag.evaluation.scoring import Stretch, notes, stretches
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.metrics.textual import TextMatch
from tiny_graph_rag.retrieval.runs import WrittenRun, read_run

TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass(frozen=True, slots=True)
class Request:
    """run_format, gold_format: None finds them by content. limit, tags, ids: which questions."""

    run: Path
    gold: Path
    run_format: str | None = None
    gold_format: str | None = None
    split: str | None = None
    ties: str = "list"
    limit: int | None = None
    tags: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """stretches: to be taken once. notes: warnings known now; late_notes: once the stretches were taken."""

    stretches: Iterable[Stretch]
    gold_name: str
    run_format: str
    selection: dict[str, Any] | None = None
    usage: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    late_notes: list[str] = field(default_factory=list)


def open_run(request: Request, graph: KnowledgeGraph | None, match: TextMatch | None) -> Opened:
    """Raises RunError or DatasetError for what can't be read, UsageError for what doesn't go together."""
    gold = read_gold(request.gold, request.gold_format, request.split)
    questions, selection = _selected(gold, request)
    if match is not None and match.by_text and not any(each.texts for each in questions):
        raise DatasetError(
            f"{request.gold.name}: --match {match.kind} compares texts, and no question has 'reference_texts'"
        )
    run = read_run(request.run, request.run_format, ties=request.ties)
    return Opened(
        stretches(questions, run, graph, match),
        gold.name,
        run.format,
        selection,
        _usage(run),
        notes(run, questions, selected=selection is not None),
    )


def _selected(gold: GoldSet, request: Request) -> tuple[tuple[GoldQuestion, ...], dict[str, Any] | None]:
    tags, ids = request.tags, request.ids
    if request.limit is None and not tags and not ids:
        return gold.questions, None
    known_tags = list(dict.fromkeys(tag for each in gold.questions for tag in each.tags))
    known_ids = [each.id for each in gold.questions]
    for wanted, known, what in ((tags, known_tags, "tag"), (ids, known_ids, "id")):
        for one in wanted:
            if one not in known:
                raise UsageError(f"no question has the {what} {one!r}{nearest(one, known)}")
    if request.limit is not None and request.limit < 1:
        raise UsageError(f"--limit must be 1 or more, got {request.limit}")
    kept = tuple(
        each
        for each in gold.questions
        if (not tags or set(tags) & set(each.tags)) and (not ids or each.id in ids)
    )[: request.limit]
    if not kept:
        raise UsageError("no question has one of these tags and one of these ids")
    return kept, {"limit": request.limit, "tags": list(tags), "ids": list(ids)}


def _usage(run: WrittenRun) -> dict[str, int]:
    """Tokens as the run reports them, added up; {} where it reports none."""
    if not run.usage:
        return {}
    total = {
        name: sum(int(each[name]) for each in run.usage.values() if isinstance(each.get(name), int))
        for name in TOKENS
    }
    return total if total["total_tokens"] else {**total, "total_tokens": sum(total.values())}
