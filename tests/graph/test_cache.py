"""The graph cache: the same graph with it and without, and never one that can't be trusted."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import write_kg
from tiny_graph_rag import files
from tiny_graph_rag.columns.stored import BadRecordError, new_folder, read_record, write_record
from tiny_graph_rag.files import sha256_of
from tiny_graph_rag.formats import graphs
from tiny_graph_rag.formats.graphs import kg_json, read_graph
from tiny_graph_rag.formats.graphs.base import GRAPH_FORMATS, GraphReader
from tiny_graph_rag.graph import cache as cache_module
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import Tables


@pytest.fixture(autouse=True)
def cache_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "CACHED_FROM_BYTES", 0)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    names = ["점순", ("나", ["화자"]), "Ann", "닭"]
    return write_kg(tmp_path / "a-KG.json", names, [("점순", "LIKES", "나"), ("나", "OWNS", "닭")] * 2)


def content(graph: KnowledgeGraph) -> dict[str, Any]:
    tables: dict[str, Any] = msgspec.to_builtins(
        graph.tables, enc_hook=lambda array: (array.dtype.str, array.tolist())
    )
    return {**tables, "name": graph.name, "sha256": graph.sha256}


def the_folder(folder: Path) -> Path:
    (found,) = folder.glob("graphs/*/graph")
    return found


def loads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Filled with every file that is really read from now on."""
    seen: list[Path] = []

    def counted(paths: Sequence[Path]) -> KnowledgeGraph:
        seen.extend(paths)
        return kg_json.read_kg_json(paths)

    replace_reader(monkeypatch, counted)
    return seen


def replace_reader(patch: pytest.MonkeyPatch, reader: GraphReader) -> None:
    entry = GRAPH_FORMATS.entry("KG JSON")
    registered = entry._replace(thing=replace(entry.thing, read=reader))
    patch.setitem(GRAPH_FORMATS._entries, "KG JSON", registered)


