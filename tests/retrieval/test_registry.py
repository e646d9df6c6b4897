"""Retrievers of another package, by name, from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import write_gold, write_kg
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.retrieval import RETRIEVERS, make_retriever, retriever
from tiny_graph_rag.retrieval.baselines import HybridRetriever, PlainBfsRetriever


@retriever("from-outside", "nearest first, from another package")
class PluggedIn(PlainBfsRetriever):
    """As bfs-plain."""


def test_a_retriever_of_another_package_registers_by_entry_point(
    monkeypatch: pytest.MonkeyPatch, run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    monkeypatch.setitem(vars(RETRIEVERS), "_plugged_in", {"from-outside": f"{__name__}:PluggedIn"})
    write_kg(tmp_path / "a-KG.json", ["A", "B"], [("A", "OWNS", "B")])
    write_gold(tmp_path / "a-eval.jsonl", {"query": "What does A own?", "reference_entities": ["B"]})
    asked = ("--dataset", "a-eval.jsonl", "-g", "a-KG.json", "--retriever", "from-outside", "-o", "./r.json")
    found = run_cli("eval", *asked)
    assert found.exit_code == 0, found.output
    assert RETRIEVERS.entry("from-outside").line == "nearest first, from another package"


def test_hybrid_alone_fuses_what_measured_best(tmp_path: Path) -> None:
    graph = read_graph(write_kg(tmp_path / "a-KG.json", ["Lamp", "Mill"], [("Lamp", "in", "Mill")]))
    for spec in ("hybrid", "hybrid:bfs*3+bm25"):
        made = make_retriever(graph, Config().override(retriever=spec))
        assert isinstance(made, HybridRetriever)
        assert [type(part).name for part in made.parts] == ["bfs", "bm25"]
