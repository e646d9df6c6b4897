"""The same results, byte for byte, however they were computed: compiled or not, any cache."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import HANGS, ROOT
from tiny_graph_rag.columns import arrays
from tiny_graph_rag.formats import graphs

ENTITIES = 300
RETRIEVERS = ("bfs", "pagerank", "hybrid:bfs+bm25")
# What says when and how fast, not what.
TIMES = ("latency_seconds", "latency", "questions_per_second", "made")
# The program with a cache of the smallest graph too.
CACHING = (
    "import sys, tiny_graph_rag.formats.graphs as graphs; graphs.CACHED_FROM_BYTES = 0\n"
    "from tiny_graph_rag.__main__ import main; sys.argv[0] = 'main.py'; main()"
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a gold set of the benchmarks' generator, and settings without the compiled path."""
    made = tmp_path_factory.mktemp("determinism")
    generator = str(ROOT / "benchmarks" / "generate.py")
    subprocess.run(
        [sys.executable, generator, str(made / "some-KG.json"), "--entities", str(ENTITIES)],
        check=True,
        capture_output=True,
        timeout=HANGS,
    )
    (made / "interpreted.yaml").write_text("running:\n  compiled: false\n")
    return made


def command(folder: Path, retriever: str, questions: int, *more: str) -> list[str]:
    return [
        *("eval", "--dataset", str(folder / "some-eval.jsonl"), "-g", str(folder / "some-KG.json")),
        *(
            "--hops",
            "3",
            "--retriever",
            retriever,
            "--limit",
            str(questions),
            "--set",
            "evaluation.latency_sample=0",
        ),
        *("-o", str(folder / "results.json"), *more),
    ]


def written(folder: Path) -> bytes:
    """What `eval` wrote, times aside."""
    out = folder / "results.json"
    document = json.loads(out.read_text(encoding="utf-8"), object_hook=without_times)
    out.unlink()
    return json.dumps(document, ensure_ascii=False).encode()


def without_times(found: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in found.items() if key not in TIMES}


def damaged(cache: Path) -> Iterator[str]:
    """Harm every file of the cache in another way each time; yields what was done."""
    files = sorted(path for path in cache.rglob("*") if path.is_file())
    assert files
    whole = {path: path.read_bytes() for path in files}
    draw = random.Random(0)

    def flipped(content: bytes) -> bytes:
        changed = bytearray(content)
        for _ in range(20):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        return bytes(changed)

    for harm, change in {
        "bits flipped": flipped,
        "cut off": lambda content: content[: len(content) // 2],
        "emptied": lambda content: b"",
        "foreign": lambda content: b"x" * len(content),
        "head of another version": lambda content: content[:64].swapcase() + content[64:],
    }.items():
        for path, content in whole.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(change(content) if content else content)
        yield harm


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_compiling_changes_no_byte(
    folder: Path, retriever: str, run_cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "WORTH_STEPS", 0)
    monkeypatch.setattr(graphs, "CACHED_FROM_BYTES", 0)
    assert arrays.worth_compiling(0)

    def results(*way: str) -> bytes:
        run_cli(*command(folder, retriever, 30, *way), code=0)
        return written(folder)

    wanted = results()
    assert b'"ranked": [{' in wanted
    for way in (
        ("--config", str(folder / "interpreted.yaml")),
        (
            "--set",
            "running.graph_cache=false",
        ),
    ):
        assert results(*way) == wanted, way


def test_no_state_of_the_cache_changes_a_byte(folder: Path) -> None:
    home = folder / "cache"

    def results() -> bytes:
        done = subprocess.run(
            [sys.executable, "-c", CACHING, *command(folder, "bfs", 10)],
            cwd=ROOT,
            env={**os.environ, "XDG_CACHE_HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return written(folder)

    wanted = results()
    assert {path.name for path in (home / "tiny-graph-rag").iterdir()} >= {"graphs", "lemmas"}
    assert results() == wanted
    for harm in damaged(home):
        assert results() == wanted, harm
    assert results() == wanted, "again"
