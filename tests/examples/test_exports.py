"""The exports with the real libraries, where they are installed: `uv run --with mlflow-skinny pytest …`."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tiny_graph_rag import KnowledgeGraph, evaluate, load_questions

QUESTIONS = [{"id": "q", "query": "Where does Ann live?", "reference_entities": ["Dover"]}]


@pytest.fixture
def results(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "exports"))
    graph = KnowledgeGraph.from_triples([("Ann", "LIVES_IN", "Dover")], name="town")
    return evaluate(graph, load_questions(QUESTIONS, name="town")).save(own_folder / "town-results.json")


def test_mlflow_has_the_means(results: Path, own_folder: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{own_folder / 'runs.db'}")
    run = mlflow.get_run(importlib.import_module("mlflow_log").log(str(results)))
    assert run.data.metrics["recall_5"] == 1.0
    assert run.data.params["retrieval.hops"] == "2"


def test_spans_have_the_ranking_and_the_measures(results: Path) -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip(
        "opentelemetry.sdk.trace.export.in_memory_span_exporter"
    ).InMemorySpanExporter()
    provider = trace.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    assert importlib.import_module("otel_spans").send(str(results), provider.get_tracer("test")) == 1
    (span,) = memory.get_finished_spans()
    assert span.attributes["input.value"] == QUESTIONS[0]["query"]
    assert span.attributes["eval.recall@5"] == 1.0
    assert span.attributes["retrieval.documents.0.document.content"] == "Dover"
