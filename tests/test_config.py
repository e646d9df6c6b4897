"""Where caches lie."""

from __future__ import annotations

from pathlib import Path

from tiny_graph_rag.config import Config, cache_folder


def test_the_cache_folder_is_xdgs_else_the_platforms_own() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/x"}, "linux") == Path("/x/tiny-graph-rag")
    assert cache_folder({}, "linux") == Path("~/.cache/tiny-graph-rag").expanduser()
    assert cache_folder({}, "darwin") == Path("~/Library/Caches/tiny-graph-rag").expanduser()
    assert cache_folder({"LOCALAPPDATA": "/local"}, "win32") == Path("/local/tiny-graph-rag")


def test_a_relative_xdg_folder_is_ignored_as_its_specification_says() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "x"}, "linux") == cache_folder({}, "linux")


def test_how_the_work_is_done_is_not_recorded_in_results() -> None:
    assert "running" not in Config().as_dict()
