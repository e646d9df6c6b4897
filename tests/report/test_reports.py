"""Reports as files: golden ones for what people read line by line, what the commands say, and what
`visualize` draws and leaves out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import write_kg
from tests.report.make_results import results
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.formats.tables import guarded
from tiny_graph_rag.messages import three
from tiny_graph_rag.report.document import Document, read_document
from tiny_graph_rag.report.graph_page import core_of, graph_page, spring_layout
from tiny_graph_rag.report.plain import markdown_text, one_line
from tiny_graph_rag.report.reports import write_reports

GOLDEN = Path(__file__).with_name("golden")
KOREAN = {"name": "김유정-동백꽃", "sha256": "", "selection": None}


def made(path: Path, name: str = "made-up-results", **changes) -> Document:
    """A results file of 12 questions and 40 references, in `path`."""
    document = results(12, 40) | changes
    file = path / f"{name}.json"
    file.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return read_document(file)


@pytest.mark.parametrize(
    "name", ["made-up-results.md", "made-up-results-questions.csv", "made-up-results-slices.csv"]
)
def test_reports_are_as_they_were(tmp_path, name):
    """Look at the difference; where it is meant, copy the new file to tests/report/golden."""
    write_reports([made(tmp_path)], ["md", "csv"])
    assert (tmp_path / name).read_text(encoding="utf-8") == (GOLDEN / name).read_text(encoding="utf-8")


def test_several_results_are_shown_method_by_method(tmp_path):
    better = results(12, 40)
    better["summary"]["measures"]["mrr"]["mean"] = 0.9
    one, other = made(tmp_path), made(tmp_path, "better", summary=better["summary"])
    ((path,), _) = write_reports([one, other], ["md"])
    text = path.read_text(encoding="utf-8")
    assert "# Method by method" in text
    assert "0.900" in next(line for line in text.splitlines() if line.startswith("| better |"))


def test_each_method_stands_beside_the_seconds_it_took(tmp_path):
    summary = results(12, 40)["summary"]
    latency = {"mean": 0.0125, "p50": 0.01, "p95": 0.5}
    fast = made(tmp_path, "fast", summary=summary | {"latency": latency, "questions_per_second": 1234.5})
    slow = made(tmp_path, "slow", summary=summary | {"latency": {}, "questions_per_second": None})
    ((path,), _) = write_reports([fast, slow], ["md"], tmp_path / "out")
    text = path.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("| fast |"))
    assert line.endswith(" | 0.0125 | 0.01 | 0.5 | 1,234 |")
    assert "| – | – | – | – |" in text


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        *((guarded(formula), f"'{formula}") for formula in ("=1+1", "@x", "-3", "+4")),
        *((guarded(plain), plain) for plain in ("점순", "")),
        (markdown_text("<script>|`*_[x](y)"), r"\<script\>\|\`\*\_\[x\](y)"),
        (markdown_text("two\nlines"), "two lines"),
        (one_line("a\x1b[31mred\x00 \u202egnp.exe\u202c"), "a[31mred gnp.exe"),
        (one_line("👩\u200d👧"), "👩\u200d👧"),
        (one_line("x" * 10_000, 20), "x" * 19 + "…"),
        *zip(map(three, (-0.0, -0.0004, -0.0006, None)), ("0.000", "0.000", "−0.001", "–"), strict=True),
    ],
)
def test_texts_and_figures_are_shown_as_what_they_are(shown, text):
    """No formula in a cell, no markup in Markdown, no control signs or turned text, no negative zero."""
    assert shown == text


def test_the_report_command_writes_beside_the_file_or_into_a_folder(tmp_path, run_cli):
    document = made(tmp_path)
    run_cli("report", document.path, "--report", "md,csv", code=0)
    assert (tmp_path / "made-up-results.md").exists()
    run_cli("report", document.path, "-o", tmp_path / "elsewhere", code=0)
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["made-up-results.html"]


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


@pytest.mark.slow
def test_hangul_is_drawn_by_a_font_that_has_it(tmp_path):
    """A missing glyph is a warning of matplotlib's, and warnings fail tests."""
    pytest.importorskip("matplotlib")
    summary = results(12, 40)["summary"]
    summary["by_tag"]["의역 👩 $x_1$"] = summary["by_tag"]["1-hop"]
    try:
        written, _ = write_reports([made(tmp_path, dataset=KOREAN, summary=summary)], ["png"])
    except UsageError as error:
        pytest.skip(str(error))
    assert [path.name for path in written] == ["made-up-results-tags.png"]


def test_without_a_font_the_message_says_what_to_install(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from tiny_graph_rag.report.plots import figures

    monkeypatch.setattr(figures, "_covered", lambda path: set(range(128)))
    with pytest.raises(UsageError, match=r"no font on this machine has the letters .*fonts-noto-cjk"):
        write_reports([made(tmp_path, dataset=KOREAN)], ["png"])
