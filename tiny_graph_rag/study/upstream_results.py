"""Results files of upstream tiny-graph-RAG, as the files that `score` writes.

Its figures of each question stay as they are; means get their intervals.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tiny_graph_rag.formats.runs.base import failure_of
from tiny_graph_rag.inputs import RESULTS_FIRST, bare_name
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.summary import Beside, latency_document, slices, summary_fields
from tiny_graph_rag.version import SCHEMA_VERSION, __version__

_FIGURES = {"precision_at_k": "precision", "recall_at_k": "recall", "mrr": "mrr", "ndcg_at_k": "ndcg"}
MARKS = (b'"avg_precision_at_k"', b'"example_id"')


class _Question(msgspec.Struct):
    example_id: str
    query: str
    reference_entities: list[str]
    retrieved_entities: list[str]
    metrics: dict[str, float]
    latency_seconds: float = 0.0
    token_usage: dict[str, int] = {}
    estimated_cost_usd: float = 0.0
    tags: list[str] = []
    error: Any = None

    @property
    def answered(self) -> bool:
        return bool(self.retrieved_entities) or failure_of(self.error) is None


class _Summary(msgspec.Struct):
    k: int
    avg_precision_at_k: float
    total_tokens: int = 0
    total_estimated_cost_usd: float = 0.0


class _Document(msgspec.Struct):
    summary: _Summary
    results: list[_Question]


def upstream_document(path: Path, raw: bytes | memoryview) -> dict[str, Any] | None:
    """The file as one of `score`'s; None where upstream did not write it. raw: its content."""
    if RESULTS_FIRST in bytes(raw[:256]):
        return None
    whole = bytes(raw)
    if not all(mark in whole for mark in MARKS):
        return None
    try:
        found = msgspec.json.decode(whole, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    cutoff, rows = found.summary.k, found.results
    spelled = {name: kind if kind == "mrr" else f"{kind}@{cutoff}" for name, kind in _FIGURES.items()}
    scores = {
        Measure.parse(measure): np.array([row.metrics.get(name, math.nan) for row in rows], dtype=np.float64)
        for name, measure in spelled.items()
    }
    relevant, retrieved = (
        np.array([len(getattr(row, name)) for row in rows], dtype=np.int64)
        for name in ("reference_entities", "retrieved_entities")
    )
    answered = np.array([row.answered for row in rows], dtype=bool)
    parts = slices(scores, Beside(relevant, retrieved, answered), [row.tags for row in rows])
    summary = summary_fields(parts, cutoff, lambda measure: math.nan)
    del summary["token_usage"]  # only their total is known
    name = bare_name(path)
    for ending in ("_results", "-results", "-eval-results"):
        name = name.removesuffix(ending)
    seconds = np.array([row.latency_seconds for row in rows], dtype=np.float64)
    return {
        "schema_version": SCHEMA_VERSION,
        "package_version": __version__,
        "kind": "score",
        "made": {"at": None, "label": None, "command": "upstream tiny-graph-RAG"},
        "graph": None,
        "config": {},
        "dataset": {"name": name, "sha256": "", "selection": None},
        "run": {"name": path.name, "sha256": "", "format": "tiny-graph-RAG"},
        "summary": {
            **summary,
            "total_token_usage": found.summary.total_tokens,
            "estimated_cost_usd": found.summary.total_estimated_cost_usd,
            "latency": latency_document(seconds if seconds.any() else seconds[:0]),
        },
        "results": [_row(row, spelled) for row in rows],
        "entities": {},
    }


def _row(row: _Question, spelled: dict[str, str]) -> dict[str, Any]:
    return {
        "id": row.example_id,
        "query": row.query,
        "tags": row.tags,
        "linked": [],
        "ranked": [{"id": name, "name": name, "score": None, "hop": None} for name in row.retrieved_entities],
        "references": [
            {"name": name, "grade": 1, "entity_ids": [name], "resolved_by": None}
            for name in row.reference_entities
        ],
        "metrics": {spelled[name]: value for name, value in row.metrics.items() if name in spelled},
        "answer": None,
        "latency_seconds": row.latency_seconds,
    }
