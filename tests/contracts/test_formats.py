"""What every registered format owes: known by its content alone, read as it is, refused by line when cut."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.formats.test_convert import SOURCES, content
from tests.measures.test_judged import run_of
from tiny_graph_rag.errors import InputError
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.gold import GOLD_FORMATS, read_gold
from tiny_graph_rag.formats.graphs import GRAPH_FORMATS, read_graph
from tiny_graph_rag.formats.runs import RUN_FORMATS, read_run
from tiny_graph_rag.formats.writing import RUN_FORMS, graph_parts, run_parts

TEXTS = [
    pytest.param(registry, name, read, id=f"{registry.kind}-{name}")
    for registry, read in ((GOLD_FORMATS, read_gold), (RUN_FORMATS, read_run))
    for name in registry
]
FIXTURES = Path(__file__).parent.parent / "fixtures" / "graphs"


@pytest.mark.parametrize(("registry", "name", "read"), TEXTS)
def test_an_example_is_known_by_its_content_and_surely_by_one_format_at_most(
    registry: Any, name: str, read: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "file-without-a-telling-name"
    path.write_text(registry[name].example, encoding="utf-8")
    taking = [key for key in registry if registry[key].recognises(Head(path))]
    assert ([key for key in taking if not registry[key].general] or taking) == [name]
    found = read(path)
    assert found.format == name
    assert (found.questions if registry is GOLD_FORMATS else found.rankings) != {}


@pytest.mark.parametrize(("registry", "name", "read"), TEXTS)
def test_with_a_mark_and_windows_line_ends_it_is_the_same(
    registry: Any, name: str, read: Callable[..., Any], tmp_path: Path
) -> None:
    plain, other = tmp_path / "a", tmp_path / "b"
    plain.write_text(registry[name].example, encoding="utf-8")
    other.write_bytes(b"\xef\xbb\xbf" + registry[name].example.replace("\n", "\r\n").encode())
    first, second = read(plain), read(other)
    if registry is GOLD_FORMATS:
        assert first.questions == second.questions
    else:
        assert first.rankings == second.rankings


@pytest.mark.parametrize(("registry", "name", "read"), TEXTS)
def test_a_file_that_was_cut_off_is_refused_with_its_line(
    registry: Any, name: str, read: Callable[..., Any], tmp_path: Path
) -> None:
    lines = registry[name].example.rstrip("\n").split("\n")
    last = lines[-1]
    path = tmp_path / "cut"
    path.write_text("\n".join([*lines[:-1], last[: len(last) // 2]]), encoding="utf-8")
    with pytest.raises(InputError, match=rf"cut:{len(lines)}\b"):
        read(path, name)


@pytest.mark.parametrize(("registry", "name", "read"), TEXTS)
@pytest.mark.parametrize("raw", [b"", b"  \n", b"\xff\xfea\x00", b"\x00\x01\x02", b"[[[[", b"{}", b"null"])
def test_whatever_comes_is_read_or_refused_in_words(
    registry: Any, name: str, read: Callable[..., Any], raw: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "odd"
    path.write_bytes(raw)
    with pytest.raises(InputError, match="odd"):
        read(path, name)


@pytest.mark.parametrize("form", list(RUN_FORMS))
def test_a_run_that_is_written_is_read_as_it_was(form: str, tmp_path: Path) -> None:
    ids, names = ["e 1", "e%2", "점순"], ["Ann", "Bob", "점순"]
    run = run_of([2, 0, 1], [], [1, 2])
    path = tmp_path / "run"
    path.write_bytes(b"".join(run_parts(run, ["Q1", "Q2", "Q 3"], ids, names, form)))
    found = read_run(path, form if form in RUN_FORMATS else None).rankings
    wanted = {
        question: [ids[entity] for entity in run.entities[run.rows(row)].tolist()]
        for row, question in enumerate(["Q1", "Q2", "Q 3"])
    }
    assert {
        key: [position.id or position.name for position in places] for key, places in found.items() if places
    } == {key: part for key, part in wanted.items() if part}
    scores = [
        [position.score for position in places if position.score is not None] for places in found.values()
    ]
    assert all((np.diff(score) < 0).all() for score in scores)


@pytest.mark.parametrize("form", ["kg-json", "graphml"])
@pytest.mark.parametrize("source", SOURCES[-2:], ids=lambda path: path.name)
def test_a_graph_that_is_written_is_read_as_it_was(form: str, source: Path, tmp_path: Path) -> None:
    graph = read_graph(source)
    (tmp_path / "written").write_bytes(b"".join(graph_parts(graph, tmp_path / "written", form)))
    assert content(read_graph(tmp_path / "written")) == content(graph)


def graph_files() -> list[Path]:
    return sorted(
        path
        for path in FIXTURES.rglob("*")
        if path.is_file() and path.suffix in (".json", ".graphml") and "kv_store" not in path.name
    )


PARTICULAR = [format for format in map(GRAPH_FORMATS.__getitem__, GRAPH_FORMATS) if not format.general]


@pytest.mark.parametrize("path", graph_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_of_formats_of_programs_one_alone_takes_a_file_for_its_own(path: Path) -> None:
    takes = sum(format.recognises(Head(path)) for format in PARTICULAR)
    assert takes == (
        path.parent.name
        not in ("fast-graphrag", "cognee", "graphify", "llama-index", "lightrag", "nano-graphrag")
    )  # as anybody's


@pytest.mark.parametrize("path", graph_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_graph_file_that_was_cut_off_is_refused_with_its_place(path: Path, tmp_path: Path) -> None:
    raw = path.read_bytes()
    cut = tmp_path / path.name
    cut.write_bytes(raw[: len(raw) * 2 // 3])
    with pytest.raises(InputError, match=rf"{re.escape(path.name)}:\d+"):
        read_graph(cut)
