"""`visualize`: what is drawn, what is left out and said so, and that the page holds together."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import write_kg
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.report.graph_page import core_of, graph_page, spring_layout

EDGES = [("Hub", "R", text) for text in "abcd"] + [("a", "R", "b"), ("Hub", "R", "Hub")]


@pytest.fixture
def graph(tmp_path):
    return read_graph(write_kg(tmp_path / "t-KG.json", ["a", "b", "c", "d", "Hub", "Zoe"], EDGES))


def names(graph, core) -> list[str]:
    return [graph.entities.names[row] for row in core.entities.tolist()]


def test_the_best_connected_come_first_and_the_rest_is_named(graph):
    core = core_of(graph, most=3)
    assert names(graph, core) == ["Hub", "a", "b"]
    assert len(core.relations) == 3  # Hub–a, Hub–b, a–b
    assert core.left_out == (
        "3 entities with the fewest relations",
        "3 relations to entities that are not drawn, or from an entity to itself",
    )


def test_positions_are_the_same_every_time_apart_and_inside():
    sources, targets = np.array([0, 0, 1]), np.array([1, 2, 2])
    one = spring_layout(5, sources, targets)
    assert np.array_equal(one, spring_layout(5, sources, targets))
    assert one.min() >= 0
    assert one.max() <= 1
    apart = np.hypot(*(one[:, None] - one[None]).transpose(2, 0, 1))[np.triu_indices(5, 1)]
    assert apart.min() > 0.05


def test_one_entity_alone_is_a_page_too(tmp_path):
    graph = read_graph(write_kg(tmp_path / "one-KG.json", ["<script>alert(1)</script>"]))
    text = graph_page(graph, core_of(graph))
    assert "<script>alert" not in text


def test_the_command_writes_the_page_and_says_what_it_left_out(run_cli, tmp_path):
    write_kg(tmp_path / "data/kg/t-KG.json", ["a", "b", "c", "d", "Hub", "Zoe"], EDGES)
    done = run_cli("visualize --max-nodes 3", code=0)
    assert "left out: 3 entities with the fewest relations" in done.stdout
    assert (tmp_path / "data/results/t-graph.html").exists()
    assert "-o t.pdf: the file is HTML; name it t.html" in run_cli("visualize -o t.pdf", code=2).stderr