def test_a_cached_graph_is_the_loaded_graph(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = loads(monkeypatch)
    first, second, plain = (read_graph(source, item) for item in (tmp_path / "c", tmp_path / "c", None))
    assert content(first) == content(second) == content(plain)
    assert len(read) == 2  # once for the cache, once without one
    assert second.notes.lines() == plain.notes.lines() != []


def test_the_same_content_under_another_name_shares_the_cache_but_not_the_name(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = content(read_graph(source, tmp_path / "c"))
    shutil.copytree(tmp_path / "c", tmp_path / "copied")
    other = tmp_path / "b-KG.json"
    other.write_bytes(source.read_bytes())
    read = loads(monkeypatch)
    for cache in ("c", "copied"):
        assert content(read_graph(other, tmp_path / cache)) == {**wanted, "name": "b"}
    assert read == []


def test_another_content_in_the_same_file_is_read_again(source: Path, tmp_path: Path) -> None:
    read_graph(source, tmp_path / "c")
    before = source.stat()
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("Ann", "Bob"), encoding="utf-8")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))  # same size, same modification time
    assert list(read_graph(source, tmp_path / "c").entities.names)[2] == "Bob"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: folder.joinpath("record.json").write_bytes(b"{"),
        lambda folder: folder.joinpath("record.json").write_text('{"entities": {}, "relations": {}}'),
        lambda folder: folder.joinpath("record.json").unlink(),
        lambda folder: os.truncate(folder / "0.npy", 130),
        lambda folder: folder.joinpath("1.npy").write_bytes(b""),
        lambda folder: folder.joinpath("2.npy").unlink(),
        lambda folder: (shutil.rmtree(folder), folder.write_text("a file")),
        shutil.rmtree,
    ],
)
def test_a_cache_that_does_not_open_is_rebuilt(
    source: Path, tmp_path: Path, damage: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = content(read_graph(source, tmp_path / "c"))
    damage(the_folder(tmp_path / "c"))
    read = loads(monkeypatch)
    assert content(read_graph(source, tmp_path / "c")) == wanted
    assert content(read_graph(source, tmp_path / "c")) == wanted
    assert len(read) == 1


def test_a_cache_that_other_code_wrote_is_replaced(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(cache_module, "_code_digest", lambda: "0" * 64)
        read_graph(source, tmp_path / "c")
    old = the_folder(tmp_path / "c")
    read = loads(monkeypatch)
    read_graph(source, tmp_path / "c")
    assert len(read) == 1
    assert the_folder(tmp_path / "c") != old


@pytest.mark.parametrize("trouble", ["a file in its place", "half a character"])
def test_a_cache_that_cannot_be_written_is_done_without(source: Path, tmp_path: Path, trouble: str) -> None:
    if trouble == "half a character":
        source.write_text(source.read_text(encoding="utf-8").replace("OWNS", "\\ud800"), encoding="utf-8")
    else:
        (tmp_path / "c").write_text("a file where the folder should be")
    assert content(read_graph(source, tmp_path / "c")) == content(read_graph(source))


def test_threads_of_one_process_do_not_write_into_one_file(source: Path, tmp_path: Path) -> None:
    wanted = content(read_graph(source))
    for number in range(5):
        folder = tmp_path / f"c{number}"
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _, folder=folder: content(read_graph(source, folder)), range(8)))
        assert found == [wanted] * 8
        assert read_record(the_folder(folder), Tables).origin.writer == "KG JSON"
        assert len(list(folder.glob("graphs/*/*"))) == 1  # nothing is left over


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hash may be taken before the change and its records after."""
    monkeypatch.setattr(files, "MAPPED_FROM_BYTES", 0)
    before = source.read_bytes()

    def changing(paths: Sequence[Path]) -> KnowledgeGraph:
        time.sleep(0.1)  # the hash of so small a file is taken by then
        paths[0].write_bytes(before.replace(b"Ann", b"Bob"))
        return kg_json.read_kg_json(paths)

    with monkeypatch.context() as patch:
        replace_reader(patch, changing)
        found = read_graph(source, tmp_path / "c")
    assert list(found.entities.names)[2] == "Bob"
    assert found.sha256 == sha256_of(source)
    source.write_bytes(before)
    assert list(read_graph(source, tmp_path / "c").entities.names)[2] == "Ann"


def test_derived_arrays_are_built_once_and_kept_beside_the_graph(source: Path, tmp_path: Path) -> None:
    built: list[str] = []

    def build() -> dict[str, np.ndarray]:
        built.append("")
        return {"numbers": np.arange(3)}

    for folder, times in ((tmp_path / "c", 1), (tmp_path / "c", 1), (None, 2)):
        graph = read_graph(source, folder)
        for _ in range(2):
            assert graph.derived("numbers", build)["numbers"].tolist() == [0, 1, 2]
        assert len(built) == times
    (kept,) = tmp_path.glob("c/graphs/*/numbers/0.npy")
    kept.write_bytes(b"nonsense")
    assert read_graph(source, tmp_path / "c").derived("numbers", build)["numbers"].tolist() == [0, 1, 2]


def test_arrays_come_back_as_they_were_and_read_only(tmp_path: Path) -> None:
    arrays = {
        "none": np.zeros((0, 3), dtype=np.float32),
        "flags": np.array([[True, False]]),
        "long": np.arange(5000, dtype=np.int64).reshape(2, 2500),
        "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
    }
    arrays["again"] = arrays["long"]
    with new_folder(tmp_path / "x") as folder:
        write_record(folder, {**arrays, "one": np.broadcast_to(np.int32(7), (4,))})
    assert len(list((tmp_path / "x").glob("*.npy"))) == 5
    found = read_record(tmp_path / "x", dict[str, NDArray[Any]])
    assert found["one"].tolist() == [7] * 4
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].tolist() == array.tolist()
        assert not found[name].flags.writeable
    with pytest.raises(BadRecordError):
        read_record(tmp_path / "missing", dict[str, NDArray[Any]])
