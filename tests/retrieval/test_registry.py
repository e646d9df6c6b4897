"""Retrievers by name: built in, from another package, and names that nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import write_gold, write_kg
from tiny_graph_rag import retrieval
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.retrieval.baselines import PlainBfsRetriever


class PluggedIn(PlainBfsRetriever):
    name = "from-outside"


def plug_in(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    point = EntryPoint("from-outside", target, retrieval.ENTRY_POINTS)

    def found(**wanted: str) -> EntryPoints:
        return EntryPoints([point]).select(**wanted)

    monkeypatch.setattr("importlib.metadata.entry_points", found)


def test_a_retriever_of_another_package_registers_by_entry_point(
    monkeypatch: pytest.MonkeyPatch, run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    plug_in(monkeypatch, f"{__name__}:PluggedIn")
    write_kg(tmp_path / "a-KG.json", ["A", "B"], [("A", "OWNS", "B")])
    write_gold(tmp_path / "a-eval.jsonl", {"query": "What does A own?", "reference_entities": ["B"]})
    found = run_cli(
        "eval",
        "--dataset",
        "a-eval.jsonl",
        "-g",
        "a-KG.json",
        "--retriever",
        "from-outside",
        "-o",
        "./r.json",
    )
    assert found.exit_code == 0, found.output
    assert "from-outside" in retrieval.retriever_names()


def test_a_plug_in_that_is_no_retriever_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(monkeypatch, "json:dumps")
    with pytest.raises(UsageError, match=r"'from-outside' \(json:dumps\) is no Retriever"):
        retrieval.retriever_class("from-outside")


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'bfs-plain'.* Choices: bfs, bfs-plain"):
        retrieval.retriever_class("bfs-plane")
