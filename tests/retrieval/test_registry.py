"""Retrievers of another package, and foreign rankings in their own order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import read_json, write_gold, write_kg
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
    run_cli("eval --dataset a-eval.jsonl -g a-KG.json --retriever from-outside -o ./r.json", code=0)
    assert RETRIEVERS.entry("from-outside").line == "nearest first, from another package"


def test_hybrid_alone_fuses_what_measured_best(tmp_path: Path) -> None:
    graph = read_graph(write_kg(tmp_path / "a-KG.json", ["Lamp", "Mill"], [("Lamp", "in", "Mill")]))
    for spec in ("hybrid", "hybrid:bfs*3+bm25"):
        made = make_retriever(graph, Config().override(retriever=spec))
        assert isinstance(made, HybridRetriever)
        assert [type(part).name for part in made.parts] == ["bfs", "bm25"]


COMMAND = ("eval", "--dataset", "a-eval.jsonl", "-g", "a-KG.json", "--skip-generation", "-o", "./r.json")


def written(folder: Path, rows: str) -> None:
    write_kg(folder / "a-KG.json", ["A", "B", "C"], [("A", "OWNS", "B")])
    write_gold(
        folder / "a-eval.jsonl",
        {"id": "q1", "query": "A?", "reference_entities": ["B"]},
        {"id": "q2", "query": "C?", "reference_entities": ["C"]},
    )
    (folder / "theirs.trec").write_text(rows, encoding="utf-8")


def test_a_foreign_run_is_scored_in_its_own_order_and_repeats_dropped(
    run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    written(tmp_path, "q1 Q0 C 1 3.0 x\nq1 Q0 C 2 2.5 x\nq1 Q0 B 3 2.0 x\n")
    run_cli(*COMMAND, "--retriever", "run:theirs.trec", "--quiet", code=0)
    results = read_json("r.json")["results"]
    ranked = [[(entity["name"], entity["score"]) for entity in result["ranked"]] for result in results]
    assert ranked == [[("C", 1.0), ("B", 0.5)], []]
    assert [result["metrics"]["mrr"] for result in results] == [0.5, 0.0]


def test_places_that_the_graph_lacks_are_refused(run_cli: Callable[..., Result], tmp_path: Path) -> None:
    written(tmp_path, "q1 Q0 ghost 1 3.0 x\nq1 Q0 B 2 2.0 x\n")
    found = run_cli(*COMMAND, "--retriever", "run:theirs.trec", code=2)
    assert "1 of its entities are not in the graph ('ghost')" in found.stderr
    assert "theirs.trec" in run_cli(*COMMAND, "--retriever", "run:thiers.trec", code=2).stderr
