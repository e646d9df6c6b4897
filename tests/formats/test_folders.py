"""What `-g FOLDER` takes, and what it says of a folder that is not the one meant."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import read_graph

GRAPHS = ROOT / "tests" / "fixtures" / "graphs"


def refusal(path: Path) -> str:
    with pytest.raises(GraphError) as refused:
        read_graph(path)
    return str(refused.value)


@pytest.mark.parametrize("place", ["", "output", "output/artifacts", "output/20240801-101010/artifacts"])
def test_wherever_graphrag_left_its_tables_the_project_is_named(own_folder: Path, place: str) -> None:
    shutil.copytree(GRAPHS / "ms-graphrag-1", own_folder / "project" / place, dirs_exist_ok=True)
    graph = read_graph(own_folder / "project")
    assert (graph.name, graph.origin.writer, len(graph)) == ("project", "tables", 12)


def test_of_dated_runs_the_last_that_has_a_graph_counts(own_folder: Path) -> None:
    shutil.copytree(GRAPHS / "ms-graphrag-1", own_folder / "output" / "20240801-101010" / "artifacts")
    (own_folder / "output" / "20240802-101010" / "artifacts").mkdir(parents=True)
    assert len(read_graph(own_folder)) == 12


def test_graphs_of_two_writers_in_one_folder_are_not_chosen_between(own_folder: Path) -> None:
    shutil.copytree(GRAPHS / "lightrag", own_folder / "rag_storage")
    shutil.copytree(GRAPHS / "ms-graphrag-3", own_folder / "output")
    assert refusal(own_folder).endswith(
        "the graph isn't clear: the folder has 2 of LightRAG and tables: "
        "rag_storage/graph_chunk_entity_relation.graphml, output/entities.parquet. Give one with -g"
    )


def test_an_export_beside_lightrags_own_graph_is_left_alone(own_folder: Path) -> None:
    shutil.copytree(GRAPHS / "lightrag", own_folder, dirs_exist_ok=True)
    shutil.copy(GRAPHS / "fast-graphrag" / "graph.graphml", own_folder / "export.graphml")
    assert read_graph(own_folder).origin.writer == "LightRAG"


def test_an_empty_folder_and_one_of_other_things(own_folder: Path) -> None:
    assert "no graph in a supported format in this folder; it contains nothing" in refusal(own_folder)
    (own_folder / "notes.md").write_text("nothing", encoding="utf-8")
    assert "it contains notes.md. Give the graph file with -g" in refusal(own_folder)
